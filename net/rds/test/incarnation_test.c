// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of what happens until the first handshake frame of a connection has
 * been processed, net/rds/core/multipath.c. The peer may have restarted, and
 * must not get what was meant for its former incarnation.
 */
#include <linux/completion.h>
#include <linux/delay.h>

#include "paths.h"

static DECLARE_COMPLETION(stands);
static DECLARE_COMPLETION(go_on);

static void stand_still(struct rds_path *path, struct rds_message *msg)
{
	complete(&stands);
	wait_for_completion_timeout(&go_on, 20 * HZ);
}

/* Do not use fake_settle() here: it would also wait for the path that stands
 * still.
 */
static void settle_path(struct rds_cpath *cp)
{
	unsigned int round;

	for (round = 0; round < 3; round++)
		flush_delayed_work(&cp->cp_work);
}

/* Whether path 3 was ever UP before the peer goes away */
struct start_row {
	const char	*name;
	bool		was_up;
};

static const struct start_row starts[] = {
	{ "was_up",	true },
	{ "is_new",	false },
};

static void start_desc(const struct start_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(starts, starts, start_desc);

/* A peer of another implementation has restarted. It connects another path
 * before path 0, and sends its handshake frame on path 0. The other path must
 * not carry messages meant for the former incarnation, not even between the
 * arrival of the frame and its processing.
 */
static void paths_wait_for_handshake(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct socket *sock = paths_accepted(test, 0);
	struct rds_cpath *path3;
	unsigned int i;

	rig_fake(test)->legacy_paths = 8;
	rig_reply(test, 0, 1, &rig_new_8);
	for (i = 1; i < 8; i++) {
		if (i != 3 || row->was_up)
			paths_offer(test, i);
	}
	rig_reply(test, 0, 2, &rig_new_8);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	rds_path_ack(rig_path(test), 3);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	paths_send(test, sock, 3);
	KUNIT_ASSERT_EQ(test, rig_msgs(sock), 1);
	paths_drop_all(test);
	fake_forget(rig_fake(test));

	path3 = rig_nth_cpath(test, 3);
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 3));
	rig_expect_said(test, 3, "M");
	reinit_completion(&stands);
	reinit_completion(&go_on);
	rig_fake(test)->in_xmit = stand_still;
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, paths_offers));
	KUNIT_EXPECT_NE(test, 0,
			wait_for_completion_timeout(&stands, 20 * HZ));
	rig_probe_only(test, 0, 1, &rig_new_8_restarted);
	rds_path_kick(&path3->cp_pub, RDS_KICK_SEND);
	settle_path(path3);
	rig_expect_said(test, 3, "M");

	complete(&go_on);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 0U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* Once path 0 is UP, the peer must send its handshake frame there first. Until
 * then connections for other paths wait.
 */
static void offers_taken_after_handshake(struct kunit *test)
{
	unsigned int i;
	int again;

	rig_fake(test)->legacy_paths = 8;
	paths_accepted(test, 0);
	rig_reply(test, 0, 1, &rig_new_8);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, 0, paths_offer(test, i));
	rig_reply(test, 0, 2, &rig_new_8);
	paths_drop_all(test);

	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	KUNIT_EXPECT_EQ(test, -EAGAIN, paths_offer(test, 3));
	again = atomic_read(&rig_fake(test)->again_calls);
	rig_probe(test, 0, 1, &rig_new_8_restarted);
	KUNIT_EXPECT_LT(test, again,
			atomic_read(&rig_fake(test)->again_calls));
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 3));
	KUNIT_EXPECT_EQ(test, paths_state(test, 3), RDS_PATH_UP);
}

/* Sockets may respond at once to messages behind the handshake frame. These
 * responses are not meant for the former incarnation. So the transport must not
 * read on before the restart is processed.
 */
static void reading_stops_until_processed(struct kunit *test)
{
	rig_dialed(test);
	KUNIT_EXPECT_TRUE(test, rig_probe_only(test, 0, 1, &rig_ours_1));
	fake_settle(rig_fake(test));
	paths_reconnect(test, 1);
	KUNIT_EXPECT_TRUE(test, rig_probe_only(test, 0, 0, &rig_ours_1));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 0U);

	paths_reconnect(test, 2);
	KUNIT_EXPECT_FALSE(test, rig_probe_only(test, 0, 1, &rig_restarted));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 1U);
	KUNIT_EXPECT_TRUE(test, rig_probe_only(test, 0, 0, &rig_restarted));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 1U);
}

static struct kunit *the_test;
static struct socket *the_sock;

/* During the shutdown, the connection is read to its end. A socket responds to
 * the last message.
 */
static void receive_last(struct rds_path *path)
{
	rig_probe_only(the_test, 0, 1, &rig_restarted);
	rig_deliver(the_test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
	KUNIT_EXPECT_EQ(the_test, 7,
			rig_try_send(the_test, the_sock, RIG_PEER_PORT, 7,
				     MSG_DONTWAIT));
}

static void handshake_during_shutdown(struct kunit *test)
{
	struct socket *sock = rig_dialed(test);
	const struct fake_call *call;
	struct rig_got got;
	unsigned int i;

	the_test = test;
	the_sock = sock;
	rig_reply(test, 0, 1, &rig_ours_1);
	rig_send(test, sock, 5);
	fake_settle(rig_fake(test));
	rig_fake(test)->in_shutdown = receive_last;
	fake_forget(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 0, &rig_restarted);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);

	/* Only the message that was meant for the former incarnation is
	 * dropped.
	 */
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 1U);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++) {
		if (call->sport == RIG_PORT)
			KUNIT_EXPECT_EQ(test, call->len, 7U);
	}
}

static u16 the_port;

static void receive_last_and_send(struct rds_path *path)
{
	rig_probe_only(the_test, 0, 1, &rig_restarted);
	KUNIT_EXPECT_EQ(the_test, 7,
			rig_try_send(the_test, the_sock, the_port, 7,
				     MSG_DONTWAIT));
}

/* The restarted peer has one path, and will never use another one. A message
 * that was queued on another path meanwhile is dropped, as it is not owed to
 * the peer.
 */
static void nothing_stays_on_unused_path(struct kunit *test)
{
	struct socket *sock = paths_eight(test);

	the_test = test;
	the_sock = sock;
	the_port = paths_port(test, 3);
	rig_fake(test)->in_shutdown = receive_last_and_send;
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_MAPPED, 1);
	fake_unblock(rig_fake(test));
	rig_probe(test, 0, 0, &rig_restarted);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* While the restart is not processed, the transport does not read on for any
 * other reason. That includes a run of the path's work item that began before
 * the handshake frame arrived.
 */
static void nothing_resumes_early(struct kunit *test)
{
	struct rds_cpath *cp;
	unsigned int tries;

	rig_dialed(test);
	cp = to_cpath(rig_path(test));
	rig_probe(test, 0, 1, &rig_ours_1);
	rds_path_drop(&cp->cp_pub, RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	fake_settle(rig_fake(test));

	/* When the work item waits for this lock, it has already checked for
	 * handshake frames.
	 */
	mutex_lock(&cp->cp_xmit_lock);
	set_bit(RDS_PF_FLUSH, &cp->cp_flags);
	rds_path_kick(&cp->cp_pub, RDS_KICK_SEND);
	for (tries = 0; tries < 1000; tries++) {
		if (work_busy(&cp->cp_work.work) & WORK_BUSY_RUNNING)
			break;
		msleep(20);
	}
	msleep(50);
	KUNIT_EXPECT_FALSE(test, rig_probe_only(test, 0, 1, &rig_restarted));
	rds_path_kick(&cp->cp_pub, RDS_KICK_RX_LATER);
	mutex_unlock(&cp->cp_xmit_lock);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 1U);
}

static struct kunit_case incarnation_cases[] = {
	KUNIT_CASE_PARAM(paths_wait_for_handshake, starts_gen_params),
	KUNIT_CASE(offers_taken_after_handshake),
	KUNIT_CASE(reading_stops_until_processed),
	KUNIT_CASE(handshake_during_shutdown),
	KUNIT_CASE(nothing_stays_on_unused_path),
	KUNIT_CASE(nothing_resumes_early),
	{}
};

static struct kunit_suite incarnation_suite = {
	.name		= "rds_incarnation",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= incarnation_cases,
};

kunit_test_suite(incarnation_suite);
