// SPDX-License-Identifier: GPL-2.0-only
/* Counters of core. */
#include <linux/cpumask.h>
#include <linux/string.h>

#include "stats.h"

#define RDS_STAT_NAME(name)	#name,

static const char * const rds_stat_names[RDS_STAT_COUNT] = {
	RDS_STATS(RDS_STAT_NAME)
};

/**
 * rds_stats_sum() - Sum up the counters of all CPUs
 * @stats: the counters
 * @sums: set to the RDS_STAT_COUNT sums
 *
 * A 32-bit machine reads a counter in two halves. If it is incremented past a
 * multiple of 2^32 in between, this one sum is wrong by 2^32, and the next is
 * right again. For counters that people read, this does not justify a seqcount
 * in the path of each message.
 *
 * Context: Any context.
 */
void rds_stats_sum(const struct rds_stats __percpu *stats, u64 *sums)
{
	const u64 *one;
	unsigned int i;
	int cpu;

	memset(sums, 0, RDS_STAT_COUNT * sizeof(*sums));
	for_each_possible_cpu(cpu) {
		one = (const u64 *)per_cpu_ptr(stats, cpu);
		for (i = 0; i < RDS_STAT_COUNT; i++)
			sums[i] += READ_ONCE(one[i]);
	}
}

/**
 * rds_stat_name() - Get the name of a counter
 * @i: its position, below RDS_STAT_COUNT
 *
 * Context: Any context.
 * Return: the name.
 */
const char *rds_stat_name(unsigned int i)
{
	return rds_stat_names[i];
}
