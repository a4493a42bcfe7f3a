// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether addresses have come or gone.
 *
 * A socket keeps the connection that it used last, and need not ask again which
 * transport reaches the peer. But an address may move to this host, where
 * loopback is the way, or from it. One counter for all namespaces will do: such
 * changes are rare, and to ask again costs a look-up.
 */
#include <linux/inetdevice.h>
#include <linux/notifier.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>

#include "addr_watch.h"
#include "rds_net.h"

/* How long an IPv6 address may be tentative, at the longest that is usual. It
 * is not this host's until then, and nobody tells when that is over.
 */
#define RDS_ADDR_SETTLES	(10 * HZ)

/* Counts changes. */
atomic_t rds_addr_changes = ATOMIC_INIT(0);

static unsigned long rds_addr_settle_until;

static void rds_addr_count(void)
{
	/* Pairs with the acquire in rds_addr_state(). */
	smp_mb__before_atomic();
	atomic_inc(&rds_addr_changes);
}

static void rds_addr_settle(struct work_struct *work)
{
	rds_addr_count();
	if (time_before(jiffies, READ_ONCE(rds_addr_settle_until)))
		queue_delayed_work(rds_wq, to_delayed_work(work), HZ);
}

static DECLARE_DELAYED_WORK(rds_addr_settle_work, rds_addr_settle);

static int rds_addr_changed(struct notifier_block *nb, unsigned long event,
			    void *data)
{
	rds_addr_count();
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
	return rds_addr_changed(nb, event, data);
}

/* After the routing tables, which are changed from the same chain */
static struct notifier_block rds_inetaddr_notifier = {
	.notifier_call	= rds_addr_changed,
	.priority	= -1,
};

static struct notifier_block rds_inet6addr_notifier = {
	.notifier_call	= rds_addr6_changed,
	.priority	= -1,
};

/**
 * rds_addr_watch_start() - begin to count changes of addresses
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
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
 * rds_addr_watch_stop() - count no more
 *
 * Context: process, may sleep.
 */
void rds_addr_watch_stop(void)
{
	unregister_inet6addr_notifier(&rds_inet6addr_notifier);
	unregister_inetaddr_notifier(&rds_inetaddr_notifier);
	cancel_delayed_work_sync(&rds_addr_settle_work);
}
