/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A histogram of times. It is exact below 128 ns, and within 1.6 % above. Its
 * size does not depend on the number of values.
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

/*
 * Return the value that a fraction @part (0 to 1) of all values do not exceed.
 */
uint64_t hist_percentile(const struct hist *hist, double part);

#endif
