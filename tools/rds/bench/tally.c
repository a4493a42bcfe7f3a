// SPDX-License-Identifier: GPL-2.0
/* The counts of workers */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/tally.h"

#define NR_FIELDS 10

void tally_add(struct tally *into, const struct tally *from)
{
	into->sent += from->sent;
	into->received += from->received;
	into->bytes += from->bytes;
	into->duplicated += from->duplicated;
	into->reordered += from->reordered;
	into->corrupted += from->corrupted;
	into->timed_out += from->timed_out;
	into->failed += from->failed;
	into->measured += from->measured;
	if (from->end) {
		if (!into->end || from->begin < into->begin)
			into->begin = from->begin;
		if (from->end > into->end)
			into->end = from->end;
	}
	hist_merge(&into->hist, &from->hist);
}

void tally_format(const struct tally *tally, char text[TALLY_TEXT])
{
	snprintf(text, TALLY_TEXT,
		 "sent=%" PRIu64 " received=%" PRIu64 " bytes=%" PRIu64
		 " duplicated=%" PRIu64 " reordered=%" PRIu64
		 " corrupted=%" PRIu64 " timed_out=%" PRIu64
		 " failed=%" PRIu64 " measured=%" PRIu64 " lasted=%" PRId64,
		 tally->sent, tally->received, tally->bytes,
		 tally->duplicated, tally->reordered, tally->corrupted,
		 tally->timed_out, tally->failed, tally->measured,
		 tally->end - tally->begin);
}

bool tally_parse(struct tally *tally, const char *text)
{
	memset(tally, 0, sizeof(*tally));
	return sscanf(text,
		      "sent=%" SCNu64 " received=%" SCNu64 " bytes=%" SCNu64
		      " duplicated=%" SCNu64 " reordered=%" SCNu64
		      " corrupted=%" SCNu64 " timed_out=%" SCNu64
		      " failed=%" SCNu64 " measured=%" SCNu64
		      " lasted=%" SCNd64,
		      &tally->sent, &tally->received, &tally->bytes,
		      &tally->duplicated, &tally->reordered,
		      &tally->corrupted, &tally->timed_out,
		      &tally->failed, &tally->measured,
		      &tally->end) == NR_FIELDS;
}

uint64_t tally_lost(const struct tally *tally)
{
	uint64_t different = tally->received - tally->duplicated;

	return tally->sent > different ? tally->sent - different : 0;
}

bool tally_fine(const struct tally *tally)
{
	return !tally_lost(tally) && !tally->duplicated && !tally->reordered &&
	       !tally->corrupted && !tally->timed_out && !tally->failed;
}
