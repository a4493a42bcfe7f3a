/* SPDX-License-Identifier: GPL-2.0 */
/* Check the messages of one stream, which all have the same size. */
#ifndef RDS_BENCH_CHECK_H
#define RDS_BENCH_CHECK_H

#include "bench/ledger.h"
#include "bench/worker.h"

struct check {
	struct ledger	ledger;
	struct tally	*tally;
	uint32_t	stream;
	uint32_t	size;
};

/* Check and count a received message with arbitrary contents. */
void check_message(struct check *check, const void *bytes, size_t size);

/*
 * Check the order of message @seq, whose contents have been checked, and count
 * it.
 */
void check_arrival(struct ledger *ledger, struct tally *tally, uint32_t seq);

#endif
