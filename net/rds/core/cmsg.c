// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control messages of sendmsg().
 *
 * The control messages are read once, into a structure that all later code
 * uses. The length of each is checked where it is read. If the transport cannot
 * do what is requested, the call fails with an errno. Programs rely on which
 * errno it is, and on the checks that come before it. sendmsg() itself handles
 * sends from user memory.
 */
#include <linux/pagemap.h>
#include <linux/socket.h>
#include <linux/uaccess.h>

#include "cmsg.h"
#include "compat.h"
#include "conn.h"
#include "message.h"
#include "mr.h"
#include "op.h"
#include "sock.h"
#include "sw_admit.h"

static bool rds_cmsg_copy(const struct cmsghdr *cmsg, void *to, size_t size)
{
	if (cmsg->cmsg_len < CMSG_LEN(size))
		return false;
	memcpy(to, CMSG_DATA(cmsg), size);
	return true;
}

static int rds_cmsg_read_args(const struct cmsghdr *cmsg,
			      struct rds_send_cmsgs *cmsgs)
{
	if (!rds_cmsg_copy(cmsg, &cmsgs->args, sizeof(cmsgs->args))) {
		cmsgs->args_err = -EINVAL;
		return 0;
	}
	if (!cmsgs->args.nr_local)
		return -EINVAL;
	if (cmsgs->args.nr_local > RDS_MAX_IOVECS)
		return -EMSGSIZE;
	return 0;
}

/* Mask of the types of which a message may carry only one in all */
static u32 rds_cmsg_kind(int type)
{
	if (BIT(type) & RDS_CMSG_OPS)
		return RDS_CMSG_OPS;
	return BIT(type) & RDS_CMSG_COOKIES ? RDS_CMSG_COOKIES : BIT(type);
}

static int rds_cmsg_read_one(const struct cmsghdr *cmsg,
			     struct rds_send_cmsgs *cmsgs)
{
	switch (cmsg->cmsg_type) {
	case RDS_CMSG_RDMA_ARGS:
		return rds_cmsg_read_args(cmsg, cmsgs);
	case RDS_CMSG_RDMA_DEST:
		return rds_cmsg_copy(cmsg, &cmsgs->dest,
				     sizeof(cmsgs->dest)) ? 0 : -EINVAL;
	case RDS_CMSG_RDMA_MAP:
		return rds_cmsg_copy(cmsg, &cmsgs->map,
				     sizeof(cmsgs->map)) ? 0 : -EINVAL;
	case RDS_CMSG_ATOMIC_FADD:
	case RDS_CMSG_ATOMIC_CSWP:
	case RDS_CMSG_MASKED_ATOMIC_FADD:
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		return rds_cmsg_copy(cmsg, &cmsgs->atomic,
				     sizeof(cmsgs->atomic)) ? 0 : -EINVAL;
	case RDS_CMSG_ZCOPY_COOKIE:
		return rds_cmsg_copy(cmsg, &cmsgs->cookie,
				     sizeof(cmsgs->cookie)) ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int rds_cmsg_mix_error(const struct msghdr *msg, u32 seen)
{
	bool zcopy = msg->msg_flags & MSG_ZEROCOPY;

	if ((seen & RDS_CMSG_OPS) && (seen & RDS_CMSG_EXTRAS))
		return -EINVAL;
	if (zcopy != !!(seen & RDS_CMSG_BIT(ZCOPY_COOKIE)))
		return -EINVAL;
	return 0;
}

/**
 * rds_cmsg_read() - Read the control messages of a sendmsg()
 * @msg: message header of sendmsg(); levels other than SOL_RDS are ignored
 * @cmsgs: set to the requests, and to what is wrong with them; empty before
 *
 * Context: Process context.
 */
void rds_cmsg_read(struct msghdr *msg, struct rds_send_cmsgs *cmsgs)
{
	struct cmsghdr *cmsg;
	int err;

	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg)) {
			cmsgs->args_err = -EINVAL;
			return;
		}
		if (cmsg->cmsg_level != SOL_RDS)
			continue;

		err = rds_cmsg_read_one(cmsg, cmsgs);
		if (err && !cmsgs->err)
			cmsgs->err = err;
		if (err)
			continue;
		if (cmsgs->seen & rds_cmsg_kind(cmsg->cmsg_type))
			cmsgs->twice = true;
		cmsgs->seen |= BIT(cmsg->cmsg_type);
	}

	if (!cmsgs->err)
		cmsgs->err = rds_cmsg_mix_error(msg, cmsgs->seen);
}

/* Check for eight aligned bytes to which the result can be written. */
static bool rds_cmsg_atomic_addr_ok(u64 addr)
{
	char __user *ptr = u64_to_user_ptr(addr);

	return IS_ALIGNED(addr, sizeof(u64)) &&
	       access_ok(ptr, sizeof(u64)) &&
	       !fault_in_safe_writeable(ptr, sizeof(u64));
}

static bool rds_cmsg_vectors_ok(const struct rds_rdma_args *args)
{
	char __user *ptr = u64_to_user_ptr(args->local_vec_addr);
	size_t size = args->nr_local * sizeof(struct rds_iovec);

	return access_ok(ptr, size) && !fault_in_readable(ptr, size);
}

/* Add the extension header that carries an MR cookie to the peer. */
static void rds_cmsg_put_dest(struct rds_message *rm, rds_rdma_cookie_t cookie)
{
	unsigned int pos = 0;
	u8 payload[8];

	put_unaligned_be32(rds_mr_cookie_key(cookie), payload);
	put_unaligned_be32(rds_mr_cookie_off(cookie), payload + 4);
	rds_exthdr_add(rm->m_exthdr, &pos, RDS_EXTHDR_RDMA_DEST, payload);
}

static int rds_cmsg_run_cookie(const struct rds_send_cmsgs *cmsgs,
			       struct rds_sock *rs, struct rds_message *rm,
			       rds_rdma_cookie_t *mapped)
{
	int ret;

	if (cmsgs->seen & RDS_CMSG_BIT(RDMA_DEST)) {
		if (!rds_mr_has(rs, cmsgs->dest))
			return -EINVAL;
		rds_cmsg_put_dest(rm, cmsgs->dest);
		return 0;
	}
	ret = rds_mr_register(rs, &cmsgs->map, mapped);
	if (!ret)
		rds_cmsg_put_dest(rm, *mapped);
	return ret;
}

static int rds_cmsg_run_op(const struct rds_send_cmsgs *cmsgs,
			   struct rds_sock *rs, struct rds_message *rm)
{
	if (cmsgs->seen & RDS_CMSG_BIT(RDMA_ARGS))
		return rds_op_add_rdma(rs, rm, &cmsgs->args);
	return rds_op_add_atomic(rs, rm,
				 __ffs(cmsgs->seen & RDS_CMSG_ATOMICS),
				 &cmsgs->atomic);
}

/* Check whether the connection supports RDMA, by a device or in software. */
static int rds_cmsg_can_run(const struct rds_send_cmsgs *cmsgs,
			    struct rds_sock *rs, struct rds_conn *conn,
			    long *timeo)
{
	if (!rs->rs_trans->rdma)
		return rds_sw_admit(conn, timeo);
	if ((cmsgs->seen & RDS_CMSG_OPS) && conn->c_key.trans != rs->rs_trans)
		return -EOPNOTSUPP;
	return 0;
}

/**
 * rds_cmsg_run_all() - Carry out the control messages of a sendmsg()
 * @cmsgs: as filled by rds_cmsg_read(), not empty, without an error
 * @rs: the socket, bound
 * @conn: the connection that the message will take
 * @rm: the message, to which the operation or the MR cookie is added
 * @mapped: set to the cookie of the MR that was registered; otherwise not
 *	changed
 * @timeo: see rds_sw_admit()
 *
 * Context: Process context, may sleep.
 * Return: 0 if all is done; -EINVAL if there are two operations or two cookies,
 * or if a cookie has a key that no MR has; -EFAULT if the local address of an
 * operation is bad; -EOPNOTSUPP if the connection or the peer cannot do the
 * operation; or as rds_sw_admit(), rds_mr_register(), rds_op_add_rdma() and
 * rds_op_add_atomic().
 */
int rds_cmsg_run_all(const struct rds_send_cmsgs *cmsgs, struct rds_sock *rs,
		     struct rds_conn *conn, struct rds_message *rm,
		     rds_rdma_cookie_t *mapped, long *timeo)
{
	int ret;

	if (cmsgs->twice)
		return -EINVAL;
	if (cmsgs->seen == RDS_CMSG_BIT(ZCOPY_COOKIE))
		return 0;
	if ((cmsgs->seen & RDS_CMSG_ATOMICS) &&
	    !rds_cmsg_atomic_addr_ok(cmsgs->atomic.local_addr))
		return -EFAULT;
	if ((cmsgs->seen & RDS_CMSG_BIT(RDMA_ARGS)) &&
	    !rds_cmsg_vectors_ok(&cmsgs->args))
		return -EFAULT;
	ret = rds_cmsg_can_run(cmsgs, rs, conn, timeo);
	if (ret)
		return ret;
	if (cmsgs->seen & RDS_CMSG_OPS)
		return rds_cmsg_run_op(cmsgs, rs, rm);
	if (cmsgs->seen & RDS_CMSG_COOKIES)
		return rds_cmsg_run_cookie(cmsgs, rs, rm, mapped);
	return 0;
}
