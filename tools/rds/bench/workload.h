/* SPDX-License-Identifier: GPL-2.0 */
/* Traffic patterns that can be run between two sides */
#ifndef RDS_BENCH_WORKLOAD_H
#define RDS_BENCH_WORKLOAD_H

#include "bench/worker.h"

struct workload {
	const char	*name;
	const char	*unit;		/* what is counted and timed */
	unsigned int	workers;	/* per socket */
	bool		any_to_any;	/* every socket sends to all others */
	bool		rdma;		/* by operations on memory, of RDS */
	worker_fn	client;
	worker_fn	server;
};

extern const struct workload pingpong_workload;
extern const struct workload stream_workload;
extern const struct workload mix_workload;
extern const struct workload write_workload;
extern const struct workload read_workload;
extern const struct workload lend_workload;

const struct workload *workload_find(const char *name);

#endif
