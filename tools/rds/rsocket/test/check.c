// SPDX-License-Identifier: GPL-2.0
/* Results, and pairs of connected sockets, for the programs of this test */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <netinet/in.h>

#include "check.h"

const char *check_prefix = "";

static int failed;

void check_result(bool good, int line, const char *format, ...)
{
	int error = errno;
	va_list args;

	printf("%s - %s", good ? "ok" : "not ok", check_prefix);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	if (!good) {
		printf("# line %d, errno %d (%s)\n", line, error,
		       strerror(error));
		failed++;
	}
	fflush(stdout);
	errno = error;
}

/* The runner expects this line; a program that stops early lacks it. */
int check_end(void)
{
	printf("# end\n");
	return failed ? 1 : 0;
}

socklen_t check_name(int family, struct sockaddr_storage *name, int port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)name;
	struct sockaddr_in *sin = (struct sockaddr_in *)name;

	memset(name, 0, sizeof(*name));
	name->ss_family = family;
	if (family == AF_INET6) {
		sin6->sin6_addr = in6addr_loopback;
		sin6->sin6_port = htons(port);
		return sizeof(*sin6);
	}
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin->sin_port = htons(port);
	return sizeof(*sin);
}

/* Return the port that @fd is bound to. */
int check_port(int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	if (rgetsockname(fd, (struct sockaddr *)&name, &len))
		return -1;
	if (name.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&name)->sin6_port);
	return ntohs(((struct sockaddr_in *)&name)->sin_port);
}

int check_listen(int family, struct sockaddr_storage *name, socklen_t *len)
{
	int fd = rsocket(family, SOCK_STREAM, 0);

	*len = check_name(family, name, 0);
	if (fd < 0 || rbind(fd, (struct sockaddr *)name, *len) ||
	    rlisten(fd, 16))
		return -1;
	*len = sizeof(*name);
	if (rgetsockname(fd, (struct sockaddr *)name, len))
		return -1;
	return fd;
}

bool check_pair(int family, struct pair *pair)
{
	struct sockaddr_storage name;
	socklen_t len;

	pair->client = -1;
	pair->server = -1;
	pair->listener = check_listen(family, &name, &len);
	if (pair->listener < 0)
		return false;
	pair->client = rsocket(family, SOCK_STREAM, 0);
	if (rconnect(pair->client, (struct sockaddr *)&name, len))
		return false;
	pair->server = raccept(pair->listener, NULL, NULL);
	return pair->server >= 0;
}

void check_close(struct pair *pair)
{
	rclose(pair->client);
	rclose(pair->server);
	rclose(pair->listener);
}

static char byte_at(size_t at, unsigned int seed)
{
	return (at * 31 + at / 257 + seed) & 0xff;
}

void check_fill(char *buffer, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		buffer[i] = byte_at(i, seed);
}

bool check_filled(const char *buffer, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buffer[i] != byte_at(i, seed))
			return false;
	return true;
}

/* Does what is written to @from arrive at @to? */
bool check_exchange(int from, int to)
{
	static unsigned int seed;
	char sent[100], got[100];

	check_fill(sent, sizeof(sent), ++seed);
	memset(got, 0, sizeof(got));
	return rwrite(from, sent, sizeof(sent)) == sizeof(sent) &&
	       rrecv(to, got, sizeof(got), MSG_WAITALL) == sizeof(got) &&
	       !memcmp(sent, got, sizeof(got));
}

int64_t check_msec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* A child that hangs does not outlive the test by much. */
pid_t check_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		alarm(60);
	return pid;
}
