// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the gate, net/rds/core/gate.c: when a path that is UP may carry
 * messages. Time alone opens no gate unless a test permits it
 * (rig_init_paths()).
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <net/rds/upper.h>

#include "../core/conn.h"
#include "../core/gate.h"
#include "rig_peer.h"

static const struct rig_peer ours = { RIG_OURS, 1, 77, 5 };
static const struct rig_peer new = { RIG_NEW, 1, 77, 0 };
static const struct rig_peer new_restarted = { RIG_NEW, 1, 78, 0 };
static const struct rig_peer old = { RIG_OLD, 1, 0, 0 };

static char offer;

/* Dial the path and bring it UP, with one message waiting to be sent. */
static struct socket *up_and_waiting(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_send(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	return sock;
}

/* After up_and_waiting() the peer sends its handshake frame, unless @peer is
 * NULL. Then the connection is lost and the next one comes UP, so the message
 * must be retransmitted.
 */
static struct socket *up_again(struct kunit *test, const struct rig_peer *peer)
{
	struct socket *sock = up_and_waiting(test);

	rig_map_from(test, 0);
	if (peer)
		rig_reply(test, 0, 1, peer);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "M 1p 2");
	rds_path_ack(rig_path(test), 1);

	fake_forget(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	return sock;
}

static void data_from_peer(struct kunit *test, u64 seq)
{
	rig_deliver(test, seq, RIG_PEER_PORT, RIG_PORT + 9, 5, 0);
	fake_settle(rig_fake(test));
}

static void map_from_peer(struct kunit *test)
{
	rig_map_from(test, 0);
	fake_settle(rig_fake(test));
}

/* A stock acceptor may still reset a connection after it has acknowledged data.
 * So a probe goes first: if it is lost, another one follows.
 */
static void dialer_waits_for_map(struct kunit *test)
{
	up_and_waiting(test);
	rig_expect_said(test, 0, "M 1p");
	map_from_peer(test);
	rig_expect_said(test, 0, "M 1p 2");
}

static void dialer_waits_for_data(struct kunit *test)
{
	up_and_waiting(test);
	data_from_peer(test, 1);
	rig_expect_said(test, 0, "M 1p 2");
}

static void open_gate_stays_open(struct kunit *test)
{
	struct socket *sock = up_and_waiting(test);

	map_from_peer(test);
	rig_send(test, sock, 1);
	rig_send(test, sock, 1);
	rig_expect_said(test, 0, "M 1p 2 3 4");
}

/* Have the work item of the path stop in the middle of rds_mp_apply(): it has
 * taken the frame, and waits for cp_lock, which is held on return. Returns
 * false if it does not get that far: the scheduler may have chosen this
 * processor for it, which it does not get while the lock is held.
 */
static bool stop_in_apply(struct kunit *test, struct rds_cpath *cp)
	__acquires(&cp->cp_lock)
{
	unsigned int left = 40000;

	mutex_lock(&cp->cp_conn->c_mp_lock);
	rig_probe_only(test, 0, 1, &ours);
	spin_lock_bh(&cp->cp_lock);
	mutex_unlock(&cp->cp_conn->c_mp_lock);
	while (test_bit(RDS_PF_HANDSHAKE, &cp->cp_flags) && --left)
		udelay(5);
	return left;
}

/* Try this on several connections. The next one is as the first: the path does
 * not know yet where it leads.
 */
static bool stop_in_apply_once(struct kunit *test, struct rds_cpath *cp)
	__acquires(&cp->cp_lock)
{
	unsigned int tries = 50;

	while (!stop_in_apply(test, cp) && --tries) {
		spin_unlock_bh(&cp->cp_lock);
		fake_settle(rig_fake(test));
		fake_forget(rig_fake(test));
		rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
		rig_await(test, FAKE_MAPPED, 1);
		fake_settle(rig_fake(test));
	}
	return tries;
}

/* A sender that looks at the gate while the work item is acting on the first
 * frame of an unknown peer must not find it open: the peer counts as known only
 * afterwards.
 */
static void gate_is_shut_while_a_frame_is_acted_on(struct kunit *test)
{
	bool stopped, locked, shut = false;
	struct rds_cpath *cp;

	if (num_online_cpus() < 2)
		kunit_skip(test, "the work item needs a processor of its own");
	up_and_waiting(test);
	/* The run that has brought the path UP must not wait for cp_lock. */
	fake_settle(rig_fake(test));
	cp = rig_nth_cpath(test, 0);
	stopped = stop_in_apply_once(test, cp);
	locked = mutex_trylock(&cp->cp_xmit_lock);
	if (locked) {
		rds_gate_update(cp);
		shut = cp->cp_gate.pg_shut;
		mutex_unlock(&cp->cp_xmit_lock);
	}
	spin_unlock_bh(&cp->cp_lock);
	KUNIT_EXPECT_TRUE(test, stopped);
	KUNIT_EXPECT_TRUE(test, locked);
	KUNIT_EXPECT_TRUE(test, shut);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(cp->cp_gate.pg_shut));
}

/* Pretend that the time limits of the gate have passed. */
static void time_passes(struct kunit *test)
{
	struct rds_cpath *cp = rig_nth_cpath(test, 0);

	WRITE_ONCE(cp->cp_gate.pg_opens_at, jiffies);
	WRITE_ONCE(cp->cp_gate.pg_silent_until, jiffies);
	rds_path_kick(&cp->cp_pub, RDS_KICK_SEND);
	fake_settle(rig_fake(test));
}

/* The peer may not know of the connection whose data its TCP acknowledges. */
static void silent_peer_is_redialed(struct kunit *test)
{
	struct rds_cpath *cp;

	up_and_waiting(test);
	cp = rig_nth_cpath(test, 0);
	time_passes(test);
	rig_await(test, FAKE_MAPPED, 2);
	rig_await(test, FAKE_SENT, 2);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "M 1p M 1pr");
	KUNIT_EXPECT_EQ(test, cp->cp_dial.pd_drop_reason, RDS_DROP_SILENT);

	/* Each silent connection gives the peer more time, until data comes. */
	KUNIT_EXPECT_EQ(test, cp->cp_gate.pg_unheard, 1);
	time_passes(test);
	rig_await(test, FAKE_MAPPED, 3);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, cp->cp_gate.pg_unheard, 2);
	rig_probe(test, 0, 1, &old);
	KUNIT_EXPECT_EQ(test, cp->cp_gate.pg_unheard, 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(rig_said(test, 0), "2"));
}

static atomic_t failures;

static void count_failures(struct rds_conn *conn, enum rds_upper_event event,
			   int err)
{
	if (event == RDS_UPPER_FAILED)
		atomic_inc(&failures);
}

static const struct rds_upper counting = { .event = count_failures };

/* The peer of a silent connection may only be slow, so connect() on a stream
 * waits for it, and for one whose connection ends for any other reason. It does
 * not wait for a peer that does not answer at all.
 */
static void silence_is_no_failure(struct kunit *test)
{
	up_and_waiting(test);
	KUNIT_ASSERT_EQ(test, rds_upper_register(&counting), 0);
	atomic_set(&failures, 0);
	WRITE_ONCE(rig_nth_cpath(test, 0)->cp_conn->c_upper, true);
	time_passes(test);
	rig_await(test, FAKE_MAPPED, 2);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, atomic_read(&failures), 0);
	rig_fake(test)->connect_later = true;
	rds_path_drop(rig_path(test), RDS_DROP_TIMEOUT);
	rig_await(test, FAKE_CONNECTED, 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&failures), 0);
	rds_path_drop(rig_path(test), RDS_DROP_TIMEOUT);
	rig_await(test, FAKE_SHUTDOWN, 3);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, atomic_read(&failures), 1);
	rds_upper_unregister(&counting);
}

/* The same happens when real time passes. */
static void silence_has_an_end(struct kunit *test)
{
	rig_fake(test)->hold_gate = false;
	up_and_waiting(test);
	rig_await(test, FAKE_MAPPED, 2);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_NULL(test, strstr(rig_said(test, 0), "2"));
}

static void acceptor_does_not_wait(struct kunit *test)
{
	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	rig_send(test, rig_socket(test, RIG_PORT), 1);
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, &offer));
	rig_expect_said(test, 0, "M 1p 2");
}

static void ours_repeats_handshake(struct kunit *test)
{
	up_again(test, &ours);
	rig_expect_said(test, 0, "M 0p");
	map_from_peer(test);
	rig_expect_said(test, 0, "M 0p");
	rig_probe(test, 0, 0, &ours);
	rig_expect_said(test, 0, "M 0p 0y 2r");
}

static void reply_of_ours_is_enough(struct kunit *test)
{
	up_again(test, &ours);
	rig_reply(test, 0, 0, &ours);
	rig_expect_said(test, 0, "M 0p 2r");
}

static void each_connection_has_handshake(struct kunit *test)
{
	up_again(test, &ours);
	rig_probe(test, 0, 0, &ours);
	fake_forget(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_said(test, 0, "M 0p");
	rig_probe(test, 0, 0, &ours);
	rig_expect_said(test, 0, "M 0p 0y 2r");
}

static void ours_may_be_late(struct kunit *test)
{
	up_again(test, &ours);
	map_from_peer(test);
	time_passes(test);
	rig_expect_said(test, 0, "M 0p");
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 1U);
	rig_probe(test, 0, 0, &ours);
	rig_expect_said(test, 0, "M 0p 0y 2r");
}

static void ours_that_is_silent(struct kunit *test)
{
	up_again(test, &ours);
	time_passes(test);
	rig_await(test, FAKE_MAPPED, 2);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "M 0p M 0p");
}

/* A peer of kind RIG_NEW sends numbered handshake frames, and so do we: a probe
 * follows the retransmitted message. A probe with an old sequence number goes
 * first. If the peer remembers us, it already has that number.
 */
static void new_repeats_handshake(struct kunit *test)
{
	up_again(test, &new);
	map_from_peer(test);
	rig_expect_said(test, 0, "M 1pr");
	rig_probe(test, 0, 2, &new);
	rig_expect_said(test, 0, "M 1pr 2r 3p 4y");
}

/* Messages that wait do not hold back the probe that asks for the identity of
 * the peer.
 */
static void new_restarted_is_flushed(struct kunit *test)
{
	up_again(test, &new);
	rig_expect_said(test, 0, "M 1pr");
	rig_reply(test, 0, 1, &new_restarted);
	rig_expect_said(test, 0, "M 1pr");
	rig_send(test, rig_socket(test, RIG_PORT + 1), 1);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "M 1pr 3");
}

static void new_without_handshake(struct kunit *test)
{
	up_again(test, &new);
	map_from_peer(test);
	rig_expect_said(test, 0, "M 1pr");
	time_passes(test);
	rig_await(test, FAKE_SENT, 3);
	rig_expect_said(test, 0, "M 1pr 2r 3p");
}

/* A peer of kind RIG_OLD announces nothing that tells it from a former
 * incarnation.
 */
static void old_without_handshake(struct kunit *test)
{
	up_again(test, &old);
	rig_expect_said(test, 0, "M");
	map_from_peer(test);
	rig_expect_said(test, 0, "M 2r 3p");
}

/* An unknown peer may be of any kind, so its handshake frame has to arrive. */
static void unknown_needs_handshake(struct kunit *test)
{
	up_again(test, NULL);
	map_from_peer(test);
	KUNIT_EXPECT_NULL(test, strstr(rig_said(test, 0), "2r"));
	rig_probe(test, 0, 1, &ours);
	KUNIT_EXPECT_NOT_NULL(test, strstr(rig_said(test, 0), "2r"));
}

/* If each end waited for the handshake frame of the other, neither would send
 * one.
 */
static void probe_does_not_wait_for_unknown(struct kunit *test)
{
	rig_fake(test)->connect_later = true;
	rig_send(test, rig_socket(test, RIG_PORT), 1);
	rig_await(test, FAKE_CONNECTED, 1);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 2);
	fake_forget(rig_fake(test));
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 1);
	rig_expect_said(test, 0, "M 1pr");
	rig_probe(test, 0, 1, &ours);
	rig_expect_said(test, 0, "M 1pr 2 3p 4y");
}

/* The congestion map passes the gate: the peer must learn at once whether it
 * may send.
 */
static void map_passes(struct kunit *test)
{
	struct socket *sock = up_again(test, &ours);
	unsigned int i;

	rig_set_bufs(sock, 100);
	for (i = 1; i <= 3; i++)
		rig_deliver(test, 10 + i, RIG_PEER_PORT, RIG_PORT, 50, 0);
	rig_await(test, FAKE_MAPPED, 2);
	rig_expect_said(test, 0, "M 0p M");
	KUNIT_EXPECT_TRUE(test, rig_fake(test)->last_map[RIG_PORT / 8] &
				1 << RIG_PORT % 8);
}

static void pong_waits_as_messages_do(struct kunit *test)
{
	const struct fake_call *call;

	up_again(test, &ours);
	rig_deliver(test, 7, 4321, RDS_PORT_PING, 0, 0);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "M 0p");
	rig_probe(test, 0, 0, &ours);
	rig_expect_said(test, 0, "M 0p 0y 2r 3");
	call = fake_nth(rig_fake(test), FAKE_SENT, 3);
	KUNIT_EXPECT_EQ(test, call->dport, 4321);
}

/* Loopback and other transports without a handshake have no gate. */
static void no_gate_without_paths(struct kunit *test)
{
	rig_fake(test)->trans.caps = 0;
	up_and_waiting(test);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_said(test, 0, "M 1");
}

static struct kunit_case gate_cases[] = {
	KUNIT_CASE(dialer_waits_for_map),
	KUNIT_CASE(dialer_waits_for_data),
	KUNIT_CASE(open_gate_stays_open),
	KUNIT_CASE(gate_is_shut_while_a_frame_is_acted_on),
	KUNIT_CASE(silent_peer_is_redialed),
	KUNIT_CASE(silence_is_no_failure),
	KUNIT_CASE(silence_has_an_end),
	KUNIT_CASE(acceptor_does_not_wait),
	KUNIT_CASE(ours_repeats_handshake),
	KUNIT_CASE(reply_of_ours_is_enough),
	KUNIT_CASE(each_connection_has_handshake),
	KUNIT_CASE(ours_may_be_late),
	KUNIT_CASE(ours_that_is_silent),
	KUNIT_CASE(new_repeats_handshake),
	KUNIT_CASE(new_restarted_is_flushed),
	KUNIT_CASE(new_without_handshake),
	KUNIT_CASE(old_without_handshake),
	KUNIT_CASE(unknown_needs_handshake),
	KUNIT_CASE(probe_does_not_wait_for_unknown),
	KUNIT_CASE(map_passes),
	KUNIT_CASE(pong_waits_as_messages_do),
	KUNIT_CASE(no_gate_without_paths),
	{}
};

static struct kunit_suite gate_suite = {
	.name		= "rds_gate",
	.init		= rig_init_one_path,
	.exit		= rig_exit,
	.test_cases	= gate_cases,
};

kunit_test_suite(gate_suite);
