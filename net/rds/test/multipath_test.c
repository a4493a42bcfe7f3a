// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the paths of a connection, net/rds/core/multipath.c: the handshake,
 * more paths, the barrier, and peers that restart.
 */
#include <linux/completion.h>
#include <linux/delay.h>

#include "../core/cong.h"
#include "../core/multipath.h"
#include "rig_peer.h"

/* Peers. The first one has not recognized our implementation yet, and offers
 * one path.
 */
static const struct rig_peer ours_1 = { RIG_OURS, 1, 77, 5 };
static const struct rig_peer ours_8 = { RIG_OURS, 8, 77, 5 };
static const struct rig_peer ours_uses_8 = { RIG_OURS, 8, 77, 5, true };
static const struct rig_peer reborn = { RIG_OURS, 1, 78, 6 };
static const struct rig_peer reborn_8 = { RIG_OURS, 8, 78, 6 };
static const struct rig_peer forgetful = { RIG_OURS, 1, 77, 6 };
static const struct rig_peer new_1 = { RIG_NEW, 1, 79, 0 };
static const struct rig_peer new_8 = { RIG_NEW, 8, 79, 0 };
static const struct rig_peer new_8_reborn = { RIG_NEW, 8, 80, 0 };
static const struct rig_peer old_8 = { RIG_OLD, 8, 0, 0 };
static const struct rig_peer old_1 = { RIG_OLD, 1, 0, 0 };

static char offers[RDS_MAX_PATHS];

/* Offer a connection, and retry as long as core returns -EAGAIN. */
static int offer_at_last(struct kunit *test, u8 named)
{
	unsigned int tries;
	int ret;

	for (tries = 0; tries < 500; tries++) {
		ret = rig_offer(test, named, offers + named);
		if (ret != -EAGAIN)
			break;
		msleep(20);
	}
	return ret;
}

/* As rig_dialled(), but the peer has dialed, and its port names path @named. */
static struct socket *accepted(struct kunit *test, u8 named)
{
	struct socket *sock;

	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	sock = rig_socket(test, RIG_PORT);
	rig_send(test, sock, 1);
	KUNIT_ASSERT_EQ(test, 0, offer_at_last(test, named));
	rig_await(test, FAKE_SENT, 2);
	rig_expect_said(test, 0, "M 1p 2");
	rds_path_ack(rig_path(test), 2);
	fake_forget(rig_fake(test));
	return sock;
}

static void expect_hello_use(struct kunit *test, unsigned int n, u16 npaths,
			     bool in_use)
{
	const struct fake_call *call = fake_nth(rig_fake(test), FAKE_SENT, n);
	struct rds_handshake hs;

	KUNIT_ASSERT_NOT_NULL(test, call);
	rds_handshake_read(call->exthdr, &hs);
	KUNIT_EXPECT_EQ(test, hs.npaths, npaths);
	KUNIT_EXPECT_EQ(test, hs.in_use, in_use);
	KUNIT_EXPECT_TRUE(test, hs.names_paths);
	KUNIT_EXPECT_TRUE(test, hs.ours);
	KUNIT_EXPECT_EQ(test, (u32)(hs.id >> 32),
			rds_net(&init_net)->rn_gen);
}

static void expect_hello(struct kunit *test, unsigned int n, u16 npaths)
{
	expect_hello_use(test, n, npaths, false);
}

static unsigned int npaths(struct kunit *test)
{
	return rig_conn(test)->c_npaths;
}

/* Return a port of the peer for which messages from @sport take path @index. */
static u16 port_of_path(struct kunit *test, u16 sport, unsigned int index)
{
	const struct rds_cpath *want = rig_nth_cpath(test, index);
	u16 port;

	for (port = RIG_PEER_PORT; port < RIG_PEER_PORT + 1000; port++) {
		if (rds_mp_pick(rig_conn(test), htons(sport),
				htons(port)) == want)
			return port;
	}
	KUNIT_ASSERT_TRUE_MSG(test, false, "no port takes path %u", index);
	return 0;
}

static void send_by(struct kunit *test, struct socket *sock, unsigned int index)
{
	u16 port = port_of_path(test, RIG_PORT, index);

	KUNIT_ASSERT_EQ(test, 5, rig_try_send(test, sock, port, 5,
					      MSG_DONTWAIT));
	fake_settle(rig_fake(test));
}

/* The peer's handshake frame arrives on each path that is UP. All paths but the
 * one with the barrier still wait for the barrier.
 */
static void greet_paths(struct kunit *test, const struct rig_peer *peer)
{
	unsigned int i;

	for (i = 0; i < npaths(test); i++) {
		if (rds_cpath_state(rig_nth_cpath(test, i)) == RDS_PATH_UP)
			rig_probe(test, i, 0, peer);
	}
}

/* As rig_dialled(), and messages spread over eight paths. */
static struct socket *eight_paths(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);

	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	greet_paths(test, &ours_8);
	rig_reply(test, 0, 2, &ours_8);
	KUNIT_ASSERT_EQ(test, npaths(test), 8U);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	rds_path_ack(rig_path(test), 3);
	fake_forget(rig_fake(test));
	return sock;
}

static void drop_all(struct kunit *test, enum rds_drop_reason reason)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (rig_nth_cpath(test, i))
			rds_path_drop(&rig_nth_cpath(test, i)->cp_pub, reason);
	}
	fake_settle(rig_fake(test));
}

static unsigned int data_sent(struct kunit *test)
{
	const struct fake_call *call;
	unsigned int i, n = 0;

	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++)
		n += call->sport == RIG_PORT;
	return n;
}

static void first_number_is_a_probe_s(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_send(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_said(test, 0, "M 1p 2");
	/* Only a peer that runs our implementation is offered more paths. */
	expect_hello(test, 0, 1);
}

struct answer_row {
	const char		*name;
	const struct rig_peer	*peer;
	u64			seq;
	const char		*said;
	u16			npaths;
};

static const struct answer_row answers[] = {
	{ "old",		&old_1, 1, "3y", 1 },
	{ "old_with_8",		&old_8, 1, "3y", 1 },
	{ "new_with_8",		&new_8, 1, "3y", 1 },
	{ "ours",		&ours_1, 1, "3y", 8 },
	{ "ours_later",		&ours_1, 9, "3y", 8 },
	{ "ours_unnumbered",	&ours_1, 0, "0y", 8 },
};

static void answer_desc(const struct answer_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(answers, answers, answer_desc);

static void probe_is_answered(struct kunit *test)
{
	const struct answer_row *row = test->param_value;

	rig_dialled(test);
	rig_probe(test, 0, row->seq, row->peer);
	rig_expect_said(test, 0, row->said);
	expect_hello(test, 0, row->npaths);
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 0)->len, 0U);
	KUNIT_EXPECT_EQ(test, npaths(test), 1U);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);
}

/* Pings may be turned off, but peers wait for replies to their probes. */
static void probe_is_answered_in_any_case(struct kunit *test)
{
	rig_sysctl()->ping_enable = 0;
	rig_dialled(test);
	rig_probe(test, 0, 1, &old_1);
	rig_expect_said(test, 0, "3y");
}

/* Count the messages on path 0 that wait, or were sent and not acknowledged. */
static unsigned int queued(struct kunit *test)
{
	struct rds_cpath *cp = rig_nth_cpath(test, 0);
	struct list_head *item;
	unsigned int n = 0;

	spin_lock_bh(&cp->cp_lock);
	list_for_each(item, &cp->cp_send_queue)
		n++;
	list_for_each(item, &cp->cp_retrans)
		n++;
	spin_unlock_bh(&cp->cp_lock);
	return n;
}

/* A peer that sends probes and does not read must not fill our memory. */
static void answers_are_bounded(struct kunit *test)
{
	unsigned int i;

	rig_dialled(test);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 1; i <= 300; i++)
		rig_probe(test, 0, i, &old_1);
	KUNIT_EXPECT_GE(test, queued(test), 1U);
	KUNIT_EXPECT_LE(test, queued(test), 64U);

	fake_unblock(rig_fake(test));
	fake_settle(rig_fake(test));
	rds_path_ack(rig_path(test), rig_nth_cpath(test,
						   0)->cp_next_tx_seq - 1);
	KUNIT_EXPECT_EQ(test, queued(test), 0U);
	fake_forget(rig_fake(test));
	rig_probe(test, 0, i, &old_1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SENT), 1U);
}

struct repeat_row {
	const char		*name;
	const struct rig_peer	*peer;
	u64			seq;
	u8			flags;
	bool			dropped;
};

/* A probe that arrives after one with sequence number 5 */
static const struct repeat_row repeats[] = {
	{ "old_same",		&old_1, 5, 0, false },
	{ "old_marked",		&old_1, 5, RDS_FLAG_RETRANSMITTED, true },
	{ "old_next",		&old_1, 6, RDS_FLAG_RETRANSMITTED, false },
	{ "ours_same",		&ours_1, 5, 0, true },
	{ "ours_marked",	&ours_1, 4, RDS_FLAG_RETRANSMITTED, true },
	{ "ours_next",		&ours_1, 6, RDS_FLAG_RETRANSMITTED, false },
	{ "ours_unnumbered",	&ours_1, 0, 0, false },
	{ "another_same",	&reborn, 5, RDS_FLAG_RETRANSMITTED, false },
};

static void repeat_desc(const struct repeat_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(repeats, repeats, repeat_desc);

static void probe_comes_again(struct kunit *test)
{
	const struct repeat_row *row = test->param_value;
	u64 dropped = rig_stat(recv_drop_old_seq);
	struct rig_peer first = *row->peer;

	if (row->peer == &reborn)
		first = ours_1;
	rig_dialled(test);
	rig_probe(test, 0, 5, &first);
	rig_probe_flags(test, 0, row->seq, row->flags, row->peer);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_old_seq),
			dropped + row->dropped);
}

struct paths_row {
	const char	*name;
	enum rig_kind	kind;
	u16		theirs;
	unsigned int	ours;
	unsigned int	legacy;
	unsigned int	paths;
};

static const struct paths_row paths[] = {
	{ "0",			RIG_OURS, 0, 8, 1, 1 },
	{ "1",			RIG_OURS, 1, 8, 1, 1 },
	{ "2",			RIG_OURS, 2, 8, 1, 2 },
	{ "3",			RIG_OURS, 3, 8, 1, 2 },
	{ "7",			RIG_OURS, 7, 8, 1, 4 },
	{ "8",			RIG_OURS, 8, 8, 1, 8 },
	{ "65535",		RIG_OURS, 65535, 8, 1, 8 },
	{ "8_against_3",	RIG_OURS, 8, 3, 1, 2 },
	{ "8_against_1",	RIG_OURS, 8, 1, 1, 1 },
	{ "8_against_0",	RIG_OURS, 8, 0, 1, 1 },
	{ "8_against_100",	RIG_OURS, 8, 100, 1, 8 },
	{ "new",		RIG_NEW, 8, 8, 1, 1 },
	{ "new_allowed_8",	RIG_NEW, 8, 8, 8, 8 },
	{ "old",		RIG_OLD, 8, 8, 1, 1 },
	{ "old_allowed_8",	RIG_OLD, 8, 8, 8, 8 },
	{ "old_allowed_2",	RIG_OLD, 8, 8, 2, 2 },
};

static void paths_desc(const struct paths_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(paths, paths, paths_desc);

static void paths_that_both_have(struct kunit *test)
{
	const struct paths_row *row = test->param_value;
	const struct rig_peer peer = { row->kind, row->theirs, 77, 5 };
	unsigned int i;

	rig_fake(test)->max_paths = row->ours;
	rig_fake(test)->legacy_paths = row->legacy;
	rig_dialled(test);
	rig_reply(test, 0, 1, &peer);
	/* Other paths of a peer that runs another implementation are dialed
	 * once it has replied to the probe with our number of paths.
	 */
	if (row->kind != RIG_OURS)
		rig_reply(test, 0, 2, &peer);

	KUNIT_EXPECT_EQ(test, npaths(test), row->paths);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, (int)row->paths);
	rig_await(test, FAKE_CONNECTED, row->paths - 1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT),
			row->paths - 1);
	for (i = 0; i < row->paths; i++) {
		KUNIT_ASSERT_NOT_NULL(test, rig_nth_cpath(test, i));
		KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, i)->cp_pub.index, i);
		KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, i)),
				RDS_PATH_UP);
	}
}

/* Each end has offered one path, because it did not know the other. */
static void offers_again_when_it_knows(struct kunit *test)
{
	rig_dialled(test);
	rig_reply(test, 0, 1, &ours_1);
	rig_expect_said(test, 0, "0p");
	expect_hello(test, 0, 8);
	KUNIT_EXPECT_EQ(test, npaths(test), 1U);

	rig_reply(test, 0, 0, &ours_8);
	KUNIT_EXPECT_EQ(test, npaths(test), 8U);
}

static void pairs_spread_and_stay(struct kunit *test)
{
	struct socket *sock = eight_paths(test);
	unsigned int i, index, used = 0;
	const struct fake_call *call;
	u8 path_of[64];

	for (i = 0; i < 128; i++)
		KUNIT_ASSERT_EQ(test, 5, rig_try_send(test, sock,
						      RIG_PEER_PORT + i % 64,
						      5, MSG_DONTWAIT));
	rig_await(test, FAKE_SENT, 128);

	for (i = 0; i < 128; i++) {
		call = fake_nth(rig_fake(test), FAKE_SENT, i);
		index = call->index;
		used |= BIT(index);
		if (i < 64)
			path_of[i] = index;
		else
			KUNIT_EXPECT_EQ(test, index, path_of[i - 64]);
		KUNIT_EXPECT_EQ(test, call->dport, RIG_PEER_PORT + i % 64);
	}
	/* In one of 650 runs, some path gets no message. Three such paths never
	 * occur in practice.
	 */
	KUNIT_EXPECT_GE(test, hweight32(used), 5U);
}

/* The barrier probe is queued behind all messages that were sent before
 * messages began to spread. The other paths wait for the reply to it.
 */
static void others_wait_for_the_answer(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);

	rig_send(test, sock, 1);
	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	rig_expect_said(test, 0, "3 4p");
	greet_paths(test, &ours_8);
	send_by(test, sock, 3);
	send_by(test, sock, 0);
	rig_expect_said(test, 3, "M 0p 0y");
	rig_expect_said(test, 0, "3 4p 0y 5");

	rig_reply(test, 0, 2, &ours_8);
	rig_expect_said(test, 3, "M 0p 0y 1");
	send_by(test, sock, 3);
	rig_expect_said(test, 3, "M 0p 0y 1 2");
}

/* A path carries no messages before the peer's handshake frame has arrived on
 * that very path.
 */
static void every_path_is_to_be_greeted(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);

	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	rig_reply(test, 0, 2, &ours_8);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	send_by(test, sock, 3);
	rig_expect_said(test, 3, "M 0p");
	rig_probe(test, 2, 0, &ours_8);
	rig_map_from(test, 3);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 3, "M 0p");
	rig_probe(test, 3, 0, &ours_8);
	rig_expect_said(test, 3, "M 0p 0y 1");
}

/* An unnumbered reply belongs to a probe that goes ahead of all messages, so it
 * does not open the other paths.
 */
static void unnumbered_answer_opens_nothing(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);

	rig_send(test, sock, 1);
	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	greet_paths(test, &ours_8);
	send_by(test, sock, 3);
	rig_reply(test, 0, 0, &ours_8);
	rig_reply(test, 3, 0, &ours_8);
	rig_expect_said(test, 3, "M 0p 0y");

	rig_reply(test, 0, 2, &ours_8);
	rig_expect_said(test, 3, "M 0p 0y 1");
}

/* A reply with the tag of another barrier does not open the barrier. Neither
 * does one on another path, or a numbered one, which may have been queued for a
 * former incarnation of ours.
 */
static void only_its_answer_opens_a_barrier(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);
	struct rig_peer answer = ours_8;
	struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(2),
		.h_sport	= htons(RDS_PORT_PING),
		.h_dport	= htons(RDS_PORT_PROBE),
	};

	rig_send(test, sock, 1);
	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	greet_paths(test, &ours_8);
	answer.tag = rig_conn(test)->c_fan_tag + 1;
	rig_reply(test, 0, 0, &answer);
	answer.tag = rig_conn(test)->c_fan_tag;
	rig_reply(test, 3, 0, &answer);
	rig_handshake(test, 0, &hdr, &answer);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_BARRIER);
	rig_reply(test, 0, 0, &answer);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
}

static void expect_tag(struct kunit *test, u8 tag)
{
	const struct fake_call *call;
	struct rds_handshake hs;
	unsigned int i, n = 0;

	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++) {
		if (call->dport != RDS_PORT_PROBE)
			continue;
		n++;
		rds_handshake_read(call->exthdr, &hs);
		KUNIT_EXPECT_EQ(test, call->seq, 0ULL);
		KUNIT_EXPECT_EQ(test, hs.tag, tag);
	}
	KUNIT_EXPECT_EQ(test, n, 1U);
	fake_forget(rig_fake(test));
}

/* The tag of the peer's barrier is in our replies as long as the peer keeps its
 * identity.
 */
static void barrier_is_answered(struct kunit *test)
{
	struct rig_peer barrier = ours_8;

	rig_dialled(test);
	rig_reply(test, 0, 1, &ours_1);
	barrier.tag = 9;
	rig_probe(test, 0, 2, &barrier);
	expect_tag(test, 9);
	/* Reply once more, as the reply may have been lost. */
	rig_probe_flags(test, 0, 2, RDS_FLAG_RETRANSMITTED, &barrier);
	expect_tag(test, 9);
	rig_probe(test, 0, 0, &ours_8);
	expect_tag(test, 9);
	rig_probe(test, 0, 0, &forgetful);
	expect_tag(test, 0);
}

/* The barrier probe may have gone to a former incarnation of the peer, which
 * has not delivered it.
 */
static void barrier_is_sent_again(struct kunit *test)
{
	u64 before = rig_stat(mprds_catchup_tx0_retries);
	struct socket *sock = rig_dialled(test);

	rig_send(test, sock, 1);
	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	greet_paths(test, &ours_8);
	send_by(test, sock, 3);

	/* The probe is not repeated while any message up to it is
	 * unacknowledged.
	 */
	rds_path_ack(rig_path(test), 3);
	msleep(1500);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "3 4p 0y");
	KUNIT_EXPECT_EQ(test, rig_stat(mprds_catchup_tx0_retries), before);

	rds_path_ack(rig_path(test), 4);
	rig_await_stat(test, mprds_catchup_tx0_retries, before + 1);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_NOT_NULL(test, strstr(rig_said(test, 0), "3 4p 0y 5p"));
	rig_expect_said(test, 3, "M 0p 0y");
	rig_reply(test, 0, 2, &ours_8);
	rig_expect_said(test, 3, "M 0p 0y 1");
}

/* Other implementations do not indicate which probe a reply belongs to, and may
 * not reply. So the barrier opens after a while.
 */
static void no_answer_opens_after_a_while(struct kunit *test)
{
	u64 before = rig_stat(mprds_catchup_tx0_retries);
	struct socket *sock;

	rig_fake(test)->legacy_paths = 8;
	sock = rig_dialled(test);
	rig_send(test, sock, 1);
	rig_reply(test, 0, 1, &new_8);

	/* The barrier does not open while any message up to its probe is
	 * unacknowledged.
	 */
	rds_path_ack(rig_path(test), 3);
	msleep(1500);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_BARRIER);
	KUNIT_EXPECT_EQ(test, rig_stat(mprds_catchup_tx0_retries), before);

	rds_path_ack(rig_path(test), 4);
	rig_await_stat(test, mprds_catchup_tx0_retries, before + 1);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
}

static void nothing_sent_nothing_to_wait_for(struct kunit *test)
{
	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_expect_said(test, 0, "M 1p");
	rig_reply(test, 0, 1, &ours_8);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	rig_expect_said(test, 0, "M 1p 0p");
}

/* The end with the higher address does not dial the other paths. */
static void higher_does_not_dial_paths(struct kunit *test)
{
	struct socket *sock = accepted(test, 0);
	const struct fake_call *call;
	unsigned int i;

	rig_reply(test, 0, 1, &ours_8);
	KUNIT_EXPECT_EQ(test, npaths(test), 8U);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 0U);

	rig_reply(test, 0, 2, &ours_8);
	for (i = 7; i > 0; i--) {
		KUNIT_EXPECT_EQ(test, 0, rig_offer(test, i, offers + i));
		KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, i)),
				RDS_PATH_UP);
		call = fake_nth(rig_fake(test), FAKE_CONNECTED, 7 - i);
		KUNIT_ASSERT_NOT_NULL(test, call);
		KUNIT_EXPECT_PTR_EQ(test, call->offer, (void *)(offers + i));
	}
	greet_paths(test, &ours_8);
	send_by(test, sock, 6);
	rig_expect_said(test, 6, "M 0p 0y 1");
}

/* This end learns only from the handshake frame that the peer's first
 * connection is not path 0.
 */
static void first_connection_gets_its_number(struct kunit *test)
{
	struct socket *sock = accepted(test, 3);
	struct rds_path *first = rig_path(test);
	u16 port;

	rig_send(test, sock, 5);
	rig_reply(test, 0, 1, &ours_8);
	KUNIT_EXPECT_EQ(test, first->index, 3);
	KUNIT_EXPECT_PTR_EQ(test, &rig_nth_cpath(test, 3)->cp_pub, first);
	KUNIT_ASSERT_PTR_NE(test, &rig_nth_cpath(test, 0)->cp_pub, first);
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_pub.index, 0);
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, 0)),
			RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 8);

	/* The path goes on sending. The other paths wait until the messages
	 * that it has carried have arrived.
	 */
	send_by(test, sock, 3);
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, 0)),
			RDS_PATH_UP);
	rig_probe(test, 0, 0, &ours_8);
	port = port_of_path(test, RIG_PORT, 0);
	KUNIT_EXPECT_EQ(test, 5, rig_try_send(test, sock, port, 5,
					      MSG_DONTWAIT));
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "3 M 0p 0y");
	rig_expect_said(test, 3, "4p 5");

	rig_reply(test, 3, 2, &ours_8);
	rig_expect_said(test, 0, "3 M 0p 0y 1");
}

/* The connections of a peer with eight paths arrive before the peer has
 * announced that it has eight.
 */
static void path_waits_until_it_exists(struct kunit *test)
{
	unsigned int i;
	int before;

	accepted(test, 0);
	rig_probe(test, 0, 1, &ours_1);
	KUNIT_ASSERT_EQ(test, npaths(test), 1U);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, rig_offer(test, i, offers + i), -EAGAIN);
	/* When path 0 is free, these connections do not get it. */
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, rig_offer(test, i, offers + i), -EAGAIN);
	KUNIT_EXPECT_EQ(test, rig_offer(test, 0, offers), 0);

	before = atomic_read(&rig_fake(test)->again_calls);
	rig_reply(test, 0, 2, &ours_8);
	KUNIT_EXPECT_GT(test, atomic_read(&rig_fake(test)->again_calls),
			before);
	for (i = 1; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, rig_offer(test, i, offers + i), 0);
		KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, i)),
				RDS_PATH_UP);
	}
}

static void growth_without_memory_is_tried_again(struct kunit *test)
{
	rig_dialled(test);
	fake_fail(&rig_fake(test)->alloc, -ENOMEM, 3);
	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_ALLOC, 3 + 7);
	KUNIT_EXPECT_EQ(test, npaths(test), 8U);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 8);
	/* Barrier probes that were not sent have used up no sequence numbers,
	 * and do not count as offers.
	 */
	rig_expect_said(test, 0, "0p 3p");
}

/* A pair of sockets must not move from one path to another. */
static void paths_do_not_grow_twice(struct kunit *test)
{
	static const struct rig_peer ours_4 = { RIG_OURS, 4, 77, 5 };
	struct socket *sock = rig_dialled(test);
	u16 port;

	rig_reply(test, 0, 1, &ours_4);
	rig_await(test, FAKE_CONNECTED, 3);
	greet_paths(test, &ours_4);
	rig_reply(test, 0, 2, &ours_4);
	KUNIT_ASSERT_EQ(test, npaths(test), 4U);
	port = port_of_path(test, RIG_PORT, 2);
	rig_try_send(test, sock, port, 5, MSG_DONTWAIT);
	rig_probe(test, 0, 0, &ours_8);
	KUNIT_EXPECT_EQ(test, npaths(test), 4U);
	KUNIT_EXPECT_PTR_EQ(test, rds_mp_pick(rig_conn(test),
					      htons(RIG_PORT), htons(port)),
			    rig_nth_cpath(test, 2));
}

/* The peer continues to use its paths, whatever number this end would offer
 * now. It may have agreed on them with a former incarnation of ours.
 */
static void paths_in_use_are_kept(struct kunit *test)
{
	unsigned int i;

	rig_fake(test)->max_paths = 1;
	rig_dialled(test);
	rig_probe(test, 0, 0, &ours_uses_8);
	KUNIT_EXPECT_EQ(test, npaths(test), 8U);
	rig_await(test, FAKE_CONNECTED, 7);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, i)),
				RDS_PATH_UP);
}

/* This end spreads messages over four paths, and the peer over eight: the peer
 * may have read an older offer.
 */
static void more_are_in_use_than_we_use(struct kunit *test)
{
	static const struct rig_peer ours_4 = { RIG_OURS, 4, 77, 5 };
	struct socket *sock = rig_dialled(test);
	unsigned int i;

	rig_reply(test, 0, 1, &ours_4);
	rig_await(test, FAKE_CONNECTED, 3);
	rig_reply(test, 0, 2, &ours_4);
	fake_forget(rig_fake(test));
	rig_probe(test, 0, 0, &ours_uses_8);
	rig_await(test, FAKE_CONNECTED, 4);
	KUNIT_EXPECT_EQ(test, npaths(test), 4U);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 8);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	for (i = 0; i < 8; i++)
		rig_probe(test, i, 0, &ours_uses_8);
	fake_forget(rig_fake(test));
	for (i = 0; i < 4; i++)
		send_by(test, sock, i);
	KUNIT_EXPECT_EQ(test, data_sent(test), 4U);
}

/* The peer has offered eight paths, and uses two, as this end does. A number of
 * paths in use is not an offer.
 */
static void use_is_no_offer(struct kunit *test)
{
	static const struct rig_peer uses_2 = { RIG_OURS, 2, 77, 5, true };

	rig_fake(test)->max_paths = 2;
	rig_dialled(test);
	rig_reply(test, 0, 1, &ours_8);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 2);
	rig_probe(test, 0, 0, &uses_2);
	rig_probe(test, 0, 0, &ours_8);
	KUNIT_EXPECT_EQ(test, npaths(test), 2U);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 2);
}

/* The peer has forgotten the connection, which none of its sockets used, and
 * would offer one path. Our messages wait on eight paths, so the peer must
 * learn that number.
 */
static void forgetful_peer_is_told_what_is_in_use(struct kunit *test)
{
	struct socket *sock = eight_paths(test);
	unsigned int i;

	rig_fake(test)->max_paths = 1;
	rig_fake(test)->connect_later = true;
	drop_all(test, RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);
	for (i = 0; i < 8; i++)
		send_by(test, sock, i);
	rig_fake(test)->connect_later = false;
	fake_forget(rig_fake(test));
	rds_path_connect_done(&rig_nth_cpath(test, 0)->cp_pub);
	rig_await(test, FAKE_SENT, 1);
	expect_hello_use(test, 0, 8, true);

	rig_probe(test, 0, 1, &forgetful);
	rig_await(test, FAKE_CONNECTED, 7);
	for (i = 1; i < 8; i++)
		rig_probe(test, i, 0, &forgetful);
	KUNIT_EXPECT_EQ(test, data_sent(test), 8U);
	KUNIT_EXPECT_EQ(test, npaths(test), 8U);
}

/* An end that creates paths without a barrier announces them nevertheless. */
static void growth_is_told(struct kunit *test)
{
	unsigned int n;

	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	KUNIT_ASSERT_EQ(test, 0, rig_offer(test, 0, offers));
	rig_probe(test, 0, 0, &ours_1);
	rig_fake(test)->max_paths = 8;
	fake_forget(rig_fake(test));
	rig_reply(test, 0, 1, &ours_8);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	n = fake_count(rig_fake(test), FAKE_SENT);
	KUNIT_ASSERT_EQ(test, n, 1U);
	expect_hello_use(test, 0, 8, true);
}

/* Other implementations do not know the mark for paths in use, so they get the
 * number only.
 */
static void others_are_told_numbers_only(struct kunit *test)
{
	rig_fake(test)->legacy_paths = 8;
	rig_dialled(test);
	rig_reply(test, 0, 1, &new_8);
	rig_await(test, FAKE_SENT, 1);
	KUNIT_ASSERT_EQ(test, npaths(test), 8U);
	rig_fake(test)->max_paths = 1;
	rig_fake(test)->legacy_paths = 1;
	fake_forget(rig_fake(test));
	rig_probe(test, 0, 2, &new_8);
	rig_await(test, FAKE_SENT, 1);
	expect_hello(test, 0, 8);
}

/* The peer has lost a path that no local socket uses. The path is dialed when
 * the next handshake frame of the peer arrives on path 0.
 */
static void path_is_dialled_when_it_asks(struct kunit *test)
{
	unsigned int i;

	rig_knock(test);
	rig_await(test, FAKE_MAPPED, 1);
	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 8);
	for (i = 0; i < 8; i++)
		rig_probe(test, i, 0, &ours_uses_8);
	WRITE_ONCE(rig_conn(test)->c_called, false);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_ASSERT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECTED), 8U);
	rig_probe(test, 0, 0, &ours_uses_8);
	rig_await(test, FAKE_CONNECTED, 9);
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, 3)),
			RDS_PATH_UP);
}

struct restart_row {
	const char		*name;
	const struct rig_peer	*before;
	const struct rig_peer	*after;
	u64			seq;
	bool			flushed;
};

static const struct restart_row restarts[] = {
	{ "same",		&ours_1, &ours_1, 0, false },
	{ "same_numbered",	&ours_1, &ours_1, 2, false },
	{ "other_generation",	&ours_1, &reborn, 1, true },
	{ "other_unnumbered",	&ours_1, &reborn, 0, true },
	{ "forgot_us",		&ours_1, &forgetful, 1, false },
	{ "became_new",		&ours_1, &new_1, 1, true },
	{ "became_old",		&ours_1, &old_1, 1, true },
	{ "was_old",		&old_1, &ours_1, 1, true },
	{ "is_old",		&old_1, &old_1, 1, false },
};

static void restart_desc(const struct restart_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(restarts, restarts, restart_desc);

/* Only the messages that were meant for the former incarnation are dropped. */
static void restart_flushes(struct kunit *test)
{
	const struct restart_row *row = test->param_value;
	u64 before = rig_stat(send_drop_restarted);
	struct socket *sock = rig_dialled(test);
	unsigned int i;

	rig_reply(test, 0, 1, row->before);
	for (i = 0; i < 3; i++)
		rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_ASSERT_EQ(test, data_sent(test), 3U);
	fake_forget(rig_fake(test));

	rig_fake(test)->connect_later = true;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);
	rig_send(test, sock, 10);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_EQ(test, data_sent(test), 0U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 4);

	rig_probe(test, 0, row->seq, row->after);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), row->flushed ? 0 : 4);
	KUNIT_EXPECT_EQ(test, data_sent(test), row->flushed ? 0U : 4U);
	KUNIT_EXPECT_EQ(test, rig_stat(send_drop_restarted) != before,
			row->flushed);

	/* The connection leads to the new incarnation, so the restart does not
	 * drop it.
	 */
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, data_sent(test), row->flushed ? 1U : 5U);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 1U);
}

/* A sequence number that a restarted peer uses again is no duplicate. From the
 * same incarnation it is one.
 */
static void restart_resets_what_is_received(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);
	struct rig_got got;

	rig_probe(test, 0, 1, &ours_1);
	rig_deliver(test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rig_deliver(test, 3, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rig_recv(test, sock, &got);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 0, &ours_1);
	rig_deliver(test, 3, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 2);
	rig_probe(test, 0, 1, &reborn);
	rig_deliver(test, 2, RIG_PEER_PORT, RIG_PORT, 5,
		    RDS_FLAG_RETRANSMITTED);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);
}

/* If the peer has not announced on this connection that it never uses a
 * sequence number twice, it may be a peer that does.
 */
static void strictness_ends_with_the_connection(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);
	struct rig_got got;

	rig_probe(test, 0, 1, &ours_1);
	rig_deliver(test, 5, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rig_deliver(test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rig_recv(test, sock, &got);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_deliver(test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);
	rig_deliver(test, 1, RIG_PEER_PORT, RIG_PORT, 5,
		    RDS_FLAG_RETRANSMITTED);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, -EAGAIN);
}

/*
 * The peer's handshake frame may arrive late, when the new incarnation has
 * already received messages of ours. Later messages must not look older than
 * those.
 */
static void numbers_do_not_go_back(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);
	const struct fake_call *call;
	u64 highest = 0;
	unsigned int i;

	rig_reply(test, 0, 1, &new_1);
	for (i = 0; i < 20; i++)
		rig_send(test, sock, 10);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));
	WRITE_ONCE(rig_nth_cpath(test, 0)->cp_gate_at, jiffies);
	rds_path_kick(rig_path(test));
	rig_await(test, FAKE_SENT, 20);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++)
		highest = max(highest, call->seq);

	rig_probe(test, 0, 1, &reborn);
	fake_forget(rig_fake(test));
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_ASSERT_EQ(test, data_sent(test), 1U);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++) {
		if (call->sport == RIG_PORT)
			KUNIT_EXPECT_GT(test, call->seq, highest);
	}
}

/* When a peer restarts with one path, no message stays on the other paths. */
static void paths_that_are_no_more(struct kunit *test)
{
	struct socket *sock = eight_paths(test);
	unsigned int i;

	for (i = 0; i < 8; i++)
		send_by(test, sock, i);
	KUNIT_ASSERT_EQ(test, rig_msgs(sock), 8);
	drop_all(test, RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 1, &old_1);
	KUNIT_EXPECT_EQ(test, npaths(test), 1U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, 0)),
			RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, i)),
				RDS_PATH_DOWN);

	fake_forget(rig_fake(test));
	for (i = 0; i < 16; i++)
		KUNIT_ASSERT_EQ(test, 5, rig_try_send(test, sock,
						      RIG_PEER_PORT + i, 5,
						      MSG_DONTWAIT));
	rig_await(test, FAKE_SENT, 16);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT,
					       i)->index, 0);
}

/* The same if the peer dials. Its ports do not name paths any more. */
static void names_no_paths_any_more(struct kunit *test)
{
	struct socket *sock = accepted(test, 0);
	unsigned int i;

	rig_reply(test, 0, 1, &ours_8);
	for (i = 1; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, rig_offer(test, i, offers + i));
	greet_paths(test, &ours_8);
	rig_reply(test, 0, 2, &ours_8);
	drop_all(test, RDS_DROP_PEER_RESET);
	fake_forget(rig_fake(test));

	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	rig_await(test, FAKE_CONNECTED, 1);
	i = fake_nth(rig_fake(test), FAKE_CONNECTED, 0)->index;
	rig_probe(test, i, 1, &old_1);
	fake_forget(rig_fake(test));

	KUNIT_EXPECT_EQ(test, npaths(test), 1U);
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, 0)),
			RDS_PATH_UP);
	rig_send(test, sock, 5);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, data_sent(test), 1U);
}

/* Only the end with the lower address dials the other paths. The other end
 * dials path 0 to prompt it.
 */
static void higher_calls_by_path_0(struct kunit *test)
{
	struct socket *sock = accepted(test, 0);
	const struct fake_call *call;
	unsigned int i;

	rig_reply(test, 0, 1, &ours_8);
	for (i = 1; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, rig_offer(test, i, offers + i));
	greet_paths(test, &ours_8);
	rig_reply(test, 0, 2, &ours_8);
	rds_path_ack(rig_path(test), 3);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));

	/* While path 0 is UP, the peer needs no dial as a prompt. */
	send_by(test, sock, 3);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 0U);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECT, 1);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_CONNECT, i)); i++)
		KUNIT_EXPECT_EQ(test, call->index, 0);

	/* Once prompted, the peer dials path 3. */
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	rig_probe(test, 3, 0, &ours_8);
	KUNIT_EXPECT_EQ(test, data_sent(test), 1U);
}

static bool receive_by(struct kunit *test, unsigned int index, u64 seq)
{
	const struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(seq),
		.h_len		= htonl(10),
		.h_sport	= htons(RIG_PEER_PORT),
		.h_dport	= htons(RIG_PORT),
	};

	return rig_receive(test, &rig_nth_cpath(test, index)->cp_pub, &hdr);
}

/* The memory that unread messages hold is counted for all paths together. */
static void paths_stop_and_read_on_together(struct kunit *test)
{
	struct socket *sock = eight_paths(test);
	struct rig_got got;
	u64 seq = 2;

	rig_sysctl()->rx_held_max = 10000;
	rig_fake(test)->truesize = 1000;
	rig_set_bufs(sock, 50);
	while (receive_by(test, 0, ++seq))
		KUNIT_ASSERT_LT(test, seq, 1000ULL);
	KUNIT_EXPECT_FALSE(test, receive_by(test, 3, 2));
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
static void late_map_is_made_good(struct kunit *test)
{
	struct socket *sock;
	unsigned int i;

	rig_fake(test)->legacy_paths = 8;
	sock = rig_dialled(test);
	rig_reply(test, 0, 1, &old_8);
	rig_reply(test, 0, 2, &old_8);
	rig_await(test, FAKE_MAPPED, 7);
	fake_forget(rig_fake(test));

	rig_set_bufs(sock, 50);
	for (i = 2; i < 8; i++)
		receive_by(test, 0, i);
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
static void late_map_is_passed_over(struct kunit *test)
{
	static const u16 ports[] = { RIG_PEER_PORT };
	struct rds_cong_map *map;

	eight_paths(test);
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
static void others_tell_by_any_path(struct kunit *test)
{
	static const u16 ports[] = { RIG_PEER_PORT, RIG_PEER_PORT + 1 };
	struct rds_cong_map *map;

	rig_fake(test)->legacy_paths = 8;
	rig_dialled(test);
	rig_reply(test, 0, 1, &new_8);
	rig_reply(test, 0, 2, &new_8);
	rig_await(test, FAKE_CONNECTED, 7);
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
static void blocked_by_others_sends_one(struct kunit *test)
{
	static const u16 ports[] = { RIG_PEER_PORT };
	struct rig_sender sender = { .test = test, .len = 10 };

	rig_fake(test)->legacy_paths = 8;
	sender.sock = rig_dialled(test);
	rig_reply(test, 0, 1, &new_8);
	rig_reply(test, 0, 2, &new_8);
	rig_await(test, FAKE_CONNECTED, 7);
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
static void map_read_late_is_made_good(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);
	unsigned int i;

	rig_reply(test, 0, 1, &ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	for (i = 1; i < 8; i++)
		rds_path_map_acked(&rig_nth_cpath(test, i)->cp_pub);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));

	rig_set_bufs(sock, 50);
	for (i = 2; i < 8; i++)
		receive_by(test, 0, i);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 3, 0, &ours_8);
	rig_await(test, FAKE_MAPPED, 2);
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_MAPPED, 1)->index,
			0);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_MAPPED), 2U);
}

/* The peer may be gone altogether, so the other paths are not dialed before
 * path 0 shows that it is there.
 */
static void paths_wait_for_path_0(struct kunit *test)
{
	unsigned int i;

	eight_paths(test);
	drop_all(test, RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 1U);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, i)),
				RDS_PATH_DOWN);
	rig_probe(test, 0, 0, &ours_8);
	rig_await(test, FAKE_CONNECTED, 8);
}

/* The peer restarts with as many paths, and sends its handshake frame on path 0
 * first.
 */
static void paths_come_back(struct kunit *test)
{
	struct socket *sock = eight_paths(test);
	unsigned int i;

	drop_all(test, RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 1, &reborn);
	rig_reply(test, 0, 0, &reborn_8);
	KUNIT_EXPECT_EQ(test, npaths(test), 8U);
	rig_await(test, FAKE_CONNECTED, 8);
	greet_paths(test, &reborn_8);
	/* These connections lead to the new incarnation already: keep them. */
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 8U);
	rig_reply(test, 0, 2, &reborn_8);

	fake_forget(rig_fake(test));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, i)),
				RDS_PATH_UP);
		send_by(test, sock, i);
		KUNIT_EXPECT_EQ(test, data_sent(test), i + 1);
	}
}

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
static void paths_wait_until_it_is_known(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct socket *sock = accepted(test, 0);
	struct rds_cpath *index;
	unsigned int i;

	rig_fake(test)->legacy_paths = 8;
	rig_reply(test, 0, 1, &new_8);
	for (i = 1; i < 8; i++) {
		if (i != 3 || row->was_up)
			rig_offer(test, i, offers + i);
	}
	rig_reply(test, 0, 2, &new_8);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	rds_path_ack(rig_path(test), 3);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	send_by(test, sock, 3);
	KUNIT_ASSERT_EQ(test, rig_msgs(sock), 1);
	drop_all(test, RDS_DROP_PEER_RESET);
	fake_forget(rig_fake(test));

	index = rig_nth_cpath(test, 3);
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	rig_expect_said(test, 3, "M");
	reinit_completion(&stands);
	reinit_completion(&go_on);
	rig_fake(test)->in_xmit = stand_still;
	KUNIT_EXPECT_EQ(test, 0, rig_offer_only(test, 0, offers));
	KUNIT_EXPECT_NE(test, 0,
			wait_for_completion_timeout(&stands, 20 * HZ));
	rig_probe_only(test, 0, 1, &new_8_reborn);
	rds_path_kick(&index->cp_pub);
	settle_path(index);
	rig_expect_said(test, 3, "M");

	complete(&go_on);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, data_sent(test), 0U);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* Once path 0 is UP, the peer must send its handshake frame there first. Until
 * then connections for other paths wait.
 */
static void paths_are_taken_when_it_is_known(struct kunit *test)
{
	unsigned int i;
	int again;

	rig_fake(test)->legacy_paths = 8;
	accepted(test, 0);
	rig_reply(test, 0, 1, &new_8);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, 0, rig_offer(test, i, offers + i));
	rig_reply(test, 0, 2, &new_8);
	drop_all(test, RDS_DROP_PEER_RESET);

	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 0, offers));
	KUNIT_EXPECT_EQ(test, -EAGAIN, rig_offer(test, 3, offers + 3));
	again = atomic_read(&rig_fake(test)->again_calls);
	rig_probe(test, 0, 1, &new_8_reborn);
	KUNIT_EXPECT_LT(test, again,
			atomic_read(&rig_fake(test)->again_calls));
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	KUNIT_EXPECT_EQ(test, rds_cpath_state(rig_nth_cpath(test, 3)),
			RDS_PATH_UP);
}

static unsigned int probes_sent(struct kunit *test)
{
	const struct fake_call *call;
	unsigned int i, n = 0;

	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++)
		n += call->index == 0 && call->sport == RDS_PORT_PROBE;
	return n;
}

static void ack_all(struct kunit *test)
{
	const struct rds_cpath *cp = to_cpath(rig_path(test));

	rds_path_ack(rig_path(test), READ_ONCE(cp->cp_sent_seq));
}

/* The peer dials the other paths, but may not have noticed that one is lost. */
static void peer_is_reminded_of_its_paths(struct kunit *test)
{
	struct socket *sock = accepted(test, 0);
	unsigned int i, tries;

	rig_fake(test)->legacy_paths = 8;
	rig_reply(test, 0, 1, &new_8);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, 0, rig_offer(test, i, offers + i));
	rig_reply(test, 0, 2, &new_8);
	rds_path_ack(rig_path(test), 3);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	ack_all(test);
	fake_forget(rig_fake(test));

	send_by(test, sock, 3);
	for (tries = 0; tries < 1000 && probes_sent(test) < 3; tries++) {
		ack_all(test);
		msleep(20);
	}
	KUNIT_EXPECT_GE(test, probes_sent(test), 3U);
	KUNIT_EXPECT_EQ(test, 0, rig_offer(test, 3, offers + 3));
	KUNIT_EXPECT_EQ(test, data_sent(test), 1U);
}

/* Sockets may respond at once to messages behind the handshake frame. These
 * responses are not meant for the former incarnation. So the transport must not
 * read on before the restart is processed.
 */
static void nothing_is_read_until_it_is_known(struct kunit *test)
{
	rig_dialled(test);
	KUNIT_EXPECT_TRUE(test, rig_probe_only(test, 0, 1, &ours_1));
	fake_settle(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_TRUE(test, rig_probe_only(test, 0, 0, &ours_1));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 0U);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 2);
	KUNIT_EXPECT_FALSE(test, rig_probe_only(test, 0, 1, &reborn));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 1U);
	KUNIT_EXPECT_TRUE(test, rig_probe_only(test, 0, 0, &reborn));
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 1U);
}

static struct kunit *the_test;
static struct socket *the_sock;

/* During the shutdown, the connection is read to its end. A socket responds to
 * the last message.
 */
static void say_last(struct rds_path *path)
{
	rig_probe_only(the_test, 0, 1, &reborn);
	rig_deliver(the_test, 2, RIG_PEER_PORT, RIG_PORT, 5, 0);
	KUNIT_EXPECT_EQ(the_test, 7,
			rig_try_send(the_test, the_sock, RIG_PEER_PORT, 7,
				     MSG_DONTWAIT));
}

static void what_is_said_last_is_heeded(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);
	const struct fake_call *call;
	struct rig_got got;
	unsigned int i;

	the_test = test;
	the_sock = sock;
	rig_reply(test, 0, 1, &ours_1);
	rig_send(test, sock, 5);
	fake_settle(rig_fake(test));
	rig_fake(test)->in_shutdown = say_last;
	fake_forget(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 0, &reborn);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 5);

	/* Only the message that was meant for the former incarnation is
	 * dropped.
	 */
	KUNIT_EXPECT_EQ(test, data_sent(test), 1U);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++) {
		if (call->sport == RIG_PORT)
			KUNIT_EXPECT_EQ(test, call->len, 7U);
	}
}

static u16 the_port;

static void say_last_and_send(struct rds_path *path)
{
	rig_probe_only(the_test, 0, 1, &reborn);
	KUNIT_EXPECT_EQ(the_test, 7,
			rig_try_send(the_test, the_sock, the_port, 7,
				     MSG_DONTWAIT));
}

/* The restarted peer has one path, and will never use another one. A message
 * that was queued on another path meanwhile is dropped, as it is not owed to
 * the peer.
 */
static void nothing_stays_on_a_path_that_is_no_more(struct kunit *test)
{
	struct socket *sock = eight_paths(test);

	the_test = test;
	the_sock = sock;
	the_port = port_of_path(test, RIG_PORT, 3);
	rig_fake(test)->in_shutdown = say_last_and_send;
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_CLOSED);
	rig_await(test, FAKE_MAPPED, 1);
	fake_unblock(rig_fake(test));
	rig_probe(test, 0, 0, &reborn);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* While the restart is not processed, the transport does not read on for any
 * other reason. That includes a run of the path's work item that began before
 * the handshake frame arrived.
 */
static void nothing_else_has_it_read_on(struct kunit *test)
{
	struct rds_cpath *cp;
	unsigned int tries;

	rig_dialled(test);
	cp = to_cpath(rig_path(test));
	rig_probe(test, 0, 1, &ours_1);
	rds_path_drop(&cp->cp_pub, RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	fake_settle(rig_fake(test));

	/* When the work item waits for this lock, it has already checked for
	 * handshake frames.
	 */
	mutex_lock(&cp->cp_xmit_lock);
	set_bit(RDS_PF_FLUSH, &cp->cp_flags);
	rds_path_kick(&cp->cp_pub);
	for (tries = 0; tries < 1000; tries++) {
		if (work_busy(&cp->cp_work.work) & WORK_BUSY_RUNNING)
			break;
		msleep(20);
	}
	msleep(50);
	KUNIT_EXPECT_FALSE(test, rig_probe_only(test, 0, 1, &reborn));
	rds_path_rx_retry(&cp->cp_pub);
	mutex_unlock(&cp->cp_xmit_lock);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_RESUME), 1U);
}

/* The address moves to another host, and back again. */
static void former_self_may_return(struct kunit *test)
{
	struct socket *sock = rig_dialled(test);

	rig_reply(test, 0, 1, &ours_1);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_probe(test, 0, 1, &reborn);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 2);
	rig_probe(test, 0, 0, &ours_1);

	fake_forget(rig_fake(test));
	rig_send(test, sock, 10);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, data_sent(test), 1U);
	rig_expect_ops(test, "X");
}

static struct kunit_case paths_cases[] = {
	KUNIT_CASE(first_number_is_a_probe_s),
	KUNIT_CASE_PARAM(probe_is_answered, answers_gen_params),
	KUNIT_CASE(probe_is_answered_in_any_case),
	KUNIT_CASE(answers_are_bounded),
	KUNIT_CASE_PARAM(probe_comes_again, repeats_gen_params),
	KUNIT_CASE_PARAM(paths_that_both_have, paths_gen_params),
	KUNIT_CASE(offers_again_when_it_knows),
	KUNIT_CASE(pairs_spread_and_stay),
	KUNIT_CASE(others_wait_for_the_answer),
	KUNIT_CASE(every_path_is_to_be_greeted),
	KUNIT_CASE(unnumbered_answer_opens_nothing),
	KUNIT_CASE(only_its_answer_opens_a_barrier),
	KUNIT_CASE(barrier_is_answered),
	KUNIT_CASE(barrier_is_sent_again),
	KUNIT_CASE(no_answer_opens_after_a_while),
	KUNIT_CASE(nothing_sent_nothing_to_wait_for),
	KUNIT_CASE(higher_does_not_dial_paths),
	KUNIT_CASE(first_connection_gets_its_number),
	KUNIT_CASE(path_waits_until_it_exists),
	KUNIT_CASE(growth_without_memory_is_tried_again),
	KUNIT_CASE(paths_do_not_grow_twice),
	KUNIT_CASE(paths_in_use_are_kept),
	KUNIT_CASE(more_are_in_use_than_we_use),
	KUNIT_CASE(use_is_no_offer),
	KUNIT_CASE(forgetful_peer_is_told_what_is_in_use),
	KUNIT_CASE(growth_is_told),
	KUNIT_CASE(others_are_told_numbers_only),
	KUNIT_CASE(path_is_dialled_when_it_asks),
	KUNIT_CASE_PARAM(restart_flushes, restarts_gen_params),
	KUNIT_CASE(restart_resets_what_is_received),
	KUNIT_CASE(strictness_ends_with_the_connection),
	KUNIT_CASE(numbers_do_not_go_back),
	KUNIT_CASE(paths_that_are_no_more),
	KUNIT_CASE(names_no_paths_any_more),
	KUNIT_CASE(higher_calls_by_path_0),
	KUNIT_CASE(paths_stop_and_read_on_together),
	KUNIT_CASE(late_map_is_made_good),
	KUNIT_CASE(late_map_is_passed_over),
	KUNIT_CASE(others_tell_by_any_path),
	KUNIT_CASE(blocked_by_others_sends_one),
	KUNIT_CASE(map_read_late_is_made_good),
	KUNIT_CASE(paths_wait_for_path_0),
	KUNIT_CASE(paths_come_back),
	KUNIT_CASE_PARAM(paths_wait_until_it_is_known, starts_gen_params),
	KUNIT_CASE(paths_are_taken_when_it_is_known),
	KUNIT_CASE(peer_is_reminded_of_its_paths),
	KUNIT_CASE(nothing_is_read_until_it_is_known),
	KUNIT_CASE(what_is_said_last_is_heeded),
	KUNIT_CASE(nothing_stays_on_a_path_that_is_no_more),
	KUNIT_CASE(nothing_else_has_it_read_on),
	KUNIT_CASE(former_self_may_return),
	{}
};

static struct kunit_suite paths_suite = {
	.name		= "rds_multipath",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= paths_cases,
};

kunit_test_suite(paths_suite);
