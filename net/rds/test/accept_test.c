// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of connections made by the peer, net/rds/core/accept.c. The peer has
 * the lower address, and dials.
 */
#include "paths.h"

/* A local socket uses the connection, and the peer's port names path @named. */
static struct socket *used_and_up(struct kunit *test, u8 named)
{
	struct socket *sock = paths_use(test);

	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, named));
	return sock;
}

static void offer_creates_connection(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	rig_expect_ops(test, "aOCMX");
	paths_expect_taken(test, 0, 0, paths_offers);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_TRUE(test, paths_is_taken(test, 0));
}

static void offer_ignores_back_off(struct kunit *test)
{
	rig_sysctl()->reconnect_max_ms = 1000 * 1000;
	rig_sysctl()->reconnect_min_ms = 1000 * 1000;
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	paths_use(test);
	rig_await(test, FAKE_CONNECT, 2);
	fake_fail(&rig_fake(test)->connect, 0, 0);

	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	paths_expect_taken(test, 0, 0, paths_offers);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_FALSE(test, test_bit(RDS_PF_CONNECT,
					  &rig_nth_cpath(test, 0)->cp_flags));
}

/* Both ends have dialed at the same time. */
static void offer_beats_dial(struct kunit *test)
{
	rig_fake(test)->peer_dials = false;
	rig_fake(test)->connect_later = true;
	paths_use(test);
	rig_await(test, FAKE_CONNECTED, 1);
	KUNIT_ASSERT_EQ(test, paths_state(test, 0), RDS_PATH_CONNECTING);
	rig_fake(test)->connect_later = false;

	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_done(test, "aCOsCMXX");
	paths_expect_taken(test, 1, 0, paths_offers);
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_dial.pd_drop_reason,
			RDS_DROP_RACED);
	KUNIT_EXPECT_TRUE(test, paths_is_taken(test, 0));
}

/* When the peer has made an offer */
enum since {
	JUST_NOW,
	WITH_THE_HANDSHAKE,
	LONG_AGO,
	BEFORE_A_WRAP,
};

/* A second connection of a peer with one path. The peer may have lost the first
 * one, which is UP at this end.
 */
struct second_row {
	const char		*name;
	const struct rig_peer	*peer;	/* NULL: no handshake frame */
	u8			first;
	u8			second;
	enum since		since;
	/* The probe that core sends, if it does not know whether the peer
	 * still has the first connection. A peer that has lost it responds with
	 * a reset.
	 */
	const char		*said;
	/* Messages sent on the second connection before a handshake frame has
	 * arrived there
	 */
	unsigned int		sent;
};

static const struct second_row seconds[] = {
	{ "unknown",	NULL, 0, 0, JUST_NOW, "3p", 0 },
	{ "ours",	&rig_ours_1, 0, 0, JUST_NOW, "0p", 0 },
	/* The peer has replied since it made the offer: no probe is needed. */
	{ "alive",	&rig_ours_1, 0, 0, LONG_AGO, "", 0 },
	{ "old",	&rig_old_1, 3, 6, JUST_NOW, "3p", 1 },
	/* A handshake frame of the same jiffy may have arrived before the
	 * offer. It does not prove that the connection is alive.
	 */
	{ "same_jiffy",	&rig_old_1, 3, 6, WITH_THE_HANDSHAKE, "3p", 1 },
	/* The frame is so old that it seems to lie ahead. */
	{ "wrapped",	&rig_ours_1, 0, 0, BEFORE_A_WRAP, "0p", 0 },
};

static void second_desc(const struct second_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(seconds, seconds, second_desc);

static unsigned long time_of(struct kunit *test, enum since since)
{
	struct rds_cpath *cp;

	switch (since) {
	case JUST_NOW:
		return 0;
	case WITH_THE_HANDSHAKE:
		return rig_nth_cpath(test, 0)->cp_hs.ph_at;
	case LONG_AGO:
		return jiffies - 3600 * HZ;
	case BEFORE_A_WRAP:
		cp = rig_nth_cpath(test, 0);
		WRITE_ONCE(cp->cp_hs.ph_at,
			   jiffies - (ULONG_MAX / 2 + 60 * HZ));
		break;
	}
	return 0;
}

/* The second connection waits until the first one has ended. Core then calls
 * accept_again(), and the same path takes the second connection.
 */
static void second_waits_while_up(struct kunit *test)
{
	const struct second_row *row = test->param_value;
	struct socket *sock = used_and_up(test, row->first);
	void *offer = paths_offers + 1;
	int before;

	if (row->peer)
		rig_reply(test, 0, 1, row->peer);
	fake_forget(rig_fake(test));
	rig_of(test)->offers_since = time_of(test, row->since);
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, row->second, offer));
	rig_expect_said(test, 0, row->said);
	if (!row->said[0])
		rig_expect_ops(test, "");
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, paths_live(test), 1);

	before = atomic_read(&rig_fake(test)->again_calls);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_GT(test, atomic_read(&rig_fake(test)->again_calls),
			before);
	fake_forget(rig_fake(test));
	rig_of(test)->offers_since = 0;
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, row->second, offer));
	paths_expect_taken(test, 0, 0, offer);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, paths_live(test), 1);
	fake_forget(rig_fake(test));
	rig_send(test, sock, 5);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SENT), row->sent);
}

/* An offer that is being taken is not dropped for another one. */
static void offer_while_taking_another(struct kunit *test)
{
	rig_fake(test)->connect_later = true;
	used_and_up(test, 0);
	KUNIT_ASSERT_EQ(test, paths_state(test, 0), RDS_PATH_CONNECTING);
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 0, paths_offers + 1));
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	paths_expect_taken(test, 0, 0, paths_offers);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 0U);
}

/* Which path the second connection belongs to is known once the peer's
 * handshake frame has arrived.
 */
static void second_waits_for_handshake(struct kunit *test)
{
	int before;

	used_and_up(test, 2);
	KUNIT_EXPECT_EQ(test, -EAGAIN, paths_offer(test, 5));
	KUNIT_EXPECT_EQ(test, paths_live(test), 1);

	before = atomic_read(&rig_fake(test)->again_calls);
	rig_reply(test, 0, 1, &rig_ours_8);
	KUNIT_EXPECT_GT(test, atomic_read(&rig_fake(test)->again_calls),
			before);
	KUNIT_EXPECT_EQ(test, rig_path(test)->index, 2);
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 5));
	paths_expect_taken(test, 1, 5, paths_offers + 5);
}

/* Which path the second connection belongs to is known once the handshake frame
 * on the first path has been processed.
 */
static void second_waits_for_processing(struct kunit *test)
{
	struct rds_conn *conn;

	used_and_up(test, 0);
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	conn = rig_conn(test);
	mutex_lock(&conn->c_mp_lock);
	rig_probe_only(test, 0, 1, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, -EAGAIN,
			rig_offer_only(test, 3, paths_offers + 3));
	mutex_unlock(&conn->c_mp_lock);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 3));
	paths_expect_taken(test, 1, 3, paths_offers + 3);
}

/* The messages on a connection carry the sequence numbers of the path that the
 * peer's port names. If another path has taken the connection, it is dropped.
 */
static void path_of_wrong_number_is_dropped(struct kunit *test)
{
	used_and_up(test, 0);
	rig_reply(test, 0, 1, &rig_old_1);
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 3));
	KUNIT_ASSERT_EQ(test, paths_state(test, 1), RDS_PATH_UP);
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 2));
	KUNIT_ASSERT_EQ(test, paths_state(test, 2), RDS_PATH_UP);

	rig_probe(test, 0, 2, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, paths_state(test, 1), RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, paths_state(test, 2), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 3));
	KUNIT_EXPECT_EQ(test, paths_state(test, 3), RDS_PATH_UP);
}

/* Neither end has announced so many paths: waiting would be in vain. */
static void path_beyond_the_number_is_refused(struct kunit *test)
{
	rig_fake(test)->max_paths = 2;
	used_and_up(test, 0);
	rig_probe(test, 0, 1, &rig_ours_1);
	/* The peer may be about to accept our offer of two paths. */
	KUNIT_EXPECT_EQ(test, -EAGAIN, paths_offer(test, 1));
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, paths_offer(test, 2));

	/* Before a handshake on path 0 the peer may be another incarnation. */
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, -EAGAIN, paths_offer(test, 2));
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	KUNIT_EXPECT_EQ(test, -EAGAIN, paths_offer(test, 2));
	rig_probe(test, 0, 0, &rig_ours_1);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, paths_offer(test, 2));
}

static void legacy_paths_in_turn(struct kunit *test)
{
	unsigned int i;

	rig_fake(test)->legacy_paths = 8;
	used_and_up(test, 3);
	rig_reply(test, 0, 1, &rig_old_8);
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	for (i = 1; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, paths_offers + i));
		paths_expect_taken(test, i, i, paths_offers + i);
	}
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 3, paths_offers));
}

static void no_offers_after_unregister(struct kunit *test)
{
	struct rds_conn_request peer = { .laddr = fake_laddr };

	fake_unregister(rig_fake(test));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN,
			rds_path_accept(&init_net, &rig_fake(test)->trans,
					&peer, paths_offers));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN,
			rds_path_accept(&init_net, &rig_fake(test)->trans,
					&peer, NULL));
	rig_expect_ops(test, "");
}

static void unregister_while_up(struct kunit *test)
{
	used_and_up(test, 0);
	fake_forget(rig_fake(test));
	fake_unregister(rig_fake(test));
	rig_expect_done(test, "sf");
	KUNIT_EXPECT_TRUE(test, fake_nth(rig_fake(test), FAKE_SHUTDOWN,
					 0)->abort);
}

static struct kunit_case accept_cases[] = {
	KUNIT_CASE(offer_creates_connection),
	KUNIT_CASE(offer_ignores_back_off),
	KUNIT_CASE(offer_beats_dial),
	KUNIT_CASE_PARAM(second_waits_while_up, seconds_gen_params),
	KUNIT_CASE(offer_while_taking_another),
	KUNIT_CASE(second_waits_for_handshake),
	KUNIT_CASE(second_waits_for_processing),
	KUNIT_CASE(path_of_wrong_number_is_dropped),
	KUNIT_CASE(path_beyond_the_number_is_refused),
	KUNIT_CASE(legacy_paths_in_turn),
	KUNIT_CASE(no_offers_after_unregister),
	KUNIT_CASE(unregister_while_up),
	{}
};

static struct kunit_suite accept_suite = {
	.name		= "rds_accept",
	.init		= paths_init_accept,
	.exit		= rig_exit,
	.test_cases	= accept_cases,
};

kunit_test_suite(accept_suite);
