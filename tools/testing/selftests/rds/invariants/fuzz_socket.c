// SPDX-License-Identifier: GPL-2.0
/* Calls of the fuzzer that make, name, join and end sockets */
#define _GNU_SOURCE

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz_run.h"

const uint64_t fuzz_fds[8] = { 0, 1, 0, 1, 2, 3, 4, 5 };
const uint64_t fuzz_bools[2] = { 0, 1 };
/* See the table in fuzz_scene.c: 0 is no name, and 60 a family without RDS. */
const uint64_t fuzz_names[24] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 14, 15, 16, 17, 18, 19,
	20, 21, 22, 60,
};

const uint64_t fuzz_ports[12] = {
	4000, 4001, 4000, 4001, 4002, 4003, 0, 1, 2, 4000 + 64, 16385, 65535,
};

const uint64_t fuzz_namelens[10] = { 0, 0, 0, 0, 16, 28, 2, 15, 27, 128 };

static const uint64_t wheres[] = {
	FUZZ_NEAR, FUZZ_FAR, FUZZ_RDMA, FUZZ_FOREIGN,
};

static const uint64_t types[] = {
	SOCK_SEQPACKET, SOCK_STREAM, SOCK_SEQPACKET | SOCK_NONBLOCK,
	SOCK_STREAM | SOCK_NONBLOCK, SOCK_DGRAM, SOCK_RAW,
};

static const uint64_t waits[] = { 2, 0, 5, 20 };
static const uint64_t backlogs[] = { 1, 8, 0, 2, -1UL, 0x7fffffff };
static const uint64_t events[] = {
	POLLIN, POLLOUT, POLLPRI, POLLRDNORM, POLLWRBAND, POLLRDHUP, 0xffff,
};

/* Nothing waits for long. */
static int bounded(int fd, uint64_t wait)
{
	if (fd < 0)
		return fd;
	rds_set_timeout(fd, SO_RCVTIMEO, 1 + wait % 20);
	rds_set_timeout(fd, SO_SNDTIMEO, 1 + wait % 20);
	return fd;
}

static void call_socket(struct fuzz_run *run, const uint64_t *arg)
{
	fuzz_put(run, arg[0], bounded(fuzz_scene_socket(arg[1], arg[2],
							arg[3]), arg[4]));
}

/* A datagram socket with an address, where that is */
static void call_bound(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_name name = fuzz_scene_name(arg[1], arg[2], 0);
	int fd = fuzz_scene_socket(fuzz_scene_where(arg[1]), SOCK_SEQPACKET |
				   (arg[3] & 1 ? SOCK_NONBLOCK : 0), 0);

	bind(fd, &name.sa, name.len);
	fuzz_put(run, arg[0], bounded(fd, arg[4]));
}

static int stream(uint64_t name)
{
	struct rds_name rds_name = fuzz_scene_name(name, 0, 0);

	return bounded(fuzz_scene_socket(fuzz_scene_where(name), SOCK_STREAM,
					 rds_name.sa.sa_family == AF_INET6),
		       19);
}

/* A stream in two sockets, and its listener: the slots fd, fd + 1, fd + 2 */
static void call_linked(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_name name = fuzz_scene_name(arg[1], arg[2], 0);
	struct pollfd pfd = { .fd = stream(arg[1]), .events = POLLIN };
	int client = stream(arg[3]);

	bind(pfd.fd, &name.sa, name.len);
	listen(pfd.fd, 4);
	fcntl(client, F_SETFL, O_NONBLOCK);
	connect(client, &name.sa, name.len);
	poll(&pfd, 1, 20);
	fuzz_put(run, arg[0] + 1,
		 bounded(accept4(pfd.fd, NULL, NULL, SOCK_NONBLOCK), 5));
	fuzz_put(run, arg[0] + 2, pfd.fd);
	fuzz_put(run, arg[0], client);
}

static void call_bind(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_name name = fuzz_scene_name(arg[1], arg[2], arg[3]);

	bind(fuzz_fd(run, arg[0]), &name.sa, name.len);
}

static void call_connect(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_name name = fuzz_scene_name(arg[1], arg[2], arg[3]);

	connect(fuzz_fd(run, arg[0]), &name.sa, name.len);
}

static void call_listen(struct fuzz_run *run, const uint64_t *arg)
{
	listen(fuzz_fd(run, arg[0]), arg[1]);
}

static void call_accept(struct fuzz_run *run, const uint64_t *arg)
{
	socklen_t len = arg[3];
	int fd;

	fd = accept4(fuzz_fd(run, arg[0]), arg[2] ? fuzz_mem(run, arg[2]) :
		     NULL, arg[2] ? &len : NULL,
		     arg[4] & 1 ? SOCK_NONBLOCK : 0);
	if (fd >= 0)
		fuzz_put(run, arg[1], bounded(fd, 5));
}

static void call_shutdown(struct fuzz_run *run, const uint64_t *arg)
{
	shutdown(fuzz_fd(run, arg[0]), arg[1] % 4);
}

static void call_close(struct fuzz_run *run, const uint64_t *arg)
{
	fuzz_put(run, arg[0], -1);
}

static void call_dup(struct fuzz_run *run, const uint64_t *arg)
{
	fuzz_put(run, arg[1], dup(fuzz_fd(run, arg[0])));
}

static void call_names(struct fuzz_run *run, const uint64_t *arg)
{
	socklen_t len = arg[2];

	if (arg[3] & 1)
		getpeername(fuzz_fd(run, arg[0]), fuzz_mem(run, arg[1]), &len);
	else
		getsockname(fuzz_fd(run, arg[0]), fuzz_mem(run, arg[1]), &len);
}

static void call_poll(struct fuzz_run *run, const uint64_t *arg)
{
	struct pollfd pfd[2] = {
		{ fuzz_fd(run, arg[0]), arg[1] },
		{ fuzz_fd(run, arg[0] + 1), arg[1] },
	};

	poll(pfd, 2, arg[2] % 20);
}

static void call_nonblock(struct fuzz_run *run, const uint64_t *arg)
{
	fcntl(fuzz_fd(run, arg[0]), F_SETFL, arg[1] & 1 ? O_NONBLOCK : 0);
}

const struct fuzz_kind fuzz_socket_kinds[] = {
	{ "socket", 3, 0, true, call_socket, {
		FUZZ_FD, { "where", FUZZ_TABLE(wheres) },
		{ "type", FUZZ_TABLE(types) },
		{ "proto", FUZZ_TABLE(fuzz_bools) },
		{ "wait", FUZZ_TABLE(waits) } } },
	{ "bound", 14, 0, true, call_bound, {
		FUZZ_FD, FUZZ_NAME, FUZZ_PORT,
		{ "nonblock", FUZZ_TABLE(fuzz_bools) },
		{ "wait", FUZZ_TABLE(waits) } } },
	{ "linked", 6, 0, true, call_linked, {
		FUZZ_FD, FUZZ_NAME, FUZZ_PORT,
		{ "from", FUZZ_TABLE(fuzz_names) } } },
	{ "bind", 4, 0, true, call_bind, {
		FUZZ_FD, FUZZ_NAME, FUZZ_PORT, FUZZ_NAMELEN } },
	{ "connect", 6, 0, false, call_connect, {
		FUZZ_FD, FUZZ_NAME, FUZZ_PORT, FUZZ_NAMELEN } },
	{ "listen", 2, 0, true, call_listen, {
		FUZZ_FD, { "backlog", FUZZ_TABLE(backlogs) } } },
	{ "accept", 3, 0, false, call_accept, {
		FUZZ_FD, { "to", FUZZ_TABLE(fuzz_fds) }, FUZZ_MEM, FUZZ_SIZE,
		{ "nonblock", FUZZ_TABLE(fuzz_bools) } } },
	{ "shutdown", 2, 0, false, call_shutdown, {
		FUZZ_FD, { "how", FUZZ_TABLE(fuzz_fds) } } },
	{ "close", 4, 0, false, call_close, { FUZZ_FD } },
	{ "dup", 2, 0, false, call_dup, {
		FUZZ_FD, { "to", FUZZ_TABLE(fuzz_fds) } } },
	{ "names", 2, 0, false, call_names, {
		FUZZ_FD, FUZZ_MEM, FUZZ_SIZE,
		{ "peer", FUZZ_TABLE(fuzz_bools) } } },
	{ "poll", 3, 0, false, call_poll, {
		FUZZ_FD, { "events", FUZZ_TABLE(events), true },
		{ "wait", FUZZ_TABLE(waits) } } },
	{ "nonblock", 1, 0, false, call_nonblock, {
		FUZZ_FD, { "on", FUZZ_TABLE(fuzz_bools) } } },
	{ }
};
