/* SPDX-License-Identifier: GPL-2.0 */
/* What the peers have counted, for others to wait for */
#ifndef SCALE_TALLY_H
#define SCALE_TALLY_H

#include <pthread.h>
#include <stdbool.h>

enum tally_entry {
	TALLY_UP,	/* connections on which the host has spoken */
	TALLY_HEARD,	/* messages that were what was to come next */
	TALLY_WRONG,	/* messages that were not, or made no sense */
	TALLY_ENTRIES,
};

struct tally {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int entries[TALLY_ENTRIES];
};

void tally_init(struct tally *tally);
void tally_add(struct tally *tally, enum tally_entry entry, int by);
unsigned int tally_get(struct tally *tally, enum tally_entry entry);

/* Whether it has come to @nr, at the latest after @seconds */
bool tally_wait(struct tally *tally, enum tally_entry entry, unsigned int nr,
		double seconds);

#endif
