// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of devices in use. client.c adds and removes the devices.
 *
 * Devices are of type IB, RoCE, or iWARP. Connections on iWARP devices always
 * count receive buffers by credits.
 *
 * A connection joins the device that its address resolves to, if this device is
 * on the list. Leaving the device is the last step of the connection's end.
 *
 * When a device is removed, paths keep trying to connect. Each attempt looks
 * the device up again, so another device may serve the address then, or the
 * same one when it is back.
 */
#include <linux/error-injection.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <net/ipv6.h>

#include "ib.h"

/* Runs all work of this module except the work items of paths */
struct workqueue_struct *rds_ib_wq;

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
 * rds_ib_device_enlist() - Let connections join a device
 * @d: the device; the caller holds the client's reference
 *
 * Context: Process context, may sleep. Takes the mutex of the list.
 */
void rds_ib_device_enlist(struct rds_ib_device *d)
{
	mutex_lock(&rds_ib_devices_mutex);
	list_add_tail(&d->dv_item, &rds_ib_devices);
	mutex_unlock(&rds_ib_devices_mutex);
}

/**
 * rds_ib_device_delist() - Stop connections from joining a device
 * @dev: the device
 *
 * Context: Process context, may sleep. Takes the mutex of the list.
 * Return: our structure for the device, with the client's reference; NULL if
 * the device is not in use.
 */
struct rds_ib_device *rds_ib_device_delist(const struct ib_device *dev)
{
	struct rds_ib_device *d;

	mutex_lock(&rds_ib_devices_mutex);
	d = rds_ib_device_find(dev);
	if (d)
		list_del(&d->dv_item);
	mutex_unlock(&rds_ib_devices_mutex);
	return d;
}

/**
 * rds_ib_device_has() - Check whether a device is in use
 * @dev: the device
 *
 * Context: Process context, may sleep. Takes the mutex of the list.
 * Return: true if it is; false otherwise.
 */
bool rds_ib_device_has(const struct ib_device *dev)
{
	bool has;

	mutex_lock(&rds_ib_devices_mutex);
	has = rds_ib_device_find(dev);
	mutex_unlock(&rds_ib_devices_mutex);
	return has;
}

/* When an interface goes down, it loses its routes before its port changes
 * state. The caller may check the port because a route was lost. So checking
 * the state of the port is not enough.
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
 * rds_ib_port_is_down() - Check whether the port of a CM ID is known to be down
 * @id: the CM ID, bound to a device
 *
 * Context: Process context, may sleep.
 * Return: true if it is; false if it is up, or its state cannot be read.
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
 * rds_ib_device_get() - Get a reference to a device in use
 * @dev: the device
 *
 * Context: Process context, may sleep. Takes the mutex of the list.
 * Return: our structure for the device, for rds_ib_device_put(); NULL if the
 * device is not in use.
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

/* Check whether the device has an established connection from the address that
 * has not been dropped.
 */
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
 * rds_ib_device_by_conn() - Find the device of a connection from an address
 * @laddr: the address
 * @ifindex: its scope, or 0
 *
 * Context: Process context, may sleep. Takes the mutex of the list, and
 * dv_lock.
 * Return: the device, for rds_ib_device_put(); NULL if no device has an
 * established connection from @laddr.
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
 * rds_ib_device_put() - Put a reference to a device
 * @d: the device, which may be freed afterwards
 *
 * Context: Any context.
 */
void rds_ib_device_put(struct rds_ib_device *d)
{
	if (refcount_dec_and_test(&d->dv_refs))
		complete(&d->dv_gone);
}

/**
 * rds_ib_device_join() - Attach a connection to the device of its CM ID
 * @ic: the connection; it has no device yet
 * @id: the CM ID, bound to a port of the device; @ic may not have it yet
 *
 * Context: Process context, may sleep. Takes the mutex of the list, and
 * dv_lock.
 * Return: 0; -ENODEV if the device is not in use.
 */
int rds_ib_device_join(struct rds_ib_conn *ic, const struct rdma_cm_id *id)
{
	struct rds_ib_device *d;

	mutex_lock(&rds_ib_devices_mutex);
	d = rds_ib_device_find(id->device);
	if (d) {
		refcount_inc(&d->dv_refs);
		ic->ic_dev = d;
		ic->ic_port = id->port_num;
		spin_lock_bh(&d->dv_lock);
		list_add_tail(&ic->ic_dev_item, &d->dv_conns);
		spin_unlock_bh(&d->dv_lock);
	}
	mutex_unlock(&rds_ib_devices_mutex);
	return d ? 0 : -ENODEV;
}

ALLOW_ERROR_INJECTION(rds_ib_device_join, ERRNO);

/**
 * rds_ib_device_leave() - Detach a connection from its device
 * @ic: the connection; nothing happens if it has no device
 *
 * Context: Process context. Takes dv_lock.
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
