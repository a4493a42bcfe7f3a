// SPDX-License-Identifier: GPL-2.0
/* The helpers of stream.h */
#define _GNU_SOURCE

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream.h"

#define CHUNK	65536

bool stream_over_inet(void)
{
	const char *family = getenv("RDS_STREAM_FAMILY");

	return family && !strcmp(family, "inet");
}

int stream_load(void)
{
	if (rds_module_loaded("rds_stream"))
		return 0;
	return system("modprobe rds_stream");
}

int stream_socket(const char *addr)
{
	int type = SOCK_STREAM | SOCK_CLOEXEC;
	bool ipv6 = strchr(addr, ':');

	if (stream_over_inet())
		return socket(ipv6 ? AF_INET6 : AF_INET, type, 0);
	return socket(AF_RDS, type, ipv6 ? 1 : 0);
}

/* Close @fd and return -1, with the errno of the call that failed before. */
static int give_up(int fd)
{
	int err = errno;

	close(fd);
	errno = err;
	return -1;
}

int stream_bound(const char *addr, unsigned int port)
{
	int fd = stream_socket(addr);

	if (fd < 0)
		return -1;
	return rds_bind(fd, rds_name(addr, port)) ? give_up(fd) : fd;
}

int stream_listener(const char *addr, unsigned int port)
{
	int fd = stream_bound(addr, port);

	if (fd < 0)
		return -1;
	return listen(fd, 128) ? give_up(fd) : fd;
}

int stream_accept(int listener)
{
	if (!(stream_await(listener, POLLIN) & POLLIN)) {
		errno = ETIMEDOUT;
		return -1;
	}
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

int stream_nonblocking(int fd, bool on)
{
	return fcntl(fd, F_SETFL, on ? O_NONBLOCK : 0);
}

int stream_linger(int fd, bool on, int seconds)
{
	struct linger linger = { .l_onoff = on, .l_linger = seconds };

	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static unsigned char byte_at(unsigned int seed, uint64_t position)
{
	return ((uint32_t)position + seed * 7919u) * 2654435761u >> 24;
}

void stream_fill(void *buf, size_t len, unsigned int seed, uint64_t position)
{
	unsigned char *byte = buf;
	size_t i;

	for (i = 0; i < len; i++)
		byte[i] = byte_at(seed, position + i);
}

bool stream_check(const void *buf, size_t len, unsigned int seed,
		  uint64_t position)
{
	const unsigned char *byte = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (byte[i] != byte_at(seed, position + i))
			return false;
	return true;
}

short stream_await(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int ret;

	do
		ret = poll(&pfd, 1, STREAM_PATIENCE);
	while (ret < 0 && errno == EINTR);
	return ret > 0 ? pfd.revents : 0;
}

bool stream_await_all(int fd, short events)
{
	unsigned int left;

	for (left = STREAM_PATIENCE; left; left--) {
		if ((rds_poll(fd) & events) == events)
			return true;
		usleep(1000);
	}
	return false;
}

bool stream_quiet(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return poll(&pfd, 1, STREAM_A_WHILE) == 0;
}

bool stream_send(int fd, unsigned int seed, uint64_t position, size_t len)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	char buf[CHUNK];
	size_t part;
	ssize_t ret;

	while (len) {
		part = len < CHUNK ? len : CHUNK;
		stream_fill(buf, part, seed, position);
		ret = send(fd, buf, part, flags);
		if (ret < 0 && errno == EAGAIN) {
			if (!stream_await(fd, POLLOUT))
				return false;
			continue;
		}
		if (ret <= 0)
			return false;
		position += ret;
		len -= ret;
	}
	return true;
}

bool stream_recv(int fd, unsigned int seed, uint64_t position, size_t len)
{
	char buf[CHUNK];
	size_t part;
	ssize_t ret;

	while (len) {
		part = len < CHUNK ? len : CHUNK;
		ret = recv(fd, buf, part, MSG_DONTWAIT);
		if (ret < 0 && errno == EAGAIN) {
			if (!stream_await(fd, POLLIN))
				return false;
			continue;
		}
		if (ret <= 0 || !stream_check(buf, ret, seed, position))
			return false;
		position += ret;
		len -= ret;
	}
	return true;
}

static void *send_flow(void *data)
{
	struct stream_flow *flow = data;

	flow->good = stream_send(flow->fd, flow->seed, 0, flow->len);
	return NULL;
}

static void *recv_flow(void *data)
{
	struct stream_flow *flow = data;

	flow->good = stream_recv(flow->fd, flow->seed, 0, flow->len);
	return NULL;
}

int stream_send_aside(struct stream_flow *flow, int fd, unsigned int seed,
		      size_t len)
{
	*flow = (struct stream_flow) { .fd = fd, .seed = seed, .len = len };
	return pthread_create(&flow->thread, NULL, send_flow, flow);
}

int stream_recv_aside(struct stream_flow *flow, int fd, unsigned int seed,
		      size_t len)
{
	*flow = (struct stream_flow) { .fd = fd, .seed = seed, .len = len };
	return pthread_create(&flow->thread, NULL, recv_flow, flow);
}

bool stream_joined(struct stream_flow *flow)
{
	pthread_join(flow->thread, NULL);
	return flow->good;
}

bool stream_works(int a, int b)
{
	return stream_send(a, 1, 0, 100) && stream_recv(b, 1, 0, 100) &&
	       stream_send(b, 2, 0, 100) && stream_recv(a, 2, 0, 100);
}

long stream_result(int fd)
{
	char byte;

	if (!stream_await(fd, POLLIN))
		return -ETIMEDOUT;
	return ERR(recv(fd, &byte, 1, MSG_DONTWAIT));
}

bool stream_ended(int fd)
{
	return stream_result(fd) == 0;
}

/*
 * Send without blocking until there is no room. Returns the number of bytes, or
 * a negative errno.
 */
static long stuff(int fd, unsigned int seed, uint64_t position)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	char buf[CHUNK];
	long sent = 0;
	ssize_t ret;

	do {
		stream_fill(buf, CHUNK, seed, position + sent);
		ret = send(fd, buf, CHUNK, flags);
		if (ret > 0)
			sent += ret;
	} while (ret > 0);
	return errno == EAGAIN ? sent : -errno;
}

/*
 * A little more may fit than what was there when poll() began to report no
 * room.
 */
long stream_stuff(int fd, unsigned int seed)
{
	bool quiet = false;
	long sent = 0;
	long ret;

	for (;;) {
		ret = stuff(fd, seed, sent);
		if (ret < 0)
			return ret;
		if (!ret && quiet)
			return sent;
		sent += ret;
		quiet = stream_quiet(fd, POLLOUT);
	}
}

long stream_send_fails(int fd, int flags)
{
	unsigned int left;
	ssize_t ret;

	for (left = STREAM_PATIENCE; left; left--) {
		ret = send(fd, "x", 1, flags | MSG_DONTWAIT);
		if (ret < 0 && errno != EAGAIN)
			return -errno;
		usleep(1000);
	}
	return -ETIMEDOUT;
}

int stream_inq(int fd)
{
	int bytes = -1;

	return ioctl(fd, FIONREAD, &bytes) ? -errno : bytes;
}

int stream_outq(int fd)
{
	int bytes = -1;

	return ioctl(fd, SIOCOUTQ, &bytes) ? -errno : bytes;
}

bool stream_await_bytes(int fd, int bytes)
{
	unsigned int left;

	for (left = STREAM_PATIENCE; left; left--) {
		if (stream_inq(fd) >= bytes)
			return true;
		usleep(1000);
	}
	return false;
}

static atomic_uint sigpipes;

static void count_sigpipe(int sig)
{
	(void)sig;
	sigpipes++;
}

int stream_catch_sigpipe(void)
{
	struct sigaction action = { .sa_handler = count_sigpipe };

	return sigaction(SIGPIPE, &action, NULL);
}

unsigned int stream_sigpipes(void)
{
	return sigpipes;
}
