// SPDX-License-Identifier: GPL-2.0-only
/* Options and ioctls of RDS sockets */
#include <linux/capability.h>
#include <linux/sockios.h>
#include <linux/uaccess.h>
#include <asm/ioctls.h>

#include "cong_flow.h"
#include "mr.h"
#include "send.h"
#include "sock_ops.h"
#include "transport.h"

static int rds_get_int(sockptr_t optval, unsigned int optlen, int *value)
{
	if (optlen < sizeof(*value))
		return -EINVAL;
	return copy_from_sockptr(value, optval, sizeof(*value)) ? -EFAULT : 0;
}

/* The length determines the family, because some programs leave sin_family
 * zero. But a longer value, such as a struct sockaddr_storage, is an IPv4
 * address if its family is AF_INET.
 */
static int rds_set_cancel_sent_to(struct rds_sock *rs, sockptr_t optval,
				  unsigned int optlen)
{
	struct sockaddr_in6 sa = {};
	struct rds_addr dest;
	bool v4;

	if (!rds_sock_is_bound(rs))
		return -ENOTCONN;
	if (!optlen)
		return rds_send_cancel(rs, NULL);
	if (optlen < sizeof(struct sockaddr_in))
		return -EINVAL;
	if (copy_from_sockptr(&sa, optval,
			      min_t(size_t, optlen, sizeof(sa))))
		return -EFAULT;

	if (optlen < sizeof(sa) && sa.sin6_family == AF_INET6)
		return -EINVAL;
	v4 = optlen < sizeof(sa) || sa.sin6_family == AF_INET;
	sa.sin6_family = v4 ? AF_INET : AF_INET6;
	if (rds_addr_parse(&sa, sizeof(sa), &dest))
		return -EINVAL;

	return rds_send_cancel(rs, &dest);
}

static int rds_set_recverr(struct rds_sock *rs, sockptr_t optval,
			   unsigned int optlen)
{
	int value, ret;

	ret = rds_get_int(optval, optlen, &value);
	if (!ret)
		WRITE_ONCE(rs->rs_recverr, !!value);
	return ret;
}

/* A value of four bytes is a switch; one of eight is the mask of rds(7). */
static int rds_set_cong_monitor(struct rds_sock *rs, sockptr_t optval,
				unsigned int optlen)
{
	u64 mask = 0;
	int on, ret;

	if (optlen >= sizeof(mask)) {
		if (copy_from_sockptr(&mask, optval, sizeof(mask)))
			return -EFAULT;
		rds_cong_monitor(rs, mask, mask);
		return 0;
	}

	ret = rds_get_int(optval, optlen, &on);
	if (!ret)
		rds_cong_monitor(rs, on, 0);
	return ret;
}

static int rds_transport_choose(struct rds_sock *rs,
				const struct rds_transport *trans)
{
	struct sock *sk = &rs->rs_sk;
	int ret = -EOPNOTSUPP;

	if (!(trans->caps & RDS_CAP_NETNS) &&
	    !net_eq(sock_net(sk), &init_net))
		return -EPROTOTYPE;

	lock_sock(sk);
	if (!rs->rs_trans) {
		WRITE_ONCE(rs->rs_trans, trans);
		ret = 0;
	}
	release_sock(sk);
	return ret;
}

/* Once the RDMA transport is loaded, each socket that is bound to an address of
 * an RDMA device uses it, and reaches only peers that use it, too. So only an
 * administrator may cause its module to be loaded.
 */
static const struct rds_transport *rds_transport_wanted(unsigned int type)
{
	if (type == RDS_TRANS_IB && !capable(CAP_NET_ADMIN))
		return rds_transport_get(type);
	return rds_transport_demand(type);
}

static int rds_set_transport(struct rds_sock *rs, sockptr_t optval,
			     unsigned int optlen)
{
	const struct rds_transport *trans;
	int type, ret;

	if (READ_ONCE(rs->rs_trans))
		return -EOPNOTSUPP;
	if (optlen != sizeof(type))
		return -EINVAL;
	if (copy_from_sockptr(&type, optval, sizeof(type)))
		return -EFAULT;
	if (type < 0 || type >= RDS_TRANS_COUNT)
		return -EINVAL;

	/* Do not load the module for a namespace in which it cannot work. */
	if (type == RDS_TRANS_IB && !net_eq(sock_net(&rs->rs_sk), &init_net))
		return -EPROTOTYPE;

	trans = rds_transport_wanted(type);
	if (!trans)
		return -ENOPROTOOPT;

	ret = rds_transport_choose(rs, trans);
	if (ret)
		rds_transport_put(trans);
	return ret;
}

static int rds_set_rx_latency(struct rds_sock *rs, sockptr_t optval,
			      unsigned int optlen)
{
	struct rds_net *rn = rs->rs_rn;
	struct rds_rx_trace_so trace;
	unsigned int i;

	if (optlen != sizeof(trace))
		return -EFAULT;
	if (copy_from_sockptr(&trace, optval, sizeof(trace)))
		return -EFAULT;
	if (trace.rx_traces > RDS_MSG_RX_DGRAM_TRACE_MAX)
		return -EFAULT;
	for (i = 0; i < trace.rx_traces; i++) {
		if (trace.rx_trace_pos[i] >= RDS_MSG_RX_DGRAM_TRACE_MAX)
			return -EFAULT;
	}
	/* A reader may combine the old count with the new positions, so set all
	 * positions to valid values.
	 */
	for (; i < RDS_MSG_RX_DGRAM_TRACE_MAX; i++)
		trace.rx_trace_pos[i] = 0;

	lock_sock(&rs->rs_sk);
	atomic_add(!!trace.rx_traces - !!rs->rs_rx_traces, &rn->rn_rx_traces);
	WRITE_ONCE(rs->rs_rx_traces, trace.rx_traces);
	memcpy(rs->rs_rx_trace, trace.rx_trace_pos, sizeof(rs->rs_rx_trace));
	release_sock(&rs->rs_sk);
	return 0;
}

static int rds_set_timestamp(struct sock *sk, int optname, sockptr_t optval,
			     unsigned int optlen)
{
	int on;

	if (optlen != sizeof(on) || copy_from_sockptr(&on, optval, sizeof(on)))
		return -EFAULT;

	lock_sock(sk);
	sock_valbool_flag(sk, SOCK_RCVTSTAMP, on);
	sock_valbool_flag(sk, SOCK_TSTAMP_NEW,
			  on && optname == SO_TIMESTAMP_NEW);
	release_sock(sk);
	return 0;
}

static int rds_read_mr_args(const struct rds_sock *rs, sockptr_t optval,
			    unsigned int optlen, void *args, size_t size)
{
	if (optlen != size)
		return -EINVAL;
	if (!rds_sock_is_bound(rs))
		return -ENOTCONN;
	return copy_from_sockptr(args, optval, size) ? -EFAULT : 0;
}

static int rds_get_mr(struct rds_sock *rs, sockptr_t optval,
		      unsigned int optlen)
{
	struct rds_get_mr_args args;
	rds_rdma_cookie_t cookie;
	int ret;

	ret = rds_read_mr_args(rs, optval, optlen, &args, sizeof(args));
	return ret ?: rds_mr_register(rs, &args, &cookie);
}

/* The destination is ignored, because every peer may use the cookie. */
static int rds_get_mr_for_dest(struct rds_sock *rs, sockptr_t optval,
			       unsigned int optlen)
{
	struct rds_get_mr_for_dest_args args;
	struct rds_get_mr_args plain;
	rds_rdma_cookie_t cookie;
	int ret;

	ret = rds_read_mr_args(rs, optval, optlen, &args, sizeof(args));
	if (ret)
		return ret;
	plain.vec = args.vec;
	plain.cookie_addr = args.cookie_addr;
	plain.flags = args.flags;
	return rds_mr_register(rs, &plain, &cookie);
}

/* A cookie of 0 asks to release the regions that are no longer used. There are
 * none to release, because a region ends at once.
 */
static int rds_free_mr(struct rds_sock *rs, sockptr_t optval,
		       unsigned int optlen)
{
	struct rds_free_mr_args args;

	if (optlen != sizeof(args))
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, sizeof(args)))
		return -EFAULT;
	if (!rds_sock_is_bound(rs))
		return -EINVAL;
	return args.cookie ? rds_mr_free(rs, args.cookie) : 0;
}

/**
 * rds_sock_setsockopt() - Handle setsockopt(2) at level SOL_RDS
 * @sock: the socket
 * @level: SOL_RDS; other levels are refused
 * @optname: the option
 * @optval: the value
 * @optlen: length of the value
 *
 * Context: Process context, may sleep; SO_RDS_TRANSPORT may load modules.
 * Return: 0 or an errno, see rds(7).
 */
int rds_sock_setsockopt(struct socket *sock, int level, int optname,
			sockptr_t optval, unsigned int optlen)
{
	struct rds_sock *rs = rds_sk(sock->sk);

	if (level != SOL_RDS)
		return -ENOPROTOOPT;

	switch (optname) {
	case RDS_CANCEL_SENT_TO:
		return rds_set_cancel_sent_to(rs, optval, optlen);
	case RDS_GET_MR:
		return rds_get_mr(rs, optval, optlen);
	case RDS_GET_MR_FOR_DEST:
		return rds_get_mr_for_dest(rs, optval, optlen);
	case RDS_FREE_MR:
		return rds_free_mr(rs, optval, optlen);
	case RDS_RECVERR:
		return rds_set_recverr(rs, optval, optlen);
	case RDS_CONG_MONITOR:
		return rds_set_cong_monitor(rs, optval, optlen);
	case SO_RDS_TRANSPORT:
		return rds_set_transport(rs, optval, optlen);
	case SO_RDS_MSG_RXPATH_LATENCY:
		return rds_set_rx_latency(rs, optval, optlen);
	case SO_TIMESTAMP_OLD:
	case SO_TIMESTAMP_NEW:
		return rds_set_timestamp(sock->sk, optname, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}

static int rds_put_value(const void *value, int size, char __user *optval,
			 int __user *optlen)
{
	if (copy_to_user(optval, value, size) || put_user(size, optlen))
		return -EFAULT;
	return 0;
}

static int rds_get_cong_monitor(struct rds_sock *rs, int len,
				char __user *optval, int __user *optlen)
{
	bool monitor;
	u64 mask;
	int on;

	mask = rds_cong_watched(rs, &monitor);
	if (len >= (int)sizeof(mask))
		return rds_put_value(&mask, sizeof(mask), optval, optlen);
	on = monitor;
	return rds_put_value(&on, sizeof(on), optval, optlen);
}

static int rds_get_transport(const struct rds_sock *rs)
{
	const struct rds_transport *trans = READ_ONCE(rs->rs_trans);

	return trans ? (int)trans->type : RDS_TRANS_NONE;
}

/**
 * rds_sock_getsockopt() - Handle getsockopt(2) at level SOL_RDS
 * @sock: the socket
 * @level: SOL_RDS; other levels are refused
 * @optname: the option
 * @optval: buffer for the value
 * @optlen: size of the buffer; set to the length of the value
 *
 * Context: Process context, may sleep.
 * Return: 0, or the size of a record for RDS_INFO_*; or an errno, see rds(7).
 */
int rds_sock_getsockopt(struct socket *sock, int level, int optname,
			char __user *optval, int __user *optlen)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	int len, value;

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	if ((optname >= RDS_INFO_FIRST && optname <= RDS_INFO_LAST) ||
	    optname == RDS6_INFO_PATHS || optname == RDS6_INFO_STREAMS)
		return rds_info_getsockopt(sock, optname, optval, optlen);
	if (get_user(len, optlen))
		return -EFAULT;

	switch (optname) {
	case RDS_RECVERR:
		value = READ_ONCE(rs->rs_recverr);
		break;
	case SO_RDS_TRANSPORT:
		value = rds_get_transport(rs);
		break;
	case RDS_CONG_MONITOR:
		if (len < (int)sizeof(int))
			return -EINVAL;
		return rds_get_cong_monitor(rs, len, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}

	if (len < (int)sizeof(value))
		return -EINVAL;
	return rds_put_value(&value, sizeof(value), optval, optlen);
}

static int rds_set_tos(struct rds_sock *rs, u8 __user *arg)
{
	const struct rds_transport *trans;
	int ret = 0;
	u8 tos;

	if (get_user(tos, arg))
		return -EFAULT;

	lock_sock(&rs->rs_sk);
	trans = rs->rs_trans;
	if (!trans || !trans->conn->tos_map)
		ret = -ENOTTY;
	else if (rs->rs_tos || rcu_access_pointer(rs->rs_conn))
		ret = -EINVAL;
	else
		WRITE_ONCE(rs->rs_tos, trans->conn->tos_map(tos));
	release_sock(&rs->rs_sk);
	return ret;
}

static int rds_first_message_len(struct rds_sock *rs)
{
	struct rds_incoming *inc;
	int len;

	spin_lock_bh(&rs->rs_recv_lock);
	inc = list_first_entry_or_null(&rs->rs_recv_queue,
				       struct rds_incoming, i_item);
	len = inc ? inc->i_len : 0;
	spin_unlock_bh(&rs->rs_recv_lock);
	return len;
}

/**
 * rds_sock_ioctl() - Handle ioctl(2)
 * @sock: the socket
 * @cmd: the command
 * @arg: user pointer to its argument
 *
 * Context: Process context, may sleep.
 * Return: 0 or an errno, see rds(7).
 */
int rds_sock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	void __user *uarg = (void __user *)arg;

	switch (cmd) {
	case SIOCRDSSETTOS:
		return rds_set_tos(rs, uarg);
	case SIOCRDSGETTOS:
		return put_user(READ_ONCE(rs->rs_tos), (u8 __user *)uarg);
	case FIONREAD:
		return put_user(rds_first_message_len(rs), (int __user *)uarg);
	case SIOCOUTQ:
		return put_user((int)READ_ONCE(rs->rs_snd_bytes),
				(int __user *)uarg);
	default:
		return -ENOIOCTLCMD;
	}
}
