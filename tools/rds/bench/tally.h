/* SPDX-License-Identifier: GPL-2.0 */
/* What was counted: by each worker, then summed, then sent to the client. */
#ifndef RDS_BENCH_TALLY_H
#define RDS_BENCH_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/hist.h"

#define TALLY_TEXT 512

struct tally {
	uint64_t	sent;
	uint64_t	received;
	uint64_t	bytes;		/* in what was received */
	uint64_t	duplicated;
	uint64_t	reordered;
	uint64_t	corrupted;
	uint64_t	timed_out;	/* workers that gave up waiting */
	uint64_t	failed;		/* workers whose system call failed */
	uint64_t	measured;	/* what the time below was spent on */
	int64_t		begin;		/* nanoseconds */
	int64_t		end;
	struct hist	hist;
};

void tally_add(struct tally *into, const struct tally *from);

/*
 * One line of text, without line end, and back. The histogram stays here, and
 * of the times only how long it took: what comes back began at 0.
 */
void tally_format(const struct tally *tally, char text[TALLY_TEXT]);
bool tally_parse(struct tally *tally, const char *text);

/* Of both sides' sum: how many messages never came? */
uint64_t tally_lost(const struct tally *tally);

/* Of both sides' sum: did everything come as it should? */
bool tally_fine(const struct tally *tally);

#endif
