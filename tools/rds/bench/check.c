// SPDX-License-Identifier: GPL-2.0
/* Checking the messages of one stream, in which all have the same size. */
#include "bench/check.h"
#include "bench/payload.h"

/* How far to look for a message that does not say its number */
#define NEARBY 64

void check_arrival(struct ledger *ledger, struct tally *tally, uint32_t seq)
{
	switch (ledger_enter(ledger, seq)) {
	case ARRIVAL_FINE:
		break;
	case ARRIVAL_LATE:
		tally->reordered++;
		break;
	case ARRIVAL_TWICE:
		tally->duplicated++;
		break;
	}
}

/* Is message @seq, which has no header, the one in @bytes? */
static bool looks_like(const struct check *check, const void *bytes,
		       uint32_t seq)
{
	return payload_is(bytes, check->size, check->stream, seq);
}

/*
 * Which message is this one without a header? The next, if all is well;
 * otherwise it is looked for around there.
 */
static bool find_nearby(const struct check *check, const void *bytes,
			uint32_t *seq)
{
	uint32_t next = check->ledger.next, i;

	for (i = 0; i < NEARBY; i++) {
		*seq = next + i;
		if (looks_like(check, bytes, *seq))
			return true;
	}
	for (i = 1; i <= NEARBY && i <= next; i++) {
		*seq = next - i;
		if (looks_like(check, bytes, *seq))
			return true;
	}
	return false;
}

void check_message(struct check *check, const void *bytes, size_t size)
{
	bool fine = size == check->size;
	uint32_t seq;

	if (fine && size >= PAYLOAD_HEADER)
		fine = payload_open(bytes, size, check->stream, &seq);
	else if (fine)
		fine = find_nearby(check, bytes, &seq);
	if (fine)
		check_arrival(&check->ledger, check->tally, seq);
	else
		check->tally->corrupted++;
}
