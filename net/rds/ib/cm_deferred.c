// SPDX-License-Identifier: GPL-2.0-only
/*
 * CM ids that wait for a way to their peer.
 *
 * To end one sends a message to the peer, and soft-RoCE loses the queue pair
 * that all such messages go by if one finds no route: nobody can connect to it
 * any more until it is made anew. So the id of a connection that ends while its
 * network interface is down, or without a route, waits here, when all else of
 * it is gone, until the way is there, or the device goes, or this module does.
 * The paths go on without it; they dial neither by a port that is down nor
 * where no route leads, so there are no more of these than there were
 * connections.
 *
 * When nothing can be waited for any more they are ended one after the other:
 * of two messages that fail at once soft-RoCE may never hand one back, and
 * whoever destroys its id waits for that, with the device. One that is stuck so
 * keeps all the others here; and ids that were not yet cut off when they were
 * looked at, but are when they are ended, are not protected.
 */
#include <linux/slab.h>

#include "ib.h"

/* Until they are looked at again */
#define RDS_IB_DEFERRED_INTERVAL	(HZ / 4)

static void rds_ib_deferred_work_fn(struct work_struct *work);

static DEFINE_SPINLOCK(rds_ib_deferred_lock);	/* guards the list */
static LIST_HEAD(rds_ib_deferred);
static DECLARE_DELAYED_WORK(rds_ib_deferred_work, rds_ib_deferred_work_fn);
static bool rds_ib_deferred_over;

/**
 * rds_ib_conn_end() - steps 8 and 9
 * @ic: the connection, without queues and rings
 *
 * Context: process, may sleep.
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

/* Whoever ends the waiting has the list looked at afterwards. */
static bool rds_ib_deferred_waits(const struct rds_ib_device *d)
{
	return !READ_ONCE(d->dv_removed) && !READ_ONCE(rds_ib_deferred_over);
}

/**
 * rds_ib_cm_must_defer() - may a connection's id not be ended just so?
 * @ic: the connection
 * @state: the state that it was in
 *
 * Context: process, may sleep.
 * Return: true if it is for rds_ib_cm_defer(), whether there is anything to
 * wait for or not.
 */
bool rds_ib_cm_must_defer(const struct rds_ib_conn *ic, enum rds_ib_state state)
{
	if (!ic->ic_dev || state < RDS_IB_DIALING)
		return false;
	return rds_ib_deferred_is_cut_off(ic);
}

/**
 * rds_ib_cm_defer() - let the id of a connection wait for a way to its peer
 * @ic: the connection, without queues and rings; ours now
 *
 * Context: process.
 */
void rds_ib_cm_defer(struct rds_ib_conn *ic)
{
	bool waits;

	/* On the list, and the lock not held, it may be gone already. */
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
 * rds_ib_deferred_look() - look at once whether there is anything to wait for
 *
 * Context: any.
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
 * rds_ib_deferred_exit() - wait for nothing any more
 *
 * Context: process, may sleep; all connections have been freed.
 */
void rds_ib_deferred_exit(void)
{
	WRITE_ONCE(rds_ib_deferred_over, true);
	rds_ib_deferred_look();
	flush_delayed_work(&rds_ib_deferred_work);
}
