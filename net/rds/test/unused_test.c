// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of connections that no local socket uses, net/rds/core/conn_reap.c. The
 * peer has made them.
 */
#include "paths.h"

/* The limits of conn_reap.c */
#define UNUSED_MAX	1024
#define UNUSED_OF_PEER	64

static void unused_connection_goes(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rig_probe(test, 0, 1, &rig_ours_1);
	/* No socket has bound this port. */
	rig_deliver(test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
	KUNIT_EXPECT_EQ(test, paths_live(test), 1);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
}

static void unused_paths_go_with_it(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rig_reply(test, 0, 1, &rig_ours_8);
	for (i = 1; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, paths_offer(test, i));
	KUNIT_EXPECT_EQ(test, paths_live(test), 8);
	for (i = 1; i < 8; i++) {
		rds_path_drop(&rig_nth_cpath(test, i)->cp_pub,
			      RDS_DROP_PEER_CLOSED);
		fake_settle(rig_fake(test));
	}
	/* Path 0 is still UP, so a pass of the reaper leaves the connection
	 * alone.
	 */
	flush_delayed_work(&rds_net(&init_net)->rn_reap);
	KUNIT_ASSERT_EQ(test, paths_live(test), 8);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
}

/* Create a second connection, which no socket uses, and wait until the reaper
 * has destroyed it. The reaper must have kept the first one.
 */
static void expect_kept(struct kunit *test)
{
	u32 peer = rig_of(test)->peer;
	int kept = paths_live(test);

	rig_of(test)->peer = peer - 1;
	fake_fail(&rig_fake(test)->offer, -EBUSY, 1);
	KUNIT_EXPECT_EQ(test, -EBUSY, paths_offer(test, 0));
	KUNIT_EXPECT_EQ(test, paths_live(test), kept + 1);
	KUNIT_EXPECT_TRUE(test, paths_become(test, kept));
	KUNIT_EXPECT_NOT_NULL(test, rig_path(test));
	rig_of(test)->peer = peer;
}

/* The peer, which got no ack, sends its last message again: the connection
 * still knows that it has been received.
 */
static void expect_once(struct kunit *test, struct socket *sock, u64 seq)
{
	struct rig_got got;

	rig_deliver(test, seq, RIG_PEER_PORT, RIG_PORT, 5,
		    RDS_FLAG_RETRANSMITTED);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

static void delivery_is_use(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rig_deliver(test, 1, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	fake_settle(rig_fake(test));
	expect_kept(test);

	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	expect_once(test, sock, 1);
}

static struct kunit *the_test;

static void receive_last(struct rds_path *path)
{
	rig_deliver(the_test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
}

/* A connection that is to make room is read to its end. If that brings a
 * message for a socket, the connection stays: the peer may have got no ack.
 */
static void last_message_is_use(struct kunit *test)
{
	struct delayed_work *reap = &rds_net(&init_net)->rn_reap;
	struct socket *sock = rig_socket(test, RIG_PORT);

	the_test = test;
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rig_probe(test, 0, 1, &rig_ours_1);
	rig_fake(test)->in_shutdown = receive_last;
	WRITE_ONCE(to_cpath(rig_path(test))->cp_conn->c_evicted, true);
	mod_delayed_work(system_unbound_wq, reap, 0);
	flush_delayed_work(reap);
	fake_settle(rig_fake(test));
	flush_delayed_work(reap);
	KUNIT_ASSERT_EQ(test, paths_live(test), 1);

	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rig_probe(test, 0, 1, &rig_ours_1);
	expect_once(test, sock, 2);
}

static void sending_is_use(struct kunit *test)
{
	paths_use(test);
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	fake_settle(rig_fake(test));
	expect_kept(test);
}

static void refused_offer_leaves_nothing(struct kunit *test)
{
	fake_fail(&rig_fake(test)->offer, -EBUSY, 1);
	KUNIT_EXPECT_EQ(test, -EBUSY, paths_offer(test, 0));
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));

	fake_fail(&rig_fake(test)->alloc, -ENOMEM, 1);
	KUNIT_EXPECT_EQ(test, -ENOMEM, paths_offer(test, 0));
	KUNIT_EXPECT_EQ(test, paths_live(test), 0);
}

static void failed_attempt_leaves_nothing(struct kunit *test)
{
	fake_fail(&rig_fake(test)->connect, -ENOTCONN, 1);
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
}

static u32 unused_address(unsigned int n)
{
	return 0xc0000100 - 1 - n;
}

static int offer_unused(struct kunit *test, unsigned int n)
{
	rig_of(test)->peer = unused_address(n);
	return rig_offer_only(test, 0, paths_offers);
}

static bool is_known(struct kunit *test, unsigned int n)
{
	struct rds_net *rn = rds_net(&init_net);
	struct rds_conn *conn;
	bool found = false;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item)
		found |= conn->c_key.faddr.s6_addr32[3] ==
			 htonl(unused_address(n));
	mutex_unlock(&rn->rn_lock);
	return found;
}

/* Unused connections stay connected up to a limit. Beyond it, a new one takes
 * the place of the oldest one.
 */
static void unused_are_bounded(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < UNUSED_MAX; i++)
		KUNIT_ASSERT_EQ(test, 0, offer_unused(test, i));
	KUNIT_EXPECT_EQ(test, paths_live(test), UNUSED_MAX);
	for (; i < UNUSED_MAX + 5; i++)
		KUNIT_EXPECT_EQ(test, 0, offer_unused(test, i));

	KUNIT_EXPECT_TRUE(test, paths_become(test, UNUSED_MAX));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_FREE), 5U);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_FALSE(test, is_known(test, i));
	for (; i < UNUSED_MAX + 5; i++)
		KUNIT_EXPECT_TRUE(test, is_known(test, i));
}

static bool has_tos(struct kunit *test, u8 tos)
{
	struct rds_net *rn = rds_net(&init_net);
	struct rds_conn *conn;
	bool found = false;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item)
		found |= conn->c_key.tos == tos;
	mutex_unlock(&rn->rn_lock);
	return found;
}

/* A peer can make connections for many types of service, but has a limit of its
 * own. Beyond it, a new one takes the place of the oldest one of the same peer.
 */
static void unused_of_peer_are_bounded(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, offer_unused(test, 1));
	for (i = 1; i <= UNUSED_OF_PEER; i++) {
		rig_of(test)->tos = i;
		KUNIT_ASSERT_EQ(test, 0, offer_unused(test, 0));
	}
	KUNIT_EXPECT_EQ(test, paths_live(test), UNUSED_OF_PEER + 1);
	for (; i <= UNUSED_OF_PEER + 5; i++) {
		rig_of(test)->tos = i;
		KUNIT_EXPECT_EQ(test, 0, offer_unused(test, 0));
	}

	KUNIT_EXPECT_TRUE(test, paths_become(test, UNUSED_OF_PEER + 1));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_FREE), 5U);
	KUNIT_EXPECT_TRUE(test, is_known(test, 1));
	for (i = 1; i <= 5; i++)
		KUNIT_EXPECT_FALSE(test, has_tos(test, i));
	for (; i <= UNUSED_OF_PEER + 5; i++)
		KUNIT_EXPECT_TRUE(test, has_tos(test, i));
}

static struct kunit_case unused_cases[] = {
	KUNIT_CASE(unused_connection_goes),
	KUNIT_CASE(unused_paths_go_with_it),
	KUNIT_CASE(delivery_is_use),
	KUNIT_CASE(last_message_is_use),
	KUNIT_CASE(sending_is_use),
	KUNIT_CASE(refused_offer_leaves_nothing),
	KUNIT_CASE(failed_attempt_leaves_nothing),
	KUNIT_CASE(unused_are_bounded),
	KUNIT_CASE(unused_of_peer_are_bounded),
	{}
};

static struct kunit_suite unused_suite = {
	.name		= "rds_unused",
	.init		= paths_init_accept,
	.exit		= rig_exit,
	.test_cases	= unused_cases,
};

kunit_test_suite(unused_suite);
