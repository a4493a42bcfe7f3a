// SPDX-License-Identifier: GPL-2.0-only
/*
 * The listener of a namespace. It serves both IPv4 and IPv6 if IPv6 is enabled.
 * Otherwise, or if that fails, it serves IPv4 only.
 *
 * Accepted sockets inherit what is set on the listener.
 */
#include <net/ipv6.h>
#include <net/rds/compat.h>
#include <net/tcp.h>

#include "tcp.h"

#define RDS_TCP_BACKLOG		1024

/* Accepted sockets inherit this callback until a pending connection is attached
 * to them. Their sk_user_data is NULL, see rds_tcp_listen_attach(). TCP calls
 * this for a listener without holding its socket lock.
 */
static void rds_tcp_listen_data_ready(struct sock *sk)
{
	struct rds_tcp_net *tn;

	read_lock_bh(&sk->sk_callback_lock);
	tn = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (tn)
		rds_tcp_accept_soon(tn);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void rds_tcp_listen_attach(struct rds_tcp_net *tn, struct sock *sk)
{
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	tn->tn_default.data_ready = sk->sk_data_ready;
	tn->tn_default.state_change = sk->sk_state_change;
	tn->tn_default.write_space = sk->sk_write_space;
	__rcu_assign_sk_user_data_with_flags(sk, tn, SK_USER_DATA_NOCOPY);
	sk->sk_data_ready = rds_tcp_listen_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);

	/* Accepted sockets inherit this: wake us for a full header. */
	WRITE_ONCE(sk->sk_rcvlowat, (int)sizeof(struct rds_header));
	release_sock(sk);
}

static void rds_tcp_listen_detach(struct rds_tcp_net *tn, struct sock *sk)
{
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = tn->tn_default.data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

static int rds_tcp_listen_bind(struct socket *sock, int family)
{
	struct sockaddr_storage ss = { .ss_family = family };

	if (family == AF_INET) {
		((struct sockaddr_in *)&ss)->sin_port = htons(RDS_TCP_PORT);
		return kernel_bind(sock, (struct rds_sockaddr *)&ss,
				   sizeof(struct sockaddr_in));
	}
	((struct sockaddr_in6 *)&ss)->sin6_port = htons(RDS_TCP_PORT);
	return kernel_bind(sock, (struct rds_sockaddr *)&ss,
			   sizeof(struct sockaddr_in6));
}

static int rds_tcp_listen_on(struct rds_tcp_net *tn, int family)
{
	struct socket *sock;
	int ret;

	ret = sock_create_kern(tn->tn_net, family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (ret)
		return ret;

	/* Serve both families, regardless of net.ipv6.bindv6only. */
	sock->sk->sk_ipv6only = 0;
	sock_set_reuseaddr(sock->sk);
	rds_tcp_tune(tn, sock->sk);
	rds_tcp_tune_buffers(tn, sock->sk);
	rds_tcp_listen_attach(tn, sock->sk);
	tn->tn_listener = sock;

	ret = rds_tcp_listen_bind(sock, family);
	if (!ret)
		ret = kernel_listen(sock, RDS_TCP_BACKLOG);
	if (ret) {
		rds_tcp_listen_detach(tn, sock->sk);
		tn->tn_listener = NULL;
		sock_release(sock);
	}
	return ret;
}

/**
 * rds_tcp_listen() - Start to listen for connections
 * @tn: the namespace
 *
 * If another program has the port, that is an error in the first namespace. In
 * another namespace, this must not prevent the host from loading the module.
 * Such a namespace has no listener: it can dial, but cannot be dialed.
 *
 * Context: Process context, may sleep.
 * Return: 0 on success, or if another namespace than the first has no listener
 * because the port is taken; otherwise an errno.
 */
int rds_tcp_listen(struct rds_tcp_net *tn)
{
	int ret;

	if (ipv6_mod_enabled() && !rds_tcp_listen_on(tn, AF_INET6))
		return 0;
	ret = rds_tcp_listen_on(tn, AF_INET);
	if (ret == -EADDRINUSE && !net_eq(tn->tn_net, &init_net)) {
		pr_warn_once("rds_tcp: port %u is taken in a namespace\n",
			     RDS_TCP_PORT);
		return 0;
	}
	return ret;
}

/**
 * rds_tcp_listen_stop() - Stop listening and drop all pending connections
 * @tn: the namespace
 *
 * Context: Process context, may sleep. Takes tn_lock.
 */
void rds_tcp_listen_stop(struct rds_tcp_net *tn)
{
	if (tn->tn_listener)
		rds_tcp_listen_detach(tn, tn->tn_listener->sk);
	rds_tcp_accept_stop(tn);
	if (tn->tn_listener)
		sock_release(tn->tn_listener);
	tn->tn_listener = NULL;
}
