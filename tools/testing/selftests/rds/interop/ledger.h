/* SPDX-License-Identifier: GPL-2.0 */
/* The messages of one flow that have arrived */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct ledger {
	/* By number: whether it has arrived */
	unsigned char *seen;
	uint32_t room;
	/* One above the highest number that has arrived */
	uint32_t next;
	uint32_t received;
	uint32_t duplicated;
	uint32_t reordered;
};

void ledger_note(struct ledger *ledger, uint32_t seq);

/*
 * Note a message that is too short to carry its number: take it for the message
 * that is due, if its contents fit, or else for the nearest one that fits and
 * has not arrived.
 */
void ledger_note_short(struct ledger *ledger, unsigned int flow,
		       const void *bytes, uint32_t len);

/* Count the messages from @from until before @to that never arrived. */
uint32_t ledger_missing(const struct ledger *ledger, uint32_t from,
			uint32_t to);

#endif /* LEDGER_H */
