/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of sends from user memory (MSG_ZEROCOPY). When the memory is free
 * again, the sender is notified by a completion, which has the cookies of up to
 * eight sends.
 */
#ifndef RDS_ZCOPY_H
#define RDS_ZCOPY_H

#include "pair.h"

#include <poll.h>

#define PAGE	4096
#define LARGEST	(1 << 20)

static char sent[LARGEST + 2 * PAGE] __attribute__((aligned(PAGE)));
static char received[LARGEST];

static inline void zcopy_msg(struct rds_msg *msg, const struct rds_name *to,
			     void *buf, size_t len, uint32_t cookie)
{
	rds_msg_init(msg, buf, len);
	rds_msg_to(msg, to);
	rds_msg_add(msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
		    sizeof(cookie));
}

static inline long zcopy_send(int fd, const struct rds_name *to, void *buf,
			      size_t len, uint32_t cookie, int flags)
{
	struct rds_msg msg;

	zcopy_msg(&msg, to, buf, len, cookie);
	return ERR(sendmsg(fd, &msg.hdr, MSG_ZEROCOPY | flags));
}

static inline void zcopy_on(struct __test_metadata *_metadata, int fd)
{
	ASSERT_EQ(0, rds_set(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, rds_sndbuf(fd, 4 * LARGEST));
}

/* Get the cookies of the completion in @msg. Returns false if there is none. */
static inline bool read_completion(struct rds_msg *msg,
				   struct rds_zcopy_cookies *cookies)
{
	struct cmsghdr *cmsg = rds_msg_find(msg, SOL_RDS,
					    RDS_CMSG_ZCOPY_COMPLETION);

	memset(cookies, 0, sizeof(*cookies));
	if (!cmsg || cmsg->cmsg_len != CMSG_LEN(sizeof(*cookies)))
		return false;
	memcpy(cookies, CMSG_DATA(cmsg), sizeof(*cookies));
	return cookies->num && cookies->num <= RDS_MAX_ZCOOKIES;
}

/* Wait for a completion, which stays queued. That poll() reports input does not
 * mean that there is one: poll() also reports congestion updates, such as the
 * first maps of a connection.
 */
static inline bool await_completion(int fd)
{
	struct rds_zcopy_cookies cookies;
	struct rds_msg msg;

	return !rds_msg_recv(fd, &msg, received, sizeof(received), MSG_PEEK) &&
	       read_completion(&msg, &cookies);
}

/*
 * Wait until there is no input. An update is reported once, a completion until
 * it is taken.
 */
static inline bool await_no_input(int fd)
{
	unsigned int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (!(rds_poll(fd) & (POLLIN | POLLRDNORM)))
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * Wait for a completion that comes alone. Returns how many cookies it has, or a
 * negative errno.
 */
static inline long await_cookies(int fd, struct rds_zcopy_cookies *cookies)
{
	struct rds_msg msg;
	long ret;

	ret = ERR(rds_msg_recv(fd, &msg, received, sizeof(received), 0));
	if (ret)
		return ret > 0 ? -EBADMSG : ret;
	if (msg.hdr.msg_namelen || msg.hdr.msg_flags ||
	    rds_msg_count(&msg) != 1 || !read_completion(&msg, cookies))
		return -EPROTO;
	return cookies->num;
}

/* Wait for a completion with exactly @cookie. */
static inline bool await_cookie(int fd, uint32_t cookie)
{
	struct rds_zcopy_cookies cookies;

	return await_cookies(fd, &cookies) == 1 && cookies.cookies[0] == cookie;
}

#endif /* RDS_ZCOPY_H */
