/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for tests of streams: sockets, contents that tell their position, and
 * waiting. Each wait is bounded.
 *
 * If RDS_STREAM_FAMILY is "inet", the sockets are those of TCP. This tests the
 * expectations of the tests.
 */
#ifndef RDS_STREAM_H
#define RDS_STREAM_H

#include "rds_test.h"

#include <poll.h>

/* Time limit for what is expected to happen, in milliseconds */
#define STREAM_PATIENCE	30000
/* How long to watch for what is not expected to happen, in milliseconds */
#define STREAM_A_WHILE	100

#define STREAM_READABLE	(POLLIN | POLLRDNORM)
#define STREAM_WRITABLE	(POLLOUT | POLLWRNORM)

bool stream_over_inet(void);
/* Load the module. It stays loaded. */
int stream_load(void);

/* Sockets of the family of @addr, in the namespace of the caller */
int stream_socket(const char *addr);
int stream_bound(const char *addr, unsigned int port);
int stream_listener(const char *addr, unsigned int port);
/* Wait for a connection, and accept it. */
int stream_accept(int listener);
/* Set or clear O_NONBLOCK. */
int stream_nonblocking(int fd, bool on);
int stream_linger(int fd, bool on, int seconds);

/*
 * The contents of a stream: the byte at each position follows from the position
 * and from @seed, which distinguishes one stream from another.
 */
void stream_fill(void *buf, size_t len, unsigned int seed, uint64_t position);
bool stream_check(const void *buf, size_t len, unsigned int seed,
		  uint64_t position);

/*
 * Send, or receive and check, the @len bytes of a stream that begin at
 * @position. Neither depends on O_NONBLOCK.
 */
bool stream_send(int fd, unsigned int seed, uint64_t position, size_t len);
bool stream_recv(int fd, unsigned int seed, uint64_t position, size_t len);
/* Do so in a thread. stream_joined() returns the result. */
struct stream_flow {
	int fd;
	unsigned int seed;
	uint64_t position;
	size_t len;
	bool good;
	pthread_t thread;
};

int stream_send_aside(struct stream_flow *flow, int fd, unsigned int seed,
		      size_t len);
int stream_recv_aside(struct stream_flow *flow, int fd, unsigned int seed,
		      size_t len);
bool stream_joined(struct stream_flow *flow);
/* Send a few bytes in each direction, and check that they arrive. */
bool stream_works(int a, int b);
/* Wait for the end of the stream, which is not preceded by data. */
bool stream_ended(int fd);
/*
 * Send without blocking until there has been no room for a while. Returns the
 * number of bytes sent, or a negative errno.
 */
long stream_stuff(int fd, unsigned int seed);
/*
 * Send single bytes until this fails, as it must after the peer has closed its
 * end. Returns the negative errno.
 */
long stream_send_fails(int fd, int flags);

/* Wait for at least one of @events. Returns all that are there, or 0. */
short stream_await(int fd, short events);
/* Wait for all of @events together. */
bool stream_await_all(int fd, short events);
/* Check that none of @events occurs for a while. */
bool stream_quiet(int fd, short events);
/* Receive one byte as soon as poll() reports something. */
long stream_result(int fd);
/* Wait until at least @bytes can be read (FIONREAD). */
bool stream_await_bytes(int fd, int bytes);
int stream_inq(int fd);
int stream_outq(int fd);

/* Count SIGPIPE instead of dying of it. */
int stream_catch_sigpipe(void);
unsigned int stream_sigpipes(void);

#endif /* RDS_STREAM_H */
