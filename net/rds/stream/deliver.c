// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a frame does when it arrives.
 *
 * The peer is hostile. A frame must be for a stream that exists and have its
 * identifier; its op must fit the state; its credit must not confirm more than
 * was sent; and its payload must not pass the credit that the peer was given.
 * A frame without a stream is answered by RST, so that an end that has lost its
 * stream stops the other one. A frame that breaks the rules ends the stream.
 */
#include <linux/rds.h>

#include "ready.h"
#include "stream.h"
#include "trace.h"

/* Take the credit that the peer announces. Returns false if it confirms more
 * than was sent, or less than before.
 */
static bool rds_stream_take_credit(struct rds_stream *st,
				   const struct rds_frame *frame)
	__must_hold(&st->st_lock)
{
	u32 buf = min_t(u32, frame->buf, RDS_STREAM_MAX_CREDIT);
	struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);
	if ((s32)(frame->fwd - tx->tx_fwd) < 0 ||
	    (s32)(tx->tx_cost - frame->fwd) < 0)
		return false;
	if (frame->fwd == tx->tx_fwd && buf == tx->tx_buf)
		return true;
	WRITE_ONCE(tx->tx_buf, buf);
	/* Pairs with the acquire in rds_stream_credit(). */
	smp_store_release(&tx->tx_fwd, frame->fwd);
	tx->tx_asked = 0;
	if (rds_stream_credit(tx))
		tx->tx_starved = false;
	if (st->st_state == RDS_STREAM_OPEN)
		rds_stream_watch_credit(st);
	return true;
}

/* Queue bytes of the stream. Returns 0 if the reference to @inc was taken over,
 * 1 if the frame is to be dropped, and -EPROTO if it breaks the rules.
 */
static int rds_stream_take_bytes(struct rds_stream *st,
				 struct rds_incoming *inc)
	__must_hold(&st->st_lock)
{
	struct rds_stream_rx *rx = &st->st_rx;
	u32 cost = inc->i_len + RDS_FRAME_COST;

	lockdep_assert_held(&st->st_lock);
	if (st->st_state != RDS_STREAM_OPEN || !inc->i_len ||
	    (st->st_flags & RDS_STREAM_F_PEER_DONE) ||
	    (s32)(rx->rx_limit - (rx->rx_cost + cost)) < 0)
		return -EPROTO;
	WRITE_ONCE(rx->rx_cost, rx->rx_cost + cost);
	if (st->st_flags & RDS_STREAM_F_CLOSED)
		return 1;
	rds_stream_queue_frame(st, inc);
	return 0;
}

static int rds_stream_take_shutdown(struct rds_stream *st,
				    const struct rds_frame *frame)
	__must_hold(&st->st_lock)
{
	struct sock *sk = &st->st_sk;

	lockdep_assert_held(&st->st_lock);
	if (st->st_state != RDS_STREAM_OPEN)
		return -EPROTO;
	if (frame->flags & RDS_FRAME_NO_MORE) {
		WRITE_ONCE(st->st_flags, st->st_flags |
			   RDS_STREAM_F_PEER_DONE);
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
	}
	if (frame->flags & RDS_FRAME_NO_READ)
		WRITE_ONCE(st->st_flags, st->st_flags |
			   RDS_STREAM_F_PEER_DEAF);
	return 1;
}

/* A RESPONSE to a stream that is open answers a REQUEST that was repeated. A
 * server that has closed gives no such answer. So the REQUEST has come behind
 * its end, and has begun another stream, of which this end knows nothing.
 */
static void rds_stream_found_second(const struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (st->st_state == RDS_STREAM_OPEN &&
	    (st->st_flags & RDS_STREAM_F_PEER_DEAF))
		rds_stream_tell_reset(st, RDS_STREAM_ANSWER);
}

static int rds_stream_take_response(struct rds_stream *st,
				    const struct rds_frame *frame)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (st->st_flags & RDS_STREAM_F_SERVER)
		return -EPROTO;
	/* A server that was asked twice may have answered twice, and may have
	 * been busy only the first time.
	 */
	if (st->st_state == RDS_STREAM_ASKING && !st->st_again)
		return 1;
	if (!rds_stream_is_connecting(st->st_state)) {
		rds_stream_found_second(st);
		return 1;
	}
	st->st_maps.sm_most = min_t(u8, frame->arg, RDS_STREAM_IOMAPS);
	rds_stream_set_state(st, RDS_STREAM_EV_RESPONSE);
	rds_stream_cancel_request(st);
	rds_stream_watch_credit(st);
	rds_stream_disarm(st, RDS_STREAM_T_CONNECT);
	rds_stream_disarm(st, RDS_STREAM_T_AGAIN);
	if (sock_flag(&st->st_sk, SOCK_KEEPOPEN))
		rds_stream_arm(st, RDS_STREAM_T_KEEP,
			       st->st_opts[RDS_STREAM_KEEPIDLE] * HZ);
	return 1;
}

/* A stream whose socket is closed has nothing to say but its SHUTDOWN: the peer
 * could keep it for ever by asking.
 */
static bool rds_stream_answers(const struct rds_stream *st)
{
	return st->st_state == RDS_STREAM_OPEN &&
	       !(st->st_flags & RDS_STREAM_F_CLOSED);
}

/* A frame of a stream that exists. Returns as rds_stream_take_bytes(). */
static int rds_stream_take(struct rds_stream *st, struct rds_incoming *inc,
			   const struct rds_frame *frame)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);

	st->st_rx.rx_at = jiffies;
	st->st_rx.rx_probes = 0;
	if (!rds_stream_take_credit(st, frame))
		return -EPROTO;

	switch (frame->op) {
	case RDS_FRAME_REQUEST:
		if (!(st->st_flags & RDS_STREAM_F_SERVER))
			return -EPROTO;
		if (rds_stream_answers(st))
			rds_stream_owe(st, RDS_FRAME_RESPONSE, true);
		return 1;
	case RDS_FRAME_RESPONSE:
		return rds_stream_take_response(st, frame);
	case RDS_FRAME_SHUTDOWN:
		return rds_stream_take_shutdown(st, frame);
	case RDS_FRAME_RW:
		return rds_stream_take_bytes(st, inc);
	case RDS_FRAME_CREDIT_REQUEST:
		if (rds_stream_answers(st))
			rds_stream_owe(st, RDS_FRAME_CREDIT_UPDATE, true);
		return 1;
	case RDS_FRAME_CREDIT_UPDATE:
		return 1;
	case RDS_FRAME_MAP:
		return st->st_state == RDS_STREAM_OPEN ?
		       rds_stream_take_map(st, inc) : -EPROTO;
	default:
		return -EPROTO;
	}
}

/* What is to be done when st_lock is released. */
struct rds_stream_after {
	bool	changed;	/* state or halves have changed */
	bool	read;		/* a reader may go on */
	bool	write;		/* a writer may go on */
	bool	over;		/* nothing is left to do */
};

/* Check whether a task that waits to read may go on. One that has asked for
 * less than SO_RCVLOWAT waits for less.
 */
static bool rds_stream_wakes_readers(const struct rds_stream *st)
{
	if (rds_stream_has(st, READ_ONCE(st->st_sk.sk_rcvlowat)))
		return true;
	/* Pairs with the one in rds_stream_wait(): either this context sees
	 * the reader, or the reader sees the bytes.
	 */
	smp_mb();
	return READ_ONCE(st->st_rx.rx_early);
}

static int rds_stream_take_locked(struct rds_stream *st,
				  struct rds_incoming *inc,
				  const struct rds_frame *frame,
				  struct rds_stream_after *after)
{
	enum rds_stream_state state;
	bool could_write;
	u32 flags;
	int ret;

	spin_lock_bh(&st->st_lock);
	state = st->st_state;
	flags = st->st_flags;
	could_write = rds_stream_may_write(st, false);
	ret = rds_stream_take(st, inc, frame);
	after->changed = state != st->st_state || flags != st->st_flags;
	after->read = !ret && rds_stream_wakes_readers(st);
	after->write = !could_write && rds_stream_may_write(st, false);
	after->over = after->changed && rds_stream_is_over(st);
	spin_unlock_bh(&st->st_lock);
	return ret;
}

static void rds_stream_found(struct rds_stream *st, struct rds_incoming *inc,
			     const struct rds_frame *frame,
			     struct rds_rx_batch *batch)
{
	struct rds_stream_after after;
	struct sock *sk = &st->st_sk;
	int ret;

	ret = rds_stream_take_locked(st, inc, frame, &after);
	if (ret)
		rds_upper_incoming_put(inc);
	if (ret < 0) {
		rds_stream_end(st, ECONNRESET, 0, RDS_STREAM_ANSWER);
		return;
	}
	if (after.changed)
		rds_stream_wake_all(st);
	if (after.write)
		sk->sk_write_space(sk);
	if (after.over)
		rds_stream_finish(st);
	if (after.read) {
		sock_hold(sk);
		rds_rx_batch_add(batch, sk);
	}
}

static void rds_stream_found_put(struct rds_stream *st,
				 struct rds_incoming *inc,
				 const struct rds_frame *frame)
{
	if (rds_stream_take_put(st, inc, frame))
		rds_stream_end(st, ECONNRESET, 0, RDS_STREAM_ANSWER);
}

/* The peer has forgotten the stream. This is no failure if all that the peer
 * has written has arrived, and it either has closed its end, or has all that
 * this end has written: a frame of ours has crossed its last SHUTDOWN.
 */
static void rds_stream_end_forgotten(struct rds_stream *st)
{
	bool orderly;

	spin_lock_bh(&st->st_lock);
	orderly = (st->st_flags & RDS_STREAM_F_PEER_DONE) &&
		  ((st->st_flags & RDS_STREAM_F_PEER_DEAF) ||
		   rds_stream_has_told_all(st));
	spin_unlock_bh(&st->st_lock);
	rds_stream_end(st, orderly ? 0 : ECONNRESET, 0, RDS_STREAM_SILENT);
}

/* The peer has no such stream, or gives it up. */
static void rds_stream_found_rst(struct rds_stream *st,
				 const struct rds_frame *frame)
{
	enum rds_stream_state state = READ_ONCE(st->st_state);
	int refused = frame->arg == RDS_STREAM_NO_STREAMS ?
		      RDS_STREAM_NO_STREAMS : RDS_STREAM_NO_LISTENER;

	if (state == RDS_STREAM_OPEN)
		rds_stream_end_forgotten(st);
	else if (state == RDS_STREAM_REQUESTED)
		rds_stream_end(st, ECONNREFUSED, refused, RDS_STREAM_SILENT);
}

/* Credit for a stream that has just ended is no reason to tell the peer. */
static void rds_stream_unknown(struct rds_conn *conn,
			       const struct rds_incoming *inc,
			       const struct rds_frame *frame)
{
	u8 exthdr[RDS_EXTHDR_SPACE];

	if (frame->op != RDS_FRAME_CREDIT_UPDATE &&
	    rds_frame_answer(frame, RDS_FRAME_RST, 0, exthdr))
		rds_stream_reply(conn, inc->i_dport, inc->i_sport, exthdr);
}

static bool rds_stream_is_request(const struct rds_frame *frame)
{
	return frame->op == RDS_FRAME_REQUEST &&
	       !(frame->flags & RDS_FRAME_TO_CLIENT);
}

static struct rds_stream *rds_stream_lookup(struct rds_conn *conn,
					    const struct rds_incoming *inc,
					    const struct rds_frame *frame)
{
	struct rds_stream *st;

	st = rds_stream_find(conn, inc->i_dport, inc->i_sport,
			     !(frame->flags & RDS_FRAME_TO_CLIENT));
	if (!st || READ_ONCE(st->st_id) == frame->id)
		return st;
	/* The client has forgotten this stream. */
	if (rds_stream_is_request(frame))
		rds_stream_end_forgotten(st);
	sock_put(&st->st_sk);
	return NULL;
}

/**
 * rds_stream_deliver() - Take a frame that has arrived
 * @conn: the connection
 * @inc: the frame; its reference is taken over
 * @batch: the batch of deliveries
 *
 * Context: Deliver context, serial for each path.
 */
void rds_stream_deliver(struct rds_conn *conn, struct rds_incoming *inc,
			struct rds_rx_batch *batch)
{
	struct rds_upper_names names;
	struct rds_frame frame;
	struct rds_stream *st;

	if (!rds_frame_read(inc->i_exthdr, &frame))
		goto out;
	trace_rds_stream_frame_in(conn, inc->i_dport, inc->i_sport,
				  inc->i_exthdr, inc->i_len);
	st = rds_stream_lookup(conn, inc, &frame);
	/* A client that begins a stream has consumed nothing of it. */
	if (!st && rds_stream_is_request(&frame) && !frame.fwd) {
		rds_upper_names(conn, &names);
		rds_stream_request(conn, &names, inc, &frame);
		goto out;
	}
	if (!st) {
		rds_stream_unknown(conn, inc, &frame);
		goto out;
	}

	switch (frame.op) {
	case RDS_FRAME_RST:
		rds_stream_found_rst(st, &frame);
		break;
	case RDS_FRAME_BUSY:
		rds_stream_busy(st);
		break;
	case RDS_FRAME_PUT:
		rds_stream_found_put(st, inc, &frame);
		break;
	default:
		rds_stream_found(st, inc, &frame, batch);
		inc = NULL;
	}
	sock_put(&st->st_sk);
out:
	if (inc)
		rds_upper_incoming_put(inc);
}
