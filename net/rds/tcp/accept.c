// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pending connections: accepted from a peer, not yet taken by a path.
 *
 * A pending connection costs a socket and a struct rds_tcp_pending. No RDS
 * connection is created for it before its first header has arrived and is
 * valid.
 *
 * A peer can open connections and send nothing. So the number of pending
 * connections is limited for each peer and for the namespace. At the limit of
 * a peer, a new connection replaces the oldest one of that peer. At the limit
 * of the namespace, it replaces the oldest one without a valid header, or else
 * the oldest of all.
 *
 * A pending connection with a valid header that core cannot place yet may wait
 * longer than one without, because TCP has already acknowledged its data.
 *
 * One work item, tn_accept_work, handles all pending connections, under
 * tn_lock. Socket callbacks only set RDS_TCP_PF_READY and queue the work item.
 *
 * If the address of the peer is higher than ours, its connection is reset,
 * because our end is the one that dials. Core is notified that the peer has
 * knocked.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat.h"
#include "sport.h"
#include "tcp.h"
#include "trace.h"

#define RDS_TCP_MAX_PENDING	256

/* How long after it was accepted a connection may be pending, in jiffies:
 * without a valid header, and with one
 */
#define RDS_TCP_SILENT_AGE	(5 * HZ)
#define RDS_TCP_VALID_AGE	(30 * HZ)

/* Connections accepted in one run, so that other work gets its turn */
#define RDS_TCP_ACCEPT_BATCH	64

/* Delay before the next attempt if accepting fails, in jiffies */
#define RDS_TCP_ACCEPT_RETRY	(HZ / 100)

/* Bit of &rds_tcp_net.tn_flags */
#define RDS_TCP_NF_AGAIN	0

/**
 * rds_tcp_accept_again() - Retry the pending connections that wait for a path
 * @net: the namespace
 *
 * Context: Any context.
 */
void rds_tcp_accept_again(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);

	set_bit(RDS_TCP_NF_AGAIN, &tn->tn_flags);
	rds_tcp_accept_soon(tn);
}

static void rds_tcp_pending_drop(struct rds_tcp_pending *pa,
				 enum rds_tcp_end reason, int err)
	__must_hold(&pa->pa_tn->tn_lock)
{
	struct rds_tcp_net *tn = pa->pa_tn;

	lockdep_assert_held(&tn->tn_lock);
	list_del(&pa->pa_item);
	tn->tn_npending--;
	rds_tcp_stat_inc(tn, tcp_listen_closed_stale);
	rds_tcp_pending_close(pa, reason, err);
}

/* Fill in the addresses and the path of an accepted socket. */
static void rds_tcp_peer_of(const struct sock *sk,
			    struct rds_conn_request *peer)
{
	memset(peer, 0, sizeof(*peer));
	peer->since = jiffies;
	peer->index = rds_tcp_sport_index(ntohs(inet_sk(sk)->inet_dport));
	rds_tcp_addrs(sk, &peer->laddr, &peer->faddr);
	if (ipv6_addr_type(&peer->faddr) & IPV6_ADDR_LINKLOCAL)
		peer->ifindex = sk->sk_bound_dev_if;
	/* If only our address is link-local, TCP does not bind the socket. */
	else if (ipv6_addr_type(&peer->laddr) & IPV6_ADDR_LINKLOCAL)
		peer->ifindex = READ_ONCE(sk->sk_rx_dst_ifindex);
}

static bool rds_tcp_is_same_peer(const struct rds_conn_request *a,
				 const struct rds_conn_request *b)
{
	return ipv6_addr_equal(&a->laddr, &b->laddr) &&
	       ipv6_addr_equal(&a->faddr, &b->faddr) &&
	       a->ifindex == b->ifindex;
}

/* Make room for one more pending connection. A peer needs at most one for each
 * path. If it has more, drop its oldest one. Otherwise, if the namespace is
 * full, drop the oldest one without a valid header, or else the oldest of all.
 */
static void rds_tcp_make_room(struct rds_tcp_net *tn,
			      const struct rds_conn_request *peer)
	__must_hold(&tn->tn_lock)
{
	struct rds_tcp_pending *pa, *own = NULL, *silent = NULL, *oldest;
	unsigned int count = 0;

	lockdep_assert_held(&tn->tn_lock);

	list_for_each_entry_reverse(pa, &tn->tn_pending, pa_item) {
		if (!pa->pa_valid)
			silent = pa;
		if (rds_tcp_is_same_peer(&pa->pa_request, peer)) {
			own = pa;
			count++;
		}
	}
	if (count > RDS_MAX_PATHS) {
		rds_tcp_pending_drop(own, RDS_TCP_END_PEER_LIMIT, 0);
	} else if (tn->tn_npending >= RDS_TCP_MAX_PENDING) {
		oldest = list_first_entry(&tn->tn_pending,
					  struct rds_tcp_pending, pa_item);
		rds_tcp_pending_drop(silent ?: oldest, RDS_TCP_END_FULL, 0);
	}
}

static void rds_tcp_refuse(struct rds_tcp_net *tn, struct socket *sock,
			   enum rds_tcp_end reason)
{
	trace_rds_tcp_refuse(sock->sk, reason, 0, jiffies);
	if (reason != RDS_TCP_END_KNOCK)
		rds_tcp_stat_inc(tn, tcp_listen_closed_stale);
	rds_tcp_abort(sock);
}

static void rds_tcp_admit(struct rds_tcp_net *tn, struct socket *sock,
			  const struct rds_conn_request *peer)
	__must_hold(&tn->tn_lock)
{
	struct rds_tcp_pending *pa;

	lockdep_assert_held(&tn->tn_lock);
	rds_tcp_make_room(tn, peer);
	pa = kzalloc(sizeof(*pa), GFP_KERNEL);
	if (!pa) {
		rds_tcp_refuse(tn, sock, RDS_TCP_END_NO_MEMORY);
		return;
	}

	pa->pa_tn = tn;
	pa->pa_sock = sock;
	pa->pa_request = *peer;
	pa->pa_born = jiffies;
	set_bit(RDS_TCP_PF_READY, &pa->pa_flags);
	list_add_tail(&pa->pa_item, &tn->tn_pending);
	tn->tn_npending++;
	rds_tcp_pending_attach(pa);
}

/* TCP does not serve connections between addresses of the same host. */
static bool rds_tcp_is_local(struct net *net,
			     const struct rds_conn_request *peer)
{
	return !rds_tcp_transport.conn->laddr_check(net, &peer->faddr,
						    peer->ifindex);
}

static void rds_tcp_accepted(struct rds_tcp_net *tn, struct socket *sock)
	__must_hold(&tn->tn_lock)
{
	struct rds_conn_request peer;
	int order;

	lockdep_assert_held(&tn->tn_lock);
	rds_tcp_hold_net(sock->sk);
	rds_tcp_peer_of(sock->sk, &peer);
	order = memcmp(&peer.laddr, &peer.faddr, sizeof(peer.laddr));

	if (rds_tcp_is_local(tn->tn_net, &peer)) {
		rds_tcp_refuse(tn, sock, RDS_TCP_END_LOCAL);
	} else if (order < 0) {
		peer.spoken = true;
		if (rds_path_accept(tn->tn_net, &rds_tcp_transport, &peer,
				    NULL) > 0)
			rds_tcp_stat_inc(tn, tcp_connect_raced);
		rds_tcp_refuse(tn, sock, RDS_TCP_END_KNOCK);
	} else {
		rds_tcp_admit(tn, sock, &peer);
	}
}

/* Check whether the first header has arrived. Returns 1 if it has and is valid,
 * 0 if it may still arrive, and an errno if it is invalid or cannot arrive.
 */
static int rds_tcp_pending_peek(struct rds_tcp_pending *pa)
{
	struct rds_header hdr;
	struct kvec vec = { .iov_base = &hdr, .iov_len = sizeof(hdr) };
	const struct sock *sk = pa->pa_sock->sk;
	struct msghdr mh = {};
	int ret;

	ret = kernel_recvmsg(pa->pa_sock, &mh, &vec, 1, sizeof(hdr),
			     MSG_PEEK | MSG_DONTWAIT);
	if (ret == sizeof(hdr))
		return rds_tcp_frame_judge(&hdr) == RDS_TCP_OVERSIZED ?
		       -EMSGSIZE : 1;
	if (ret < 0 && ret != -EAGAIN)
		return ret;
	if (!ret || (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN))
		return -ECONNRESET;
	return 0;
}

/* Check whether an earlier pending connection for the same path has a valid
 * header. A peer makes a second connection for a path when it has finished with
 * the first. The data of the first must be delivered first, so @pa waits.
 */
static bool rds_tcp_pending_is_second(struct rds_tcp_pending *pa)
	__must_hold(&pa->pa_tn->tn_lock)
{
	struct rds_tcp_pending *first;

	lockdep_assert_held(&pa->pa_tn->tn_lock);
	list_for_each_entry(first, &pa->pa_tn->tn_pending, pa_item) {
		if (first == pa)
			return false;
		if (rds_tcp_is_same_peer(&first->pa_request, &pa->pa_request) &&
		    first->pa_request.index == pa->pa_request.index &&
		    (first->pa_valid || rds_tcp_pending_peek(first) > 0))
			return true;
	}
	return false;
}

/* Find a path for a pending connection. Returns RDS_TCP_END_NONE if a path has
 * taken it or it may wait. Otherwise returns the reason to drop it, with the
 * error in @err.
 */
static enum rds_tcp_end rds_tcp_pending_place(struct rds_tcp_pending *pa,
					      int *err)
	__must_hold(&pa->pa_tn->tn_lock)
{
	struct rds_tcp_net *tn = pa->pa_tn;
	int ret;

	lockdep_assert_held(&tn->tn_lock);
	if (!pa->pa_valid) {
		ret = rds_tcp_pending_peek(pa);
		*err = ret;
		if (ret < 0)
			return ret == -EMSGSIZE ? RDS_TCP_END_OVERSIZED :
						  RDS_TCP_END_CLOSED;
		pa->pa_valid = ret;
		pa->pa_request.spoken = ret;
	}
	if (rds_tcp_pending_is_second(pa))
		return RDS_TCP_END_NONE;
	ret = rds_path_accept(tn->tn_net, &rds_tcp_transport, &pa->pa_request,
			      pa);
	*err = ret;
	return !ret || ret == -EAGAIN ? RDS_TCP_END_NONE : RDS_TCP_END_NO_PATH;
}

static unsigned long rds_tcp_pending_deadline(const struct rds_tcp_pending *pa)
{
	return pa->pa_born +
	       (pa->pa_valid ? RDS_TCP_VALID_AGE : RDS_TCP_SILENT_AGE);
}

static void rds_tcp_pending_all_place(struct rds_tcp_net *tn)
	__must_hold(&tn->tn_lock)
{
	bool again = test_and_clear_bit(RDS_TCP_NF_AGAIN, &tn->tn_flags);
	struct rds_tcp_pending *pa, *next;
	enum rds_tcp_end reason;
	int err;

	lockdep_assert_held(&tn->tn_lock);
	list_for_each_entry_safe(pa, next, &tn->tn_pending, pa_item) {
		bool late = time_after_eq(jiffies,
					  rds_tcp_pending_deadline(pa));

		err = 0;
		reason = pa->pa_valid ? RDS_TCP_END_LATE : RDS_TCP_END_SILENT;
		if (!test_and_clear_bit(RDS_TCP_PF_READY, &pa->pa_flags) &&
		    !late && !again)
			continue;
		if (!late)
			reason = rds_tcp_pending_place(pa, &err);
		if (reason == RDS_TCP_END_NONE)
			continue;
		/* Later connections may have waited for this one. */
		rds_tcp_pending_drop(pa, reason, err);
		again = true;
	}
}

/* Queue the next run: after @delay, or when the next pending connection becomes
 * too old, whichever is earlier.
 */
static void rds_tcp_accept_rearm(struct rds_tcp_net *tn, long delay)
	__must_hold(&tn->tn_lock)
{
	struct rds_tcp_pending *pa;

	lockdep_assert_held(&tn->tn_lock);
	list_for_each_entry(pa, &tn->tn_pending, pa_item)
		delay = min_t(long, delay,
			      rds_tcp_pending_deadline(pa) - jiffies);
	if (delay != LONG_MAX)
		queue_delayed_work(rds_tcp_wq, &tn->tn_accept_work,
				   max(delay, 0L));
}

/* Accept the connections that the listener has. Returns the delay before the
 * next run in jiffies, or LONG_MAX if the listener will wake us.
 */
static long rds_tcp_accept_all(struct rds_tcp_net *tn)
	__must_hold(&tn->tn_lock)
{
	unsigned int budget = RDS_TCP_ACCEPT_BATCH;
	struct socket *sock;
	int ret;

	lockdep_assert_held(&tn->tn_lock);
	if (!tn->tn_listener)
		return LONG_MAX;

	while (budget--) {
		ret = kernel_accept(tn->tn_listener, &sock, O_NONBLOCK);
		if (ret == -EAGAIN)
			return LONG_MAX;
		if (ret)
			return RDS_TCP_ACCEPT_RETRY;
		rds_tcp_accepted(tn, sock);
	}
	return 0;
}

/**
 * rds_tcp_accept_work() - Accept connections and handle the pending ones
 * @work: &rds_tcp_net.tn_accept_work
 *
 * Context: Process context, may sleep. Takes tn_lock.
 */
void rds_tcp_accept_work(struct work_struct *work)
{
	struct rds_tcp_net *tn = container_of(to_delayed_work(work),
					      struct rds_tcp_net,
					      tn_accept_work);
	long delay;

	mutex_lock(&tn->tn_lock);
	if (!tn->tn_down) {
		delay = rds_tcp_accept_all(tn);
		rds_tcp_pending_all_place(tn);
		rds_tcp_accept_rearm(tn, delay);
	}
	mutex_unlock(&tn->tn_lock);
}

/**
 * rds_tcp_accept_stop() - Drop all pending connections and accept no more
 * @tn: the namespace; the listener, if any, no longer calls us back
 *
 * Connections that the listener has not handed out yet are reset, too. After
 * this, nothing would call rds_tcp_hold_net() for their sockets.
 *
 * Context: Process context, may sleep. Takes tn_lock. Waits for the work item.
 */
void rds_tcp_accept_stop(struct rds_tcp_net *tn)
{
	struct rds_tcp_pending *pa, *next;
	struct socket *sock;

	mutex_lock(&tn->tn_lock);
	WRITE_ONCE(tn->tn_down, true);
	while (tn->tn_listener &&
	       !kernel_accept(tn->tn_listener, &sock, O_NONBLOCK)) {
		rds_tcp_hold_net(sock->sk);
		trace_rds_tcp_refuse(sock->sk, RDS_TCP_END_STOPPED, 0, jiffies);
		rds_tcp_abort(sock);
	}
	list_for_each_entry_safe(pa, next, &tn->tn_pending, pa_item)
		rds_tcp_pending_drop(pa, RDS_TCP_END_STOPPED, 0);
	mutex_unlock(&tn->tn_lock);
	cancel_delayed_work_sync(&tn->tn_accept_work);
}
