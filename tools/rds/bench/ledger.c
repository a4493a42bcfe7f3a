// SPDX-License-Identifier: GPL-2.0
/* The ledger of one stream */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ledger.h"

static void make_room(struct ledger *ledger, uint32_t seq)
{
	size_t room = ledger->room ? ledger->room : 4096;

	while (room <= seq)
		room *= 2;
	if (room == ledger->room)
		return;
	ledger->seen = realloc(ledger->seen, room);
	if (!ledger->seen)
		err(2, "out of memory");
	memset(ledger->seen + ledger->room, 0, room - ledger->room);
	ledger->room = room;
}

enum arrival ledger_enter(struct ledger *ledger, uint32_t seq)
{
	make_room(ledger, seq);
	if (ledger->seen[seq])
		return ARRIVAL_TWICE;
	ledger->seen[seq] = 1;
	if (seq < ledger->next)
		return ARRIVAL_LATE;
	ledger->next = seq + 1;
	return ARRIVAL_FINE;
}

bool ledger_has(const struct ledger *ledger, uint32_t seq)
{
	return seq < ledger->room && ledger->seen[seq];
}

void ledger_free(struct ledger *ledger)
{
	free(ledger->seen);
	memset(ledger, 0, sizeof(*ledger));
}
