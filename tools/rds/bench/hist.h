/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A histogram of times: exact below 128 ns, within 1.6 % above, and of one
 * size however many there are.
 */
#ifndef RDS_BENCH_HIST_H
#define RDS_BENCH_HIST_H

#include <stdint.h>

#define HIST_BUCKETS 4096

struct hist {
	uint64_t	nr;
	uint64_t	min;
	uint64_t	max;
	uint32_t	buckets[HIST_BUCKETS];
};

void hist_add(struct hist *hist, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);

/* The value that @part of all (0 to 1) do not exceed. */
uint64_t hist_percentile(const struct hist *hist, double part);

#endif
