// SPDX-License-Identifier: GPL-2.0-only
/*
 * Congestion between hosts, net/rds/core/{cong_flow,send_map}.c: how the peer's
 * map affects senders on this host, and how our map is sent to the peer.
 */
#include <linux/poll.h>

#include "../core/cong.h"
#include "../core/send.h"
#include "rig_peer.h"

/* Bit of the peer's port in masks of port groups */
#define PEER_GROUP	BIT_ULL(RIG_PEER_PORT % 64)

static const u16 peer_port[] = { RIG_PEER_PORT };

static void peer_is_full(struct kunit *test)
{
	rig_deliver_map(test, peer_port, 1, RDS_CONG_MAP_BYTES);
}

static void peer_is_free(struct kunit *test)
{
	rig_deliver_map(test, NULL, 0, RDS_CONG_MAP_BYTES);
}

static int send_now(struct kunit *test, struct socket *sock)
{
	return rig_try_send(test, sock, RIG_PEER_PORT, 10, MSG_DONTWAIT);
}

static void congested_port_refuses(struct kunit *test)
{
	u64 received = rig_stat(cong_update_received);
	u64 refused = rig_stat(cong_send_error);
	struct socket *sock = rig_up(test);

	peer_is_full(test);
	KUNIT_EXPECT_EQ(test, send_now(test, sock), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, rig_try_send(test, sock, RIG_PEER_PORT + 1, 10,
					   MSG_DONTWAIT), 10);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	KUNIT_EXPECT_EQ(test, rig_stat(cong_send_error), refused + 1);

	peer_is_free(test);
	KUNIT_EXPECT_EQ(test, send_now(test, sock), 10);
	KUNIT_EXPECT_EQ(test, rig_stat(cong_update_received), received + 2);
}

static const u32 wrong_lengths[] = { 0, 1, 48, 4096, 8191, 8193, 16384 };

static void length_desc(const u32 *len, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u_bytes", *len);
}

KUNIT_ARRAY_PARAM(wrong_lengths, wrong_lengths, length_desc);

static void wrong_length_is_ignored(struct kunit *test)
{
	u64 received = rig_stat(cong_update_received);
	u32 len = *(const u32 *)test->param_value;
	struct socket *sock = rig_up(test);

	rig_deliver_map(test, peer_port, 1, len);
	KUNIT_EXPECT_EQ(test, send_now(test, sock), 10);
	KUNIT_EXPECT_EQ(test, rig_stat(cong_update_received), received);
}

static void map_outlives_the_connection(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	peer_is_full(test);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_EQ(test, send_now(test, sock), -ENOBUFS);
}

static void free_port_wakes_a_blocked_sender(struct kunit *test)
{
	struct rig_sender sender = { .test = test, .len = 10 };
	u64 blocked = rig_stat(cong_send_blocked);

	sender.sock = rig_up(test);
	peer_is_full(test);
	rig_start_sender(&sender);
	rig_await_stat(test, cong_send_blocked, blocked + 1);
	rig_expect_ops(test, "");

	peer_is_free(test);
	KUNIT_EXPECT_EQ(test, rig_finish_sender(&sender), 10);
	rig_expect_ops(test, "X");
}

static void monitor_tells_what_was_refused(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rig_got got;
	int on = 1;

	KUNIT_ASSERT_EQ(test, 0, rig_setsockopt(sock, RDS_CONG_MONITOR, &on,
						sizeof(on)));
	peer_is_full(test);
	KUNIT_EXPECT_EQ(test, send_now(test, sock), -ENOBUFS);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLIN);

	peer_is_free(test);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLIN);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 0);
	KUNIT_EXPECT_EQ(test, got.cong, PEER_GROUP);
	KUNIT_EXPECT_EQ(test, got.from, 0U);

	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLIN);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

static void monitor_is_silent_about_others(struct kunit *test)
{
	static const u16 both[] = { RIG_PEER_PORT, RIG_PEER_PORT + 1 };
	struct socket *sock = rig_up(test);
	struct rig_got got;
	int on = 1;

	KUNIT_ASSERT_EQ(test, 0, rig_setsockopt(sock, RDS_CONG_MONITOR, &on,
						sizeof(on)));
	rig_deliver_map(test, both, 2, RDS_CONG_MAP_BYTES);
	KUNIT_EXPECT_EQ(test, send_now(test, sock), -ENOBUFS);

	peer_is_full(test);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLIN);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

static void monitor_tells_what_is_watched(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	u64 mask = PEER_GROUP;
	struct rig_got got;

	KUNIT_ASSERT_EQ(test, 0, rig_setsockopt(sock, RDS_CONG_MONITOR, &mask,
						sizeof(mask)));
	peer_is_full(test);
	peer_is_free(test);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 0);
	KUNIT_EXPECT_EQ(test, got.cong, PEER_GROUP);
}

/* Without explicit monitoring, poll() reports each change once. */
static void poll_tells_bystanders_once(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	peer_is_full(test);
	peer_is_free(test);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLIN);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLIN);
}

/* If a sender was refused, poll() reports a change until the sender acts. */
static void poll_tells_who_was_refused(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rig_got got;

	peer_is_full(test);
	rig_poll(sock);
	KUNIT_EXPECT_EQ(test, send_now(test, sock), -ENOBUFS);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLIN);

	peer_is_free(test);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLIN);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLIN);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLIN);
}

/* Expect the bit of @port and no other in the map sent last; none if 0. */
static void expect_last_map(struct kunit *test, u16 port)
{
	u8 *map = rig_fake(test)->last_map;

	if (port) {
		KUNIT_EXPECT_EQ(test, map[port / 8], 1 << port % 8);
		map[port / 8] = 0;
	}
	KUNIT_EXPECT_NULL(test, memchr_inv(map, 0, RDS_CONG_MAP_BYTES));
}

static void fill(struct kunit *test, struct socket *sock, u64 seq)
{
	rig_set_bufs(sock, 1000);
	rig_deliver(test, seq, 9, RIG_PORT, 1000, 0);
}

static void drain(struct kunit *test, struct socket *sock)
{
	struct rig_got got;

	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 1000);
}

static void each_flip_is_sent_once(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	u64 queued = rig_stat(cong_update_queued);

	fill(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	expect_last_map(test, RIG_PORT);

	drain(test, sock);
	rig_await(test, FAKE_MAPPED, 2);
	expect_last_map(test, 0);
	rig_expect_ops(test, "MM");
	KUNIT_EXPECT_GE(test, rig_stat(cong_update_queued), queued + 1);
	KUNIT_EXPECT_LE(test, rig_stat(cong_update_queued), queued + 2);
}

/* A map is not sent before the last one is acknowledged. Messages do not wait
 * for that ack.
 */
static void next_map_waits_for_the_ack(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->keep_map_acks = true;
	fill(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	drain(test, sock);
	schedule_timeout_uninterruptible(2);
	fake_settle(rig_fake(test));
	rig_send(test, sock, 10);
	rig_expect_ops(test, "MX");
	expect_last_map(test, RIG_PORT);

	rds_path_map_acked(rig_path(test));
	rig_await(test, FAKE_MAPPED, 2);
	rig_expect_ops(test, "MXM");
	expect_last_map(test, 0);

	/* When this ack arrives, there is no newer map to send. */
	rds_path_map_acked(rig_path(test));
	schedule_timeout_uninterruptible(2);
	fake_settle(rig_fake(test));
	rig_expect_ops(test, "MXM");
}

/* A new connection does not wait for acks of the lost one. */
static void lost_connection_loses_the_ack(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->keep_map_acks = true;
	fill(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	drain(test, sock);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 2);
	rig_expect_ops(test, "MsCM");
	expect_last_map(test, 0);
}

/* The jiffy of the last map may end after the path's work item has checked
 * whether the next map may be sent, and before it computes when to check again.
 */
static void map_put_off_is_looked_for_again(struct kunit *test)
{
	struct rds_cpath *cp;

	rig_up(test);
	cp = to_cpath(rig_path(test));
	schedule_timeout_uninterruptible(2);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rds_send_map_delay(cp), LONG_MAX);

	set_bit(RDS_PF_CONG_LATER, &cp->cp_flags);
	KUNIT_EXPECT_EQ(test, rds_send_map_delay(cp), 1L);

	/* A map whose flag is set waits for the transport or is being sent. The
	 * work item need not check again.
	 */
	set_bit(RDS_PF_CONG, &cp->cp_flags);
	KUNIT_EXPECT_EQ(test, rds_send_map_delay(cp), LONG_MAX);

	rds_path_kick(rig_path(test), RDS_KICK_SEND);
	rig_await(test, FAKE_MAPPED, 1);
	schedule_timeout_uninterruptible(2);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rds_send_map_delay(cp), LONG_MAX);
}

/* Whenever a map is sent, flag another change, up to 100 times. */
static void changed_once_more(struct rds_path *path)
{
	struct fake *fake = container_of(to_cpath(path)->cp_trans,
					 struct fake, trans);

	if (fake_count(fake, FAKE_MAP) < 100)
		set_bit(RDS_PF_CONG, &to_cpath(path)->cp_flags);
}

static void messages_go_between_maps(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	unsigned int i;

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 0; i < 10; i++)
		rig_send(test, sock, 10);
	rig_fake(test)->in_map = changed_once_more;
	set_bit(RDS_PF_CONG, &to_cpath(rig_path(test))->cp_flags);
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 10);
	rig_await(test, FAKE_MAPPED, 2);

	KUNIT_EXPECT_LE(test, fake_count(rig_fake(test), FAKE_MAPPED), 100U);
	KUNIT_EXPECT_NULL(test, strstr(rig_ops(test, false), "MMX"));
}

/* A user can make a port congested and free again at will. Core must not walk
 * all connections of the address each time: it flags them once per jiffy.
 */
static void flips_are_told_once_a_jiffy(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	u64 queued = rig_stat(cong_update_queued);
	unsigned long since = jiffies;
	unsigned int i;

	for (i = 1; i <= 500; i++) {
		fill(test, sock, i);
		drain(test, sock);
	}
	KUNIT_EXPECT_LE(test, rig_stat(cong_update_queued) - queued,
			jiffies - since + 1);

	/* The last change must still reach the peer. */
	schedule_timeout_uninterruptible(4);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_GE(test, fake_count(rig_fake(test), FAKE_MAPPED), 1U);
	expect_last_map(test, 0);
}

/* The path and the map may have been quiet for so long that jiffies seem to lie
 * before the last time.
 */
static void map_is_sent_after_a_wrap(struct kunit *test)
{
	unsigned long old = jiffies - (ULONG_MAX / 2 + 60 * HZ);
	struct socket *sock = rig_up(test);
	struct rds_cpath *cp = to_cpath(rig_path(test));

	schedule_timeout_uninterruptible(2);
	fake_settle(rig_fake(test));
	WRITE_ONCE(cp->cp_map.pm_at, old);
	KUNIT_EXPECT_EQ(test, rds_send_map_delay(cp), LONG_MAX);
	cp->cp_conn->c_lcong->cm_flagged_at = old;
	fill(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	expect_last_map(test, RIG_PORT);
}

static void map_goes_first_after_every_up(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	fill(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	rig_send(test, sock, 10);
	fake_forget(rig_fake(test));

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "sCMX");
	expect_last_map(test, RIG_PORT);
}

/* A map that the transport has refused is sent as it was taken. After it, the
 * newest map is sent, once.
 */
static void flips_meanwhile_become_one(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	unsigned int i;

	fake_fail(&rig_fake(test)->map, -EAGAIN, FAKE_FOR_EVER);
	fill(test, sock, 1);
	rig_await(test, FAKE_MAP, 1);
	for (i = 2; i < 5; i++) {
		drain(test, sock);
		fill(test, sock, i);
	}
	drain(test, sock);
	fake_settle(rig_fake(test));
	expect_last_map(test, RIG_PORT);

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_MAPPED, 2);
	rig_expect_done(test, "MM");
	expect_last_map(test, 0);
}

/* A map is sent after the message in hand, and before the next one. */
static void map_waits_for_the_message_in_hand(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	/* Leave the jiffy of the last map: no other map is sent in it. */
	schedule_timeout_uninterruptible(2);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 500);
	rig_send(test, sock, 10);
	fill(test, sock, 1);
	fake_settle(rig_fake(test));
	rig_expect_done(test, "");

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 2);
	rig_expect_done(test, "XMX");
}

struct refusal_row {
	const char	*name;
	int		err;
	const char	*ops;
	const char	*sent;
};

/* The first two attempts to send a map fail with @err. */
static const struct refusal_row refusals[] = {
	{ "enomem",	-ENOMEM,	"aCmmMX",	"1a" },
	/* A lost connection renews the budget of unacknowledged messages, so
	 * the message does not ask for an ack.
	 */
	{ "eio",	-EIO,		"aCmsCmsCMX",	"1" },
};

static void refusal_desc(const struct refusal_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refusals, refusals, refusal_desc);

static void refused_map(struct kunit *test)
{
	const struct refusal_row *row = test->param_value;
	struct socket *sock = rig_socket(test, RIG_PORT);

	fake_fail(&rig_fake(test)->map, row->err, 2);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, row->ops);
	rig_expect_sent(test, row->sent);
}

static void blocked_map_waits_for_a_kick(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	fake_fail(&rig_fake(test)->map, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_MAP, 1);
	rig_expect_done(test, "aC");
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 1);
	rig_expect_done(test, "aCMX");
}

static struct kunit_case cong_flow_cases[] = {
	KUNIT_CASE(congested_port_refuses),
	KUNIT_CASE_PARAM(wrong_length_is_ignored, wrong_lengths_gen_params),
	KUNIT_CASE(map_outlives_the_connection),
	KUNIT_CASE(free_port_wakes_a_blocked_sender),
	KUNIT_CASE(monitor_tells_what_was_refused),
	KUNIT_CASE(monitor_is_silent_about_others),
	KUNIT_CASE(monitor_tells_what_is_watched),
	KUNIT_CASE(poll_tells_bystanders_once),
	KUNIT_CASE(poll_tells_who_was_refused),
	KUNIT_CASE(each_flip_is_sent_once),
	KUNIT_CASE(next_map_waits_for_the_ack),
	KUNIT_CASE(lost_connection_loses_the_ack),
	KUNIT_CASE(map_put_off_is_looked_for_again),
	KUNIT_CASE(messages_go_between_maps),
	KUNIT_CASE(flips_are_told_once_a_jiffy),
	KUNIT_CASE(map_is_sent_after_a_wrap),
	KUNIT_CASE(map_goes_first_after_every_up),
	KUNIT_CASE(flips_meanwhile_become_one),
	KUNIT_CASE(map_waits_for_the_message_in_hand),
	KUNIT_CASE_PARAM(refused_map, refusals_gen_params),
	KUNIT_CASE(blocked_map_waits_for_a_kick),
	{}
};

static struct kunit_suite cong_flow_suite = {
	.name		= "rds_cong_flow",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= cong_flow_cases,
};

kunit_test_suite(cong_flow_suite);
