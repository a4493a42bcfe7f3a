// SPDX-License-Identifier: GPL-2.0-only
/*
 * What has a connection looked after, and what ends it: whoever finds that it
 * is over says so here, and its owner ends it.
 */
#include "ib.h"

/* Between two looks */
#define RDS_IB_WATCHDOG_INTERVAL	(5 * HZ)

/**
 * rds_ib_watchdog_start() - something has been posted: look after it
 * @ic: the connection; it is not closing
 *
 * Context: any.
 */
void rds_ib_watchdog_start(struct rds_ib_conn *ic)
{
	if (!delayed_work_pending(&ic->ic_watchdog))
		queue_delayed_work(rds_ib_wq, &ic->ic_watchdog,
				   RDS_IB_WATCHDOG_INTERVAL);
}

/**
 * rds_ib_drop_locked() - a connection is over
 * @ic: the connection; dv_lock of its device is held, if it has one
 * @reason: why
 *
 * Only the first call has an effect. Who owns it ends it soon: a path by its
 * work, or accept.c; or is at it already.
 *
 * Context: any but hard interrupts.
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
 * rds_ib_drop() - a connection is over
 * @ic: the connection
 * @reason: why
 *
 * Context: as rds_ib_drop_locked(), but without that lock.
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
