// SPDX-License-Identifier: GPL-2.0-only
/*
 * Init and exit of RDS in a network namespace.
 *
 * Sockets of user space hold a reference to the namespace, so no such socket is
 * left when it exits. Exit runs in this order:
 *
 *  1. sysctls;
 *  2. connections, which stops the transports and the work items of the paths;
 *  3. work items that were kicked late, and deferred unpinning of user memory;
 *  4. references that RCU callbacks still hold;
 *  5. tables, empty by now.
 *
 * The first two steps are those of pre_exit: in newer kernels the IPv4 routes
 * are gone when exit runs, even for operations that are registered by
 * register_pernet_device(), and a reset or an ack would not reach the peer.
 * They run after pre_exit of the transports, because these register later.
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
 * rds_net_for_each() - Call a function for every namespace
 * @fn: the function; may sleep
 * @arg: passed to @fn
 *
 * Context: Process context, may sleep. Takes rds_nets_mutex.
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

static void __net_exit rds_net_stop(struct net *net)
{
	struct rds_net *rn = rds_net(net);

	rds_sysctl_net_exit(rn);

	mutex_lock(&rn->rn_lock);
	rn->rn_exiting = true;
	mutex_unlock(&rn->rn_lock);

	cancel_delayed_work_sync(&rn->rn_reap);
	/* A transport that unregisters meanwhile has to wait, because its ops
	 * are still called here.
	 */
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

/* The waits take long, so one set of them serves all namespaces of a batch. */
static void __net_exit rds_net_exit_batch(struct list_head *nets)
{
	struct net *net;

	flush_workqueue(rds_wq);
	rds_pin_flush();
	rcu_barrier();

	list_for_each_entry(net, nets, exit_list)
		rds_net_free(rds_net(net));
}

static struct pernet_operations rds_net_ops = {
	.init		= rds_net_init,
	.pre_exit	= rds_net_stop,
	.exit_batch	= rds_net_exit_batch,
	.id		= &rds_net_id,
	.size		= sizeof(struct rds_net),
};

/**
 * rds_net_register() - Register the per-namespace operations
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative errno.
 */
int rds_net_register(void)
{
	return register_pernet_device(&rds_net_ops);
}

/**
 * rds_net_unregister() - Unregister the per-namespace operations
 *
 * Context: Process context, may sleep.
 */
void rds_net_unregister(void)
{
	unregister_pernet_device(&rds_net_ops);
}
