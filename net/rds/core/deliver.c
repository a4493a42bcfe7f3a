// SPDX-License-Identifier: GPL-2.0-only
/*
 * Received messages find their socket.
 *
 * A transport calls rds_deliver() in deliver context (transport.h), serially
 * for each path, and gives its reference away. Duplicates and messages that
 * nobody has asked for end here; a ping becomes a pong for the path's work to
 * send; all else goes on the queue of the socket, which never refuses it
 * (rds(7), "Message Receipt"). A queue that is too long marks the port
 * congested instead.
 *
 * No lock is held where a reference is put.
 */
#include <linux/module.h>
#include <linux/sched/clock.h>

#include "bind.h"
#include "compat.h"
#include "cong.h"
#include "cong_flow.h"
#include "conn.h"
#include "incoming.h"
#include "multipath.h"
#include "message.h"
#include "mr.h"
#include "pong.h"
#include "recv_queue.h"
#include "sw_response.h"
#include "sw_request.h"
#include "sysctl.h"

#include <trace/events/rds.h>

/* A peer that has not been told that a port is congested may go on for a
 * while, but not for ever.
 */
#define RDS_RX_UNTOLD_FACTOR	4

/* One of ours parks what is for a port when it hears that it is congested; but
 * what its paths have in hand by then comes still, up to 4 MiB each by default.
 */
#define RDS_RX_OURS_FACTOR	3

/**
 * rds_rx_batch_begin() - begin a batch of deliveries
 * @batch: the batch
 *
 * Context: deliver context, up to and including rds_rx_batch_end().
 */
void rds_rx_batch_begin(struct rds_rx_batch *batch)
{
	batch->rs = NULL;
}
EXPORT_SYMBOL_GPL(rds_rx_batch_begin);

/**
 * rds_rx_batch_end() - wake the receivers of a batch
 * @batch: the batch
 *
 * Context: deliver context.
 */
void rds_rx_batch_end(struct rds_rx_batch *batch)
{
	struct rds_sock *rs = batch->rs;

	if (!rs)
		return;
	rs->rs_sk.sk_data_ready(&rs->rs_sk);
	sock_put(&rs->rs_sk);
	batch->rs = NULL;
}
EXPORT_SYMBOL_GPL(rds_rx_batch_end);

/* Takes over the reference to the socket. */
static void rds_rx_batch_add(struct rds_rx_batch *batch, struct rds_sock *rs)
{
	if (batch->rs == rs) {
		sock_put(&rs->rs_sk);
		return;
	}
	if (batch->rs)
		rds_rx_batch_end(batch);
	batch->rs = rs;
}

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

/* The peer goes on although it knows better, and what it sends is not read: do
 * not read it either. A reader that made room meanwhile did not see the flag.
 */
static bool rds_deliver_stop(struct rds_cpath *cp)
{
	struct rds_net *rn = cp->cp_conn->c_rn;

	set_bit(RDS_PF_RX_STOPPED, &cp->cp_flags);
	/* Pairs with the order in rds_incoming_uncharge(). */
	smp_mb__after_atomic();
	if (atomic_long_read(&cp->cp_conn->c_rx_held) <
	    rds_rx_held_max(rn) / 2 &&
	    test_and_clear_bit(RDS_PF_RX_STOPPED, &cp->cp_flags)) {
		/* Its work may have seen the flag. */
		rds_cpath_kick(cp, 0);
		return false;
	}

	rds_stat_inc(rn, recv_path_stopped);
	net_warn_ratelimited("rds: %pI6c -> %pI6c: too many unread messages; not reading on\n",
			     &cp->cp_pub.faddr, &cp->cp_pub.laddr);
	return true;
}

/* How much more than what is held at most may it be? */
static long rds_deliver_factor(const struct rds_conn *conn,
			       const struct rds_sock *rs)
{
	if ((s32)(READ_ONCE(conn->c_map_acked_ver) -
		  READ_ONCE(rs->rs_map_ver)) < 0)
		return RDS_RX_UNTOLD_FACTOR;
	return READ_ONCE(conn->c_peer_hs.ours) ? RDS_RX_OURS_FACTOR : 1;
}

static bool rds_deliver_is_too_much(const struct rds_cpath *cp,
				    const struct rds_sock *rs, long held)
{
	const struct rds_conn *conn = cp->cp_conn;
	long max = rds_rx_held_max(conn->c_rn);

	return held > max && held / rds_deliver_factor(conn, rs) > max;
}

/* The peer says that it has used a region, and how much of it. */
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
	slow = !cp->cp_loops && READ_ONCE(rs->rs_congested);
	if (unlikely(slow))
		held = rds_incoming_charge(inc, path);

	/* A reader may free the message as soon as it is on the queue. */
	if (!rds_recv_add(rs, inc)) {
		rds_deliver_drop(path, inc, RDS_MSG_DEAD_SOCK);
		sock_put(&rs->rs_sk);
		return true;
	}
	rds_stat_inc(rn, recv_queued);
	rds_stat_add(rn, recv_bytes_added_to_sock, len);
	if (unlikely(slow) && rds_deliver_is_too_much(cp, rs, held))
		go_on = !rds_deliver_stop(cp);
	rds_rx_batch_add(batch, rs);
	return go_on;
}

static void rds_deliver_ping(struct rds_path *path, struct rds_incoming *inc)
{
	struct rds_net *rn = to_cpath(path)->cp_conn->c_rn;

	if (!READ_ONCE(rn->rn_sysctl.ping_enable)) {
		rds_stat_inc(rn, recv_drop_no_sock);
		rds_deliver_drop(path, inc, RDS_MSG_PING_OFF);
		return;
	}

	rds_stat_inc(rn, recv_ping);
	if (inc->i_sport && !rds_pong_add(to_cpath(path), inc->i_sport)) {
		rds_deliver_drop(path, inc, RDS_MSG_PING_LIMIT);
		return;
	}
	rds_incoming_put(inc);
}

/* A peer of the stock kind may restart its sequence on a live connection, and
 * says so by not setting the flag. Loopback, and peers of this implementation,
 * never do.
 */
static bool rds_deliver_is_dup(const struct rds_cpath *cp,
			       const struct rds_incoming *inc)
{
	return inc->i_seq < cp->cp_next_rx_seq &&
	       (cp->cp_loops || cp->cp_strict ||
		(inc->i_flags & RDS_FLAG_RETRANSMITTED));
}

/* A peer whose paths do not all greet has restarted. */
static void rds_deliver_follow_restart(struct rds_cpath *cp)
{
	u32 epoch = READ_ONCE(cp->cp_conn->c_rx_epoch);

	if (likely(cp->cp_rx_epoch == epoch))
		return;
	cp->cp_rx_epoch = epoch;
	if (!cp->cp_rx_peer)
		WRITE_ONCE(cp->cp_next_rx_seq, 1);
}

static bool rds_deliver_is_handshake(const struct rds_cpath *cp,
				     const struct rds_incoming *inc)
{
	return cp->cp_multi &&
	       (rds_handshake_is_probe(inc->i_sport, inc->i_dport) ||
		rds_handshake_is_reply(inc->i_sport, inc->i_dport));
}

/* What follows is perhaps for sockets that will answer it. If the peer has
 * turned out to be another, those answers must come after what is given up.
 */
static bool rds_deliver_handshake(struct rds_cpath *cp,
				  struct rds_incoming *inc)
{
	bool turn, fresh;

	fresh = rds_mp_receive(cp, inc, &turn);
	/* Only now: that there is news keeps the gate shut, see gate.c. */
	if (unlikely(rds_cpath_heard(cp)))
		rds_cong_make_good(cp);
	if (fresh)
		rds_incoming_put(inc);
	else
		rds_deliver_drop(&cp->cp_pub, inc, RDS_MSG_OLD_SEQ);
	return !turn;
}

/**
 * rds_deliver() - a message has arrived
 * @path: the path that it came by
 * @inc: the message; the reference is taken over
 * @batch: what it shares its wake-up with
 *
 * Context: deliver context, serial per path. May take rs_recv_lock of the
 * receiver and congestion map locks inside.
 * Return: true; or false if the transport is to stop reading @path, until
 * data_ops.rx_resume() is called.
 */
bool rds_deliver(struct rds_path *path, struct rds_incoming *inc,
		 struct rds_rx_batch *batch)
{
	struct module *owner = inc->i_ops->owner;
	struct rds_cpath *cp = to_cpath(path);
	struct rds_sock *rs;

	/* A transport that is being unloaded could not free it later. */
	if (owner && !try_module_get(owner)) {
		inc->i_ops->free(inc);
		return true;
	}

	if (unlikely(rds_deliver_is_handshake(cp, inc)))
		return rds_deliver_handshake(cp, inc);
	if (unlikely(rds_cpath_heard(cp)))
		rds_cong_make_good(cp);

	if (cp->cp_multi)
		rds_deliver_follow_restart(cp);
	/* Frames about operations have no number. */
	if (unlikely(!inc->i_seq) && rds_sw_receive(cp, inc)) {
		rds_incoming_put(inc);
		return true;
	}
	if (rds_deliver_is_dup(cp, inc)) {
		rds_deliver_drop(path, inc, RDS_MSG_OLD_SEQ);
		return true;
	}
	WRITE_ONCE(cp->cp_next_rx_seq, inc->i_seq + 1);
	if (unlikely(cp->cp_sw.so_failed) && rds_sw_bars(cp, inc)) {
		rds_deliver_drop(path, inc, RDS_MSG_OP_FAILED);
		return true;
	}

	if (!inc->i_dport) {
		rds_deliver_ping(path, inc);
		return true;
	}

	rs = rds_bind_lookup(cp->cp_conn->c_rn, &path->laddr,
			     rds_addr_scope(&path->laddr, path->ifindex),
			     inc->i_dport);
	if (!rs) {
		rds_deliver_drop(path, inc, RDS_MSG_NO_SOCK);
		return true;
	}
	return rds_deliver_to_sock(path, rs, inc, batch);
}
EXPORT_SYMBOL_GPL(rds_deliver);
