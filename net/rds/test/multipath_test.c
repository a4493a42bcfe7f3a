// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the paths of a connection, net/rds/core/multipath.c: how many there
 * are, which message takes which, and which end dials them.
 */
#include <linux/delay.h>

#include "../core/multipath.h"
#include "paths.h"

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
	rig_dialed(test);
	rig_reply(test, 0, 1, &peer);
	/* Other paths of a peer that runs another implementation are dialed
	 * once it has replied to the probe with our number of paths.
	 */
	if (row->kind != RIG_OURS)
		rig_reply(test, 0, 2, &peer);

	KUNIT_EXPECT_EQ(test, paths_nr(test), row->paths);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, (int)row->paths);
	rig_await(test, FAKE_CONNECTED, row->paths - 1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT),
			row->paths - 1);
	for (i = 0; i < row->paths; i++) {
		KUNIT_ASSERT_NOT_NULL(test, rig_nth_cpath(test, i));
		KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, i)->cp_pub.index, i);
		KUNIT_EXPECT_EQ(test, paths_state(test, i), RDS_PATH_UP);
	}
}

/* Each end has offered one path, because it did not know the other. */
static void offers_more_once_recognized(struct kunit *test)
{
	rig_dialed(test);
	rig_reply(test, 0, 1, &rig_ours_1);
	rig_expect_said(test, 0, "0p");
	paths_expect_handshake(test, 0, 8, false);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 1U);

	rig_reply(test, 0, 0, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 8U);
}

static void pairs_spread_and_stay(struct kunit *test)
{
	struct socket *sock = paths_eight(test);
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

/* The end with the higher address does not dial the other paths. */
static void higher_does_not_dial_paths(struct kunit *test)
{
	struct socket *sock = paths_accepted(test, 0);
	const struct fake_call *call;
	unsigned int i;

	rig_reply(test, 0, 1, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 8U);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 0U);

	rig_reply(test, 0, 2, &rig_ours_8);
	for (i = 7; i > 0; i--) {
		KUNIT_EXPECT_EQ(test, 0, paths_offer(test, i));
		KUNIT_EXPECT_EQ(test, paths_state(test, i), RDS_PATH_UP);
		call = fake_nth(rig_fake(test), FAKE_CONNECTED, 7 - i);
		KUNIT_ASSERT_NOT_NULL(test, call);
		KUNIT_EXPECT_PTR_EQ(test, call->offer,
				    (void *)(paths_offers + i));
	}
	paths_handshake(test, &rig_ours_8);
	paths_send(test, sock, 6);
	rig_expect_said(test, 6, "M 0p 0y 1");
}

/* This end learns only from the handshake frame that the peer's first
 * connection is not path 0.
 */
static void first_connection_gets_its_number(struct kunit *test)
{
	struct socket *sock = paths_accepted(test, 3);
	struct rds_path *first = rig_path(test);
	u16 port;

	rig_send(test, sock, 5);
	rig_reply(test, 0, 1, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, first->index, 3);
	KUNIT_EXPECT_PTR_EQ(test, &rig_nth_cpath(test, 3)->cp_pub, first);
	KUNIT_ASSERT_PTR_NE(test, &rig_nth_cpath(test, 0)->cp_pub, first);
	KUNIT_EXPECT_EQ(test, rig_nth_cpath(test, 0)->cp_pub.index, 0);
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 8);

	/* The path goes on sending. The other paths wait until the messages
	 * that it has carried have arrived.
	 */
	paths_send(test, sock, 3);
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 0));
	KUNIT_EXPECT_EQ(test, paths_state(test, 0), RDS_PATH_UP);
	rig_probe(test, 0, 0, &rig_ours_8);
	port = paths_port(test, 0);
	KUNIT_EXPECT_EQ(test, 5, rig_try_send(test, sock, port, 5,
					      MSG_DONTWAIT));
	fake_settle(rig_fake(test));
	rig_expect_said(test, 0, "3 M 0p 0y");
	rig_expect_said(test, 3, "4p 5");

	rig_reply(test, 3, 2, &rig_ours_8);
	rig_expect_said(test, 0, "3 M 0p 0y 1");
}

/* The connections of a peer with eight paths arrive before the peer has
 * announced that it has eight.
 */
static void path_waits_until_it_exists(struct kunit *test)
{
	unsigned int i;
	int before;

	paths_accepted(test, 0);
	rig_probe(test, 0, 1, &rig_ours_1);
	KUNIT_ASSERT_EQ(test, paths_nr(test), 1U);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, paths_offer(test, i), -EAGAIN);
	/* When path 0 is free, these connections do not get it. */
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, paths_offer(test, i), -EAGAIN);
	KUNIT_EXPECT_EQ(test, paths_offer(test, 0), 0);

	before = atomic_read(&rig_fake(test)->again_calls);
	rig_reply(test, 0, 2, &rig_ours_8);
	KUNIT_EXPECT_GT(test, atomic_read(&rig_fake(test)->again_calls),
			before);
	for (i = 1; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, paths_offer(test, i), 0);
		KUNIT_EXPECT_EQ(test, paths_state(test, i), RDS_PATH_UP);
	}
}

static void growth_is_retried(struct kunit *test)
{
	rig_dialed(test);
	fake_fail(&rig_fake(test)->alloc, -ENOMEM, 3);
	rig_reply(test, 0, 1, &rig_ours_8);
	rig_await(test, FAKE_ALLOC, 3 + 7);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 8U);
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
	struct socket *sock = rig_dialed(test);
	u16 port;

	rig_reply(test, 0, 1, &ours_4);
	rig_await(test, FAKE_CONNECTED, 3);
	paths_handshake(test, &ours_4);
	rig_reply(test, 0, 2, &ours_4);
	KUNIT_ASSERT_EQ(test, paths_nr(test), 4U);
	port = paths_port(test, 2);
	rig_try_send(test, sock, port, 5, MSG_DONTWAIT);
	rig_probe(test, 0, 0, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 4U);
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
	rig_dialed(test);
	rig_probe(test, 0, 0, &rig_ours_uses_8);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 8U);
	rig_await(test, FAKE_CONNECTED, 7);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, paths_state(test, i), RDS_PATH_UP);
}

/* This end spreads messages over four paths, and the peer over eight: the peer
 * may have read an older offer.
 */
static void peer_uses_more_paths(struct kunit *test)
{
	static const struct rig_peer ours_4 = { RIG_OURS, 4, 77, 5 };
	struct socket *sock = rig_dialed(test);
	unsigned int i;

	rig_reply(test, 0, 1, &ours_4);
	rig_await(test, FAKE_CONNECTED, 3);
	rig_reply(test, 0, 2, &ours_4);
	fake_forget(rig_fake(test));
	rig_probe(test, 0, 0, &rig_ours_uses_8);
	rig_await(test, FAKE_CONNECTED, 4);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 4U);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 8);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	for (i = 0; i < 8; i++)
		rig_probe(test, i, 0, &rig_ours_uses_8);
	fake_forget(rig_fake(test));
	for (i = 0; i < 4; i++)
		paths_send(test, sock, i);
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 4U);
}

/* The peer has offered eight paths, and uses two, as this end does. A number of
 * paths in use is not an offer.
 */
static void use_is_no_offer(struct kunit *test)
{
	static const struct rig_peer uses_2 = { RIG_OURS, 2, 77, 5, true };

	rig_fake(test)->max_paths = 2;
	rig_dialed(test);
	rig_reply(test, 0, 1, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 2);
	rig_probe(test, 0, 0, &uses_2);
	rig_probe(test, 0, 0, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 2U);
	KUNIT_EXPECT_EQ(test, rig_fake(test)->live_paths, 2);
}

/* The peer has forgotten the connection, which none of its sockets used, and
 * would offer one path. Our messages wait on eight paths, so the peer must
 * learn that number.
 */
static void paths_in_use_are_announced(struct kunit *test)
{
	struct socket *sock = paths_eight(test);
	unsigned int i;

	rig_fake(test)->max_paths = 1;
	rig_fake(test)->connect_later = true;
	paths_drop_all(test);
	rig_await(test, FAKE_CONNECTED, 1);
	for (i = 0; i < 8; i++)
		paths_send(test, sock, i);
	rig_fake(test)->connect_later = false;
	fake_forget(rig_fake(test));
	rds_path_connect_done(&rig_nth_cpath(test, 0)->cp_pub);
	rig_await(test, FAKE_SENT, 1);
	paths_expect_handshake(test, 0, 8, true);

	rig_probe(test, 0, 1, &rig_forgetful);
	rig_await(test, FAKE_CONNECTED, 7);
	for (i = 1; i < 8; i++)
		rig_probe(test, i, 0, &rig_forgetful);
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 8U);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 8U);
}

/* An end that creates paths without a barrier announces them nevertheless. */
static void growth_is_announced(struct kunit *test)
{
	unsigned int n;

	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rig_probe(test, 0, 0, &rig_ours_1);
	rig_fake(test)->max_paths = 8;
	fake_forget(rig_fake(test));
	rig_reply(test, 0, 1, &rig_ours_8);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	n = fake_count(rig_fake(test), FAKE_SENT);
	KUNIT_ASSERT_EQ(test, n, 1U);
	paths_expect_handshake(test, 0, 8, true);
}

/* Other implementations do not know the mark for paths in use, so they get the
 * number only.
 */
static void legacy_gets_number_only(struct kunit *test)
{
	rig_fake(test)->legacy_paths = 8;
	rig_dialed(test);
	rig_reply(test, 0, 1, &rig_new_8);
	rig_await(test, FAKE_SENT, 1);
	KUNIT_ASSERT_EQ(test, paths_nr(test), 8U);
	rig_fake(test)->max_paths = 1;
	rig_fake(test)->legacy_paths = 1;
	fake_forget(rig_fake(test));
	rig_probe(test, 0, 2, &rig_new_8);
	rig_await(test, FAKE_SENT, 1);
	paths_expect_handshake(test, 0, 8, false);
}

/* The peer has lost a path that no local socket uses. The path is dialed when
 * the next handshake frame of the peer arrives on path 0.
 */
static void path_is_dialed_on_handshake(struct kunit *test)
{
	unsigned int i;

	rig_knock(test);
	rig_await(test, FAKE_MAPPED, 1);
	rig_reply(test, 0, 1, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 8);
	for (i = 0; i < 8; i++)
		rig_probe(test, i, 0, &rig_ours_uses_8);
	WRITE_ONCE(rig_conn(test)->c_knocked, false);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	KUNIT_ASSERT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECTED), 8U);
	rig_probe(test, 0, 0, &rig_ours_uses_8);
	rig_await(test, FAKE_CONNECTED, 9);
	KUNIT_EXPECT_EQ(test, paths_state(test, 3), RDS_PATH_UP);
}

/* Only the end with the lower address dials the other paths. The other end
 * dials path 0 to prompt it.
 */
static void higher_prompts_by_path_0(struct kunit *test)
{
	struct socket *sock = paths_eight_accepted(test);
	const struct fake_call *call;
	unsigned int i;

	rds_path_ack(rig_path(test), 3);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));

	/* While path 0 is UP, the peer needs no dial as a prompt. */
	paths_send(test, sock, 3);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_CONNECT), 0U);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECT, 1);
	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_CONNECT, i)); i++)
		KUNIT_EXPECT_EQ(test, call->index, 0);

	/* Once prompted, the peer dials path 3. */
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 3));
	rig_probe(test, 3, 0, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 1U);
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

	rds_path_ack(rig_path(test), READ_ONCE(cp->cp_tx.pt_sent_seq));
}

/* The peer dials the other paths, but may not have noticed that one is lost. */
static void peer_is_reminded_of_its_paths(struct kunit *test)
{
	struct socket *sock = paths_accepted(test, 0);
	unsigned int i, tries;

	rig_fake(test)->legacy_paths = 8;
	rig_reply(test, 0, 1, &rig_new_8);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, 0, paths_offer(test, i));
	rig_reply(test, 0, 2, &rig_new_8);
	rds_path_ack(rig_path(test), 3);
	rds_path_drop(&rig_nth_cpath(test, 3)->cp_pub, RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	ack_all(test);
	fake_forget(rig_fake(test));

	paths_send(test, sock, 3);
	for (tries = 0; tries < 1000 && probes_sent(test) < 3; tries++) {
		ack_all(test);
		msleep(20);
	}
	KUNIT_EXPECT_GE(test, probes_sent(test), 3U);
	KUNIT_EXPECT_EQ(test, 0, paths_offer(test, 3));
	KUNIT_EXPECT_EQ(test, paths_data_sent(test), 1U);
}

static struct kunit_case multipath_cases[] = {
	KUNIT_CASE_PARAM(paths_that_both_have, paths_gen_params),
	KUNIT_CASE(offers_more_once_recognized),
	KUNIT_CASE(pairs_spread_and_stay),
	KUNIT_CASE(higher_does_not_dial_paths),
	KUNIT_CASE(first_connection_gets_its_number),
	KUNIT_CASE(path_waits_until_it_exists),
	KUNIT_CASE(growth_is_retried),
	KUNIT_CASE(paths_do_not_grow_twice),
	KUNIT_CASE(paths_in_use_are_kept),
	KUNIT_CASE(peer_uses_more_paths),
	KUNIT_CASE(use_is_no_offer),
	KUNIT_CASE(paths_in_use_are_announced),
	KUNIT_CASE(growth_is_announced),
	KUNIT_CASE(legacy_gets_number_only),
	KUNIT_CASE(path_is_dialed_on_handshake),
	KUNIT_CASE(higher_prompts_by_path_0),
	KUNIT_CASE(peer_is_reminded_of_its_paths),
	{}
};

static struct kunit_suite multipath_suite = {
	.name		= "rds_multipath",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= multipath_cases,
};

kunit_test_suite(multipath_suite);
