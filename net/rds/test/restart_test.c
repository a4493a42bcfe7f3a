// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of peers that restart, net/rds/core/restart.c: what was meant for the
 * former incarnation, and which paths the new one has.
 */
#include "paths.h"
#include "rig_upper.h"

struct restart_row {
	const char		*name;
	const struct rig_peer	*before;
	const struct rig_peer	*after;
	u64			seq;
	bool			flushed;
};

static const struct restart_row restarts[] = {
	{ "same",		&rig_ours_1, &rig_ours_1, 0, false },
	{ "same_numbered",	&rig_ours_1, &rig_ours_1, 2, false },
	{ "other_generation",	&rig_ours_1, &rig_restarted, 1, true },
	{ "other_unnumbered",	&rig_ours_1, &rig_restarted, 0, true },
	{ "forgot_us",		&rig_ours_1, &rig_forgetful, 1, false },
	{ "became_new",		&rig_ours_1, &rig_new_1, 1, true },
	{ "became_old",		&rig_ours_1, &rig_old_1, 1, true },
	{ "was_old",		&rig_old_1, &rig_ours_1, 1, true },
	{ "is_old",		&rig_old_1, &rig_old_1, 1, false },
};

static void restart_desc(const struct restart_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(restarts, restarts, restart_desc);

/* Only the messages that were meant for the former incarnation are dropped. */
static void restart_flushes(struct kunit *test)
{
	const struct restart_row *row = test->param_value;
	u64 before = rig_stat(send_drop_restarted);
	struct socket *sock = rig_dialed(test);
	unsigned int i;

	rig_reply(test, 0, 1, row->before);
	for (i = 0; i < 3; i++)
		rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_ASSERT_EQ(test, paths_data_sent(test), 3U);
	fake_forget(rig_fake(test));

	rig_fake(test)->connect_later = true;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);
	rig_send(test, sock, 10);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 0U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 4);

	rig_probe(test, 0, row->seq, row->after);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), row->flushed ? 0 : 4);
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), row->flushed ? 0U : 4U);
	KUNIT_EXPECT_EQ(test, rig_stat(send_drop_restarted) != before,
			row->flushed);

	/* The connection leads to the new incarnation, so the restart does not
	 * drop it.
	 */
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), row->flushed ? 1U : 5U);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 1U);
}

/* A message that arrives after those with sequence numbers 2 and 5 */
struct receive_row {
	const char		*name;
	/* It arrives on the next connection. If @peer is not NULL, a probe with
	 * this content and sequence number has arrived there before.
	 */
	bool			reconnected;
	const struct rig_peer	*peer;
	u64			probe;
	u64			seq;
	u8			flags;
	bool			dropped;
};

static const struct receive_row receives[] = {
	{ "same_connection", false, NULL, 0, 3, 0, true },
	{ "same_incarnation", true, &rig_ours_1, 0, 5, 0, true },
	{ "restarted", true, &rig_restarted, 1, 2, RDS_FLAG_RETRANSMITTED,
	  false },
	/* A peer that has not announced on this connection that it never uses
	 * a sequence number twice may do so.
	 */
	{ "unknown", true, NULL, 0, 3, 0, false },
	{ "unknown_marked", true, NULL, 0, 3, RDS_FLAG_RETRANSMITTED, true },
};

static void receive_desc(const struct receive_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(receives, receives, receive_desc);

static void restart_resets_duplicates(struct kunit *test)
{
	const struct receive_row *row = test->param_value;
	struct socket *sock = rig_dialed(test);
	struct rig_got got;
	u64 seq;

	rig_probe(test, 0, 1, &rig_ours_1);
	for (seq = 2; seq <= 5; seq += 3) {
		rig_deliver(test, seq, RIG_PEER_PORT, RIG_PORT, 5, 0);
		rig_recv(test, sock, &got);
		KUNIT_EXPECT_EQ(test, got.ret, 5);
	}

	if (row->reconnected)
		paths_reconnect(test, 1);
	if (row->peer)
		rig_probe(test, 0, row->probe, row->peer);
	rig_deliver(test, row->seq, RIG_PEER_PORT, RIG_PORT, 5, row->flags);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, row->dropped ? -EAGAIN : 5);

	/* If the message was accepted, it counts as the last one received. */
	rig_deliver(test, row->seq - 1, RIG_PEER_PORT, RIG_PORT, 5,
		    RDS_FLAG_RETRANSMITTED);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

/*
 * The peer's handshake frame may arrive late, when the new incarnation has
 * already received messages of ours. Later messages must not look older than
 * those.
 */
static void sequence_does_not_go_back(struct kunit *test)
{
	struct socket *sock = rig_dialed(test);
	const struct fake_call *call;
	u64 highest = 0;
	unsigned int i;

	rig_reply(test, 0, 1, &rig_new_1);
	for (i = 0; i < 20; i++)
		rig_send(test, sock, 10);
	paths_reconnect(test, 1);
	rig_map_from(test, 0);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));
	WRITE_ONCE(rig_nth_cpath(test, 0)->cp_gate.pg_opens_at, jiffies);
	rds_path_kick(rig_path(test), RDS_KICK_SEND);
	rig_await(test, FAKE_SENT, 20);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++)
		highest = max(highest, call->seq);

	rig_probe(test, 0, 1, &rig_restarted);
	fake_forget(rig_fake(test));
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_ASSERT_EQ(test, paths_data_sent(test), 1U);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++) {
		if (call->sport == RIG_PORT)
			KUNIT_EXPECT_GT(test, call->seq, highest);
	}
}

/* When a peer restarts with one path, no message stays on the other paths. */
static void restart_with_one_path(struct kunit *test)
{
	struct socket *sock = paths_eight(test);
	unsigned int i;

	for (i = 0; i < 8; i++)
		paths_send(test, sock, i);
	KUNIT_ASSERT_EQ(test, rig_msgs(sock), 8);
	paths_drop_all(test);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 1, &rig_old_1);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 1U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, paths_state(test, i), RDS_PATH_DOWN);

	fake_forget(rig_fake(test));
	for (i = 0; i < 16; i++)
		KUNIT_ASSERT_EQ(test, 5, rig_try_send(test, sock,
						      RIG_PEER_PORT + i, 5,
						      MSG_DONTWAIT));
	rig_await(test, FAKE_SENT, 16);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT,
					       i)->index, 0);
}

/* The same if the peer dials. Its ports do not name paths any more. */
static void restart_as_legacy(struct kunit *test)
{
	struct socket *sock = paths_eight_accepted(test);
	unsigned int i;

	paths_drop_all(test);
	fake_forget(rig_fake(test));

	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 3));
	rig_await(test, FAKE_CONNECTED, 1);
	i = fake_nth(rig_fake(test), FAKE_CONNECTED, 0)->index;
	rig_probe(test, i, 1, &rig_old_1);
	fake_forget(rig_fake(test));

	KUNIT_EXPECT_EQ(test, paths_nr(test), 1U);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	rig_send(test, sock, 5);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 1U);
}

/* The peer may be gone altogether, so the other paths are not dialed before
 * path 0 shows that it is there.
 */
static void paths_wait_for_path_0(struct kunit *test)
{
	unsigned int i;

	paths_eight(test);
	paths_drop_all(test);
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, paths_state(test, i), RDS_PATH_DOWN);
	rig_probe(test, 0, 0, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 8);
}

/* The peer restarts with as many paths, and sends its handshake frame on path 0
 * first.
 */
static void paths_come_back(struct kunit *test)
{
	struct socket *sock = paths_eight(test);
	unsigned int i;

	paths_drop_all(test);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 1, &rig_restarted);
	rig_reply(test, 0, 0, &rig_restarted_8);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 8U);
	rig_await(test, FAKE_CONNECTED, 8);
	paths_handshake(test, &rig_restarted_8);
	/* These connections lead to the new incarnation already: keep them. */
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 8U);
	rig_reply(test, 0, 2, &rig_restarted_8);

	fake_forget(rig_fake(test));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, paths_state(test, i), RDS_PATH_UP);
		paths_send(test, sock, i);
		KUNIT_EXPECT_EQ(test, paths_data_sent(test), i + 1);
	}
}

/* A path that does not read keeps a connection of the former incarnation, and
 * takes it when the peer has restarted: this is no other restart.
 */
static void former_incarnation_is_read_late(struct kunit *test)
{
	struct socket *sock = paths_eight_accepted(test);
	struct rds_cpath *path1 = rig_nth_cpath(test, 1);
	u32 gen;

	set_bit(RDS_PF_RX_STOPPED, &path1->cp_flags);
	rds_path_drop(&path1->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 1));
	KUNIT_EXPECT_EQ(test, paths_state(test, 1), RDS_PATH_DOWN);

	rig_probe(test, 0, 1, &rig_restarted);
	gen = rds_handshake_gen(&rig_conn(test)->c_peer_hs);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	rig_send(test, sock, 10);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);

	clear_bit(RDS_PF_RX_STOPPED, &path1->cp_flags);
	rds_path_kick(&path1->cp_pub, RDS_KICK_RX);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, paths_state(test, 1), RDS_PATH_UP);
	rig_probe(test, 1, 0, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	KUNIT_EXPECT_EQ(test, gen,
			rds_handshake_gen(&rig_conn(test)->c_peer_hs));
	KUNIT_EXPECT_NE(test, paths_state(test, 1), RDS_PATH_UP);
}

static const struct rds_frame frame = {
	.op	= RDS_FRAME_BUSY,
	.id	= UPPER_ID,
};

static struct kunit *the_test;

static void frame_arrives(struct rds_path *path)
{
	upper_receive(the_test, path, 3, RIG_PORT, 0, &frame);
}

/* A path has a connection of the former incarnation. While it is shut down, it
 * delivers no frame of a stream: the frame could be taken for an answer of the
 * present one. The next connection delivers frames again.
 */
static void frames_of_former_incarnation_are_dropped(struct kunit *test)
{
	struct rds_path *path1;

	the_test = test;
	KUNIT_ASSERT_EQ(test, 0, upper_register());
	paths_eight(test);
	upper_open(test);
	path1 = &rig_nth_cpath(test, 1)->cp_pub;
	upper_receive(test, path1, 2, RIG_PORT, 0, &frame);
	KUNIT_EXPECT_EQ(test, upper.delivered, 1U);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_fake(test)->in_shutdown = frame_arrives;
	rig_probe(test, 0, 1, &rig_restarted);
	KUNIT_EXPECT_NULL(test, rig_fake(test)->in_shutdown);
	KUNIT_EXPECT_EQ(test, upper.delivered, 1U);

	rig_reply(test, 0, 0, &rig_restarted_8);
	rig_await(test, FAKE_CONNECTED, 8);
	rig_probe(test, 1, 0, &rig_restarted_8);
	upper_receive(test, path1, 1, RIG_PORT, 0, &frame);
	KUNIT_EXPECT_EQ(test, upper.delivered, 2U);
}

/* So does a path that takes the connection only when the peer has restarted. */
static void frames_that_are_read_late_are_dropped(struct kunit *test)
{
	struct rds_cpath *path1;

	the_test = test;
	KUNIT_ASSERT_EQ(test, 0, upper_register());
	paths_eight_accepted(test);
	upper_open(test);
	path1 = rig_nth_cpath(test, 1);
	set_bit(RDS_PF_RX_STOPPED, &path1->cp_flags);
	rds_path_drop(&path1->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 1));
	rig_probe(test, 0, 1, &rig_restarted);

	clear_bit(RDS_PF_RX_STOPPED, &path1->cp_flags);
	rds_path_kick(&path1->cp_pub, RDS_KICK_RX);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, paths_state(test, 1), RDS_PATH_UP);
	rig_probe_only(test, 1, 0, &rig_ours_8);
	upper_receive(test, &path1->cp_pub, 1, RIG_PORT, 0, &frame);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, upper.delivered, 0U);
}

/* The address moves to another host, and back again. */
static void former_incarnation_returns(struct kunit *test)
{
	struct socket *sock = rig_dialed(test);

	rig_reply(test, 0, 1, &rig_ours_1);
	paths_reconnect(test, 1);
	rig_probe(test, 0, 1, &rig_restarted);
	paths_reconnect(test, 2);
	rig_probe(test, 0, 0, &rig_ours_1);

	fake_forget(rig_fake(test));
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 1U);
	rig_expect_ops(test, "X");
}

static struct kunit_case restart_cases[] = {
	KUNIT_CASE_PARAM(restart_flushes, restarts_gen_params),
	KUNIT_CASE_PARAM(restart_resets_duplicates, receives_gen_params),
	KUNIT_CASE(sequence_does_not_go_back),
	KUNIT_CASE(restart_with_one_path),
	KUNIT_CASE(restart_as_legacy),
	KUNIT_CASE(paths_wait_for_path_0),
	KUNIT_CASE(paths_come_back),
	KUNIT_CASE(former_incarnation_is_read_late),
	KUNIT_CASE(frames_of_former_incarnation_are_dropped),
	KUNIT_CASE(frames_that_are_read_late_are_dropped),
	KUNIT_CASE(former_incarnation_returns),
	{}
};

static struct kunit_suite restart_suite = {
	.name		= "rds_restart",
	.init		= rig_init_paths,
	.exit		= upper_exit,
	.test_cases	= restart_cases,
};

kunit_test_suite(restart_suite);
