// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TCP part of a path, and the life of its socket.
 *
 * A socket is attached to the path before it is connected, or after it has been
 * accepted. From then on TCP calls us. The socket is detached for good before
 * it is released. It is attached and detached with the socket lock held, and
 * TCP holds that lock for every callback. So after the socket is detached, none
 * of our callbacks runs for it.
 *
 * An orderly shutdown of a connection takes these steps:
 *
 * 1. Wait until the peer has acknowledged all data that we gave to TCP.
 * 2. Send our FIN.
 * 3. Read on until the peer's FIN arrives. RDS_TCP_FIN_TIMEOUT limits the steps
 *    up to here.
 * 4. Read the last data, however long there is no memory for it: TCP has
 *    acknowledged it, so the peer does not send it again.
 * 5. Release the socket. If the connection is not closed yet, reset it.
 *
 * No thread sleeps while the peer does its part. path_shutdown() returns how
 * long there is to wait, and core calls it again when that time is over, or
 * when TCP has made progress. The socket lock is held from the last read until
 * the reset, so TCP acknowledges no data that is not read. The timers of a
 * kernel socket stop when it is released, so a connection cannot linger. If no
 * local socket has used a connection, it is reset at once.
 *
 * A connection that core destroys is reset at once, too, but what has arrived
 * is read and acknowledged before: the peer may have nobody to ask afterwards.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "tcp.h"
#include "trace.h"

/* Time for the peer's acks and FIN in an orderly shutdown, in jiffies */
#define RDS_TCP_FIN_TIMEOUT	(2 * HZ)

/* Delay between two attempts to read the rest without memory, in jiffies */
#define RDS_TCP_DRAIN_DELAY	DIV_ROUND_UP(HZ, 100)

/**
 * rds_tcp_reason() - Determine why a connection has ended
 * @sk: its socket
 * @was_up: the connection was established
 *
 * Context: Any context.
 * Return: the reason.
 */
enum rds_drop_reason rds_tcp_reason(const struct sock *sk, bool was_up)
{
	switch (sk->sk_err) {
	case ETIMEDOUT:
		return RDS_DROP_TIMEOUT;
	case EHOSTUNREACH:
	case ENETUNREACH:
		return RDS_DROP_UNREACHABLE;
	case ECONNABORTED:
		return RDS_DROP_LOCAL_ABORT;
	case ECONNREFUSED:
		return RDS_DROP_REFUSED;
	case 0:
		return was_up ? RDS_DROP_PEER_CLOSED : RDS_DROP_CONNECT_FAILED;
	default:
		return was_up ? RDS_DROP_PEER_RESET : RDS_DROP_CONNECT_FAILED;
	}
}

/**
 * rds_tcp_established() - Prepare to use a connection
 * @tp: the path
 * @sk: its socket, locked
 *
 * Context: Softirq or process context.
 * Return: true; false if the connection must not be used, because the peer is
 * the end that dials. Our attempt has served as a knock.
 */
bool rds_tcp_established(struct rds_tcp_path *tp, struct sock *sk)
{
	if (tp->tp_dialed && rds_tcp_is_higher(tp->tp_path))
		return false;

	tp->tp_tx.tt_seq = tcp_sk(sk)->write_seq;
	tp->tp_tx.tt_una = tcp_sk(sk)->snd_una;
	tp->tp_up = true;
	return true;
}

static void rds_tcp_dropped(struct rds_tcp_path *tp,
			    enum rds_drop_reason reason)
{
	if (tp->tp_dropped)
		return;
	tp->tp_dropped = true;
	rds_path_drop(tp->tp_path, reason);
}

/* Once core is notified that the path is up or dropped, it may use the path or
 * shut it down. So that notification must be the last action.
 */
static void rds_tcp_state_changed(struct rds_tcp_path *tp, struct sock *sk)
{
	rds_tcp_end_progress(tp, sk);

	switch (sk->sk_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		break;
	case TCP_ESTABLISHED:
		if (tp->tp_up)
			break;
		/* Read on a connection that has been dropped, too, because TCP
		 * acknowledges its data.
		 */
		if (!rds_tcp_established(tp, sk))
			rds_tcp_dropped(tp, RDS_DROP_YIELD);
		else if (!tp->tp_dropped)
			rds_path_connect_done(tp->tp_path);
		break;
	default:
		rds_tcp_dropped(tp, rds_tcp_reason(sk, tp->tp_up));
	}
}

static void rds_tcp_state_change(struct sock *sk)
{
	rds_tcp_state_changed(sk->sk_user_data, sk);
}

static void rds_tcp_set_sock(struct rds_tcp_path *tp, struct socket *sock)
{
	spin_lock_bh(&tp->tp_lock);
	tp->tp_sock = sock;
	spin_unlock_bh(&tp->tp_lock);
}

/**
 * rds_tcp_attach() - Attach a socket to a path
 * @tp: the path; it has no socket
 * @sock: the socket, locked
 * @dialed: we dial this connection
 *
 * Context: Process context, the path's work item. Takes tp_lock and
 * sk_callback_lock.
 */
void rds_tcp_attach(struct rds_tcp_path *tp, struct socket *sock, bool dialed)
{
	struct sock *sk = sock->sk;

	rds_tcp_set_sock(tp, sock);
	tp->tp_dialed = dialed;
	tp->tp_up = false;
	tp->tp_dropped = false;
	tp->tp_end.te_all_acked = false;
	tp->tp_end.te_ending = false;
	tp->tp_tx.tt_seq = tcp_sk(sk)->write_seq;
	tp->tp_tx.tt_una = tcp_sk(sk)->snd_una;
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	set_bit(SOCK_NOSPACE, &sock->flags);

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = tp;
	sk->sk_data_ready = rds_tcp_data_ready;
	sk->sk_state_change = rds_tcp_state_change;
	sk->sk_write_space = rds_tcp_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	trace_rds_tcp_attach(tp, sk, 0);
}

static void rds_tcp_detach(struct rds_tcp_path *tp, struct sock *sk)
{
	const struct rds_tcp_callbacks *def = &tp->tp_tn->tn_default;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = def->data_ready;
	sk->sk_state_change = def->state_change;
	sk->sk_write_space = def->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rds_tcp_discard() - Detach the socket of a path and release it
 * @tp: the path; if it has no socket, nothing happens
 * @abort: do so even if there is no memory to read the data that TCP has
 *
 * The data that TCP has is read first. If the connection is still open, it is
 * reset.
 *
 * Context: Process context, may sleep; no sender runs. Takes the TCP socket
 * lock.
 * Return: true if the path has no socket now; false if there is no memory, and
 * the socket stays.
 */
bool rds_tcp_discard(struct rds_tcp_path *tp, bool abort)
{
	struct socket *sock = tp->tp_sock;
	struct sock *sk;

	if (!sock)
		return true;

	sk = sock->sk;
	lock_sock(sk);
	tp->tp_dropped = true;
	if (!rds_tcp_recv_all(tp, sk) && !abort) {
		release_sock(sk);
		return false;
	}
	rds_tcp_acked(tp, sk);
	trace_rds_tcp_detach(tp, sk, -sk->sk_err);
	rds_tcp_detach(tp, sk);
	rds_tcp_set_sock(tp, NULL);
	tp->tp_up = false;
	tp->tp_end.te_ending = false;
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, O_NONBLOCK);
	release_sock(sk);
	sock_release(sock);

	rds_tcp_recv_reset(tp);
	rds_tcp_send_reset(tp);
	return true;
}

/* Check whether an orderly shutdown has nothing more to wait for. If the peer
 * has made another connection for the path, it has finished with this one. If
 * no local socket has used the connection, no local user depends on it.
 */
static bool rds_tcp_is_over(const struct rds_tcp_path *tp,
			    const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE || !tp->tp_up || tp->tp_rx.tr_broken ||
	       READ_ONCE(tp->tp_noffers) || READ_ONCE(tp->tp_tn->tn_down) ||
	       !rds_path_is_used(tp->tp_path);
}

/* Stop passing acks to core, and send our FIN. The FIN takes one sequence
 * number. If TCP was given all of a message but its last byte, the ack of the
 * FIN would look like that of the message.
 */
static void rds_tcp_send_fin(struct rds_tcp_path *tp)
{
	struct sock *sk = tp->tp_sock->sk;

	lock_sock(sk);
	rds_tcp_acked(tp, sk);
	tp->tp_end.te_all_acked = true;
	release_sock(sk);
	kernel_sock_shutdown(tp->tp_sock, SHUT_WR);
}

/* Send our FIN, and wait for the peer's. Data that arrives meanwhile is
 * delivered as far as core allows. The FIN is sent only after all data before
 * it is acknowledged. If the acks do not arrive, TCP is still in a state in
 * which it can send a reset.
 *
 * Returns how long there is to wait at most, in jiffies, or 0 if it is over.
 */
static unsigned long rds_tcp_finish(struct rds_tcp_path *tp)
{
	struct sock *sk = tp->tp_sock->sk;
	bool over, fin, begins;
	long left;

	lock_sock(sk);
	begins = !tp->tp_end.te_ending;
	if (begins) {
		tp->tp_dropped = true;
		tp->tp_end.te_ending = true;
		tp->tp_end.te_at = jiffies + RDS_TCP_FIN_TIMEOUT;
	}
	over = rds_tcp_is_over(tp, sk);
	fin = !over && !tp->tp_end.te_all_acked && rds_tcp_has_all_acked(sk);
	release_sock(sk);

	/* From now on TCP acknowledges at the end of each read: while the FIN
	 * of the peer is awaited, rds_tcp_ack_before_reset() cannot ask for it.
	 */
	if (begins)
		tcp_sock_set_quickack(sk, 1);
	if (fin)
		rds_tcp_send_fin(tp);
	left = tp->tp_end.te_at - jiffies;
	return over || left <= 0 ? 0 : left;
}

/* Have TCP acknowledge what was read: its ack may be delayed, and the reset
 * that follows is none. As this host may never come back, the peer would keep
 * what has arrived already, and with it streams that were closed.
 */
static void rds_tcp_ack_before_reset(struct rds_tcp_path *tp)
{
	struct sock *sk = tp->tp_sock->sk;
	bool all;

	lock_sock(sk);
	tp->tp_dropped = true;
	all = rds_tcp_recv_all(tp, sk);
	release_sock(sk);
	if (all)
		tcp_sock_set_quickack(sk, 1);
}

/**
 * rds_tcp_path_shutdown() - Shut down the connection of a path
 * @path: the path
 * @abort: do so at once
 *
 * Context: Process context, may sleep. The path's transmit lock is held.
 * Return: see &rds_conn_ops.path_shutdown.
 */
unsigned long rds_tcp_path_shutdown(struct rds_path *path, bool abort)
{
	struct rds_tcp_path *tp = path->data;
	unsigned long delay;

	if (!tp->tp_sock)
		return 0;

	delay = abort ? 0 : rds_tcp_finish(tp);
	if (delay)
		return delay;
	if (abort || READ_ONCE(tp->tp_tn->tn_down))
		rds_tcp_ack_before_reset(tp);
	if (rds_tcp_discard(tp, abort))
		return 0;
	return RDS_TCP_DRAIN_DELAY;
}

/**
 * rds_tcp_path_alloc() - Set up the TCP part of a path
 * @path: the path
 *
 * Context: Process context, may sleep.
 * Return: 0 on success, -ENOMEM otherwise.
 */
int rds_tcp_path_alloc(struct rds_path *path)
{
	struct rds_tcp_path *tp = kzalloc(sizeof(*tp), GFP_KERNEL_ACCOUNT);

	if (!tp)
		return -ENOMEM;

	tp->tp_path = path;
	tp->tp_tn = rds_tcp_net(path->net);
	tp->tp_group = get_random_u32();
	spin_lock_init(&tp->tp_lock);
	INIT_LIST_HEAD(&tp->tp_offers);
	INIT_LIST_HEAD(&tp->tp_partial);
	rds_tcp_frame_init(&tp->tp_rx.tr_frame);
	path->data = tp;
	return 0;
}

/**
 * rds_tcp_path_free() - Free the TCP part of a path and reset its offers
 * @path: the path, shut down
 *
 * Context: Process context, may sleep.
 */
void rds_tcp_path_free(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->data;
	struct rds_tcp_pending *pa, *next;

	list_for_each_entry_safe(pa, next, &tp->tp_offers, pa_item) {
		list_del(&pa->pa_item);
		rds_tcp_stat_inc(tp->tp_tn, tcp_listen_closed_stale);
		rds_tcp_pending_close(pa, RDS_TCP_END_PATH_GONE, 0);
	}
	kfree(tp);
}

/**
 * rds_tcp_path_offer() - Add a pending connection to the offers of a path
 * @path: the path
 * @offer: the pending connection
 *
 * Context: Process context, may sleep. The caller holds tn_lock. Takes the TCP
 * socket lock; then tp_lock, and under it core's cp_lock.
 * Return: 0, and the path owns @offer; -EBUSY if the path has enough offers.
 */
int rds_tcp_path_offer(struct rds_path *path, void *offer)
{
	struct rds_tcp_path *tp = path->data;
	struct rds_tcp_pending *pa = offer;
	bool raced;

	/* Only this function adds offers, and tn_lock serializes it. */
	if (READ_ONCE(tp->tp_noffers) >= RDS_TCP_MAX_OFFERS)
		return -EBUSY;

	rds_tcp_pending_detach(pa);
	trace_rds_tcp_pending_end(pa->pa_sock->sk, RDS_TCP_END_OFFERED, 0,
				  pa->pa_born);
	list_del(&pa->pa_item);
	pa->pa_tn->tn_npending--;

	spin_lock_bh(&tp->tp_lock);
	list_add_tail(&pa->pa_item, &tp->tp_offers);
	WRITE_ONCE(tp->tp_noffers, tp->tp_noffers + 1);
	rds_path_offer_event(path, RDS_OFFER_KEPT);
	raced = tp->tp_sock && tp->tp_dialed && !READ_ONCE(tp->tp_up);
	spin_unlock_bh(&tp->tp_lock);

	if (raced)
		rds_tcp_stat_inc(tp->tp_tn, tcp_connect_raced);
	return 0;
}
