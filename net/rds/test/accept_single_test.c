// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of connections made by the peer of a transport without
 * RDS_CAP_MULTIPATH, net/rds/core/accept.c. There is one path, and the peer may
 * offer another connection at any time; both ends may dial.
 */
#include <linux/iopoll.h>

#include "paths.h"

/* Without RDS_CAP_MULTIPATH there is one path, and the peer may offer another
 * connection at any time.
 */
static void single_up(struct kunit *test)
{
	rig_fake(test)->trans.caps = 0;
	rig_fake(test)->peer_dials = false;
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	KUNIT_ASSERT_TRUE(test, paths_is_taken(test, 0));
	KUNIT_ASSERT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
}

static void offer_while_up(struct kunit *test)
{
	single_up(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, paths_offers + 1));
	paths_expect_taken(test, 1, 0, paths_offers + 1);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_dial.pd_drop_reason,
			RDS_DROP_PEER_RESET);
}

/* An offer takes rn_lock. When idle loopback paths make room, that is taken
 * before the lock of this kind. It is not for this path.
 */
static void hold_shutdown(struct rds_cpath *cp)
{
	mutex_lock_nested(&cp->cp_xmit_lock, SINGLE_DEPTH_NESTING);
}

/* The offer is taken at once, even if this end would not dial. */
static void offer_while_shutting_down(struct kunit *test)
{
	struct rds_cpath *cp;

	single_up(test);
	cp = rig_nth_cpath(test, 0);
	hold_shutdown(cp);
	rds_path_drop(&cp->cp_pub, RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, paths_offers + 1));
	mutex_unlock(&cp->cp_xmit_lock);
	rig_await(test, FAKE_CONNECTED, 2);
	fake_settle(rig_fake(test));
	paths_expect_taken(test, 1, 0, paths_offers + 1);
	KUNIT_EXPECT_TRUE(test, paths_is_taken(test, 0));
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
}

/* A peer that makes an offer and withdraws it must not make this end dial. */
static void offer_withdrawn(struct kunit *test)
{
	struct rds_cpath *cp;

	single_up(test);
	cp = rig_nth_cpath(test, 0);
	hold_shutdown(cp);
	rds_path_drop(&cp->cp_pub, RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, paths_offers + 1));
	KUNIT_EXPECT_TRUE(test, fake_withdraw(rig_path(test)));
	mutex_unlock(&cp->cp_xmit_lock);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
}

static struct kunit *the_test;
static struct socket *the_sock;

static void withdraw(struct rds_path *path)
{
	fake_withdraw(path);
}

static void begin_to_use(struct rds_path *path)
{
	KUNIT_EXPECT_EQ(the_test, 1,
			rig_try_send(the_test, the_sock, RIG_PEER_PORT, 1,
				     MSG_DONTWAIT));
}

/* The peer withdraws its offer when the path is about to take it, and a socket
 * begins to use the path just then. So this end has to dial now.
 */
static void offer_withdrawn_in_use(struct kunit *test)
{
	rig_fake(test)->trans.caps = 0;
	rig_fake(test)->peer_dials = false;
	rig_fake(test)->in_connect = withdraw;
	rig_fake(test)->after_connect = begin_to_use;
	the_test = test;
	the_sock = rig_socket(test, RIG_PORT);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, paths_offers));
	rig_await(test, FAKE_SENT, 1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 2U);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_FALSE(test, paths_is_taken(test, 0));
}

/* Dial without an offer; the attempt does not end by itself. */
static struct rds_cpath *dialing(struct kunit *test)
{
	rig_fake(test)->trans.caps = 0;
	rig_fake(test)->peer_dials = false;
	rig_fake(test)->connect_later = true;
	paths_use(test);
	KUNIT_ASSERT_EQ(test, paths_state(test, 0), RDS_PATH_CONNECTING);
	return rig_nth_cpath(test, 0);
}

static void dial_beats_offer(struct kunit *test)
{
	struct rds_cpath *cp;

	rig_of(test)->peer = RIG_FADDR;
	cp = dialing(test);
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	KUNIT_ASSERT_EQ(test, paths_state(test, 0), RDS_PATH_CONNECTING);
	KUNIT_EXPECT_TRUE(test, fake_dialed(&cp->cp_pub));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_FALSE(test, paths_is_taken(test, 0));
	KUNIT_EXPECT_FALSE(test, fake_withdraw(&cp->cp_pub));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 0U);
}

/* An attempt that was dropped for an offer must not discard that offer, even if
 * the attempt succeeds after all.
 */
static void dial_succeeds_too_late(struct kunit *test)
{
	struct rds_cpath *cp = dialing(test);
	enum rds_path_state state;

	hold_shutdown(cp);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, paths_offers));
	read_poll_timeout(rds_cpath_state, state, state != RDS_PATH_CONNECTING,
			  1000, 120 * USEC_PER_SEC, false, cp);
	KUNIT_EXPECT_EQ(test, cp->cp_dial.pd_drop_reason, RDS_DROP_RACED);
	KUNIT_EXPECT_FALSE(test, fake_dialed(&cp->cp_pub));
	rig_fake(test)->connect_later = false;
	mutex_unlock(&cp->cp_xmit_lock);
	rig_await(test, FAKE_CONNECTED, 2);
	paths_expect_taken(test, 1, 0, paths_offers);
	KUNIT_EXPECT_TRUE(test, paths_is_taken(test, 0));
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
}

/* A request that the peer made before it accepted our dial does not mean that
 * it has lost the connection. A later request does.
 */
static void dialed_since_the_offer(struct kunit *test)
{
	struct rds_cpath *cp = dialing(test);

	KUNIT_ASSERT_TRUE(test, fake_dialed(&cp->cp_pub));
	fake_settle(rig_fake(test));
	rig_fake(test)->connect_later = false;
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	KUNIT_EXPECT_EQ(test, -EALREADY, paths_offer(test, 0));
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 0U);

	rig_of(test)->offers_since = 0;
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	KUNIT_EXPECT_TRUE(test, paths_is_taken(test, 0));
	/* A connection made by the peer gives way to any other offer. */
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	paths_expect_taken(test, 2, 0, paths_offers);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
}

/* An offer from our own address is genuine only if we are dialing ourselves. */
static void offer_from_our_address(struct kunit *test)
{
	rig_of(test)->peer = RIG_LADDR;
	rig_fake(test)->trans.caps = 0;
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, paths_offer(test, 0));
	rig_expect_ops(test, "");

	dialing(test);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, paths_offers));
	rig_await(test, FAKE_CONNECT, 2);
	KUNIT_EXPECT_EQ(test, paths_live(test), 2);
	paths_expect_taken(test, 1, 0, paths_offers);
	KUNIT_EXPECT_TRUE(test, fake_dialed(rig_path(test)));
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, paths_offer(test, 0));
}

struct duel_row {
	const char	*name;
	u32		peer;
	bool		knows;
	/* The offer is taken before our attempt has ended. */
	bool		beats;
};

/* Our address is 192.0.2.1. */
static const struct duel_row duels[] = {
	{ "lower_knows",	RIG_LOWER, true, true },
	{ "lower_unaware",	RIG_LOWER, false, false },
	{ "higher_knows",	RIG_FADDR, true, false },
	{ "higher_unaware",	RIG_FADDR, false, false },
};

static void duel_desc(const struct duel_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(duels, duels, duel_desc);

/* Both ends have dialed at the same time. */
static void duel(struct kunit *test)
{
	const struct duel_row *row = test->param_value;
	struct rds_conn_request peer = {
		.since = jiffies,
		.knows_duels = true,
	};
	struct fake *fake = rig_fake(test);

	fake->trans.caps = 0;
	fake->peer_dials = false;
	fake->connect_later = true;
	rig_of(test)->peer = row->peer;
	rig_of(test)->knows_duels = row->knows;
	paths_use(test);
	rig_await(test, FAKE_CONNECTED, 1);
	KUNIT_ASSERT_EQ(test, paths_state(test, 0), RDS_PATH_CONNECTING);
	KUNIT_EXPECT_EQ(test, rds_path_refuses_offer(rig_path(test), &peer,
						     true),
			row->peer == RIG_FADDR);
	KUNIT_EXPECT_FALSE(test, rds_path_refuses_offer(rig_path(test), &peer,
							false));
	fake->connect_later = false;

	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	if (!row->beats) {
		KUNIT_EXPECT_EQ(test, paths_state(test, 0),
				RDS_PATH_CONNECTING);
		KUNIT_EXPECT_FALSE(test, paths_is_taken(test, 0));
		rds_path_drop(rig_path(test), RDS_DROP_CONNECT_FAILED);
	}
	rig_await(test, FAKE_MAPPED, 1);
	paths_expect_taken(test, 1, 0, paths_offers);
	KUNIT_EXPECT_FALSE(test, rds_path_refuses_offer(rig_path(test), &peer,
							true));
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_dial.pd_drop_reason,
			row->beats ? RDS_DROP_RACED : RDS_DROP_CONNECT_FAILED);
}

static struct kunit_case accept_single_cases[] = {
	KUNIT_CASE(offer_while_up),
	KUNIT_CASE(offer_while_shutting_down),
	KUNIT_CASE(offer_withdrawn),
	KUNIT_CASE(offer_withdrawn_in_use),
	KUNIT_CASE(dial_beats_offer),
	KUNIT_CASE(dial_succeeds_too_late),
	KUNIT_CASE(dialed_since_the_offer),
	KUNIT_CASE(offer_from_our_address),
	KUNIT_CASE_PARAM(duel, duels_gen_params),
	{}
};

static struct kunit_suite accept_single_suite = {
	.name		= "rds_accept_single",
	.init		= paths_init_accept,
	.exit		= rig_exit,
	.test_cases	= accept_single_cases,
};

kunit_test_suite(accept_single_suite);
