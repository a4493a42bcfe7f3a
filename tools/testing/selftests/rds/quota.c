// SPDX-License-Identifier: GPL-2.0
/*
 * Limits on the number of connections: of one user, and in a namespace. Over a
 * wire, there is no host at the other end, so each waiting message keeps its
 * connection. A connection is charged to the user whose socket caused its
 * creation, but other users share it. So each test sends to addresses of its
 * own.
 */
#include "harness.h"
#include "veth.h"

#define LIMIT 10
#define SOCKETS (4 * LIMIT)
#define ALICE 4001
#define BOB 4002
#define CAROL 4003
#define DAVE 4004

FIXTURE(quota) {
	int watch;	/* a socket of root */
	int fds[SOCKETS];
};

FIXTURE_SETUP(quota)
{
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, veth_setup());
	self->watch = rds_bound(VETH_NEAR_IPV4, 0);
	ASSERT_LE(0, self->watch);
}

FIXTURE_TEARDOWN(quota)
{
	close(self->watch);
}

static long send_to(int fd, const char *net, unsigned int host)
{
	struct rds_name to;
	char addr[32];

	snprintf(addr, sizeof(addr), "%s.%u", net, host);
	to = rds_name(addr, 4000);
	return ERR(rds_sendto(fd, "x", 1, MSG_DONTWAIT, &to));
}

/*
 * Send to one address after the other until a send fails. Stores the errno in
 * @err. Returns how many sends succeeded.
 */
static unsigned int fill(int fd, const char *net, unsigned int first,
			 long *err)
{
	unsigned int nr;

	for (nr = 0; nr < 4 * LIMIT; nr++) {
		*err = send_to(fd, net, first + nr);
		if (*err != 1)
			break;
	}
	return nr;
}

/*
 * The same over loopback, from a new socket for each connection. Idle
 * connections make room there, so the sockets stay open.
 */
static unsigned int fill_loopback(int *fds, unsigned int net, long *err)
{
	char addr[32];
	unsigned int nr;

	for (nr = 0; nr < SOCKETS; nr++) {
		snprintf(addr, sizeof(addr), "127.0.%u.%u", net, nr + 1);
		fds[nr] = rds_bound(addr, 0);
		*err = send_to(fds[nr], "127.0.99", 1);
		if (*err != 1)
			return nr + 1;
	}
	return nr;
}

static void become(struct __test_metadata *_metadata, unsigned int uid)
{
	ASSERT_EQ(0, setresuid(uid, uid, 0));
}

static void become_root(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, setresuid(0, 0, 0));
}

/*
 * Send until it succeeds. A connection that is to go away does so within
 * seconds.
 */
static bool has_room_at_last(int fd, const char *net, unsigned int host)
{
	int tries;

	for (tries = 0; tries < 600; tries++) {
		if (send_to(fd, net, host) == 1)
			return true;
		usleep(100000);
	}
	return false;
}

TEST_F(quota, one_user_over_a_wire)
{
	int64_t before = rds_counter(self->watch, "conn_refused_user");
	int alice, bob;
	long err;

	ASSERT_LE(0, before);
	ASSERT_EQ(0, rds_sysctl_set("max_conns_per_user", "10"));
	become(_metadata, ALICE);
	alice = rds_bound(VETH_NEAR_IPV4, 0);
	EXPECT_EQ(LIMIT, fill(alice, "10.1.0", 10, &err));
	EXPECT_EQ(-EDQUOT, err);
	EXPECT_EQ(before + 1, rds_counter(alice, "conn_refused_user"));
	/* Existing connections continue to work. */
	EXPECT_EQ(1, send_to(alice, "10.1.0", 10));

	/* Other users are not affected. */
	become_root(_metadata);
	become(_metadata, BOB);
	bob = rds_bound(VETH_NEAR_IPV4, 0);
	EXPECT_EQ(1, send_to(bob, "10.1.0", 60));

	/*
	 * The socket is charged to its creator. A caller with CAP_NET_ADMIN may
	 * exceed the limit.
	 */
	EXPECT_EQ(-EDQUOT, send_to(alice, "10.1.0", 61));
	become_root(_metadata);
	EXPECT_EQ(1, send_to(alice, "10.1.0", 61));
	close(bob);
	close(alice);
}

/*
 * Connections to many addresses of no host go away when the socket is closed.
 */
TEST_F(quota, connections_to_nobody_go)
{
	int fd;
	long err;

	ASSERT_EQ(0, rds_sysctl_set("max_conns_per_user", "10"));
	become(_metadata, DAVE);
	fd = rds_bound(VETH_NEAR_IPV4, 0);
	EXPECT_EQ(LIMIT, fill(fd, "10.1.0", 100, &err));
	close(fd);

	fd = rds_bound(VETH_NEAR_IPV4, 0);
	EXPECT_TRUE(has_room_at_last(fd, "10.1.0", 200));
	close(fd);
}

TEST_F(quota, one_user_over_loopback)
{
	unsigned int i, nr;
	int fd;
	long err;

	ASSERT_EQ(0, rds_sysctl_set("max_conns_per_user", "10"));
	become(_metadata, CAROL);
	nr = fill_loopback(self->fds, 1, &err);
	EXPECT_EQ(-EDQUOT, err);
	EXPECT_LE(LIMIT / 2, nr);
	EXPECT_GE(LIMIT + 1, nr);

	become_root(_metadata);
	become(_metadata, BOB);
	fd = rds_bound("127.0.2.1", 0);
	EXPECT_EQ(1, send_to(fd, "127.0.99", 1));
	close(fd);

	become_root(_metadata);
	become(_metadata, CAROL);
	for (i = 0; i < nr; i++)
		close(self->fds[i]);
	fd = rds_bound("127.0.1.200", 0);
	EXPECT_TRUE(has_room_at_last(fd, "127.0.99", 1));
	close(fd);
}

/* The limit of a namespace applies to root, too, because it protects memory. */
TEST_F(quota, a_namespace)
{
	int64_t before = rds_counter(self->watch, "conn_refused_net");
	int fd;
	long err;

	ASSERT_LE(0, before);
	ASSERT_EQ(0, rds_sysctl_set("max_conns", "10"));
	fd = rds_bound(VETH_NEAR_IPV4, 0);
	EXPECT_GE(LIMIT, fill(fd, "10.1.0", 150, &err));
	EXPECT_EQ(-EUSERS, err);
	EXPECT_LT(before, rds_counter(fd, "conn_refused_net"));
	close(fd);

	fd = rds_bound(VETH_NEAR_IPV4, 0);
	EXPECT_TRUE(has_room_at_last(fd, "10.1.0", 210));
	close(fd);
}

TEST_HARNESS_MAIN
