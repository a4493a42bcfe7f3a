// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the lifetime and the number of connections, net/rds/core/conn*.c. */
#include <linux/cred.h>
#include <net/ipv6.h>

#include "../core/conn_idle.h"
#include "../core/conn_reap.h"
#include "../core/sw_admit.h"
#include "rig_peer.h"

#define OTHER_PEER	0xc0000203	/* 192.0.2.3 */

static const struct in6_addr faddr = {
	.s6_addr = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
};

static unsigned int conns(void)
{
	struct rds_net *rn = rds_net(&init_net);
	unsigned int nr;

	mutex_lock(&rn->rn_lock);
	nr = rn->rn_nr_conns;
	mutex_unlock(&rn->rn_lock);
	return nr;
}

static void redial_fast(void)
{
	rig_sysctl()->reconnect_min_ms = 1;
	rig_sysctl()->reconnect_max_ms = 8;
}

/* The peer cannot be reached, and the socket that wanted to send is closed. */
static void expect_abandoned_one_to_go(struct kunit *test, unsigned int caps)
{
	struct socket *sock;

	rig_fake(test)->trans.caps = caps;
	sock = rig_socket(test, RIG_PORT);
	redial_fast();
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 3);
	KUNIT_EXPECT_EQ(test, conns(), 1U);

	rig_close(test, sock);
	rig_await(test, FAKE_FREE, 1);
	KUNIT_EXPECT_EQ(test, conns(), 0U);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 0);
}

static void abandoned_goes(struct kunit *test)
{
	expect_abandoned_one_to_go(test, 0);
}

/* A probe of core waits on the path, but does not keep the connection. */
static void abandoned_with_paths_goes(struct kunit *test)
{
	expect_abandoned_one_to_go(test,
				   RDS_CAP_LOWER_DIALS | RDS_CAP_HANDSHAKE |
				     RDS_CAP_MULTIPATH);
}

/* An abandoned connection that this end does not dial is destroyed, too. */
static void abandoned_that_peer_dials_goes(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_fake(test)->peer_dials = true;
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 1);
	rig_close(test, sock);
	rig_await(test, FAKE_FREE, 1);
	KUNIT_EXPECT_EQ(test, conns(), 0U);
}

/* As long as a message waits, or a socket that has sent one is open, the path
 * is dialed.
 */
static void wanted_is_dialed_forever(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	redial_fast();
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 20);
	KUNIT_EXPECT_EQ(test, rig_setsockopt(sock, RDS_CANCEL_SENT_TO, NULL, 0),
			0);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	rig_await(test, FAKE_CONNECT, 40);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_FREE), 0U);

	rig_send(test, sock, 1);
	fake_fail(&rig_fake(test)->connect, 0, 0);
	rig_await(test, FAKE_SENT, 1);
}

/* A connection that was UP keeps the next sequence number of the peer, so it
 * stays.
 */
static void was_up_stays(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rds_net *rn = rds_net(&init_net);

	redial_fast();
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	rig_close(test, sock);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECT, 3);
	rds_conn_reap_later(rn);
	flush_delayed_work(&rn->rn_reap);
	KUNIT_EXPECT_EQ(test, conns(), 1U);
	rig_await(test, FAKE_CONNECT, 6);
}

static void peer_is_forgotten(struct kunit *test)
{
	struct rds_net *rn = rds_net(&init_net);
	struct socket *sock;
	u32 gen;

	sock = rig_up(test);
	gen = rig_conn(test)->c_gen;
	rig_deliver(test, 1, RIG_PEER_PORT, RIG_PORT, 10, 0);
	KUNIT_EXPECT_EQ(test, rds_conn_forget(rn, &fake_laddr), 0U);
	KUNIT_EXPECT_EQ(test, conns(), 1U);
	rig_send(test, sock, 1);
	KUNIT_EXPECT_EQ(test, rds_conn_forget(rn, &faddr), 1U);
	KUNIT_EXPECT_EQ(test, conns(), 0U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 0);

	/* Both ends start over. */
	fake_forget(rig_fake(test));
	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_sent(test, "1a");
	KUNIT_EXPECT_NE(test, rig_conn(test)->c_gen, gen);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig_path(test)->next_rx_seq), 1LL);
}

static void namespace_has_a_limit(struct kunit *test)
{
	u64 before = rig_stat(conn_refused_net);
	struct socket *sock = rig_up(test);

	rig_sysctl()->max_conns = 1;
	rig_of(test)->peer = OTHER_PEER;
	KUNIT_EXPECT_EQ(test, rig_try_send(test, sock, RIG_PEER_PORT, 1, 0),
			-EUSERS);
	KUNIT_EXPECT_EQ(test, rig_stat(conn_refused_net), before + 1);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);

	/* An existing connection still works. */
	rig_of(test)->peer = RIG_FADDR;
	rig_send(test, sock, 1);
	rig_sysctl()->max_conns = 2;
	rig_of(test)->peer = OTHER_PEER;
	rig_send(test, sock, 1);
	KUNIT_EXPECT_EQ(test, conns(), 2U);
}

/* Peers may use three quarters of the limit. */
static void peers_leave_room_for_users(struct kunit *test)
{
	u64 before = rig_stat(conn_refused_net);
	static int offers[4];
	struct socket *sock;
	unsigned int i;

	rig_fake(test)->trans.caps = RDS_CAP_LOWER_DIALS | RDS_CAP_HANDSHAKE |
				     RDS_CAP_MULTIPATH;
	rig_sysctl()->max_conns = 4;
	sock = rig_socket(test, RIG_PORT);
	for (i = 0; i < 3; i++) {
		rig_of(test)->peer = RIG_LOWER + i;
		KUNIT_EXPECT_EQ(test, rig_offer(test, 0, &offers[i]), 0);
	}
	rig_of(test)->peer = OTHER_PEER;
	rig_send(test, sock, 1);
	KUNIT_EXPECT_EQ(test, conns(), 4U);

	rig_of(test)->peer = RIG_LOWER + 3;
	KUNIT_EXPECT_EQ(test, rig_offer(test, 0, &offers[3]), -EAGAIN);
	KUNIT_EXPECT_EQ(test, rig_stat(conn_refused_net), before + 1);
	/* The oldest unused connection makes room. */
	rig_await(test, FAKE_FREE, 1);
	KUNIT_EXPECT_EQ(test, conns(), 3U);
}

/* Hold the paths of three connections. */
static void hold_connections(struct rds_path *held[3])
{
	struct rds_net *rn = rds_net(&init_net);
	struct rds_conn *conn;
	unsigned int i = 0;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (i == 3)
			break;
		rds_conn_hold(conn);
		held[i++] = &conn->c_path.cp_pub;
	}
	mutex_unlock(&rn->rn_lock);
}

/* Fill what peers may use with three idle loopback connections, and have a peer
 * ask for one more. The paths of the connections are held if @held is not NULL.
 */
static void refuse_a_peer(struct kunit *test, int *offer,
			  struct rds_path *held[3])
{
	struct socket *sock;
	unsigned int i;

	rig_fake(test)->trans.caps = RDS_CAP_LOOPBACK;
	rig_sysctl()->max_conns = 4;
	sock = rig_socket(test, RIG_PORT);
	for (i = 0; i < 3; i++) {
		rig_of(test)->peer = OTHER_PEER + i;
		rig_send(test, sock, 1);
		fake_settle(rig_fake(test));
		rds_path_ack(rig_path(test), 1);
	}
	rig_close(test, sock);
	KUNIT_ASSERT_EQ(test, conns(), 3U);
	if (held)
		hold_connections(held);

	rig_fake(test)->trans.caps = RDS_CAP_LOWER_DIALS | RDS_CAP_HANDSHAKE |
				     RDS_CAP_MULTIPATH;
	rig_of(test)->peer = RIG_LOWER;
	KUNIT_EXPECT_EQ(test, rig_offer(test, 0, offer), -EAGAIN);
}

/* The peer is told when there is room. It is also told when a path is down,
 * which may be before.
 */
static void expect_peer_to_be_told(struct kunit *test, int *offer)
{
	atomic_t *calls = &rig_fake(test)->again_empty;

	wait_event_timeout(rig_fake(test)->wait, atomic_read(calls), 5 * HZ);
	KUNIT_EXPECT_GT(test, atomic_read(calls), 0);
	KUNIT_EXPECT_EQ(test, conns(), 0U);
	KUNIT_EXPECT_EQ(test, rig_offer(test, 0, offer), 0);
}

static void idle_loopback_makes_room_for_peers(struct kunit *test)
{
	static int offer;

	refuse_a_peer(test, &offer, NULL);
	expect_peer_to_be_told(test, &offer);
}

/* The reaper finds no connection that is idle when the peer asks. */
static void loopback_makes_room_when_it_is_idle(struct kunit *test)
{
	struct rds_path *held[3];
	static int offer;
	unsigned int i;

	refuse_a_peer(test, &offer, held);
	flush_delayed_work(&rds_net(&init_net)->rn_reap);
	KUNIT_EXPECT_EQ(test, conns(), 3U);
	for (i = 0; i < ARRAY_SIZE(held); i++)
		rds_path_put(held[i]);
	expect_peer_to_be_told(test, &offer);
}

/* A user without CAP_NET_ADMIN over the namespace has a limit as well. */
static void user_has_a_limit(struct kunit *test)
{
	u64 before = rig_stat(conn_refused_user);
	struct socket *sock = rig_up(test);
	const struct cred *saved;
	struct cred *cred;

	cred = prepare_creds();
	KUNIT_ASSERT_NOT_NULL(test, cred);
	rig_sysctl()->max_conns_per_user = 1;
	rig_of(test)->peer = OTHER_PEER;
	cap_clear(cred->cap_effective);
	saved = override_creds(cred);
	KUNIT_EXPECT_EQ(test, rig_try_send(test, sock, RIG_PEER_PORT, 1, 0),
			-EDQUOT);
	revert_creds(saved);
	put_cred(cred);
	KUNIT_EXPECT_EQ(test, rig_stat(conn_refused_user), before + 1);
	KUNIT_EXPECT_EQ(test, conns(), 1U);

	rig_send(test, sock, 1);
	KUNIT_EXPECT_EQ(test, conns(), 2U);
}

/* A reference to a connection may be held after its transport is gone. The
 * memory of the transport may be in other use by then, so core must not read
 * it.
 */
static void transport_may_be_gone(struct kunit *test)
{
	static const struct rds_rdma_ops others;
	struct fake *fake = rig_fake(test);
	struct rds_path *path;
	struct rds_conn *conn;
	long timeo = 0;

	fake->trans.caps = RDS_CAP_LOOPBACK;
	rig_up(test);
	path = rig_path(test);
	conn = rig_conn(test);
	rds_conn_hold(conn);
	fake_unregister(fake);
	fake->trans.caps = 0;
	fake->trans.rdma = &others;
	KUNIT_EXPECT_EQ(test, rds_sw_admit(conn, &timeo), 0);
	rds_path_put(path);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(abandoned_goes),
	KUNIT_CASE(abandoned_with_paths_goes),
	KUNIT_CASE(abandoned_that_peer_dials_goes),
	KUNIT_CASE(wanted_is_dialed_forever),
	KUNIT_CASE(was_up_stays),
	KUNIT_CASE(peer_is_forgotten),
	KUNIT_CASE(namespace_has_a_limit),
	KUNIT_CASE(peers_leave_room_for_users),
	KUNIT_CASE(idle_loopback_makes_room_for_peers),
	KUNIT_CASE(loopback_makes_room_when_it_is_idle),
	KUNIT_CASE(user_has_a_limit),
	KUNIT_CASE(transport_may_be_gone),
	{}
};

static struct kunit_suite conn_suite = {
	.name		= "rds_conn",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= conn_cases,
};

kunit_test_suite(conn_suite);
