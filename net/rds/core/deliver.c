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
 * Locks: rs_recv_lock, with bottom halves off. References are put outside.
 */
#include <linux/sched/clock.h>

#include "bind.h"
#include "cong_flow.h"
#include "conn.h"
#include "deliver.h"
#include "incoming.h"
#include "message.h"
#include "rds_net.h"

#include <trace/events/rds.h>

/* Pongs that may wait on a path; a peer that pings faster loses some. */
#define RDS_MAX_PONGS	1024

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
	default:
		break;
	}
	trace_rds_recv_drop(path, inc, fate);
	rds_incoming_put(inc);
}

/* Too many payload bytes, or too much memory for however few bytes. */
static bool rds_recv_is_full(const struct rds_sock *rs)
{
	const struct rds_net *rn = rs->rs_rn;
	u64 rcvbuf = rds_rcvbuf(rs);

	return rs->rs_rcv_bytes >= rcvbuf ||
	       rs->rs_rcv_held >= max_t(u64, 2 * rcvbuf,
				READ_ONCE(rn->rn_sysctl.rx_held_max));
}

/* Well below both limits, so that a port does not flap. */
static bool rds_recv_has_drained(const struct rds_sock *rs)
{
	const struct rds_net *rn = rs->rs_rn;
	u64 rcvbuf = rds_rcvbuf(rs);

	return (!rs->rs_rcv_bytes || rs->rs_rcv_bytes < rcvbuf / 2) &&
	       rs->rs_rcv_held < max_t(u64, 2 * rcvbuf,
				READ_ONCE(rn->rn_sysctl.rx_held_max)) / 2;
}

/* True if the socket took the message. Bottom halves are off already. */
static bool rds_recv_enqueue(struct rds_sock *rs, struct rds_incoming *inc)
{
	bool queued;

	spin_lock(&rs->rs_recv_lock);
	queued = !rs->rs_closed;
	if (queued) {
		list_add_tail(&inc->i_item, &rs->rs_recv_queue);
		rs->rs_rcv_bytes += inc->i_len;
		rs->rs_rcv_held += inc->i_truesize;
		if (!rs->rs_congested && rds_recv_is_full(rs))
			rds_cong_publish(rs, true);
	}
	spin_unlock(&rs->rs_recv_lock);
	return queued;
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

static void rds_deliver_to_sock(struct rds_path *path, struct rds_sock *rs,
				struct rds_incoming *inc,
				struct rds_rx_batch *batch)
{
	struct rds_net *rn = to_cpath(path)->cp_conn->c_rn;
	u32 len = inc->i_len;

	inc->i_saddr = path->faddr;
	inc->i_tos = path->tos;
	rds_recv_stamp(rn, rs, inc);
	trace_rds_deliver(path, inc, -1);

	/* A reader may free the message as soon as it is on the queue. */
	if (!rds_recv_enqueue(rs, inc)) {
		rds_deliver_drop(path, inc, RDS_MSG_DEAD_SOCK);
		sock_put(&rs->rs_sk);
		return;
	}
	rds_stat_inc(rn, recv_queued);
	rds_stat_add(rn, recv_bytes_added_to_sock, len);
	rds_rx_batch_add(batch, rs);
}

/* The answer goes by the path's work: nothing is transmitted from here. */
static bool rds_deliver_pong(struct rds_cpath *cp, __be16 port)
{
	struct rds_message *msg;

	if (atomic_read(&cp->cp_npongs) >= RDS_MAX_PONGS)
		return false;

	msg = rds_message_alloc_empty(GFP_ATOMIC | __GFP_NOWARN);
	if (!msg)
		return false;

	msg->m_dport = port;
	atomic_inc(&cp->cp_npongs);
	llist_add(&msg->m_pong, &cp->cp_pongs);
	rds_cpath_kick(cp, 0);
	return true;
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
	if (inc->i_sport && !rds_deliver_pong(to_cpath(path), inc->i_sport)) {
		rds_deliver_drop(path, inc, RDS_MSG_PING_LIMIT);
		return;
	}
	rds_incoming_put(inc);
}

/* A peer of the stock kind may restart its sequence on a live connection, and
 * says so by not setting the flag.
 */
static bool rds_deliver_is_dup(const struct rds_cpath *cp,
			       const struct rds_incoming *inc)
{
	return inc->i_seq < cp->cp_next_rx_seq &&
	       (cp->cp_strict_rx || (inc->i_flags & RDS_FLAG_RETRANSMITTED));
}

/**
 * rds_deliver() - a message has arrived
 * @path: the path that it came by
 * @inc: the message; the reference is taken over
 * @batch: what it shares its wake-up with
 *
 * Context: deliver context, serial per path. May take rs_recv_lock of the
 * receiver and congestion map locks inside.
 */
void rds_deliver(struct rds_path *path, struct rds_incoming *inc,
		 struct rds_rx_batch *batch)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_net *rn = to_cpath(path)->cp_conn->c_rn;
	struct rds_sock *rs;

	/* Cannot fail: the module that delivers is running. */
	__module_get(inc->i_ops->owner);

	if (rds_deliver_is_dup(cp, inc)) {
		rds_deliver_drop(path, inc, RDS_MSG_OLD_SEQ);
		return;
	}
	WRITE_ONCE(cp->cp_next_rx_seq, inc->i_seq + 1);

	if (!inc->i_dport) {
		rds_deliver_ping(path, inc);
		return;
	}

	rs = rds_bind_lookup(rn, &path->laddr, path->ifindex, inc->i_dport);
	if (!rs) {
		rds_deliver_drop(path, inc, RDS_MSG_NO_SOCK);
		return;
	}
	rds_deliver_to_sock(path, rs, inc, batch);
}
EXPORT_SYMBOL_GPL(rds_deliver);

static void rds_recv_unaccount(struct rds_sock *rs, struct rds_incoming *inc)
	__must_hold(&rs->rs_recv_lock)
{
	lockdep_assert_held(&rs->rs_recv_lock);
	rs->rs_rcv_bytes -= inc->i_len;
	rs->rs_rcv_held -= inc->i_truesize;
	if (rs->rs_congested && rds_recv_has_drained(rs))
		rds_cong_publish(rs, false);
}

/**
 * rds_recv_first() - the message to be read next
 * @rs: the socket
 * @peek: leave it on the queue
 *
 * Each message is handed to one reader, however many there are.
 *
 * Context: process. Takes rs_recv_lock.
 * Return: the message with a reference for the caller, or NULL.
 */
struct rds_incoming *rds_recv_first(struct rds_sock *rs, bool peek)
{
	struct rds_incoming *inc;

	if (list_empty_careful(&rs->rs_recv_queue))
		return NULL;

	spin_lock_bh(&rs->rs_recv_lock);
	inc = list_first_entry_or_null(&rs->rs_recv_queue,
				       struct rds_incoming, i_item);
	if (inc && peek) {
		rds_incoming_get(inc);
	} else if (inc) {
		list_del(&inc->i_item);
		rds_recv_unaccount(rs, inc);
	}
	spin_unlock_bh(&rs->rs_recv_lock);
	return inc;
}

/**
 * rds_recv_put_back() - the reader could not take the message
 * @rs: the socket
 * @inc: what rds_recv_first() returned; the reference is taken over
 *
 * It is the first on the queue again, so that nothing is lost to a bad
 * buffer.
 *
 * Context: process. Takes rs_recv_lock.
 */
void rds_recv_put_back(struct rds_sock *rs, struct rds_incoming *inc)
{
	spin_lock_bh(&rs->rs_recv_lock);
	list_add(&inc->i_item, &rs->rs_recv_queue);
	rs->rs_rcv_bytes += inc->i_len;
	rs->rs_rcv_held += inc->i_truesize;
	if (!rs->rs_congested && rds_recv_is_full(rs))
		rds_cong_publish(rs, true);
	spin_unlock_bh(&rs->rs_recv_lock);
	rs->rs_sk.sk_data_ready(&rs->rs_sk);
}

/**
 * rds_recv_purge() - drop what a socket has not read, for good
 * @rs: the socket; takes no message any more
 *
 * Context: process. Takes rs_recv_lock.
 */
void rds_recv_purge(struct rds_sock *rs)
{
	struct rds_incoming *inc, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&rs->rs_recv_lock);
	rs->rs_closed = true;
	list_splice_init(&rs->rs_recv_queue, &gone);
	rs->rs_rcv_bytes = 0;
	rs->rs_rcv_held = 0;
	if (rs->rs_congested)
		rds_cong_publish(rs, false);
	spin_unlock_bh(&rs->rs_recv_lock);

	list_for_each_entry_safe(inc, next, &gone, i_item) {
		list_del(&inc->i_item);
		rds_incoming_put(inc);
	}
}
