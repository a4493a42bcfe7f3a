/* SPDX-License-Identifier: GPL-2.0 */
/* What has come of one stream. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct ledger {
	/* By number, how often it came */
	unsigned char *seen;
	uint32_t room;
	/* One above the highest that came */
	uint32_t next;
	uint32_t received;
	uint32_t duplicated;
	uint32_t reordered;
};

void ledger_note(struct ledger *ledger, uint32_t seq);

/*
 * A message too short to say which it is came: the one that is due, if it is
 * like this, or else the nearest to it that has not come and is.
 */
void ledger_note_short(struct ledger *ledger, unsigned int stream,
		       const void *bytes, uint32_t len);

/* How many of those from @from until before @to never came */
uint32_t ledger_missing(const struct ledger *ledger, uint32_t from,
			uint32_t to);

#endif /* LEDGER_H */
