// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of which only a part has come.
 *
 * They are in no socket's account yet, nor in TCP's any more. One that is not
 * complete when its packet has been read is listed here, with the length that
 * it has announced; those that come in one go never are. When all of them
 * together are too long, the connection of the one that was listed first is
 * given up if it has had its time; and that of the newest, if they are much
 * too long already.
 */
#include <linux/jiffies.h>

#include "tcp.h"

/* Bytes of all partial messages of a namespace: from here on the slow go, and
 * from here on the new.
 */
#define RDS_TCP_PARTIAL_SOFT	(64UL << 20)
#define RDS_TCP_PARTIAL_HARD	(256UL << 20)

/* Time to complete a message that nobody disputes */
#define RDS_TCP_PARTIAL_AGE	(5 * HZ)

/* Whose connection has to go, if any? */
static struct rds_tcp_path *rds_tcp_partial_victim(struct rds_tcp_net *tn,
						   struct rds_tcp_path *newest)
	__must_hold(&tn->tn_partial_lock)
{
	struct rds_tcp_path *tp;

	lockdep_assert_held(&tn->tn_partial_lock);
	if (tn->tn_partial_bytes <= RDS_TCP_PARTIAL_SOFT)
		return NULL;

	tp = list_first_entry(&tn->tn_partials, struct rds_tcp_path,
			      tp_partial);
	if (time_after(jiffies, tp->tp_partial_since + RDS_TCP_PARTIAL_AGE))
		return tp;
	return tn->tn_partial_bytes > RDS_TCP_PARTIAL_HARD ? newest : NULL;
}

/**
 * rds_tcp_partial_begin() - a message is not complete
 * @tp: the path; its message is not listed
 * @len: bytes that it has announced
 *
 * Context: deliver context.
 */
void rds_tcp_partial_begin(struct rds_tcp_path *tp, u32 len)
{
	struct rds_tcp_net *tn = tp->tp_tn;
	struct rds_tcp_path *victim;

	spin_lock_bh(&tn->tn_partial_lock);
	tp->tp_partial_len = len;
	tp->tp_partial_since = jiffies;
	list_add_tail(&tp->tp_partial, &tn->tn_partials);
	tn->tn_partial_bytes += len;

	/* On the list, so its path is there. */
	victim = rds_tcp_partial_victim(tn, tp);
	if (victim)
		rds_path_drop(victim->tp_path, RDS_DROP_TIMEOUT);
	spin_unlock_bh(&tn->tn_partial_lock);
}

/**
 * rds_tcp_partial_end() - a message is complete, or given up
 * @tp: the path; its message is listed
 *
 * Context: deliver context, or process.
 */
void rds_tcp_partial_end(struct rds_tcp_path *tp)
{
	struct rds_tcp_net *tn = tp->tp_tn;

	spin_lock_bh(&tn->tn_partial_lock);
	list_del(&tp->tp_partial);
	tn->tn_partial_bytes -= tp->tp_partial_len;
	tp->tp_partial_len = 0;
	spin_unlock_bh(&tn->tn_partial_lock);
}
