// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of congestion with several paths: the memory that received messages
 * hold, and the congestion maps of both ends.
 */
#include "../core/cong.h"
#include "paths.h"

/* The memory that unread messages hold is counted for all paths together. */
static void paths_stop_and_read_on_together(struct kunit *test)
{
	struct socket *sock = paths_eight(test);
	struct rig_got got;
	u64 seq = 2;

	rig_sysctl()->rx_held_max = 10000;
	rig_fake(test)->truesize = 1000;
	rig_set_bufs(sock, 50);
	while (paths_receive(test, 0, ++seq))
		KUNIT_ASSERT_LT(test, seq, 1000ULL);
	KUNIT_EXPECT_FALSE(test, paths_receive(test, 3, 2));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 0U);

	do {
		rig_recv(test, sock, &got);
	} while (got.ret == 10);
	fake_settle(rig_fake(test));
	KUNIT_ASSERT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 2U);
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_RESUME, 0)->index +
			      fake_nth(rig_fake(test), FAKE_RESUME, 1)->index,
			3);
}

/* The peer may read an older map on another path after a newer one on path 0.
 * So the newest map is sent again.
 */
static void newest_map_is_repeated(struct kunit *test)
{
	struct socket *sock = paths_eight_legacy(test, &rig_old_8);
	unsigned int i;

	rig_await(test, FAKE_MAPPED, 7);
	fake_forget(rig_fake(test));

	rig_set_bufs(sock, 50);
	for (i = 2; i < 8; i++)
		paths_receive(test, 0, i);
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_said(test, 0, "M");
	rds_path_map_acked(&rig_nth_cpath(test, 3)->cp_pub);
	rig_await(test, FAKE_MAPPED, 2);
	rig_expect_said(test, 0, "M M");
	rds_path_map_acked(rig_path(test));
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "M M");
}

/* The first map of a path may wait in TCP for a long time before it is read. It
 * is ignored if path 0 has received a map.
 */
static void late_map_is_ignored(struct kunit *test)
{
	static const u16 ports[] = { RIG_PEER_PORT };
	struct rds_cong_map *map;

	paths_eight(test);
	map = rig_conn(test)->c_fcong;
	rig_deliver_map(test, ports, 1, RDS_CONG_MAP_BYTES);
	KUNIT_ASSERT_TRUE(test, rds_cong_test(map, htons(RIG_PEER_PORT)));
	rig_map_from(test, 3);
	KUNIT_EXPECT_TRUE(test, rds_cong_test(map, htons(RIG_PEER_PORT)));
	/* A later map on this path is not newer than that of path 0. */
	rig_map_from(test, 3);
	KUNIT_EXPECT_TRUE(test, rds_cong_test(map, htons(RIG_PEER_PORT)));

	/* While path 0 is down, the map of another path is the best one. */
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SHUTDOWN, 1);
	fake_settle(rig_fake(test));
	rig_map_from(test, 3);
	KUNIT_EXPECT_FALSE(test, rds_cong_test(map, htons(RIG_PEER_PORT)));
}

/* The stock implementation sends changes of its map on any path. */
static void legacy_maps_on_any_path(struct kunit *test)
{
	static const u16 ports[] = { RIG_PEER_PORT, RIG_PEER_PORT + 1 };
	struct rds_cong_map *map;

	paths_eight_legacy(test, &rig_new_8);
	map = rig_conn(test)->c_fcong;
	rig_deliver_map(test, ports, 1, RDS_CONG_MAP_BYTES);
	KUNIT_ASSERT_TRUE(test, rds_cong_test(map, htons(ports[0])));

	/* The first map of a path may be old, so it can only free ports. */
	rig_map_with(test, 3, ports + 1, 1, RDS_CONG_MAP_BYTES);
	KUNIT_EXPECT_FALSE(test, rds_cong_test(map, htons(ports[0])));
	KUNIT_EXPECT_FALSE(test, rds_cong_test(map, htons(ports[1])));
	/* Later maps are new. */
	rig_map_with(test, 3, ports, 2, RDS_CONG_MAP_BYTES);
	KUNIT_EXPECT_TRUE(test, rds_cong_test(map, htons(ports[0])));
	KUNIT_EXPECT_TRUE(test, rds_cong_test(map, htons(ports[1])));
	rig_map_from(test, 3);
	KUNIT_EXPECT_FALSE(test, rds_cong_test(map, htons(ports[0])));
	KUNIT_EXPECT_FALSE(test, rds_cong_test(map, htons(ports[1])));
}

/* The map that frees the port may have been overtaken by an older one. So a
 * sender that has waited for a while sends one message.
 */
static void blocked_by_legacy_sends_one(struct kunit *test)
{
	static const u16 ports[] = { RIG_PEER_PORT };
	struct rig_sender sender = { .test = test, .len = 10 };

	sender.sock = paths_eight_legacy(test, &rig_new_8);
	rig_deliver_map(test, ports, 1, RDS_CONG_MAP_BYTES);
	rig_start_sender(&sender);
	KUNIT_EXPECT_EQ(test, rig_finish_sender(&sender), 10);
	KUNIT_EXPECT_TRUE(test, rds_cong_test(rig_conn(test)->c_fcong,
					      htons(RIG_PEER_PORT)));
	/* A sender that does not wait gets ENOBUFS, as always. */
	KUNIT_EXPECT_EQ(test, -ENOBUFS,
			rig_try_send(test, sender.sock, RIG_PEER_PORT, 10,
				     MSG_DONTWAIT));
}

/* A peer that sends nothing on a path may not have read the first map of that
 * path. When it does, that map may be outdated.
 */
static void map_read_late_is_repeated(struct kunit *test)
{
	struct socket *sock = rig_dialed(test);
	unsigned int i;

	rig_reply(test, 0, 1, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	for (i = 1; i < 8; i++)
		rds_path_map_acked(&rig_nth_cpath(test, i)->cp_pub);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));

	rig_set_bufs(sock, 50);
	for (i = 2; i < 8; i++)
		paths_receive(test, 0, i);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 3, 0, &rig_ours_8);
	rig_await(test, FAKE_MAPPED, 2);
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_MAPPED, 1)->index,
			0);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_MAPPED), 2U);
}

static struct kunit_case path_maps_cases[] = {
	KUNIT_CASE(paths_stop_and_read_on_together),
	KUNIT_CASE(newest_map_is_repeated),
	KUNIT_CASE(late_map_is_ignored),
	KUNIT_CASE(legacy_maps_on_any_path),
	KUNIT_CASE(blocked_by_legacy_sends_one),
	KUNIT_CASE(map_read_late_is_repeated),
	{}
};

static struct kunit_suite path_maps_suite = {
	.name		= "rds_path_maps",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= path_maps_cases,
};

kunit_test_suite(path_maps_suite);
