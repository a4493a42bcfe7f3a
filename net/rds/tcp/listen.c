// SPDX-License-Identifier: GPL-2.0-only
/*
 * The listener of a namespace: for both families where IPv6 is on, otherwise
 * for IPv4.
 *
 * What is tuned here, accepted sockets inherit.
 */
#include <net/ipv6.h>
#include <net/rds/compat.h>
#include <net/tcp.h>

#include "tcp.h"

#define RDS_TCP_BACKLOG		1024

/* Accepted sockets have this too, until somebody takes them: their user data
 * is NULL, see rds_tcp_listen_attach(). A listener is not locked when TCP calls
 * this.
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

	/* Nobody wakes us for less than a header. */
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

	/* For both families, whatever net.ipv6.bindv6only says */
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
 * rds_tcp_listen() - begin to take connections
 * @tn: the namespace
 *
 * If somebody else has the port, that is an error in the first namespace. In
 * another one it must not keep the host from loading the module: that
 * namespace can dial, but not be dialed.
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
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
 * rds_tcp_listen_stop() - take no connections any more
 * @tn: the namespace
 *
 * Strangers go with the listener.
 *
 * Context: process, may sleep.
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
