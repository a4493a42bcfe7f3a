// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames that a stream sends.
 *
 * A frame with payload is submitted by the task that writes or maps memory.
 * Frames without payload are owed: a bit is set (tx_owed), and the frame is
 * submitted at once if none is on its way, and otherwise when that one is
 * acknowledged. So neither the peer nor the user can have a stream queue more
 * than one of them. If there is no memory for it, a timer tries again.
 *
 * Each frame but PUT and RST carries the present credit for the peer.
 *
 * Submitting happens under st_lock, and core sends frames in the order in which
 * they are submitted: a SHUTDOWN is behind the last bytes.
 */
#include "ready.h"
#include "stream.h"
#include "trace.h"

/* When an attempt to allocate a frame is repeated, in jiffies */
#define RDS_STREAM_OWED_DELAY	DIV_ROUND_UP(HZ, 50)

/* Frames without payload, in the order in which they are sent */
static const u8 rds_stream_order[] = {
	RDS_FRAME_REQUEST,
	RDS_FRAME_RESPONSE,
	RDS_FRAME_SHUTDOWN,
	RDS_FRAME_CREDIT_UPDATE,
	RDS_FRAME_CREDIT_REQUEST,
};

static u8 rds_stream_frame_flags(const struct rds_stream *st,
				 enum rds_frame_op op)
{
	u8 flags = 0;

	if (st->st_flags & RDS_STREAM_F_SERVER)
		flags |= RDS_FRAME_TO_CLIENT;
	if (op != RDS_FRAME_SHUTDOWN)
		return flags;
	if (st->st_flags & RDS_STREAM_F_WR_SHUT)
		flags |= RDS_FRAME_NO_MORE;
	if (st->st_flags & RDS_STREAM_F_CLOSED)
		flags |= RDS_FRAME_NO_READ;
	return flags;
}

/* How many mappings the peer may make is said once. */
static u8 rds_stream_frame_arg(const struct rds_stream *st,
			       enum rds_frame_op op)
{
	if (op == RDS_FRAME_REQUEST || op == RDS_FRAME_RESPONSE)
		return st->st_maps.sm_peer_most;
	return 0;
}

static u32 rds_stream_frame_memory(const struct rds_message *msg)
{
	return msg->m_payload.len + sizeof(*msg);
}

/* Count a frame as on its way. It holds a reference to the stream. */
static void rds_stream_add_frame(struct rds_stream *st,
				 struct rds_message *msg)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);

	if (list_empty(&tx->tx_frames))
		tx->tx_since = jiffies;
	if (!(st->st_armed & BIT(RDS_STREAM_T_USER)))
		rds_stream_arm(st, RDS_STREAM_T_USER,
			       rds_stream_user_timeout(st));
	sock_hold(&st->st_sk);
	msg->m_on_sock = true;
	list_add_tail(&msg->m_sock_item, &tx->tx_frames);
	tx->tx_bytes += msg->m_payload.len;
	WRITE_ONCE(tx->tx_held, tx->tx_held + rds_stream_frame_memory(msg));
}

static void rds_stream_remove_frame(struct rds_stream *st,
				    struct rds_message *msg)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);

	list_del(&msg->m_sock_item);
	msg->m_on_sock = false;
	tx->tx_bytes -= msg->m_payload.len;
	WRITE_ONCE(tx->tx_held, tx->tx_held - rds_stream_frame_memory(msg));
	if (tx->tx_control == msg)
		tx->tx_control = NULL;
}

static void rds_stream_write_header(struct rds_stream *st,
				    struct rds_message *msg,
				    enum rds_frame_op op)
	__must_hold(&st->st_lock)
{
	struct rds_stream_rx *rx = &st->st_rx;
	struct rds_frame frame = {
		.op = op,
		.flags = rds_stream_frame_flags(st, op),
		.arg = rds_stream_frame_arg(st, op),
		.id = st->st_id,
		.fwd = rx->rx_fwd,
		.buf = rds_stream_rcvbuf(st),
	};

	lockdep_assert_held(&st->st_lock);

	rx->rx_told = frame.fwd;
	WRITE_ONCE(rx->rx_given, frame.buf);
	/* The peer may use credit that it was once given, even if the buffer
	 * has become smaller since.
	 */
	if ((s32)(frame.fwd + frame.buf - rx->rx_limit) > 0)
		rx->rx_limit = frame.fwd + frame.buf;
	rds_frame_write(msg->m_exthdr, &frame);
}

/* If nothing else is sent, a transport may acknowledge a frame late. Frames
 * without payload follow each other ack by ack. A writer may wait for the
 * memory of the others, or expect an ack in time.
 */
static unsigned int rds_stream_asks(struct rds_stream *st,
				    const struct rds_message *msg)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (!msg->m_payload.len ||
	    2 * st->st_tx.tx_held >= rds_stream_sndbuf(st) ||
	    rds_stream_user_timeout(st) <= HZ)
		return RDS_UPPER_ASK;
	return 0;
}

/* Submit a frame that has its header. */
static int rds_stream_submit_ready(struct rds_stream *st,
				   struct rds_message *msg, bool kick)
	__must_hold(&st->st_lock)
{
	unsigned int how = kick ? RDS_UPPER_KICK : 0;
	int ret;

	lockdep_assert_held(&st->st_lock);

	msg->m_sport = st->st_local.port;
	msg->m_dport = st->st_peer.port;
	trace_rds_stream_frame_out(st->st_conn, msg->m_sport, msg->m_dport,
				   msg->m_exthdr, msg->m_payload.len);
	/* From the moment when it is submitted, core may finish with it. */
	rds_stream_add_frame(st, msg);
	how |= rds_stream_asks(st, msg);
	ret = rds_upper_submit(st->st_conn, msg, st, st->st_epoch, how);
	if (ret) {
		rds_stream_remove_frame(st, msg);
		__sock_put(&st->st_sk);
	}
	return ret;
}

/**
 * rds_stream_start_counting() - Forget all credits
 * @st: the stream, new or about to be connected again
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_start_counting(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;
	struct rds_stream_rx *rx = &st->st_rx;

	lockdep_assert_held(&st->st_lock);

	tx->tx_cost = 0;
	tx->tx_fwd = 0;
	tx->tx_buf = 0;
	WRITE_ONCE(tx->tx_owed, 0);
	tx->tx_corked = 0;
	tx->tx_asked = 0;
	tx->tx_starved = false;
	rx->rx_cost = 0;
	rx->rx_fwd = 0;
	rx->rx_told = 0;
	WRITE_ONCE(rx->rx_given, 0);
	rx->rx_limit = 0;
	rx->rx_at = jiffies;
	rx->rx_probes = 0;
}

/**
 * rds_stream_submit() - Submit a frame
 * @st: the stream
 * @msg: the frame; taken over on success
 * @op: what it is for
 * @kick: have core send it; otherwise the caller calls rds_stream_push() when
 *	it has released st_lock
 *
 * Context: Any context. st_lock is held.
 * Return: 0; -ENOTCONN if the connection is being destroyed.
 */
int rds_stream_submit(struct rds_stream *st, struct rds_message *msg,
		      enum rds_frame_op op, bool kick)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	rds_stream_write_header(st, msg, op);
	return rds_stream_submit_ready(st, msg, kick);
}

/**
 * rds_stream_submit_put() - Submit a PUT
 * @st: the stream
 * @msg: the frame; taken over on success
 * @key: the mapping of the peer that the bytes are for
 * @at: where they go, from its start
 *
 * The caller calls rds_stream_push() when it has released st_lock.
 *
 * Context: Any context. st_lock is held.
 * Return: 0; -ENOTCONN if the connection is being destroyed.
 */
int rds_stream_submit_put(struct rds_stream *st, struct rds_message *msg,
			  u32 key, u32 at)
	__must_hold(&st->st_lock)
{
	struct rds_frame frame = {
		.op = RDS_FRAME_PUT,
		.flags = rds_stream_frame_flags(st, RDS_FRAME_PUT),
		.id = st->st_id,
		.fwd = at,
		.buf = key,
	};

	lockdep_assert_held(&st->st_lock);
	rds_frame_write(msg->m_exthdr, &frame);
	return rds_stream_submit_ready(st, msg, false);
}

static enum rds_frame_op rds_stream_next_owed(const struct rds_stream_tx *tx)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rds_stream_order); i++) {
		if (tx->tx_owed & BIT(rds_stream_order[i]))
			return rds_stream_order[i];
	}
	return 0;
}

/**
 * rds_stream_pay() - Submit the next frame that is owed
 * @st: the stream
 * @kick: as for rds_stream_submit()
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_pay(struct rds_stream *st, bool kick)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;
	struct rds_message *msg;
	enum rds_frame_op op;

	lockdep_assert_held(&st->st_lock);

	op = rds_stream_next_owed(tx);
	if (!op || tx->tx_control ||
	    (st->st_state != RDS_STREAM_OPEN &&
	     st->st_state != RDS_STREAM_REQUESTED))
		return;
	msg = rds_upper_alloc(0, GFP_ATOMIC | __GFP_NOWARN);
	if (!msg) {
		rds_stream_arm(st, RDS_STREAM_T_OWED, RDS_STREAM_OWED_DELAY);
		return;
	}
	tx->tx_control = msg;
	/* The connection may be on its way to be destroyed, and core may yet
	 * think better of it.
	 */
	if (rds_stream_submit(st, msg, op, kick)) {
		rds_message_put(msg);
		rds_stream_arm(st, RDS_STREAM_T_OWED, RDS_STREAM_OWED_DELAY);
		return;
	}
	/* Any frame brings the peer the present credit. */
	WRITE_ONCE(tx->tx_owed, tx->tx_owed & ~(BIT(op) |
			BIT(RDS_FRAME_CREDIT_UPDATE)));
}

/**
 * rds_stream_owe() - Send a frame without payload as soon as possible
 * @st: the stream
 * @op: what it is for
 * @kick: as for rds_stream_submit()
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_owe(struct rds_stream *st, enum rds_frame_op op, bool kick)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	WRITE_ONCE(st->st_tx.tx_owed, st->st_tx.tx_owed | BIT(op));
	rds_stream_pay(st, kick);
}

/**
 * rds_stream_push() - Send what has been submitted
 * @st: the stream; it has been connected, and the caller holds the socket lock
 *
 * Context: Process context, may sleep.
 */
void rds_stream_push(struct rds_stream *st)
{
	rds_upper_push(st->st_conn, st->st_local.port, st->st_peer.port);
}

/**
 * rds_stream_push_small() - Send a small frame that has been submitted
 * @st: as for rds_stream_push()
 *
 * Context: Process context, may sleep.
 */
void rds_stream_push_small(struct rds_stream *st)
{
	rds_upper_push_small(st->st_conn, st->st_local.port, st->st_peer.port);
}

/**
 * rds_stream_kick() - Send what has been submitted, in any context
 * @st: the stream; it has been connected
 *
 * Context: Any context.
 */
void rds_stream_kick(struct rds_stream *st)
{
	rds_upper_kick(st->st_conn, st->st_local.port, st->st_peer.port);
}

/**
 * rds_stream_uncork() - Send bytes that wait for more
 * @st: the stream
 *
 * Context: Process context, may sleep. The socket lock is held.
 */
void rds_stream_uncork(struct rds_stream *st)
{
	struct rds_stream_tx *tx = &st->st_tx;
	bool corked;

	lockdep_assert_held(&st->st_mutex);
	spin_lock_bh(&st->st_lock);
	corked = tx->tx_corked;
	tx->tx_corked = 0;
	rds_stream_disarm(st, RDS_STREAM_T_CORK);
	spin_unlock_bh(&st->st_lock);
	if (corked)
		rds_stream_push(st);
}

/**
 * rds_stream_reply() - Send a frame that is not waited for
 * @conn: the connection
 * @sport: sending port
 * @dport: receiving port
 * @exthdr: RDS_EXTHDR_SPACE bytes: its extension header
 *
 * Context: Any context.
 */
void rds_stream_reply(struct rds_conn *conn, __be16 sport, __be16 dport,
		      const u8 *exthdr)
{
	trace_rds_stream_frame_out(conn, sport, dport, exthdr, 0);
	rds_upper_reply(conn, sport, dport, exthdr);
}

/**
 * rds_stream_tell_reset() - Tell the peer that a stream is no more
 * @st: the stream, connected
 * @tell: why. If the peer has broken the rules, and the frame is lost, the peer
 *	learns of the end when it sends something itself
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_tell_reset(const struct rds_stream *st,
			   enum rds_stream_tell tell)
	__must_hold(&st->st_lock)
{
	struct rds_frame frame = {
		.op = RDS_FRAME_RST,
		.flags = rds_stream_frame_flags(st, RDS_FRAME_RST),
		.id = st->st_id,
	};
	u8 exthdr[RDS_EXTHDR_SPACE];

	lockdep_assert_held(&st->st_lock);
	rds_frame_write(exthdr, &frame);
	if (tell == RDS_STREAM_TELL) {
		if (rds_stream_reset_send(st, exthdr))
			return;
		rds_stream_stat_inc(rds_stream_net(sock_net(&st->st_sk)),
				    stream_untold);
	}
	rds_stream_reply(st->st_conn, st->st_local.port, st->st_peer.port,
			 exthdr);
}

/**
 * rds_stream_uncount() - Count a frame as finished
 * @st: the stream
 * @msg: the frame, which core has finished with
 *
 * Context: Any context. st_lock is held.
 * Return: true; false if the stream has given up the frame before.
 */
bool rds_stream_uncount(struct rds_stream *st, struct rds_message *msg)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (!msg->m_on_sock)
		return false;
	rds_stream_remove_frame(st, msg);
	st->st_tx.tx_since = jiffies;
	return true;
}

/**
 * rds_stream_cancel_request() - Ask no more for a stream that has begun
 * @st: the stream, whose server has answered
 *
 * A REQUEST that was repeated may still wait in core, to be sent, or to be sent
 * again on another connection. At the server it would begin a second stream
 * with the same identifier if the first one has ended meanwhile. The first
 * REQUEST needs no care: the server has answered it, so its core drops it when
 * it comes again.
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_cancel_request(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	struct rds_message *msg = st->st_tx.tx_control;
	struct rds_frame frame;

	lockdep_assert_held(&st->st_lock);
	/* There may have been no memory to repeat it. */
	WRITE_ONCE(st->st_tx.tx_owed,
		   st->st_tx.tx_owed & ~BIT(RDS_FRAME_REQUEST));
	if (!msg || !st->st_again || !rds_frame_read(msg->m_exthdr, &frame) ||
	    frame.op != RDS_FRAME_REQUEST)
		return;

	rds_message_get(msg);
	/* If core finishes with it at this moment, it reports so when the lock
	 * is released.
	 */
	if (rds_upper_cancel(msg)) {
		rds_stream_uncount(st, msg);
		__sock_put(&st->st_sk);
	}
	rds_message_put(msg);
}
