// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that we use.
 *
 * IB and RoCE devices, and iWARP ones, where receive buffers are counted by
 * credits. A connection joins the device that its address is resolved to, if
 * that is on the list, and leaves it last.
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
 *
 * Paths go on trying to connect; whether the address is served by another
 * device then, or by the same one again, is found out anew each time.
 */
#include <linux/error-injection.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "ib.h"

/* From the news that a port is up until its connections are looked at */
#define RDS_IB_RENEW_DELAY	(HZ / 5)

/* Guards the list */
static DEFINE_MUTEX(rds_ib_devices_mutex);
static LIST_HEAD(rds_ib_devices);

static struct rds_ib_device *rds_ib_device_find(const struct ib_device *dev)
	__must_hold(&rds_ib_devices_mutex)
{
	struct rds_ib_device *d;

	lockdep_assert_held(&rds_ib_devices_mutex);
	list_for_each_entry(d, &rds_ib_devices, dv_item) {
		if (d->dv_dev == dev)
			return d;
	}
	return NULL;
}

/**
 * rds_ib_device_has() - do we use a device?
 * @dev: the device
 *
 * Context: process, may sleep. Takes the mutex of the list.
 * Return: true if we do.
 */
bool rds_ib_device_has(const struct ib_device *dev)
{
	bool has;

	mutex_lock(&rds_ib_devices_mutex);
	has = rds_ib_device_find(dev);
	mutex_unlock(&rds_ib_devices_mutex);
	return has;
}

/* An interface that is going down has lost its routes before the port is told.
 * What was lost with them may be what has us ask.
 */
static bool rds_ib_interface_is_down(const struct rdma_cm_id *id)
{
	int ifindex = id->route.addr.dev_addr.bound_dev_if;
	const struct net_device *dev;
	bool down;

	if (!rdma_protocol_roce(id->device, id->port_num) || !ifindex)
		return false;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(&init_net, ifindex);
	down = !dev || !netif_running(dev);
	rcu_read_unlock();
	return down;
}

/**
 * rds_ib_port_is_down() - is the port of a CM id known to be down?
 * @id: the id, bound to a device
 *
 * Context: process, may sleep.
 * Return: true if it is.
 */
bool rds_ib_port_is_down(const struct rdma_cm_id *id)
{
	struct ib_port_attr attr;

	if (rds_ib_interface_is_down(id))
		return true;
	return !ib_query_port(id->device, id->port_num, &attr) &&
	       attr.state != IB_PORT_ACTIVE;
}

/**
 * rds_ib_device_get() - use a device for a while
 * @dev: the device
 *
 * Context: process, may sleep. Takes the mutex of the list.
 * Return: our part of it, for rds_ib_device_put(), or NULL if there is none.
 */
struct rds_ib_device *rds_ib_device_get(const struct ib_device *dev)
{
	struct rds_ib_device *d;

	mutex_lock(&rds_ib_devices_mutex);
	d = rds_ib_device_find(dev);
	if (d)
		refcount_inc(&d->dv_refs);
	mutex_unlock(&rds_ib_devices_mutex);
	return d;
}

/* Does it have a connection from that address that is not over? */
static bool rds_ib_device_serves(struct rds_ib_device *d,
				 const struct in6_addr *laddr, int ifindex)
{
	bool local = ipv6_addr_type(laddr) & IPV6_ADDR_LINKLOCAL;
	const struct rds_path *path;
	struct rds_ib_conn *ic;
	bool found = false;

	spin_lock_bh(&d->dv_lock);
	list_for_each_entry(ic, &d->dv_conns, ic_dev_item) {
		if (ic->ic_dropped || READ_ONCE(ic->ic_state) != RDS_IB_UP)
			continue;
		path = ic->ic_ip->ip_path;
		found = ipv6_addr_equal(&path->laddr, laddr) &&
			(!local || path->ifindex == ifindex);
		if (found)
			break;
	}
	spin_unlock_bh(&d->dv_lock);
	return found;
}

/**
 * rds_ib_device_by_conn() - the device that an address has a connection by
 * @laddr: the address
 * @ifindex: its scope, or 0
 *
 * Context: process, may sleep. Takes the mutex of the list, and dv_lock.
 * Return: our part of it, for rds_ib_device_put(), or NULL if there is none.
 */
struct rds_ib_device *rds_ib_device_by_conn(const struct in6_addr *laddr,
					    int ifindex)
{
	struct rds_ib_device *d, *found = NULL;

	mutex_lock(&rds_ib_devices_mutex);
	list_for_each_entry(d, &rds_ib_devices, dv_item) {
		if (!rds_ib_device_serves(d, laddr, ifindex))
			continue;
		found = d;
		refcount_inc(&d->dv_refs);
		break;
	}
	mutex_unlock(&rds_ib_devices_mutex);
	return found;
}

/**
 * rds_ib_device_put() - have done with a device
 * @d: the device, which may be gone afterwards
 *
 * Context: any.
 */
void rds_ib_device_put(struct rds_ib_device *d)
{
	if (refcount_dec_and_test(&d->dv_refs))
		complete(&d->dv_gone);
}

/**
 * rds_ib_device_join() - a connection is to use a device
 * @ic: the connection; it has none yet
 * @dev: the device
 *
 * Context: process, may sleep. Takes the mutex of the list, and dv_lock.
 * Return: 0; -ENODEV if we do not use the device.
 */
int rds_ib_device_join(struct rds_ib_conn *ic, struct ib_device *dev)
{
	struct rds_ib_device *d;

	mutex_lock(&rds_ib_devices_mutex);
	d = rds_ib_device_find(dev);
	if (d) {
		refcount_inc(&d->dv_refs);
		ic->ic_dev = d;
		spin_lock_bh(&d->dv_lock);
		list_add_tail(&ic->ic_dev_item, &d->dv_conns);
		spin_unlock_bh(&d->dv_lock);
	}
	mutex_unlock(&rds_ib_devices_mutex);
	return d ? 0 : -ENODEV;
}

ALLOW_ERROR_INJECTION(rds_ib_device_join, ERRNO);

/**
 * rds_ib_device_leave() - a connection has done with its device
 * @ic: the connection; if it has no device, nothing happens
 *
 * Context: process. Takes dv_lock.
 */
void rds_ib_device_leave(struct rds_ib_conn *ic)
{
	struct rds_ib_device *d = ic->ic_dev;

	if (!d)
		return;
	spin_lock_bh(&d->dv_lock);
	list_del(&ic->ic_dev_item);
	spin_unlock_bh(&d->dv_lock);
	ic->ic_dev = NULL;
	rds_ib_device_put(d);
}

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
		    atomic_read(&ic->ic_asked) != atomic_read(&ic->ic_seen))
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
	rds_ib_regq_init(d);
	rds_ib_mr_pools_init(d);
	INIT_DELAYED_WORK(&d->dv_renew, rds_ib_device_renew);

	mutex_lock(&rds_ib_devices_mutex);
	list_add_tail(&d->dv_item, &rds_ib_devices);
	mutex_unlock(&rds_ib_devices_mutex);
	INIT_IB_EVENT_HANDLER(&d->dv_events, dev, rds_ib_device_event);
	ib_register_event_handler(&d->dv_events);
	rds_ib_listen_again();
	return 0;
}

static void rds_ib_device_remove(struct ib_device *dev, void *client_data)
{
	struct rds_ib_device *d;

	mutex_lock(&rds_ib_devices_mutex);
	d = rds_ib_device_find(dev);
	if (d)
		list_del(&d->dv_item);
	mutex_unlock(&rds_ib_devices_mutex);
	if (!d)
		return;

	ib_unregister_event_handler(&d->dv_events);
	cancel_delayed_work_sync(&d->dv_renew);
	rds_ib_unlisten_device(dev);
	WRITE_ONCE(d->dv_removed, true);
	rds_ib_device_drop_all(d);
	rds_ib_linger_look();
	rds_ib_mrs_end(d);
	rds_ib_device_put(d);
	wait_for_completion(&d->dv_gone);
	rds_ib_mr_pools_end(d);
	rds_ib_regq_destroy(d);
	ib_dealloc_pd(d->dv_pd);
	kfree(d);
}

static struct ib_client rds_ib_client = {
	.name	= "rds_rdma",
	.add	= rds_ib_device_add,
	.remove	= rds_ib_device_remove,
};

/**
 * rds_ib_device_init() - begin to use devices
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int rds_ib_device_init(void)
{
	return ib_register_client(&rds_ib_client);
}

/**
 * rds_ib_device_exit() - use no device any more
 *
 * Context: process, may sleep; all connections are gone.
 */
void rds_ib_device_exit(void)
{
	ib_unregister_client(&rds_ib_client);
}
