// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start the watchdog of a connection, and drop a connection. A context that
 * finds that a connection is over calls rds_ib_drop(). The owner of the
 * connection then frees it.
 */
#include "ib.h"

/* Time between two checks */
#define RDS_IB_WATCHDOG_INTERVAL	(5 * HZ)

/**
 * rds_ib_watchdog_start() - Start the watchdog after something was posted, or
 *	could not be
 * @ic: the connection; it is not closing
 *
 * Context: Any context.
 */
void rds_ib_watchdog_start(struct rds_ib_conn *ic)
{
	if (!delayed_work_pending(&ic->ic_watchdog))
		queue_delayed_work(rds_ib_wq, &ic->ic_watchdog,
				   RDS_IB_WATCHDOG_INTERVAL);
}

/**
 * rds_ib_drop_locked() - Drop a connection that is over
 * @ic: the connection; dv_lock of its device is held, if it has a device
 * @reason: why
 *
 * Only the first call has an effect. The owner frees the connection soon, if it
 * is not doing so already: the path's work item, or that of accept.c.
 *
 * Context: Any context except hard interrupts. Takes ip_lock.
 */
void rds_ib_drop_locked(struct rds_ib_conn *ic, enum rds_drop_reason reason)
{
	struct rds_ib_path *ip = ic->ic_ip;

	if (ic->ic_dropped)
		return;
	ic->ic_dropped = true;
	if (!ip)
		return;
	if (rds_ib_path_withdraw_offer(ip, ic))
		rds_ib_refuse(ic);
	else if (rds_ib_path_is_conn(ip, ic))
		rds_path_drop(ip->ip_path, reason);
}

/**
 * rds_ib_drop() - Drop a connection that is over
 * @ic: the connection
 * @reason: why
 *
 * Context: As rds_ib_drop_locked(), but dv_lock is not held. Takes dv_lock if
 * the connection has a device.
 */
void rds_ib_drop(struct rds_ib_conn *ic, enum rds_drop_reason reason)
{
	struct rds_ib_device *d = ic->ic_dev;

	if (!d) {
		rds_ib_drop_locked(ic, reason);
		return;
	}
	spin_lock_bh(&d->dv_lock);
	rds_ib_drop_locked(ic, reason);
	spin_unlock_bh(&d->dv_lock);
}
