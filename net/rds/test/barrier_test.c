// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the barrier, net/rds/core/multipath.c: messages spread over several
 * paths once all earlier ones have arrived.
 */
#include <linux/delay.h>

#include "paths.h"

/* Send a message and dial a peer with eight paths. All paths are UP, and wait
 * for the reply to the barrier probe, which follows that message.
 */
static struct socket *at_the_barrier(struct kunit *test)
{
	struct socket *sock = rig_dialed(test);

	rig_send(test, sock, 1);
	rig_reply(test, 0, 1, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	rig_expect_said(test, 0, "3 4p");
	paths_handshake(test, &rig_ours_8);
	return sock;
}

/* The barrier probe is queued behind all messages that were sent before
 * messages began to spread. The other paths wait for the reply to it.
 */
static void paths_wait_for_reply(struct kunit *test)
{
	struct socket *sock = at_the_barrier(test);

	paths_send(test, sock, 3);
	paths_send(test, sock, 0);
	rig_expect_said(test, 3, "M 0p 0y");
	rig_expect_said(test, 0, "3 4p 0y 5");

	rig_reply(test, 0, 2, &rig_ours_8);
	rig_expect_said(test, 3, "M 0p 0y 1");
	paths_send(test, sock, 3);
	rig_expect_said(test, 3, "M 0p 0y 1 2");
}

/* A path carries no messages before the peer's handshake frame has arrived on
 * that very path.
 */
static void paths_wait_for_handshake(struct kunit *test)
{
	struct socket *sock = rig_dialed(test);

	rig_reply(test, 0, 1, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	rig_reply(test, 0, 2, &rig_ours_8);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	paths_send(test, sock, 3);
	rig_expect_said(test, 3, "M 0p");
	rig_probe(test, 2, 0, &rig_ours_8);
	rig_map_from(test, 3);
	fake_settle(rig_fake(test));
	rig_expect_said(test, 3, "M 0p");
	rig_probe(test, 3, 0, &rig_ours_8);
	rig_expect_said(test, 3, "M 0p 0y 1");
}

/* The tag of a reply: none, that of our barrier, or another one */
enum tag {
	NO_TAG,
	OUR_TAG,
	OTHER_TAG,
};

/* Replies that do not belong to the barrier probe */
struct wrong_row {
	const char	*name;
	u8		index;
	u64		seq;
	enum tag	tag;
};

static const struct wrong_row wrongs[] = {
	/* It belongs to a probe that goes ahead of all messages. */
	{ "without_tag",	0, 0, NO_TAG },
	{ "without_tag_on_3",	3, 0, NO_TAG },
	{ "tag_of_another",	0, 0, OTHER_TAG },
	{ "on_another_path",	3, 0, OUR_TAG },
	/* It may have been queued for a former incarnation of ours. */
	{ "numbered",		0, 2, OUR_TAG },
};

static void wrong_desc(const struct wrong_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(wrongs, wrongs, wrong_desc);

static void wrong_reply(struct kunit *test, const struct wrong_row *row)
{
	struct rig_peer reply = rig_ours_8;
	struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(row->seq),
		.h_sport	= htons(RDS_PORT_PING),
		.h_dport	= htons(RDS_PORT_PROBE),
	};

	if (row->tag != NO_TAG)
		reply.tag = rig_conn(test)->c_fan_tag;
	if (row->tag == OTHER_TAG)
		reply.tag++;
	rig_handshake(test, row->index, &hdr, &reply);
}

/* No other reply opens the barrier, and the right one still does. */
static void only_its_reply_opens(struct kunit *test)
{
	struct socket *sock = at_the_barrier(test);

	paths_send(test, sock, 3);
	wrong_reply(test, test->param_value);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_BARRIER);
	rig_expect_said(test, 3, "M 0p 0y");

	rig_reply(test, 0, 2, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	rig_expect_said(test, 3, "M 0p 0y 1");
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
static void barrier_is_replied_to(struct kunit *test)
{
	struct rig_peer barrier = rig_ours_8;

	rig_dialed(test);
	rig_reply(test, 0, 1, &rig_ours_1);
	barrier.tag = 9;
	rig_probe(test, 0, 2, &barrier);
	expect_tag(test, 9);
	/* Reply once more, as the reply may have been lost. */
	rig_probe_flags(test, 0, 2, RDS_FLAG_RETRANSMITTED, &barrier);
	expect_tag(test, 9);
	rig_probe(test, 0, 0, &rig_ours_8);
	expect_tag(test, 9);
	rig_probe(test, 0, 0, &rig_forgetful);
	expect_tag(test, 0);
}

/* The barrier probe may have gone to a former incarnation of the peer, which
 * has not delivered it.
 */
static void barrier_is_repeated(struct kunit *test)
{
	u64 before = rig_stat(mprds_catchup_tx0_retries);
	struct socket *sock = at_the_barrier(test);

	paths_send(test, sock, 3);
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
	rig_reply(test, 0, 2, &rig_ours_8);
	rig_expect_said(test, 3, "M 0p 0y 1");
}

/* Other implementations do not indicate which probe a reply belongs to, and may
 * not reply. So the barrier opens after a while.
 */
static void opens_without_reply(struct kunit *test)
{
	u64 before = rig_stat(mprds_catchup_tx0_retries);
	struct socket *sock;

	rig_fake(test)->legacy_paths = 8;
	sock = rig_dialed(test);
	rig_send(test, sock, 1);
	rig_reply(test, 0, 1, &rig_new_8);

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

static void nothing_sent_no_barrier(struct kunit *test)
{
	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	KUNIT_ASSERT_EQ(test, 0, paths_offer(test, 0));
	rig_expect_said(test, 0, "M 1p");
	rig_reply(test, 0, 1, &rig_ours_8);
	KUNIT_EXPECT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	rig_expect_said(test, 0, "M 1p 0p");
}

static struct kunit_case barrier_cases[] = {
	KUNIT_CASE(paths_wait_for_reply),
	KUNIT_CASE(paths_wait_for_handshake),
	KUNIT_CASE_PARAM(only_its_reply_opens, wrongs_gen_params),
	KUNIT_CASE(barrier_is_replied_to),
	KUNIT_CASE(barrier_is_repeated),
	KUNIT_CASE(opens_without_reply),
	KUNIT_CASE(nothing_sent_no_barrier),
	{}
};

static struct kunit_suite barrier_suite = {
	.name		= "rds_barrier",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= barrier_cases,
};

kunit_test_suite(barrier_suite);
