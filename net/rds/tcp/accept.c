// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strangers: connections that peers have made, until they have a path.
 *
 * A stranger costs a socket and nothing of RDS until its first header is here
 * and makes sense. There is room for so many per peer and per namespace; a new
 * one takes the place of the oldest, if possible of one that has not said
 * anything. One with a good header that core cannot place yet waits longer,
 * for TCP has acknowledged what it sent. Everything happens in one work item;
 * callbacks only mark who has news.
 *
 * A peer whose address is higher than ours does not get a connection: it is
 * for us to dial, and core is told that somebody knocked.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat.h"
#include "sport.h"
#include "tcp.h"

#define RDS_TCP_MAX_PENDING	256

/* How long a stranger may take to say something, or wait for a path */
#define RDS_TCP_SILENT_AGE	(5 * HZ)
#define RDS_TCP_VALID_AGE	(30 * HZ)

/* Connections accepted before others have a turn */
#define RDS_TCP_ACCEPT_BATCH	64

/* Until the next try after accepting has failed */
#define RDS_TCP_ACCEPT_RETRY	(HZ / 100)

/* Bit of &rds_tcp_net.tn_flags */
#define RDS_TCP_NF_AGAIN	0

/**
 * rds_tcp_accept_again() - those who wait for a path may ask again
 * @net: the namespace
 *
 * Context: any.
 */
void rds_tcp_accept_again(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);

	set_bit(RDS_TCP_NF_AGAIN, &tn->tn_flags);
	rds_tcp_accept_soon(tn);
}

static void rds_tcp_pending_drop(struct rds_tcp_pending *pa)
	__must_hold(&pa->pa_tn->tn_lock)
{
	struct rds_tcp_net *tn = pa->pa_tn;

	lockdep_assert_held(&tn->tn_lock);
	list_del(&pa->pa_item);
	tn->tn_npending--;
	rds_tcp_stat_inc(tn, tcp_listen_closed_stale);
	rds_tcp_pending_close(pa);
}

/* Who is at the other end of a socket? */
static void rds_tcp_peer_of(const struct sock *sk,
			    struct rds_conn_request *peer)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(peer, 0, sizeof(*peer));
	peer->since = jiffies;
	peer->index = rds_tcp_sport_index(ntohs(inet->inet_dport));
	if (sk->sk_family == AF_INET) {
		ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, &peer->laddr);
		ipv6_addr_set_v4mapped(inet->inet_daddr, &peer->faddr);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	peer->laddr = sk->sk_v6_rcv_saddr;
	peer->faddr = sk->sk_v6_daddr;
	if (ipv6_addr_type(&peer->faddr) & IPV6_ADDR_LINKLOCAL)
		peer->ifindex = sk->sk_bound_dev_if;
#endif
}

static bool rds_tcp_is_same_peer(const struct rds_conn_request *a,
				 const struct rds_conn_request *b)
{
	return ipv6_addr_equal(&a->laddr, &b->laddr) &&
	       ipv6_addr_equal(&a->faddr, &b->faddr) &&
	       a->ifindex == b->ifindex;
}

/* Make room for one more. A peer does not need more than one for each path; of
 * others, the oldest that is silent goes, or the oldest of all.
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
		rds_tcp_pending_drop(own);
	} else if (tn->tn_npending >= RDS_TCP_MAX_PENDING) {
		oldest = list_first_entry(&tn->tn_pending,
					  struct rds_tcp_pending, pa_item);
		rds_tcp_pending_drop(silent ?: oldest);
	}
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
		rds_tcp_stat_inc(tn, tcp_listen_closed_stale);
		rds_tcp_abort(sock);
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

/* Connections between addresses of one host are not for TCP. */
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

	rds_tcp_hold_net(sock->sk);
	rds_tcp_peer_of(sock->sk, &peer);
	order = memcmp(&peer.laddr, &peer.faddr, sizeof(peer.laddr));

	if (rds_tcp_is_local(tn->tn_net, &peer)) {
		rds_tcp_stat_inc(tn, tcp_listen_closed_stale);
		rds_tcp_abort(sock);
	} else if (order < 0) {
		peer.spoken = true;
		if (rds_path_knock(tn->tn_net, &rds_tcp_transport, &peer) > 0)
			rds_tcp_stat_inc(tn, tcp_connect_raced);
		rds_tcp_abort(sock);
	} else {
		rds_tcp_admit(tn, sock, &peer);
	}
}

/* Is the first header here? Returns 1 if it is and makes sense, 0 if it may
 * still come, an errno if it will not.
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

/* For a path that has another connection already a peer makes one when it has
 * done with that. What came by it is to be delivered first.
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

/* Find a place for a stranger. Returns false if there will be none. */
static bool rds_tcp_pending_place(struct rds_tcp_pending *pa)
	__must_hold(&pa->pa_tn->tn_lock)
{
	struct rds_tcp_net *tn = pa->pa_tn;
	int ret;

	if (!pa->pa_valid) {
		ret = rds_tcp_pending_peek(pa);
		if (ret < 0)
			return false;
		pa->pa_valid = ret;
		pa->pa_request.spoken = ret;
	}
	if (rds_tcp_pending_is_second(pa))
		return true;
	ret = rds_path_accept(tn->tn_net, &rds_tcp_transport, &pa->pa_request,
			      pa);
	return !ret || ret == -EAGAIN;
}

static unsigned long rds_tcp_pending_end(const struct rds_tcp_pending *pa)
{
	return pa->pa_born +
	       (pa->pa_valid ? RDS_TCP_VALID_AGE : RDS_TCP_SILENT_AGE);
}

static void rds_tcp_pending_all_place(struct rds_tcp_net *tn)
	__must_hold(&tn->tn_lock)
{
	bool again = test_and_clear_bit(RDS_TCP_NF_AGAIN, &tn->tn_flags);
	struct rds_tcp_pending *pa, *next;

	lockdep_assert_held(&tn->tn_lock);
	list_for_each_entry_safe(pa, next, &tn->tn_pending, pa_item) {
		bool late = time_after_eq(jiffies, rds_tcp_pending_end(pa));

		if (!test_and_clear_bit(RDS_TCP_PF_READY, &pa->pa_flags) &&
		    !late && !again)
			continue;
		if (!late && rds_tcp_pending_place(pa))
			continue;
		/* Others behind it may have waited for it. */
		rds_tcp_pending_drop(pa);
		again = true;
	}
}

/* When is somebody too old? */
static void rds_tcp_accept_rearm(struct rds_tcp_net *tn, long delay)
	__must_hold(&tn->tn_lock)
{
	struct rds_tcp_pending *pa;

	lockdep_assert_held(&tn->tn_lock);
	list_for_each_entry(pa, &tn->tn_pending, pa_item)
		delay = min_t(long, delay,
			      rds_tcp_pending_end(pa) - jiffies);
	if (delay != LONG_MAX)
		queue_delayed_work(rds_tcp_wq, &tn->tn_accept_work,
				   max(delay, 0L));
}

/* Accept what the listener has. Returns when to do it again. */
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
 * rds_tcp_accept_work() - accept connections, and look at those accepted
 * @work: &rds_tcp_net.tn_accept_work
 *
 * Context: process, may sleep.
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
 * rds_tcp_accept_stop() - no strangers any more
 * @tn: the namespace; its listener, if any, does not call us any more
 *
 * What the listener has not handed out yet goes too: from here on nobody
 * would see to it that those sockets keep the namespace's memory.
 *
 * Context: process, may sleep.
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
		rds_tcp_abort(sock);
	}
	list_for_each_entry_safe(pa, next, &tn->tn_pending, pa_item)
		rds_tcp_pending_drop(pa);
	mutex_unlock(&tn->tn_lock);
	cancel_delayed_work_sync(&tn->tn_accept_work);
}
