// SPDX-License-Identifier: GPL-2.0
/*
 * Namespaces and modules that end with TCP connections established, with
 * packets in flight, and with attempts to connect under way. RDS_ROUNDS is the
 * number of rounds (default 100).
 */
#include "wire.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PEER_PORT	4001
#define MAX_LEN		40000

/*
 * Milliseconds after which an event is taken never to happen: no result depends
 * on the speed of the machine.
 */
#define NEVER		200000

/* Of enum rds_drop_reason, as rds-info(1) lists it */
#define PEER_RESET	3

static char buf[MAX_LEN];

static unsigned int rounds(void)
{
	const char *text = getenv("RDS_ROUNDS");

	return text ? atoi(text) : 100;
}

/* The near end of the wire belongs to the test; the far end to another process.
 */
FIXTURE_SETUP(wire)
{
	ASSERT_EQ(0, rds_netns());
	self->a = -1;
}

FIXTURE_TEARDOWN(wire)
{
	close(self->a);
}

/* Send every message back; if @chatty, also send as much as possible. */
static void peer_main(const char *addr, bool chatty, int up)
{
	int fd = rds_bound(addr, PEER_PORT);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct rds_name from = { .len = 0 };
	static char noise[2000];
	ssize_t len;

	if (fd < 0 || write(up, "x", 1) != 1)
		_exit(1);
	for (;;) {
		poll(&pfd, 1, chatty ? 1 : -1);
		from.len = from.len ?: sizeof(from.ss);
		if (chatty && from.sa.sa_family)
			rds_sendto(fd, noise, sizeof(noise), MSG_DONTWAIT,
				   &from);
		len = recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT, &from.sa,
			       &from.len);
		if (len > 0)
			rds_sendto(fd, buf, len, 0, &from);
	}
}

/* Only the process holds its namespace. */
static pid_t peer_start(const char *addr, bool chatty)
{
	char byte;
	int up[2];
	pid_t pid;

	if (veth_setup() || pipe(up))
		return -1;
	pid = fork();
	if (!pid) {
		close(up[0]);
		if (veth_cross())
			_exit(2);
		veth_forget();
		peer_main(addr, chatty, up[1]);
	}
	veth_forget();
	close(up[1]);
	if (read(up[0], &byte, 1) != 1)
		pid = -1;
	close(up[0]);
	return pid;
}

static void peer_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Return how long it takes until the namespace at the other end of veth0 is
 * gone.
 */
static long await_gone(void)
{
	long start = now_ms();

	while (if_nametoindex(VETH_DEV) && now_ms() - start < NEVER)
		usleep(1000);
	return now_ms() - start;
}

/* Return the same for a namespace in which nothing was ever sent. */
static long time_of_an_idle_one(const char *far)
{
	pid_t pid = peer_start(far, false);

	if (pid < 0)
		return 0;
	peer_kill(pid);
	return await_gone();
}

/*
 * A debug kernel is given more time. Other load of the machine slows down an
 * idle namespace as well.
 */
static long allowed(long idle)
{
	return 2 * idle + (few_or(5) == 5 ? 1000 : 10000);
}

static bool echo(int fd, const struct rds_name *to, unsigned int seed)
{
	ssize_t len = 1 + seed * 7919 % (MAX_LEN - 1);

	rds_fill(buf, len, seed);
	return rds_sendto(fd, buf, len, 0, to) == len &&
	       rds_recv(fd, buf, sizeof(buf)) == len &&
	       rds_check(buf, len, seed);
}

static struct rds_name peer_name(const FIXTURE_VARIANT(wire) *variant)
{
	return rds_name(variant->far, PEER_PORT);
}

/*
 * The peer receives a reset on every path. Its own attempts may have replaced
 * this reason by now: where it dials, or knocks by the first path.
 */
static void saw_resets(struct __test_metadata *_metadata, int fd, bool dials)
{
	struct rds6_info_path path[64];
	socklen_t i, len = sizeof(path);

	ASSERT_EQ(100, ERR(getsockopt(fd, SOL_RDS, RDS6_INFO_PATHS, path,
				      &len)));
	EXPECT_LE(PATHS, len / sizeof(*path));
	for (i = 0; i < len / sizeof(*path); i++) {
		EXPECT_LE(1, path[i].resets);
		EXPECT_NE(PATH_UP, path[i].state);
		if (!dials && path[i].index)
			EXPECT_EQ(PEER_RESET, path[i].drop_reason);
	}
}

TEST_F_TIMEOUT(wire, i10_connections_keep_no_namespace, LONG)
{
	struct rds_name to = peer_name(variant);
	long idle, took;
	pid_t pid;

	idle = time_of_an_idle_one(variant->far);
	ASSERT_LT(0, idle);
	pid = peer_start(variant->far, false);
	ASSERT_LT(0, pid);
	self->a = rds_bound(variant->near, 0);
	ASSERT_TRUE(echo(self->a, &to, 1));
	ASSERT_TRUE(await_paths(self->a, PATHS));
	peer_kill(pid);
	took = await_gone();
	EXPECT_GE(allowed(idle), took);
	TH_LOG("gone after %ld ms, an idle one after %ld", took, idle);
	EXPECT_TRUE(await_paths(self->a, 0));
	saw_resets(_metadata, self->a,
		   !strcmp(variant->near, VETH_NEAR_IPV4));
}

static int run_at(pid_t pid, const char *command)
{
	char text[128];

	snprintf(text, sizeof(text), "nsenter -t %d -n %s", pid, command);
	return system(text);
}

/* CVE-2025-21884, CVE-2024-35910: its packets are delayed at both ends. */
TEST_F_TIMEOUT(wire, cve_2025_21884_packets_delayed, LONG)
{
	static const char park[] =
		"tc qdisc add dev " VETH_DEV " root netem delay 5s";
	struct rds_name to = peer_name(variant);
	long idle, took;
	unsigned int i;
	pid_t pid;

	idle = time_of_an_idle_one(variant->far);
	ASSERT_LT(0, idle);
	pid = peer_start(variant->far, true);
	ASSERT_LT(0, pid);
	self->a = rds_bound(variant->near, 0);
	ASSERT_EQ(0, rds_rcvbuf(self->a, 16 << 20));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &to)));
	ASSERT_TRUE(rds_arrived(self->a));
	ASSERT_TRUE(await_paths(self->a, PATHS));
	ASSERT_EQ(0, system(park));
	ASSERT_EQ(0, run_at(pid, park));
	for (i = 0; i < 20; i++)
		rds_sendto(self->a, buf, 3000, MSG_DONTWAIT, &to);
	usleep(100000);
	peer_kill(pid);
	took = await_gone();
	EXPECT_GE(allowed(idle), took);
	TH_LOG("gone after %ld ms, an idle one after %ld", took, idle);
}

/* Return the number of records in a list. */
static int records(int fd, int option, int size)
{
	static char list[65536];
	socklen_t len = sizeof(list);

	if (getsockopt(fd, SOL_RDS, option, list, &len) != size)
		return -1;
	return len / size;
}

/* Return how many network namespaces the kernel's allocator has. */
static long namespaces(void)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[256];
	long count = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "net_namespace %ld", &count) == 1)
			break;
	if (file)
		fclose(file);
	return count;
}

/*
 * Every peer is a new life behind the same address. Messages sent before that
 * is known are for the life before, and are dropped.
 */
static bool new_peer_answers(int fd, const struct rds_name *to)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	long start = now_ms();
	char byte;

	while (now_ms() - start < NEVER) {
		if (rds_sendto(fd, "abc", 3, MSG_DONTWAIT, to) != 3)
			return false;
		poll(&pfd, 1, 100);
		if (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
			return true;
	}
	return false;
}

/* Return the line of a failure, or 0. */
static int end_one(const FIXTURE_VARIANT(wire) *variant, bool chatty)
{
	struct rds_name to = peer_name(variant);
	pid_t pid = peer_start(variant->far, chatty);
	int a = rds_bound(variant->near, 4000);
	unsigned int i;

	if (pid < 0 || a < 0)
		return __LINE__;
	if (!new_peer_answers(a, &to))
		return __LINE__;
	for (i = 0; i < 20; i++)
		rds_sendto(a, buf, 3000, MSG_DONTWAIT, &to);
	peer_kill(pid);
	if (await_gone() >= NEVER)
		return __LINE__;
	/* The connection at this end is always the same. */
	if (records(a, RDS6_INFO_CONNECTIONS, 65) > 1)
		return __LINE__;
	close(a);
	return 0;
}

static int end_many(const FIXTURE_VARIANT(wire) *variant, unsigned int count)
{
	int wrong = rds_netns() ? __LINE__ : 0;

	while (!wrong && count--)
		wrong = end_one(variant, count % 2);
	return wrong;
}

#define WORKERS 5

/* Several at a time, because most of the time is spent waiting */
TEST_F_TIMEOUT(wire, i10_namespaces_end_with_connections, LONG)
{
	long before = namespaces();
	pid_t pid[WORKERS];
	int i, status;

	for (i = 0; i < WORKERS; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			status = end_many(variant, rounds() / 2 / WORKERS);
			if (status)
				printf("# wrong at line %d\n", status);
			fflush(stdout);
			_exit(!!status);
		}
	}
	for (i = 0; i < WORKERS; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	/* The allocator's stock does not differ much from what is in use. */
	EXPECT_GT(before + 20 + rounds() / 8, namespaces());
}

static void dial_and_go(const char *to)
{
	struct rds_name name = rds_name(to, 4000);
	int fd;

	if (rds_netns() || rds_address("10.1.0.1", true))
		_exit(1);
	fd = rds_bound("10.1.0.1", 0);
	if (rds_sendto(fd, "abc", 3, 0, &name) != 3)
		_exit(2);
	_exit(0);
}

/* CVE-2019-11815: the namespace ends between two attempts to connect. */
TEST_F_TIMEOUT(wire, cve_2019_11815_exit_while_dialing, LONG)
{
	unsigned int i;
	int status;
	pid_t pid;

	for (i = 0; i < few_or(15); i++) {
		pid = fork();
		if (!pid)
			dial_and_go(i % 2 ? "198.51.100.1" : "10.1.0.2");
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	/* The slowest attempts follow each other after a second. */
	usleep(1500000);
}

/* CVE-2025-21635: the file determines the namespace, not the writer. */
TEST_F_TIMEOUT(wire, cve_2025_21635_sysctl_written_from_elsewhere, LONG)
{
	unsigned long near, far, near_after, far_after;
	unsigned int left;
	struct rds_name name;
	int b, fd;

	ASSERT_EQ(0, veth_setup());
	self->a = rds_bound(variant->near, 0);
	b = veth_far_bound(variant->far, 0);
	name = rds_sockname(b);
	ASSERT_TRUE(loop_works(self->a, b, &name, 64));
	ASSERT_TRUE(await_paths(self->a, PATHS));
	ASSERT_TRUE(await_paths(b, PATHS));
	fd = open("/proc/sys/net/rds/tcp/rds_tcp_sndbuf", O_WRONLY);
	ASSERT_LE(0, fd);
	rds_tcp_paths_up(self->a, &near);
	rds_tcp_paths_up(b, &far);
	/* A third namespace, of neither end */
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(5, ERR(write(fd, "65536", 5)));
	close(fd);
	EXPECT_EQ(0, rds_sysctl_get("tcp/rds_tcp_sndbuf"));
	for (left = 30000; left; left--) {
		if (rds_tcp_paths_up(self->a, &near_after) == PATHS &&
		    rds_tcp_paths_up(b, &far_after) == PATHS &&
		    near_after > near && far_after > far)
			break;
		usleep(1000);
	}
	EXPECT_LT(0, left);
	ASSERT_EQ(0, veth_cross());
	EXPECT_EQ(0, rds_sysctl_get("tcp/rds_tcp_sndbuf"));
	ASSERT_EQ(0, veth_back());
	EXPECT_EQ(65536, rds_sysctl_get("tcp/rds_tcp_sndbuf"));
	EXPECT_TRUE(loop_works(self->a, b, &name, 64));
	close(b);
}

/* Write until the file is gone; each write drops every connection. */
static void *write_until_gone(void *data)
{
	int fd = *(int *)data;

	while (pwrite(fd, "0", 1, 0) > 0)
		;
	return (void *)(long)errno;
}

TEST_F_TIMEOUT(wire, cve_2026_68290_sysctl_racing_netns_exit, LONG)
{
	struct rds_name to = peer_name(variant);
	pthread_t thread;
	unsigned int i;
	char path[64];
	void *err;
	pid_t pid;
	int fd;

	for (i = 0; i < few_or(10); i++) {
		pid = peer_start(variant->far, false);
		ASSERT_LT(0, pid);
		self->a = rds_bound(variant->near, 4000);
		ASSERT_TRUE(echo(self->a, &to, i));
		/* The file belongs to the namespace in which it is opened. */
		snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		fd = open(path, O_RDONLY);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, setns(fd, CLONE_NEWNET));
		close(fd);
		fd = open("/proc/sys/net/rds/tcp/rds_tcp_rcvbuf", O_RDWR);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, rds_netns());
		ASSERT_EQ(0, pthread_create(&thread, NULL, write_until_gone,
					    &fd));
		peer_kill(pid);
		pthread_join(thread, &err);
		EXPECT_EQ(ENOENT, (long)err);
		close(fd);
		close(self->a);
	}
	self->a = -1;
}

/* Modules */

static int module_path(const char *name, char *path, size_t size)
{
	char command[64];
	FILE *modinfo;

	snprintf(command, sizeof(command), "modinfo -n %s", name);
	modinfo = popen(command, "r");
	if (!modinfo || !fgets(path, size, modinfo))
		return -1;
	path[strcspn(path, "\n")] = '\0';
	return pclose(modinfo);
}

static long module_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long ret;

	if (fd < 0)
		return -errno;
	ret = ERR(syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	return ret;
}

/*
 * A module in use stays. When the last socket is closed it can be unloaded,
 * although connections are established and have unread messages. Unloading
 * would not end if a socket of TCP were not freed.
 */
TEST_F_TIMEOUT(wire, i11_unload_with_connections, LONG)
{
	struct rds_name name = rds_name(variant->far, 4001);
	unsigned int i, j;
	char path[256];
	int b;

	ASSERT_EQ(0, module_path("rds_tcp", path, sizeof(path)));
	ASSERT_EQ(0, veth_setup());
	for (i = 0; i < rounds() / 5; i++) {
		self->a = rds_bound(variant->near, 4000);
		b = veth_far_bound(variant->far, 4001);
		ASSERT_LE(0, self->a);
		ASSERT_LE(0, b);
		ASSERT_TRUE(loop_works(self->a, b, &name, 64));
		EXPECT_EQ(-EWOULDBLOCK, module_unload("rds_tcp"));
		if (i % 2)
			ASSERT_TRUE(await_paths(self->a, PATHS));
		for (j = 0; j < 20; j++)
			rds_sendto(self->a, buf, 3000, MSG_DONTWAIT, &name);
		close(self->a);
		close(b);
		self->a = -1;
		ASSERT_EQ(0, module_unload_at_last("rds_tcp"));
		EXPECT_EQ(-1, module_users("rds_tcp"));
		/* In every other round the module is loaded on demand. */
		if (i % 2)
			ASSERT_EQ(0, module_load(path));
	}
}

TEST_HARNESS_MAIN
