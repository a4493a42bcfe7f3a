// SPDX-License-Identifier: GPL-2.0-only
/* Counters of the TCP transport. */
#include <net/rds/info.h>

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

	rds_sum_counters((const u64 __percpu *)tn->tn_stats,
			 RDS_TCP_STAT_COUNT, sums);
}
