// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of which only a part has come.
 *
 * They are in no socket's account yet, nor in TCP's any more. One that is not
 * complete when its packet has been read is listed here, with the memory that
 * it holds, and counted anew as it grows; those that come in one go never are.
 * What a header announces costs nothing, and does not count.
 *
 * When all of them together hold more than their part of the host's memory,
 * the connection of the one that comes most slowly is given up; and that of
 * the oldest before, if it has had its time. A victim is not listed any more:
 * what it holds is about to be freed.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "tcp.h"

/* Time to complete a message that nobody disputes */
#define RDS_TCP_PARTIAL_AGE	(5 * HZ)

/* Part of the limit from which on the old go */
#define RDS_TCP_PARTIAL_SOFT	4

/* Part of the host's memory that is the limit, unless it is set */
#define RDS_TCP_PARTIAL_PART	16

/* What a message may grow by unseen; it counts as if it had */
#define RDS_TCP_PARTIAL_STEP	(32U << 10)

static u64 rds_tcp_partial_set(const struct rds_tcp_net *tn)
{
	u64 kb = READ_ONCE(tn->tn_sysctl.partial_max_kb);

	if (kb)
		return kb << 10;
	return ((u64)totalram_pages() << PAGE_SHIFT) / RDS_TCP_PARTIAL_PART;
}

/* It is the host's memory: no namespace has more of it than the first. */
static u64 rds_tcp_partial_limit(const struct rds_tcp_net *tn)
{
	return min(rds_tcp_partial_set(tn),
		   rds_tcp_partial_set(rds_tcp_net(&init_net)));
}

static unsigned long rds_tcp_partial_age(const struct rds_tcp_path *tp)
{
	return jiffies - tp->tp_partial_since + 1;
}

/* The one that has grown least for its age */
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

/* Whose connection has to go, if any? */
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

/* The one given up is on the list, so its path is there. */
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
 * rds_tcp_partial() - a message is not complete
 * @tp: the path
 * @bytes: of memory that it holds
 * @left: bytes of payload that it lacks
 *
 * Context: deliver context, with the path's TCP socket locked.
 */
void rds_tcp_partial(struct rds_tcp_path *tp, u32 bytes, u32 left)
{
	struct rds_tcp_net *tn = tp->tp_tn;

	if (bytes <= tp->tp_partial_seen)
		return;
	bytes += min(left, RDS_TCP_PARTIAL_STEP);

	spin_lock_bh(&tn->tn_partial_lock);
	if (!tp->tp_partial_seen) {
		tp->tp_partial_since = jiffies;
		list_add_tail(&tp->tp_partial, &tn->tn_partials);
	}
	tp->tp_partial_seen = bytes;
	if (!list_empty(&tp->tp_partial)) {
		tn->tn_partial_bytes += bytes - tp->tp_partial_bytes;
		tp->tp_partial_bytes = bytes;
		rds_tcp_partial_make_room(tn);
	}
	spin_unlock_bh(&tn->tn_partial_lock);
}

/**
 * rds_tcp_partial_end() - a message is complete, or given up
 * @tp: the path; rds_tcp_partial() was called for the message
 *
 * Context: deliver context with the path's TCP socket locked, or process when
 * that is gone.
 */
void rds_tcp_partial_end(struct rds_tcp_path *tp)
{
	struct rds_tcp_net *tn = tp->tp_tn;

	spin_lock_bh(&tn->tn_partial_lock);
	if (!list_empty(&tp->tp_partial))
		rds_tcp_partial_unlist(tp);
	tp->tp_partial_seen = 0;
	spin_unlock_bh(&tn->tn_partial_lock);
}
