// SPDX-License-Identifier: GPL-2.0
/*
 * The TCP paths of a connection: how many there are, what happens when both
 * ends dial, when a receiver does not read, and when a peer is dead
 */
#include "tcp.h"

/*
 * Wait until one end has @count paths, all of them UP. Returns false if it ever
 * has more.
 */
static bool await_paths(FIXTURE_DATA(tcp) *self, int fd, int count)
{
	struct rds6_info_path path[PATHS];
	int i, up, listed, tries;

	for (tries = 30000; tries; tries--) {
		listed = tcp_paths(self, fd, path);
		for (up = i = 0; i < listed; i++)
			up += path[i].state == PATH_UP;
		if (listed > count || (listed > 0 && path[0].npaths > count))
			return false;
		if (up == count && path[0].npaths == count)
			return true;
		usleep(1000);
	}
	return false;
}

TEST_F(tcp, max_paths_bounds_the_paths)
{
	tcp_move(_metadata, self, variant);
	ASSERT_EQ(0, tcp_set("max_paths", 2));
	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_works(self->b, self->a));
	EXPECT_TRUE(await_paths(self, self->a, 2));
	EXPECT_TRUE(await_paths(self, self->b, 2));
}

/*
 * Wait until the far end has forgotten the connection, which its sockets did
 * not use.
 */
static bool await_forgotten(FIXTURE_DATA(tcp) *self)
{
	struct rds6_info_path path[PATHS];
	unsigned int left;

	for (left = 60000; left; left--) {
		if (!tcp_paths(self, self->b, path))
			return true;
		usleep(1000);
	}
	return false;
}

/* Check that 16 pairs of sockets get their messages through, on any paths. */
static bool all_pairs_work(const FIXTURE_VARIANT(tcp) *variant)
{
	enum { PAIRS = 16, TIMES = 5 };
	int near[PAIRS], far[PAIRS], i, times;
	struct rds_name name;
	bool good = true;

	for (i = 0; i < PAIRS; i++) {
		near[i] = rds_bound(variant->near, 0);
		far[i] = veth_far_bound(variant->far, 0);
		name = rds_sockname(far[i]);
		for (times = 0; times < TIMES; times++)
			good &= rds_sendto(near[i], "abc", 3, 0, &name) == 3;
	}
	for (i = 0; i < PAIRS; i++) {
		for (times = 0; good && times < TIMES; times++)
			good = rds_recv(far[i], buf, sizeof(buf)) == 3;
		good = good && tcp_works(far[i], near[i]);
		close(near[i]);
		close(far[i]);
	}
	return good;
}

/* The far end, whose sockets did not use the connection, forgets it. By then,
 * one end would use fewer paths than the connection has: the far end if
 * @lower_far, or else the near end, which keeps the connection.
 */
static bool paths_outlast(FIXTURE_DATA(tcp) *self,
			  const FIXTURE_VARIANT(tcp) *variant, bool lower_far)
{
	struct rds_name ping = rds_name(variant->far, 0);

	if (rds_sendto(self->a, NULL, 0, 0, &ping) ||
	    rds_recv(self->a, buf, sizeof(buf)) ||
	    !tcp_await_established(self, self->a, 0) ||
	    !tcp_await_established(self, self->b, 0))
		return false;
	if ((!lower_far && tcp_set("max_paths", 1)) ||
	    system("tc qdisc add dev " VETH_DEV " root netem loss 100%") ||
	    veth_cross() || (lower_far && tcp_set("max_paths", 1)) ||
	    tcp_set("rds_tcp_sndbuf", 0) || veth_back() ||
	    !await_forgotten(self) ||
	    system("tc qdisc del dev " VETH_DEV " root"))
		return false;
	return all_pairs_work(variant);
}

TEST_F(tcp, paths_outlast_a_peer_that_would_have_fewer)
{
	tcp_move(_metadata, self, variant);
	EXPECT_TRUE(paths_outlast(self, variant, true));
}

TEST_F(tcp, paths_outlast_what_we_would_offer)
{
	tcp_move(_metadata, self, variant);
	EXPECT_TRUE(paths_outlast(self, variant, false));
}

/*
 * The connection of a peer that does not answer is dropped, and made again when
 * the peer answers.
 */
TEST_F(tcp, user_timeout_finds_a_dead_peer)
{
	struct rds6_info_path path[PATHS];
	unsigned int left;
	long before;
	int i, dead = 0, count;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_await_established(self, self->a, 0));
	ASSERT_EQ(0, tcp_set("user_timeout_ms", 1000));
	before = tcp_established(self, self->a);
	ASSERT_EQ(0, tcp_set("rds_tcp_sndbuf", 0));
	ASSERT_TRUE(tcp_await_established(self, self->a, before + PATHS - 1));
	ASSERT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem loss 100%"));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	for (left = 60000; left && !dead; left--) {
		count = tcp_paths(self, self->a, path);
		for (i = 0; i < count; i++)
			dead += path[i].drop_reason == TIMEOUT;
		usleep(1000);
	}
	EXPECT_LT(0, dead);
	EXPECT_TRUE(rds_silent(self->b));
	ASSERT_EQ(0, system("tc qdisc del dev " VETH_DEV " root"));
	EXPECT_EQ(3, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_TRUE(tcp_works(self->a, self->b));
	EXPECT_TRUE(tcp_works(self->b, self->a));
}

/* On a slow link, both ends dial before either notices the other's attempt. */
TEST_F(tcp, duels_are_counted_and_end)
{
	int64_t raced;

	tcp_move(_metadata, self, variant);
	ASSERT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem delay 200ms"));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_EQ(4, ERR(rds_sendto(self->b, "abcd", 4, 0, &self->a_name)));
	EXPECT_EQ(3, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_EQ(4, ERR(rds_recv(self->a, buf, sizeof(buf))));
	raced = rds_counter(self->a, "tcp_connect_raced") +
		rds_counter(self->b, "tcp_connect_raced");
	EXPECT_LE(1, raced);
	ASSERT_EQ(0, system("tc qdisc del dev " VETH_DEV " root"));
	EXPECT_TRUE(tcp_await_established(self, self->a, 0));
	EXPECT_TRUE(tcp_works(self->a, self->b));
	EXPECT_TRUE(tcp_works(self->b, self->a));
}

#define CROWD	100	/* senders to one port */
#define OTHERS	16	/* pairs of other sockets */
#define LARGE	100000
#define SHORT	20	/* short messages of each pair */

/*
 * Send until the buffer of @fd is full, or the port is known to be congested.
 */
static void send_large(int fd, const struct rds_name *to)
{
	while (rds_sendto(fd, buf, LARGE, MSG_DONTWAIT, to) == LARGE)
		;
}

/*
 * Many senders queue messages for a receiver that does not read. When the
 * senders learn of the congestion, these messages are parked at their end and
 * do not delay messages of other sockets. On a slow link the senders learn of
 * it some time after they have begun.
 */
TEST_F(tcp, incast_keeps_nobody_else)
{
	int crowd[CROWD], near[OTHERS], far[OTHERS];
	struct rds_name name;
	int64_t stopped, parked;
	int i, j;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_await_established(self, self->a, 0));
	stopped = rds_counter(self->b, "recv_path_stopped");
	parked = rds_counter(self->a, "send_parked");
	for (i = 0; i < OTHERS; i++) {
		near[i] = rds_bound(variant->near, 0);
		far[i] = veth_far_bound(variant->far, 0);
		ASSERT_TRUE(tcp_works(near[i], far[i]));
	}
	ASSERT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem delay 400ms limit 100000"));
	for (i = 0; i < CROWD; i++) {
		crowd[i] = rds_bound(variant->near, 0);
		ASSERT_LE(0, crowd[i]);
		send_large(crowd[i], &self->b_name);
	}
	for (i = 0; i < OTHERS; i++) {
		name = rds_sockname(far[i]);
		for (j = 0; j < SHORT; j++)
			ASSERT_EQ(1, ERR(rds_sendto(near[i], "x", 1, 0,
						    &name)));
	}
	for (i = 0; i < OTHERS; i++) {
		for (j = 0; j < SHORT; j++)
			ASSERT_EQ(1, ERR(rds_recv(far[i], buf, sizeof(buf))));
		close(near[i]);
		close(far[i]);
	}
	EXPECT_EQ(stopped, rds_counter(self->b, "recv_path_stopped"));
	EXPECT_LT(parked, rds_counter(self->a, "send_parked"));
	EXPECT_EQ(LARGE, ERR(rds_recv(self->b, buf, sizeof(buf))));
	for (i = 0; i < CROWD; i++)
		close(crowd[i]);
}

TEST_HARNESS_MAIN
