// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detects that local addresses have been added or removed.
 *
 * A socket caches the connection that it used last, so that it need not look up
 * for each message which transport reaches the peer. This cache becomes stale
 * when an address moves to this host, where the loopback transport reaches it,
 * or away from this host. A counter of the namespace tells its sockets that
 * they have to look up again.
 */
#include <linux/inetdevice.h>
#include <linux/notifier.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>

#include "addr_watch.h"
#include "rds_net.h"

/* Usual upper limit of the time for which an IPv6 address stays tentative. The
 * address does not belong to this host before that time ends, and no notifier
 * reports the end.
 */
#define RDS_ADDR_SETTLES	(10 * HZ)

/* Counts times at which tentative addresses of any namespace may have settled:
 * once per second at most.
 */
atomic_t rds_addr_settlings = ATOMIC_INIT(0);

static unsigned long rds_addr_settle_until;

static void rds_addr_count(atomic_t *counter)
{
	/* Pairs with the acquires in rds_addr_state(). */
	smp_mb__before_atomic();
	atomic_inc(counter);
}

static void rds_addr_settle(struct work_struct *work)
{
	rds_addr_count(&rds_addr_settlings);
	if (time_before(jiffies, READ_ONCE(rds_addr_settle_until)))
		queue_delayed_work(rds_wq, to_delayed_work(work), HZ);
}

static DECLARE_DELAYED_WORK(rds_addr_settle_work, rds_addr_settle);

static int rds_addr_changed(struct notifier_block *nb, unsigned long event,
			    void *data)
{
	const struct in_ifaddr *ifa = data;

	rds_addr_count(&rds_net(dev_net(ifa->ifa_dev->dev))->rn_addr_changes);
	return NOTIFY_DONE;
}

static int rds_addr6_changed(struct notifier_block *nb, unsigned long event,
			     void *data)
{
	const struct inet6_ifaddr *ifa = data;

	if (event == NETDEV_UP && (ifa->flags & IFA_F_TENTATIVE)) {
		WRITE_ONCE(rds_addr_settle_until, jiffies + RDS_ADDR_SETTLES);
		queue_delayed_work(rds_wq, &rds_addr_settle_work, HZ);
	}
	rds_addr_count(&rds_net(dev_net(ifa->idev->dev))->rn_addr_changes);
	return NOTIFY_DONE;
}

/* Run after the routing tables, which are updated from the same chain. */
static struct notifier_block rds_inetaddr_notifier = {
	.notifier_call	= rds_addr_changed,
	.priority	= -1,
};

static struct notifier_block rds_inet6addr_notifier = {
	.notifier_call	= rds_addr6_changed,
	.priority	= -1,
};

/**
 * rds_addr_watch_start() - Start counting changes of addresses
 *
 * Context: Process context, may sleep. All namespaces have their state.
 * Return: 0, or an errno if a notifier could not be registered.
 */
int rds_addr_watch_start(void)
{
	int ret = register_inetaddr_notifier(&rds_inetaddr_notifier);

	if (ret)
		return ret;
	ret = register_inet6addr_notifier(&rds_inet6addr_notifier);
	if (ret)
		unregister_inetaddr_notifier(&rds_inetaddr_notifier);
	return ret;
}

/**
 * rds_addr_watch_stop() - Stop counting changes of addresses
 *
 * Context: Process context, may sleep.
 */
void rds_addr_watch_stop(void)
{
	unregister_inet6addr_notifier(&rds_inet6addr_notifier);
	unregister_inetaddr_notifier(&rds_inetaddr_notifier);
	cancel_delayed_work_sync(&rds_addr_settle_work);
}
