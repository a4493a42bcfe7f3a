// SPDX-License-Identifier: GPL-2.0-only
/* Sockets of type SOCK_STREAM: their operations, creation, names, accept(). */
#include <linux/module.h>
#include <linux/net.h>
#include <linux/rds.h>
#include <net/ipv6.h>
#include <net/rds/addr.h>

#include "compat.h"
#include "stream.h"

static int rds_stream_check_bind(struct rds_stream *st,
				 const struct rds_stream_name *name)
{
	struct net *net = sock_net(&st->st_sk);

	if (st->st_opts[RDS_STREAM_V6ONLY] && ipv6_addr_v4mapped(&name->ip))
		return -EINVAL;
	if (rds_stream_is_any(&name->ip))
		return 0;
	return rds_addr_is_local(net, &name->ip, name->ifindex) ?
	       0 : -EADDRNOTAVAIL;
}

static int rds_stream_bind(struct socket *sock, struct rds_sockaddr *sa,
			   int len)
{
	struct rds_stream *st = rds_stream(sock->sk);
	struct rds_stream_name name;
	int ret;

	ret = rds_stream_name_parse(st->st_v6, sa, len, &name);
	if (!ret)
		ret = rds_stream_check_bind(st, &name);
	if (ret)
		return ret;

	mutex_lock(&st->st_mutex);
	ret = -EINVAL;
	if (!st->st_is_bound && READ_ONCE(st->st_state) == RDS_STREAM_IDLE)
		ret = rds_stream_bind_name(st, &name);
	if (!ret) {
		st->st_selected = name.ip;
		st->st_own_port = name.port;
	}
	mutex_unlock(&st->st_mutex);
	return ret;
}

static int rds_stream_connect_or_not(struct socket *sock,
				     struct rds_sockaddr *sa, int len,
				     int flags)
{
	if (len < (int)sizeof(sa->sa_family))
		return -EINVAL;
	if (sa->sa_family == AF_UNSPEC)
		return rds_stream_disconnect(sock);
	return rds_stream_connect(sock, sa, len, flags);
}

static int rds_stream_getname(struct socket *sock, struct sockaddr *sa,
			      int peer)
{
	struct rds_stream *st = rds_stream(sock->sk);
	struct rds_stream_name name;
	bool known = true;

	mutex_lock(&st->st_mutex);
	name = peer ? st->st_peer : st->st_local;
	if (peer)
		known = READ_ONCE(st->st_state) == RDS_STREAM_OPEN ||
			(READ_ONCE(st->st_state) == RDS_STREAM_ENDED &&
			 st->st_conn);
	mutex_unlock(&st->st_mutex);
	if (!known)
		return -ENOTCONN;
	return rds_stream_name_format(st->st_v6, &name, sa);
}

static int rds_stream_accept(struct socket *sock, struct socket *newsock,
			     RDS_STREAM_ACCEPT_ARGS)
{
	struct rds_stream *st;
	struct sock *sk;

	sk = rds_stream_accept_wait(sock->sk,
				    RDS_STREAM_ACCEPT_FLAGS & O_NONBLOCK);
	if (IS_ERR(sk))
		return PTR_ERR(sk);

	st = rds_stream(sk);
	mutex_lock(&st->st_mutex);
	sock_graft(sk, newsock);
	newsock->state = SS_CONNECTED;
	rds_stream_take_sol_socket(newsock);
	rds_stream_accepted(st);
	mutex_unlock(&st->st_mutex);
	return 0;
}

static const struct proto_ops rds_stream_ops = {
	.family		= AF_RDS,
	.owner		= THIS_MODULE,
	.release	= rds_stream_release,
	.bind		= rds_stream_bind,
	.connect	= rds_stream_connect_or_not,
	.socketpair	= sock_no_socketpair,
	.accept		= rds_stream_accept,
	.getname	= rds_stream_getname,
	.poll		= rds_stream_poll,
	.ioctl		= rds_stream_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= rds_stream_compat_ioctl,
#endif
	.gettstamp	= sock_gettstamp,
	.listen		= rds_stream_listen,
	.shutdown	= rds_stream_shutdown,
	.setsockopt	= rds_stream_setsockopt,
	.getsockopt	= rds_stream_getsockopt,
	.sendmsg	= rds_stream_sendmsg,
	.recvmsg	= rds_stream_recvmsg,
	RDS_STREAM_SPLICE_EOF(rds_stream_splice_eof)
	.mmap		= sock_no_mmap,
	.set_rcvlowat	= rds_stream_set_rcvlowat,
};

/**
 * rds_stream_create() - Implement socket(AF_RDS, SOCK_STREAM, protocol)
 * @net: the namespace
 * @sock: the socket being created
 * @protocol: RDS_PROTO_INET or RDS_PROTO_INET6
 * @kern: nonzero if the socket is for use by the kernel
 *
 * Context: Process context, may sleep.
 * Return: 0; -EPROTONOSUPPORT; -ENOMEM.
 */
int rds_stream_create(struct net *net, struct socket *sock, int protocol,
		      int kern)
{
	struct rds_stream *st;
	struct sock *account;

	if (protocol != RDS_PROTO_INET && protocol != RDS_PROTO_INET6)
		return -EPROTONOSUPPORT;
	account = rds_upper_account(net);
	if (!account)
		return -ENOMEM;
	st = rds_stream_alloc(net, sock, protocol, kern, GFP_KERNEL);
	if (!st) {
		sock_put(account);
		return -ENOMEM;
	}
	st->st_account = account;
	sock->state = SS_UNCONNECTED;
	sock->ops = &rds_stream_ops;
	rds_stream_take_sol_socket(sock);
	return 0;
}
