// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog of a connection.
 *
 * An attempt to connect that takes too long is given up. On a connection that
 * is up, what has been posted is completed sooner or later: the device sends it
 * again until it gives up. But there are devices that forget about it when
 * their packets get lost at the wrong moment. So while completions are waited
 * for, somebody looks whether any come; and if only work requests without one
 * were posted, an acknowledgment is sent, which has one, and gives back what
 * messages those keep. On a connection where nothing is sent nobody looks.
 *
 * A peer that does not read for so long is taken for one that is gone, too. It
 * accepts no other connection before it reads again, and nothing is lost.
 */
#include "ib.h"

/* Looks without any completion until the connection is given up: more time than
 * the device takes for all its attempts
 */
#define RDS_IB_WATCHDOG_STALLS	3

/* Returns whether to look again. */
static bool rds_ib_watchdog_up(struct rds_ib_conn *ic)
{
	struct rds_ib_watchdog *w = &ic->ic_watch;
	u32 head = READ_ONCE(ic->ic_tx.tx_ring.rg_head);
	int seen = atomic_read(&ic->ic_completed);

	if (atomic_read(&ic->ic_signaled) == seen) {
		w->w_stalls = 0;
		if (w->w_head == head)
			return false;
		w->w_head = head;
		rds_ib_ack_wanted(ic);
		return true;
	}

	if (seen != w->w_seen)
		w->w_stalls = 0;
	else if (++w->w_stalls >= RDS_IB_WATCHDOG_STALLS)
		rds_ib_drop(ic, RDS_DROP_TIMEOUT);
	w->w_seen = seen;
	return true;
}

/**
 * rds_ib_watchdog_work() - how is a connection getting on?
 * @work: &rds_ib_conn.ic_watchdog
 *
 * Context: process. Takes the handler mutex.
 */
void rds_ib_watchdog_work(struct work_struct *work)
{
	struct rds_ib_conn *ic = container_of(to_delayed_work(work),
					      struct rds_ib_conn, ic_watchdog);
	bool again = false;

	rdma_lock_handler(ic->ic_id);
	if (ic->ic_state == RDS_IB_DIALING || ic->ic_state == RDS_IB_ACCEPTING)
		rds_ib_drop(ic, RDS_DROP_TIMEOUT);
	else if (ic->ic_state == RDS_IB_UP)
		again = rds_ib_watchdog_up(ic);
	rdma_unlock_handler(ic->ic_id);
	if (again)
		rds_ib_watchdog_start(ic);
}
