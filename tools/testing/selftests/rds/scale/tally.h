/* SPDX-License-Identifier: GPL-2.0 */
/* The counts of the peers, for which other threads can wait */
#ifndef SCALE_TALLY_H
#define SCALE_TALLY_H

#include <pthread.h>
#include <stdbool.h>

enum tally_entry {
	TALLY_UP,	/* connections on which the host has sent data */
	TALLY_HEARD,	/* messages that were the expected ones */
	TALLY_WRONG,	/* messages that were not, or were invalid */
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

/* Wait until the count is @nr, for at most @seconds; return whether it is. */
bool tally_wait(struct tally *tally, enum tally_entry entry, unsigned int nr,
		double seconds);

#endif
