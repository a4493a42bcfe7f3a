// SPDX-License-Identifier: GPL-2.0
/*
 * What unprivileged users and peers can reach and use up: a socket() call does
 * not load the family, memory is charged to the sender, and counters count for
 * their own namespace.
 */
#include "loop.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char payload[65536];

/* Check whether modinfo lists an alias of the module that begins with @alias.
 */
static bool module_has_alias(const char *module, const char *alias)
{
	char command[128], line[256];
	bool found = false;
	FILE *modinfo;

	snprintf(command, sizeof(command), "modinfo -F alias %s", module);
	modinfo = popen(command, "r");
	while (modinfo && fgets(line, sizeof(line), modinfo))
		if (!strncmp(line, alias, strlen(alias)))
			found = true;
	if (modinfo)
		pclose(modinfo);
	return found;
}

/* Any program may call socket(): this must not load anything. */
TEST(i20_no_autoload)
{
	EXPECT_FALSE(module_has_alias("rds", "net-pf-21"));
	EXPECT_FALSE(module_has_alias("rds_loop", "net-pf-21"));
	EXPECT_FALSE(module_has_alias("rds_tcp", "net-pf-21"));
	EXPECT_FALSE(module_has_alias("rds_rdma", "net-pf-21"));
	/* The check above can fail. */
	EXPECT_TRUE(module_has_alias("rds_loop", "rds-transport-3"));

	EXPECT_EQ(0, system("rmmod rds_rdma rds_tcp rds_loop 2>/dev/null;"
			    "rmmod rds"));
	EXPECT_EQ(-EAFNOSUPPORT, ERR(rds_socket()));
	EXPECT_EQ(-1, module_users("rds"));
	EXPECT_EQ(0, system("modprobe rds"));
	EXPECT_LE(0, rds_socket());
}

/*
 * A bind() may load loopback and TCP, but never RDMA: otherwise a host that
 * uses TCP would change its transport by itself. RDMA is loaded only if an
 * administrator requests it by its number.
 */
TEST(i20_no_autoload_of_rdma)
{
	int transport = RDS_TRANS_IB;
	int fd = rds_socket();

	EXPECT_TRUE(module_has_alias("rds_rdma", "rds-transport-0"));
	ASSERT_EQ(0, rds_initial_netns());
	ASSERT_EQ(-1, module_users("rds_rdma"));
	close(rds_bound("127.0.0.1", 0));
	EXPECT_EQ(-EADDRNOTAVAIL, ERR(rds_bound("198.51.100.1", 0)));
	EXPECT_EQ(-1, module_users("rds_rdma"));
	close(fd);
	fd = rds_socket();
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(-ENOPROTOOPT, ERR(setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT,
					       &transport, sizeof(transport))));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(-1, module_users("rds_rdma"));
	/* The checks above can fail. */
	close(fd);
	fd = rds_socket();
	EXPECT_EQ(0, ERR(setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &transport,
				    sizeof(transport))));
	EXPECT_LE(0, module_users("rds_rdma"));
	close(fd);
	EXPECT_EQ(0, system("modprobe -r rds_rdma"));
}

/* Return a stream socket that listens at an address, and has not loaded TCP
 * before.
 */
static int stream_listens(const char *addr)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr(addr),
	};
	int fd = socket(AF_RDS, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
	    module_users("rds_tcp") != -1 || listen(fd, 1))
		return -1;
	return fd;
}

/* A server of streams need not know which transport its clients use. */
TEST(listen_on_a_stream_loads_tcp)
{
	ASSERT_EQ(0, rds_initial_netns());
	ASSERT_EQ(0, system("rmmod rds_tcp 2>/dev/null; modprobe rds_stream"));
	ASSERT_EQ(-1, module_users("rds_tcp"));
	EXPECT_EQ(0, close(stream_listens("127.0.0.1")));
	EXPECT_EQ(-1, module_users("rds_tcp"));
	EXPECT_EQ(0, close(stream_listens("0.0.0.0")));
	EXPECT_LE(0, module_users("rds_tcp"));
	EXPECT_EQ(0, system("rmmod rds_tcp rds_stream"));
}

#define CGROUP "/sys/fs/cgroup/rds-test"

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static long cgroup_memory(void)
{
	FILE *file = fopen(CGROUP "/memory.current", "r");
	long bytes = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &bytes) != 1)
		bytes = -1;
	fclose(file);
	return bytes;
}

/* Enter a cgroup whose memory is counted, or leave it. */
static bool enter_cgroup(void)
{
	if (!write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory"))
		return false;
	mkdir(CGROUP, 0755);
	return write_file(CGROUP "/cgroup.procs", "0");
}

static void leave_cgroup(void)
{
	write_file("/sys/fs/cgroup/cgroup.procs", "0");
}

#define MESSAGES 128

/* The memory that a process uses by sending is charged to its own cgroup. */
TEST_F(loop, i20_memory_is_charged_to_the_sender)
{
	long before, bytes = MESSAGES * sizeof(payload);
	unsigned int i;

	ASSERT_TRUE(enter_cgroup());
	ASSERT_EQ(0, rds_rcvbuf(self->b, 2 * bytes));
	ASSERT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));

	before = cgroup_memory();
	ASSERT_LE(0, before);
	for (i = 0; i < MESSAGES; i++)
		ASSERT_EQ(sizeof(payload),
			  rds_sendto(self->a, payload, sizeof(payload), 0,
				     &self->b_name));
	EXPECT_LT(before + bytes * 9 / 10, cgroup_memory());
	rds_drain(self->b);
	EXPECT_GT(before + bytes / 2, cgroup_memory());
	leave_cgroup();
}

#define PONGS 4000

/* An account is created with its socket, so the socket comes after the cgroup.
 */
TEST_F(loop, i20_unread_pongs_are_charged)
{
	struct rds_name port = rds_name("127.0.0.1", 0);
	long before;
	int fd, i;

	ASSERT_TRUE(enter_cgroup());
	fd = rds_bound("127.0.0.1", 0);
	ASSERT_LE(0, fd);
	before = cgroup_memory();
	ASSERT_LE(0, before);
	for (i = 0; i < PONGS; i++)
		ASSERT_EQ(0, ERR(rds_sendto(fd, NULL, 0, 0, &port)));
	for (i = 0; i < 50 && cgroup_memory() <= before + PONGS * 400; i++)
		usleep(100000);
	EXPECT_LT(before + PONGS * 400, cgroup_memory());
	rds_drain(fd);
	EXPECT_GT(before + PONGS * 200, cgroup_memory());
	close(fd);
	leave_cgroup();
}

/*
 * The amount that the kernel holds is bounded: messages without payload count
 * too, though they use none of the buffer size.
 */
TEST_F(loop, i20_unread_messages_are_bounded)
{
	unsigned long sent = 0;

	ASSERT_EQ(0, rds_sysctl_set("rx_held_max", "1048576"));
	while (sent < 100000 &&
	       !rds_sendto(self->a, NULL, 0, MSG_DONTWAIT, &self->b_name))
		sent++;
	EXPECT_EQ(ENOBUFS, errno);
	EXPECT_LT(0, sent);
	EXPECT_LT(sent, 10000);
	rds_drain(self->b);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

static bool counter(int fd, const char *name, uint64_t *value)
{
	static struct rds_info_counter list[256];
	socklen_t len = sizeof(list);
	unsigned int i;

	if (getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, list, &len) < 0)
		return false;
	for (i = 0; i < len / sizeof(list[0]); i++) {
		if (!strcmp((char *)list[i].name, name)) {
			*value = list[i].value;
			return true;
		}
	}
	return false;
}

/* Drops are counted, by their reason. */
TEST_F(loop, i20_drops_are_counted)
{
	struct rds_name nobody = rds_name("127.0.0.2", 9);
	uint64_t before, after;
	unsigned int i;

	ASSERT_TRUE(counter(self->a, "recv_drop_no_sock", &before));
	for (i = 0; i < 25; i++)
		EXPECT_EQ(10, rds_sendto(self->a, payload, 10, 0, &nobody));
	ASSERT_TRUE(counter(self->a, "recv_drop_no_sock", &after));
	EXPECT_EQ(25, after - before);
	ASSERT_TRUE(counter(self->a, "recv_drop_dead_sock", &after));
}

TEST_F(loop, i20_counters_balance)
{
	uint64_t queued, delivered;
	unsigned int i;

	for (i = 0; i < 25; i++)
		EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, i));
	ASSERT_TRUE(counter(self->a, "recv_queued", &queued));
	ASSERT_TRUE(counter(self->a, "recv_delivered", &delivered));
	EXPECT_EQ(25, queued);
	EXPECT_EQ(queued, delivered);
	ASSERT_TRUE(counter(self->a, "recv_bytes_added_to_sock", &queued));
	ASSERT_TRUE(counter(self->a, "recv_bytes_freed_fromsock", &delivered));
	EXPECT_EQ(24 * 25 / 2, queued);
	EXPECT_EQ(queued, delivered);
}

TEST_HARNESS_MAIN
