/* SPDX-License-Identifier: GPL-2.0-only */
/* What a module beside core shows to user space by its RDS_INFO lists. */
#ifndef _NET_RDS_INFO_H
#define _NET_RDS_INFO_H

#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/types.h>

struct net;
struct rds_path;

/* Adds a record of @size bytes to a list. Any context. */
typedef void rds_info_add_t(void *list, const void *record, size_t size);

/* Most counters that a module may have: their sums are on the stack */
#define RDS_TRANS_STATS_MAX		48

/**
 * struct rds_info_ops - counters, and lists for user space
 */
struct rds_info_ops {
	/** @nr_stats: number of counters, at most RDS_TRANS_STATS_MAX */
	unsigned int nr_stats;

	/** @stat_names: their names, in the order of RDS_INFO_COUNTERS */
	const char * const *stat_names;

	/**
	 * @stats: Required if @nr_stats. Sum up the counters of a namespace.
	 * @sums has room for @nr_stats values.
	 *
	 * Context: Process context. No locks.
	 */
	void (*stats)(struct net *net, u64 *sums);

	/**
	 * @record: Optional. Describe a path: fill in @record, a zeroed record
	 * of the RDS_INFO list @opt. The structure of that list fixes its size.
	 *
	 * Context: Process context, may sleep. The namespace's connection mutex
	 * is held. May run concurrently with any other op of the path except
	 * path_alloc() and path_free().
	 * Return: true if the list belongs to this transport and contains the
	 * path.
	 */
	bool (*record)(struct rds_path *path, int opt, void *record);

	/**
	 * @list: Optional, for a user of connections that stands above core.
	 * Pass each record of the list RDS6_INFO_STREAMS to @add, with @list.
	 *
	 * Context: Process context, may sleep. No locks.
	 */
	void (*list)(struct net *net, rds_info_add_t *add, void *list);
};

/**
 * rds_sum_counters() - Sum up the counters of all CPUs
 * @counters: of each CPU, @count values
 * @count: number of counters
 * @sums: set to the @count sums
 *
 * A 32-bit machine reads a counter in two halves. If it is incremented past a
 * multiple of 2^32 in between, this one sum is wrong by 2^32, and the next is
 * right again. For counters that people read, this does not justify a seqcount
 * in the path of each message.
 *
 * Context: Any context.
 */
static inline void rds_sum_counters(const u64 __percpu *counters,
				    unsigned int count, u64 *sums)
{
	const u64 *one;
	unsigned int i;
	int cpu;

	memset(sums, 0, count * sizeof(*sums));
	for_each_possible_cpu(cpu) {
		one = per_cpu_ptr(counters, cpu);
		for (i = 0; i < count; i++)
			sums[i] += READ_ONCE(one[i]);
	}
}

#endif /* _NET_RDS_INFO_H */
