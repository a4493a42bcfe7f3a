// SPDX-License-Identifier: GPL-2.0-only
/* Counters of the IB transport. Only the first namespace has any. */
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/rds/info.h>

#include "stats.h"

#define RDS_IB_STAT_NAME(name)	#name,

DEFINE_PER_CPU(struct rds_ib_stats, rds_ib_stats);

const char * const rds_ib_stat_names[RDS_IB_STAT_COUNT] = {
	RDS_IB_STATS(RDS_IB_STAT_NAME)
};

/**
 * rds_ib_stats_sum() - Sum up the counters of all CPUs
 * @net: the namespace
 * @sums: set to the RDS_IB_STAT_COUNT sums; all 0 unless @net is the first
 *	namespace
 *
 * Context: Any context.
 */
void rds_ib_stats_sum(struct net *net, u64 *sums)
{
	if (net_eq(net, &init_net))
		rds_sum_counters((const u64 __percpu *)&rds_ib_stats,
				 RDS_IB_STAT_COUNT, sums);
	else
		memset(sums, 0, RDS_IB_STAT_COUNT * sizeof(*sums));
}
