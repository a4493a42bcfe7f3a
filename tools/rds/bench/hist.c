// SPDX-License-Identifier: GPL-2.0
/*
 * A histogram of times. Each power of two is divided into 64 buckets, and all
 * buckets are numbered consecutively.
 */
#include "bench/hist.h"

#define SUB_BITS	6
#define SUB_BUCKETS	(1U << SUB_BITS)

/* Return how far to shift @value right so that SUB_BITS + 1 bits remain. */
static unsigned int scale(uint64_t value)
{
	unsigned int bits = 64 - __builtin_clzll(value | 1);

	return bits > SUB_BITS + 1 ? bits - SUB_BITS - 1 : 0;
}

static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift = scale(value);

	return shift * SUB_BUCKETS + (value >> shift);
}

static uint64_t bucket_end(unsigned int bucket)
{
	unsigned int shift = 0;

	if (bucket >= 2 * SUB_BUCKETS)
		shift = bucket / SUB_BUCKETS - 1;
	return ((uint64_t)(bucket - shift * SUB_BUCKETS + 1) << shift) - 1;
}

void hist_add(struct hist *hist, uint64_t value)
{
	if (!hist->nr || value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->nr++;
	hist->buckets[bucket_of(value)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	unsigned int i;

	if (!from->nr)
		return;
	if (!into->nr || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->nr += from->nr;
	for (i = 0; i < HIST_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

uint64_t hist_percentile(const struct hist *hist, double part)
{
	uint64_t wanted = part * hist->nr;
	uint64_t seen = 0;
	unsigned int i;

	for (i = 0; i < HIST_BUCKETS; i++) {
		seen += hist->buckets[i];
		if (seen && seen >= wanted)
			return bucket_end(i) < hist->max ? bucket_end(i) :
							   hist->max;
	}
	return hist->max;
}
