// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/sys/net/rds, in every namespace. Each namespace has its own table that
 * points to its own values, so no handler needs to know which task calls it.
 * Every value has bounds. The two reconnect delays bound each other. Each of
 * them has two names, that of rds(7) and that of the stock modules; both names
 * access the same value.
 */
#include <linux/slab.h>
#include <linux/socket.h>
#include <net/rds/compat.h>
#include <uapi/linux/rds.h>

#include "sysctl.h"

#define RDS_DELAY_MAX_MS	(24 * 60 * 60 * 1000)
#define RDS_RX_HELD_MIN		(64 * 1024)
#define RDS_OP_TIMEOUT_MIN_MS	100

static int rds_pf = PF_RDS;
static int rds_sol = SOL_RDS;
static int rds_delay_max = RDS_DELAY_MAX_MS;
static int rds_rx_held_min = RDS_RX_HELD_MIN;
static int rds_op_timeout_min = RDS_OP_TIMEOUT_MIN_MS;

static const struct rds_sysctl rds_sysctl_defaults = {
	.reconnect_min_ms	= 1,
	.reconnect_max_ms	= RDS_RECONNECT_MAX_MS,
	.max_unacked_packets	= 16,
	.max_unacked_bytes	= 16 << 20,
	.ping_enable		= 1,
	.rx_held_max		= 16 << 20,
	.max_conns		= 32768,
	.max_conns_per_user	= 4096,
	.pongs_max		= 16384,
	.op_timeout_ms		= 30 * 1000,
	.autoload		= 1,
};

/* Each delay bounds the other, so the handler reads the bounds at each use. */
static int rds_proc_delay(RDS_CTL_CONST struct ctl_table *table, int write,
			  void *buf, size_t *len, loff_t *pos)
{
	struct rds_sysctl *ctl = table->extra1;
	struct ctl_table bounded = *table;
	int low, high;

	low = 1;
	high = rds_delay_max;
	if (table->data == &ctl->reconnect_min_ms)
		high = READ_ONCE(ctl->reconnect_max_ms);
	else
		low = READ_ONCE(ctl->reconnect_min_ms);

	bounded.extra1 = &low;
	bounded.extra2 = &high;
	return proc_dointvec_minmax(&bounded, write, buf, len, pos);
}

/* Outside the first namespace, a limit on memory cannot exceed that of the
 * first namespace.
 */
static int rds_proc_limit(RDS_CTL_CONST struct ctl_table *table, int write,
			  void *buf, size_t *len, loff_t *pos)
{
	const struct rds_sysctl *host = &rds_net(&init_net)->rn_sysctl;
	const struct rds_sysctl *ctl = table->extra2;
	struct ctl_table bounded = *table;
	const int *value;
	int high = INT_MAX;

	value = (void *)host + (table->data - (void *)ctl);
	if (ctl != host)
		high = READ_ONCE(*value);
	bounded.extra2 = &high;
	return proc_dointvec_minmax(&bounded, write, buf, len, pos);
}

#define RDS_SYSCTL(_name, _field, _low, _high) {			\
	.procname	= _name,					\
	.data		= (void *)offsetof(struct rds_sysctl, _field),	\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= _low,						\
	.extra2		= _high,					\
}

#define RDS_SYSCTL_DELAY(_name, _field) {				\
	.procname	= _name,					\
	.data		= (void *)offsetof(struct rds_sysctl, _field),	\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= rds_proc_delay,				\
}

#define RDS_SYSCTL_LIMIT(_name, _field, _low) {			\
	.procname	= _name,					\
	.data		= (void *)offsetof(struct rds_sysctl, _field),	\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= rds_proc_limit,				\
	.extra1		= _low,						\
}

#define RDS_SYSCTL_CONST(_name, _value) {				\
	.procname	= _name,					\
	.data		= _value,					\
	.maxlen		= sizeof(int),					\
	.mode		= 0444,						\
	.proc_handler	= proc_dointvec,				\
}

/* In this template, .data is an offset into struct rds_sysctl. In the copy for
 * a namespace, it points to the value.
 */
static const struct ctl_table rds_sysctl_table[] = {
	RDS_SYSCTL_CONST("pf_rds", &rds_pf),
	RDS_SYSCTL_CONST("sol_rds", &rds_sol),
	RDS_SYSCTL_DELAY("reconnect_min_delay_ms", reconnect_min_ms),
	RDS_SYSCTL_DELAY("reconnect_max_delay_ms", reconnect_max_ms),
	RDS_SYSCTL_DELAY("reconnect_delay_min_ms", reconnect_min_ms),
	RDS_SYSCTL_DELAY("reconnect_delay_max_ms", reconnect_max_ms),
	RDS_SYSCTL("max_unacked_packets", max_unacked_packets,
		   SYSCTL_ONE, SYSCTL_INT_MAX),
	RDS_SYSCTL("max_unacked_bytes", max_unacked_bytes,
		   SYSCTL_ONE, SYSCTL_INT_MAX),
	RDS_SYSCTL("ping_enable", ping_enable, SYSCTL_ZERO, SYSCTL_ONE),
	RDS_SYSCTL_LIMIT("rx_held_max", rx_held_max, &rds_rx_held_min),
	RDS_SYSCTL("max_conns", max_conns, SYSCTL_ONE, SYSCTL_INT_MAX),
	RDS_SYSCTL("max_conns_per_user", max_conns_per_user,
		   SYSCTL_ONE, SYSCTL_INT_MAX),
	RDS_SYSCTL_LIMIT("pongs_max", pongs_max, SYSCTL_ONE),
	RDS_SYSCTL("op_timeout_ms", op_timeout_ms,
		   &rds_op_timeout_min, &rds_delay_max),
	/* All namespaces share the modules of the host, so only init_net gets
	 * this entry. It must be the last one.
	 */
	RDS_SYSCTL("autoload", autoload, SYSCTL_ZERO, SYSCTL_ONE),
};

static void rds_sysctl_bind(struct ctl_table *table, size_t size,
			    struct rds_sysctl *ctl)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (table[i].mode == 0444)
			continue;
		table[i].data = (void *)ctl + (unsigned long)table[i].data;
		if (table[i].proc_handler == rds_proc_delay)
			table[i].extra1 = ctl;
		if (table[i].proc_handler == rds_proc_limit)
			table[i].extra2 = ctl;
	}
}

/**
 * rds_sysctl_net_init() - Register the sysctls of a namespace
 * @rn: the namespace; its values are set to the defaults
 *
 * Context: Process context, may sleep.
 * Return: 0 on success; -ENOMEM.
 */
int rds_sysctl_net_init(struct rds_net *rn)
{
	size_t size = ARRAY_SIZE(rds_sysctl_table);
	struct ctl_table *table;

	rn->rn_sysctl = rds_sysctl_defaults;
	if (!net_eq(rn->rn_net, &init_net))
		size--;

	table = kcalloc(size + RDS_SYSCTL_END_MARKERS, sizeof(*table),
			GFP_KERNEL);
	if (!table)
		return -ENOMEM;

	memcpy(table, rds_sysctl_table, size * sizeof(*table));
	rds_sysctl_bind(table, size, &rn->rn_sysctl);
	rn->rn_sysctl_hdr = rds_register_net_sysctl(rn->rn_net, "net/rds",
						    table, size);
	if (!rn->rn_sysctl_hdr) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rds_sysctl_net_exit() - Unregister the sysctls of a namespace
 * @rn: the namespace
 *
 * When this returns, no handler runs.
 *
 * Context: Process context, may sleep.
 */
void rds_sysctl_net_exit(struct rds_net *rn)
{
	const struct ctl_table *table = rn->rn_sysctl_hdr->ctl_table_arg;

	unregister_net_sysctl_table(rn->rn_sysctl_hdr);
	kfree(table);
}
