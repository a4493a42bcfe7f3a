/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lock for what these libraries keep. A signal handler may make any of their
 * calls, so it runs when the lock is free; and a thread is not canceled while
 * it holds the lock. After fork(), the child of any thread can take it, if
 * pthread_atfork() takes and releases it.
 */
#ifndef RDS_GUARD_H
#define RDS_GUARD_H

#include <pthread.h>
#include <signal.h>

struct guard {
	pthread_mutex_t	mutex;
	sigset_t	signals;	/* of the holder */
	int		cancels;
};

#define GUARD_INIT { .mutex = PTHREAD_MUTEX_INITIALIZER }

static inline void guard_lock(struct guard *guard)
{
	sigset_t all, before;
	int cancels;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	pthread_mutex_lock(&guard->mutex);
	guard->signals = before;
	guard->cancels = cancels;
}

static inline void guard_unlock(struct guard *guard)
{
	sigset_t before = guard->signals;
	int cancels = guard->cancels;

	pthread_mutex_unlock(&guard->mutex);
	pthread_setcancelstate(cancels, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#endif
