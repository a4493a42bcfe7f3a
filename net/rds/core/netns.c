// SPDX-License-Identifier: GPL-2.0-only
/*
 * The beginning and the end of RDS in a network namespace.
 *
 * Sockets of users hold the namespace, so at its end there is none. Exit runs
 * in this order: sysctls; connections, which stops the transports and the
 * work of the paths; work that was kicked late; references that RCU still
 * holds; and then the tables, empty by now. Registered as a device operation,
 * so that it runs before the devices go, and after that of the transports,
 * which are registered later.
 */
#include <linux/percpu.h>
#include <net/netns/generic.h>

#include "bind.h"
#include "compat.h"
#include "cong.h"
#include "conn_destroy.h"
#include "conn_reap.h"
#include "conn_table.h"
#include "netns.h"
#include "pin.h"
#include "sw_mr.h"
#include "sysctl.h"

static DEFINE_MUTEX(rds_nets_mutex);
static LIST_HEAD(rds_nets);

/**
 * rds_net_for_each() - do something in every namespace
 * @fn: what; may sleep
 * @arg: passed through
 *
 * Context: process, may sleep.
 */
void rds_net_for_each(void (*fn)(struct rds_net *rn, void *arg), void *arg)
{
	struct rds_net *rn;

	mutex_lock(&rds_nets_mutex);
	list_for_each_entry(rn, &rds_nets, rn_item)
		fn(rn, arg);
	mutex_unlock(&rds_nets_mutex);
}

static int __net_init rds_net_init(struct net *net)
{
	struct rds_net *rn = rds_net(net);
	int ret;

	rn->rn_net = net;
	rn->rn_host = rds_net(&init_net);
	mutex_init(&rn->rn_sock_lock);
	INIT_LIST_HEAD(&rn->rn_socks);
	rds_sw_mr_net_init(rn);

	rn->rn_stats = alloc_percpu(struct rds_stats);
	if (!rn->rn_stats)
		return -ENOMEM;

	ret = rds_bind_net_init(rn);
	if (ret)
		goto err_stats;

	ret = rds_cong_net_init(rn);
	if (ret)
		goto err_bind;

	rds_conn_reap_net_init(rn);
	ret = rds_conn_net_init(rn);
	if (ret)
		goto err_cong;

	ret = rds_sysctl_net_init(rn);
	if (ret)
		goto err_conn;

	mutex_lock(&rds_nets_mutex);
	list_add_tail(&rn->rn_item, &rds_nets);
	mutex_unlock(&rds_nets_mutex);
	return 0;

err_conn:
	rds_conn_net_exit(rn);
err_cong:
	rds_cong_net_exit(rn);
err_bind:
	rds_bind_net_exit(rn);
err_stats:
	free_percpu(rn->rn_stats);
	return ret;
}

static void __net_exit rds_net_stop(struct rds_net *rn)
{
	rds_sysctl_net_exit(rn);

	mutex_lock(&rn->rn_lock);
	rn->rn_exiting = true;
	mutex_unlock(&rn->rn_lock);

	cancel_delayed_work_sync(&rn->rn_reap);
	/* A transport that is unloaded meanwhile must wait for its ops. */
	mutex_lock(&rds_nets_mutex);
	list_del(&rn->rn_item);
	rds_conn_destroy_all(rn, NULL, RDS_DROP_NET_EXIT);
	mutex_unlock(&rds_nets_mutex);
	cancel_delayed_work_sync(&rn->rn_reap);
}

static void __net_exit rds_net_free(struct rds_net *rn)
{
	rds_conn_net_exit(rn);
	rds_cong_net_exit(rn);
	rds_bind_net_exit(rn);
	rds_sw_mr_net_exit(rn);
	free_percpu(rn->rn_stats);
}

/* The two waits are long, and one pair serves all namespaces of a batch. */
static void __net_exit rds_net_exit_batch(struct list_head *nets)
{
	struct net *net;

	list_for_each_entry(net, nets, exit_list)
		rds_net_stop(rds_net(net));

	flush_workqueue(rds_wq);
	rds_pin_flush();
	rcu_barrier();

	list_for_each_entry(net, nets, exit_list)
		rds_net_free(rds_net(net));
}

static struct pernet_operations rds_net_ops = {
	.init		= rds_net_init,
	.exit_batch	= rds_net_exit_batch,
	.id		= &rds_net_id,
	.size		= sizeof(struct rds_net),
};

/**
 * rds_net_register() - begin to exist in all namespaces
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int rds_net_register(void)
{
	return register_pernet_device(&rds_net_ops);
}

/**
 * rds_net_unregister() - cease to exist in all namespaces
 *
 * Context: process, may sleep.
 */
void rds_net_unregister(void)
{
	unregister_pernet_device(&rds_net_ops);
}
