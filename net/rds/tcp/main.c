// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDS over TCP: operation tables of the transport, namespaces, module init and
 * exit.
 *
 * The end of a namespace runs in this order:
 *
 * 1. The tunables, then the listener and the pending connections (here).
 * 2. The connections (core). Core registers its pernet operations before this
 *    module does, so its exit runs after ours.
 * 3. The memory of struct rds_tcp_net, which connections use to their end. It
 *    belongs to a pernet subsystem; the exits of subsystems run after those of
 *    all pernet devices, which the other two are.
 */
#include <linux/module.h>
#include <net/rds/addr.h>

#include "tcp.h"

static const struct rds_tcp_sysctl rds_tcp_sysctl_defaults = {
	.user_timeout_ms	= 10000,
	.max_paths		= RDS_MAX_PATHS,
};

static int rds_tcp_laddr_check(struct net *net, const struct in6_addr *addr,
			       int ifindex)
{
	return rds_addr_is_local(net, addr, ifindex) ? 0 : -EADDRNOTAVAIL;
}

static unsigned int rds_tcp_max_paths(struct net *net, bool legacy)
{
	const struct rds_tcp_sysctl *ctl = &rds_tcp_net(net)->tn_sysctl;

	if (legacy && !READ_ONCE(ctl->legacy_multipath))
		return 1;
	return READ_ONCE(ctl->max_paths);
}

/* Connections over TCP do not differ by type of service: map all to 0. */
static u8 rds_tcp_tos_map(u8 tos)
{
	return 0;
}

static const struct rds_conn_ops rds_tcp_conn_ops = {
	.laddr_check	= rds_tcp_laddr_check,
	.tos_map	= rds_tcp_tos_map,
	.max_paths	= rds_tcp_max_paths,
	.path_alloc	= rds_tcp_path_alloc,
	.path_free	= rds_tcp_path_free,
	.path_offer	= rds_tcp_path_offer,
	.path_connect	= rds_tcp_path_connect,
	.path_shutdown	= rds_tcp_path_shutdown,
	.accept_again	= rds_tcp_accept_again,
};

static const struct rds_data_ops rds_tcp_data_ops = {
	.xmit		= rds_tcp_xmit,
	.flush		= rds_tcp_flush,
	.xmit_cong_map	= rds_tcp_xmit_cong_map,
	.rx_resume	= rds_tcp_rx_resume,
};

static const struct rds_info_ops rds_tcp_info_ops = {
	.nr_stats	= RDS_TCP_STAT_COUNT,
	.stat_names	= rds_tcp_stat_names,
	.stats		= rds_tcp_stats_sum,
	.record		= rds_tcp_record,
};

const struct rds_transport rds_tcp_transport = {
	.name	= "tcp",
	.owner	= THIS_MODULE,
	.type	= RDS_TRANS_TCP,
	.caps	= RDS_CAP_PREFERS_LOOPBACK | RDS_CAP_NETNS |
		  RDS_CAP_LOWER_DIALS | RDS_CAP_HANDSHAKE | RDS_CAP_MULTIPATH |
		  RDS_CAP_SELF_ACKED | RDS_CAP_ZEROCOPY,
	.conn	= &rds_tcp_conn_ops,
	.data	= &rds_tcp_data_ops,
	.info	= &rds_tcp_info_ops,
};

static int __net_init rds_tcp_memory_init(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);

	tn->tn_net = net;
	mutex_init(&tn->tn_lock);
	INIT_LIST_HEAD(&tn->tn_pending);
	spin_lock_init(&tn->tn_partial_lock);
	INIT_LIST_HEAD(&tn->tn_partials);
	INIT_DELAYED_WORK(&tn->tn_accept_work, rds_tcp_accept_work);
	tn->tn_sysctl = rds_tcp_sysctl_defaults;
	tn->tn_stats = alloc_percpu(struct rds_tcp_stats);
	return tn->tn_stats ? 0 : -ENOMEM;
}

/* Core may have queued the work until the last connection was destroyed. */
static void __net_exit rds_tcp_memory_exit(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);

	cancel_delayed_work_sync(&tn->tn_accept_work);
	free_percpu(tn->tn_stats);
}

static struct pernet_operations rds_tcp_memory_ops = {
	.init	= rds_tcp_memory_init,
	.exit	= rds_tcp_memory_exit,
	.id	= &rds_tcp_net_id,
	.size	= sizeof(struct rds_tcp_net),
};

static int __net_init rds_tcp_net_init(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);
	int ret;

	ret = rds_tcp_listen(tn);
	if (ret)
		return ret;

	ret = rds_tcp_sysctl_net_init(tn);
	if (ret)
		rds_tcp_listen_stop(tn);
	return ret;
}

static void __net_exit rds_tcp_net_exit(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);

	rds_tcp_sysctl_net_exit(tn);
	rds_tcp_listen_stop(tn);
}

/* Before core destroys the connections, which it does in its pre_exit. */
static struct pernet_operations rds_tcp_net_ops = {
	.init		= rds_tcp_net_init,
	.pre_exit	= rds_tcp_net_exit,
};

static int __init rds_tcp_init(void)
{
	int ret;

	ret = rds_tcp_incoming_caches_create();
	if (ret)
		return ret;

	rds_tcp_wq = alloc_workqueue("rds_tcp", WQ_UNBOUND, 0);
	if (!rds_tcp_wq) {
		ret = -ENOMEM;
		goto err_caches;
	}

	ret = register_pernet_subsys(&rds_tcp_memory_ops);
	if (ret)
		goto err_wq;

	ret = register_pernet_device(&rds_tcp_net_ops);
	if (ret)
		goto err_memory;

	ret = rds_transport_register(&rds_tcp_transport);
	if (ret)
		goto err_net;

	return 0;

err_net:
	unregister_pernet_device(&rds_tcp_net_ops);
err_memory:
	unregister_pernet_subsys(&rds_tcp_memory_ops);
	rds_tcp_wait_held();
	rcu_barrier();
err_wq:
	destroy_workqueue(rds_tcp_wq);
err_caches:
	rds_tcp_incoming_caches_destroy();
	return ret;
}

static void __exit rds_tcp_exit(void)
{
	rds_transport_unregister(&rds_tcp_transport);
	unregister_pernet_device(&rds_tcp_net_ops);
	unregister_pernet_subsys(&rds_tcp_memory_ops);
	rds_tcp_wait_held();
	rcu_barrier();
	destroy_workqueue(rds_tcp_wq);
	rds_tcp_incoming_caches_destroy();
}

module_init(rds_tcp_init);
module_exit(rds_tcp_exit);

MODULE_DESCRIPTION("RDS: TCP transport");
MODULE_LICENSE("GPL");
/* The RDS modules of the kernel have no version. If this one had none either,
 * DKMS would take the two for the same.
 */
MODULE_VERSION("0.1.0");
MODULE_ALIAS("rds-transport-2");
