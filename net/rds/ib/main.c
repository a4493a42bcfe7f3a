// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDS over InfiniBand, RoCE and iWARP: operation tables of the transport,
 * module init and exit.
 *
 * The module exits in this order:
 *
 * 1. The listeners.
 * 2. The connections (core, when the transport is unregistered).
 * 3. Requests that have found no path, and connections that have been refused
 *    (accept.c) or wait for their port (cm_deferred.c).
 * 4. The devices, which have no users any more, and then the work item that
 *    updates the listeners, which devices can queue.
 * 5. The tunables, and the workqueue.
 * 6. The pages that are kept for reuse.
 */
#include <linux/module.h>

#include "ib.h"

/* A connection gets the type of service exactly as requested. */
static u8 rds_ib_tos_map(u8 tos)
{
	return tos;
}

static const struct rds_conn_ops rds_ib_conn_ops = {
	.laddr_check	= rds_ib_laddr_check,
	.tos_map	= rds_ib_tos_map,
	.path_alloc	= rds_ib_path_alloc,
	.path_free	= rds_ib_path_free,
	.path_offer	= rds_ib_path_offer,
	.path_connect	= rds_ib_path_connect,
	.path_shutdown	= rds_ib_path_shutdown,
};

static const struct rds_data_ops rds_ib_data_ops = {
	.xmit		= rds_ib_xmit,
	.flush		= rds_ib_flush,
	.xmit_cong_map	= rds_ib_xmit_cong_map,
	.rx_resume	= rds_ib_rx_resume,
};

static const struct rds_rdma_ops rds_ib_rdma_ops = {
	.atomic_check	= rds_ib_atomic_check,
	.mr_map		= rds_ib_mr_map,
	.mr_alive	= rds_ib_mr_alive,
	.mr_unmap	= rds_ib_mr_unmap,
};

static const struct rds_info_ops rds_ib_info_ops = {
	.nr_stats	= RDS_IB_STAT_COUNT,
	.stat_names	= rds_ib_stat_names,
	.stats		= rds_ib_stats_sum,
	.record		= rds_ib_record,
};

const struct rds_transport rds_ib_transport = {
	.name	= "infiniband",
	.owner	= THIS_MODULE,
	.type	= RDS_TRANS_IB,
	.caps	= RDS_CAP_ZEROCOPY_STRETCH,
	.conn	= &rds_ib_conn_ops,
	.data	= &rds_ib_data_ops,
	.rdma	= &rds_ib_rdma_ops,
	.info	= &rds_ib_info_ops,
};

static int __init rds_ib_init(void)
{
	int ret;

	rds_ib_wq = alloc_workqueue("rds_ib", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_ib_wq)
		return -ENOMEM;

	ret = rds_ib_sysctl_init();
	if (ret)
		goto err_wq;
	rds_ib_accept_init();
	ret = rds_ib_client_init();
	if (ret)
		goto err_client;
	ret = rds_ib_listen();
	if (ret)
		goto err_device;
	/* Register last: from then on, bound sockets pin the module. Until
	 * then, requests of peers are refused.
	 */
	ret = rds_transport_register(&rds_ib_transport);
	if (ret)
		goto err_listen;
	return 0;

err_listen:
	rds_ib_listen_stop();
err_device:
	rds_ib_accept_exit();
	rds_ib_deferred_exit();
	rds_ib_client_exit();
err_client:
	/* A device may have been added, and removed again. */
	rds_ib_listen_exit();
	rds_ib_sysctl_exit();
err_wq:
	destroy_workqueue(rds_ib_wq);
	rds_ib_pages_exit();
	return ret;
}

static void __exit rds_ib_exit(void)
{
	rds_ib_listen_stop();
	rds_transport_unregister(&rds_ib_transport);
	rds_ib_accept_exit();
	rds_ib_deferred_exit();
	rds_ib_client_exit();
	rds_ib_listen_exit();
	rds_ib_sysctl_exit();
	destroy_workqueue(rds_ib_wq);
	rds_ib_pages_exit();
	rcu_barrier();
}

module_init(rds_ib_init);
module_exit(rds_ib_exit);

MODULE_DESCRIPTION("RDS: InfiniBand transport");
MODULE_LICENSE("GPL");
/* The kernel's own RDS module has no version. If this one had none either, DKMS
 * would take the two for the same.
 */
MODULE_VERSION("0.1.0");
MODULE_ALIAS("rds-transport-0");
