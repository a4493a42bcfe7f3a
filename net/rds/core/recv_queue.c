// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive queue of a socket.
 *
 * While the socket is open, its queue never refuses a message (rds(7),
 * "Receiving"). When the queue holds too much, the port is marked congested,
 * and senders must stop. When the queue has drained well below that, the mark
 * is removed, and senders are notified that they may go on.
 *
 * Queued messages that came from a transport with a wire are charged to the
 * memory cgroup of the socket, through the socket's account (account.c): a
 * packet that arrives is charged to no cgroup. If the owner of the socket hits
 * the limit of the cgroup, the kernel may make the owner give memory back.
 *
 * Locks: rs_recv_lock, with bottom halves disabled; congestion map locks nest
 * inside it. References are put outside of it.
 */
#include "account.h"
#include "cong_flow.h"
#include "incoming.h"
#include "recv_queue.h"
#include "sysctl.h"

/* The queue is full if it holds too many payload bytes. It is also full if its
 * messages hold too much memory, however few payload bytes they have.
 */
static bool rds_recv_is_full(const struct rds_sock *rs)
{
	const struct rds_net *rn = rs->rs_rn;
	u64 rcvbuf = rds_rcvbuf(rs);

	return rs->rs_rcv_bytes >= rcvbuf ||
	       (rs->rs_rcv_held >= 2 * rcvbuf &&
		rs->rs_rcv_held >= rds_rx_held_max(rn));
}

/* Both limits are well below those of rds_recv_is_full(), so that a port does
 * not flap.
 */
static bool rds_recv_has_drained(const struct rds_sock *rs)
{
	const struct rds_net *rn = rs->rs_rn;
	u64 rcvbuf = rds_rcvbuf(rs);

	return (!rs->rs_rcv_bytes || rs->rs_rcv_bytes < rcvbuf / 2) &&
	       rs->rs_rcv_held < max_t(u64, 2 * rcvbuf,
				       rds_rx_held_max(rn)) / 2;
}

/**
 * rds_recv_add() - Queue a received message
 * @rs: the socket
 * @inc: the message
 *
 * Context: Deliver context. Takes rs_recv_lock.
 * Return: true if @inc is queued and its reference taken over; false if the
 * socket is closed, and the caller still owns the reference.
 */
bool rds_recv_add(struct rds_sock *rs, struct rds_incoming *inc)
{
	bool queued;

	spin_lock(&rs->rs_recv_lock);
	queued = !rs->rs_closed;
	if (queued) {
		rds_account_charge(rs->rs_account, inc);
		list_add_tail(&inc->i_item, &rs->rs_recv_queue);
		rs->rs_rcv_bytes += inc->i_len;
		rs->rs_rcv_held += inc->i_truesize;
		if (!rs->rs_congested && rds_recv_is_full(rs))
			rds_cong_publish(rs, true);
	}
	spin_unlock(&rs->rs_recv_lock);
	return queued;
}

static void rds_recv_unaccount(struct rds_sock *rs, struct rds_incoming *inc)
	__must_hold(&rs->rs_recv_lock)
{
	lockdep_assert_held(&rs->rs_recv_lock);
	rds_account_uncharge(rs->rs_account, inc);
	rs->rs_rcv_bytes -= inc->i_len;
	rs->rs_rcv_held -= inc->i_truesize;
	if (rs->rs_congested && rds_recv_has_drained(rs))
		rds_cong_publish(rs, false);
}

/**
 * rds_recv_take() - Take the next message to be read off the queue
 * @rs: the socket
 * @peek: leave the message on the queue, and only get a reference to it
 *
 * Context: Process context. Takes rs_recv_lock.
 * Return: the message with a reference for the caller; NULL if there is none.
 */
struct rds_incoming *rds_recv_take(struct rds_sock *rs, bool peek)
{
	struct rds_incoming *inc;

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
 * rds_recv_put_back() - Put a message back that the reader could not read
 * @rs: the socket
 * @inc: the message that rds_recv_first() returned; its reference is taken over
 *
 * The message becomes the first on the queue again, so that a bad user buffer
 * loses nothing.
 *
 * Context: Process context. Takes rs_recv_lock.
 */
void rds_recv_put_back(struct rds_sock *rs, struct rds_incoming *inc)
{
	spin_lock_bh(&rs->rs_recv_lock);
	rds_account_charge(rs->rs_account, inc);
	list_add(&inc->i_item, &rs->rs_recv_queue);
	rs->rs_rcv_bytes += inc->i_len;
	rs->rs_rcv_held += inc->i_truesize;
	if (!rs->rs_congested && rds_recv_is_full(rs))
		rds_cong_publish(rs, true);
	spin_unlock_bh(&rs->rs_recv_lock);
	rs->rs_sk.sk_data_ready(&rs->rs_sk);
}

/**
 * rds_recv_purge() - Close the receive queue and drop all unread messages
 * @rs: the socket; from here on its queue refuses messages
 *
 * Context: Process context. Takes rs_recv_lock.
 */
void rds_recv_purge(struct rds_sock *rs)
{
	struct rds_incoming *inc, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&rs->rs_recv_lock);
	rs->rs_closed = true;
	list_splice_init(&rs->rs_recv_queue, &gone);
	list_for_each_entry(inc, &gone, i_item)
		rds_account_uncharge(rs->rs_account, inc);
	sk_mem_reclaim(rs->rs_account);
	rds_stat_add(rs->rs_rn, recv_bytes_freed_fromsock, rs->rs_rcv_bytes);
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
