// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "lent.h"

bool lent_enable(int fd)
{
	return !rds_set(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
}

static unsigned int find_room(const struct lent *lent)
{
	unsigned int i;

	for (i = 0; i < LENT_MAX; i++)
		if (!lent->part[i].memory)
			break;
	return i;
}

static ssize_t send_from(int fd, void *memory, size_t len, uint32_t cookie,
			 const struct rds_name *to)
{
	struct rds_msg msg;

	rds_msg_init(&msg, memory, len);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
		    sizeof(cookie));
	return sendmsg(fd, &msg.hdr, MSG_ZEROCOPY | MSG_DONTWAIT);
}

ssize_t lent_send(struct lent *lent, int fd, const struct iovec iov[2],
		  const struct rds_name *to)
{
	size_t len = iov[0].iov_len + iov[1].iov_len;
	unsigned int i = find_room(lent);
	unsigned char *memory;
	ssize_t sent;
	int error;

	memory = i < LENT_MAX ? malloc(len) : NULL;
	if (!memory) {
		errno = EBUSY;
		return -1;
	}
	memcpy(memory, iov[0].iov_base, iov[0].iov_len);
	memcpy(memory + iov[0].iov_len, iov[1].iov_base, iov[1].iov_len);
	sent = send_from(fd, memory, len, i, to);
	if (sent == (ssize_t)len) {
		lent->part[i].memory = memory;
		lent->part[i].len = len;
		return sent;
	}
	error = errno;
	free(memory);
	errno = error;
	return sent;
}

static bool take_back(struct lent *lent, uint32_t i)
{
	if (i >= LENT_MAX || !lent->part[i].memory)
		return false;
	memset(lent->part[i].memory, 0xa5, lent->part[i].len);
	free(lent->part[i].memory);
	lent->part[i].memory = NULL;
	return true;
}

bool lent_take_back(struct lent *lent, struct msghdr *msg)
{
	struct rds_zcopy_cookies cookies;
	struct cmsghdr *cmsg;
	bool known = true;
	uint32_t i;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_RDS ||
		    cmsg->cmsg_type != RDS_CMSG_ZCOPY_COMPLETION)
			continue;
		memcpy(&cookies, CMSG_DATA(cmsg), sizeof(cookies));
		for (i = 0; i < cookies.num && i < RDS_MAX_ZCOOKIES; i++)
			known &= take_back(lent, cookies.cookies[i]);
	}
	return known;
}
