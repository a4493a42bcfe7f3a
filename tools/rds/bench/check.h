/* SPDX-License-Identifier: GPL-2.0 */
/* Checking the messages of one stream, in which all have the same size. */
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

/* Account for a message that came, whatever is in it. */
void check_message(struct check *check, const void *bytes, size_t size);

/* Account for message @seq, of which all but its place has been checked. */
void check_arrival(struct ledger *ledger, struct tally *tally, uint32_t seq);

#endif
