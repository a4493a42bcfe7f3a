// SPDX-License-Identifier: GPL-2.0
/*
 * Network namespaces: two with the same addresses and ports, which must not
 * affect each other. A socket stays in the namespace in which it was created,
 * so one thread can use sockets of both.
 */
#include "harness.h"
#include "veth.h"

#include <fcntl.h>
#include <sched.h>

#define RCVBUF 4096

/* The sockets of one namespace. Both namespaces have the same ones. */
struct side {
	int from;
	int to;
};

static const char *const from_addr = "127.0.0.1";
static const char *const to_addr = "127.0.0.2";

#define FROM_PORT 4001
#define TO_PORT 4002

static char buf[65536];

FIXTURE(netns) {
	struct side a;
	struct side b;
	struct rds_name to;
};

static int side_setup(struct side *side)
{
	if (rds_netns())
		return -1;
	side->from = rds_bound(from_addr, FROM_PORT);
	side->to = rds_bound(to_addr, TO_PORT);
	return side->from < 0 || side->to < 0 ? -1 : 0;
}

/* The caller is left in the namespace of side b. */
FIXTURE_SETUP(netns)
{
	ASSERT_EQ(0, ERR(side_setup(&self->a)));
	ASSERT_EQ(0, ERR(side_setup(&self->b)));
	self->to = rds_name(to_addr, TO_PORT);
}

FIXTURE_TEARDOWN(netns)
{
	close(self->a.from);
	close(self->a.to);
	close(self->b.from);
	close(self->b.to);
}

/*
 * The fixture has shown that both namespaces can have the same address and
 * port. Within one namespace, they are in use.
 */
TEST_F(netns, same_address_and_port_in_both)
{
	EXPECT_EQ(-1, rds_bound(to_addr, TO_PORT));
	EXPECT_EQ(EADDRINUSE, errno);
}

TEST_F(netns, messages_stay_in_their_namespace)
{
	ASSERT_EQ(1, ERR(rds_sendto(self->a.from, "a", 1, 0, &self->to)));
	ASSERT_EQ(2, ERR(rds_sendto(self->b.from, "bb", 2, 0, &self->to)));
	EXPECT_EQ(1, ERR(rds_recv(self->a.to, buf, sizeof(buf))));
	EXPECT_EQ(2, ERR(rds_recv(self->b.to, buf, sizeof(buf))));
	EXPECT_TRUE(rds_silent(self->a.to));
	EXPECT_TRUE(rds_silent(self->b.to));
}

/*
 * CVE-2026-68335: nothing is delivered to another namespace, and no state of a
 * destroyed namespace is left.
 */
TEST_F(netns, a_port_of_the_other_namespace_is_not_found)
{
	close(self->a.to);
	ASSERT_EQ(1, ERR(rds_sendto(self->a.from, "a", 1, 0, &self->to)));
	ASSERT_EQ(2, ERR(rds_sendto(self->b.from, "bb", 2, 0, &self->to)));
	EXPECT_EQ(2, ERR(rds_recv(self->b.to, buf, sizeof(buf))));
	EXPECT_TRUE(rds_silent(self->b.to));
	close(self->a.from);
	self->a.from = -1;
	self->a.to = -1;
	ASSERT_EQ(2, ERR(rds_sendto(self->b.from, "bb", 2, 0, &self->to)));
	EXPECT_EQ(2, ERR(rds_recv(self->b.to, buf, sizeof(buf))));
}

TEST_F(netns, congestion_stays_in_its_namespace)
{
	ASSERT_EQ(0, rds_rcvbuf(self->a.to, RCVBUF));
	ASSERT_EQ(RCVBUF, ERR(rds_sendto(self->a.from, buf, RCVBUF, 0,
					 &self->to)));
	EXPECT_EQ(-ENOBUFS, ERR(rds_sendto(self->a.from, buf, 1, MSG_DONTWAIT,
					   &self->to)));
	EXPECT_EQ(1, ERR(rds_sendto(self->b.from, buf, 1, MSG_DONTWAIT,
				    &self->to)));
}

TEST_F(netns, map_updates_stay_in_their_namespace)
{
	short before;

	ASSERT_EQ(1, ERR(rds_sendto(self->b.from, buf, 1, 0, &self->to)));
	rds_poll(self->b.from);
	before = rds_poll(self->b.from);
	ASSERT_EQ(0, rds_rcvbuf(self->a.to, RCVBUF));
	ASSERT_EQ(RCVBUF, ERR(rds_sendto(self->a.from, buf, RCVBUF, 0,
					 &self->to)));
	ASSERT_EQ(RCVBUF, ERR(rds_recv(self->a.to, buf, sizeof(buf))));
	EXPECT_EQ(before, rds_poll(self->b.from));
}

TEST_F(netns, notifications_stay_in_their_namespace)
{
	uint64_t all = ~0ull;

	ASSERT_EQ(0, ERR(setsockopt(self->b.from, SOL_RDS, RDS_CONG_MONITOR,
				    &all, sizeof(all))));
	ASSERT_EQ(0, rds_rcvbuf(self->a.to, RCVBUF));
	ASSERT_EQ(RCVBUF, ERR(rds_sendto(self->a.from, buf, RCVBUF, 0,
					 &self->to)));
	ASSERT_EQ(RCVBUF, ERR(rds_recv(self->a.to, buf, sizeof(buf))));
	EXPECT_TRUE(rds_silent(self->b.from));
}

static int records(int fd, int option, int record)
{
	socklen_t len = sizeof(buf);

	if (getsockopt(fd, SOL_RDS, option, buf, &len) != record)
		return -1;
	return len / record;
}

/* CVE-2026-97476: the lists show the namespace of the socket and no other. */
TEST_F(netns, lists_show_their_namespace)
{
	int fd;

	ASSERT_EQ(1, ERR(rds_sendto(self->a.from, "a", 1, 0, &self->to)));
	ASSERT_TRUE(rds_arrived(self->a.to));
	EXPECT_EQ(2, records(self->a.from, RDS_INFO_SOCKETS, 28));
	EXPECT_EQ(2, records(self->b.from, RDS_INFO_SOCKETS, 28));
	EXPECT_EQ(2, records(self->a.from, RDS6_INFO_SOCKETS, 52));
	EXPECT_LE(1, records(self->a.from, RDS_INFO_CONNECTIONS, 42));
	EXPECT_EQ(0, records(self->b.from, RDS_INFO_CONNECTIONS, 42));
	EXPECT_EQ(0, records(self->b.from, RDS6_INFO_CONNECTIONS, 65));
	EXPECT_EQ(1, records(self->a.from, RDS_INFO_RECV_MESSAGES, 26));
	EXPECT_EQ(0, records(self->b.from, RDS_INFO_RECV_MESSAGES, 26));
	EXPECT_EQ(0, records(self->b.from, RDS6_INFO_RECV_MESSAGES, 50));

	ASSERT_EQ(0, rds_netns());
	fd = rds_socket();
	EXPECT_EQ(0, records(fd, RDS_INFO_SOCKETS, 28));
	EXPECT_EQ(1, records(fd, RDS6_INFO_SOCKETS, 52));
	close(fd);
}

/* Send over loopback, which itself checks whether the address is local. */
static long send_to_itself(const char *addr)
{
	int fd = rds_bound(addr, 0);
	struct rds_name name;
	long ret = -errno;

	if (fd < 0)
		return ret;
	name = rds_sockname(fd);
	ret = ERR(rds_sendto(fd, "x", 1, MSG_DONTWAIT, &name));
	if (ret == 1)
		ret = ERR(rds_recv(fd, buf, sizeof(buf)));
	close(fd);
	return ret;
}

static long send_from_loopback(const char *from, const char *addr)
{
	struct rds_name to = rds_name(addr, 4000);
	int fd = rds_bound(from, 0);
	long ret;

	if (fd < 0)
		return -errno;
	ret = ERR(rds_sendto(fd, "x", 1, MSG_DONTWAIT, &to));
	close(fd);
	return ret;
}

/*
 * Test an address of a namespace other than the initial one, and one of the
 * initial namespace. A lookup in the initial namespace, instead of the
 * socket's, would find the wrong address.
 */
TEST_F(netns, addresses_belong_to_their_namespace)
{
	static const char *const local[] = { "127.0.0.1", "::1" };
	static const char *const ours[] = { "10.9.9.1", "fd09::1" };
	static const char *const first[] = { "10.9.9.2", "fd09::2" };
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	unsigned int i;

	ASSERT_LE(0, home);
	for (i = 0; i < ARRAY_SIZE(ours); i++) {
		ASSERT_EQ(0, rds_address(ours[i], true));
		ASSERT_EQ(0, ERR(rds_initial_netns()));
		ASSERT_EQ(0, rds_address(first[i], true));
		EXPECT_EQ(1, send_to_itself(first[i]));
		EXPECT_EQ(-EADDRNOTAVAIL, send_to_itself(ours[i]));
		EXPECT_EQ(-ENETUNREACH, send_from_loopback(local[i], ours[i]));

		ASSERT_EQ(0, ERR(setns(home, CLONE_NEWNET)));
		EXPECT_EQ(1, send_to_itself(ours[i]));
		EXPECT_EQ(-EADDRNOTAVAIL, send_to_itself(first[i]));
		EXPECT_EQ(-ENETUNREACH,
			  send_from_loopback(local[i], first[i]));

		ASSERT_EQ(0, ERR(rds_initial_netns()));
		EXPECT_EQ(0, rds_address(first[i], false));
		ASSERT_EQ(0, ERR(setns(home, CLONE_NEWNET)));
	}
	close(home);
	ASSERT_EQ(0, rds_netns());
	EXPECT_EQ(-1, rds_bound(ours[0], 0));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
}

/* Namespaces are created and destroyed with messages in their queues. */
TEST_F(netns, short_lived_namespaces)
{
	struct side side;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, ERR(side_setup(&side)));
		ASSERT_EQ(5000, ERR(rds_sendto(side.from, buf, 5000, 0,
					       &self->to)));
		ASSERT_TRUE(rds_arrived(side.to));
		close(side.from);
		close(side.to);
	}
	ASSERT_EQ(1, ERR(rds_sendto(self->a.from, "a", 1, 0, &self->to)));
	EXPECT_EQ(1, ERR(rds_recv(self->a.to, buf, sizeof(buf))));
}

#define MOVING "10.1.0.77"

/*
 * An address moves from this host to another. A socket that has sent to it
 * before must now send over the wire, and not over loopback.
 */
TEST(address_that_moves_to_another_host)
{
	struct rds_name to = rds_name(MOVING, 4000);
	int from, near, far;
	char room[8];

	ASSERT_EQ(0, veth_setup());
	ASSERT_EQ(0, rds_address(MOVING, true));
	from = rds_bound(VETH_NEAR_IPV4, 0);
	near = rds_bound(MOVING, 4000);
	ASSERT_LE(0, from);
	ASSERT_LE(0, near);
	ASSERT_EQ(4, rds_sendto(from, "near", 4, 0, &to));
	EXPECT_EQ(4, rds_recv(near, room, sizeof(room)));
	close(near);

	ASSERT_EQ(0, rds_address(MOVING, false));
	ASSERT_EQ(0, veth_cross());
	ASSERT_EQ(0, rds_address(MOVING, true));
	far = rds_bound(MOVING, 4000);
	ASSERT_EQ(0, veth_back());
	ASSERT_LE(0, far);
	ASSERT_EQ(3, rds_sendto(from, "far", 3, 0, &to));
	EXPECT_EQ(3, rds_recv(far, room, sizeof(room)));
	close(far);
	close(from);
	veth_forget();
}

#define COMING "fd00:1::77"

/* Send until a message arrives, which happens once it is sent to this host. */
static bool arrives_at_last(int from, int to, const struct rds_name *name)
{
	unsigned int tries;
	char room[8];

	for (tries = 0; tries < 300; tries++) {
		rds_sendto(from, "x", 1, MSG_DONTWAIT, name);
		if (recv(to, room, sizeof(room), MSG_DONTWAIT) == 1)
			return true;
		usleep(100000);
	}
	return false;
}

/*
 * An IPv6 address is added to this host, which first checks that no other host
 * has it. During the check, a socket sends to the address over the wire. As
 * soon as this host owns the address, the socket sends over loopback.
 */
TEST(address_that_comes_here)
{
	struct rds_name to = rds_name(COMING, 4000);
	int from, here, tries;

	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, veth_setup());
	from = rds_bound(VETH_NEAR_IPV6, 0);
	ASSERT_LE(0, from);
	ASSERT_EQ(0, system("ip -6 addr add " COMING "/64 dev " VETH_DEV));
	for (tries = 0; tries < 300; tries++) {
		rds_sendto(from, "x", 1, MSG_DONTWAIT, &to);
		here = rds_bound(COMING, 4000);
		if (here >= 0)
			break;
		usleep(10000);
	}
	ASSERT_LE(0, here);
	EXPECT_LT(0, tries)
		TH_LOG("the address was there at once");
	EXPECT_TRUE(arrives_at_last(from, here, &to));
	close(here);
	close(from);
	veth_forget();
}

TEST_HARNESS_MAIN
