/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of RDMA operations. Socket b owns the memory. Socket a operates on
 * it, and receives the notifications.
 */
#ifndef RDS_RDMA_H
#define RDS_RDMA_H

#include "memory.h"
#include "pair.h"

#define PAGE	4096
#define LARGEST	(1 << 20)
#define TOKEN	0x123456789abcdef0ULL

static unsigned char near[LARGEST + 2 * PAGE] __attribute__((aligned(PAGE)));
static unsigned char far[LARGEST + 2 * PAGE] __attribute__((aligned(PAGE)));
static unsigned char payload[LARGEST];

struct op {
	uint64_t cookie;
	uint64_t off;		/* offset in the peer's memory */
	uint64_t room;		/* size of the remote range; 0: as local */
	struct rds_iovec *vec;
	uint64_t nr;
	uint64_t flags;
	uint64_t token;
	size_t len;		/* of the message that follows */
};

static inline long send_op(int fd, const struct rds_name *to,
			   const struct op *op, int flags)
{
	struct rds_rdma_args args = {
		.cookie = op->cookie,
		.remote_vec = { op->off, op->room },
		.local_vec_addr = (uintptr_t)op->vec,
		.nr_local = op->nr,
		.flags = op->flags,
		.user_token = op->token,
	};
	struct rds_msg msg;
	uint64_t i;

	for (i = 0; i < op->nr && !op->room; i++)
		args.remote_vec.bytes += op->vec[i].bytes;
	rds_fill(payload, op->len, 7);
	rds_msg_init(&msg, payload, op->len);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, flags));
}

/* Operate on one contiguous range, and request a notification. */
static inline long rdma(int fd, const struct rds_name *to, uint64_t cookie,
			uint64_t off, void *mem, size_t len, uint64_t flags,
			uint64_t token)
{
	struct rds_iovec vec = { (uintptr_t)mem, len };
	struct op op = {
		.cookie = cookie, .off = off, .vec = &vec, .nr = 1,
		.flags = flags | RDS_RDMA_NOTIFY_ME, .token = token,
	};

	return send_op(fd, to, &op, 0);
}

static inline bool read_status(struct cmsghdr *cmsg, uint64_t *token,
			       int *status)
{
	struct rds_rdma_notify notify;

	if (!cmsg || cmsg->cmsg_type != RDS_CMSG_RDMA_STATUS ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(notify)))
		return false;
	memcpy(&notify, CMSG_DATA(cmsg), sizeof(notify));
	*token = notify.user_token;
	*status = notify.status;
	return true;
}

/*
 * Wait for the notification of the next operation, which must come alone.
 * Returns the status of the operation, or a negative errno.
 */
static inline long await_any(int fd, uint64_t *token)
{
	char bytes[16];
	struct rds_msg msg;
	int status;
	long ret;

	do {
		rds_msg_init(&msg, bytes, sizeof(bytes));
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen =
			CMSG_SPACE(sizeof(struct rds_rdma_notify));
		ret = ERR(recvmsg(fd, &msg.hdr, 0));
	} while (!ret && rds_msg_find(&msg, SOL_RDS, RDS_CMSG_CONG_UPDATE));
	if (ret)
		return ret > 0 ? -EBADMSG : ret;
	if (msg.hdr.msg_namelen || rds_msg_count(&msg) != 1 ||
	    !read_status(rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_STATUS),
			 token, &status))
		return -EPROTO;
	return status;
}

/* The same, and check that the operation has the token @want. */
static inline long await_status(int fd, uint64_t want)
{
	uint64_t token;
	long ret = await_any(fd, &token);

	return ret < 0 || token == want ? ret : -EILSEQ;
}

/* Wait until @count notifications are queued. They stay queued. */
static inline bool await_told(int fd, unsigned int count)
{
	struct rds_msg msg;
	unsigned int left;
	char byte;

	for (left = 5000; left; left--) {
		if (!ERR(rds_msg_recv(fd, &msg, &byte, 1,
				      MSG_PEEK | MSG_DONTWAIT)) &&
		    rds_msg_count(&msg) == count)
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * Wait until exactly @pages are pinned. Nothing else on this host pins pages.
 */
static inline bool await_only(long pages)
{
	unsigned int left;

	for (left = 5000; left && rds_pages_pinned() != pages; left--)
		usleep(1000);
	return left;
}

#endif /* RDS_RDMA_H */
