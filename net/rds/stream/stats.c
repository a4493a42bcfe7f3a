// SPDX-License-Identifier: GPL-2.0-only
/* Counters of streams. */
#include "stream.h"

#define RDS_STREAM_STAT_NAME(name)	#name,

const char * const rds_stream_stat_names[RDS_STREAM_STAT_COUNT] = {
	RDS_STREAM_STATS(RDS_STREAM_STAT_NAME)
};

/**
 * rds_stream_stats_read() - Read the counters of a namespace
 * @net: the namespace
 * @values: set to the values, RDS_STREAM_STAT_COUNT
 *
 * Context: Any context.
 */
void rds_stream_stats_read(struct net *net, u64 *values)
{
	struct rds_stream_net *sn = rds_stream_net(net);
	atomic64_t *stats = (atomic64_t *)&sn->sn_stats;
	unsigned int i;

	for (i = 0; i < RDS_STREAM_STAT_COUNT; i++)
		values[i] = atomic64_read(&stats[i]);
}
