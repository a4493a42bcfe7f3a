// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/sys/net/rds/tcp, in every namespace. Each namespace has its own table,
 * which points to its own values. So no handler depends on the namespace of the
 * calling process.
 */
#include <linux/slab.h>
#include <net/rds/compat.h>
#include <net/sock.h>

#include "tcp.h"

static int rds_tcp_buffer_max = INT_MAX / 2;
static int rds_tcp_timeout_min = 1000;
static int rds_tcp_timeout_max = 24 * 60 * 60 * 1000;
static int rds_tcp_paths_max = RDS_MAX_PATHS;

/* Buffers are tuned only on the listener and on new sockets. So every write
 * drops the connections of all TCP paths in the namespace, even a write of the
 * value that is already set. The new connections use the new size.
 */
static int rds_tcp_proc_buffer(RDS_CTL_CONST struct ctl_table *table,
			       int write, void *buf, size_t *len, loff_t *pos)
{
	struct rds_tcp_net *tn = table->extra1;
	int least = SOCK_MIN_RCVBUF, value, ret;
	struct ctl_table bounded = *table;

	if (table->data == &tn->tn_sysctl.sndbuf)
		least = SOCK_MIN_SNDBUF;
	value = READ_ONCE(*(int *)table->data);
	bounded.data = &value;
	bounded.extra1 = SYSCTL_ZERO;
	bounded.extra2 = &rds_tcp_buffer_max;

	ret = proc_dointvec_minmax(&bounded, write, buf, len, pos);
	if (ret || !write)
		return ret;
	if (value && value < least)
		return -EINVAL;

	WRITE_ONCE(*(int *)table->data, value);
	if (tn->tn_listener)
		rds_tcp_tune_buffers(tn, tn->tn_listener->sk);
	rds_paths_drop(tn->tn_net, &rds_tcp_transport, RDS_DROP_TUNED);
	return 0;
}

#define RDS_TCP_SYSCTL(_name, _field, _low, _high) {			\
	.procname	= _name,					\
	.data		= (void *)offsetof(struct rds_tcp_sysctl, _field), \
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= _low,						\
	.extra2		= _high,					\
}

#define RDS_TCP_SYSCTL_BUFFER(_name, _field) {				\
	.procname	= _name,					\
	.data		= (void *)offsetof(struct rds_tcp_sysctl, _field), \
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= rds_tcp_proc_buffer,				\
}

/* .data is an offset into the namespace's values until the table is copied. */
static const struct ctl_table rds_tcp_sysctl_table[] = {
	RDS_TCP_SYSCTL_BUFFER("rds_tcp_sndbuf", sndbuf),
	RDS_TCP_SYSCTL_BUFFER("rds_tcp_rcvbuf", rcvbuf),
	RDS_TCP_SYSCTL("user_timeout_ms", user_timeout_ms,
		       &rds_tcp_timeout_min, &rds_tcp_timeout_max),
	RDS_TCP_SYSCTL("legacy_multipath", legacy_multipath,
		       SYSCTL_ZERO, SYSCTL_ONE),
	RDS_TCP_SYSCTL("max_paths", max_paths,
		       SYSCTL_ONE, &rds_tcp_paths_max),
	RDS_TCP_SYSCTL("partial_max_kb", partial_max_kb,
		       SYSCTL_ZERO, SYSCTL_INT_MAX),
};

/**
 * rds_tcp_sysctl_net_init() - Register the tunables of a namespace
 * @tn: the namespace; rds_tcp_listen() has succeeded
 *
 * Context: Process context, may sleep.
 * Return: 0 on success, -ENOMEM otherwise.
 */
int rds_tcp_sysctl_net_init(struct rds_tcp_net *tn)
{
	size_t size = ARRAY_SIZE(rds_tcp_sysctl_table), i;
	struct ctl_table *table;

	table = kcalloc(size + RDS_SYSCTL_END_MARKERS, sizeof(*table),
			GFP_KERNEL);
	if (!table)
		return -ENOMEM;

	memcpy(table, rds_tcp_sysctl_table, sizeof(rds_tcp_sysctl_table));
	for (i = 0; i < size; i++) {
		table[i].data = (void *)&tn->tn_sysctl +
				(unsigned long)table[i].data;
		if (table[i].proc_handler == rds_tcp_proc_buffer)
			table[i].extra1 = tn;
	}

	tn->tn_sysctl_hdr = rds_register_net_sysctl(tn->tn_net, "net/rds/tcp",
						    table, size);
	if (!tn->tn_sysctl_hdr) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rds_tcp_sysctl_net_exit() - Unregister the tunables of a namespace
 * @tn: the namespace
 *
 * No handler runs when this returns.
 *
 * Context: Process context, may sleep.
 */
void rds_tcp_sysctl_net_exit(struct rds_tcp_net *tn)
{
	const struct ctl_table *table = tn->tn_sysctl_hdr->ctl_table_arg;

	unregister_net_sysctl_table(tn->tn_sysctl_hdr);
	kfree(table);
}
