/* SPDX-License-Identifier: GPL-2.0-only */
/* The control messages of sendmsg(), which are read once. */
#ifndef _RDS_CORE_CMSG_H
#define _RDS_CORE_CMSG_H

#include <linux/socket.h>
#include <linux/types.h>
#include <uapi/linux/rds.h>

/**
 * struct rds_send_cmsgs - the requests in the control messages of a sendmsg()
 * @seen: bit N is set if a control message of type N was present
 * @twice: there are two operations, two MR cookies, or two zerocopy cookies
 * @args_err: errno for a malformed header or for an RDS_CMSG_RDMA_ARGS that is
 *	too short; otherwise 0
 * @err: errno for anything else that is wrong; otherwise 0
 * @args: contents of RDS_CMSG_RDMA_ARGS
 * @atomic: contents of the control message for any of the atomic operations
 * @map: contents of RDS_CMSG_RDMA_MAP
 * @dest: contents of RDS_CMSG_RDMA_DEST
 * @cookie: contents of RDS_CMSG_ZCOPY_COOKIE
 *
 * The two errors are kept apart because sendmsg() makes other checks after the
 * first and before the second.
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
/* MR cookies that are sent to the peer */
#define RDS_CMSG_COOKIES	(RDS_CMSG_BIT(RDMA_DEST) |		\
				 RDS_CMSG_BIT(RDMA_MAP))
/* Operations, and additions to a message; a message cannot have both */
#define RDS_CMSG_OPS		(RDS_CMSG_BIT(RDMA_ARGS) | RDS_CMSG_ATOMICS)
#define RDS_CMSG_EXTRAS		(RDS_CMSG_COOKIES | RDS_CMSG_BIT(ZCOPY_COOKIE))

/* Maximum number of local vectors of an RDMA operation */
#define RDS_MAX_IOVECS		1024

struct rds_conn;
struct rds_message;
struct rds_sock;

void rds_cmsg_read(struct msghdr *msg, struct rds_send_cmsgs *cmsgs);
int rds_cmsg_run_all(const struct rds_send_cmsgs *cmsgs, struct rds_sock *rs,
		     struct rds_conn *conn, struct rds_message *rm,
		     rds_rdma_cookie_t *mapped, long *timeo);

/**
 * rds_cmsg_expected() - Check whether control messages are present or required
 * @msg: message header of sendmsg()
 *
 * Context: Any.
 * Return: true if they must be read.
 */
static inline bool rds_cmsg_expected(const struct msghdr *msg)
{
	return msg->msg_controllen || (msg->msg_flags & MSG_ZEROCOPY);
}

/**
 * rds_cmsg_run() - Carry out the control messages of a sendmsg(), if any
 * @cmsgs: as filled by rds_cmsg_read() without an error, or empty
 * @rs: the socket, bound
 * @conn: the connection that the message will take
 * @rm: the message, to which the operation or the MR cookie is added
 * @mapped: set to the cookie of the MR that was registered, to be passed to
 *	rds_mr_free() if the message is not sent after all; otherwise 0
 * @timeo: see rds_sw_admit()
 *
 * Context: Process context, may sleep.
 * Return: 0 if there is nothing to carry out, or only a zerocopy cookie, which
 * sendmsg() handles; otherwise as rds_cmsg_run_all().
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
