// SPDX-License-Identifier: GPL-2.0-only
/* Counters of the TCP transport. */
#include <linux/cpumask.h>
#include <linux/string.h>

#include "tcp.h"

#define RDS_TCP_STAT_NAME(name)	#name,

const char * const rds_tcp_stat_names[RDS_TCP_STAT_COUNT] = {
	RDS_TCP_STATS(RDS_TCP_STAT_NAME)
};

/**
 * rds_tcp_stats_sum() - Add up the counters of all CPUs
 * @net: the namespace
 * @sums: room for RDS_TCP_STAT_COUNT sums
 *
 * Context: Any context.
 */
void rds_tcp_stats_sum(struct net *net, u64 *sums)
{
	const struct rds_tcp_net *tn = rds_tcp_net(net);
	const u64 *one;
	unsigned int i;
	int cpu;

	memset(sums, 0, RDS_TCP_STAT_COUNT * sizeof(*sums));
	for_each_possible_cpu(cpu) {
		one = (const u64 *)per_cpu_ptr(tn->tn_stats, cpu);
		for (i = 0; i < RDS_TCP_STAT_COUNT; i++)
			sums[i] += READ_ONCE(one[i]);
	}
}
