// SPDX-License-Identifier: GPL-2.0
/*
 * A program of TCP, which rds-run runs: are its sockets streams, and does TCP
 * take over where the peer has none? See the list at the end for the tests.
 *
 * The library that stands for the kernel refuses streams at 127.0.0.8 and
 * 127.0.0.9. The servers of TCP there are made by a system call, which nobody
 * intercepts.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

#include "check.h"
#include "preload.h"

static void test_sockets(void)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int i, fd;

	for (i = 0; i < 2; i++) {
		check_prefix = i ? "IPv6: " : "IPv4: ";
		fd = socket(families[i], SOCK_STREAM, 0);
		ok(is_stream(fd), "a socket is a stream");
		ok(get_int(fd, SOL_SOCKET, SO_DOMAIN) == families[i],
		   "SO_DOMAIN: what the program asked for");
		ok(get_int(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP,
		   "SO_PROTOCOL: TCP");
		ok(get_int(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM,
		   "SO_TYPE: SOCK_STREAM");
		close(fd);
		fd = socket(families[i], SOCK_STREAM, IPPROTO_TCP);
		ok(is_stream(fd), "with IPPROTO_TCP, too");
		close(fd);
		fd = socket(families[i], SOCK_STREAM | SOCK_NONBLOCK |
			    SOCK_CLOEXEC, 0);
		ok(is_stream(fd) && (fcntl(fd, F_GETFL) & O_NONBLOCK) &&
		   fcntl(fd, F_GETFD) == FD_CLOEXEC,
		   "with SOCK_NONBLOCK and SOCK_CLOEXEC, too");
		close(fd);
		fd = socket(families[i], SOCK_DGRAM, 0);
		ok(fd >= 0 && !is_stream(fd), "a socket of datagrams is not");
		close(fd);
	}
	check_prefix = "";
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ok(fd >= 0 && !is_stream(fd), "a socket of AF_UNIX is not");
	close(fd);
}

static void test_streams(void)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct sockaddr_storage name;
	int listener, client, server, i;
	socklen_t len;

	for (i = 0; i < 2; i++) {
		check_prefix = i ? "IPv6: " : "IPv4: ";
		listener = socket(families[i], SOCK_STREAM, 0);
		len = check_name(families[i], &name, 0);
		bind(listener, (struct sockaddr *)&name, len);
		ok(!listen(listener, 5), "a listener");
		getsockname(listener, (struct sockaddr *)&name, &len);
		client = socket(families[i], SOCK_STREAM, 0);
		ok(!connect(client, (struct sockaddr *)&name, len),
		   "a connection");
		server = accept(listener, NULL, NULL);
		ok(is_stream(client) && is_stream(server),
		   "both ends are streams");
		ok(get_int(server, SOL_SOCKET, SO_DOMAIN) == families[i],
		   "SO_DOMAIN of an accepted socket");
		ok(exchange(client, server) && exchange(server, client),
		   "data in both directions");
		close(client);
		close(server);
		close(listener);
	}
	check_prefix = "";
	client = socket(AF_INET, SOCK_STREAM, 0);
	len = check_name(AF_INET, &name, 9);
	fails(connect(client, (struct sockaddr *)&name, len), ECONNREFUSED,
	      "a closed port of a peer with streams");
	ok(is_stream(client), "TCP does not try a closed port");
	close(client);
}

/* TCP takes over: the descriptor, the flags and the family stay. */
static void test_fallback(void)
{
	static const char *const hosts[] = { NO_RDS, NO_STREAMS };
	struct tcp_server server;
	int i, fd;

	for (i = 0; i < 2; i++) {
		check_prefix = i ? "no streams: " : "no RDS: ";
		tcp_serve(&server, hosts[i]);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		ok(!tcp_connect(fd, &server), "connected all the same");
		ok(!is_stream(fd), "by TCP");
		ok(tcp_accept(fd, &server), "data in both directions");
		ok(get_int(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET,
		   "the family is the same");
		ok(!(fcntl(fd, F_GETFL) & O_NONBLOCK) && !fcntl(fd, F_GETFD),
		   "no flags of the descriptor");
		fails(tcp_connect(fd, &server), EISCONN, "connected twice");
		close(fd);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ok(!tcp_connect(fd, &server) &&
		   fcntl(fd, F_GETFD) == FD_CLOEXEC, "SOCK_CLOEXEC is kept");
		tcp_accept(fd, &server);
		close(fd);
		close(server.fd);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		fails(tcp_connect(fd, &server), ECONNREFUSED,
		      "a port that TCP finds closed");
		ok(!is_stream(fd), "TCP has tried");
		close(fd);
	}
	check_prefix = "";
}

/* The name of an IPv4 host for a socket of IPv6 */
static void test_mapped(void)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6 };
	struct tcp_server server;
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	tcp_serve(&server, NO_RDS);
	inet_pton(AF_INET6, "::ffff:" NO_RDS, &name.sin6_addr);
	name.sin6_port = server.name.sin_port;
	ok(!connect(fd, (struct sockaddr *)&name, sizeof(name)) &&
	   !is_stream(fd), "IPv6: by TCP to a mapped address");
	ok(get_int(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6,
	   "IPv6: the family is the same");
	ok(tcp_accept(fd, &server), "IPv6: data in both directions");
	close(fd);
	close(server.fd);
}

static void test_options(void)
{
	static const struct linger linger = { 1, 3 };
	static const struct timeval time = { 7, 0 };
	socklen_t len = sizeof(linger);
	struct tcp_server server;
	struct linger got_linger;
	struct timeval got_time;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	tcp_serve(&server, NO_RDS);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, IPPROTO_IP, IP_TOS, 8);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 20000);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 30000);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 40000);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	ok(!tcp_connect(fd, &server) && !is_stream(fd), "options: by TCP");
	ok(get_int(fd, SOL_SOCKET, SO_KEEPALIVE) == 1, "SO_KEEPALIVE is kept");
	ok(get_int(fd, IPPROTO_TCP, TCP_NODELAY) == 1, "TCP_NODELAY is kept");
	ok(get_int(fd, IPPROTO_IP, IP_TOS) == 8, "IP_TOS is kept");
	ok(get_int(fd, SOL_SOCKET, SO_SNDBUF) == 60000,
	   "SO_SNDBUF is what was set last");
	ok(get_int(fd, SOL_SOCKET, SO_RCVBUF) == 80000, "SO_RCVBUF is kept");
	ok(!getsockopt(fd, SOL_SOCKET, SO_LINGER, &got_linger, &len) &&
	   got_linger.l_onoff == 1 && got_linger.l_linger == 3,
	   "SO_LINGER is kept");
	len = sizeof(got_time);
	ok(!getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &got_time, &len) &&
	   got_time.tv_sec == 7, "SO_RCVTIMEO is kept");
	ok(tcp_accept(fd, &server), "options: data in both directions");
	close(fd);
	close(server.fd);
}

static void bind_to(int fd, const char *host, int port)
{
	struct sockaddr_in name = { .sin_family = AF_INET };

	inet_pton(AF_INET, host, &name.sin_addr);
	name.sin_port = htons(port);
	bind(fd, (struct sockaddr *)&name, sizeof(name));
}

/* The local host of a connected socket, and its port */
static bool local_is(int fd, const char *host, int port)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	char text[INET_ADDRSTRLEN];

	getsockname(fd, (struct sockaddr *)&name, &len);
	inet_ntop(AF_INET, &name.sin_addr, text, sizeof(text));
	return !strcmp(text, host) && (!port || ntohs(name.sin_port) == port);
}

static void test_bound(void)
{
	struct tcp_server server, other;
	int fd, port;

	tcp_serve(&server, NO_RDS);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	bind_to(fd, "127.0.0.3", 0);
	port = check_port(fd);
	ok(!tcp_connect(fd, &server) && !is_stream(fd) &&
	   local_is(fd, "127.0.0.3", port),
	   "bind: the address and the port that the program was told");
	ok(get_int(fd, SOL_SOCKET, SO_REUSEADDR) == 1, "SO_REUSEADDR is kept");
	tcp_accept(fd, &server);
	close(fd);

	/* Here the stream has the port in the eyes of TCP. */
	fd = socket(AF_INET, SOCK_STREAM, 0);
	bind_to(fd, "127.0.0.3", 0);
	ok(!tcp_connect(fd, &server) && !is_stream(fd) &&
	   local_is(fd, "127.0.0.3", 0),
	   "bind: another port if TCP uses the one that was chosen");
	tcp_accept(fd, &server);
	close(fd);

	tcp_serve(&other, "127.0.0.4");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	bind_to(fd, "127.0.0.3", ntohs(other.name.sin_port));
	ok(!tcp_connect(fd, &server) &&
	   local_is(fd, "127.0.0.3", ntohs(other.name.sin_port)),
	   "bind: the port that the program chose");
	tcp_accept(fd, &server);
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ok(!tcp_connect(fd, &server) && !is_stream(fd),
	   "not bound: any address");
	tcp_accept(fd, &server);
	close(fd);
	close(server.fd);
	close(other.fd);
}

/* All descriptors of the stream become descriptors of the socket of TCP. */
static void test_dup(void)
{
	struct tcp_server server;
	int fds[5], i;

	tcp_serve(&server, NO_RDS);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	fds[1] = dup(fds[0]);
	fds[2] = dup2(fds[0], 100);
	fds[3] = dup3(fds[0], 101, O_CLOEXEC);
	fds[4] = fcntl(fds[1], F_DUPFD, 102);
	ok(!tcp_connect(fds[2], &server), "dup: connected by a copy");
	for (i = 0; i < 5; i++)
		ok(!is_stream(fds[i]) && fcntl(fds[i], F_GETFD) ==
		   (i == 3 ? FD_CLOEXEC : 0),
		   "dup: descriptor %d is one of TCP", i);
	ok(tcp_accept(fds[4], &server), "dup: data by another copy");
	for (i = 0; i < 5; i++)
		close(fds[i]);

	/* A copy that was closed, and a number that was used again */
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	fds[1] = dup(fds[0]);
	close(fds[1]);
	fds[2] = open("/dev/null", O_RDONLY);
	ok(fds[2] == fds[1] && !tcp_connect(fds[0], &server) &&
	   !is_stream(fds[0]), "dup: one copy is closed");
	ok(read(fds[2], &i, 1) == 0, "dup: the file with its number stays");
	tcp_accept(fds[0], &server);
	close(fds[0]);
	close(fds[2]);
	close(server.fd);
}

static void test_fork(void)
{
	struct tcp_server server;
	int fd, status;
	pid_t pid;

	tcp_serve(&server, NO_RDS);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	pid = check_fork();
	if (!pid)
		_exit(tcp_connect(fd, &server) || is_stream(fd) ||
		      get_int(fd, SOL_SOCKET, SO_KEEPALIVE) != 1 ||
		      !tcp_accept(fd, &server));
	ok(waitpid(pid, &status, 0) == pid && !status,
	   "fork: a child connects its parent's socket");
	ok(is_stream(fd), "fork: the parent's descriptor is as before");
	ok(!tcp_connect(fd, &server) && !is_stream(fd) &&
	   tcp_accept(fd, &server), "fork: the parent connects, too");
	close(fd);

	fd = socket(AF_INET, SOCK_STREAM, 0);
	ok(!tcp_connect(fd, &server), "fork: a connection");
	pid = check_fork();
	if (!pid)
		_exit(is_stream(fd) || !tcp_accept(fd, &server));
	ok(waitpid(pid, &status, 0) == pid && !status,
	   "fork: a child uses the connection");
	close(fd);
	close(server.fd);
}

/* The program that exec() starts connects a socket made before. */
static void test_exec(const char *self)
{
	struct tcp_server server;
	char fd_text[20], port_text[20];
	int fd, status;
	pid_t pid;

	tcp_serve(&server, NO_RDS);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	snprintf(fd_text, sizeof(fd_text), "%d", fd);
	snprintf(port_text, sizeof(port_text), "%d",
		 ntohs(server.name.sin_port));
	pid = check_fork();
	if (!pid) {
		execl(self, self, "exec", fd_text, port_text, NULL);
		_exit(127);
	}
	ok(waitpid(pid, &status, 0) == pid && !status,
	   "exec: another program connects the socket, with its options");
	close(fd);
	close(server.fd);
}

static int after_exec(int fd, int port)
{
	struct tcp_server server = { .name.sin_family = AF_INET };

	inet_pton(AF_INET, NO_RDS, &server.name.sin_addr);
	server.name.sin_port = htons(port);
	if (!is_stream(fd) || tcp_connect(fd, &server) || is_stream(fd))
		return 1;
	return get_int(fd, SOL_SOCKET, SO_KEEPALIVE) == 1 &&
	       get_int(fd, IPPROTO_TCP, TCP_NODELAY) == 1 ? 0 : 2;
}

static void test_strict(void)
{
	struct pollfd pfd = { .events = POLLOUT };
	struct tcp_server server;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	tcp_serve(&server, NO_RDS);
	fails(tcp_connect(fd, &server), ECONNREFUSED,
	      "strict: the peer has no RDS");
	ok(is_stream(fd), "strict: it is still a stream");
	close(fd);
	pfd.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	fails(tcp_connect(pfd.fd, &server), EINPROGRESS,
	      "strict: O_NONBLOCK");
	ok(poll(&pfd, 1, 5000) == 1 && (pfd.revents & POLLERR),
	   "strict: poll tells of the error");
	ok(get_int(pfd.fd, SOL_SOCKET, SO_ERROR) == ECONNREFUSED,
	   "strict: SO_ERROR");
	ok(is_stream(pfd.fd), "strict: it is still a stream");
	close(pfd.fd);
	close(server.fd);
}

/* Print what a socket is, for the tests of configuration files. */
static int print_kind(void)
{
	int fd4 = socket(AF_INET, SOCK_STREAM, 0);
	int fd6 = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd4 < 0) {
		perror("socket");
		return 1;
	}
	printf("inet %s\ninet6 %s\n", is_stream(fd4) ? "stream" : "tcp",
	       is_stream(fd6) ? "stream" : "tcp");
	return 0;
}

/* Print what a socket is that listens on this port, and one connected to it. */
static int print_port(int port)
{
	struct sockaddr_storage name;
	int one, two;
	socklen_t len;

	len = check_name(AF_INET, &name, port);
	one = socket(AF_INET, SOCK_STREAM, 0);
	set_int(one, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(one, (struct sockaddr *)&name, len) || listen(one, 1)) {
		perror("listen");
		return 1;
	}
	two = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(two, (struct sockaddr *)&name, len)) {
		perror("connect");
		return 1;
	}
	printf("listen %s\nconnect %s\n", is_stream(one) ? "stream" : "tcp",
	       is_stream(two) ? "stream" : "tcp");
	return 0;
}

/* What the library makes of a program's times to wait is what the C library and
 * the kernel make of them.
 */
static void test_times(void)
{
	struct timespec bad = { .tv_nsec = 1000000000 };
	struct timeval tv = { .tv_usec = 2500000 };
	struct pollfd pfd = { .events = POLLIN };
	int pipes[2];
	fd_set in;

	if (pipe(pipes) || write(pipes[1], "x", 1) != 1)
		abort();
	pfd.fd = pipes[0];
	FD_ZERO(&in);
	FD_SET(pipes[0], &in);
	ok(select(pipes[0] + 1, &in, NULL, NULL, &tv) == 1,
	   "select: microseconds for more than a second");
	ok(tv.tv_sec == 2 && tv.tv_usec < 500000,
	   "select: what is left of them");
	tv = (struct timeval){ .tv_sec = -1 };
	ok(select(0, NULL, NULL, NULL, &tv) == -1 && errno == EINVAL,
	   "select: a time before now");
	tv = (struct timeval){ .tv_usec = -1 };
	ok(select(0, NULL, NULL, NULL, &tv) == -1 && errno == EINVAL,
	   "select: negative microseconds");
	tv = (struct timeval){ .tv_sec = LONG_MAX, .tv_usec = LONG_MAX };
	ok(select(pipes[0] + 1, &in, NULL, NULL, &tv) == 1,
	   "select: the longest time");
	ok(ppoll(&pfd, 1, &bad, NULL) == -1 && errno == EINVAL,
	   "ppoll: a second of nanoseconds");
	ok(pselect(0, NULL, NULL, NULL, &bad, NULL) == -1 && errno == EINVAL,
	   "pselect: a second of nanoseconds");
	close(pipes[0]);
	close(pipes[1]);
}

int main(int argc, char **argv)
{
	const char *test = argc > 1 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(test, "kind"))
		return print_kind();
	if (!strcmp(test, "port") && argc == 3)
		return print_port(atoi(argv[2]));
	if (!strcmp(test, "exec") && argc == 4)
		return after_exec(atoi(argv[2]), atoi(argv[3]));
	if (!strcmp(test, "streams")) {
		test_sockets();
		test_streams();
		test_times();
	} else if (!strcmp(test, "fallback")) {
		test_fallback();
		test_mapped();
		test_options();
		test_bound();
		test_dup();
		test_fork();
		test_exec(argv[0]);
	} else if (!strcmp(test, "strict")) {
		test_strict();
	} else {
		return 2;
	}
	return check_end();
}
