// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connecting.
 *
 * Of two peers, the one with the lower address dials. The one with the higher
 * address only knocks: it dials on path 0, and the lower one resets that
 * attempt and dials itself. The source port of a connection identifies the
 * path, see sport.h.
 *
 * If the peer has made a connection for the path, the path takes it and does
 * not dial.
 */
#include <linux/slab.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/rds/compat.h>
#include <net/tcp.h>

#include "sport.h"
#include "tcp.h"

/* Source ports tried in one attempt, at most */
#define RDS_TCP_BIND_TRIES	64

/* With one retry, an attempt to connect fails after 3 seconds. A peer that
 * comes back receives the SYN of a new attempt sooner than the next one of an
 * old attempt.
 */
#define RDS_TCP_SYN_RETRIES	1

/* Returns the size of the address. */
static int rds_tcp_sockaddr_init(struct sockaddr_storage *ss,
				 const struct in6_addr *addr, u16 port,
				 int ifindex)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		sin->sin_port = htons(port);
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = *addr;
	sin6->sin6_port = htons(port);
	sin6->sin6_scope_id = ifindex;
	return sizeof(*sin6);
}

/* Bind to our address and a free port that identifies the path. */
static int rds_tcp_bind(struct rds_tcp_path *tp, struct socket *sock)
{
	const struct rds_path *path = tp->tp_path;
	unsigned int tries = RDS_TCP_BIND_TRIES;
	struct rds_tcp_sports sp;
	struct sockaddr_storage ss;
	int low, high, len, ret;
	u16 port;

	inet_get_local_port_range(path->net, &low, &high);
	rds_tcp_sports_init(&sp, low, high);
	if (!sp.sp_groups)
		return -EADDRINUSE;

	do {
		port = rds_tcp_sport(&sp, tp->tp_group++, path->index);
		ret = -EADDRINUSE;
		if (inet_is_local_reserved_port(path->net, port))
			continue;
		len = rds_tcp_sockaddr_init(&ss, &path->laddr, port,
					    path->ifindex);
		ret = kernel_bind(sock, (struct rds_sockaddr *)&ss, len);
	} while (ret == -EADDRINUSE && --tries);
	return ret;
}

/* Core may be notified that the connection is up, or lost, before this function
 * returns.
 */
static int rds_tcp_dial(struct rds_tcp_path *tp)
{
	const struct rds_path *path = tp->tp_path;
	struct sockaddr_storage ss;
	struct socket *sock;
	int len, ret;

	ret = sock_create_kern(path->net,
			       ipv6_addr_v4mapped(&path->laddr) ? PF_INET :
			       PF_INET6, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;

	rds_tcp_hold_net(sock->sk);
	rds_tcp_tune(tp->tp_tn, sock->sk);
	rds_tcp_tune_buffers(tp->tp_tn, sock->sk);
	tcp_sock_set_syncnt(sock->sk, RDS_TCP_SYN_RETRIES);
	ret = rds_tcp_bind(tp, sock);
	if (ret) {
		sock_release(sock);
		return ret;
	}

	lock_sock(sock->sk);
	rds_tcp_attach(tp, sock, true);
	release_sock(sock->sk);

	len = rds_tcp_sockaddr_init(&ss, &path->faddr, RDS_TCP_PORT,
				    path->ifindex);
	ret = kernel_connect(sock, (struct rds_sockaddr *)&ss, len, O_NONBLOCK);
	if (!ret || ret == -EINPROGRESS)
		return 0;
	rds_tcp_discard(tp, true);
	return ret;
}

static struct rds_tcp_pending *rds_tcp_take_offer(struct rds_tcp_path *tp)
{
	struct rds_tcp_pending *pa;

	spin_lock_bh(&tp->tp_lock);
	pa = list_first_entry_or_null(&tp->tp_offers, struct rds_tcp_pending,
				      pa_item);
	if (pa) {
		list_del(&pa->pa_item);
		WRITE_ONCE(tp->tp_noffers, tp->tp_noffers - 1);
		rds_path_offer_event(tp->tp_path, RDS_OFFER_TAKEN);
	}
	spin_unlock_bh(&tp->tp_lock);
	return pa;
}

/* Take a connection that the peer has made. Data that arrived before must be
 * read, too, even if the peer has closed the connection already. In that case
 * the path comes UP and is dropped at once.
 */
static int rds_tcp_take(struct rds_tcp_path *tp, struct socket *sock)
{
	struct rds_path *path = tp->tp_path;
	struct sock *sk = sock->sk;
	bool gone;

	/* Values inherited from the listener may be older than the last
	 * change of the tunables. A change drops paths, but not connections
	 * that wait for a path.
	 */
	rds_tcp_tune(tp->tp_tn, sk);
	rds_tcp_tune_buffers(tp->tp_tn, sk);

	lock_sock(sk);
	rds_tcp_attach(tp, sock, false);
	rds_tcp_established(tp, sk);
	gone = sk->sk_state != TCP_ESTABLISHED;
	tp->tp_dropped = gone;
	rds_path_kick(path, RDS_KICK_RX_LATER);
	rds_path_connect_done(path);
	if (gone)
		rds_path_drop(path, rds_tcp_reason(sk, true));
	release_sock(sk);
	return 0;
}

/**
 * rds_tcp_path_connect() - Take an offer, or start to dial
 * @path: the path
 *
 * Context: Process context, the path's work item, may sleep.
 * Return: see &rds_conn_ops.path_connect.
 */
int rds_tcp_path_connect(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->data;
	struct rds_tcp_pending *pa;
	struct socket *sock;

	pa = rds_tcp_take_offer(tp);
	if (pa) {
		sock = pa->pa_sock;
		kfree(pa);
		return rds_tcp_take(tp, sock);
	}

	if (path->index && rds_tcp_is_higher(path))
		return -EAGAIN;
	return rds_tcp_dial(tp);
}
