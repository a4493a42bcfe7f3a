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
#include <net/addrconf.h>

#include "addr_watch.h"

/* Counts changes. */
atomic_t rds_addr_changes = ATOMIC_INIT(0);

static int rds_addr_changed(struct notifier_block *nb, unsigned long event,
			    void *data)
{
	/* Pairs with the acquire in rds_addr_state(). */
	smp_mb__before_atomic();
	atomic_inc(&rds_addr_changes);
	return NOTIFY_DONE;
}

/* After the routing tables, which are changed from the same chain */
static struct notifier_block rds_inetaddr_notifier = {
	.notifier_call	= rds_addr_changed,
	.priority	= -1,
};

static struct notifier_block rds_inet6addr_notifier = {
	.notifier_call	= rds_addr_changed,
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
}
