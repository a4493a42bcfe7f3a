// SPDX-License-Identifier: GPL-2.0
/* Check the messages of one stream, which all have the same size. */
#include "bench/check.h"
#include "bench/payload.h"

/* How far to search for a message that carries no sequence number */
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

/* Check whether @bytes is message @seq, which has no header. */
static bool looks_like(const struct check *check, const void *bytes,
		       uint32_t seq)
{
	return payload_is(bytes, check->size, check->stream, seq);
}

/*
 * Identify a message without a header. Normally it is the next one. If not,
 * search the sequence numbers near that one.
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
