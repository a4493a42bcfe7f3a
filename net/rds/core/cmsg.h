/* SPDX-License-Identifier: GPL-2.0-only */
/* Control messages of sendmsg(), read once. */
#ifndef _RDS_CORE_CMSG_H
#define _RDS_CORE_CMSG_H

#include <linux/socket.h>
#include <linux/types.h>
#include <uapi/linux/rds.h>

/**
 * struct rds_send_cmsgs - what the control messages of a sendmsg() ask for
 * @seen: bit N is set if a message of type N was there
 * @twice: a message that may come only once came again
 * @args_err: what is wrong with RDS_CMSG_RDMA_ARGS, as an errno
 * @err: what else is wrong, as an errno
 * @args: RDS_CMSG_RDMA_ARGS
 * @atomic: whichever of the atomic operations
 * @map: RDS_CMSG_RDMA_MAP
 * @dest: RDS_CMSG_RDMA_DEST
 * @cookie: RDS_CMSG_ZCOPY_COOKIE
 *
 * The errors are kept apart because sendmsg() looks at other things between
 * the two.
 */
struct rds_send_cmsgs {
	u32			seen;
	bool			twice;
	int			args_err;
	int			err;
	struct rds_rdma_args	args;
	struct rds_atomic_args	atomic;
	struct rds_get_mr_args	map;
	rds_rdma_cookie_t	dest;
	u32			cookie;
};

#define RDS_CMSG_BIT(type)	BIT(RDS_CMSG_ ## type)
#define RDS_CMSG_ATOMICS	(RDS_CMSG_BIT(ATOMIC_FADD) |		\
				 RDS_CMSG_BIT(ATOMIC_CSWP) |		\
				 RDS_CMSG_BIT(MASKED_ATOMIC_FADD) |	\
				 RDS_CMSG_BIT(MASKED_ATOMIC_CSWP))
/* Cookies that the peer is told */
#define RDS_CMSG_COOKIES	(RDS_CMSG_BIT(RDMA_DEST) |		\
				 RDS_CMSG_BIT(RDMA_MAP))
/* Operations of their own, and what only adorns a message; never together */
#define RDS_CMSG_OPS		(RDS_CMSG_BIT(RDMA_ARGS) | RDS_CMSG_ATOMICS)
#define RDS_CMSG_EXTRAS		(RDS_CMSG_COOKIES | RDS_CMSG_BIT(ZCOPY_COOKIE))

/* Local pieces of an RDMA operation */
#define RDS_MAX_IOVECS		1024

struct rds_conn;
struct rds_message;
struct rds_sock;

void rds_cmsg_read(struct msghdr *msg, struct rds_send_cmsgs *cmsgs);
int rds_cmsg_run_all(const struct rds_send_cmsgs *cmsgs, struct rds_sock *rs,
		     struct rds_conn *conn, struct rds_message *rm,
		     rds_rdma_cookie_t *mapped, long *timeo);

/**
 * rds_cmsg_expected() - are control messages there, or missing?
 * @msg: as sendmsg() has it
 *
 * Context: any.
 * Return: true if they are to be read.
 */
static inline bool rds_cmsg_expected(const struct msghdr *msg)
{
	return msg->msg_controllen || (msg->msg_flags & MSG_ZEROCOPY);
}

/**
 * rds_cmsg_run() - do what the control messages ask for
 * @cmsgs: as rds_cmsg_read() filled it, without error, or empty
 * @rs: the socket, bound
 * @conn: the connection that the message goes by
 * @rm: the message, which is told of it
 * @mapped: set to the cookie of memory that was registered, for rds_mr_free()
 *	if the message is not sent after all; otherwise 0
 * @timeo: see rds_sw_admit()
 *
 * Context: process, may sleep.
 * Return: 0 if they ask for nothing, or for what comes later; otherwise as
 * rds_cmsg_run_all().
 */
static inline int rds_cmsg_run(const struct rds_send_cmsgs *cmsgs,
			       struct rds_sock *rs,
			       struct rds_conn *conn, struct rds_message *rm,
			       rds_rdma_cookie_t *mapped, long *timeo)
{
	*mapped = 0;
	if (likely(!cmsgs->seen))
		return 0;
	return rds_cmsg_run_all(cmsgs, rs, conn, rm, mapped, timeo);
}

#endif /* _RDS_CORE_CMSG_H */
