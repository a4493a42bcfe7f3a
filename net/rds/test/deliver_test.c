// SPDX-License-Identifier: GPL-2.0-only
/*
 * Received messages, net/rds/core/{deliver,pong}.c: which socket receives them,
 * which ones are dropped, and pings.
 */
#include <linux/poll.h>

#include "rig_peer.h"

#define RETRANS		RDS_FLAG_RETRANSMITTED
#define MAX_STEPS	8

static void message_is_read(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rig_got got;

	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLIN);
	rig_deliver(test, 1, RIG_PEER_PORT, RIG_PORT, 100, 0);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLIN);

	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 100);
	KUNIT_EXPECT_TRUE(test, got.intact);
	KUNIT_EXPECT_EQ(test, got.from, (u32)RIG_FADDR);
	KUNIT_EXPECT_EQ(test, got.sport, RIG_PEER_PORT);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

static void empty_message_is_read(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rig_got got;

	rig_deliver(test, 1, RIG_PEER_PORT, RIG_PORT, 0, 0);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 0);
	KUNIT_EXPECT_EQ(test, got.sport, RIG_PEER_PORT);
}

static void port_says_which_socket(struct kunit *test)
{
	struct socket *one = rig_up(test);
	struct socket *two = rig_socket(test, RIG_PORT + 1);
	struct rig_got got;

	rig_deliver(test, 1, 11, RIG_PORT + 1, 1, 0);
	rig_deliver(test, 2, 12, RIG_PORT, 1, 0);
	rig_recv(test, one, &got);
	KUNIT_EXPECT_EQ(test, got.sport, 12);
	rig_recv(test, two, &got);
	KUNIT_EXPECT_EQ(test, got.sport, 11);
}

struct step {
	u64	seq;
	u8	flags;
	bool	kept;
};

struct duplicate_row {
	const char	*name;
	unsigned int	caps;
	struct step	steps[MAX_STEPS];
};

static const struct duplicate_row duplicates[] = {
	{ "in_order", 0,
	  { { 1, 0, true }, { 2, 0, true }, { 3, 0, true } } },
	{ "retransmitted_and_seen", 0,
	  { { 1, 0, true }, { 1, RETRANS, false }, { 2, RETRANS, true },
	    { 2, RETRANS, false }, { 1, RETRANS, false } } },
	{ "retransmitted_and_new", 0,
	  { { 1, RETRANS, true }, { 2, RETRANS, true }, { 3, 0, true } } },
	{ "restart_without_the_flag", 0,
	  { { 7, 0, true }, { 1, 0, true }, { 2, 0, true },
	    { 1, RETRANS, false }, { 3, RETRANS, true } } },
	{ "same_again_without_the_flag", 0,
	  { { 1, 0, true }, { 1, 0, true }, { 1, RETRANS, false } } },
	{ "gap", 0,
	  { { 1, 0, true }, { 9, 0, true }, { 5, RETRANS, false },
	    { 9, RETRANS, false }, { 10, RETRANS, true } } },
	{ "ack_flag_is_not_it", 0,
	  { { 1, 0, true }, { 1, RDS_FLAG_ACK_REQUIRED, true },
	    { 1, RETRANS | RDS_FLAG_ACK_REQUIRED, false } } },
	{ "strict_peer", RDS_CAP_LOOPBACK,
	  { { 1, 0, true }, { 2, 0, true }, { 1, 0, false },
	    { 2, 0, false }, { 2, RETRANS, false }, { 3, 0, true } } },
};

static void duplicate_desc(const struct duplicate_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(duplicates, duplicates, duplicate_desc);

static void duplicate_rule(struct kunit *test)
{
	const struct duplicate_row *row = test->param_value;
	u64 dropped = rig_stat(recv_drop_old_seq);
	const struct step *step;
	struct socket *sock;
	struct rig_got got;
	unsigned int i;

	rig_fake(test)->trans.caps = row->caps;
	sock = rig_up(test);
	for (i = 0; i < MAX_STEPS && row->steps[i].seq; i++) {
		step = &row->steps[i];
		rig_deliver(test, step->seq, 100 + i, RIG_PORT, 5,
			    step->flags);
		rig_recv(test, sock, &got);
		KUNIT_EXPECT_EQ_MSG(test, got.ret, step->kept ? 5 : -EAGAIN,
				    "step %u", i);
		dropped += !step->kept;
		KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_old_seq), dropped);
	}
}

static void restart_forgets_the_sequence(struct kunit *test)
{
	const struct rds_path_resume resume = { .rx_restarts = true };
	struct socket *sock = rig_up(test);
	struct rig_got got;

	rig_deliver(test, 50, 1, RIG_PORT, 5, 0);
	rig_recv(test, sock, &got);
	local_bh_disable();
	rds_path_resume(rig_path(test), &resume);
	local_bh_enable();
	rig_deliver(test, 1, 2, RIG_PORT, 5, RETRANS);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);
}

/* The expected sequence number outlives the connection. Otherwise core would
 * not detect duplicates that the peer retransmits on the next connection.
 */
static void drop_keeps_the_sequence(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rig_got got;

	rig_deliver(test, 7, 1, RIG_PORT, 5, 0);
	rig_recv(test, sock, &got);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);

	rig_deliver(test, 7, 1, RIG_PORT, 5, RETRANS);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
	rig_deliver(test, 8, 1, RIG_PORT, 5, RETRANS);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);
}

static void unknown_port_is_counted(struct kunit *test)
{
	u64 no_sock = rig_stat(recv_drop_no_sock);
	u64 old_seq = rig_stat(recv_drop_old_seq);
	struct socket *sock = rig_up(test);
	struct rig_got got;

	rig_deliver(test, 1, 9, RIG_PORT + 7, 100, 0);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_no_sock), no_sock + 1);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);

	/* The dropped message has used up its sequence number. */
	rig_deliver(test, 1, 9, RIG_PORT, 100, RETRANS);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_old_seq), old_seq + 1);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

static void closed_socket_drops_what_is_unread(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	u64 no_sock = rig_stat(recv_drop_no_sock);
	unsigned int i;

	for (i = 1; i <= 5; i++)
		rig_deliver(test, i, 9, RIG_PORT, 1000, 0);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 5);
	rig_close(test, sock);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);

	rig_deliver(test, i, 9, RIG_PORT, 1000, 0);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_no_sock), no_sock + 1);
}

static void pong_comes_from_the_work(struct kunit *test)
{
	u64 pings = rig_stat(recv_ping), pongs = rig_stat(send_pong);
	const struct fake_call *call;

	rig_up(test);
	rig_deliver(test, 1, 4321, RDS_PORT_PING, 0, 0);
	rig_await(test, FAKE_SENT, 1);

	call = fake_nth(rig_fake(test), FAKE_SENT, 0);
	KUNIT_EXPECT_EQ(test, call->seq, 2ULL);
	KUNIT_EXPECT_EQ(test, call->sport, 0);
	KUNIT_EXPECT_EQ(test, call->dport, 4321);
	KUNIT_EXPECT_EQ(test, call->len, 0U);
	KUNIT_EXPECT_PTR_NE(test, call->task, current);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_ping), pings + 1);
	KUNIT_EXPECT_EQ(test, rig_stat(send_pong), pongs + 1);
}

static void ping_may_have_a_payload(struct kunit *test)
{
	rig_up(test);
	rig_deliver(test, 1, 4321, RDS_PORT_PING, 5000, 0);
	rig_await(test, FAKE_SENT, 1);
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 0)->len, 0U);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);
}

static void pongs_keep_the_order_of_pings(struct kunit *test)
{
	unsigned int i;

	rig_up(test);
	for (i = 0; i < 20; i++)
		rig_deliver(test, 1 + i, 100 + i, RDS_PORT_PING, 0, 0);
	rig_await(test, FAKE_SENT, 20);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT,
					       i)->dport, 100 + i);
}

/* The pong to the second ping proves that the first ping gets none. */
static void ping_from_port_0_is_ignored(struct kunit *test)
{
	u64 pings = rig_stat(recv_ping);

	rig_up(test);
	rig_deliver(test, 1, 0, RDS_PORT_PING, 0, 0);
	rig_deliver(test, 2, 77, RDS_PORT_PING, 0, 0);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "X");
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 0)->dport,
			77);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_ping), pings + 2);
}

/* A port whose owner does not read pongs is congested, and gets no more. */
static void ping_from_a_full_port(struct kunit *test)
{
	static const u16 full[] = { 66 };

	rig_up(test);
	rig_deliver_map(test, full, 1, RDS_CONG_MAP_BYTES);
	rig_deliver(test, 1, 66, RDS_PORT_PING, 0, 0);
	rig_deliver(test, 2, 77, RDS_PORT_PING, 0, 0);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "X");
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 0)->dport,
			77);
}

static void ping_enable_off(struct kunit *test)
{
	u64 pings = rig_stat(recv_ping);
	u64 no_sock = rig_stat(recv_drop_no_sock);

	rig_up(test);
	rig_sysctl()->ping_enable = 0;
	rig_deliver(test, 1, 66, RDS_PORT_PING, 0, 0);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_ping), pings);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_no_sock), no_sock + 1);

	rig_sysctl()->ping_enable = 1;
	rig_deliver(test, 2, 77, RDS_PORT_PING, 0, 0);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "X");
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 0)->dport,
			77);
}

static void pong_is_delivered_like_data(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rig_got got;

	rig_deliver(test, 1, 0, RIG_PORT, 0, 0);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 0);
	KUNIT_EXPECT_EQ(test, got.from, (u32)RIG_FADDR);
	KUNIT_EXPECT_EQ(test, got.sport, 0);
}

static void pong_is_sent_again_after_a_drop(struct kunit *test)
{
	rig_up(test);
	rig_deliver(test, 1, 4321, RDS_PORT_PING, 0, 0);
	rig_await(test, FAKE_SENT, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_sent(test, "2 2ar");
	rds_path_ack(rig_path(test), 2);
}

/* A peer that pings and does not read the pongs must not fill our memory. */
static void pongs_are_bounded(struct kunit *test)
{
	u64 pongs = rig_stat(send_pong);
	unsigned int i;

	rig_up(test);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 1; i <= 3000; i++) {
		rig_deliver(test, i, 4321, RDS_PORT_PING, 0, 0);
		if (i % 250 == 0)
			fake_settle(rig_fake(test));
	}
	KUNIT_EXPECT_GE(test, rig_stat(send_pong), pongs + 250);
	KUNIT_EXPECT_LE(test, rig_stat(send_pong), pongs + 1100);
}

/* Many such peers must not fill our memory either. A path may hold a quarter of
 * the pongs that are left for the namespace. When it holds 8 of 40, a quarter
 * of those left is 8, and no ninth pong is added.
 */
static void pongs_of_all_are_bounded(struct kunit *test)
{
	u64 limited = rig_stat(recv_ping_limited), seq;
	struct fake *fake = rig_fake(test);
	const atomic_t *pongs;
	struct socket *sock;

	rig_sysctl()->pongs_max = 40;
	sock = rig_up(test);
	pongs = &rig_conn(test)->c_rn->rn_npongs;
	fake_fail(&fake->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (seq = 1; seq <= 200; seq++)
		rig_deliver(test, seq, 4321, RDS_PORT_PING, 0, 0);
	fake_settle(fake);
	KUNIT_EXPECT_EQ(test, atomic_read(pongs), 8);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_ping_limited), limited + 192);

	fake_unblock(fake);
	rig_await(test, FAKE_SENT, 8);
	rds_path_ack(rig_path(test), 9);
	KUNIT_EXPECT_EQ(test, atomic_read(pongs), 0);

	/* A pong that is not queued yet is dropped with the connection. Sockets
	 * may hold a reference to the connection, so close the socket first.
	 */
	rig_deliver(test, seq, 4321, RDS_PORT_PING, 0, 0);
	rig_close(test, sock);
	fake_unregister(fake);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, atomic_read(pongs), 0);
}

/* All values that the sysctl may have are limits. */
static void highest_limit_of_pongs(struct kunit *test)
{
	u64 pongs = rig_stat(send_pong);

	rig_sysctl()->pongs_max = INT_MAX;
	rig_up(test);
	rig_deliver(test, 1, 4321, RDS_PORT_PING, 0, 0);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rig_stat(send_pong), pongs + 1);
}

static struct kunit_case deliver_cases[] = {
	KUNIT_CASE(message_is_read),
	KUNIT_CASE(empty_message_is_read),
	KUNIT_CASE(port_says_which_socket),
	KUNIT_CASE_PARAM(duplicate_rule, duplicates_gen_params),
	KUNIT_CASE(restart_forgets_the_sequence),
	KUNIT_CASE(drop_keeps_the_sequence),
	KUNIT_CASE(unknown_port_is_counted),
	KUNIT_CASE(closed_socket_drops_what_is_unread),
	KUNIT_CASE(pong_comes_from_the_work),
	KUNIT_CASE(ping_may_have_a_payload),
	KUNIT_CASE(pongs_keep_the_order_of_pings),
	KUNIT_CASE(ping_from_port_0_is_ignored),
	KUNIT_CASE(ping_from_a_full_port),
	KUNIT_CASE(ping_enable_off),
	KUNIT_CASE(pong_is_delivered_like_data),
	KUNIT_CASE(pong_is_sent_again_after_a_drop),
	KUNIT_CASE(pongs_are_bounded),
	KUNIT_CASE(pongs_of_all_are_bounded),
	KUNIT_CASE(highest_limit_of_pongs),
	{}
};

static struct kunit_suite deliver_suite = {
	.name		= "rds_deliver",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= deliver_cases,
};

kunit_test_suite(deliver_suite);
