// SPDX-License-Identifier: GPL-2.0-only
/*
 * The deferred end of CM IDs.
 *
 * When a CM ID is destroyed, the connection manager sends a message to the
 * peer. If soft-RoCE finds no route for such a message, it loses the QP that
 * carries all of them. No peer can connect to the device any more until that QP
 * is created again. So if a connection ends while its network interface is
 * down, or while it has no route, its CM ID waits here. All other parts of the
 * connection are freed before. The wait ends when there is a route again, when
 * the device is removed, or when this module is unloaded.
 *
 * Paths go on without the CM ID. They never dial by a port that is down, or if
 * there is no route. So there are never more deferred CM IDs than there were
 * connections.
 *
 * When there is nothing left to wait for, the CM IDs are destroyed one after
 * the other. If two messages fail at the same time, soft-RoCE may never return
 * one of them. The context that destroys the CM ID of that message then waits
 * forever, and so does the removal of the device. Two risks remain:
 * - A CM ID that is stuck in this way holds up all others here.
 * - A CM ID is not protected if its peer can be reached when it is checked, but
 *   not any more when it is destroyed.
 */
#include <linux/slab.h>

#include "ib.h"

/* Time between two checks */
#define RDS_IB_DEFERRED_INTERVAL	(HZ / 4)

static void rds_ib_deferred_work_fn(struct work_struct *work);

static DEFINE_SPINLOCK(rds_ib_deferred_lock);	/* guards the list */
static LIST_HEAD(rds_ib_deferred);
static DECLARE_DELAYED_WORK(rds_ib_deferred_work, rds_ib_deferred_work_fn);
static bool rds_ib_deferred_over;

/**
 * rds_ib_conn_end() - Do steps 8 and 9 of the list in ib.h, and free the memory
 * @ic: the connection, without queues and rings
 *
 * Context: Process context, may sleep.
 */
void rds_ib_conn_end(struct rds_ib_conn *ic)
{
	if (ic->ic_id)
		rds_ib_id_destroy(ic->ic_id);
	rds_ib_device_leave(ic);
	kfree(ic);
}

static bool rds_ib_deferred_is_cut_off(const struct rds_ib_conn *ic)
{
	const struct rdma_cm_id *id = ic->ic_id;

	return rds_ib_port_is_down(id) ||
	       (rdma_protocol_roce(id->device, id->port_num) &&
		!rds_ib_has_route(id));
}

/* A context that sets one of these flags calls rds_ib_deferred_look() next. */
static bool rds_ib_deferred_waits(const struct rds_ib_device *d)
{
	return !READ_ONCE(d->dv_removed) && !READ_ONCE(rds_ib_deferred_over);
}

/**
 * rds_ib_cm_must_defer() - Check whether the end of a CM ID must be deferred
 * @ic: the connection
 * @state: its state before it was closed
 *
 * Context: Process context, may sleep.
 * Return: true if the caller is to use rds_ib_cm_defer(). This is also so when
 * the device is being removed or this module unloaded: then the work item
 * destroys the CM IDs at once, but one after the other.
 */
bool rds_ib_cm_must_defer(const struct rds_ib_conn *ic, enum rds_ib_state state)
{
	if (!ic->ic_dev || state < RDS_IB_DIALING)
		return false;
	return rds_ib_deferred_is_cut_off(ic);
}

/**
 * rds_ib_cm_defer() - Defer the end of a CM ID until its peer can be reached
 * @ic: the connection, without queues and rings; this file owns it from now on
 *
 * Context: Process context.
 */
void rds_ib_cm_defer(struct rds_ib_conn *ic)
{
	bool waits;

	/* Read @ic under the lock: once it is on the list and the lock is
	 * released, the work item may free it.
	 */
	spin_lock_bh(&rds_ib_deferred_lock);
	list_add_tail(&ic->ic_item, &rds_ib_deferred);
	waits = rds_ib_deferred_waits(ic->ic_dev);
	spin_unlock_bh(&rds_ib_deferred_lock);
	if (waits)
		queue_delayed_work(rds_ib_wq, &rds_ib_deferred_work,
				   RDS_IB_DEFERRED_INTERVAL);
	else
		rds_ib_deferred_look();
}

/**
 * rds_ib_deferred_look() - Check the deferred CM IDs at once
 *
 * Context: Any context.
 */
void rds_ib_deferred_look(void)
{
	mod_delayed_work(rds_ib_wq, &rds_ib_deferred_work, 0);
}

static void rds_ib_deferred_work_fn(struct work_struct *work)
{
	struct rds_ib_conn *ic, *next;
	LIST_HEAD(all);
	bool left;

	spin_lock_bh(&rds_ib_deferred_lock);
	list_splice_init(&rds_ib_deferred, &all);
	spin_unlock_bh(&rds_ib_deferred_lock);

	list_for_each_entry_safe(ic, next, &all, ic_item) {
		if (rds_ib_deferred_waits(ic->ic_dev) &&
		    rds_ib_deferred_is_cut_off(ic))
			continue;
		list_del(&ic->ic_item);
		rds_ib_conn_end(ic);
	}

	left = !list_empty(&all);
	spin_lock_bh(&rds_ib_deferred_lock);
	list_splice(&all, &rds_ib_deferred);
	spin_unlock_bh(&rds_ib_deferred_lock);
	if (left)
		queue_delayed_work(rds_ib_wq, &rds_ib_deferred_work,
				   RDS_IB_DEFERRED_INTERVAL);
}

/**
 * rds_ib_deferred_exit() - End all deferred CM IDs without further waiting
 *
 * Context: Process context, may sleep. All connections have been freed.
 */
void rds_ib_deferred_exit(void)
{
	WRITE_ONCE(rds_ib_deferred_over, true);
	rds_ib_deferred_look();
	flush_delayed_work(&rds_ib_deferred_work);
}
