// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/sys/net/rds/stream, in every namespace. Each namespace has its own
 * table, which points to its own values.
 */
#include <linux/slab.h>
#include <net/rds/compat.h>

#include "stream.h"

static int rds_stream_time_min = 1000;
static int rds_stream_time_max = 24 * 60 * 60 * 1000;
static int rds_stream_credit_min = SZ_4K;
static int rds_stream_credit_max = RDS_STREAM_MAX_CREDIT;

static const struct rds_stream_sysctl rds_stream_sysctl_defaults = {
	.closed_max		= 8192,
	.close_stall_ms		= 60 * 1000,
	.close_max_ms		= 10 * 60 * 1000,
	.unaccepted_credit	= SZ_32K,
};

#define RDS_STREAM_SYSCTL(_name, _field, _low, _high) {			\
	.procname	= _name,					\
	.data		= (void *)offsetof(struct rds_stream_sysctl, _field), \
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= _low,						\
	.extra2		= _high,					\
}

/* .data is an offset into the namespace's values until the table is copied. */
static const struct ctl_table rds_stream_sysctl_table[] = {
	RDS_STREAM_SYSCTL("closed_max", closed_max, SYSCTL_ZERO,
			  SYSCTL_INT_MAX),
	RDS_STREAM_SYSCTL("close_stall_ms", close_stall_ms,
			  &rds_stream_time_min, &rds_stream_time_max),
	RDS_STREAM_SYSCTL("close_max_ms", close_max_ms, &rds_stream_time_min,
			  &rds_stream_time_max),
	RDS_STREAM_SYSCTL("unaccepted_credit", unaccepted_credit,
			  &rds_stream_credit_min, &rds_stream_credit_max),
};

/**
 * rds_stream_sysctl_net_init() - Register the sysctls of a namespace
 * @net: the namespace
 *
 * Context: Process context, may sleep.
 * Return: 0 on success; -ENOMEM.
 */
int rds_stream_sysctl_net_init(struct net *net)
{
	size_t size = ARRAY_SIZE(rds_stream_sysctl_table), i;
	struct rds_stream_net *sn = rds_stream_net(net);
	struct ctl_table *table;

	sn->sn_sysctl = rds_stream_sysctl_defaults;
	table = kcalloc(size + RDS_SYSCTL_END_MARKERS, sizeof(*table),
			GFP_KERNEL);
	if (!table)
		return -ENOMEM;

	memcpy(table, rds_stream_sysctl_table, sizeof(rds_stream_sysctl_table));
	for (i = 0; i < size; i++)
		table[i].data = (void *)&sn->sn_sysctl +
				(unsigned long)table[i].data;
	sn->sn_sysctl_hdr = rds_register_net_sysctl(net, "net/rds/stream",
						    table, size);
	if (!sn->sn_sysctl_hdr) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rds_stream_sysctl_net_exit() - Unregister the sysctls of a namespace
 * @net: the namespace
 *
 * When this returns, no handler runs.
 *
 * Context: Process context, may sleep.
 */
void rds_stream_sysctl_net_exit(struct net *net)
{
	struct rds_stream_net *sn = rds_stream_net(net);
	const struct ctl_table *table = sn->sn_sysctl_hdr->ctl_table_arg;

	unregister_net_sysctl_table(sn->sn_sysctl_hdr);
	kfree(table);
}
