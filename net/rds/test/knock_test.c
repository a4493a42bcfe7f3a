// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of peers that knock, net/rds/core/accept.c: the peer has the higher
 * address, must not dial, and is dialed in response.
 */
#include "paths.h"

static void knock_makes_us_dial(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	paths_expect_taken(test, 0, 0, NULL);
	KUNIT_EXPECT_FALSE(test, paths_is_taken(test, 0));
}

static void knock_ignores_back_off(struct kunit *test)
{
	rig_sysctl()->reconnect_max_ms = 1000 * 1000;
	rig_sysctl()->reconnect_min_ms = 1000 * 1000;
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	paths_use(test);
	rig_await(test, FAKE_CONNECT, 2);
	fake_fail(&rig_fake(test)->connect, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, rig_knock(test));
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
}

static void knock_while_up(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_reply(test, 0, 1, &rig_ours_1);
	fake_forget(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 1, rig_knock(test));
	rig_expect_said(test, 0, "0p");
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 0U);
}

/* A peer that has knocked has messages to send, and must not dial itself. */
static void knocker_is_dialed_again(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_MAPPED, 2);

	/* The peer is not dialed forever after its last knock. */
	WRITE_ONCE(rig_conn(test)->c_knocked_at, jiffies - 3600 * HZ);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
}

/* The moment of the last knock comes round again in the jiffies. */
static void knock_of_long_ago(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	WRITE_ONCE(rig_conn(test)->c_knocked_at, jiffies + LONG_MAX / 2);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
}

/* The other paths are to be dialed when path 0 is UP. That must not keep a
 * connection whose path 0 is not dialed any more.
 */
static void knocker_paths_go_with_it(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_reply(test, 0, 1, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 8);

	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	for (i = 8; i--;)
		rds_path_drop(&rig_nth_cpath(test, i)->cp_pub,
			      RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
}

static void unused_knocker_goes(struct kunit *test)
{
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	KUNIT_EXPECT_EQ(test, 0, rig_knock(test));
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
}

static struct kunit_case knock_cases[] = {
	KUNIT_CASE(knock_makes_us_dial),
	KUNIT_CASE(knock_ignores_back_off),
	KUNIT_CASE(knock_while_up),
	KUNIT_CASE(knocker_is_dialed_again),
	KUNIT_CASE(knock_of_long_ago),
	KUNIT_CASE(knocker_paths_go_with_it),
	KUNIT_CASE(unused_knocker_goes),
	{}
};

static struct kunit_suite knock_suite = {
	.name		= "rds_knock",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= knock_cases,
};

kunit_test_suite(knock_suite);
