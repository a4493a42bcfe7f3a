// SPDX-License-Identifier: GPL-2.0
/*
 * rpoll(), rselect() and repoll_wait(). They look again and again for up to
 * polling_time microseconds before they sleep, and they wake up and look again
 * every wake_up_interval milliseconds. By default they do neither.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "rdsocket.h"
#include "settings.h"
#include "wait.h"

#define FOR_EVER	(-1)

/* Wait once, for at most @usec microseconds or FOR_EVER. */
typedef int (*wait_fn)(void *arg, int64_t usec);

static int64_t clock_usec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000) + ts.tv_nsec / 1000;
}

static int64_t lesser(int64_t usec, int64_t other)
{
	return usec == FOR_EVER || usec > other ? other : usec;
}

static int64_t left(int64_t usec, int64_t begin)
{
	int64_t passed = clock_usec() - begin;

	if (usec == FOR_EVER)
		return FOR_EVER;
	return usec > passed ? usec - passed : 0;
}

static int spin(wait_fn once, void *arg, int64_t usec)
{
	int64_t end = clock_usec() + usec;
	int ready;

	do
		ready = once(arg, 0);
	while (!ready && clock_usec() < end);
	return ready;
}

/* Return what @once returned. */
static int wait_for(wait_fn once, void *arg, int64_t usec)
{
	int64_t begin, slice = settings()->wake_up_interval * INT64_C(1000);
	int64_t busy = settings()->polling_time;
	int64_t rest = usec;
	int ready;

	if (!usec || (!slice && !busy))
		return once(arg, usec);
	begin = clock_usec();
	if (busy) {
		ready = spin(once, arg, lesser(usec, busy));
		if (ready)
			return ready;
		rest = left(usec, begin);
	}
	for (;;) {
		ready = once(arg, slice ? lesser(rest, slice) : rest);
		rest = left(usec, begin);
		if (ready || !rest)
			return ready;
	}
}

static struct timespec *to_timespec(struct timespec *ts, int64_t usec)
{
	ts->tv_sec = usec / 1000000;
	ts->tv_nsec = usec % 1000000 * 1000;
	return usec == FOR_EVER ? NULL : ts;
}

static int64_t from_msec(int timeout)
{
	return timeout < 0 ? FOR_EVER : timeout * INT64_C(1000);
}

struct poll_args {
	struct pollfd	*fds;
	nfds_t		count;
};

static int poll_once(void *arg, int64_t usec)
{
	struct poll_args *args = arg;
	struct timespec ts;

	return ppoll(args->fds, args->count, to_timespec(&ts, usec), NULL);
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct poll_args args = { fds, nfds };

	return wait_for(poll_once, &args, from_msec(timeout));
}

struct select_args {
	int	count;
	size_t	size;		/* of a set; the program's may be smaller */
	fd_set	*sets[3];	/* the program's; NULL: not given */
	fd_set	wanted[3];
};

static int select_once(void *arg, int64_t usec)
{
	struct select_args *args = arg;
	struct timespec ts;
	int i;

	for (i = 0; i < 3; i++)
		if (args->sets[i])
			memcpy(args->sets[i], &args->wanted[i], args->size);
	return pselect(args->count, args->sets[0], args->sets[1],
		       args->sets[2], to_timespec(&ts, usec), NULL);
}

/* As select() does, it leaves the time that is left in *timeout. */
int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	    struct timeval *timeout)
{
	struct select_args args = { .sets = { readfds, writefds, exceptfds } };
	int64_t begin = clock_usec(), usec = FOR_EVER;
	int i, ready;

	if (nfds > FD_SETSIZE || (timeout && (timeout->tv_sec < 0 ||
					      timeout->tv_usec < 0)))
		return select(nfds, readfds, writefds, exceptfds, timeout);
	args.count = nfds;
	args.size = nfds > 0 ? (nfds + 63) / 64 * 8 : 0;
	for (i = 0; i < 3; i++)
		if (args.sets[i])
			memcpy(&args.wanted[i], args.sets[i], args.size);
	if (timeout)
		usec = timeout->tv_sec * INT64_C(1000000) + timeout->tv_usec;
	ready = wait_for(select_once, &args, usec);
	if (timeout) {
		usec = left(usec, begin);
		timeout->tv_sec = usec / 1000000;
		timeout->tv_usec = usec % 1000000;
	}
	return ready;
}

int repoll_create(int size)
{
	return epoll_create(size);
}

int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return epoll_ctl(epfd, op, fd, event);
}

struct epoll_args {
	int			epfd;
	struct epoll_event	*events;
	int			most;
};

static int epoll_once(void *arg, int64_t usec)
{
	int64_t msec = usec == FOR_EVER ? -1 : (usec + 999) / 1000;
	struct epoll_args *args = arg;

	return epoll_wait(args->epfd, args->events, args->most,
			  msec > INT_MAX ? INT_MAX : (int)msec);
}

int repoll_wait(int epfd, struct epoll_event *events, int maxevents,
		int timeout)
{
	struct epoll_args args = { epfd, events, maxevents };

	return wait_for(epoll_once, &args, from_msec(timeout));
}

/*
 * Poll for data before a call that may sleep receives from @fd. The call itself
 * finds out what there is, if anything.
 */
void wait_for_data(int fd, int flags)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct poll_args args = { &pfd, 1 };
	int error = errno, mode;

	if (!settings()->polling_time || (flags & MSG_DONTWAIT))
		return;
	mode = fcntl(fd, F_GETFL);
	if (mode >= 0 && !(mode & O_NONBLOCK))
		spin(poll_once, &args, settings()->polling_time);
	errno = error;
}
