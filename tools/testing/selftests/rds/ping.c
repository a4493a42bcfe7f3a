// SPDX-License-Identifier: GPL-2.0
/* Port 0: a message to it is a ping, which the host itself answers */
#include "pair.h"

static char buf[65536];

static struct rds_name port_0_of(const struct rds_name *name)
{
	struct rds_name ping = *name;

	if (name->sa.sa_family == AF_INET)
		ping.in.sin_port = 0;
	else
		ping.in6.sin6_port = 0;
	return ping;
}

TEST_F(pair, answered_by_an_empty_message_from_port_0)
{
	struct rds_name ping = port_0_of(&self->b_name);
	struct rds_msg msg;

	ASSERT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &ping)));
	ASSERT_EQ(0, ERR(rds_msg_recv(self->a, &msg, buf, sizeof(buf), 0)));
	EXPECT_EQ(ping.len, msg.hdr.msg_namelen);
	EXPECT_EQ(0, memcmp(&msg.name.ss, &ping.ss, ping.len));
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, payload_of_a_ping_is_ignored)
{
	struct rds_name ping = port_0_of(&self->b_name);

	ASSERT_EQ(30000, ERR(rds_sendto(self->a, buf, 30000, 0, &ping)));
	EXPECT_EQ(0, ERR(rds_recv(self->a, buf, sizeof(buf))));
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_F(pair, needs_no_socket_on_the_other_side)
{
	struct rds_name ping = port_0_of(&self->b_name);

	close(self->b);
	self->b = -1;
	ASSERT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &ping)));
	EXPECT_EQ(0, ERR(rds_recv(self->a, buf, sizeof(buf))));
}

TEST_F(pair, to_the_own_address)
{
	struct rds_name ping = port_0_of(&self->a_name);

	ASSERT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &ping)));
	EXPECT_EQ(0, ERR(rds_recv(self->a, buf, sizeof(buf))));
}

TEST_F(pair, connected_to_port_0)
{
	ASSERT_EQ(0, ERR(rds_connect(self->a, port_0_of(&self->b_name))));
	ASSERT_EQ(0, ERR(send(self->a, NULL, 0, 0)));
	EXPECT_EQ(0, ERR(rds_recv(self->a, buf, sizeof(buf))));
}

TEST_F(pair, each_ping_has_one_answer)
{
	struct rds_name ping = port_0_of(&self->b_name);
	int i;

	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &ping)));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, ERR(rds_recv(self->a, buf, sizeof(buf))));
	EXPECT_TRUE(rds_silent(self->a));
}

/*
 * The messages after the ping show that the pong is missing, and not just late.
 */
TEST_F(pair, not_answered_when_disabled)
{
	struct rds_name ping = port_0_of(&self->b_name);
	int64_t drops;

	pair_move(_metadata, self, variant);
	drops = rds_counter(self->b, "recv_drop_no_sock");
	ASSERT_EQ(0, pair_far_sysctl(self, "ping_enable", "0"));
	EXPECT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &ping)));
	EXPECT_TRUE(rds_await_counter(self->b, "recv_drop_no_sock",
				      drops + 1));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(3, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_EQ(3, ERR(rds_sendto(self->b, "abc", 3, 0, &self->a_name)));
	EXPECT_EQ(3, ERR(rds_recv(self->a, buf, sizeof(buf))));
	EXPECT_TRUE(rds_silent(self->a));

	ASSERT_EQ(0, pair_far_sysctl(self, "ping_enable", "1"));
	EXPECT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &ping)));
	EXPECT_EQ(0, ERR(rds_recv(self->a, buf, sizeof(buf))));
}

TEST_HARNESS_MAIN
