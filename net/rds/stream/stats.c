// SPDX-License-Identifier: GPL-2.0-only
/* Counters of streams. */
#include "stream.h"

#define RDS_STREAM_STAT_NAME(name)	#name,

static const char * const rds_stream_stat_names[RDS_STREAM_STAT_COUNT] = {
	RDS_STREAM_STATS(RDS_STREAM_STAT_NAME)
};

static void rds_stream_stats_read(struct net *net, u64 *values)
{
	struct rds_stream_net *sn = rds_stream_net(net);
	atomic64_t *stats = (atomic64_t *)&sn->sn_stats;
	unsigned int i;

	for (i = 0; i < RDS_STREAM_STAT_COUNT; i++)
		values[i] = atomic64_read(&stats[i]);
}

const struct rds_info_ops rds_stream_info_ops = {
	.nr_stats	= RDS_STREAM_STAT_COUNT,
	.stat_names	= rds_stream_stat_names,
	.stats		= rds_stream_stats_read,
};
