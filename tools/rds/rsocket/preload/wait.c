// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting. If a connection that was in progress is refused, it continues by
 * TCP, and the program is not told of the event.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "real.h"
#include "replace.h"
#include "track.h"

#define NSEC	1000000000L
#define USEC	1000000L

/* Timeouts beyond this many seconds never end. */
#define LONGEST	(INT_MAX / 1000)

static bool nothing_in_progress(void)
{
	return !atomic_load_explicit(&tracks_connecting,
				     memory_order_relaxed) || config_strict();
}

/* A point of time; or for ever */
struct deadline {
	bool		never;
	struct timespec	at;
};

static struct deadline deadline_after(const struct timespec *timeout)
{
	struct deadline end = {
		.never = !timeout || timeout->tv_sec > LONGEST,
	};

	if (end.never)
		return end;
	clock_gettime(CLOCK_MONOTONIC, &end.at);
	end.at.tv_sec += timeout->tv_sec;
	end.at.tv_nsec += timeout->tv_nsec;
	if (end.at.tv_nsec >= NSEC) {
		end.at.tv_sec++;
		end.at.tv_nsec -= NSEC;
	}
	return end;
}

static struct timespec *left(const struct deadline *end, struct timespec *ts)
{
	if (end->never)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC, ts);
	ts->tv_sec = end->at.tv_sec - ts->tv_sec;
	ts->tv_nsec = end->at.tv_nsec - ts->tv_nsec;
	if (ts->tv_nsec < 0) {
		ts->tv_sec--;
		ts->tv_nsec += NSEC;
	}
	if (ts->tv_sec < 0)
		memset(ts, 0, sizeof(*ts));
	return ts;
}

/* The kernel refuses any other. */
static bool is_time(const struct timespec *timeout)
{
	return !timeout || (timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 &&
			    timeout->tv_nsec < NSEC);
}

static int to_msec(const struct timespec *ts)
{
	if (!ts)
		return -1;
	return ts->tv_sec * 1000 + (ts->tv_nsec + 999999) / 1000000;
}

static struct timespec *from_msec(int msec, struct timespec *ts)
{
	if (msec < 0)
		return NULL;
	ts->tv_sec = msec / 1000;
	ts->tv_nsec = msec % 1000 * 1000000L;
	return ts;
}

/* Forget the events of @fd; return how many descriptors had any. */
static int forget(struct pollfd *fds, nfds_t count, int fd)
{
	int forgotten = 0;
	nfds_t i;

	for (i = 0; i < count; i++)
		if (fds[i].fd == fd && fds[i].revents) {
			fds[i].revents = 0;
			forgotten++;
		}
	return forgotten;
}

static int wait_poll(struct pollfd *fds, nfds_t count,
		     const struct timespec *timeout, const sigset_t *mask)
{
	struct deadline end = deadline_after(timeout);
	struct timespec ts;
	nfds_t i;
	int ready;

	if (!is_time(timeout))
		return real()->ppoll(fds, count, timeout, mask);
	for (;;) {
		ready = real()->ppoll(fds, count, left(&end, &ts), mask);
		if (ready <= 0 || nothing_in_progress())
			return ready;
		for (i = 0; i < count; i++)
			if (fds[i].revents && replace_refused(fds[i].fd))
				ready -= forget(fds, count, fds[i].fd);
		if (ready)
			return ready;
	}
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct timespec ts;

	return wait_poll(fds, count, from_msec(timeout, &ts), NULL);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	  const sigset_t *mask)
{
	return wait_poll(fds, count, timeout, mask);
}

void __chk_fail(void) __attribute__((noreturn));

/* What the C library makes of poll() and ppoll() with _FORTIFY_SOURCE */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
	if (size / sizeof(*fds) < count)
		__chk_fail();
	return poll(fds, count, timeout);
}

int __ppoll_chk(struct pollfd *fds, nfds_t count,
		const struct timespec *timeout, const sigset_t *mask,
		size_t size)
{
	if (size / sizeof(*fds) < count)
		__chk_fail();
	return ppoll(fds, count, timeout, mask);
}

struct sets {
	size_t	size;		/* of a set; the program's may be smaller */
	fd_set	*set[3];	/* the program's; NULL: not given */
	fd_set	wanted[3];
};

static void restore(struct sets *sets)
{
	int i;

	for (i = 0; i < 3; i++)
		if (sets->set[i])
			memcpy(sets->set[i], &sets->wanted[i], sets->size);
}

/* Return in how many sets @fd is; take it out of them if asked to. */
static int in_sets(struct sets *sets, int fd, bool take)
{
	int i, found = 0;

	for (i = 0; i < 3; i++)
		if (sets->set[i] && FD_ISSET(fd, sets->set[i])) {
			found++;
			if (take)
				FD_CLR(fd, sets->set[i]);
		}
	return found;
}

static int wait_select(int count, struct sets *sets,
		       const struct timespec *timeout, const sigset_t *mask)
{
	struct deadline end = deadline_after(timeout);
	struct timespec ts;
	int fd, i, ready;

	if (count > FD_SETSIZE || !is_time(timeout))
		return real()->pselect(count, sets->set[0], sets->set[1],
				       sets->set[2], timeout, mask);
	sets->size = count > 0 ? (count + 63) / 64 * 8 : 0;
	for (i = 0; i < 3; i++)
		if (sets->set[i])
			memcpy(&sets->wanted[i], sets->set[i], sets->size);
	for (;;) {
		ready = real()->pselect(count, sets->set[0], sets->set[1],
					sets->set[2], left(&end, &ts), mask);
		if (ready <= 0 || nothing_in_progress())
			return ready;
		for (fd = 0; fd < count; fd++)
			if (in_sets(sets, fd, false) && replace_refused(fd))
				ready -= in_sets(sets, fd, true);
		if (ready)
			return ready;
		restore(sets);
	}
}

/* The C library allows for any number of microseconds. */
static struct timespec *from_timeval(const struct timeval *timeout,
				     struct timespec *ts)
{
	if (!timeout)
		return NULL;
	ts->tv_sec = timeout->tv_sec;
	ts->tv_nsec = -1;
	if (timeout->tv_usec < 0)
		return ts;
	if (ts->tv_sec <= LONGEST)
		ts->tv_sec += timeout->tv_usec / USEC;
	ts->tv_nsec = timeout->tv_usec % USEC * 1000;
	return ts;
}

int select(int count, fd_set *in, fd_set *out, fd_set *except,
	   struct timeval *timeout)
{
	struct sets sets = { .set = { in, out, except } };
	struct timespec ts, *given = from_timeval(timeout, &ts);
	struct deadline end = deadline_after(given);
	int ready;

	ready = wait_select(count, &sets, given, NULL);
	if (is_time(given) && left(&end, &ts)) {
		timeout->tv_sec = ts.tv_sec;
		timeout->tv_usec = ts.tv_nsec / 1000;
	}
	return ready;
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *except,
	    const struct timespec *timeout, const sigset_t *mask)
{
	struct sets sets = { .set = { in, out, except } };

	return wait_select(count, &sets, timeout, mask);
}

/* Report whether a refused connection caused this event. */
static bool caused_by_refusal(int epfd, const struct epoll_event *event)
{
	int fd, skip;

	for (skip = 0;; skip++) {
		track_lock();
		fd = track_by_event(epfd, event, skip);
		track_unlock();
		if (fd < 0)
			return false;
		if (replace_refused(fd))
			return true;
	}
}

static int wait_epoll(int epfd, struct epoll_event *events, int most,
		      const struct timespec *timeout, const sigset_t *mask)
{
	struct deadline end = deadline_after(timeout);
	struct timespec ts;
	int i, kept, ready;

	for (;;) {
		ready = real()->epoll_pwait(epfd, events, most,
					    to_msec(left(&end, &ts)), mask);
		if (ready <= 0 || nothing_in_progress())
			return ready;
		for (i = 0, kept = 0; i < ready; i++)
			if (!caused_by_refusal(epfd, &events[i]))
				events[kept++] = events[i];
		if (kept)
			return kept;
	}
}

int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
	struct timespec ts;

	return wait_epoll(epfd, events, most, from_msec(timeout, &ts), NULL);
}

int epoll_pwait(int epfd, struct epoll_event *events, int most, int timeout,
		const sigset_t *mask)
{
	struct timespec ts;

	return wait_epoll(epfd, events, most, from_msec(timeout, &ts), mask);
}
