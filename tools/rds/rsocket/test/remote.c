// SPDX-License-Identifier: GPL-2.0
/*
 * A program of TCP, which rds-run runs: it connects to a host without streams,
 * on which a server sends back what it receives: remote HOST PORT
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "check.h"
#include "preload.h"

#define PATIENCE	30000	/* ms */

static struct tcp_server server;

static void test_blocking(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	ok(!tcp_connect(fd, &server), "connected");
	ok(!is_stream(fd), "by TCP");
	ok(fcntl(fd, F_GETFD) == FD_CLOEXEC &&
	   get_int(fd, IPPROTO_TCP, TCP_NODELAY) == 1,
	   "flags and options are kept");
	ok(exchange(fd, fd), "data in both directions");
	close(fd);
}

static void finish(int fd, const char *way)
{
	ok(get_int(fd, SOL_SOCKET, SO_ERROR) == 0, "%s: no error", way);
	ok(!is_stream(fd), "%s: TCP", way);
	fcntl(fd, F_SETFL, 0);
	ok(exchange(fd, fd), "%s: data in both directions", way);
	close(fd);
}

static int begin(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int ret = tcp_connect(fd, &server);

	ok(!ret || errno == EINPROGRESS, "without blocking");
	return fd;
}

static void test_poll(void)
{
	struct pollfd pfd = { .fd = begin(), .events = POLLOUT };

	ok(poll(&pfd, 1, PATIENCE) == 1 && pfd.revents == POLLOUT,
	   "poll: connected");
	finish(pfd.fd, "poll");
}

static void test_epoll(void)
{
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	int epfd = epoll_create1(0), fd = begin();

	epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event);
	ok(epoll_wait(epfd, &event, 1, PATIENCE) == 1 &&
	   event.events == EPOLLOUT, "epoll: connected");
	finish(fd, "epoll");
	close(epfd);
}

static void test_again(void)
{
	int64_t end = check_msec() + PATIENCE;
	int fd = begin();

	while (tcp_connect(fd, &server) && errno != EISCONN &&
	       check_msec() < end)
		usleep(10000);
	finish(fd, "connect again");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	server.name.sin_family = AF_INET;
	server.name.sin_port = htons(atoi(argv[2]));
	inet_pton(AF_INET, argv[1], &server.name.sin_addr);
	test_blocking();
	test_poll();
	test_epoll();
	test_again();
	return check_end();
}
