// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"
#include "message.h"

/* Distance within which the number of a short message is searched */
#define NEAR 256

static void make_room(struct ledger *ledger, uint32_t seq)
{
	uint32_t room = ledger->room;

	if (seq < room)
		return;
	while (seq >= room)
		room = room ? room * 2 : 1024;
	ledger->seen = realloc(ledger->seen, room);
	if (!ledger->seen)
		err(1, "no memory");
	memset(ledger->seen + ledger->room, 0, room - ledger->room);
	ledger->room = room;
}

void ledger_note(struct ledger *ledger, uint32_t seq)
{
	make_room(ledger, seq);
	if (ledger->seen[seq]) {
		ledger->duplicated++;
		return;
	}
	ledger->seen[seq] = 1;
	ledger->received++;
	if (seq < ledger->next)
		ledger->reordered++;
	else
		ledger->next = seq + 1;
}

/* Check whether it may be number @seq, which has not arrived yet. */
static bool fits(const struct ledger *ledger, unsigned int flow,
		 const void *bytes, uint32_t len, uint32_t seq)
{
	return (seq >= ledger->next || !ledger->seen[seq]) &&
	       message_size(flow, seq, false) == len &&
	       !memcmp(bytes, &seq, len);
}

void ledger_note_short(struct ledger *ledger, unsigned int flow,
		       const void *bytes, uint32_t len)
{
	uint32_t next = ledger->next, far;

	for (far = 0; far < NEAR; far++) {
		if (far <= next && fits(ledger, flow, bytes, len, next - far))
			return ledger_note(ledger, next - far);
		if (fits(ledger, flow, bytes, len, next + far))
			return ledger_note(ledger, next + far);
	}
	ledger->duplicated++;
}

uint32_t ledger_missing(const struct ledger *ledger, uint32_t from, uint32_t to)
{
	uint32_t seq, missing = 0;

	for (seq = from; seq < to; seq++)
		if (seq >= ledger->room || !ledger->seen[seq])
			missing++;
	return missing;
}
