// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of connections made by the peer, net/rds/core/accept.c, and of the
 * destruction of unused connections, conn_reap.c. In most tests the peer has
 * the lower address, and dials.
 */
#include <linux/iopoll.h>

#include "rig_peer.h"

/* The limits of conn_reap.c */
#define UNUSED_MAX	1024
#define UNUSED_OF_PEER	64

static const struct rig_peer ours_1 = { RIG_OURS, 1, 77, 5 };
static const struct rig_peer ours_8 = { RIG_OURS, 8, 77, 5 };
static const struct rig_peer old_1 = { RIG_OLD, 1, 0, 0 };
static const struct rig_peer old_8 = { RIG_OLD, 8, 0, 0 };

static char offers[RDS_MAX_PATHS];

static int accept_init(struct kunit *test)
{
	int ret = rig_init_paths(test);

	if (ret)
		return ret;
	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	return 0;
}

static int live_paths(struct kunit *test)
{
	return READ_ONCE(rig_fake(test)->live_paths);
}

static bool paths_become(struct kunit *test, int want)
{
	int n;

	return !read_poll_timeout(live_paths, n, n == want, 10000,
				  120 * USEC_PER_SEC, false, test);
}

/* Make a local socket use the connection, so that it stays. */
static struct socket *in_use(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_send(test, sock, 1);
	fake_settle(rig_fake(test));
	return sock;
}

/* Create a second connection, which no socket uses, and wait until the reaper
 * has destroyed it. The reaper must have kept the first one.
 */
static void expect_kept(struct kunit *test)
{
	u32 peer = rig_of(test)->peer;
	int kept = live_paths(test);

	rig_of(test)->peer = peer - 1;
	fake_fail(&rig_fake(test)->offer, -EBUSY, 1);
	KUNIT_EXPECT_EQ(test, -EBUSY, rig_offer(test, 0, offers));
	KUNIT_EXPECT_EQ(test, live_paths(test), kept + 1);
	KUNIT_EXPECT_TRUE(test, paths_become(test, kept));
	KUNIT_EXPECT_NOT_NULL(test, rig_path(test));
	rig_of(test)->peer = peer;
}

static void expect_taken(struct kunit *test, unsigned int n, unsigned int index,
			 void *offer)
{
	const struct fake_call *call = fake_nth(rig_fake(test), FAKE_CONNECTED,
						n);

	KUNIT_ASSERT_NOT_NULL(test, call);
	KUNIT_EXPECT_EQ(test, call->index, index);
	KUNIT_EXPECT_PTR_EQ(test, call->offer, offer);
}

static enum rds_path_state state_of(struct kunit *test, unsigned int index)
{
	return rds_cpath_state(rig_nth_cpath(test, index));
}

static bool is_taken(struct kunit *test, unsigned int index)
{
	return test_bit(RDS_PF_TAKEN, &rig_nth_cpath(test, index)->cp_flags);
}

static void offer_makes_the_connection(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_expect_ops(test, "aOCMX");
	expect_taken(test, 0, 0, offers);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_TRUE(test, is_taken(test, 0));
}

static void unused_connection_goes(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_probe(test, 0, 1, &ours_1);
	/* No socket has bound this port. */
	rig_deliver(test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
	KUNIT_EXPECT_EQ(test, live_paths(test), 1);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
}

static void unused_paths_go_with_it(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_reply(test, 0, 1, &ours_8);
	for (i = 1; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, rig_offer(test, i, offers + i));
	KUNIT_EXPECT_EQ(test, live_paths(test), 8);
	for (i = 1; i < 8; i++) {
		rds_path_drop(&rig_nth_cpath(test, i)->cp_pub,
			      RDS_DROP_PEER_CLOSED);
		fake_settle(rig_fake(test));
	}
	/* Path 0 is still UP, so a pass of the reaper leaves the connection
	 * alone.
	 */
	flush_delayed_work(&rds_net(&init_net)->rn_reap);
	KUNIT_ASSERT_EQ(test, live_paths(test), 8);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
}

static void delivery_is_use(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);
	struct rig_got got;

	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_deliver(test, 1, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	fake_settle(rig_fake(test));
	expect_kept(test);

	/* The connection still detects duplicates of what it has received. */
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_deliver(test, 1, RIG_PEER_PORT, RIG_PORT, 5,
		    RDS_FLAG_RETRANSMITTED);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

static void sending_is_use(struct kunit *test)
{
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	fake_settle(rig_fake(test));
	expect_kept(test);
}

static void refused_offer_leaves_nothing(struct kunit *test)
{
	fake_fail(&rig_fake(test)->offer, -EBUSY, 1);
	KUNIT_EXPECT_EQ(test, -EBUSY, rig_offer(test, 0, offers));
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));

	fake_fail(&rig_fake(test)->alloc, -ENOMEM, 1);
	KUNIT_EXPECT_EQ(test, -ENOMEM, rig_offer(test, 0, offers));
	KUNIT_EXPECT_EQ(test, live_paths(test), 0);
}

static void failed_attempt_leaves_nothing(struct kunit *test)
{
	fake_fail(&rig_fake(test)->connect, -ENOTCONN, 1);
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
}

static void offer_does_not_wait_for_the_back_off(struct kunit *test)
{
	rig_sysctl()->reconnect_max_ms = 1000 * 1000;
	rig_sysctl()->reconnect_min_ms = 1000 * 1000;
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	in_use(test);
	rig_await(test, FAKE_CONNECT, 2);
	fake_fail(&rig_fake(test)->connect, 0, 0);

	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	expect_taken(test, 0, 0, offers);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_FALSE(test, test_bit(RDS_PF_CONNECT,
					  &rig_nth_cpath(test, 0)->cp_flags));
}

/* Both ends have dialed at the same time. */
static void offer_beats_our_attempt(struct kunit *test)
{
	rig_fake(test)->peer_dials = false;
	rig_fake(test)->connect_later = true;
	in_use(test);
	rig_await(test, FAKE_CONNECTED, 1);
	KUNIT_ASSERT_EQ(test, state_of(test, 0), RDS_PATH_CONNECTING);
	rig_fake(test)->connect_later = false;

	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_done(test, "aCOsCMXX");
	expect_taken(test, 1, 0, offers);
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_drop_reason,
			RDS_DROP_RACED);
	KUNIT_EXPECT_TRUE(test, is_taken(test, 0));
}

/* The peer has lost the connection in use. This end is about to lose it. */
static void offer_waits_while_up(struct kunit *test)
{
	int before;

	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_reply(test, 0, 1, &ours_1);
	fake_forget(rig_fake(test));

	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 0, offers + 1));
	/* The response to the probe is a reset if the peer has lost the
	 * connection.
	 */
	rig_expect_said(test, 0, "0p");
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);

	before = atomic_read(&rig_fake(test)->again_calls);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_GT(test, atomic_read(&rig_fake(test)->again_calls),
			before);
	fake_forget(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers + 1));
	expect_taken(test, 0, 0, offers + 1);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
}

/* The peer has replied since it made the offer, so no probe is needed. */
static void offer_beside_one_that_is_alive(struct kunit *test)
{
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_reply(test, 0, 1, &ours_1);
	fake_forget(rig_fake(test));
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 0, offers + 1));
	rig_expect_ops(test, "");
}

/* An offer that is being taken is not dropped for another one. */
static void offer_beside_one_just_taken(struct kunit *test)
{
	rig_fake(test)->connect_later = true;
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_ASSERT_EQ(test, state_of(test, 0), RDS_PATH_CONNECTING);
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 0, offers + 1));
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	expect_taken(test, 0, 0, offers);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 0U);
}

/* Which path the second connection belongs to is known once the peer's
 * handshake frame has arrived.
 */
static void second_waits_for_the_greeting(struct kunit *test)
{
	int before;

	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 2, offers + 2));
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 5, offers + 5));
	KUNIT_EXPECT_EQ(test, live_paths(test), 1);

	before = atomic_read(&rig_fake(test)->again_calls);
	rig_reply(test, 0, 1, &ours_8);
	KUNIT_EXPECT_GT(test, atomic_read(&rig_fake(test)->again_calls),
			before);
	KUNIT_EXPECT_EQ(test, rig_path(test)->index, 2);
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 5, offers + 5));
	expect_taken(test, 1, 5, offers + 5);
}

/* Which path the second connection belongs to is known once the handshake frame
 * on the first path has been processed.
 */
static void second_waits_for_what_follows(struct kunit *test)
{
	struct rds_conn *conn;

	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	conn = rig_conn(test);
	mutex_lock(&conn->c_mp_lock);
	rig_probe_only(test, 0, 1, &ours_8);
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer_only(test, 3, offers + 3));
	mutex_unlock(&conn->c_mp_lock);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	expect_taken(test, 1, 3, offers + 3);
}

/* The messages on a connection carry the sequence numbers of the path that the
 * peer's port names. If another path has taken the connection, it is dropped.
 */
static void path_of_another_name_is_dropped(struct kunit *test)
{
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_reply(test, 0, 1, &old_1);
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	KUNIT_ASSERT_EQ(test, state_of(test, 1), RDS_PATH_UP);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 2, offers + 2));
	KUNIT_ASSERT_EQ(test, state_of(test, 2), RDS_PATH_UP);

	rig_probe(test, 0, 2, &ours_8);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, state_of(test, 1), RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, state_of(test, 2), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	KUNIT_EXPECT_EQ(test, state_of(test, 3), RDS_PATH_UP);
}

/* Neither end has announced so many paths: waiting would be in vain. */
static void path_that_will_not_be_is_refused(struct kunit *test)
{
	rig_fake(test)->max_paths = 2;
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_probe(test, 0, 1, &ours_1);
	/* The peer may be about to accept our offer of two paths. */
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 1, offers + 1));
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, rig_offer(test, 2, offers + 2));

	/* Before a handshake on path 0 the peer may be another incarnation. */
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 2, offers + 2));
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 2, offers + 2));
	rig_probe(test, 0, 0, &ours_1);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, rig_offer(test, 2, offers + 2));
}

static void shutdown_lets_others_ask_again(struct kunit *test)
{
	int before;

	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 0, offers + 1));
	before = atomic_read(&rig_fake(test)->again_calls);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_GT(test, atomic_read(&rig_fake(test)->again_calls),
			before);
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers + 1));
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
}

/* The peer has one path, and has lost it. This end has not noticed yet. */
static void old_peer_comes_back_by_its_path(struct kunit *test)
{
	struct socket *sock = in_use(test);

	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 3, offers));
	rig_reply(test, 0, 1, &old_1);
	fake_forget(rig_fake(test));
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 6, offers + 1));
	/* The probe checks whether the peer still has the connection. */
	rig_expect_said(test, 0, "3p");

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 6, offers + 1));
	KUNIT_EXPECT_EQ(test, live_paths(test), 1);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	fake_forget(rig_fake(test));
	rig_send(test, sock, 5);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SENT), 1U);
}

/* A handshake frame of the same jiffy may have arrived before the offer. It
 * does not prove that the connection is alive.
 */
static void offer_in_the_jiffy_of_the_greeting(struct kunit *test)
{
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 3, offers));
	rig_reply(test, 0, 1, &old_1);
	fake_forget(rig_fake(test));
	rig_of(test)->offers_since = rig_nth_cpath(test, 0)->cp_handshake_at;
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 6, offers + 1));
	rig_expect_said(test, 0, "3p");
	KUNIT_EXPECT_EQ(test, live_paths(test), 1);
}

static void old_peer_s_paths_in_turn(struct kunit *test)
{
	unsigned int i;

	rig_fake(test)->legacy_paths = 8;
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 3, offers));
	rig_reply(test, 0, 1, &old_8);
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	for (i = 1; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + i));
		expect_taken(test, i, i, offers + i);
	}
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 3, offers));
}

/* Without RDS_CAP_MULTIPATH there is one path, and the peer may offer another
 * connection at any time.
 */
static void alone(struct kunit *test)
{
	rig_fake(test)->trans.caps = 0;
	rig_fake(test)->peer_dials = false;
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_ASSERT_TRUE(test, is_taken(test, 0));
	KUNIT_ASSERT_EQ(test, state_of(test, 0), RDS_PATH_UP);
}

static void offer_alone_while_up(struct kunit *test)
{
	alone(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers + 1));
	expect_taken(test, 1, 0, offers + 1);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_drop_reason,
			RDS_DROP_PEER_RESET);
}

/* The offer is taken at once, even if this end would not dial. */
static void offer_alone_while_shutting_down(struct kunit *test)
{
	struct rds_cpath *cp;

	alone(test);
	cp = rig_nth_cpath(test, 0);
	mutex_lock(&cp->cp_xmit_lock);
	rds_path_drop(&cp->cp_pub, RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, offers + 1));
	mutex_unlock(&cp->cp_xmit_lock);
	rig_await(test, FAKE_CONNECTED, 2);
	fake_settle(rig_fake(test));
	expect_taken(test, 1, 0, offers + 1);
	KUNIT_EXPECT_TRUE(test, is_taken(test, 0));
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
}

/* A peer that makes an offer and withdraws it must not make this end dial. */
static void offer_alone_taken_back(struct kunit *test)
{
	struct rds_cpath *cp;

	alone(test);
	cp = rig_nth_cpath(test, 0);
	mutex_lock(&cp->cp_xmit_lock);
	rds_path_drop(&cp->cp_pub, RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, offers + 1));
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
static void offer_alone_taken_back_in_use(struct kunit *test)
{
	rig_fake(test)->trans.caps = 0;
	rig_fake(test)->peer_dials = false;
	rig_fake(test)->in_connect = withdraw;
	rig_fake(test)->after_connect = begin_to_use;
	the_test = test;
	the_sock = rig_socket(test, RIG_PORT);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, offers));
	rig_await(test, FAKE_SENT, 1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 2U);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_FALSE(test, is_taken(test, 0));
}

/* Dial without an offer; the attempt does not end by itself. */
static struct rds_cpath *dialing_alone(struct kunit *test)
{
	rig_fake(test)->trans.caps = 0;
	rig_fake(test)->peer_dials = false;
	rig_fake(test)->connect_later = true;
	in_use(test);
	KUNIT_ASSERT_EQ(test, state_of(test, 0), RDS_PATH_CONNECTING);
	return rig_nth_cpath(test, 0);
}

static void dialed_alone_beside_an_offer(struct kunit *test)
{
	struct rds_cpath *cp;

	rig_of(test)->peer = RIG_FADDR;
	cp = dialing_alone(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_ASSERT_EQ(test, state_of(test, 0), RDS_PATH_CONNECTING);
	KUNIT_EXPECT_TRUE(test, fake_dialed(&cp->cp_pub));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_FALSE(test, is_taken(test, 0));
	KUNIT_EXPECT_FALSE(test, fake_withdraw(&cp->cp_pub));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 0U);
}

/* An attempt that was dropped for an offer must not discard that offer, even if
 * the attempt succeeds after all.
 */
static void dialed_alone_too_late(struct kunit *test)
{
	struct rds_cpath *cp = dialing_alone(test);
	enum rds_path_state state;

	mutex_lock(&cp->cp_xmit_lock);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, offers));
	read_poll_timeout(rds_cpath_state, state, state != RDS_PATH_CONNECTING,
			  1000, 120 * USEC_PER_SEC, false, cp);
	KUNIT_EXPECT_EQ(test, cp->cp_drop_reason, RDS_DROP_RACED);
	KUNIT_EXPECT_FALSE(test, fake_dialed(&cp->cp_pub));
	rig_fake(test)->connect_later = false;
	mutex_unlock(&cp->cp_xmit_lock);
	rig_await(test, FAKE_CONNECTED, 2);
	expect_taken(test, 1, 0, offers);
	KUNIT_EXPECT_TRUE(test, is_taken(test, 0));
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
}

/* A request that the peer made before it accepted our dial does not mean that
 * it has lost the connection. A later request does.
 */
static void dialed_alone_since_it_asked(struct kunit *test)
{
	struct rds_cpath *cp = dialing_alone(test);

	KUNIT_ASSERT_TRUE(test, fake_dialed(&cp->cp_pub));
	fake_settle(rig_fake(test));
	rig_fake(test)->connect_later = false;
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	KUNIT_EXPECT_EQ(test, -EALREADY, rig_offer(test, 0, offers));
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 0U);

	rig_of(test)->offers_since = 0;
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_EXPECT_TRUE(test, is_taken(test, 0));
	/* A connection made by the peer gives way to any other offer. */
	rig_of(test)->offers_since = jiffies - 3600 * HZ;
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	expect_taken(test, 2, 0, offers);
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
}

/* An offer from our own address is genuine only if we are dialing ourselves. */
static void offer_to_oneself(struct kunit *test)
{
	rig_of(test)->peer = RIG_LADDR;
	rig_fake(test)->trans.caps = 0;
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, rig_offer(test, 0, offers));
	rig_expect_ops(test, "");

	dialing_alone(test);
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, offers));
	rig_await(test, FAKE_CONNECT, 2);
	KUNIT_EXPECT_EQ(test, live_paths(test), 2);
	expect_taken(test, 1, 0, offers);
	KUNIT_EXPECT_TRUE(test, fake_dialed(rig_path(test)));
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, rig_offer(test, 0, offers));
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
	{ "lower_who_knows",	RIG_LOWER, true, true },
	{ "lower_stranger",	RIG_LOWER, false, false },
	{ "higher_who_knows",	RIG_FADDR, true, false },
	{ "higher_stranger",	RIG_FADDR, false, false },
};

static void duel_desc(const struct duel_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(duels, duels, duel_desc);

/* Both ends have dialed at the same time. */
static void offer_alone_in_a_duel(struct kunit *test)
{
	const struct duel_row *row = test->param_value;
	struct fake *fake = rig_fake(test);

	fake->trans.caps = 0;
	fake->peer_dials = false;
	fake->connect_later = true;
	rig_of(test)->peer = row->peer;
	rig_of(test)->knows_duels = row->knows;
	in_use(test);
	rig_await(test, FAKE_CONNECTED, 1);
	KUNIT_ASSERT_EQ(test, state_of(test, 0), RDS_PATH_CONNECTING);
	KUNIT_EXPECT_EQ(test, rds_path_wins_duel(rig_path(test)),
			row->peer == RIG_FADDR);
	fake->connect_later = false;

	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	if (!row->beats) {
		KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_CONNECTING);
		KUNIT_EXPECT_FALSE(test, is_taken(test, 0));
		rds_path_drop(rig_path(test), RDS_DROP_CONNECT_FAILED);
	}
	rig_await(test, FAKE_MAPPED, 1);
	expect_taken(test, 1, 0, offers);
	KUNIT_EXPECT_FALSE(test, rds_path_wins_duel(rig_path(test)));
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_drop_reason,
			row->beats ? RDS_DROP_RACED : RDS_DROP_CONNECT_FAILED);
}

static void no_offers_after_unregister(struct kunit *test)
{
	struct rds_conn_request peer = { .laddr = fake_laddr };

	fake_unregister(rig_fake(test));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN,
			rds_path_accept(&init_net, &rig_fake(test)->trans,
					&peer, offers));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN,
			rds_path_knock(&init_net, &rig_fake(test)->trans,
				       &peer));
	rig_expect_ops(test, "");
}

static void unregister_while_up(struct kunit *test)
{
	in_use(test);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	fake_forget(rig_fake(test));
	fake_unregister(rig_fake(test));
	rig_expect_done(test, "sf");
	KUNIT_EXPECT_TRUE(test, fake_nth(rig_fake(test), FAKE_SHUTDOWN,
					 0)->abort);
}

/* From here on the peer has the higher address, and this end dials. */
static void knock_is_answered_by_a_call(struct kunit *test)
{
	rig_of(test)->peer = RIG_FADDR;
	rig_fake(test)->peer_dials = false;
	KUNIT_EXPECT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	expect_taken(test, 0, 0, NULL);
	KUNIT_EXPECT_FALSE(test, is_taken(test, 0));
}

static void knock_does_not_wait_for_the_back_off(struct kunit *test)
{
	rig_of(test)->peer = RIG_FADDR;
	rig_fake(test)->peer_dials = false;
	rig_sysctl()->reconnect_max_ms = 1000 * 1000;
	rig_sysctl()->reconnect_min_ms = 1000 * 1000;
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	in_use(test);
	rig_await(test, FAKE_CONNECT, 2);
	fake_fail(&rig_fake(test)->connect, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, rig_knock(test));
	KUNIT_EXPECT_EQ(test, state_of(test, 0), RDS_PATH_UP);
}

static void knock_at_an_open_door(struct kunit *test)
{
	rig_of(test)->peer = RIG_FADDR;
	rig_fake(test)->peer_dials = false;
	KUNIT_ASSERT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_reply(test, 0, 1, &ours_1);
	fake_forget(rig_fake(test));
	KUNIT_EXPECT_EQ(test, 1, rig_knock(test));
	rig_expect_said(test, 0, "0p");
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 0U);
}

/* A peer that has knocked has messages to send, and must not dial itself. */
static void caller_is_called_again(struct kunit *test)
{
	rig_of(test)->peer = RIG_FADDR;
	rig_fake(test)->peer_dials = false;
	KUNIT_ASSERT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_MAPPED, 2);

	/* The peer is not dialed forever after its last knock. */
	WRITE_ONCE(rig_conn(test)->c_called_at, jiffies - 3600 * HZ);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
}

/* The other paths are to be dialed when path 0 is UP. That must not keep a
 * connection whose path 0 is not dialed any more.
 */
static void caller_s_paths_go_with_it(struct kunit *test)
{
	unsigned int i;

	rig_of(test)->peer = RIG_FADDR;
	rig_fake(test)->peer_dials = false;
	KUNIT_ASSERT_EQ(test, 0, rig_knock(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 8);

	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	for (i = 8; i--;)
		rds_path_drop(&rig_nth_cpath(test, i)->cp_pub,
			      RDS_DROP_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
}

static void nobody_uses_who_knocked(struct kunit *test)
{
	rig_of(test)->peer = RIG_FADDR;
	rig_fake(test)->peer_dials = false;
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	KUNIT_EXPECT_EQ(test, 0, rig_knock(test));
	KUNIT_EXPECT_TRUE(test, paths_become(test, 0));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
}

static u32 stranger_address(unsigned int n)
{
	return 0xc0000100 - 1 - n;
}

static int unused(struct kunit *test, unsigned int n)
{
	rig_of(test)->peer = stranger_address(n);
	return rig_offer_only(test, 0, offers);
}

static bool is_known(struct kunit *test, unsigned int n)
{
	struct rds_net *rn = rds_net(&init_net);
	struct rds_conn *conn;
	bool found = false;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item)
		found |= conn->c_key.faddr.s6_addr32[3] ==
			 htonl(stranger_address(n));
	mutex_unlock(&rn->rn_lock);
	return found;
}

/* Unused connections stay connected up to a limit. Beyond it, a new one takes
 * the place of the oldest one.
 */
static void strangers_are_bounded(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < UNUSED_MAX; i++)
		KUNIT_ASSERT_EQ(test, 0, unused(test, i));
	KUNIT_EXPECT_EQ(test, live_paths(test), UNUSED_MAX);
	for (; i < UNUSED_MAX + 5; i++)
		KUNIT_EXPECT_EQ(test, 0, unused(test, i));

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
static void stranger_is_bounded(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, unused(test, 1));
	for (i = 1; i <= UNUSED_OF_PEER; i++) {
		rig_of(test)->tos = i;
		KUNIT_ASSERT_EQ(test, 0, unused(test, 0));
	}
	KUNIT_EXPECT_EQ(test, live_paths(test), UNUSED_OF_PEER + 1);
	for (; i <= UNUSED_OF_PEER + 5; i++) {
		rig_of(test)->tos = i;
		KUNIT_EXPECT_EQ(test, 0, unused(test, 0));
	}

	KUNIT_EXPECT_TRUE(test, paths_become(test, UNUSED_OF_PEER + 1));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_FREE), 5U);
	KUNIT_EXPECT_TRUE(test, is_known(test, 1));
	for (i = 1; i <= 5; i++)
		KUNIT_EXPECT_FALSE(test, has_tos(test, i));
	for (; i <= UNUSED_OF_PEER + 5; i++)
		KUNIT_EXPECT_TRUE(test, has_tos(test, i));
}

static struct kunit_case accept_cases[] = {
	KUNIT_CASE(offer_makes_the_connection),
	KUNIT_CASE(unused_connection_goes),
	KUNIT_CASE(unused_paths_go_with_it),
	KUNIT_CASE(delivery_is_use),
	KUNIT_CASE(sending_is_use),
	KUNIT_CASE(refused_offer_leaves_nothing),
	KUNIT_CASE(failed_attempt_leaves_nothing),
	KUNIT_CASE(offer_does_not_wait_for_the_back_off),
	KUNIT_CASE(offer_beats_our_attempt),
	KUNIT_CASE(offer_waits_while_up),
	KUNIT_CASE(offer_beside_one_that_is_alive),
	KUNIT_CASE(offer_beside_one_just_taken),
	KUNIT_CASE(second_waits_for_the_greeting),
	KUNIT_CASE(second_waits_for_what_follows),
	KUNIT_CASE(path_of_another_name_is_dropped),
	KUNIT_CASE(path_that_will_not_be_is_refused),
	KUNIT_CASE(shutdown_lets_others_ask_again),
	KUNIT_CASE(old_peer_comes_back_by_its_path),
	KUNIT_CASE(offer_in_the_jiffy_of_the_greeting),
	KUNIT_CASE(old_peer_s_paths_in_turn),
	KUNIT_CASE(offer_alone_while_up),
	KUNIT_CASE(offer_alone_while_shutting_down),
	KUNIT_CASE(offer_alone_taken_back),
	KUNIT_CASE(offer_alone_taken_back_in_use),
	KUNIT_CASE(dialed_alone_beside_an_offer),
	KUNIT_CASE(dialed_alone_too_late),
	KUNIT_CASE(dialed_alone_since_it_asked),
	KUNIT_CASE(offer_to_oneself),
	KUNIT_CASE_PARAM(offer_alone_in_a_duel, duels_gen_params),
	KUNIT_CASE(no_offers_after_unregister),
	KUNIT_CASE(unregister_while_up),
	KUNIT_CASE(knock_is_answered_by_a_call),
	KUNIT_CASE(knock_does_not_wait_for_the_back_off),
	KUNIT_CASE(knock_at_an_open_door),
	KUNIT_CASE(caller_is_called_again),
	KUNIT_CASE(caller_s_paths_go_with_it),
	KUNIT_CASE(nobody_uses_who_knocked),
	KUNIT_CASE(strangers_are_bounded),
	KUNIT_CASE(stranger_is_bounded),
	{}
};

static struct kunit_suite accept_suite = {
	.name		= "rds_accept",
	.init		= accept_init,
	.exit		= rig_exit,
	.test_cases	= accept_cases,
};

kunit_test_suite(accept_suite);
