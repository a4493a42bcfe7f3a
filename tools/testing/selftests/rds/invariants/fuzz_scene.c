// SPDX-License-Identifier: GPL-2.0
/* The scene of fuzz_scene.h */
#define _GNU_SOURCE

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz_scene.h"
#include "kselftest.h"
#include "roce.h"
#include "stream.h"
#include "veth.h"

__thread unsigned int fuzz_lane;

static int ns[FUZZ_WHERES] = { -1, -1, -1, -1 };

static const struct {
	const char *addr;
	unsigned int where;
} names[] = {
	{ "127.0.0.1", FUZZ_NEAR },
	{ "127.0.0.2", FUZZ_NEAR },
	{ VETH_NEAR_IPV4, FUZZ_NEAR },
	{ VETH_FAR_IPV4, FUZZ_FAR },
	{ VETH_NEAR_IPV6, FUZZ_NEAR },
	{ VETH_FAR_IPV6, FUZZ_FAR },
	{ "::1", FUZZ_NEAR },
	{ ROCE_NEAR_IPV4, FUZZ_RDMA },
	{ ROCE_FAR_IPV4, FUZZ_RDMA },
	{ ROCE_NEAR_IPV6, FUZZ_RDMA },
	{ ROCE_FAR_IPV6, FUZZ_RDMA },
	{ "::ffff:127.0.0.1", FUZZ_NEAR },
	{ "::ffff:" VETH_FAR_IPV4, FUZZ_FAR },
	{ "0.0.0.0", FUZZ_NEAR },
	{ "::", FUZZ_NEAR },
	{ "224.0.0.1", FUZZ_NEAR },
	{ "255.255.255.255", FUZZ_NEAR },
	{ "fe80::1%1", FUZZ_NEAR },
	{ "ff02::1", FUZZ_NEAR },
	{ "198.51.100.1", FUZZ_NEAR },
	{ "127.0.0.1", FUZZ_FOREIGN },
	{ "127.0.0.2", FUZZ_FOREIGN },
};

#define NAMES (sizeof(names) / sizeof(names[0]))

static int open_ns(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/*
 * Runs once in a program, before it counts the users of modules: those that
 * this loads stay.
 */
static void __attribute__((constructor)) load_modules(void)
{
	if (stream_load())
		perror("Cannot load the module rds_stream");
	else if (rds_wants_device() && roce_setup())
		perror("Cannot set an RDMA device up");
	else
		return;
	exit(KSFT_FAIL);
}

/*
 * In a child: enter namespaces of a user without privileges, and keep them
 * until the parent has opened the network namespace.
 */
static void be_foreign(int ready, int leave)
{
	char byte = setresuid(65534, 65534, 65534) ||
		    unshare(CLONE_NEWUSER | CLONE_NEWNET) || rds_up("lo");

	if (write(ready, &byte, 1) == 1 && read(leave, &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

/* Not every kernel lets users create namespaces: then there is none. */
static int open_foreign_ns(void)
{
	int ready[2], leave[2], fd = -1;
	char path[64], byte;
	pid_t pid;

	if (pipe(ready) || pipe(leave))
		return -1;
	pid = fork();
	if (!pid)
		be_foreign(ready[1], leave[0]);
	/* The end of the child is the end of the pipe. */
	close(ready[1]);
	if (pid > 0 && read(ready[0], &byte, 1) == 1 && !byte) {
		snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (write(leave[1], &byte, 1) == 1 && pid > 0)
		waitpid(pid, NULL, 0);
	close(ready[0]);
	close(leave[0]);
	close(leave[1]);
	return fd;
}

static void sysctl_save(void);

bool fuzz_scene_init(void)
{
	ns[FUZZ_NEAR] = open_ns();
	if (ns[FUZZ_NEAR] < 0 || veth_setup() || veth_cross())
		return false;
	ns[FUZZ_FAR] = open_ns();
	if (veth_back() || ns[FUZZ_FAR] < 0)
		return false;
	sysctl_save();
	ns[FUZZ_FOREIGN] = open_foreign_ns();
	if (ns[FUZZ_FOREIGN] < 0)
		printf("# users cannot make namespaces\n");
	if (!rds_wants_device())
		return true;
	if (roce_enter())
		return false;
	ns[FUZZ_RDMA] = open_ns();
	return ns[FUZZ_RDMA] >= 0 && !setns(ns[FUZZ_NEAR], CLONE_NEWNET);
}

void fuzz_scene_end(void)
{
	unsigned int i;

	fuzz_sysctl_restore();
	for (i = 0; i < FUZZ_WHERES; i++) {
		if (ns[i] >= 0)
			close(ns[i]);
		ns[i] = -1;
	}
	veth_forget();
}

bool fuzz_scene_has_rdma(void)
{
	return ns[FUZZ_RDMA] >= 0;
}

static atomic_uint opened[2];	/* sockets of messages, and of streams */

static int open_socket(int type, int protocol)
{
	int fd = socket(AF_RDS, type, protocol);

	if (fd >= 0)
		opened[(type & 0xf) == SOCK_STREAM]++;
	return fd;
}

bool fuzz_scene_was_used(void)
{
	return opened[0] && opened[1];
}

int fuzz_scene_socket(unsigned int where, int type, int protocol)
{
	int fd;

	if (where >= FUZZ_WHERES || ns[where] < 0)
		where = FUZZ_NEAR;
	if (where == FUZZ_NEAR)
		return open_socket(type, protocol);
	/* Fails if the thread is not root at the moment. */
	if (setns(ns[where], CLONE_NEWNET))
		return -1;
	fd = open_socket(type, protocol);
	if (setns(ns[FUZZ_NEAR], CLONE_NEWNET))
		abort();
	return fd;
}

unsigned int fuzz_scene_where(uint64_t name)
{
	return name && name <= NAMES ? names[name - 1].where : FUZZ_NEAR;
}

struct rds_name fuzz_scene_name(uint64_t name, uint64_t port, uint64_t len)
{
	struct rds_name result = {};

	/* The fixture has ports of the first hundred. */
	if (port >= 4000 && port < 4100)
		port += (fuzz_lane + 1) * 100;
	if (name && name <= NAMES) {
		result = rds_name(names[name - 1].addr, port);
	} else {
		result.len = sizeof(result.in);
		result.sa.sa_family = name > NAMES ? name - NAMES - 1 : 0;
		result.in.sin_port = htons(port);
	}
	/* The tables of names of the kernel are no longer than this. */
	if (len)
		result.len = len < sizeof(result.ss) ? len : len % 1024;
	return result;
}

static const char *const tunables[FUZZ_SYSCTLS] = {
	"reconnect_min_delay_ms", "reconnect_max_delay_ms",
	"max_unacked_packets", "max_unacked_bytes", "ping_enable",
	"rx_held_max", "max_conns", "max_conns_per_user", "pongs_max",
	"op_timeout_ms", "tcp/rds_tcp_sndbuf", "tcp/rds_tcp_rcvbuf",
	"tcp/user_timeout_ms", "tcp/legacy_multipath", "tcp/max_paths",
	"tcp/partial_max_kb", "stream/closed_max", "stream/close_stall_ms",
	"stream/close_max_ms", "stream/unaccepted_credit", "pf_rds", "sol_rds",
};

static char first_value[FUZZ_SYSCTLS][32];
static atomic_uint written;	/* one bit each */

static int sysctl_open(uint64_t index, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/sys/net/rds/%s",
		 tunables[index % FUZZ_SYSCTLS]);
	return open(path, flags | O_CLOEXEC);
}

static void sysctl_save(void)
{
	unsigned int i;
	ssize_t len;
	int fd;

	for (i = 0; i < FUZZ_SYSCTLS; i++) {
		fd = sysctl_open(i, O_RDONLY);
		if (fd < 0)
			continue;	/* its module is not loaded */
		len = read(fd, first_value[i], sizeof(first_value[i]) - 1);
		first_value[i][len < 0 ? 0 : len] = '\0';
		close(fd);
	}
}

void fuzz_sysctl_write(uint64_t index, uint64_t value)
{
	int fd = sysctl_open(index, O_RDWR);
	char text[32];
	ssize_t len;

	if (fd < 0)
		return;
	written |= 1U << index % FUZZ_SYSCTLS;
	len = snprintf(text, sizeof(text), "%lld\n", (long long)value);
	if (write(fd, text, len) < 0)
		len = read(fd, text, sizeof(text));
	/* Another lane may have restored the value between. */
	written |= 1U << index % FUZZ_SYSCTLS;
	close(fd);
}

/* Only what differs is written: some values end all connections. */
void fuzz_sysctl_restore(void)
{
	unsigned int which = atomic_exchange(&written, 0);
	char text[32];
	unsigned int i;
	ssize_t len;
	int fd;

	for (i = 0; i < FUZZ_SYSCTLS; i++) {
		if (!(which & 1U << i) || !first_value[i][0])
			continue;
		fd = sysctl_open(i, O_RDWR);
		if (fd < 0)
			continue;
		len = read(fd, text, sizeof(text) - 1);
		text[len < 0 ? 0 : len] = '\0';
		if (strcmp(text, first_value[i]) &&
		    pwrite(fd, first_value[i], strlen(first_value[i]), 0) < 0)
			fprintf(stderr, "# %s is not restored\n", tunables[i]);
		close(fd);
	}
}
