// SPDX-License-Identifier: GPL-2.0
/*
 * rpoll, rselect, the repoll calls, and busy polling. The program counts the
 * calls with which the library waits: its own definitions come first.
 *
 *	test-wait plain|busy|slices
 *
 * The runner sets polling_time to 20 ms for "busy", and wake_up_interval to
 * 20 ms for "slices".
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "check.h"

static struct {
	int	calls;		/* all of them */
	int	looks;		/* those that do not wait */
	long	longest;	/* ms; LONG_MAX: for ever */
} count;

static void counted(const struct timespec *ts)
{
	long msec = ts ? ts->tv_sec * 1000 + ts->tv_nsec / 1000000 : 1 << 30;

	count.calls++;
	if (!msec)
		count.looks++;
	if (msec > count.longest)
		count.longest = msec;
}

int ppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
	  const sigset_t *mask)
{
	struct timespec copy;

	(void)mask;
	counted(timeout);
	if (timeout)
		copy = *timeout;
	return syscall(SYS_ppoll, fds, nfds, timeout ? &copy : NULL, NULL, 8);
}

int pselect(int nfds, fd_set *in, fd_set *out, fd_set *except,
	    const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec copy;

	(void)mask;
	counted(timeout);
	if (timeout)
		copy = *timeout;
	return syscall(SYS_pselect6, nfds, in, out, except,
		       timeout ? &copy : NULL, NULL);
}

int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
	struct timespec ts = { timeout / 1000, timeout % 1000 * 1000000 };

	counted(timeout < 0 ? NULL : &ts);
	return syscall(SYS_epoll_pwait, epfd, events, most, timeout, NULL, 8);
}

static struct pair pair;

/* Write to the client's end after @arg milliseconds. */
static void *write_later(void *arg)
{
	usleep((long)arg * 1000);
	rwrite(pair.server, "x", 1);
	return NULL;
}

static pthread_t later(long msec)
{
	pthread_t thread;

	memset(&count, 0, sizeof(count));
	pthread_create(&thread, NULL, write_later, (void *)msec);
	return thread;
}

/* Each way to wait: for @timeout ms, or for ever if it is negative */
static int poll_client(int timeout)
{
	struct pollfd pfd = { .fd = pair.client, .events = POLLIN };
	int ret = rpoll(&pfd, 1, timeout);

	return ret == 1 && pfd.revents != POLLIN ? -2 : ret;
}

static int select_client(int timeout)
{
	struct timeval tv = { timeout / 1000, timeout % 1000 * 1000 };
	fd_set in;
	int ret;

	FD_ZERO(&in);
	FD_SET(pair.client, &in);
	ret = rselect(pair.client + 1, &in, NULL, NULL,
		      timeout < 0 ? NULL : &tv);
	if (ret < 0)
		return ret;
	if (timeout > 0 && !ret && (tv.tv_sec || tv.tv_usec))
		return -2;
	return FD_ISSET(pair.client, &in) == (ret == 1) ? ret : -2;
}

static int epoll_client(int timeout)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 77 };
	int epfd = repoll_create(1), ret;

	if (epfd < 0 || repoll_ctl(epfd, EPOLL_CTL_ADD, pair.client, &event))
		return -2;
	memset(&event, 0, sizeof(event));
	ret = repoll_wait(epfd, &event, 1, timeout);
	close(epfd);
	if (ret == 1 && (event.events != EPOLLIN || event.data.u32 != 77))
		return -2;
	return ret;
}

static const struct {
	const char	*name;
	int		(*wait)(int timeout);
} ways[] = {
	{ "rpoll", poll_client },
	{ "rselect", select_client },
	{ "repoll_wait", epoll_client },
};

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static bool took(int64_t begin, int least, int most)
{
	int64_t msec = check_msec() - begin;

	return msec >= least && msec <= most;
}

static void take_byte(void)
{
	char byte;

	rrecv(pair.client, &byte, 1, 0);
}

static void test_way(size_t i)
{
	pthread_t thread;
	int64_t begin;

	ok(ways[i].wait(0) == 0, "%s: nothing yet", ways[i].name);
	begin = check_msec();
	ok(ways[i].wait(60) == 0 && took(begin, 59, 5000),
	   "%s: nothing for 60 ms", ways[i].name);
	thread = later(50);
	begin = check_msec();
	ok(ways[i].wait(-1) == 1 && took(begin, 40, 5000),
	   "%s: data after 50 ms, waiting for ever", ways[i].name);
	pthread_join(thread, NULL);
	ok(ways[i].wait(0) == 1, "%s: it is still there", ways[i].name);
	take_byte();
	thread = later(50);
	begin = check_msec();
	ok(ways[i].wait(10000) == 1 && took(begin, 40, 5000),
	   "%s: data after 50 ms of 10 s", ways[i].name);
	pthread_join(thread, NULL);
	take_byte();
}

static void on_alarm(int number)
{
	(void)number;
}

static void test_signal(size_t i)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	/* More than one: the first may come before the call sleeps. */
	ualarm(50000, 50000);
	fails(ways[i].wait(5000), EINTR, "%s: a signal interrupts it",
	      ways[i].name);
	ualarm(0, 0);
}

/* Sockets and other descriptors beside each other */
static void test_mixed(void)
{
	struct pollfd fds[3];
	int pipes[2];
	fd_set in;

	if (pipe(pipes))
		return;
	fds[0] = (struct pollfd){ pair.client, POLLIN | POLLOUT, 0 };
	fds[1] = (struct pollfd){ pipes[0], POLLIN, 0 };
	fds[2] = (struct pollfd){ -1, POLLIN, 0 };
	ok(rpoll(fds, 3, 0) == 1 && fds[0].revents == POLLOUT &&
	   !fds[1].revents, "rpoll: a socket and a pipe");
	if (write(pipes[1], "x", 1) != 1)
		return;
	rwrite(pair.server, "x", 1);
	ok(rpoll(fds + 1, 2, 1000) == 1 && fds[1].revents == POLLIN,
	   "rpoll: a pipe alone");
	FD_ZERO(&in);
	FD_SET(pair.client, &in);
	FD_SET(pipes[0], &in);
	ok(rselect((pipes[0] > pair.client ? pipes[0] : pair.client) + 1, &in,
		   NULL, NULL, NULL) == 2 && FD_ISSET(pipes[0], &in) &&
	   FD_ISSET(pair.client, &in), "rselect: a socket and a pipe");
	take_byte();
	close(pipes[0]);
	close(pipes[1]);
}

static void test_errors(void)
{
	struct timeval bad = { -1, 0 };
	struct epoll_event event;
	fd_set in;

	fails(repoll_create(0), EINVAL, "repoll_create: no size");
	fails(repoll_ctl(-1, EPOLL_CTL_ADD, pair.client, &event), EBADF,
	      "repoll_ctl: no descriptor");
	fails(repoll_wait(-1, &event, 1, 0), EBADF,
	      "repoll_wait: no descriptor");
	FD_ZERO(&in);
	fails(rselect(1, &in, NULL, NULL, &bad), EINVAL,
	      "rselect: a negative time");
	fails(rselect(-1, &in, NULL, NULL, NULL), EINVAL,
	      "rselect: a negative count");
}

static void test_events(void)
{
	struct pollfd pfd = { .fd = pair.listener, .events = POLLIN };
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), accepted;

	ok(rpoll(&pfd, 1, 0) == 0, "rpoll: no connection to accept");
	rgetsockname(pair.listener, (struct sockaddr *)&name, &len);
	rconnect(fd, (struct sockaddr *)&name, len);
	ok(rpoll(&pfd, 1, 5000) == 1 && pfd.revents == POLLIN,
	   "rpoll: a connection to accept");
	accepted = raccept(pair.listener, NULL, NULL);
	pfd = (struct pollfd){ accepted, POLLIN | POLLRDHUP, 0 };
	rshutdown(fd, SHUT_WR);
	ok(rpoll(&pfd, 1, 5000) == 1 && pfd.revents == (POLLIN | POLLRDHUP),
	   "rpoll: the peer sends no more");
	rclose(accepted);
	pfd = (struct pollfd){ fd, POLLIN, 0 };
	ok(rpoll(&pfd, 1, 5000) == 1 && (pfd.revents & POLLHUP),
	   "rpoll: both directions are closed");
	rclose(fd);
	ok(rpoll(&pfd, 1, 0) == 1 && pfd.revents == POLLNVAL,
	   "rpoll: a closed descriptor");
}

/* Nothing is set: one call waits, and no call precedes a receive. */
static void test_plain(size_t i)
{
	memset(&count, 0, sizeof(count));
	ways[i].wait(30);
	ok(count.calls == 1 && count.longest >= 29,
	   "%s: waits in one call", ways[i].name);
}

static void test_plain_receive(void)
{
	pthread_t thread = later(30);

	take_byte();
	pthread_join(thread, NULL);
	ok(!count.calls, "rrecv: waits in one call");
}

static void test_busy(size_t i)
{
	/* Much longer than polling_time: a busy host may stop this one then. */
	memset(&count, 0, sizeof(count));
	ways[i].wait(500);
	ok(count.looks > 10, "polling_time: %s looks often", ways[i].name);
	ok(count.calls == count.looks + 1 && count.longest > 20,
	   "polling_time: %s sleeps then", ways[i].name);
	memset(&count, 0, sizeof(count));
	ways[i].wait(5);
	ok(count.longest <= 1, "polling_time: %s has less time than that",
	   ways[i].name);
	memset(&count, 0, sizeof(count));
	ways[i].wait(0);
	ok(count.calls == 1, "polling_time: %s, without time to wait",
	   ways[i].name);
}

static ssize_t receive_by(int way)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	switch (way) {
	case 0:
		return rrecv(pair.client, &byte, 1, 0);
	case 1:
		return rrecvfrom(pair.client, &byte, 1, 0, NULL, NULL);
	case 2:
		return rrecvmsg(pair.client, &msg, 0);
	case 3:
		return rread(pair.client, &byte, 1);
	default:
		return rreadv(pair.client, &iov, 1);
	}
}

static void test_busy_receive(void)
{
	static const char *const names[] = {
		"rrecv", "rrecvfrom", "rrecvmsg", "rread", "rreadv",
	};
	pthread_t thread;
	char byte;
	int way;

	for (way = 0; way < 5; way++) {
		thread = later(40);
		ok(receive_by(way) == 1 && count.looks > 10,
		   "polling_time: %s looks often, and sleeps", names[way]);
		pthread_join(thread, NULL);
	}
	memset(&count, 0, sizeof(count));
	rrecv(pair.client, &byte, 1, MSG_DONTWAIT);
	ok(!count.calls, "polling_time: not with MSG_DONTWAIT");
	rfcntl(pair.client, F_SETFL, O_NONBLOCK);
	rrecv(pair.client, &byte, 1, 0);
	rread(pair.client, &byte, 1);
	ok(!count.calls, "polling_time: not with O_NONBLOCK");
	rfcntl(pair.client, F_SETFL, 0);
}

static void test_slices(size_t i)
{
	memset(&count, 0, sizeof(count));
	ways[i].wait(110);
	ok(count.calls >= 4 && count.longest <= 20,
	   "wake_up_interval: %s wakes up every 20 ms", ways[i].name);
	memset(&count, 0, sizeof(count));
	ways[i].wait(10);
	ok(count.calls <= 2 && count.longest <= 10,
	   "wake_up_interval: %s, less time than that", ways[i].name);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	static char prefix[32];
	size_t i;

	snprintf(prefix, sizeof(prefix), "%s: ", mode);
	check_prefix = prefix;
	ok(check_pair(AF_INET, &pair), "a connection");
	for (i = 0; i < NR_WAYS; i++) {
		test_way(i);
		test_signal(i);
		if (!strcmp(mode, "plain"))
			test_plain(i);
		else if (!strcmp(mode, "busy"))
			test_busy(i);
		else
			test_slices(i);
	}
	test_mixed();
	test_errors();
	test_events();
	if (!strcmp(mode, "plain"))
		test_plain_receive();
	if (!strcmp(mode, "busy"))
		test_busy_receive();
	check_close(&pair);
	return check_end();
}
