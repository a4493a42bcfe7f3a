// SPDX-License-Identifier: GPL-2.0
/*
 * Clients at the TCP port of RDS that do not speak RDS: nothing is sent to
 * them, they leave nothing behind, and they disturb no other connection.
 */
#include "wire.h"

#include <sys/wait.h>

#define TCP_PORT 16385

FIXTURE_SETUP(wire)
{
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, veth_setup());
	ASSERT_TRUE(wire_bind(self, variant, 4000, 4001));
}

FIXTURE_TEARDOWN(wire)
{
	close(self->a);
	close(self->b);
}

static int connect_client(const char *addr, int flags)
{
	struct rds_name name = rds_name(addr, TCP_PORT);
	int fd = socket(name.sa.sa_family, SOCK_STREAM | flags, 0);
	int tries = 100;
	int ret;

	/* The routes of a link that has just come up may be missing for a
	 * moment.
	 */
	while ((ret = connect(fd, &name.sa, name.len)) &&
	       errno == EHOSTUNREACH && --tries)
		usleep(50000);
	/* A connection may be reset before the call has returned. */
	if (ret && errno != EINPROGRESS && errno != ECONNRESET) {
		close(fd);
		return -1;
	}
	return fd;
}

static int connections(int fd)
{
	static char list[65536];
	socklen_t len = sizeof(list);

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_CONNECTIONS, list, &len) != 65)
		return -1;
	return len / 65;
}

static void connect_and_exit(void)
{
	int i;

	if (rds_netns())
		_exit(1);
	/* The listener exists before any socket of RDS. */
	for (i = 0; i < 8; i++)
		if (connect_client(i % 2 ? "127.0.0.1" : "::1",
				   SOCK_NONBLOCK) < 0)
			_exit(2);
	_exit(0);
}

/* The namespace ends while handshakes of TCP are incomplete. */
TEST_F(wire, cve_2024_26865_connect_and_exit)
{
	unsigned int i;
	int status;
	pid_t pid;

	for (i = 0; i < few_or(30); i++) {
		pid = fork();
		if (!pid)
			connect_and_exit();
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* 2021: a message of this host to itself found the connection that nc had left
 * behind.
 */
TEST_F(wire, loopback_hang_after_nc)
{
	const char *const addrs[] = { variant->near, "127.0.0.1", "::1" };
	int c = rds_bound(variant->near, 4002);
	struct rds_name name = rds_sockname(c);
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		fd = connect_client(addrs[i], 0);
		ASSERT_LE(0, fd)
			TH_LOG("%s: %m", addrs[i]);
		send(fd, "hello\n", 6, MSG_NOSIGNAL);
		close(fd);
	}
	EXPECT_EQ(0, connections(self->a));
	EXPECT_TRUE(loop_works(self->a, c, &name, 64));
	EXPECT_TRUE(loop_works(c, self->a, &self->a_name, 64));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	close(c);
}

/* Wait up to half a minute until the other end has closed it. */
static bool is_closed(int fd)
{
	struct timeval tv = { .tv_sec = 30 };
	char byte;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return read(fd, &byte, 1) <= 0 && errno != EAGAIN;
}

/* A scanner at the far end, with whole headers of invalid data and with less */
TEST_F(wire, i22_invalid_data_from_the_far_end)
{
	static const size_t sizes[] = { 0, 1, 47, 48, 4096 };
	char junk[4096];
	unsigned int i;
	int fd;

	memset(junk, 0xff, sizeof(junk));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(0, veth_cross());
		fd = connect_client(variant->near, 0);
		ASSERT_EQ(0, veth_back());
		ASSERT_LE(0, fd);
		send(fd, junk, sizes[i], MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		errno = 0;
		EXPECT_TRUE(is_closed(fd));
		close(fd);
	}
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	EXPECT_TRUE(loop_works(self->b, self->a, &self->a_name, 5000));
}

#define SILENT 300

/* More connections than may be pending: RDS peers are served meanwhile. */
TEST_F(wire, i22_silent_connections)
{
	int i, fd[SILENT];

	ASSERT_EQ(0, veth_cross());
	for (i = 0; i < SILENT; i++) {
		fd[i] = connect_client(variant->near, SOCK_NONBLOCK);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, veth_back());
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	EXPECT_TRUE(loop_works(self->b, self->a, &self->a_name, 5000));
	/* One for each address of the far end */
	EXPECT_GE(2, connections(self->a));
	for (i = 0; i < SILENT; i++)
		close(fd[i]);
}

TEST_HARNESS_MAIN
