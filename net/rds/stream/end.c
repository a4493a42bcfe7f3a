// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a stream changes its state, whom that wakes, and how it ends: by a
 * failure, or because all is done.
 *
 * When it ends, the stream leaves the table, its timers stop, and the frames
 * that core has not finished with are canceled: a frame to a host that is gone
 * would otherwise stay for ever. Bytes that have arrived stay readable. The
 * connection is given back when the object is freed.
 *
 * A stream whose socket is closed ends when the peer has all that was written,
 * or is closed itself: then nobody reads what is still on its way, which would
 * otherwise be kept for a host that may be gone. It also ends when nothing has
 * been acknowledged for net.rds.stream.close_stall_ms, and after close_max_ms.
 */
#include <linux/poll.h>
#include <linux/rds.h>
#include <net/tcp_states.h>

#include "stream.h"
#include "trace.h"

static u8 rds_stream_sk_state(enum rds_stream_state state)
{
	switch (state) {
	case RDS_STREAM_LISTEN:
		return TCP_LISTEN;
	case RDS_STREAM_ASKING:
	case RDS_STREAM_REQUESTED:
		return TCP_SYN_SENT;
	case RDS_STREAM_OPEN:
		return TCP_ESTABLISHED;
	default:
		return TCP_CLOSE;
	}
}

/**
 * rds_stream_set_state() - Apply an event to the state of a stream
 * @st: the stream
 * @event: the event
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_set_state(struct rds_stream *st, enum rds_stream_event event)
	__must_hold(&st->st_lock)
{
	enum rds_stream_state from = st->st_state;

	lockdep_assert_held(&st->st_lock);
	WRITE_ONCE(st->st_state, rds_stream_next(from, event));
	/* Generic code reads this one, for SO_ACCEPTCONN. */
	WRITE_ONCE(st->st_sk.sk_state, rds_stream_sk_state(st->st_state));
	if (st->st_state != from)
		trace_rds_stream_state(st, from, event);
}

/* Take the frames that core has not finished with, each with a reference. Each
 * of them still holds its reference to the stream.
 */
static void rds_stream_take_frames(struct rds_stream *st,
				   struct list_head *frames)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;
	struct rds_message *msg;

	lockdep_assert_held(&st->st_lock);
	list_for_each_entry(msg, &tx->tx_frames, m_sock_item) {
		rds_message_get(msg);
		msg->m_on_sock = false;
	}
	list_splice_init(&tx->tx_frames, frames);
	tx->tx_bytes = 0;
	WRITE_ONCE(tx->tx_held, 0);
	WRITE_ONCE(tx->tx_owed, 0);
	tx->tx_control = NULL;
}

static void rds_stream_cancel(struct rds_stream *st, struct list_head *frames)
{
	struct rds_message *msg, *next;

	list_for_each_entry_safe(msg, next, frames, m_sock_item) {
		list_del(&msg->m_sock_item);
		if (rds_upper_cancel(msg))
			sock_put(&st->st_sk);
		rds_message_put(msg);
	}
}

#define RDS_STREAM_CONNECTING	(BIT(RDS_STREAM_ASKING) | \
				 BIT(RDS_STREAM_REQUESTED))

/* Takes the stream out of everything but its socket. */
static void rds_stream_leave(struct rds_stream *st,
			     enum rds_stream_event event,
			     struct list_head *frames)
	__must_hold(&st->st_lock)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));

	lockdep_assert_held(&st->st_lock);
	rds_stream_set_state(st, event);
	rds_stream_disarm_all(st);
	st->st_tx.tx_corked = 0;
	st->st_tx.tx_starved = false;
	rds_stream_take_frames(st, frames);
	rds_stream_unlist(st);
	if (st->st_flags & RDS_STREAM_F_CLOSED)
		rds_stream_quota_sub(&sn->sn_closed, &st->st_peer.ip);
}

/**
 * rds_stream_write_space() - Wake those who wait to write
 * @sk: the socket
 *
 * Those who read wait in the same queue. So nobody is woken unless somebody has
 * found no space.
 *
 * Context: Any context.
 */
void rds_stream_write_space(struct sock *sk)
{
	struct socket *sock;
	struct socket_wq *wq;

	rcu_read_lock();
	/* A socket that is being closed is freed after a grace period. */
	sock = READ_ONCE(sk->sk_socket);
	/* Pairs with the barrier in rds_stream_no_space(). */
	if (sock && test_and_clear_bit(SOCK_NOSPACE, &sock->flags)) {
		wq = rcu_dereference(sk->sk_wq);
		if (skwq_has_sleeper(wq))
			wake_up_interruptible_poll(&wq->wait, EPOLLOUT |
						   EPOLLWRNORM);
		sk_wake_async(sk, SOCK_WAKE_SPACE, POLL_OUT);
	}
	rcu_read_unlock();
}

/**
 * rds_stream_wake_all() - Wake all who wait for a stream, as it has changed
 * @st: the stream
 *
 * Context: Any context; the caller holds a reference.
 */
void rds_stream_wake_all(struct rds_stream *st)
{
	struct sock *sk = &st->st_sk;

	if (sock_flag(sk, SOCK_DEAD))
		return;
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	if (READ_ONCE(st->st_state) == RDS_STREAM_OPEN)
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	if (READ_ONCE(sk->sk_err))
		sk_error_report(sk);
}

/* Check whether the peer may know of the stream. If it has only been asked for,
 * a RESPONSE that comes after all will be answered by RST.
 */
static bool rds_stream_peer_may_know(const struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	const struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);
	if (st->st_state != RDS_STREAM_REQUESTED)
		return st->st_state == RDS_STREAM_OPEN;
	if (tx->tx_control)
		return rds_upper_was_sent(tx->tx_control);
	return !(tx->tx_owed & BIT(RDS_FRAME_REQUEST));
}

static void rds_stream_end_if(struct rds_stream *st, unsigned int states,
			      int err, int refused, enum rds_stream_tell tell)
{
	LIST_HEAD(frames);

	spin_lock_bh(&st->st_lock);
	if (!(states & BIT(st->st_state))) {
		spin_unlock_bh(&st->st_lock);
		return;
	}
	if (tell != RDS_STREAM_SILENT && rds_stream_peer_may_know(st))
		rds_stream_tell_reset(st, tell);
	st->st_refused = refused;
	if (err)
		WRITE_ONCE(st->st_sk.sk_err, err);
	/* Also if connect() has failed, until it has told so. */
	WRITE_ONCE(st->st_sk.sk_shutdown, SHUTDOWN_MASK);
	rds_stream_leave(st, RDS_STREAM_EV_FAIL, &frames);
	spin_unlock_bh(&st->st_lock);

	rds_stream_cancel(st, &frames);
	rds_stream_wake_all(st);
	sock_put(&st->st_sk);
}

/**
 * rds_stream_end() - End a stream by a failure
 * @st: the stream; nothing happens unless it is connected or connecting
 * @err: errno for the user, positive; 0 for none
 * @refused: enum rds_stream_refusal, if connect() has failed
 * @tell: whether the peer is told
 *
 * Context: Any context; the caller holds a reference. No locks of this module
 * but the socket lock.
 */
void rds_stream_end(struct rds_stream *st, int err, int refused,
		    enum rds_stream_tell tell)
{
	rds_stream_end_if(st, RDS_STREAM_CONNECTING | BIT(RDS_STREAM_OPEN),
			  err, refused, tell);
}

/**
 * rds_stream_fail_connect() - End an attempt to connect
 * @st: the stream; nothing happens unless it is connecting
 * @err: errno for the user, positive
 * @refused: enum rds_stream_refusal
 *
 * Context: As rds_stream_end().
 */
void rds_stream_fail_connect(struct rds_stream *st, int err, int refused)
{
	rds_stream_end_if(st, RDS_STREAM_CONNECTING, err, refused,
			  RDS_STREAM_TELL);
}

/**
 * rds_stream_is_over() - Check whether nothing is left to do for a stream
 * @st: the stream
 *
 * This is the case when both ends are closed. Otherwise core must have finished
 * with all frames, and either both ends must have said that no more bytes
 * follow, or this end is closed and has said so.
 *
 * Context: Any context. st_lock is held.
 * Return: true if the stream may end.
 */
bool rds_stream_is_over(const struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	const u32 closed = RDS_STREAM_F_CLOSED | RDS_STREAM_F_PEER_DEAF;
	const u32 done = RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DONE;

	lockdep_assert_held(&st->st_lock);
	if (st->st_state != RDS_STREAM_OPEN)
		return false;
	if ((st->st_flags & closed) == closed)
		return true;
	return list_empty(&st->st_tx.tx_frames) &&
	       !(st->st_tx.tx_owed & BIT(RDS_FRAME_SHUTDOWN)) &&
	       ((st->st_flags & RDS_STREAM_F_CLOSED) ||
		(st->st_flags & done) == done);
}

/**
 * rds_stream_has_told_all() - Check whether the peer has all that was written
 * @st: the stream
 *
 * Context: Any context. st_lock is held.
 * Return: true if this end has said that no more bytes follow, and the peer has
 * acknowledged this. Frames that only concern credit may still be on their way.
 */
bool rds_stream_has_told_all(const struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	const struct rds_stream_tx *tx = &st->st_tx;
	struct rds_frame frame = {};

	lockdep_assert_held(&st->st_lock);
	if (tx->tx_control)
		rds_frame_read(tx->tx_control->m_exthdr, &frame);
	return (st->st_flags & RDS_STREAM_F_WR_SHUT) && !tx->tx_bytes &&
	       !(tx->tx_owed & BIT(RDS_FRAME_SHUTDOWN)) &&
	       frame.op != RDS_FRAME_SHUTDOWN;
}

/**
 * rds_stream_finish() - End a stream if nothing is left to do
 * @st: the stream
 *
 * Context: Any context; the caller holds a reference. No locks of this module
 * but the socket lock.
 */
void rds_stream_finish(struct rds_stream *st)
{
	LIST_HEAD(frames);

	spin_lock_bh(&st->st_lock);
	if (!rds_stream_is_over(st)) {
		spin_unlock_bh(&st->st_lock);
		return;
	}
	WRITE_ONCE(st->st_sk.sk_shutdown, SHUTDOWN_MASK);
	rds_stream_leave(st, RDS_STREAM_EV_CLOSE, &frames);
	spin_unlock_bh(&st->st_lock);

	rds_stream_cancel(st, &frames);
	rds_stream_wake_all(st);
	sock_put(&st->st_sk);
}
