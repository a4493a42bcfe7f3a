// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of parked messages, net/rds/core/park.c: messages that wait at the
 * sender for a congested port. Other messages overtake them, but not those of
 * the same pair of sockets. If an event cancels or drops the messages in the
 * send queue, it also cancels or drops the parked ones.
 */
#include <linux/in.h>
#include <linux/poll.h>

#include "../core/cong.h"
#include "rig_peer.h"

/* A second port of the peer, and a third one in the port group of the first */
#define OTHER_PORT	(RIG_PEER_PORT + 1)
#define GROUP_PORT	(RIG_PEER_PORT + 64)

static const u16 ports[] = { RIG_PEER_PORT, OTHER_PORT };

static void full(struct kunit *test, unsigned int nr)
{
	rig_deliver_map(test, ports, nr, RDS_CONG_MAP_BYTES);
}

static void free_all(struct kunit *test)
{
	rig_deliver_map(test, NULL, 0, RDS_CONG_MAP_BYTES);
}

static void send_to(struct kunit *test, struct socket *sock, u16 port, u32 len)
{
	KUNIT_ASSERT_EQ(test, (int)len, rig_try_send(test, sock, port, len,
						     MSG_DONTWAIT));
}

/* Block the transport while it has a message of 10 bytes in hand. */
static void block(struct kunit *test, struct socket *sock)
{
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 10);
}

static void unblock(struct kunit *test)
{
	fake_unblock(rig_fake(test));
	fake_settle(rig_fake(test));
}

static void expect_nth(struct kunit *test, unsigned int n, u64 seq, u16 port,
		       u32 len)
{
	const struct fake_call *call = fake_nth(rig_fake(test), FAKE_SENT, n);

	KUNIT_ASSERT_NOT_NULL(test, call);
	KUNIT_EXPECT_EQ(test, call->seq, seq);
	KUNIT_EXPECT_EQ(test, call->dport, port);
	KUNIT_EXPECT_EQ(test, call->len, len);
}

static unsigned int sent(struct kunit *test)
{
	return fake_count(rig_fake(test), FAKE_SENT);
}

/* Send one message, and have two of 11 and 13 bytes parked. */
static struct socket *two_parked(struct kunit *test)
{
	u64 before = rig_stat(send_parked);
	struct socket *sock = rig_up(test);

	block(test, sock);
	rig_send(test, sock, 11);
	rig_send(test, sock, 13);
	full(test, 1);
	unblock(test);
	rig_expect_sent(test, "2");
	KUNIT_ASSERT_EQ(test, rig_stat(send_parked), before + 2);
	return sock;
}

static void others_overtake(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	block(test, sock);
	send_to(test, sock, RIG_PEER_PORT, 11);
	send_to(test, sock, OTHER_PORT, 12);
	send_to(test, sock, RIG_PEER_PORT, 13);
	send_to(test, sock, GROUP_PORT, 14);
	full(test, 1);
	unblock(test);
	KUNIT_ASSERT_EQ(test, sent(test), 3U);
	expect_nth(test, 0, 2, RIG_PEER_PORT, 10);
	expect_nth(test, 1, 3, OTHER_PORT, 12);
	expect_nth(test, 2, 4, GROUP_PORT, 14);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 5);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 60);

	free_all(test);
	rig_await(test, FAKE_SENT, 5);
	expect_nth(test, 3, 5, RIG_PEER_PORT, 11);
	expect_nth(test, 4, 6, RIG_PEER_PORT, 13);
	rds_path_ack(rig_path(test), 6);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static void each_port_is_freed_by_itself(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	block(test, sock);
	send_to(test, sock, RIG_PEER_PORT, 11);
	send_to(test, sock, OTHER_PORT, 12);
	full(test, 2);
	unblock(test);
	KUNIT_ASSERT_EQ(test, sent(test), 1U);

	full(test, 1);
	rig_await(test, FAKE_SENT, 2);
	expect_nth(test, 1, 3, OTHER_PORT, 12);
	KUNIT_EXPECT_EQ(test, sent(test), 2U);
	free_all(test);
	rig_await(test, FAKE_SENT, 3);
	expect_nth(test, 2, 4, RIG_PEER_PORT, 11);
}

/* The bit of the map is cleared a moment before the path is notified. A message
 * sent in between is parked behind the others.
 */
static void later_ones_stay_behind(struct kunit *test)
{
	struct socket *sock = two_parked(test);
	struct rds_cong_map *map = rig_conn(test)->c_fcong;

	rds_cong_assign(map, htons(RIG_PEER_PORT), false);
	rig_send(test, sock, 15);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, sent(test), 1U);

	rds_cong_assign(map, htons(RIG_PEER_PORT), true);
	free_all(test);
	rig_await(test, FAKE_SENT, 4);
	expect_nth(test, 1, 3, RIG_PEER_PORT, 11);
	expect_nth(test, 2, 4, RIG_PEER_PORT, 13);
	expect_nth(test, 3, 5, RIG_PEER_PORT, 15);
}

/* The port becomes free and congested again. The messages are parked again, and
 * later ones behind them.
 */
static void parked_again(struct kunit *test)
{
	struct socket *sock = two_parked(test);
	unsigned int i;

	for (i = 1; i <= 5; i++) {
		fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
		free_all(test);
		fake_settle(rig_fake(test));
		rig_send(test, sock, 20 + i);
		full(test, 1);
		unblock(test);
		KUNIT_ASSERT_EQ(test, sent(test), 1 + i);
	}
	expect_nth(test, 1, 3, RIG_PEER_PORT, 11);
	expect_nth(test, 2, 4, RIG_PEER_PORT, 13);
	expect_nth(test, 3, 5, RIG_PEER_PORT, 21);
	expect_nth(test, 5, 7, RIG_PEER_PORT, 23);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 8);
}

static void parked_fill_the_send_buffer(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_set_bufs(sock, 100);
	block(test, sock);
	rig_send(test, sock, 80);
	rig_send(test, sock, 30);
	full(test, 1);
	unblock(test);
	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 110);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLOUT);
	KUNIT_EXPECT_EQ(test, rig_try_send(test, sock, OTHER_PORT, 1,
					   MSG_DONTWAIT), -EAGAIN);

	free_all(test);
	rig_await(test, FAKE_SENT, 3);
	rds_path_ack(rig_path(test), 3);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLOUT);
}

static void parked_can_be_canceled(struct kunit *test)
{
	struct socket *sock = two_parked(test);

	KUNIT_EXPECT_EQ(test, 0, rig_setsockopt(sock, RDS_CANCEL_SENT_TO,
						NULL, 0));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	free_all(test);
	fake_settle(rig_fake(test));
	rig_send(test, sock, 10);
	rig_expect_sent(test, "2 3");
}

static void close_gives_up_what_is_parked(struct kunit *test)
{
	struct socket *sock = two_parked(test);
	struct sock *sk = sock->sk;

	sock_hold(sk);
	rig_close(test, sock);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), 1U);
	sock_put(sk);
	free_all(test);
	fake_settle(rig_fake(test));
	rig_expect_sent(test, "2");
}

/* On the next connection, the message that was sent goes first, with its
 * sequence number, although its port is congested. The others wait for the map
 * of that connection.
 */
static void lost_connection(struct kunit *test)
{
	struct socket *sock = two_parked(test);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_sent(test, "2 2ar");
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 3);

	free_all(test);
	rig_await(test, FAKE_SENT, 4);
	rig_expect_sent(test, "2 2ar 3 4");
	expect_nth(test, 2, 3, RIG_PEER_PORT, 11);
}

/* The map of the next connection arrives before anything is sent, and frees the
 * port.
 */
static void next_map_says_otherwise(struct kunit *test)
{
	two_parked(test);
	rig_fake(test)->connect_later = true;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);
	free_all(test);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 4);
	rig_expect_sent(test, "2 2ar 3 4");
}

/* More messages than core parks per hold of cp_lock, for many ports */
static void many_ports(struct kunit *test)
{
	const unsigned int nr_ports = 50, nr = 500;
	struct socket *sock = rig_up(test);
	u32 last[50] = {};
	unsigned int i;
	u16 *all;

	all = kunit_kcalloc(test, nr_ports, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	for (i = 0; i < nr_ports; i++)
		all[i] = OTHER_PORT + i;
	rig_set_bufs(sock, 1 << 20);
	block(test, sock);
	for (i = 0; i < nr; i++)
		send_to(test, sock, all[i % nr_ports], 1 + i);
	rig_deliver_map(test, all, nr_ports, RDS_CONG_MAP_BYTES);
	unblock(test);
	KUNIT_EXPECT_EQ(test, sent(test), 1U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1 + (int)nr);

	free_all(test);
	rig_await(test, FAKE_SENT, 1 + nr);
	for (i = 1; i <= nr; i++) {
		const struct fake_call *call = fake_nth(rig_fake(test),
							FAKE_SENT, i);

		KUNIT_ASSERT_EQ(test, call->seq, 2ULL + i);
		KUNIT_EXPECT_LT(test, last[call->dport - OTHER_PORT],
				call->len);
		last[call->dport - OTHER_PORT] = call->len;
	}
}

/* When no message is parked, the path is not on the wait queue of the map. */
static void waits_only_while_parked(struct kunit *test)
{
	struct rds_cong_map *map;

	two_parked(test);
	map = rig_conn(test)->c_fcong;
	KUNIT_EXPECT_TRUE(test, wq_has_sleeper(&map->cm_waitq));
	free_all(test);
	rig_await(test, FAKE_SENT, 3);
	KUNIT_EXPECT_FALSE(test, wq_has_sleeper(&map->cm_waitq));
}

static struct kunit_case park_cases[] = {
	KUNIT_CASE(others_overtake),
	KUNIT_CASE(each_port_is_freed_by_itself),
	KUNIT_CASE(later_ones_stay_behind),
	KUNIT_CASE(parked_again),
	KUNIT_CASE(parked_fill_the_send_buffer),
	KUNIT_CASE(parked_can_be_canceled),
	KUNIT_CASE(close_gives_up_what_is_parked),
	KUNIT_CASE(lost_connection),
	KUNIT_CASE(next_map_says_otherwise),
	KUNIT_CASE(many_ports),
	KUNIT_CASE(waits_only_while_parked),
	{}
};

static struct kunit_suite park_suite = {
	.name		= "rds_park",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= park_cases,
};

/* One message has been sent on the only path, and the peer has sent its
 * handshake frame.
 */
static struct socket *met(struct kunit *test, const struct rig_peer *peer)
{
	struct socket *sock = rig_dialed(test);

	rig_reply(test, 0, 1, peer);
	KUNIT_ASSERT_EQ(test, rig_msgs(sock), 0);
	fake_forget(rig_fake(test));
	return sock;
}

/* Message 3 is sent. The two messages behind it are parked if the peer runs our
 * implementation.
 */
static void three_and_a_map(struct kunit *test, struct socket *sock)
{
	block(test, sock);
	rig_send(test, sock, 11);
	rig_send(test, sock, 13);
	full(test, 1);
	unblock(test);
}

struct kind_row {
	const char		*name;
	const struct rig_peer	*peer;
	unsigned int		sent;
};

static const struct kind_row kinds[] = {
	{ "ours",	&rig_ours_1, 1 },
	{ "new",	&rig_new_1, 3 },
	{ "old",	&rig_old_1, 3 },
};

static void kind_desc(const struct kind_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kinds, kinds, kind_desc);

static void only_for_ours(struct kunit *test)
{
	const struct kind_row *row = test->param_value;
	struct socket *sock = met(test, row->peer);

	three_and_a_map(test, sock);
	KUNIT_EXPECT_EQ(test, sent(test), row->sent);
	free_all(test);
	rig_await(test, FAKE_SENT, 3);
	rig_expect_said(test, 0, "3 4 5");
}

/* The peer has restarted. The parked messages were meant for its former
 * incarnation, and are dropped.
 */
static void restart_gives_up_what_is_parked(struct kunit *test)
{
	u64 before = rig_stat(send_drop_restarted);
	struct socket *sock = met(test, &rig_ours_1);

	three_and_a_map(test, sock);
	rds_path_ack(rig_path(test), 3);
	KUNIT_ASSERT_EQ(test, rig_msgs(sock), 2);
	rig_probe(test, 0, 1, &rig_restarted);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	KUNIT_EXPECT_EQ(test, rig_stat(send_drop_restarted), before + 2);

	/* Messages sent from now on are meant for the new incarnation. */
	free_all(test);
	fake_forget(rig_fake(test));
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, sent(test), 1U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
}

static const struct fake_call *numbered_probe(struct kunit *test)
{
	const struct fake_call *call;
	unsigned int i;

	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++) {
		if (call->seq && call->sport == RDS_PORT_PROBE)
			return call;
	}
	return NULL;
}

/* All messages that were queued before messages spread over the paths go before
 * the barrier probe, even to a congested port. None of them stays parked, as
 * messages on other paths might overtake it.
 */
static void barrier_is_behind_what_was_parked(struct kunit *test)
{
	struct socket *sock = met(test, &rig_ours_1);
	const struct fake_call *probe;

	three_and_a_map(test, sock);
	rig_expect_said(test, 0, "3");
	rig_probe(test, 0, 0, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_BARRIER);
	probe = numbered_probe(test);
	KUNIT_ASSERT_NOT_NULL(test, probe);
	KUNIT_EXPECT_EQ(test, probe->seq, 6ULL);
	rds_path_ack(rig_path(test), 6);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static struct kunit_case park_paths_cases[] = {
	KUNIT_CASE_PARAM(only_for_ours, kinds_gen_params),
	KUNIT_CASE(restart_gives_up_what_is_parked),
	KUNIT_CASE(barrier_is_behind_what_was_parked),
	{}
};

static struct kunit_suite park_paths_suite = {
	.name		= "rds_park_paths",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= park_paths_cases,
};

kunit_test_suites(&park_suite, &park_paths_suite);
