// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tunables in /proc/sys/net/rds/ib. They exist in the first namespace, the
 * only one that has devices. New values of max_recv_allocation and mr_pool_*
 * apply at once, those of the others to connections that are made from then on.
 */
#include <linux/mm.h>
#include <net/rds/compat.h>

#include "ib.h"

struct rds_ib_sysctl rds_ib_sysctl = {
	.max_send_wr		= 256,
	.max_recv_wr		= 512,
	.min_recv_wr		= 32,
	.max_unsignaled_wr	= 16,
	.mr_pool_max		= 1024,
};

static unsigned int rds_ib_wr_min = 1;
static unsigned int rds_ib_wr_max = 65536;
static unsigned int rds_ib_recv_min = RDS_IB_CREDITS_RING_MIN;
static unsigned int rds_ib_unsignaled_max = 64;
static unsigned int rds_ib_mr_pool_limit = 65536;

static struct ctl_table rds_ib_sysctl_table[] = {
	{
		.procname	= "max_send_wr",
		.data		= &rds_ib_sysctl.max_send_wr,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &rds_ib_wr_min,
		.extra2		= &rds_ib_wr_max,
	}, {
		.procname	= "max_recv_wr",
		.data		= &rds_ib_sysctl.max_recv_wr,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &rds_ib_wr_min,
		.extra2		= &rds_ib_wr_max,
	}, {
		.procname	= "min_recv_wr",
		.data		= &rds_ib_sysctl.min_recv_wr,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &rds_ib_recv_min,
		.extra2		= &rds_ib_wr_max,
	}, {
		.procname	= "max_unsignaled_wr",
		.data		= &rds_ib_sysctl.max_unsignaled_wr,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &rds_ib_wr_min,
		.extra2		= &rds_ib_unsignaled_max,
	}, {
		.procname	= "max_recv_allocation",
		.data		= &rds_ib_sysctl.max_recv_allocation,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	}, {
		.procname	= "flow_control",
		.data		= &rds_ib_sysctl.flow_control,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	}, {
		.procname	= "mr_pool_max",
		.data		= &rds_ib_sysctl.mr_pool_max,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra2		= &rds_ib_mr_pool_limit,
	}, {
		.procname	= "mr_pool_software",
		.data		= &rds_ib_sysctl.mr_pool_software,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
	{ }
};

static struct ctl_table_header *rds_ib_sysctl_hdr;

/**
 * rds_ib_sysctl_init() - Register the tunables
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rds_ib_sysctl_init(void)
{
	rds_ib_sysctl.max_recv_allocation =
		min_t(unsigned long, totalram_pages() / 3, UINT_MAX);
	rds_ib_sysctl_hdr =
		rds_register_net_sysctl(&init_net, "net/rds/ib",
					rds_ib_sysctl_table,
					ARRAY_SIZE(rds_ib_sysctl_table) - 1);
	return rds_ib_sysctl_hdr ? 0 : -ENOMEM;
}

/**
 * rds_ib_sysctl_exit() - Unregister the tunables
 *
 * Context: Process context, may sleep.
 */
void rds_ib_sysctl_exit(void)
{
	unregister_net_sysctl_table(rds_ib_sysctl_hdr);
}
