/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of streams, per namespace. RDS_INFO_COUNTERS shows them by these
 * names and in this order. Each counts what is rare.
 */
#ifndef _RDS_STREAM_STATS_H
#define _RDS_STREAM_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>

struct net;

#define RDS_STREAM_STATS(X)		\
	X(stream_closed_limited)	\
	X(stream_closed_stalled)	\
	X(stream_closed_late)		\
	X(stream_untold)		\
	X(stream_busy)

#define RDS_STREAM_STAT_FIELD(name)	atomic64_t name;

/* The counters of a namespace */
struct rds_stream_stats {
	RDS_STREAM_STATS(RDS_STREAM_STAT_FIELD)
};

#define RDS_STREAM_STAT_COUNT	\
	(sizeof(struct rds_stream_stats) / sizeof(atomic64_t))

extern const char * const rds_stream_stat_names[RDS_STREAM_STAT_COUNT];

void rds_stream_stats_read(struct net *net, u64 *values);

#endif /* _RDS_STREAM_STATS_H */
