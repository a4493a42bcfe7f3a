// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving.
 *
 * When data arrives, TCP calls us with the socket locked. The context is
 * softirq, or process context if the data comes from the backlog of a socket
 * that another task had locked. That task may be our own sender. The data is
 * read at once and delivered in the same context; no work is scheduled.
 * rds_tcp_recv() is the only reader, and the socket lock serializes it.
 *
 * The receiver stops when core requests it, or when there is no memory. In both
 * cases core calls rds_tcp_rx_resume() later. Data that was not read stays in
 * the TCP receive queue, so TCP closes its window to the peer. The last bytes
 * of a header are taken only after the memory to begin its message has been
 * allocated. So the next attempt always finds data left to read, which TCP
 * needs to call the receiver.
 *
 * When the receive queue has been read to its end, TCP acknowledges at once,
 * because most programs reply only at that point. For RDS this would mean an
 * ack for each message. A peer that runs this implementation sets
 * RDS_FLAG_ACK_REQUIRED in a message when it waits for the ack. Once it has
 * done so on a connection, only every second packet without such a message is
 * acknowledged at once; TCP's delayed ack covers the others.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "tcp.h"
#include "trace.h"

/* Packets read in a row without an immediate ack, if no ack was requested */
#define RDS_TCP_QUIET_MAX	1

/* Frames read in one run, so that other work gets its turn */
#define RDS_TCP_RX_BUDGET	1024

/**
 * struct rds_tcp_rx - one run of the receiver
 * @rx_tp: the path
 * @rx_sk: its socket
 * @rx_want_ack: the peer waits for an ack of a message that was read
 * @rx_budget: frames that may still be read in this run
 * @rx_batch: core's batch of deliveries
 */
struct rds_tcp_rx {
	struct rds_tcp_path	*rx_tp;
	struct sock		*rx_sk;
	bool			rx_want_ack;
	unsigned int		rx_budget;
	struct rds_rx_batch	rx_batch;
};

/* Allocate the memory that the frame of a complete header needs. */
static int rds_tcp_rx_begin(struct rds_tcp_path *tp)
{
	const struct rds_header *hdr = &tp->tp_rx.tr_frame.fr_hdr;

	switch (rds_tcp_frame_judge(hdr)) {
	case RDS_TCP_BODY:
		tp->tp_rx.tr_inc = rds_tcp_incoming_alloc(hdr);
		return tp->tp_rx.tr_inc ? 0 : -ENOMEM;
	case RDS_TCP_MAP:
		if (!tp->tp_rx.tr_map)
			tp->tp_rx.tr_map = kmalloc(RDS_CONG_MAP_BYTES,
						   GFP_ATOMIC | __GFP_NOWARN);
		return tp->tp_rx.tr_map ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

static int rds_tcp_rx_header(struct rds_tcp_path *tp, struct sk_buff *skb,
			     u32 offset, u32 len)
{
	struct rds_tcp_frame *fr = &tp->tp_rx.tr_frame;
	int ret;

	ret = skb_copy_bits(skb, offset, rds_tcp_frame_room(fr), len);
	if (!ret && len == fr->fr_left)
		ret = rds_tcp_rx_begin(tp);
	return ret ?: len;
}

static int rds_tcp_rx_map(struct rds_tcp_path *tp, struct sk_buff *skb,
			  u32 offset, u32 len)
{
	u32 pos = RDS_CONG_MAP_BYTES - tp->tp_rx.tr_frame.fr_left;

	return skb_copy_bits(skb, offset, tp->tp_rx.tr_map + pos, len) ?: len;
}

/* Take bytes that all belong to one phase. Returns the number of bytes taken,
 * or an errno if none were.
 */
static int rds_tcp_rx_take(struct rds_tcp_path *tp, struct sk_buff *skb,
			   u32 offset, u32 len)
{
	switch (tp->tp_rx.tr_frame.fr_phase) {
	case RDS_TCP_HEADER:
		return rds_tcp_rx_header(tp, skb, offset, len);
	case RDS_TCP_BODY:
		return rds_tcp_incoming_add(tp->tp_rx.tr_inc, skb, offset,
					    len) ?: -ENOMEM;
	case RDS_TCP_MAP:
		return rds_tcp_rx_map(tp, skb, offset, len);
	case RDS_TCP_SKIP:
		return len;
	default:
		return -EPROTO;
	}
}

/* Finish a complete frame. Returns false if the receiver must stop. */
static bool rds_tcp_rx_end(struct rds_tcp_rx *rx)
{
	struct rds_tcp_path *tp = rx->rx_tp;
	struct rds_tcp_incoming *ti = tp->tp_rx.tr_inc;

	if (ti) {
		tp->tp_rx.tr_inc = NULL;
		if (tp->tp_rx.tr_partial_seen)
			rds_tcp_partial_end(tp);
		if (tp->tp_rx.tr_frame.fr_hdr.h_flags & RDS_FLAG_ACK_REQUIRED)
			rx->rx_want_ack = true;
		if (rds_deliver(tp->tp_path, rds_tcp_incoming_end(ti),
				&rx->rx_batch) || tp->tp_rx.tr_draining)
			return true;
		tp->tp_rx.tr_stopped = true;
		return false;
	}

	if (rds_tcp_frame_judge(&tp->tp_rx.tr_frame.fr_hdr) == RDS_TCP_MAP) {
		rds_deliver_cong_map(tp->tp_path, tp->tp_rx.tr_map,
				     RDS_CONG_MAP_BYTES);
		kfree(tp->tp_rx.tr_map);
		tp->tp_rx.tr_map = NULL;
	}
	return true;
}

/* Have TCP delay its ack if the peer does not wait for it. At the end of the
 * receive queue, TCP acknowledges at once only if one of the two flags that are
 * cleared here is set. When the connection ends, a reset may come before the
 * ack.
 */
static void rds_tcp_rx_quiet(struct rds_tcp_rx *rx)
{
	struct rds_tcp_path *tp = rx->rx_tp;

	if (tp->tp_end.te_ending || tp->tp_rx.tr_draining)
		return;
	if (rx->rx_want_ack) {
		tp->tp_rx.tr_acks_asked = true;
		tp->tp_rx.tr_quiet = 0;
	} else if (tp->tp_rx.tr_acks_asked &&
		   tp->tp_rx.tr_quiet < RDS_TCP_QUIET_MAX) {
		tp->tp_rx.tr_quiet++;
		inet_csk(rx->rx_sk)->icsk_ack.pending &=
			~(ICSK_ACK_PUSHED | ICSK_ACK_PUSHED2);
	} else {
		tp->tp_rx.tr_quiet = 0;
	}
}

/* Actor for tcp_read_sock(): take the data of one packet. */
static int rds_tcp_rx_actor(read_descriptor_t *desc, struct sk_buff *skb,
			    unsigned int offset, size_t len)
{
	struct rds_tcp_rx *rx = desc->arg.data;
	struct rds_tcp_path *tp = rx->rx_tp;
	struct rds_tcp_frame *fr = &tp->tp_rx.tr_frame;
	u32 done = 0, want;
	int taken;

	while (done < len && desc->count) {
		want = min_t(size_t, len - done, fr->fr_left);
		taken = rds_tcp_rx_take(tp, skb, offset + done, want);
		if (taken < 0) {
			desc->error = taken;
			desc->count = 0;
			break;
		}
		done += taken;
		if (rds_tcp_frame_advance(fr, taken) &&
		    (!rds_tcp_rx_end(rx) || !--rx->rx_budget))
			desc->count = 0;
		if (unlikely(fr->fr_phase == RDS_TCP_OVERSIZED)) {
			desc->error = -EMSGSIZE;
			desc->count = 0;
		}
	}
	if (done)
		rds_tcp_rx_quiet(rx);
	return done;
}

/* @err: -ENOMEM if there is no memory; -ENOBUFS if core has requested to stop,
 * and the receiver waits for rds_tcp_rx_resume().
 */
static void rds_tcp_rx_pause(struct rds_tcp_path *tp, struct sock *sk, int err)
{
	tp->tp_rx.tr_paused = true;
	trace_rds_tcp_rx_pause(tp, sk, err);
}

static void rds_tcp_rx_unpause(struct rds_tcp_path *tp, struct sock *sk)
{
	tp->tp_rx.tr_paused = false;
	trace_rds_tcp_rx_resume(tp, sk, 0);
}

static void rds_tcp_rx_error(struct rds_tcp_path *tp, struct sock *sk, int err)
{
	switch (err) {
	case 0:
		return;
	case -ENOMEM:
		rds_tcp_rx_pause(tp, sk, err);
		/* path_shutdown() tries again by itself. */
		if (!tp->tp_rx.tr_draining)
			rds_path_kick(tp->tp_path, RDS_KICK_RX_LATER);
		return;
	case -EMSGSIZE:
		tp->tp_rx.tr_broken = true;
		rds_path_drop(tp->tp_path, RDS_DROP_OVERSIZED);
		return;
	default:
		tp->tp_rx.tr_broken = true;
		rds_path_drop(tp->tp_path, RDS_DROP_PROTOCOL);
	}
}

/**
 * rds_tcp_recv() - Read the data that TCP has, and deliver it
 * @tp: the path
 * @sk: its socket, locked
 *
 * Context: Deliver context.
 * Return: 0 if all data was read, or the receiver must not read on; -EAGAIN if
 * the budget of this run is used up, so the caller must have it run again soon;
 * -ENOMEM if there is no memory, and core calls rds_tcp_rx_resume() later;
 * another errno if the rest of the stream is unusable, and the path is dropped.
 */
int rds_tcp_recv(struct rds_tcp_path *tp, struct sock *sk)
{
	struct rds_tcp_rx rx = {
		.rx_tp		= tp,
		.rx_sk		= sk,
		.rx_budget	= RDS_TCP_RX_BUDGET,
	};
	read_descriptor_t desc = { .arg.data = &rx, .count = 1 };

	if (!tp->tp_up || tp->tp_rx.tr_stopped || tp->tp_rx.tr_broken)
		return 0;

	if (unlikely(tp->tp_rx.tr_paused))
		rds_tcp_rx_unpause(tp, sk);
	tcp_read_sock(sk, &desc, rds_tcp_rx_actor);
	rds_rx_batch_end(&rx.rx_batch);
	if (unlikely(tp->tp_rx.tr_stopped))
		rds_tcp_rx_pause(tp, sk, -ENOBUFS);
	if (tp->tp_rx.tr_inc)
		rds_tcp_partial_count(tp,
				      rds_tcp_incoming_holds(tp->tp_rx.tr_inc),
				      tp->tp_rx.tr_frame.fr_left);
	if (!rx.rx_budget && !desc.error)
		return -EAGAIN;

	/* RDS sends no urgent data, and TCP does not read past it. */
	if (unlikely(tcp_sk(sk)->urg_data) && !desc.error)
		desc.error = -EPROTO;
	rds_tcp_rx_error(tp, sk, desc.error);
	return desc.error;
}

/**
 * rds_tcp_recv_all() - Read all data that TCP has, even if core wants to stop
 * @tp: the path
 * @sk: its socket, locked
 *
 * Context: Process context, may sleep.
 * Return: true if all data was read, or the rest cannot be read; false if there
 * was no memory for it.
 */
bool rds_tcp_recv_all(struct rds_tcp_path *tp, struct sock *sk)
{
	int ret;

	tp->tp_rx.tr_draining = true;
	tp->tp_rx.tr_stopped = false;
	do {
		local_bh_disable();
		ret = rds_tcp_recv(tp, sk);
		local_bh_enable();
		cond_resched();
	} while (ret == -EAGAIN);
	return ret != -ENOMEM;
}

/**
 * rds_tcp_recv_reset() - Reset the receiver for a new stream
 * @tp: the path; no receiver runs
 *
 * Context: Process context.
 */
void rds_tcp_recv_reset(struct rds_tcp_path *tp)
{
	rds_tcp_incoming_drop(tp->tp_rx.tr_inc);
	tp->tp_rx.tr_inc = NULL;
	if (tp->tp_rx.tr_partial_seen)
		rds_tcp_partial_end(tp);
	tp->tp_rx.tr_draining = false;
	tp->tp_rx.tr_stopped = false;
	tp->tp_rx.tr_paused = false;
	tp->tp_rx.tr_broken = false;
	tp->tp_rx.tr_acks_asked = false;
	tp->tp_rx.tr_quiet = 0;
	rds_tcp_frame_init(&tp->tp_rx.tr_frame);

	kfree(tp->tp_rx.tr_map);
	tp->tp_rx.tr_map = NULL;
}

/**
 * rds_tcp_data_ready() - Handle the arrival of data or of the end of the stream
 * @sk: the socket of a path, locked; the lock keeps it attached to the path
 *
 * Context: Softirq or process context.
 */
void rds_tcp_data_ready(struct sock *sk)
{
	struct rds_tcp_path *tp = sk->sk_user_data;

	local_bh_disable();
	rds_tcp_stat_inc(tp->tp_tn, tcp_data_ready_calls);
	if (rds_tcp_recv(tp, sk) == -EAGAIN)
		rds_path_kick(tp->tp_path, RDS_KICK_RX);
	local_bh_enable();
}

/**
 * rds_tcp_rx_resume() - Resume reading
 * @path: the path
 *
 * Context: Process context, the path's work item, may sleep.
 */
void rds_tcp_rx_resume(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->data;
	struct sock *sk;
	int ret;

	if (!tp->tp_sock)
		return;

	sk = tp->tp_sock->sk;
	lock_sock(sk);
	tp->tp_rx.tr_stopped = false;
	do {
		local_bh_disable();
		ret = rds_tcp_recv(tp, sk);
		local_bh_enable();
		cond_resched();
	} while (ret == -EAGAIN);
	release_sock(sk);
}
