// SPDX-License-Identifier: GPL-2.0
/* The counts of the peers */
#include <string.h>
#include <time.h>

#include "tally.h"

#define SEC 1000000000LL

void tally_init(struct tally *tally)
{
	pthread_condattr_t attr;

	memset(tally, 0, sizeof(*tally));
	pthread_mutex_init(&tally->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&tally->changed, &attr);
}

void tally_add(struct tally *tally, enum tally_entry entry, int by)
{
	pthread_mutex_lock(&tally->lock);
	tally->entries[entry] += by;
	pthread_cond_signal(&tally->changed);
	pthread_mutex_unlock(&tally->lock);
}

unsigned int tally_get(struct tally *tally, enum tally_entry entry)
{
	unsigned int nr;

	pthread_mutex_lock(&tally->lock);
	nr = tally->entries[entry];
	pthread_mutex_unlock(&tally->lock);
	return nr;
}

static struct timespec after(double seconds)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)seconds;
	ts.tv_nsec += (seconds - (time_t)seconds) * SEC;
	if (ts.tv_nsec >= SEC) {
		ts.tv_nsec -= SEC;
		ts.tv_sec++;
	}
	return ts;
}

bool tally_wait(struct tally *tally, enum tally_entry entry, unsigned int nr,
		double seconds)
{
	struct timespec end = after(seconds);
	int error = 0;
	bool come;

	pthread_mutex_lock(&tally->lock);
	while (tally->entries[entry] < nr && !error)
		error = pthread_cond_timedwait(&tally->changed, &tally->lock,
					       &end);
	come = tally->entries[entry] >= nr;
	pthread_mutex_unlock(&tally->lock);
	return come;
}
