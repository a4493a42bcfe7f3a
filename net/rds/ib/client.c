// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices come and go.
 *
 * The end of a device:
 *  1. off the list: no connection joins it, and no address is served by it;
 *  2. its IPv6 listeners are closed;
 *  3. its connections are dropped: those of paths by their paths' work, those
 *     that have no path yet by accept.c;
 *  4. wait for the last of them;
 *  5. the registrations that were kept (mr_pool.c);
 *  6. its protection domain, and its memory.
 * While a port is down its connections wait: they may be there still when it
 * comes up. But not every device goes on then where it was, so those that wait
 * for completions are made anew, and nothing is lost.
 */
#include <linux/slab.h>

#include "ib.h"

/* From the news that a port is up until its connections are looked at */
#define RDS_IB_RENEW_DELAY	(HZ / 5)

static bool rds_ib_device_usable(const struct ib_device *dev)
{
	return (dev->node_type == RDMA_NODE_IB_CA ||
		dev->node_type == RDMA_NODE_RNIC) &&
	       dev->attrs.max_send_sge >= RDS_IB_SEND_SGE &&
	       dev->attrs.max_recv_sge >= RDS_IB_RECV_SGE;
}

static void rds_ib_device_drop_all(struct rds_ib_device *d)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&d->dv_lock);
	list_for_each_entry(ic, &d->dv_conns, ic_dev_item)
		rds_ib_drop_locked(ic, RDS_DROP_LOCAL_ABORT);
	spin_unlock_bh(&d->dv_lock);
}

/* Its addresses may take a moment after the port has come up. */
static void rds_ib_device_renew(struct work_struct *work)
{
	struct rds_ib_device *d = container_of(to_delayed_work(work),
					       struct rds_ib_device, dv_renew);
	struct rds_ib_conn *ic;

	spin_lock_bh(&d->dv_lock);
	list_for_each_entry(ic, &d->dv_conns, ic_dev_item) {
		if (READ_ONCE(ic->ic_state) == RDS_IB_UP &&
		    atomic_read(&ic->ic_signaled) !=
		    atomic_read(&ic->ic_completed))
			rds_ib_drop_locked(ic, RDS_DROP_UNREACHABLE);
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
		queue_delayed_work(rds_ib_wq, &d->dv_renew, RDS_IB_RENEW_DELAY);
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

static int rds_ib_client_add(struct ib_device *dev)
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

static void rds_ib_client_remove(struct ib_device *dev, void *client_data)
{
	struct rds_ib_device *d = rds_ib_device_delist(dev);

	if (!d)
		return;

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
}

static struct ib_client rds_ib_client = {
	.name	= "rds_rdma",
	.add	= rds_ib_client_add,
	.remove	= rds_ib_client_remove,
};

/**
 * rds_ib_client_init() - begin to use devices
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int rds_ib_client_init(void)
{
	return ib_register_client(&rds_ib_client);
}

/**
 * rds_ib_client_exit() - use no device any more
 *
 * Context: process, may sleep; all connections are gone.
 */
void rds_ib_client_exit(void)
{
	ib_unregister_client(&rds_ib_client);
}
