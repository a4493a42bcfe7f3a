/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters per namespace and CPU. RDS_INFO_COUNTERS shows them by these names
 * and in this order.
 */
#ifndef _RDS_TCP_STATS_H
#define _RDS_TCP_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct net;

#define RDS_TCP_STATS(X)		\
	X(tcp_data_ready_calls)		\
	X(tcp_write_space_calls)	\
	X(tcp_sndbuf_full)		\
	X(tcp_connect_raced)		\
	X(tcp_listen_closed_stale)	\
	X(tcp_partial_dropped)

#define RDS_TCP_STAT_FIELD(name)	u64 name;

/* The counters of one CPU */
struct rds_tcp_stats {
	RDS_TCP_STATS(RDS_TCP_STAT_FIELD)
};

#define RDS_TCP_STAT_COUNT	(sizeof(struct rds_tcp_stats) / sizeof(u64))

#define rds_tcp_stat_inc(tn, name)	this_cpu_inc((tn)->tn_stats->name)

extern const char * const rds_tcp_stat_names[];

void rds_tcp_stats_sum(struct net *net, u64 *sums);

#endif /* _RDS_TCP_STATS_H */
