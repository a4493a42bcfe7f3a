// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transmission of messages, net/rds/core/{send,send_queue,retrans}.c: the send
 * buffer, acks, retransmission, requests for acks, and errors of the transport.
 */
#include <linux/iopoll.h>
#include <linux/poll.h>

#include "../core/path.h"
#include "rig.h"

static const u32 sizes[] = {
	0, 1, 64, 1500, 2048, 4095, 4096, 5000, 65536, RDS_MAX_MSG_SIZE
};

static void size_desc(const u32 *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u_bytes", *size);
}

KUNIT_ARRAY_PARAM(sizes, sizes, size_desc);

static void first_message(struct kunit *test)
{
	u32 len = *(const u32 *)test->param_value;
	struct socket *sock = rig_socket(test, RIG_PORT);
	const struct fake_call *call;

	rig_set_bufs(sock, 2 * RDS_MAX_MSG_SIZE);
	rig_send(test, sock, len);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "aCMX");

	call = fake_nth(rig_fake(test), FAKE_SENT, 0);
	KUNIT_EXPECT_EQ(test, call->seq, 1ULL);
	KUNIT_EXPECT_EQ(test, call->sport, RIG_PORT);
	KUNIT_EXPECT_EQ(test, call->dport, RIG_PEER_PORT);
	KUNIT_EXPECT_EQ(test, call->len, len);
	KUNIT_EXPECT_TRUE(test, call->intact);

	KUNIT_EXPECT_EQ(test, rig_bytes(sock), (int)len);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	rds_path_ack(rig_path(test), 1);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 0);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static void room_comes_with_the_ack(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_set_bufs(sock, 100);
	rig_send(test, sock, 60);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLOUT);
	rig_send(test, sock, 60);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLOUT);
	KUNIT_EXPECT_EQ(test, rig_try_send(test, sock, RIG_PEER_PORT, 1,
					   MSG_DONTWAIT), -EAGAIN);

	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 60);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLOUT);
	rig_send(test, sock, 60);
	rig_expect_sent(test, "2a 3a 4a");
}

static void ack_wakes_a_blocked_sender(struct kunit *test)
{
	struct rig_sender sender = { .test = test, .len = 10 };
	struct socket *sock = rig_up(test);
	u64 full = rig_stat(send_queue_full);

	rig_set_bufs(sock, 100);
	rig_send(test, sock, 100);
	sender.sock = sock;
	rig_start_sender(&sender);
	rig_await_stat(test, send_queue_full, full + 1);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);

	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, rig_finish_sender(&sender), 10);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
}

static void ack_covers_all_before(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	unsigned int i;

	for (i = 0; i < 4; i++)
		rig_send(test, sock, 10);

	rds_path_ack(rig_path(test), 0);
	rds_path_ack(rig_path(test), 1);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 4);
	rds_path_ack(rig_path(test), 4);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	rds_path_ack(rig_path(test), 5);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* One message is sent, one is in hand, and one waits. A lying peer acknowledges
 * messages that it cannot have.
 */
static void ack_beyond_what_was_sent(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_send(test, sock, 10);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 10);
	rig_send(test, sock, 10);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 3);

	KUNIT_EXPECT_FALSE(test, rds_path_ack(rig_path(test), U64_MAX));
	KUNIT_EXPECT_FALSE(test, rds_path_ack(rig_path(test), 4));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 3);
	KUNIT_EXPECT_TRUE(test, rds_path_ack(rig_path(test), 2));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 2);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 20);

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 3);
	rig_expect_sent(test, "2 3 4");
	KUNIT_EXPECT_GE(test, rig_msgs(sock), 1);
	rds_path_ack(rig_path(test), 4);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* A stream that has carried half of a message must carry the rest, even if the
 * message is acknowledged.
 */
static void ack_of_a_message_in_hand(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 5000);
	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 5000);

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 1);
	KUNIT_EXPECT_TRUE(test, fake_nth(rig_fake(test), FAKE_SENT,
					 0)->intact);
	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 0);
}

static void ack_at_once(struct rds_path *path, struct rds_message *msg)
{
	rds_path_ack(path, msg->m_seq);
}

/* The peer's ack may arrive before xmit() returns. */
static void ack_before_xmit_returns(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->in_xmit = ack_at_once;
	rig_send(test, sock, 10);
	rig_expect_ops(test, "X");
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static void unacked_go_first_after_a_drop(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_send(test, sock, 10);
	rig_send(test, sock, 20);
	rig_send(test, sock, 5000);
	rds_path_ack(rig_path(test), 2);

	rig_fake(test)->connect_later = true;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);
	rig_send(test, sock, 30);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 6);

	rig_expect_ops(test, "XXXsCMXXX");
	rig_expect_sent(test, "2 3 4 3ar 4ar 5");
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 4)->len,
			5000U);
	KUNIT_EXPECT_TRUE(test, fake_nth(rig_fake(test), FAKE_SENT,
					 4)->intact);

	rds_path_ack(rig_path(test), 5);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* Two messages were sent on a lost connection, and two wait that were never
 * sent. The next connection is about to come UP.
 */
static struct socket *two_lost_two_waiting(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_send(test, sock, 10);
	rig_send(test, sock, 10);
	rig_fake(test)->connect_later = true;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);
	rig_send(test, sock, 10);
	rig_send(test, sock, 10);
	return sock;
}

static void what_the_peer_had_is_not_sent_again(struct kunit *test)
{
	const struct rds_path_resume resume = { .acked = 2 };
	struct socket *sock = two_lost_two_waiting(test);

	rds_path_resume(rig_path(test), &resume);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 3);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 5);
	rig_expect_sent(test, "2 3 3ar 4 5");
}

/* The same, if the ack arrives on the new connection. Message 2 is in hand and
 * must be sent, message 3 must not.
 */
static void what_the_peer_had_is_not_sent_on(struct kunit *test)
{
	struct socket *sock = two_lost_two_waiting(test);

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_XMIT, 3);
	KUNIT_EXPECT_TRUE(test, rds_path_ack(rig_path(test), 3));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 3);

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 5);
	rig_expect_sent(test, "2 3 2ar 4 5");
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 2);
}

/* A peer that remembers an earlier incarnation of ours acknowledges what it
 * received from that one. Such an ack releases no message. Messages are sent as
 * if for the first time, so that the peer does not take them for duplicates.
 */
static void acks_of_another_life(struct kunit *test)
{
	const u64 *row = test->param_value;
	const struct rds_path_resume resume = { .acked = *row };
	struct socket *sock = two_lost_two_waiting(test);

	rds_path_resume(rig_path(test), &resume);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 4);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 6);
	rig_expect_sent(test, "2 3 2a 3a 4 5");

	KUNIT_EXPECT_FALSE(test, rds_path_ack(rig_path(test), 500));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 4);
	KUNIT_EXPECT_TRUE(test, rds_path_ack(rig_path(test), 5));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* 4 and 5 are the numbers of the messages that were never sent. */
static const u64 other_lives[] = { 4, 5, 500, U64_MAX };

static void life_desc(const u64 *seq, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "up_to_%llu", *seq);
}

KUNIT_ARRAY_PARAM(lives, other_lives, life_desc);

static void in_hand_is_resent_after_drop(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->connect_later = true;
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 5000);
	rig_send(test, sock, 10);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);

	fake_fail(&rig_fake(test)->xmit, 0, 0);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 2);
	rig_expect_sent(test, "2ar 3");
	rig_expect_done(test, "sCMXX");
}

static void every_drop_sends_again(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	unsigned int i;

	rig_send(test, sock, 10);
	rig_send(test, sock, 10);
	for (i = 1; i <= 3; i++) {
		rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
		rig_await(test, FAKE_SENT, 2 + 2 * i);
	}
	rig_expect_sent(test, "2 3 2ar 3ar 2ar 3ar 2ar 3ar");
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 2);
}

struct budget_row {
	const char	*name;
	int		packets;
	int		bytes;
	const char	*sent;
};

/* Ten messages of 400 bytes are sent on a new path. The first one always asks
 * for an ack.
 */
static const struct budget_row budgets[] = {
	{ "1_packet", 1, INT_MAX, "1a 2a 3a 4a 5a 6a 7a 8a 9a 10a" },
	{ "4_packets", 4, INT_MAX, "1a 2 3 4 5a 6 7 8 9a 10" },
	{ "9_packets", 9, INT_MAX, "1a 2 3 4 5 6 7 8 9 10a" },
	{ "16_packets", 16, INT_MAX, "1a 2 3 4 5 6 7 8 9 10" },
	{ "1_byte", INT_MAX, 1, "1a 2a 3a 4a 5a 6a 7a 8a 9a 10a" },
	{ "1000_bytes", INT_MAX, 1000, "1a 2 3 4a 5 6 7a 8 9 10a" },
	{ "either", 2, 1000, "1a 2 3a 4 5a 6 7a 8 9a 10" },
};

static void budget_desc(const struct budget_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(budgets, budgets, budget_desc);

static void budget_asks_for_acks(struct kunit *test)
{
	const struct budget_row *row = test->param_value;
	u64 before = rig_stat(send_ack_required);
	struct socket *sock;
	unsigned int i, asked = 0;

	rig_sysctl()->max_unacked_packets = row->packets;
	rig_sysctl()->max_unacked_bytes = row->bytes;
	sock = rig_socket(test, RIG_PORT);
	for (i = 0; i < 10; i++)
		rig_send(test, sock, 400);
	rig_await(test, FAKE_SENT, 10);
	rig_expect_sent(test, row->sent);

	for (i = 0; row->sent[i]; i++)
		asked += row->sent[i] == 'a';
	KUNIT_EXPECT_EQ(test, rig_stat(send_ack_required), before + asked);
}

/* With RDS_CAP_SELF_ACKED, acks arrive without being asked for. */
static void self_acked_asks_for_none(struct kunit *test)
{
	u64 before = rig_stat(send_ack_required);
	struct socket *sock;
	unsigned int i;

	rig_fake(test)->trans.caps = RDS_CAP_SELF_ACKED;
	rig_sysctl()->max_unacked_packets = 1;
	sock = rig_socket(test, RIG_PORT);
	rig_set_bufs(sock, 100);
	for (i = 0; i < 3; i++)
		rig_send(test, sock, 30);
	rig_await(test, FAKE_SENT, 3);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 6);
	rig_expect_sent(test, "1 2 3 1r 2r 3r");
	KUNIT_EXPECT_EQ(test, rig_stat(send_ack_required), before);
}

static void half_a_sndbuf_asks_for_an_ack(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_set_bufs(sock, 1000);
	rig_send(test, sock, 400);
	rig_send(test, sock, 99);
	rig_send(test, sock, 1);
	rig_expect_sent(test, "2 3 4a");
}

static void eagain_waits_for_a_kick(struct kunit *test)
{
	u64 before = rig_stat(send_immediate_retry);
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	rig_expect_ops(test, "x");
	KUNIT_EXPECT_EQ(test, rig_stat(send_immediate_retry), before + 1);

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "xX");
}

/* Kick the path while xmit() is about to return -EAGAIN. */
static void kick_at_once(struct rds_path *path, struct rds_message *msg)
{
	struct delayed_work *work = &to_cpath(path)->cp_work;
	bool pending;

	rds_path_kick(path, RDS_KICK_SEND);
	read_poll_timeout(delayed_work_pending, pending, !pending, 1000,
			  120 * USEC_PER_SEC, false, work);
}

static void kick_beside_a_refusal_is_not_lost(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->in_xmit = kick_at_once;
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, 1);
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	rig_expect_ops(test, "xX");
}

static void enomem_is_tried_again(struct kunit *test)
{
	u64 before = rig_stat(send_delayed_retry);
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->xmit, -ENOMEM, 3);
	rig_send(test, sock, 10);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "xxxX");
	KUNIT_EXPECT_EQ(test, rig_stat(send_delayed_retry), before + 3);
}

static void other_errors_drop_the_path(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	u64 before = rig_stat(conn_reset);

	fake_fail(&rig_fake(test)->xmit, -EIO, 1);
	rig_send(test, sock, 10);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "xsCMX");
	rig_expect_sent(test, "2ar");
	KUNIT_EXPECT_EQ(test, rig_stat(conn_reset), before + 1);
}

/* @more indicates that it pays for the transport to batch the message. */
static void more_says_that_more_follow(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	unsigned int i;

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 10);
	rig_send(test, sock, 10);
	rig_send(test, sock, 10);
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 3);
	for (i = 1; i < 3; i++)
		KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT,
					       i)->more, i < 2);
}

/*
 * After a batch the sender leaves the rest of the queue to the path's work
 * item, and so passes @more as false with the last message of the batch. No
 * message is lost or reordered.
 */
static void long_queue_goes_in_batches(struct kunit *test)
{
	const unsigned int batch = 1024, nr = 1500;
	struct socket *sock = rig_up(test);
	const struct fake_call *call;
	unsigned int i;

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 0; i < nr; i++)
		rig_send(test, sock, 1);
	fake_forget(rig_fake(test));
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, nr);

	for (i = 0; i < nr; i++) {
		call = fake_nth(rig_fake(test), FAKE_SENT, i);
		KUNIT_ASSERT_EQ(test, call->seq, 2ULL + i);
	}
	KUNIT_EXPECT_FALSE(test, fake_nth(rig_fake(test), FAKE_SENT,
					  batch - 1)->more);
	KUNIT_EXPECT_TRUE(test, fake_nth(rig_fake(test), FAKE_SENT,
					 batch + 1)->more);
	rds_path_ack(rig_path(test), 1 + nr);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static struct kunit_case send_cases[] = {
	KUNIT_CASE_PARAM(first_message, sizes_gen_params),
	KUNIT_CASE(room_comes_with_the_ack),
	KUNIT_CASE(ack_wakes_a_blocked_sender),
	KUNIT_CASE(ack_covers_all_before),
	KUNIT_CASE(ack_beyond_what_was_sent),
	KUNIT_CASE(ack_of_a_message_in_hand),
	KUNIT_CASE(ack_before_xmit_returns),
	KUNIT_CASE(unacked_go_first_after_a_drop),
	KUNIT_CASE(what_the_peer_had_is_not_sent_again),
	KUNIT_CASE(what_the_peer_had_is_not_sent_on),
	KUNIT_CASE_PARAM(acks_of_another_life, lives_gen_params),
	KUNIT_CASE(in_hand_is_resent_after_drop),
	KUNIT_CASE(every_drop_sends_again),
	KUNIT_CASE_PARAM(budget_asks_for_acks, budgets_gen_params),
	KUNIT_CASE(self_acked_asks_for_none),
	KUNIT_CASE(half_a_sndbuf_asks_for_an_ack),
	KUNIT_CASE(eagain_waits_for_a_kick),
	KUNIT_CASE(kick_beside_a_refusal_is_not_lost),
	KUNIT_CASE(enomem_is_tried_again),
	KUNIT_CASE(other_errors_drop_the_path),
	KUNIT_CASE(more_says_that_more_follow),
	KUNIT_CASE(long_queue_goes_in_batches),
	{}
};

static struct kunit_suite send_suite = {
	.name		= "rds_send",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= send_cases,
};

kunit_test_suite(send_suite);
