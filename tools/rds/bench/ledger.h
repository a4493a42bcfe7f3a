/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ledger of one stream records which messages have arrived, and in which
 * order. It distinguishes a late (reordered) message from a duplicate.
 */
#ifndef RDS_BENCH_LEDGER_H
#define RDS_BENCH_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arrival {
	ARRIVAL_FINE,
	ARRIVAL_LATE,
	ARRIVAL_TWICE,
};

struct ledger {
	uint32_t	next;		/* one above the highest received */
	size_t		room;
	uint8_t		*seen;		/* one byte for each message */
};

enum arrival ledger_enter(struct ledger *ledger, uint32_t seq);
bool ledger_has(const struct ledger *ledger, uint32_t seq);
void ledger_free(struct ledger *ledger);

#endif
