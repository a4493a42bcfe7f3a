// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listeners.
 *
 * For IPv4 there is one listener, which serves all devices. For IPv6 there is
 * one listener for each address of an IB or RoCE device. The IPv6 port is also
 * that of RDS over TCP, and an iWARP device uses a real TCP port. A listener
 * for all IPv6 addresses would include iWARP devices. Then either the other
 * users of the port would lose it, or the listener would lose the device.
 *
 * The list is updated when an address or a device has changed. If an address
 * cannot be used yet, or if its port is in use, it is checked again later.
 */
#include <linux/inetdevice.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>

#include "ib.h"

#define RDS_IB_BACKLOG		128

/* Time during which changes are batched, in jiffies */
#define RDS_IB_LISTEN_DELAY	(HZ / 20)

/* Delay until an address that could not be listened to is checked again */
#define RDS_IB_LISTEN_AGAIN	HZ

/**
 * struct rds_ib_listener - a listener for an IPv6 address
 * @l_item: entry in the list of all listeners
 * @l_id: the CM ID; NULL while the address is only a candidate
 * @l_addr: the address
 * @l_ifindex: the interface that has it; an address may move to another one
 * @l_seen: the interface still has the address
 */
struct rds_ib_listener {
	struct list_head	l_item;
	struct rdma_cm_id	*l_id;
	struct in6_addr		l_addr;
	int			l_ifindex;
	bool			l_seen;
};

static void rds_ib_listen_work_fn(struct work_struct *work);

/* Guards the list, and rds_ib_listens */
static DEFINE_MUTEX(rds_ib_listen_mutex);
static LIST_HEAD(rds_ib_listeners);
static bool rds_ib_listens;
static DECLARE_DELAYED_WORK(rds_ib_listen_work, rds_ib_listen_work_fn);
static struct rdma_cm_id *rds_ib_listener_v4;

static struct rdma_cm_id *rds_ib_listen_id(const struct in6_addr *addr,
					   u16 port, int ifindex)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, rds_ib_cm_handler, NULL, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return id;

	rds_ib_sockaddr_init(&ss, addr, port, ifindex);
	ret = rdma_set_afonly(id, 1);
	if (!ret)
		ret = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (ret) {
		rds_ib_id_destroy(id);
		return ERR_PTR(ret);
	}
	return id;
}

static void rds_ib_listener_end(struct rds_ib_listener *l)
{
	list_del(&l->l_item);
	rds_ib_id_destroy(l->l_id);
	kfree(l);
}

static struct rds_ib_listener *
rds_ib_listener_find(const struct rds_ib_listener *like)
{
	struct rds_ib_listener *l;

	list_for_each_entry(l, &rds_ib_listeners, l_item) {
		if (ipv6_addr_equal(&l->l_addr, &like->l_addr) &&
		    l->l_ifindex == like->l_ifindex)
			return l;
	}
	return NULL;
}

/* Most addresses belong to no device that we use, and are ignored. Returns
 * -ENODEV for those; after any other errno, try again.
 */
static int rds_ib_listener_begin(struct rds_ib_listener *l)
{
	bool scoped = ipv6_addr_type(&l->l_addr) & IPV6_ADDR_LINKLOCAL;
	struct rdma_cm_id *id;
	int ret = -ENODEV;

	id = rds_ib_listen_id(&l->l_addr, RDS_IB_PORT_V6,
			      scoped ? l->l_ifindex : 0);
	if (IS_ERR(id))
		return PTR_ERR(id) == -EADDRNOTAVAIL ? -ENODEV : PTR_ERR(id);
	if (id->device && id->device->node_type == RDMA_NODE_IB_CA &&
	    rds_ib_device_has(id->device))
		ret = rdma_listen(id, RDS_IB_BACKLOG);
	if (ret)
		rds_ib_id_destroy(id);
	else
		l->l_id = id;
	return ret;
}

/* Check whether a tentative address may become usable without an event that
 * notifies us.
 */
static bool rds_ib_listen_waits_for(const struct net_device *ndev,
				    const struct inet6_ifaddr *ifa)
{
	return ndev->flags & IFF_UP && !(ifa->flags & IFA_F_DADFAILED);
}

/* Add the addresses of one interface to @found. Returns true if it is to be
 * checked again: an address is tentative, or there was no memory.
 */
static bool rds_ib_listen_netdev(struct net_device *ndev,
				 struct list_head *found)
{
	struct inet6_dev *idev = __in6_dev_get(ndev);
	struct rds_ib_listener *l;
	struct inet6_ifaddr *ifa;
	bool again = false;

	ASSERT_RTNL();
	if (!idev || ndev->flags & IFF_LOOPBACK)
		return false;

	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (ifa->flags & IFA_F_TENTATIVE) {
			again |= rds_ib_listen_waits_for(ndev, ifa);
			continue;
		}
		l = kzalloc(sizeof(*l), GFP_KERNEL);
		if (!l)
			return true;
		l->l_addr = ifa->addr;
		l->l_ifindex = ndev->ifindex;
		list_add_tail(&l->l_item, found);
	}
	return again;
}

/* Only collect addresses here. No function of the connection manager may be
 * called under RTNL: when an iWARP device listens, the connection manager takes
 * RTNL under its own lock.
 */
static bool rds_ib_listen_find(struct list_head *found)
{
	struct net_device *ndev;
	bool again = false;

	rtnl_lock();
	for_each_netdev(&init_net, ndev)
		again |= rds_ib_listen_netdev(ndev, found);
	rtnl_unlock();
	return again;
}

/* Keep the listeners whose addresses still exist, and remove those addresses
 * from @found. Close all other listeners, so that the same address can be used
 * on another interface.
 */
static void rds_ib_listen_keep(struct list_head *found)
	__must_hold(&rds_ib_listen_mutex)
{
	struct rds_ib_listener *l, *next, *old;

	lockdep_assert_held(&rds_ib_listen_mutex);
	list_for_each_entry(l, &rds_ib_listeners, l_item)
		l->l_seen = false;
	list_for_each_entry_safe(l, next, found, l_item) {
		old = rds_ib_listener_find(l);
		if (!old)
			continue;
		old->l_seen = true;
		list_del(&l->l_item);
		kfree(l);
	}
	list_for_each_entry_safe(l, next, &rds_ib_listeners, l_item) {
		if (!l->l_seen)
			rds_ib_listener_end(l);
	}
}

static bool rds_ib_listen_sync(void)
{
	struct rds_ib_listener *l, *next;
	LIST_HEAD(found);
	bool again;
	int ret;

	again = rds_ib_listen_find(&found);
	mutex_lock(&rds_ib_listen_mutex);
	if (rds_ib_listens)
		rds_ib_listen_keep(&found);
	else
		again = false;
	list_for_each_entry_safe(l, next, &found, l_item) {
		list_del(&l->l_item);
		ret = rds_ib_listens ? rds_ib_listener_begin(l) : -ENODEV;
		again |= ret && ret != -ENODEV;
		if (ret)
			kfree(l);
		else
			list_add_tail(&l->l_item, &rds_ib_listeners);
	}
	mutex_unlock(&rds_ib_listen_mutex);
	return again;
}

static void rds_ib_listen_work_fn(struct work_struct *work)
{
	if (rds_ib_listen_sync())
		queue_delayed_work(rds_ib_wq, &rds_ib_listen_work,
				   RDS_IB_LISTEN_AGAIN);
}

/**
 * rds_ib_listen_again() - Update the listeners after addresses or devices have
 *	changed
 *
 * Context: Any context.
 */
void rds_ib_listen_again(void)
{
	/* A run that is planned stays: changes that never cease must not put
	 * it off.
	 */
	queue_delayed_work(rds_ib_wq, &rds_ib_listen_work, RDS_IB_LISTEN_DELAY);
}

/* Only the first namespace has devices; in others, any user may change
 * addresses.
 */
static bool rds_ib_listens_in(const struct net_device *dev)
{
	return net_eq(dev_net(dev), &init_net);
}

static int rds_ib_inet6addr_event(struct notifier_block *nb,
				  unsigned long event, void *ptr)
{
	const struct inet6_ifaddr *ifa = ptr;

	if (rds_ib_listens_in(ifa->idev->dev))
		rds_ib_listen_again();
	return NOTIFY_DONE;
}

static int rds_ib_netdev_event(struct notifier_block *nb, unsigned long event,
			       void *ptr)
{
	if (!rds_ib_listens_in(netdev_notifier_info_to_dev(ptr)))
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEADDR:
	case NETDEV_UNREGISTER:
		rds_ib_listen_again();
	}
	return NOTIFY_DONE;
}

static struct notifier_block rds_ib_inet6addr_notifier = {
	.notifier_call	= rds_ib_inet6addr_event,
};

static struct notifier_block rds_ib_netdev_notifier = {
	.notifier_call	= rds_ib_netdev_event,
};

/**
 * rds_ib_unlisten_device() - Close the listeners of a device
 * @dev: the device; rds_ib_device_has() already returns false for it
 *
 * Context: Process context, may sleep. Takes the mutex of the list.
 */
void rds_ib_unlisten_device(const struct ib_device *dev)
{
	struct rds_ib_listener *l, *next;

	mutex_lock(&rds_ib_listen_mutex);
	list_for_each_entry_safe(l, next, &rds_ib_listeners, l_item) {
		if (l->l_id->device == dev)
			rds_ib_listener_end(l);
	}
	mutex_unlock(&rds_ib_listen_mutex);
}

static int rds_ib_listen_v4(void)
{
	struct in6_addr any;
	struct rdma_cm_id *id;
	int ret;

	ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &any);
	id = rds_ib_listen_id(&any, RDS_IB_PORT_V4, 0);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_listen(id, RDS_IB_BACKLOG);
	if (ret) {
		rds_ib_id_destroy(id);
		return ret;
	}
	rds_ib_listener_v4 = id;
	return 0;
}

static void rds_ib_listen_close(void)
{
	struct rds_ib_listener *l, *next;

	mutex_lock(&rds_ib_listen_mutex);
	rds_ib_listens = false;
	list_for_each_entry_safe(l, next, &rds_ib_listeners, l_item)
		rds_ib_listener_end(l);
	mutex_unlock(&rds_ib_listen_mutex);
	rds_ib_id_destroy(rds_ib_listener_v4);
}

/**
 * rds_ib_listen() - Begin to listen
 *
 * Context: Process context, may sleep. Takes the mutex of the list.
 * Return: 0 or an errno.
 */
int rds_ib_listen(void)
{
	int ret;

	ret = rds_ib_listen_v4();
	if (ret)
		return ret;
	mutex_lock(&rds_ib_listen_mutex);
	rds_ib_listens = true;
	mutex_unlock(&rds_ib_listen_mutex);
	ret = register_inet6addr_notifier(&rds_ib_inet6addr_notifier);
	if (ret)
		goto err_close;
	ret = register_netdevice_notifier(&rds_ib_netdev_notifier);
	if (ret)
		goto err_inet6addr;
	rds_ib_listen_again();
	return 0;

err_inet6addr:
	unregister_inet6addr_notifier(&rds_ib_inet6addr_notifier);
err_close:
	rds_ib_listen_close();
	return ret;
}

/**
 * rds_ib_listen_stop() - Close all listeners
 *
 * Devices may still be added and removed, which queues the work item: see
 * rds_ib_listen_exit().
 *
 * Context: Process context, may sleep. When this returns, no handler processes
 * a request any more.
 */
void rds_ib_listen_stop(void)
{
	unregister_netdevice_notifier(&rds_ib_netdev_notifier);
	unregister_inet6addr_notifier(&rds_ib_inet6addr_notifier);
	rds_ib_listen_close();
}

/**
 * rds_ib_listen_exit() - Cancel the work item, and wait for it
 *
 * Also to be called if rds_ib_listen() was never called, or has failed.
 *
 * Context: Process context, may sleep. There are no listeners any more, and no
 * device can be added.
 */
void rds_ib_listen_exit(void)
{
	cancel_delayed_work_sync(&rds_ib_listen_work);
}
