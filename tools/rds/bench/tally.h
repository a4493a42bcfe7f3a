/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counts of each worker. Each side adds them up, and the server sends its
 * sum to the client.
 */
#ifndef RDS_BENCH_TALLY_H
#define RDS_BENCH_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/hist.h"

#define TALLY_TEXT 512

struct tally {
	uint64_t	sent;
	uint64_t	received;
	uint64_t	bytes;		/* in the received messages */
	uint64_t	duplicated;
	uint64_t	reordered;
	uint64_t	corrupted;
	uint64_t	timed_out;	/* workers that timed out */
	uint64_t	failed;		/* workers whose system call failed */
	uint64_t	measured;	/* units that the time below covers */
	int64_t		begin;		/* nanoseconds */
	int64_t		end;
	struct hist	hist;
};

void tally_add(struct tally *into, const struct tally *from);

/*
 * Convert to one line of text, without a newline, and back. The text omits the
 * histogram, and of the times it has only the duration: a parsed tally begins
 * at 0.
 */
void tally_format(const struct tally *tally, char text[TALLY_TEXT]);
bool tally_parse(struct tally *tally, const char *text);

/* Return how many messages never arrived. @tally is the sum of both sides. */
uint64_t tally_lost(const struct tally *tally);

/*
 * Check that everything arrived as it should. @tally is the sum of both sides.
 */
bool tally_fine(const struct tally *tally);

#endif
