// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of connecting and shutting down,
 * net/rds/core/{path,path_connect,path_work}.c: which end dials, when it dials
 * again, and what happens if a transport reports something unexpected.
 */
#include <linux/iopoll.h>

#include "../core/path.h"
#include "../core/path_work.h"
#include "rig_peer.h"

/* Longer than any test takes, in jiffies */
#define NOT_SOON	(24 * 3600 * HZ)

static struct rds_cpath *rig_cpath(struct kunit *test)
{
	return to_cpath(rig_path(test));
}

static bool is_dialling_again(struct kunit *test)
{
	return test_bit(RDS_PF_CONNECT, &rig_cpath(test)->cp_flags);
}

static void failures_back_off(struct kunit *test)
{
	static const u32 ceilings[] = { 0, 1, 2, 4, 8, 8, 8 };
	struct socket *sock = rig_socket(test, RIG_PORT);
	struct fake *fake = rig_fake(test);
	unsigned int i;

	rig_sysctl()->reconnect_min_ms = 1;
	rig_sysctl()->reconnect_max_ms = 8;
	fake_fail(&fake->connect, -ECONNREFUSED, 6);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "accccccCMX");

	KUNIT_ASSERT_EQ(test, fake->nr_backoff,
			(unsigned int)ARRAY_SIZE(ceilings));
	for (i = 0; i < ARRAY_SIZE(ceilings); i++)
		KUNIT_EXPECT_EQ(test, fake->backoff_ms[i], ceilings[i]);
	KUNIT_EXPECT_EQ(test, rig_cpath(test)->cp_dial.pd_backoff_ms, 8U);
	rig_map_from(test, 0);
	KUNIT_EXPECT_EQ(test, rig_cpath(test)->cp_dial.pd_backoff_ms, 0U);
	KUNIT_EXPECT_FALSE(test, is_dialling_again(test));
}

/* A peer that accepts and then resets is not dialed without back-off. */
static void silence_backs_off(struct kunit *test)
{
	static const u32 ceilings[] = { 0, 1, 2, 4, 8, 8 };
	struct fake *fake = rig_fake(test);
	unsigned int i;

	fake->trans.caps = RDS_CAP_LOWER_DIALS | RDS_CAP_HANDSHAKE |
				     RDS_CAP_MULTIPATH;
	rig_sysctl()->reconnect_min_ms = 1;
	rig_sysctl()->reconnect_max_ms = 8;
	fake->connect_later = true;
	rig_send(test, rig_socket(test, RIG_PORT), 1);
	for (i = 0; i < ARRAY_SIZE(ceilings); i++) {
		rig_await(test, FAKE_CONNECTED, 1 + i);
		rds_path_connect_done(rig_path(test));
		rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	}
	rig_await(test, FAKE_CONNECTED, 1 + i);
	KUNIT_ASSERT_GE(test, fake->nr_backoff, i);
	for (i = 0; i < ARRAY_SIZE(ceilings); i++)
		KUNIT_EXPECT_EQ(test, fake->backoff_ms[i], ceilings[i]);

	rds_path_connect_done(rig_path(test));
	rig_map_from(test, 0);
	KUNIT_EXPECT_EQ(test, rig_cpath(test)->cp_dial.pd_backoff_ms, 0U);
}

/* New messages neither cancel nor hasten an attempt that waits for its
 * back-off.
 */
static void messages_do_not_hurry_it(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);
	unsigned long due;

	rig_sysctl()->reconnect_max_ms = 1000 * 1000 * 1000;
	rig_sysctl()->reconnect_min_ms = 1000 * 1000 * 1000;
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 2);
	KUNIT_ASSERT_TRUE(test, is_dialling_again(test));
	due = rig_cpath(test)->cp_dial.pd_connect_at;

	rig_send(test, sock, 1);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_TRUE(test, is_dialling_again(test));
	KUNIT_EXPECT_EQ(test, rig_cpath(test)->cp_dial.pd_connect_at, due);
	KUNIT_EXPECT_TRUE(test,
			  delayed_work_pending(&rig_cpath(test)->cp_work));
	rig_expect_ops(test, "acc");
}

static void eagain_leaves_it_to_the_peer(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	fake_fail(&rig_fake(test)->connect, -EAGAIN, 2);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 1);
	KUNIT_EXPECT_FALSE(test, is_dialling_again(test));
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_cpath(test)), RDS_PATH_DOWN);
	rig_expect_ops(test, "ac");

	/* One more message to send is a reason to try again. */
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 2);
	rig_expect_ops(test, "acc");
	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 3);
	rig_expect_ops(test, "accCMXXX");
	rig_expect_sent(test, "1a 2 3");
}

static void success_may_come_later(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_fake(test)->connect_later = true;
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECTED, 1);
	rig_send(test, sock, 1);
	fake_settle(rig_fake(test));
	rig_expect_ops(test, "aC");

	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 2);
	rig_expect_ops(test, "aCMXX");
}

static void unexpected_success_drops_the_path(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_ops(test, "sCM");
	rig_send(test, sock, 1);
	rig_expect_sent(test, "2");
}

static void drop_while_connecting(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_fake(test)->connect_later = true;
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECTED, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 2);
	rig_expect_ops(test, "aCsC");

	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "aCsCMX");
	rig_expect_sent(test, "1");
}

static void drop_while_down(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	fake_fail(&rig_fake(test)->connect, -EAGAIN, 1);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "acsCMX");
}

/* During the shutdown only the transport works: no message is sent, and no
 * connection is made or taken, not even one from the peer. A message that is
 * acknowledged meanwhile is not retransmitted.
 */
static void shutdown_may_take_long(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct fake *fake = rig_fake(test);

	rig_send(test, sock, 1);
	rig_send(test, sock, 1);
	rig_expect_sent(test, "2 3");
	fake_forget(fake);
	fake_fail(&fake->end, NOT_SOON, FAKE_FOR_EVER);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_SHUTDOWN, 1);
	rig_send(test, sock, 1);
	rds_path_ack(rig_path(test), 2);
	fake_settle(fake);
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_cpath(test)),
			RDS_PATH_DISCONNECTING);
	KUNIT_EXPECT_TRUE(test,
			  delayed_work_pending(&rig_cpath(test)->cp_work));
	KUNIT_EXPECT_EQ(test, fake_count(fake, FAKE_SHUTDOWN),
			fake->nr_calls);

	fake_forget(fake);
	fake_fail(&fake->end, 0, 0);
	rds_path_kick(rig_path(test), RDS_KICK_SEND);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_ops(test, "sCMXX");
	rig_expect_sent(test, "3ar 4");
}

/* If nothing kicks the path, the timer calls path_shutdown() again. */
static void shutdown_has_a_limit(struct kunit *test)
{
	struct fake *fake = rig_fake(test);
	bool came_up;

	rig_up(test);
	fake_fail(&fake->end, 1, 3);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	came_up = wait_event_timeout(fake->wait,
				     fake_count(fake, FAKE_MAPPED), 120 * HZ);
	KUNIT_EXPECT_TRUE(test, came_up);
	rig_expect_ops(test, "ssssCM");
	fake_settle(fake);
}

static void drop_does_not_restart_shutdown(struct kunit *test)
{
	struct fake *fake = rig_fake(test);

	rig_up(test);
	fake_fail(&fake->end, NOT_SOON, FAKE_FOR_EVER);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_SHUTDOWN, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PROTOCOL);
	fake_settle(fake);
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_cpath(test)),
			RDS_PATH_DISCONNECTING);
	KUNIT_EXPECT_EQ(test, rig_cpath(test)->cp_dial.pd_drop_reason,
			RDS_DROP_PROTOCOL);

	fake_forget(fake);
	fake_fail(&fake->end, 0, 0);
	rds_path_kick(rig_path(test), RDS_KICK_SEND);
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_ops(test, "sCM");
}

/* The destruction of a connection does not wait for the peer. */
static void shutdown_cut_short(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct fake *fake = rig_fake(test);
	const struct fake_call *call;

	fake_fail(&fake->end, NOT_SOON, FAKE_FOR_EVER);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_SHUTDOWN, 1);
	rig_close(test, sock);
	fake_forget(fake);
	fake_unregister(fake);
	call = fake_nth(fake, FAKE_SHUTDOWN,
			fake_count(fake, FAKE_SHUTDOWN) - 1);
	KUNIT_ASSERT_NOT_NULL(test, call);
	KUNIT_EXPECT_TRUE(test, call->abort);
	KUNIT_EXPECT_EQ(test, fake_count(fake, FAKE_FREE), 1U);
}

static void drop_again(struct rds_path *path)
{
	rds_path_drop(path, RDS_DROP_PEER_RESET);
}

/* A drop is not lost if it comes while the shutdown runs. */
static void drop_while_shutting_down(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->in_shutdown = drop_again;
	rig_send(test, sock, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_ops(test, "XssCMX");
	rig_expect_sent(test, "2 2ar");
}

/* The sender for send_beside(), which an op of the fake transport calls */
static struct rig_sender *sender_beside;

/* Send while the path is DISCONNECTING, and wait until the sender is done. */
static void send_beside(struct rds_path *path)
{
	int ret;

	rig_start_sender(sender_beside);
	read_poll_timeout(READ_ONCE, ret, ret != -EINPROGRESS, 1000,
			  120 * USEC_PER_SEC, false, sender_beside->ret);
}

/* The reaper takes down a loopback path that looks idle, concurrently with the
 * path's work item. A message that is queued meanwhile, while no attempt to
 * connect is planned, must not be left behind.
 */
static void send_while_idle_path_is_shut_down(struct kunit *test)
{
	struct rig_sender sender = {
		.test = test, .len = 1, .ret = -EINPROGRESS,
	};
	struct rds_cpath *cp;

	rig_fake(test)->trans.caps = RDS_CAP_LOOPBACK;
	sender.sock = rig_up(test);
	cp = rig_cpath(test);
	sender_beside = &sender;
	rig_fake(test)->in_shutdown = send_beside;
	rds_path_shut_down_idle(cp);
	KUNIT_EXPECT_EQ(test, rig_finish_sender(&sender), 1);
	/* Wait until all requested work is done. */
	fake_settle(rig_fake(test));

	KUNIT_EXPECT_EQ(test, rds_cpath_state(cp), RDS_PATH_UP);
	KUNIT_EXPECT_FALSE(test, is_dialling_again(test));
	rig_expect_ops(test, "sCMX");
}

/* If a path is UP when an attempt to connect is planned, RDS_PF_CONNECT stays
 * set. After the path was taken down, a sender must not wait in vain for that
 * attempt.
 */
static void attempt_planned_while_up(struct kunit *test)
{
	struct rds_cpath *cp;
	struct socket *sock;

	rig_fake(test)->trans.caps = RDS_CAP_LOOPBACK;
	sock = rig_up(test);
	cp = rig_cpath(test);
	WRITE_ONCE(cp->cp_dial.pd_connect_at, jiffies);
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	rds_path_kick(&cp->cp_pub, RDS_KICK_SEND);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rds_cpath_state(cp), RDS_PATH_UP);

	rds_path_shut_down_idle(cp);
	fake_settle(rig_fake(test));
	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 1);
	KUNIT_EXPECT_FALSE(test, is_dialling_again(test));
	rig_expect_ops(test, "sCMX");
}

/* The plan may be so old that it seems to lie ahead. */
static void attempt_planned_before_a_wrap(struct kunit *test)
{
	struct rds_cpath *cp;
	struct socket *sock;

	rig_fake(test)->trans.caps = RDS_CAP_LOOPBACK;
	sock = rig_up(test);
	cp = rig_cpath(test);
	WRITE_ONCE(cp->cp_dial.pd_connect_at,
		   jiffies - (ULONG_MAX / 2 + 60 * HZ));
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	rds_path_shut_down_idle(cp);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 1);
	KUNIT_EXPECT_EQ(test, rds_cpath_state(cp), RDS_PATH_UP);
}

struct dial_row {
	const char	*name;
	unsigned int	caps;
	u32		peer;
	bool		unacked;
	bool		dials;
};

#define LOWER_PEER	0xc0000102	/* 192.0.1.2 */

/* Which end dials after a drop; our address is 192.0.2.1 */
static const struct dial_row dials[] = {
	{ "both_dial",		0, RIG_FADDR, false, true },
	{ "both_dial_lower",	0, LOWER_PEER, false, true },
	{ "we_are_lower", RDS_CAP_LOWER_DIALS, RIG_FADDR, false, true },
	{ "peer_is_lower", RDS_CAP_LOWER_DIALS, LOWER_PEER, false, false },
	{ "peer_is_lower_but_we_must", RDS_CAP_LOWER_DIALS, LOWER_PEER,
	  true, true },
};

static void dial_desc(const struct dial_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(dials, dials, dial_desc);

static void redial(struct kunit *test)
{
	const struct dial_row *row = test->param_value;
	struct socket *sock;

	rig_of(test)->peer = row->peer;
	rig_fake(test)->trans.caps = row->caps;
	sock = rig_up(test);
	if (row->unacked)
		rig_send(test, sock, 1);
	fake_forget(rig_fake(test));

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	if (row->dials) {
		rig_await(test, FAKE_MAPPED, 1);
	} else {
		rig_await(test, FAKE_SHUTDOWN, 1);
		KUNIT_EXPECT_FALSE(test, is_dialling_again(test));
		rig_expect_ops(test, "s");
	}
}

/* A transport may have the handshake and one path only. */
static void handshake_without_paths(struct kunit *test)
{
	struct fake *fake = rig_fake(test);

	fake->trans.caps = RDS_CAP_HANDSHAKE;
	fake->conn_ops.max_paths = NULL;
	rig_send(test, rig_socket(test, RIG_PORT), 1);
	rig_await(test, FAKE_MAPPED, 1);
	fake_settle(fake);
	rig_map_from(test, 0);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_said(test, 0, "M 1p 2");
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_npaths, 1);
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(failures_back_off),
	KUNIT_CASE(silence_backs_off),
	KUNIT_CASE(handshake_without_paths),
	KUNIT_CASE(messages_do_not_hurry_it),
	KUNIT_CASE(eagain_leaves_it_to_the_peer),
	KUNIT_CASE(success_may_come_later),
	KUNIT_CASE(unexpected_success_drops_the_path),
	KUNIT_CASE(drop_while_connecting),
	KUNIT_CASE(drop_while_down),
	KUNIT_CASE(drop_while_shutting_down),
	KUNIT_CASE(send_while_idle_path_is_shut_down),
	KUNIT_CASE(attempt_planned_while_up),
	KUNIT_CASE(attempt_planned_before_a_wrap),
	KUNIT_CASE(shutdown_may_take_long),
	KUNIT_CASE(shutdown_has_a_limit),
	KUNIT_CASE(drop_does_not_restart_shutdown),
	KUNIT_CASE(shutdown_cut_short),
	KUNIT_CASE_PARAM(redial, dials_gen_params),
	{}
};

static struct kunit_suite connect_suite = {
	.name		= "rds_connect",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= connect_cases,
};

kunit_test_suite(connect_suite);
