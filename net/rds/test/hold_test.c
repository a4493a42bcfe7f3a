// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that no socket reads, net/rds/core/{deliver,rx_hold}.c: when a
 * transport must stop reading a path, and when it may read on.
 */
#include "../core/cong.h"
#include "rig_peer.h"

/* HOLDS is the memory that each message claims to hold. */
#define HOLDS		1000
#define HELD_MAX	10000
#define CHARGED		(64 << 20)
#define UNTOLD_FACTOR	4
#define OURS_FACTOR	3

/* Payload bytes: if the receive buffer is ROOM, MANY messages of LEN make the
 * port congested.
 */
#define LEN		10
#define ROOM		50
#define MANY		5

static struct socket *hold_up(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->keep_map_acks = true;
	rig_sysctl()->rx_held_max = HELD_MAX;
	rig_fake(test)->truesize = HOLDS;
	rig_set_bufs(sock, ROOM);
	return sock;
}

/* Deliver the next message to @port. Returns true if core accepts more. */
static bool next(struct kunit *test, u64 *seq, u16 port)
{
	const struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(++*seq),
		.h_len		= htonl(LEN),
		.h_sport	= htons(RIG_PEER_PORT),
		.h_dport	= htons(port),
	};

	return rig_receive(test, rig_path(test), &hdr);
}

/* Acknowledge maps until the peer has the newest one. An older one may be in
 * flight.
 */
static void told(struct kunit *test)
{
	struct rds_conn *conn = rig_conn(test);
	unsigned int i;

	for (i = 0; conn->c_map_acked_ver != rds_cong_ver(conn->c_lcong); i++) {
		KUNIT_ASSERT_LT(test, i, 1000U);
		rds_path_map_acked(rig_path(test));
		schedule_timeout_uninterruptible(2);
		fake_settle(rig_fake(test));
	}
}

/* Make the port congested, and acknowledge the map that reports it. */
static void congest(struct kunit *test, u64 *seq)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_TRUE(test, next(test, seq, RIG_PORT));
	told(test);
}

/* Deliver messages until core stops the path. Returns their number, including
 * the message at which core stopped.
 */
static unsigned int until_stopped(struct kunit *test, u64 *seq, u16 port)
{
	unsigned int n = 1;

	while (next(test, seq, port)) {
		n++;
		KUNIT_ASSERT_LT(test, n, 1000U);
	}
	return n;
}

static void read_some(struct kunit *test, struct socket *sock, unsigned int n)
{
	struct rig_got got;

	while (n--) {
		rig_recv(test, sock, &got);
		KUNIT_ASSERT_EQ(test, got.ret, LEN);
	}
	fake_settle(rig_fake(test));
}

static unsigned int resumed(struct kunit *test)
{
	return fake_count(rig_fake(test), FAKE_RESUME);
}

static long held(struct kunit *test)
{
	return atomic_long_read(&rig_conn(test)->c_rx_held);
}

static void read_half(struct kunit *test, struct socket *sock)
{
	while (held(test) >= HELD_MAX / 2)
		read_some(test, sock, 1);
}

static void peer_that_goes_on_is_not_read(struct kunit *test)
{
	u64 before = rig_stat(recv_path_stopped), seq = 0;

	hold_up(test);
	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	KUNIT_EXPECT_GT(test, held(test), HELD_MAX);
	KUNIT_EXPECT_LE(test, held(test), HELD_MAX + HOLDS);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_path_stopped), before + 1);
	/* No message is lost: a receive queue never refuses one. */
	KUNIT_EXPECT_EQ(test, fake_incomings(), (int)seq);
}

/* A peer that has not been notified may not have had the chance to stop. It may
 * exceed the limit, but not without end.
 */
static void peer_that_was_not_told(struct kunit *test)
{
	u64 seq = 0;

	hold_up(test);
	until_stopped(test, &seq, RIG_PORT);
	KUNIT_EXPECT_GT(test, held(test), UNTOLD_FACTOR * HELD_MAX);
	KUNIT_EXPECT_LE(test, held(test), UNTOLD_FACTOR * (HELD_MAX + HOLDS));
}

/* A peer that runs our implementation stops by itself, but the messages that
 * its paths have in hand still arrive.
 */
static void peer_of_ours(struct kunit *test)
{
	u64 seq = 0;

	hold_up(test);
	rig_conn(test)->c_peer_hs.ours = true;
	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	KUNIT_EXPECT_GT(test, held(test), OURS_FACTOR * HELD_MAX);
	KUNIT_EXPECT_LE(test, held(test), OURS_FACTOR * (HELD_MAX + HOLDS));
}

/* An acknowledged map that is older than the congestion does not show that the
 * peer has been notified.
 */
static void peer_that_has_an_older_map(struct kunit *test)
{
	u64 seq = 0;

	hold_up(test);
	rds_path_map_acked(rig_path(test));
	until_stopped(test, &seq, RIG_PORT);
	KUNIT_EXPECT_GT(test, held(test), UNTOLD_FACTOR * HELD_MAX);
}

/* A peer may send without limit as long as the port is not congested. */
static void big_buffer_is_no_reason(struct kunit *test)
{
	struct socket *sock = hold_up(test);
	u64 seq = 0;

	rig_set_bufs(sock, 1 << 20);
	while (seq < 100)
		KUNIT_ASSERT_TRUE(test, next(test, &seq, RIG_PORT));
	KUNIT_EXPECT_EQ(test, fake_incomings(), 100);
}

static void other_ports_go_on_until_then(struct kunit *test)
{
	struct socket *other;
	struct rig_got got;
	u64 seq = 0;

	hold_up(test);
	other = rig_socket(test, RIG_PORT + 1);
	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	/* The transport may deliver messages that it has read already. */
	KUNIT_EXPECT_TRUE(test, next(test, &seq, RIG_PORT + 1));
	rig_recv(test, other, &got);
	KUNIT_EXPECT_EQ(test, got.ret, LEN);
}

static void reading_half_goes_on(struct kunit *test)
{
	struct socket *sock = hold_up(test);
	unsigned int total;
	u64 seq = 0;

	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	total = seq;
	while (held(test) >= HELD_MAX / 2) {
		KUNIT_EXPECT_EQ(test, resumed(test), 0U);
		read_some(test, sock, 1);
		total--;
	}
	KUNIT_EXPECT_EQ(test, resumed(test), 1U);

	/* The path is resumed only once. */
	read_some(test, sock, total);
	KUNIT_EXPECT_EQ(test, resumed(test), 1U);
	KUNIT_EXPECT_EQ(test, held(test), 0L);
}

static void stops_and_goes_again(struct kunit *test)
{
	struct socket *sock = hold_up(test);
	unsigned int i;
	u64 seq = 0;

	congest(test, &seq);
	for (i = 1; i <= 3; i++) {
		until_stopped(test, &seq, RIG_PORT);
		read_half(test, sock);
		KUNIT_EXPECT_EQ(test, resumed(test), i);
		/* Make the port congested once more, and notify the peer. */
		while (!rds_sk(sock->sk)->rs_congested)
			KUNIT_ASSERT_TRUE(test, next(test, &seq, RIG_PORT));
		told(test);
	}
}

static void resume_comes_from_the_work(struct kunit *test)
{
	struct socket *sock = hold_up(test);
	u64 seq = 0;

	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	read_half(test, sock);
	KUNIT_ASSERT_EQ(test, resumed(test), 1U);
	KUNIT_EXPECT_PTR_NE(test, fake_nth(rig_fake(test), FAKE_RESUME,
					   0)->task, current);
}

static void closing_goes_on(struct kunit *test)
{
	struct socket *sock = hold_up(test);
	u64 seq = 0;

	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	rig_close(test, sock);
	rig_await(test, FAKE_RESUME, 1);
	KUNIT_EXPECT_EQ(test, held(test), 0L);
}

/* Messages that another socket leaves unread, within its receive buffer, do not
 * keep the path from being resumed.
 */
static void slow_neighbor_does_not_keep_it(struct kunit *test)
{
	struct socket *sock = hold_up(test), *other;
	unsigned int i, unread;
	u64 seq = 0;

	other = rig_socket(test, RIG_PORT + 1);
	rig_set_bufs(other, 1 << 20);
	for (i = 0; i < 2 * HELD_MAX / HOLDS; i++)
		KUNIT_ASSERT_TRUE(test, next(test, &seq, RIG_PORT + 1));
	unread = seq;
	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	read_some(test, sock, seq - unread);
	KUNIT_EXPECT_EQ(test, resumed(test), 1U);
}

/* A stopped path does not reconnect before sockets have read: a new connection
 * would only bring more messages.
 */
static void new_connection_waits_for_readers(struct kunit *test)
{
	struct socket *sock = hold_up(test);
	u64 seq = 0;

	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	fake_forget(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	rig_expect_ops(test, "s");
	read_half(test, sock);
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECTED), 1U);
	KUNIT_EXPECT_TRUE(test, next(test, &seq, RIG_PORT));
}

/* Messages are freed when they are read, even if their path is gone. */
static void held_outlives_the_path(struct kunit *test)
{
	struct socket *sock = hold_up(test);
	u64 seq = 0;

	congest(test, &seq);
	until_stopped(test, &seq, RIG_PORT);
	fake_unregister(rig_fake(test));
	KUNIT_EXPECT_NULL(test, rig_path(test));
	KUNIT_EXPECT_EQ(test, fake_incomings(), (int)seq);
	while (seq--) {
		struct rig_got got;

		rig_recv(test, sock, &got);
		KUNIT_ASSERT_EQ(test, got.ret, LEN);
	}
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);
}

static const struct sock *account(const struct socket *sock)
{
	return rds_sk(sock->sk)->rs_account;
}

static long charged(const struct socket *sock)
{
	return atomic_long_read(account(sock)->sk_prot->memory_allocated);
}

/* A message is charged to the socket, and so to its memory cgroup, while it is
 * on the receive queue.
 */
static void held_is_charged(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rig_got got;
	long before, all;
	u64 seq = 0;

	/* Each CPU keeps a count of its own and adds it to the total only when
	 * it is large. So the messages are large, and the bounds are loose.
	 */
	rig_fake(test)->truesize = CHARGED;
	before = charged(sock);
	all = 2 * (CHARGED >> PAGE_SHIFT);
	next(test, &seq, RIG_PORT);
	next(test, &seq, RIG_PORT);
	KUNIT_EXPECT_GT(test, charged(sock), before + all * 3 / 4);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, LEN);
	KUNIT_EXPECT_GT(test, charged(sock), before + all / 4);
	KUNIT_EXPECT_LT(test, charged(sock), before + all * 3 / 4);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, LEN);
	KUNIT_EXPECT_LT(test, charged(sock), before + all / 4);

	next(test, &seq, RIG_PORT);
	next(test, &seq, RIG_PORT);
	KUNIT_EXPECT_GT(test, charged(sock), before + all * 3 / 4);
	KUNIT_EXPECT_LT(test, account(sock)->sk_forward_alloc,
			5 * (int)PAGE_SIZE);
	rig_close(test, sock);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);
}

static void retry_reads_on_soon(struct kunit *test)
{
	u64 before = rig_stat(recv_delayed_retry);

	rig_up(test);
	rds_path_kick(rig_path(test), RDS_KICK_RX_LATER);
	rig_await(test, FAKE_RESUME, 1);
	rig_expect_ops(test, "r");
	KUNIT_EXPECT_EQ(test, rig_stat(recv_delayed_retry), before + 1);
}

/* RDS_KICK_RX runs the work item without a timer. */
static void more_is_read_at_once(struct kunit *test)
{
	u64 before = rig_stat(recv_immediate_retry);
	struct rds_cpath *cp;

	rig_up(test);
	cp = to_cpath(rig_path(test));
	rds_path_kick(&cp->cp_pub, RDS_KICK_RX);
	KUNIT_EXPECT_FALSE(test, timer_pending(&cp->cp_work.timer));
	rig_await(test, FAKE_RESUME, 1);
	rig_expect_ops(test, "r");
	KUNIT_EXPECT_EQ(test, rig_stat(recv_immediate_retry), before + 1);
}

/* Data that arrived before the path is UP is read as well. */
static void retry_while_connecting(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_fake(test)->connect_later = true;
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECTED, 1);
	rds_path_kick(rig_path(test), RDS_KICK_RX_LATER);
	rig_await(test, FAKE_RESUME, 1);
	rig_expect_ops(test, "aCr");
}

/* A retry is discarded with the connection that it was for. */
static void drop_forgets_the_retry(struct kunit *test)
{
	rig_up(test);
	rds_path_kick(rig_path(test), RDS_KICK_RX_LATER);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_FALSE(test, test_bit(RDS_PF_RX,
					  &to_cpath(rig_path(test))->cp_flags));
}

static struct kunit_case hold_cases[] = {
	KUNIT_CASE(peer_that_goes_on_is_not_read),
	KUNIT_CASE(peer_that_was_not_told),
	KUNIT_CASE(peer_of_ours),
	KUNIT_CASE(peer_that_has_an_older_map),
	KUNIT_CASE(big_buffer_is_no_reason),
	KUNIT_CASE(other_ports_go_on_until_then),
	KUNIT_CASE(reading_half_goes_on),
	KUNIT_CASE(stops_and_goes_again),
	KUNIT_CASE(resume_comes_from_the_work),
	KUNIT_CASE(closing_goes_on),
	KUNIT_CASE(slow_neighbor_does_not_keep_it),
	KUNIT_CASE(new_connection_waits_for_readers),
	KUNIT_CASE(held_outlives_the_path),
	KUNIT_CASE(held_is_charged),
	KUNIT_CASE(retry_reads_on_soon),
	KUNIT_CASE(more_is_read_at_once),
	KUNIT_CASE(retry_while_connecting),
	KUNIT_CASE(drop_forgets_the_retry),
	{}
};

static struct kunit_suite hold_suite = {
	.name		= "rds_hold",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= hold_cases,
};

kunit_test_suite(hold_suite);
