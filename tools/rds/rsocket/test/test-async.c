// SPDX-License-Identifier: GPL-2.0
/*
 * A program of TCP, which rds-run runs: connections without blocking that are
 * refused later, and each way in which a program learns how they ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "check.h"
#include "preload.h"

#define PATIENCE	10000	/* ms */

static struct tcp_server server;

/* Return a socket whose connection is in progress, or -1. */
static int begin(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (tcp_connect(fd, &server) != -1 || errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

static void check_state(int fd, const char *way)
{
	ok(get_int(fd, SOL_SOCKET, SO_ERROR) == 0, "%s: no error", way);
	ok(!is_stream(fd), "%s: TCP", way);
	ok(fcntl(fd, F_GETFL) & O_NONBLOCK, "%s: O_NONBLOCK is kept", way);
	ok(get_int(fd, IPPROTO_TCP, TCP_NODELAY) == 1, "%s: so are options",
	   way);
}

/* Report the end of a connection that went well, by TCP. */
static void check_connected(int fd, const char *way)
{
	check_state(fd, way);
	fcntl(fd, F_SETFL, 0);
	ok(tcp_accept(fd, &server), "%s: data in both directions", way);
	close(fd);
}

static void test_poll(void)
{
	struct pollfd fds[2] = { { .events = POLLOUT | POLLIN },
				 { .fd = -1 } };
	struct timespec patience = { PATIENCE / 1000, 0 };

	fds[0].fd = begin();
	ok(fds[0].fd >= 0 && is_stream(fds[0].fd), "poll: in progress");
	ok(poll(fds, 2, 20) == 0, "poll: not within 20 ms");
	ok(poll(fds, 2, PATIENCE) == 1 && fds[0].revents == POLLOUT,
	   "poll: the program sees no error");
	check_connected(fds[0].fd, "poll");

	fds[0].fd = begin();
	ok(ppoll(fds, 2, &patience, NULL) == 1 && fds[0].revents == POLLOUT,
	   "ppoll: the program sees no error");
	check_connected(fds[0].fd, "ppoll");

	/* The same descriptor in two places */
	fds[0].fd = begin();
	fds[1] = fds[0];
	ok(poll(fds, 2, -1) == 2 && fds[0].revents == POLLOUT &&
	   fds[1].revents == POLLOUT, "poll: twice the same descriptor");
	check_connected(fds[0].fd, "poll, twice");
}

static void test_select(void)
{
	struct timespec ts = { PATIENCE / 1000, 0 };
	struct timeval tv = { PATIENCE / 1000, 0 };
	fd_set in, out, except;
	int fd = begin();

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	FD_SET(fd, &except);
	ok(select(fd + 1, &in, &out, &except, &tv) == 1 && !FD_ISSET(fd, &in) &&
	   FD_ISSET(fd, &out), "select: the program sees no error");
	ok(tv.tv_sec < PATIENCE / 1000 && tv.tv_sec >= PATIENCE / 1000 - 3,
	   "select: the time that is left");
	check_connected(fd, "select");

	fd = begin();
	FD_ZERO(&out);
	FD_SET(fd, &out);
	ok(pselect(fd + 1, NULL, &out, NULL, &ts, NULL) == 1 &&
	   FD_ISSET(fd, &out), "pselect: the program sees no error");
	check_connected(fd, "pselect");
}

static void test_epoll(uint32_t flags, const char *way)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | flags };
	struct epoll_event later = { .events = EPOLLIN };
	int epfd = epoll_create1(0), other = epoll_create1(0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	event.data.u64 = 0x1122334455667788;
	epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &later);
	epoll_ctl(other, EPOLL_CTL_ADD, fd, &later);
	tcp_connect(fd, &server);
	epoll_ctl(epfd, EPOLL_CTL_MOD, fd, &event);
	ok(!epoll_ctl(other, EPOLL_CTL_DEL, fd, NULL),
	   "%s: removed from another set", way);
	memset(&event, 0, sizeof(event));
	ok(epoll_wait(epfd, &event, 1, PATIENCE) == 1 &&
	   event.events == EPOLLOUT && event.data.u64 == 0x1122334455667788,
	   "%s: the event of the last registration, without an error", way);
	fails(epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event), EEXIST,
	      "%s: it is registered", way);
	ok(!epoll_ctl(other, EPOLL_CTL_ADD, fd, &event),
	   "%s: not in the other set", way);
	check_connected(fd, way);
	ok(epoll_wait(epfd, &event, 1, 0) == 0, "%s: closed", way);
	close(epfd);
	close(other);
}

/* A registration from before a connect() that blocks */
static void test_epoll_blocking(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 3 };
	int epfd = epoll_create1(0), accepted;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event);
	ok(!tcp_connect(fd, &server) && !is_stream(fd),
	   "epoll, blocking: connected");
	ok(epoll_wait(epfd, &event, 1, 0) == 0, "epoll, blocking: no event");
	accepted = accept(server.fd, NULL, NULL);
	write(accepted, "x", 1);
	ok(epoll_wait(epfd, &event, 1, PATIENCE) == 1 &&
	   event.events == EPOLLIN && event.data.u32 == 3,
	   "epoll, blocking: the registration is kept");
	ok(!epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL),
	   "epoll, blocking: and can be removed");
	close(accepted);
	close(fd);
	close(epfd);
}

/* Ten at once, and among them one that is no connection */
static void test_many(void)
{
	struct epoll_event event = { .events = EPOLLOUT }, events[16];
	int epfd = epoll_create1(0), fds[10], pipes[2], i, fd, got,
	    all = 0;
	int64_t end = check_msec() + PATIENCE;
	bool piped = false;

	if (pipe(pipes))
		return;
	for (i = 0; i < 10; i++) {
		fds[i] = begin();
		event.data.u32 = i;
		epoll_ctl(epfd, EPOLL_CTL_ADD, fds[i], &event);
	}
	event.events = EPOLLIN | EPOLLET;
	event.data.u32 = 99;
	epoll_ctl(epfd, EPOLL_CTL_ADD, pipes[0], &event);
	write(pipes[1], "x", 1);
	while (all < 10 && check_msec() < end) {
		got = epoll_pwait(epfd, events, 16, 1000, NULL);
		for (i = 0; i < got; i++) {
			if (events[i].data.u32 == 99) {
				piped = true;
				continue;
			}
			fd = fds[events[i].data.u32];
			if (events[i].events == EPOLLOUT &&
			    !get_int(fd, SOL_SOCKET, SO_ERROR))
				all++;
			epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL);
		}
	}
	ok(all == 10, "ten connections at once");
	ok(piped, "events of other descriptors are not lost");
	for (i = 0; i < 10; i++) {
		check_state(fds[i], "one of ten");
		close(fds[i]);
		close(accept(server.fd, NULL, NULL));
	}
	close(epfd);
	close(pipes[0]);
	close(pipes[1]);
}

static void *wait_for_event(void *arg)
{
	static struct epoll_event event;

	if (epoll_wait(*(int *)arg, &event, 1, PATIENCE) != 1)
		return NULL;
	return &event;
}

/* A thread waits already when another begins to connect. */
static void test_thread(void)
{
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	int epfd = epoll_create1(0), fd;
	pthread_t thread;
	void *got;

	pthread_create(&thread, NULL, wait_for_event, &epfd);
	usleep(100000);
	fd = begin();
	epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event);
	pthread_join(thread, &got);
	ok(got && ((struct epoll_event *)got)->events == EPOLLOUT,
	   "threads: the event of TCP, in the thread that waits");
	check_connected(fd, "threads");
	close(epfd);
}

/* A program that waits in a way that is not intercepted: here it sleeps. */
static void test_so_error(void)
{
	int fd = begin();

	ok(get_int(fd, SOL_SOCKET, SO_ERROR) == 0 && is_stream(fd),
	   "SO_ERROR: in progress");
	usleep(1500000);
	check_connected(fd, "SO_ERROR");
}

/* A program that calls connect() again to learn of the end */
static void test_connect_again(void)
{
	int64_t end = check_msec() + PATIENCE;
	int fd = begin();

	fails(tcp_connect(fd, &server), EALREADY, "connect again: in progress");
	do {
		usleep(10000);
		errno = 0;
		if (!tcp_connect(fd, &server) || errno == EISCONN)
			break;
	} while ((errno == EALREADY || errno == EINPROGRESS) &&
		 check_msec() < end);
	ok(!errno || errno == EISCONN, "connect again: connected");
	check_connected(fd, "connect again");
}

/* TCP finds the port closed. */
static void test_refused_by_tcp(void)
{
	struct pollfd pfd = { .events = POLLOUT };
	struct tcp_server none = server;

	none.name.sin_port = htons(1);
	pfd.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	tcp_connect(pfd.fd, &none);
	ok(poll(&pfd, 1, PATIENCE) == 1, "refused by TCP: poll returns");
	ok(get_int(pfd.fd, SOL_SOCKET, SO_ERROR) == ECONNREFUSED,
	   "refused by TCP: SO_ERROR");
	ok(get_int(pfd.fd, SOL_SOCKET, SO_ERROR) == 0,
	   "refused by TCP: SO_ERROR tells it once");
	ok(!is_stream(pfd.fd), "refused by TCP: it has tried");
	close(pfd.fd);
}

/*
 * TCP fails at once: another socket has the port to which the program has bound
 * the stream. Here it is the stream, which is a socket of TCP in truth.
 */
static void test_failed_at_once(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockaddr_in name = { .sin_family = AF_INET };
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	name.sin_port = htons(7599);
	bind(fd, (struct sockaddr *)&name, sizeof(name));
	tcp_connect(fd, &server);
	ok(poll(&pfd, 1, PATIENCE) == 1 && (pfd.revents & (POLLERR | POLLHUP)),
	   "no port: poll tells of an error");
	ok(get_int(fd, SOL_SOCKET, SO_ERROR) == EADDRINUSE,
	   "no port: SO_ERROR");
	close(fd);
}

/* A closed port of a peer with streams is no matter for TCP. */
static void test_refused_by_peer(void)
{
	struct pollfd pfd = { .events = POLLOUT };
	struct sockaddr_storage name;
	socklen_t len;
	int error;

	pfd.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	len = check_name(AF_INET, &name, 1);
	error = connect(pfd.fd, (struct sockaddr *)&name, len) ? errno : 0;
	if (error == EINPROGRESS) {
		poll(&pfd, 1, PATIENCE);
		error = get_int(pfd.fd, SOL_SOCKET, SO_ERROR);
	}
	ok(error == ECONNREFUSED, "refused by the peer: SO_ERROR");
	ok(is_stream(pfd.fd), "refused by the peer: still a stream");
	close(pfd.fd);
}

/* A connection in progress that the program gives up */
static void test_given_up(void)
{
	struct pollfd pfd = { .events = POLLOUT };
	int fd = begin(), copy;

	close(fd);
	copy = begin();
	ok(copy == fd, "given up: another has its number");
	pfd.fd = copy;
	ok(poll(&pfd, 1, PATIENCE) == 1 && pfd.revents == POLLOUT,
	   "given up: the other is connected");
	check_connected(copy, "given up");
}

int main(int argc, char **argv)
{
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	tcp_serve(&server, argc > 1 ? NO_STREAMS : NO_RDS);
	test_poll();
	test_select();
	test_epoll(0, "epoll");
	test_epoll(EPOLLET, "epoll, edge-triggered");
	test_epoll(EPOLLONESHOT, "epoll, one shot");
	test_epoll_blocking();
	test_many();
	test_thread();
	test_so_error();
	test_connect_again();
	test_refused_by_tcp();
	test_failed_at_once();
	test_refused_by_peer();
	test_given_up();
	return check_end();
}
