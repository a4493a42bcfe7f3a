// SPDX-License-Identifier: GPL-2.0
/*
 * Network namespaces: nothing is delivered, shown or changed across namespaces,
 * and one may end at any moment. Tests that need two namespaces fork; a pipe
 * each way keeps the processes in step.
 */
#include "loop.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

static char payload[PAGE];

/* A process in a network namespace of its own, which does @work */
struct other {
	pid_t pid;
	int to;
	int from;
};

typedef int other_work(int from, int to);

static bool other_start(struct other *other, other_work *work, int flags)
{
	int down[2], up[2];

	if (pipe(down) || pipe(up))
		return false;
	other->pid = fork();
	if (!other->pid) {
		close(down[1]);
		close(up[0]);
		if (unshare(flags & ~CLONE_NEWNET) || rds_netns())
			_exit(101);
		_exit(work(down[0], up[1]));
	}
	close(down[0]);
	close(up[1]);
	other->to = down[1];
	other->from = up[0];
	return other->pid > 0;
}

static bool say(int fd)
{
	return write(fd, "x", 1) == 1;
}

static bool hear(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/* End it and return the result of its work. If it is waiting, it sees the end
 * of its pipe.
 */
static int other_end(struct other *other)
{
	int status = 0;

	close(other->to);
	waitpid(other->pid, &status, 0);
	close(other->from);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 102;
}

/* The first check that fails ends the process; its status is the line modulo
 * 100.
 */
static void check_line(bool what, int line)
{
	if (!what)
		_exit(line % 100 + 1);
}

#define CHECK(what) check_line(what, __LINE__)

/* Bind what the test has bound too, send to it, and wait for the test. */
static int same_name_work(int from, int to)
{
	struct rds_name name = rds_name("127.0.0.2", 4001);
	int a = rds_bound("127.0.0.1", 4000);
	int b = rds_bound("127.0.0.2", 4001);

	CHECK(a >= 0 && b >= 0);
	CHECK(rds_sendto(a, payload, 100, 0, &name) == 100);
	CHECK(say(to) && hear(from));
	CHECK(rds_recv(b, payload, sizeof(payload)) == 100);
	CHECK(rds_silent(b));
	CHECK(rds_sendto(a, payload, 50, 0, &name) == 50);
	return 0;
}

TEST_F(loop, cve_2026_68335_same_name_in_two_namespaces)
{
	struct other other;

	ASSERT_TRUE(other_start(&other, same_name_work, CLONE_NEWNET));
	ASSERT_TRUE(hear(other.from));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	EXPECT_TRUE(say(other.to));
	EXPECT_EQ(0, other_end(&other));
	/* It has ended, with a message that it has never read. */
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	EXPECT_TRUE(rds_silent(self->b));
}

/* Send to a name that only the test has. */
static int sender_work(int from, int to)
{
	struct rds_name name = rds_name("127.0.0.2", 4001);
	int a = rds_bound("127.0.0.1", 4000);
	unsigned int i;

	CHECK(a >= 0);
	for (i = 0; i < 10; i++)
		CHECK(rds_sendto(a, payload, 100, 0, &name) == 100);
	CHECK(say(to) && hear(from));
	return 0;
}

TEST_F(loop, cve_2026_68335_no_delivery_across)
{
	struct other other;

	ASSERT_TRUE(other_start(&other, sender_work, CLONE_NEWNET));
	ASSERT_TRUE(hear(other.from));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(say(other.to));
	EXPECT_EQ(0, other_end(&other));
	EXPECT_TRUE(rds_silent(self->b));
}

#define LISTS (RDS_INFO_LAST - RDS_INFO_FIRST + 1)

/* Get the sizes of all lists; -1 for one that does not exist. */
static void list_sizes(int fd, int size[LISTS])
{
	socklen_t len;
	int i;

	for (i = 0; i < LISTS; i++) {
		len = 0;
		size[i] = -1;
		if (getsockopt(fd, SOL_RDS, RDS_INFO_FIRST + i, NULL,
			       &len) >= 0 || errno == ENOSPC)
			size[i] = len;
	}
}

/* An unprivileged user's own namespace shows only its one socket. */
static int lists_work(int from, int to)
{
	static struct rds_info_counter counter[128];
	socklen_t len = sizeof(counter);
	int size[LISTS], fd = rds_socket();
	unsigned int i;

	CHECK(fd >= 0);
	list_sizes(fd, size);
	for (i = 0; i < LISTS; i++) {
		if (RDS_INFO_FIRST + i == RDS_INFO_COUNTERS)
			continue;
		if (RDS_INFO_FIRST + i == RDS6_INFO_SOCKETS)
			CHECK(size[i] == sizeof(struct rds6_info_socket));
		else
			CHECK(size[i] <= 0);
	}
	CHECK(getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, counter, &len) > 0);
	for (i = 0; i < len / sizeof(counter[0]); i++)
		CHECK(!counter[i].value);
	return 0;
}

static void show_something(struct __test_metadata *_metadata,
			   FIXTURE_DATA(loop) *self)
{
	int size[LISTS];
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0,
					 &self->b_name));
	list_sizes(self->a, size);
	ASSERT_LT(0, size[RDS_INFO_CONNECTIONS - RDS_INFO_FIRST]);
	ASSERT_LT(0, size[RDS_INFO_RECV_MESSAGES - RDS_INFO_FIRST]);
	ASSERT_LT(0, size[RDS6_INFO_SOCKETS - RDS_INFO_FIRST]);
}

TEST_F(loop, cve_2026_97476_lists_in_users_own_namespace)
{
	struct other other;

	show_something(_metadata, self);
	ASSERT_TRUE(other_start(&other, lists_work,
				CLONE_NEWNET | CLONE_NEWUSER));
	EXPECT_EQ(0, other_end(&other));
	rds_drain(self->b);
}

/* The same for a user who was never root */
static int nobody_work(int from, int to)
{
	int fd = rds_socket();
	int size[LISTS];

	CHECK(fd >= 0);
	CHECK(!setgid(65534) && !setuid(65534));
	CHECK(rds_sysctl_set("ping_enable", "0") == -EACCES);
	list_sizes(fd, size);
	CHECK(size[RDS_INFO_SOCKETS - RDS_INFO_FIRST] == 0);
	return 0;
}

TEST_F(loop, cve_2026_97476_lists_of_nobody)
{
	struct other other;

	show_something(_metadata, self);
	ASSERT_TRUE(other_start(&other, nobody_work, CLONE_NEWNET));
	EXPECT_EQ(0, other_end(&other));
	EXPECT_EQ(1, rds_sysctl_get("ping_enable"));
	rds_drain(self->b);
}

static int open_sysctl(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/rds/%s", name);
	return open(path, flags);
}

/* Return to the initial namespace of the caller. */
static bool go_home(int home)
{
	return !setns(home, CLONE_NEWNET);
}

static int own_namespace(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* A table belongs to a namespace, whichever process has its file open. */
TEST_F(loop, cve_2025_21635_sysctl_written_from_elsewhere)
{
	int home = own_namespace(), there, fd;

	ASSERT_LE(0, home);
	ASSERT_EQ(0, rds_netns());
	there = own_namespace();
	fd = open_sysctl("max_unacked_packets", O_RDWR);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(go_home(home));
	EXPECT_EQ(3, write(fd, "77\n", 3));
	EXPECT_EQ(16, rds_sysctl_get("max_unacked_packets"));
	ASSERT_TRUE(go_home(there));
	EXPECT_EQ(77, rds_sysctl_get("max_unacked_packets"));
	ASSERT_TRUE(go_home(home));
	close(fd);
	close(there);
	close(home);
}

struct sysctl_race {
	int fd;
	atomic_bool *going;
	unsigned long hits;
	bool gone;
};

/* Read and write until the table is gone. */
static void *sysctl_main(void *data)
{
	struct sysctl_race *race = data;
	char text[16];
	ssize_t ret;

	do {
		*race->going = true;
		if (race->hits % 2)
			ret = pread(race->fd, text, sizeof(text), 0);
		else
			ret = pwrite(race->fd, "5", 1, 0);
		race->hits++;
	} while (ret > 0);
	race->gone = errno == ENOENT;
	return NULL;
}

TEST_F(loop, cve_2026_68290_sysctl_racing_netns_exit)
{
	struct sysctl_race race;
	int home = own_namespace(), held;
	unsigned int i;
	pthread_t thread;
	atomic_bool going;

	for (i = 0; i < few_or(15); i++) {
		going = false;
		ASSERT_EQ(0, rds_netns());
		held = own_namespace();
		race = (struct sysctl_race) {
			.fd = open_sysctl("max_unacked_packets", O_RDWR),
			.going = &going,
		};
		ASSERT_LE(0, race.fd);
		ASSERT_TRUE(go_home(home));
		ASSERT_EQ(0, pthread_create(&thread, NULL, sysctl_main,
					    &race));
		while (!going)
			sched_yield();
		close(held);
		pthread_join(thread, NULL);
		EXPECT_TRUE(race.gone);
		close(race.fd);
	}
	EXPECT_EQ(16, rds_sysctl_get("max_unacked_packets"));
	close(home);
}

/*
 * syzbot, 2019 to 2025, rds_inc_put: a socket outlives everything else in its
 * namespace, and the messages that it has received outlive the sender.
 */
TEST_F(loop, uaf_rds_inc_put)
{
	int home = own_namespace();
	struct rds_name to = rds_name("127.0.0.2", 4001);
	unsigned int i, j;
	int a, b;

	for (i = 0; i < few_or(15); i++) {
		ASSERT_EQ(0, rds_netns());
		a = rds_bound("127.0.0.1", 4000);
		b = rds_bound("127.0.0.2", 4001);
		ASSERT_LE(0, a);
		ASSERT_LE(0, b);
		for (j = 0; j < 10; j++)
			ASSERT_EQ(PAGE, rds_sendto(a, payload, PAGE, 0, &to));
		ASSERT_TRUE(go_home(home));
		close(a);
		EXPECT_EQ(PAGE, rds_recv(b, payload, sizeof(payload)));
		/* The last reference to the namespace, with nine unread
		 * messages
		 */
		close(b);
	}
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	close(home);
}

/* The socket, not even bound, is all that is left of its namespace. */
TEST_F(loop, i10_unbound_socket_outlives_the_rest)
{
	int home = own_namespace();
	struct rds_name name;
	int fd;

	ASSERT_EQ(0, rds_netns());
	fd = rds_socket();
	ASSERT_LE(0, fd);
	ASSERT_TRUE(go_home(home));
	EXPECT_EQ(0, rds_bind(fd, rds_name("127.0.0.1", 4000)));
	name = rds_sockname(fd);
	EXPECT_TRUE(loop_works(fd, fd, &name, 64));
	EXPECT_TRUE(rds_silent(self->a));
	close(fd);
	close(home);
}

/* Addresses of another namespace cannot be used. */
TEST_F(loop, i10_address_of_another_namespace)
{
	int home = own_namespace();
	int fd = rds_socket();
	struct rds_name name;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, rds_address("10.9.8.7", true));
	EXPECT_EQ(-EADDRNOTAVAIL,
		  ERR(rds_bind(fd, rds_name("10.9.8.7", 4000))));
	close(fd);
	fd = rds_bound("10.9.8.7", 4000);
	EXPECT_LE(0, fd);
	/* TCP may have the address; loopback checks again whether this host has
	 * it.
	 */
	name = rds_sockname(fd);
	EXPECT_TRUE(loop_works(fd, fd, &name, 64));
	ASSERT_TRUE(go_home(home));
	EXPECT_EQ(-ENETUNREACH, ERR(rds_sendto(self->a, payload, 1, 0, &name)));
	close(fd);
	close(home);
}

TEST_HARNESS_MAIN
