// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delivery of received messages to sockets.
 *
 * A transport calls rds_deliver() in deliver context (transport.h), serially
 * for each path, and passes its reference to the message. rds_deliver()
 * determines once of which kind the message is (enum rds_deliver_kind), and
 * calls the function for that kind:
 *
 *   handshake	probe.c processes it, and judges its sequence number
 *   frame	software RDMA, without a sequence number: sw_request.c
 *		processes it
 *   stream	a frame of a stream: if it is no duplicate, the user above core
 *		takes it (upper.h)
 *   ping	if it is no duplicate, a pong is noted, which the path's work
 *		item sends
 *   data	if it is no duplicate, it goes to the receive queue of the
 *		socket that has bound the port
 *
 * The receive queue never refuses a message (rds(7), "Receiving"). If the
 * queue becomes too long, the port is marked congested instead.
 *
 * If a peer keeps sending to congested ports, core stops reading the path
 * (rx_hold.c).
 *
 * No core lock is held when a reference is put.
 */
#include <linux/module.h>
#include <linux/sched/clock.h>

#include "bind.h"
#include "compat.h"
#include "cong.h"
#include "cong_flow.h"
#include "conn.h"
#include "incoming.h"
#include "message.h"
#include "mr.h"
#include "pong.h"
#include "probe.h"
#include "recv_queue.h"
#include "rx_hold.h"
#include "sw_frame.h"
#include "sw_request.h"
#include "sw_response.h"
#include "upper.h"

#include <trace/events/rds.h>

enum rds_deliver_kind {
	RDS_DELIVER_HANDSHAKE,
	RDS_DELIVER_FRAME,
	RDS_DELIVER_STREAM,
	RDS_DELIVER_PING,
	RDS_DELIVER_DATA,
};

/**
 * rds_rx_batch_end() - Wake the last receiver of a batch and end the batch
 * @batch: the batch
 *
 * Context: Deliver context.
 */
void rds_rx_batch_end(struct rds_rx_batch *batch)
{
	struct sock *sk = batch->sk;

	if (!sk)
		return;
	sk->sk_data_ready(sk);
	sock_put(sk);
	batch->sk = NULL;
}
EXPORT_SYMBOL_GPL(rds_rx_batch_end);

/**
 * rds_rx_batch_add() - Wake a receiver at the end of a batch
 * @batch: the batch. It holds one socket, which is woken when another one takes
 *	its place
 * @sk: the socket; the reference is taken over
 *
 * Context: Deliver context.
 */
void rds_rx_batch_add(struct rds_rx_batch *batch, struct sock *sk)
{
	if (batch->sk == sk) {
		sock_put(sk);
		return;
	}
	rds_rx_batch_end(batch);
	batch->sk = sk;
}
EXPORT_SYMBOL_GPL(rds_rx_batch_add);

static void rds_deliver_drop(struct rds_path *path, struct rds_incoming *inc,
			     enum rds_msg_fate fate)
{
	struct rds_net *rn = to_cpath(path)->cp_conn->c_rn;

	switch (fate) {
	case RDS_MSG_OLD_SEQ:
		rds_stat_inc(rn, recv_drop_old_seq);
		break;
	case RDS_MSG_NO_SOCK:
		rds_stat_inc(rn, recv_drop_no_sock);
		break;
	case RDS_MSG_DEAD_SOCK:
		rds_stat_inc(rn, recv_drop_dead_sock);
		break;
	case RDS_MSG_PING_LIMIT:
		rds_stat_inc(rn, recv_ping_limited);
		break;
	default:
		break;
	}
	trace_rds_recv_drop(path, inc, fate);
	rds_incoming_put(inc);
}

static void rds_recv_stamp(struct rds_net *rn, struct rds_sock *rs,
			   struct rds_incoming *inc)
{
	if (sock_flag(&rs->rs_sk, SOCK_RCVTSTAMP))
		inc->i_tstamp = ktime_get_real();
	else
		inc->i_tstamp = 0;

	if (!inc->i_stamps[RDS_RX_STAMP_HDR] &&
	    atomic_read(&rn->rn_rx_traces)) {
		u64 now = local_clock();

		inc->i_stamps[RDS_RX_STAMP_HDR] = now;
		inc->i_stamps[RDS_RX_STAMP_START] = now;
		inc->i_stamps[RDS_RX_STAMP_END] = now;
	}
}

/* Process the extension headers by which the peer reports that it has used an
 * MR, and how many bytes it has transferred.
 */
static void rds_deliver_used(struct rds_net *rn, struct rds_sock *rs,
			     const struct rds_incoming *inc)
{
	unsigned int pos = 0;
	const u8 *payload;
	u8 type;

	while ((type = rds_exthdr_next(inc->i_exthdr, &pos, &payload))) {
		if (type == RDS_EXTHDR_RDMA)
			rds_mr_used(rs, get_unaligned_be32(payload));
		else if (type == RDS_EXTHDR_RDMA_BYTES)
			rds_stat_add(rn, recv_rdma_bytes,
				     get_unaligned_be32(payload));
	}
}

static bool rds_deliver_to_sock(struct rds_path *path, struct rds_sock *rs,
				struct rds_incoming *inc,
				struct rds_rx_batch *batch)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_net *rn = cp->cp_conn->c_rn;
	u32 len = inc->i_len;
	bool go_on = true, slow;
	long held = 0;

	inc->i_saddr = path->faddr;
	inc->i_ifindex = path->ifindex;
	inc->i_tos = path->tos;
	rds_recv_stamp(rn, rs, inc);
	if (unlikely(inc->i_exthdr[0]))
		rds_deliver_used(rn, rs, inc);
	trace_rds_deliver(path, inc, -1);
	rds_conn_set_used(cp->cp_conn);
	slow = !rds_cpath_can(cp, RDS_CAP_LOOPBACK) &&
	       READ_ONCE(rs->rs_congested);
	if (unlikely(slow))
		held = rds_rx_hold_charge(cp, inc);

	/* As soon as the message is on the queue, a reader may free it. */
	if (!rds_recv_add(rs, inc)) {
		rds_deliver_drop(path, inc, RDS_MSG_DEAD_SOCK);
		sock_put(&rs->rs_sk);
		return true;
	}
	rds_stat_inc(rn, recv_queued);
	rds_stat_add(rn, recv_bytes_added_to_sock, len);
	if (unlikely(slow))
		go_on = !rds_rx_hold_stops(cp, rs, held);
	rds_rx_batch_add(batch, &rs->rs_sk);
	return go_on;
}

/* A stock peer may restart its sequence numbers on a live connection. It then
 * sends new messages without RDS_FLAG_RETRANSMITTED. Loopback and peers that
 * run this implementation never restart them on a live connection.
 */
static bool rds_deliver_is_dup(const struct rds_cpath *cp,
			       const struct rds_incoming *inc)
{
	return inc->i_seq < atomic64_read(&cp->cp_pub.next_rx_seq) &&
	       (rds_cpath_can(cp, RDS_CAP_LOOPBACK) || cp->cp_rx.pr_strict ||
		(inc->i_flags & RDS_FLAG_RETRANSMITTED));
}

/* When the peer has restarted, expect sequence numbers from 1 again on a path
 * that carries no handshake. A path with a handshake learns of the restart in
 * rds_probe_receive().
 */
static void rds_deliver_follow_restart(struct rds_cpath *cp)
{
	u32 epoch = READ_ONCE(cp->cp_conn->c_rx_epoch);

	if (likely(cp->cp_rx.pr_epoch == epoch))
		return;
	cp->cp_rx.pr_epoch = epoch;
	if (!cp->cp_rx.pr_peer)
		atomic64_set(&cp->cp_pub.next_rx_seq, 1);
}

/* Note that the peer has sent something. For handshake frames,
 * rds_deliver_handshake() does this.
 */
static void rds_deliver_heard(struct rds_cpath *cp)
{
	if (unlikely(rds_cpath_heard(cp)))
		rds_cong_resend_map(cp);
	if (rds_cpath_can(cp, RDS_CAP_HANDSHAKE))
		rds_deliver_follow_restart(cp);
}

/* Check that a numbered message is the next one, and expect the one after it.
 * Takes over the reference to a message that must not be delivered.
 */
static bool rds_deliver_admit(struct rds_cpath *cp, struct rds_incoming *inc)
{
	rds_deliver_heard(cp);
	if (rds_deliver_is_dup(cp, inc)) {
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_OLD_SEQ);
		return false;
	}
	atomic64_set(&cp->cp_pub.next_rx_seq, inc->i_seq + 1);
	if (unlikely(cp->cp_sw.sw_failed) && rds_sw_bars(cp, inc)) {
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_OP_FAILED);
		return false;
	}
	return true;
}

/* The messages behind the handshake frame may be for sockets that reply to
 * them. If the peer turns out to be another incarnation, those replies must be
 * queued after the messages that are dropped because of the restart. In that
 * case, stop reading the path.
 */
static bool rds_deliver_handshake(struct rds_cpath *cp,
				  struct rds_incoming *inc)
{
	bool turn, fresh;

	fresh = rds_probe_receive(cp, inc, &turn);
	/* Not before rds_probe_receive() has set RDS_PF_HANDSHAKE, which keeps
	 * the gate shut, see gate.c.
	 */
	if (unlikely(rds_cpath_heard(cp)))
		rds_cong_resend_map(cp);
	if (fresh)
		rds_incoming_put(inc);
	else
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_OLD_SEQ);
	return !turn;
}

static void rds_deliver_frame(struct rds_cpath *cp, struct rds_incoming *inc,
			      const struct rds_sw_frame *ext)
{
	rds_deliver_heard(cp);
	rds_sw_receive(cp, inc, ext);
	rds_incoming_put(inc);
}

static void rds_deliver_stream(struct rds_cpath *cp, struct rds_incoming *inc,
			       struct rds_rx_batch *batch)
{
	if (!rds_deliver_admit(cp, inc))
		return;
	/* rds_restart() waits for this. */
	rcu_read_lock();
	if (unlikely(READ_ONCE(cp->cp_rx.pr_former))) {
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_PEER_RESTARTED);
	} else if (!rds_upper_deliver(cp->cp_conn, inc, batch)) {
		rds_upper_refuse(cp, inc);
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_NO_SOCK);
	}
	rcu_read_unlock();
}

static void rds_deliver_ping(struct rds_cpath *cp, struct rds_incoming *inc)
{
	struct rds_net *rn = cp->cp_conn->c_rn;

	if (!rds_deliver_admit(cp, inc))
		return;
	if (!READ_ONCE(rn->rn_sysctl.ping_enable)) {
		rds_stat_inc(rn, recv_drop_no_sock);
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_PING_OFF);
		return;
	}

	rds_stat_inc(rn, recv_ping);
	if (inc->i_sport && !rds_pong_add(cp, inc->i_sport)) {
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_PING_LIMIT);
		return;
	}
	rds_incoming_put(inc);
}

static bool rds_deliver_data(struct rds_cpath *cp, struct rds_incoming *inc,
			     struct rds_rx_batch *batch)
{
	struct rds_path *path = &cp->cp_pub;
	struct rds_sock *rs;

	if (!rds_deliver_admit(cp, inc))
		return true;
	rs = rds_bind_lookup(cp->cp_conn->c_rn, &path->laddr,
			     rds_addr_scope(&path->laddr, path->ifindex),
			     inc->i_dport);
	if (!rs) {
		rds_deliver_drop(path, inc, RDS_MSG_NO_SOCK);
		return true;
	}
	return rds_deliver_to_sock(path, rs, inc, batch);
}

/* The extension header of a frame fills all of the space. Ignore it if the peer
 * has not announced streams on this connection.
 */
static bool rds_deliver_is_stream(const struct rds_cpath *cp,
				  const struct rds_incoming *inc)
{
	return unlikely(inc->i_exthdr[0] == RDS_EXTHDR_STREAM) &&
	       (rds_cpath_can(cp, RDS_CAP_LOOPBACK) ||
		READ_ONCE(cp->cp_rx.pr_streams));
}

/* Determine the kind of a message. For a software RDMA frame, set @ext to the
 * contents of its extension header. Ignore that header if the peer has not
 * advertised software RDMA on this connection.
 */
static enum rds_deliver_kind
rds_deliver_classify(const struct rds_cpath *cp, const struct rds_incoming *inc,
		     struct rds_sw_frame *ext)
{
	if (rds_cpath_can(cp, RDS_CAP_HANDSHAKE) &&
	    unlikely(rds_handshake_is_probe(inc->i_sport, inc->i_dport) ||
		     rds_handshake_is_reply(inc->i_sport, inc->i_dport)))
		return RDS_DELIVER_HANDSHAKE;
	if (unlikely(!inc->i_seq) && cp->cp_sw.sw_known &&
	    rds_sw_frame_read(inc->i_exthdr, ext))
		return RDS_DELIVER_FRAME;
	if (rds_deliver_is_stream(cp, inc))
		return RDS_DELIVER_STREAM;
	return inc->i_dport ? RDS_DELIVER_DATA : RDS_DELIVER_PING;
}

/**
 * rds_deliver() - Deliver a received message
 * @path: the path on which the message arrived
 * @inc: the message; its reference is taken over
 * @batch: the batch of deliveries that share their wakeups
 *
 * Context: Deliver context, serial per path. May take rs_recv_lock of the
 * receiver, and congestion map locks inside it.
 * Return: true; false if the transport must stop reading @path until core calls
 * data_ops.rx_resume().
 */
bool rds_deliver(struct rds_path *path, struct rds_incoming *inc,
		 struct rds_rx_batch *batch)
{
	struct module *owner = inc->i_ops->owner;
	struct rds_cpath *cp = to_cpath(path);
	struct rds_sw_frame ext;

	/* If the transport is being unloaded, free() cannot be called later. */
	if (owner && !try_module_get(owner)) {
		inc->i_ops->free(inc);
		return true;
	}

	switch (rds_deliver_classify(cp, inc, &ext)) {
	case RDS_DELIVER_HANDSHAKE:
		return rds_deliver_handshake(cp, inc);
	case RDS_DELIVER_FRAME:
		rds_deliver_frame(cp, inc, &ext);
		return true;
	case RDS_DELIVER_STREAM:
		rds_deliver_stream(cp, inc, batch);
		return true;
	case RDS_DELIVER_PING:
		rds_deliver_ping(cp, inc);
		return true;
	default:
		return rds_deliver_data(cp, inc, batch);
	}
}
EXPORT_SYMBOL_GPL(rds_deliver);
