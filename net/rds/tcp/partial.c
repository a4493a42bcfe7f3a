// SPDX-License-Identifier: GPL-2.0-only
/*
 * Incomplete messages: messages of which only a part has arrived.
 *
 * The memory of such a message is no longer charged to the TCP socket, and not
 * yet to an RDS socket. A peer could begin messages on many connections and
 * never complete them. So this file counts that memory for each namespace.
 *
 * If a message is incomplete at the end of a run of the receiver, its path is
 * put on the list tn_partials with the memory that the message holds. The count
 * is updated when the message grows. A message that is read in a single run is
 * never listed. What counts is the memory that a message holds, not the length
 * that its header announces. But the count may run ahead of the memory by
 * RDS_TCP_PARTIAL_STEP.
 *
 * If all listed messages together hold more than the limit, the connection with
 * the message that grows most slowly is dropped. Above a quarter of the limit,
 * the connection with the oldest message is dropped if that message has been
 * incomplete for more than RDS_TCP_PARTIAL_AGE. The path of a dropped
 * connection is removed from the list at once, because the memory of its
 * message is about to be freed.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "tcp.h"

/* Time to complete a message while the memory is below the limit, in jiffies */
#define RDS_TCP_PARTIAL_AGE	(5 * HZ)

/* Above the limit divided by this, the oldest message may be dropped */
#define RDS_TCP_PARTIAL_SOFT	4

/* The limit is the host's memory divided by this, unless it is set */
#define RDS_TCP_PARTIAL_PART	16

/* The count runs ahead of the memory by at most this many bytes. A message may
 * grow by as much before it is counted again.
 */
#define RDS_TCP_PARTIAL_STEP	(32U << 10)

static u64 rds_tcp_partial_own_limit(const struct rds_tcp_net *tn)
{
	u64 kb = READ_ONCE(tn->tn_sysctl.partial_max_kb);

	if (kb)
		return kb << 10;
	return ((u64)totalram_pages() << PAGE_SHIFT) / RDS_TCP_PARTIAL_PART;
}

/* The memory is the host's, so the limit of the first namespace also bounds the
 * limits of the others.
 */
static u64 rds_tcp_partial_limit(const struct rds_tcp_net *tn)
{
	return min(rds_tcp_partial_own_limit(tn),
		   rds_tcp_partial_own_limit(rds_tcp_net(&init_net)));
}

static unsigned long rds_tcp_partial_age(const struct rds_tcp_path *tp)
{
	return jiffies - tp->tp_partial_since + 1;
}

/* Find the path whose message holds the least memory for its age. */
static struct rds_tcp_path *rds_tcp_partial_slowest(struct rds_tcp_net *tn)
	__must_hold(&tn->tn_partial_lock)
{
	struct rds_tcp_path *tp, *slowest = NULL;

	lockdep_assert_held(&tn->tn_partial_lock);
	list_for_each_entry(tp, &tn->tn_partials, tp_partial) {
		if (!slowest ||
		    (u64)tp->tp_partial_bytes * rds_tcp_partial_age(slowest) <
		    (u64)slowest->tp_partial_bytes * rds_tcp_partial_age(tp))
			slowest = tp;
	}
	return slowest;
}

/* Find the path whose connection is to be dropped, or return NULL. */
static struct rds_tcp_path *rds_tcp_partial_victim(struct rds_tcp_net *tn)
	__must_hold(&tn->tn_partial_lock)
{
	u64 limit = rds_tcp_partial_limit(tn);
	struct rds_tcp_path *tp;

	lockdep_assert_held(&tn->tn_partial_lock);
	if (tn->tn_partial_bytes <= limit / RDS_TCP_PARTIAL_SOFT)
		return NULL;
	if (tn->tn_partial_bytes > limit)
		return rds_tcp_partial_slowest(tn);

	tp = list_first_entry(&tn->tn_partials, struct rds_tcp_path,
			      tp_partial);
	return rds_tcp_partial_age(tp) > RDS_TCP_PARTIAL_AGE ? tp : NULL;
}

static void rds_tcp_partial_unlist(struct rds_tcp_path *tp)
	__must_hold(&tp->tp_tn->tn_partial_lock)
{
	lockdep_assert_held(&tp->tp_tn->tn_partial_lock);
	list_del_init(&tp->tp_partial);
	tp->tp_tn->tn_partial_bytes -= tp->tp_partial_bytes;
	tp->tp_partial_bytes = 0;
}

/* The path of the victim exists as long as it is on the list. */
static void rds_tcp_partial_make_room(struct rds_tcp_net *tn)
	__must_hold(&tn->tn_partial_lock)
{
	struct rds_tcp_path *victim = rds_tcp_partial_victim(tn);

	lockdep_assert_held(&tn->tn_partial_lock);
	if (!victim)
		return;
	rds_tcp_partial_unlist(victim);
	rds_tcp_stat_inc(tn, tcp_partial_dropped);
	rds_path_drop(victim->tp_path, RDS_DROP_TIMEOUT);
}

/**
 * rds_tcp_partial_count() - Count the memory of an incomplete message
 * @tp: the path
 * @bytes: bytes of memory that the message holds
 * @left: bytes of payload that it lacks
 *
 * May drop a connection, perhaps that of @tp.
 *
 * Context: Deliver context, with the path's TCP socket locked. Takes
 * tn_partial_lock.
 */
void rds_tcp_partial_count(struct rds_tcp_path *tp, u32 bytes, u32 left)
{
	struct rds_tcp_net *tn = tp->tp_tn;

	if (bytes <= tp->tp_rx.tr_partial_seen)
		return;
	bytes += min(left, RDS_TCP_PARTIAL_STEP);

	spin_lock_bh(&tn->tn_partial_lock);
	if (!tp->tp_rx.tr_partial_seen) {
		tp->tp_partial_since = jiffies;
		list_add_tail(&tp->tp_partial, &tn->tn_partials);
	}
	tp->tp_rx.tr_partial_seen = bytes;
	if (!list_empty(&tp->tp_partial)) {
		tn->tn_partial_bytes += bytes - tp->tp_partial_bytes;
		tp->tp_partial_bytes = bytes;
		rds_tcp_partial_make_room(tn);
	}
	spin_unlock_bh(&tn->tn_partial_lock);
}

/**
 * rds_tcp_partial_end() - Stop counting a message that is complete or dropped
 * @tp: the path; rds_tcp_partial_count() was called for the message
 *
 * Context: Deliver context with the path's TCP socket locked, or process
 * context when the path has no socket. Takes tn_partial_lock.
 */
void rds_tcp_partial_end(struct rds_tcp_path *tp)
{
	struct rds_tcp_net *tn = tp->tp_tn;

	spin_lock_bh(&tn->tn_partial_lock);
	if (!list_empty(&tp->tp_partial))
		rds_tcp_partial_unlist(tp);
	tp->tp_rx.tr_partial_seen = 0;
	spin_unlock_bh(&tn->tn_partial_lock);
}
