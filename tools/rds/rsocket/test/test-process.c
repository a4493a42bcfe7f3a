// SPDX-License-Identifier: GPL-2.0
/*
 * An rsocket is an ordinary descriptor: it outlives fork() and exec(), can be
 * duplicated and passed on, and ordinary calls work on it.
 *
 *	test-process		the tests
 *	test-process child FD	what exec() starts: answer on FD
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "check.h"

static int echo_once(int fd)
{
	char buffer[100];
	ssize_t got = rrecv(fd, buffer, sizeof(buffer), 0);

	return got > 0 && rsend(fd, buffer, got, 0) == got ? 0 : 1;
}

static bool echoed(int fd, const char *text)
{
	char buffer[100];
	ssize_t len = strlen(text);

	return rsend(fd, text, len, 0) == len &&
	       rrecv(fd, buffer, len, MSG_WAITALL) == len &&
	       !memcmp(buffer, text, len);
}

static bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

/* A server that accepts, and then forks off a process for the connection */
static void test_fork_after_accept(void)
{
	struct pair pair;
	char byte;
	pid_t pid;

	ok(check_pair(AF_INET, &pair), "fork: a connection");
	pid = check_fork();
	if (!pid)
		_exit(echo_once(pair.server));
	rclose(pair.server);
	ok(echoed(pair.client, "to the child"),
	   "fork: the child serves the connection");
	ok(ended_well(pid), "fork: the child ends well");
	ok(rrecv(pair.client, &byte, 1, 0) == 0,
	   "fork: the connection ends with its last descriptor");
	pair.server = -1;
	check_close(&pair);
}

/* Use what the library keeps about a socket until @stop. */
static void *keep_using(void *stop)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), value = 0;

	for (; !atomic_load((atomic_bool *)stop); value++)
		rsetsockopt(fd, SOL_RDMA, RDMA_INLINE, &value, sizeof(value));
	rclose(fd);
	return NULL;
}

/* A child of any thread can go on, whatever other threads did meanwhile. */
static void test_fork_beside(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), i, well = 0;
	atomic_bool stop = false;
	pthread_t thread;
	pid_t pid;

	if (pthread_create(&thread, NULL, keep_using, &stop))
		abort();
	for (i = 0; i < 100; i++) {
		pid = check_fork();
		if (!pid) {
			alarm(10);
			_exit(rclose(fd));
		}
		well += ended_well(pid);
		if (well <= i)
			break;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	ok(well == 100, "fork: beside a thread that sets options");
	rclose(fd);
}

/* Children that share a listener, and a child that connects */
static void test_fork_before(void)
{
	struct sockaddr_storage name;
	int listener, fd, i, served = 0;
	socklen_t len;
	pid_t pids[3];

	listener = check_listen(AF_INET, &name, &len);
	for (i = 0; i < 3; i++) {
		pids[i] = check_fork();
		if (!pids[i])
			_exit(echo_once(raccept(listener, NULL, NULL)));
	}
	for (i = 0; i < 3; i++) {
		fd = rsocket(AF_INET, SOCK_STREAM, 0);
		if (!rconnect(fd, (struct sockaddr *)&name, len) &&
		    echoed(fd, "one of three"))
			served++;
		rclose(fd);
	}
	ok(served == 3, "fork: three children accept from one listener");
	for (i = 0, served = 0; i < 3; i++)
		served += ended_well(pids[i]);
	ok(served == 3, "fork: each of them served one connection");
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	pids[0] = check_fork();
	if (!pids[0])
		_exit(rconnect(fd, (struct sockaddr *)&name, len) ||
		      !echoed(fd, "the child connects"));
	i = raccept(listener, NULL, NULL);
	ok(!echo_once(i) && ended_well(pids[0]),
	   "fork: a child connects a socket of its parent");
	rclose(i);
	rclose(fd);
	rclose(listener);
}

static void test_exec(const char *self)
{
	struct pair pair;
	char number[20];
	pid_t pid;

	check_pair(AF_INET, &pair);
	snprintf(number, sizeof(number), "%d", pair.server);
	pid = check_fork();
	if (!pid) {
		execl(self, self, "child", number, NULL);
		_exit(127);
	}
	ok(echoed(pair.client, "to another program"),
	   "exec: another program has the connection");
	ok(ended_well(pid), "exec: that program ends well");
	check_close(&pair);
}

static void test_dup(void)
{
	struct pair pair;
	int copy, other;

	check_pair(AF_INET, &pair);
	copy = dup(pair.client);
	ok(check_exchange(copy, pair.server), "dup: the copy sends");
	rclose(pair.client);
	ok(check_exchange(pair.server, copy) &&
	   check_exchange(copy, pair.server),
	   "dup: the copy outlives the original");
	other = rfcntl(copy, F_DUPFD, 50);
	ok(other >= 50 && check_exchange(other, pair.server),
	   "rfcntl: F_DUPFD");
	ok(dup2(copy, 60) == 60 && check_exchange(60, pair.server), "dup2");
	rclose(60);
	rclose(other);
	pair.client = copy;
	check_close(&pair);
}

static void test_passing(void)
{
	union {
		char		room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr	align;
	} control;
	char byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int unix_pair[2], fd = -1;
	struct pair pair;

	check_pair(AF_INET, &pair);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, unix_pair))
		return;
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &pair.server, sizeof(int));
	sendmsg(unix_pair[0], &msg, 0);
	rclose(pair.server);
	msg.msg_controllen = sizeof(control.room);
	if (recvmsg(unix_pair[1], &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	ok(fd >= 0 && check_exchange(pair.client, fd),
	   "passing: the connection in another descriptor");
	pair.server = fd;
	close(unix_pair[0]);
	close(unix_pair[1]);
	check_close(&pair);
}

/* Calls of the system, and of the C library, that have no call with an r */
static void test_ordinary_calls(void)
{
	char text[] = "0123456789", got[20];
	struct iovec iov = { text, 10 };
	struct mmsghdr many = { .msg_hdr = { .msg_iov = &iov,
					     .msg_iovlen = 1 } };
	char name[] = "/tmp/rds-rsocket-test-XXXXXX";
	int file = mkstemp(name), pipes[2], waiting = 0, i;
	struct pair pair;
	off_t at = 0;

	unlink(name);
	check_pair(AF_INET, &pair);
	ok(send(pair.client, text, 10, 0) == 10 &&
	   recv(pair.server, got, 10, MSG_WAITALL) == 10, "send and recv");
	ok(sendmmsg(pair.client, &many, 1, 0) == 1 && many.msg_len == 10,
	   "sendmmsg");
	for (i = 0; i < 1000 && waiting < 10; i++) {
		ioctl(pair.server, FIONREAD, &waiting);
		usleep(1000);
	}
	ok(waiting == 10, "ioctl: FIONREAD");
	ok(read(pair.server, got, sizeof(got)) == 10, "read");
	if (write(file, text, 10) != 10 || pipe(pipes))
		return;
	ok(sendfile(pair.client, file, &at, 10) == 10 && at == 10 &&
	   recv(pair.server, got, 10, MSG_WAITALL) == 10 &&
	   !memcmp(got, text, 10), "sendfile: and it moves the offset");
	write(pair.client, text, 10);
	ok(splice(pair.server, NULL, pipes[1], NULL, 10, 0) == 10 &&
	   read(pipes[0], got, 20) == 10 && !memcmp(got, text, 10),
	   "splice: to a pipe");
	close(file);
	close(pipes[0]);
	close(pipes[1]);
	check_close(&pair);
}

static void test_stdio(void)
{
	struct pair pair;
	char line[50];
	FILE *stream;

	check_pair(AF_INET, &pair);
	stream = fdopen(pair.server, "r+");
	rwrite(pair.client, "a line\n", 7);
	ok(stream && fgets(line, sizeof(line), stream) &&
	   !strcmp(line, "a line\n"), "fdopen and fgets");
	pair.server = -1;
	fclose(stream);
	check_close(&pair);
}

/* Many threads make, use and close sockets at the same time. */
static void *churn(void *arg)
{
	long i, good = 0, value = 5;
	struct pair pair;
	int copy;

	(void)arg;
	for (i = 0; i < 100; i++) {
		if (!check_pair(AF_INET, &pair))
			continue;
		rsetsockopt(pair.client, SOL_RDMA, RDMA_INLINE, &value,
			    sizeof(int));
		copy = rfcntl(pair.client, F_DUPFD, 0);
		rsend(copy, &i, sizeof(i), 0);
		value = -1;
		rrecv(pair.server, &value, sizeof(value), MSG_WAITALL);
		good += value == i;
		rclose(copy);
		check_close(&pair);
	}
	return (void *)good;
}

static void test_threads(void)
{
	pthread_t threads[4];
	void *good;
	int i, all = 0;

	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &good);
		all += (long)good;
	}
	ok(all == 400, "threads: 400 connections");
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return echo_once(atoi(argv[2]));
	test_fork_after_accept();
	test_fork_before();
	test_fork_beside();
	test_exec(argv[0]);
	test_dup();
	test_passing();
	test_ordinary_calls();
	test_stdio();
	test_threads();
	return check_end();
}
