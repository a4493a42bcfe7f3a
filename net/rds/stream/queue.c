// SPDX-License-Identifier: GPL-2.0-only
/*
 * The frames of a stream that wait to be read.
 *
 * They are limited by the credit that the peer was given, so they never stop
 * the path (rx_hold.c of core). What they hold is charged as for messages of
 * sockets of type SOCK_SEQPACKET: to the memory cgroup of the task that has
 * created or accepted the stream. Until accept(), it is charged to that of the
 * listener.
 */
#include "stream.h"

/**
 * rds_stream_queue_frame() - Queue a frame to be read
 * @st: the stream
 * @inc: the frame; its reference is taken over
 *
 * Context: Deliver context. st_lock is held.
 */
void rds_stream_queue_frame(struct rds_stream *st, struct rds_incoming *inc)
	__must_hold(&st->st_lock)
{
	struct rds_stream_rx *rx = &st->st_rx;

	lockdep_assert_held(&st->st_lock);
	rds_upper_charge(st->st_account, inc);
	list_add_tail(&inc->i_item, &rx->rx_queue);
	/* Pairs with the acquire in rds_stream_first(). */
	smp_store_release(&rx->rx_bytes, rx->rx_bytes + inc->i_len);
}

/**
 * rds_stream_unqueue_frame() - Take a frame that was read off the queue
 * @st: the stream
 * @inc: the frame, the first one; the caller puts it
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_unqueue_frame(struct rds_stream *st, struct rds_incoming *inc)
	__must_hold(&st->st_lock)
{
	struct rds_stream_rx *rx = &st->st_rx;

	lockdep_assert_held(&st->st_lock);
	list_del(&inc->i_item);
	rx->rx_offset = 0;
	rds_upper_uncharge(st->st_account, inc);
}

/**
 * rds_stream_purge() - Free what has arrived and was not read
 * @st: the stream; nothing arrives for it, and no other task reads
 *
 * Context: Any context. No locks of this module but the socket lock.
 */
void rds_stream_purge(struct rds_stream *st)
{
	struct rds_stream_rx *rx = &st->st_rx;
	struct rds_incoming *inc, *next;
	LIST_HEAD(queue);

	spin_lock_bh(&st->st_lock);
	list_for_each_entry(inc, &rx->rx_queue, i_item)
		rds_upper_uncharge(st->st_account, inc);
	list_splice_init(&rx->rx_queue, &queue);
	WRITE_ONCE(rx->rx_bytes, 0);
	rx->rx_offset = 0;
	spin_unlock_bh(&st->st_lock);

	list_for_each_entry_safe(inc, next, &queue, i_item) {
		list_del(&inc->i_item);
		rds_upper_incoming_put(inc);
	}
}

/**
 * rds_stream_change_account() - Charge what waits to be read to an account
 * @st: the stream
 * @account: the account, which the caller has allocated; NULL if there was no
 *	memory for it: then nothing changes
 *
 * Context: Process context. No locks of this module but the socket lock.
 */
void rds_stream_change_account(struct rds_stream *st, struct sock *account)
{
	struct rds_incoming *inc;
	struct sock *old;

	if (!account)
		return;
	spin_lock_bh(&st->st_lock);
	old = st->st_account;
	st->st_account = account;
	list_for_each_entry(inc, &st->st_rx.rx_queue, i_item) {
		rds_upper_uncharge(old, inc);
		rds_upper_charge(account, inc);
	}
	spin_unlock_bh(&st->st_lock);
	sock_put(old);
}
