// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrival, removal, and port events of devices.
 *
 * The removal of a device runs in this order:
 *  1. Take the device off the list: no connection joins it any more, and it
 *     serves no address.
 *  2. Close its IPv6 listeners.
 *  3. Drop its connections. Those of paths are ended by the work items of the
 *     paths, those without a path by accept.c, and CM IDs that still wait for
 *     their port by cm_deferred.c.
 *  4. Take its MRs down (mr.c). This does not wait for their owners.
 *  5. Wait until the last reference is put: all connections have ended.
 *  6. Free the FRMRs in the pools (mr_pool.c), and the registration QP
 *     (reg_qp.c).
 *  7. Free the protection domain, and the memory of the device.
 *
 * While a port is down, its connections stay: they may still work when it comes
 * up again. But some devices do not continue where they stopped. So when a port
 * comes up, its connections that wait for completions are marked. If none has
 * arrived a moment later, the connection is dropped, and its path connects
 * again. No message is lost by that, but an operation in flight ends as
 * dropped. A device may report that a port has come up although it has never
 * been down, so a connection that makes progress must stay.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "ib.h"
#include "trace.h"

/* Delay from the event that a port is up to the check of its connections, in
 * jiffies
 */
#define RDS_IB_RENEW_DELAY	(HZ / 5)

static bool rds_ib_device_usable(const struct ib_device *dev)
{
	return (dev->node_type == RDMA_NODE_IB_CA ||
		dev->node_type == RDMA_NODE_RNIC) &&
	       dev->attrs.max_send_sge >= RDS_IB_SEND_SGE_MIN &&
	       dev->attrs.max_recv_sge >= RDS_IB_RECV_SGE_MIN;
}

static void rds_ib_device_drop_all(struct rds_ib_device *d)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&d->dv_lock);
	list_for_each_entry(ic, &d->dv_conns, ic_dev_item)
		rds_ib_drop_locked(ic, RDS_DROP_LOCAL_ABORT);
	spin_unlock_bh(&d->dv_lock);
}

/* Check whether completions are outstanding. @completed is set to the number of
 * those that have arrived.
 */
static bool rds_ib_renew_waits(const struct rds_ib_conn *ic, int *completed)
{
	*completed = atomic_read(&ic->ic_completed);
	return atomic_read(&ic->ic_signaled) != *completed;
}

/* Mark the connections of a port that has come up. If the last event was only a
 * moment ago, this one counts instead, and all marked connections wait longer.
 */
static void rds_ib_device_port_up(struct rds_ib_device *d, u32 port)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&d->dv_lock);
	d->dv_renew_at = jiffies + RDS_IB_RENEW_DELAY;
	list_for_each_entry(ic, &d->dv_conns, ic_dev_item) {
		if (ic->ic_port == port)
			ic->ic_renew = rds_ib_renew_waits(ic,
							  &ic->ic_renew_seen);
	}
	spin_unlock_bh(&d->dv_lock);
	mod_delayed_work(rds_ib_wq, &d->dv_renew, RDS_IB_RENEW_DELAY);
}

/* Drop a marked connection if nothing has been completed since the mark. */
static void rds_ib_renew_look(struct rds_ib_conn *ic)
{
	int completed;

	if (!ic->ic_renew)
		return;
	ic->ic_renew = false;
	if (READ_ONCE(ic->ic_state) == RDS_IB_UP &&
	    rds_ib_renew_waits(ic, &completed) &&
	    completed == ic->ic_renew_seen)
		rds_ib_drop_locked(ic, RDS_DROP_UNREACHABLE);
}

/* Runs a moment after a port has come up, because its addresses may come later
 * than that event. If another event comes when this already runs, the marks are
 * new, and the work item is queued again for them.
 */
static void rds_ib_device_renew(struct work_struct *work)
{
	struct rds_ib_device *d = container_of(to_delayed_work(work),
					       struct rds_ib_device, dv_renew);
	struct rds_ib_conn *ic;

	spin_lock_bh(&d->dv_lock);
	if (!time_before(jiffies, d->dv_renew_at)) {
		list_for_each_entry(ic, &d->dv_conns, ic_dev_item)
			rds_ib_renew_look(ic);
	}
	spin_unlock_bh(&d->dv_lock);
}

static void rds_ib_device_event(struct ib_event_handler *handler,
				struct ib_event *event)
{
	struct rds_ib_device *d = container_of(handler, struct rds_ib_device,
					       dv_events);

	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
		rds_ib_device_port_up(d, event->element.port_num);
		break;
	case IB_EVENT_DEVICE_FATAL:
		rds_ib_device_drop_all(d);
		break;
	case IB_EVENT_GID_CHANGE:
		rds_ib_listen_again();
		break;
	default:
		break;
	}
}

static int rds_ib_device_add(struct ib_device *dev)
{
	struct rds_ib_device *d;
	int ret;

	if (!rds_ib_device_usable(dev))
		return -EOPNOTSUPP;

	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;

	d->dv_pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(d->dv_pd)) {
		ret = PTR_ERR(d->dv_pd);
		kfree(d);
		return ret;
	}
	d->dv_dev = dev;
	refcount_set(&d->dv_refs, 1);
	init_completion(&d->dv_gone);
	spin_lock_init(&d->dv_lock);
	INIT_LIST_HEAD(&d->dv_conns);
	INIT_LIST_HEAD(&d->dv_mrs);
	rds_ib_reg_qp_init(d);
	rds_ib_mr_pools_init(d);
	INIT_DELAYED_WORK(&d->dv_renew, rds_ib_device_renew);

	rds_ib_device_enlist(d);
	INIT_IB_EVENT_HANDLER(&d->dv_events, dev, rds_ib_device_event);
	ib_register_event_handler(&d->dv_events);
	rds_ib_listen_again();
	return 0;
}

static int rds_ib_client_add(struct ib_device *dev)
{
	int ret = rds_ib_device_add(dev);

	trace_rds_ib_device_add(dev, ret);
	return ret;
}

static void rds_ib_client_remove(struct ib_device *dev, void *client_data)
{
	struct rds_ib_device *d = rds_ib_device_delist(dev);

	if (!d)
		return;

	trace_rds_ib_device_remove(dev, 0);
	ib_unregister_event_handler(&d->dv_events);
	cancel_delayed_work_sync(&d->dv_renew);
	rds_ib_unlisten_device(dev);
	WRITE_ONCE(d->dv_removed, true);
	rds_ib_device_drop_all(d);
	rds_ib_deferred_look();
	rds_ib_mrs_end(d);
	rds_ib_device_put(d);
	wait_for_completion(&d->dv_gone);
	rds_ib_mr_pools_end(d);
	rds_ib_reg_qp_destroy(d);
	ib_dealloc_pd(d->dv_pd);
	kfree(d);
	trace_rds_ib_device_gone(dev, 0);
}

static struct ib_client rds_ib_client = {
	.name	= "rds_rdma",
	.add	= rds_ib_client_add,
	.remove	= rds_ib_client_remove,
};

/**
 * rds_ib_client_init() - Start to use devices
 *
 * Context: Process context, may sleep.
 * Return: 0 or an errno.
 */
int rds_ib_client_init(void)
{
	return ib_register_client(&rds_ib_client);
}

/**
 * rds_ib_client_exit() - Stop using all devices
 *
 * Context: Process context, may sleep. All connections are gone.
 */
void rds_ib_client_exit(void)
{
	ib_unregister_client(&rds_ib_client);
}
