// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "journal.h"

static FILE *journal;

/* It differs from the check in a message, which the sender computes. */
static uint64_t hash(const unsigned char *bytes, uint32_t len)
{
	uint64_t value = 0xcbf29ce484222325ULL ^ len, word;
	uint32_t part;

	while (len) {
		part = len < sizeof(word) ? len : sizeof(word);
		word = 0;
		memcpy(&word, bytes, part);
		value = (value ^ word) * 0x100000001b3ULL;
		value ^= value >> 32;
		bytes += part;
		len -= part;
	}
	return value;
}

void journal_open(const char *dir, char me, unsigned int life)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/%c.%u.journal", dir, me, life);
	journal = fopen(name, "w");
	if (!journal)
		err(1, "%s", name);
}

bool journal_is_open(void)
{
	return journal;
}

void journal_note(struct journal_entry entry, const void *bytes)
{
	if (!journal)
		return;
	entry.hash = bytes ? hash(bytes, entry.len) : 0;
	if (fwrite(&entry, sizeof(entry), 1, journal) != 1)
		err(1, "journal");
}

void journal_flush(void)
{
	if (journal && fflush(journal))
		err(1, "journal");
}
