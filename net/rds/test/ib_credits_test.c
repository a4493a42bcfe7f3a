// SPDX-License-Identifier: GPL-2.0-only
/* Credits: net/rds/ib/credits.h. */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/random.h>
#include <linux/string.h>

#include "../ib/credits.h"

#define STEPS		200000

/* Most SENDs in flight from one end to the other */
#define FLIGHT		64

/**
 * struct end - one of two ends that send to each other
 * @cr: its credits
 * @ring: number of its receive buffers
 * @posted: number of these that are posted
 * @to_send: messages that it has yet to send
 * @sent: messages that it has sent
 * @acks: SENDs that only advertised receive buffers
 * @news: h_credit of its SENDs in flight, a queue
 * @head: number of SENDs added to @news so far
 * @tail: number of SENDs removed from @news so far
 */
struct end {
	struct rds_ib_credits	cr;
	u32			ring;
	u32			posted;
	u32			to_send;
	u32			sent;
	u32			acks;
	u8			news[FLIGHT];
	u32			head;
	u32			tail;
};

static void without_flow_control(struct kunit *test)
{
	struct rds_ib_credits cr = {};
	u8 news = 1;
	u32 i;

	rds_ib_credits_start(&cr, 0);
	rds_ib_credits_offered(&cr, 0, true);
	for (i = 0; i < 1000; i++) {
		rds_ib_credits_posted(&cr, 1);
		KUNIT_ASSERT_TRUE(test, rds_ib_credits_take(&cr, &news));
		KUNIT_ASSERT_EQ(test, news, 0);
	}
	KUNIT_EXPECT_FALSE(test, rds_ib_credits_have_news(&cr, 1024));
}

/* Only a SEND that advertises receive buffers may use the last credit. */
static void last_credit(struct kunit *test)
{
	struct rds_ib_credits cr = {};
	u8 news;

	rds_ib_credits_start(&cr, 8);
	rds_ib_credits_offered(&cr, 3, true);
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_FALSE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, cr.cr_send, 1U);

	rds_ib_credits_posted(&cr, 2);
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, news, 2);
	KUNIT_EXPECT_EQ(test, cr.cr_pending, 0U);

	rds_ib_credits_posted(&cr, 2);
	KUNIT_EXPECT_FALSE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, cr.cr_pending, 2U);
}

/* An end that counts its receive buffers advertises them even if the peer does
 * not count its own.
 */
static void telling_without_limit(struct kunit *test)
{
	struct rds_ib_credits cr = {};
	u8 news;

	rds_ib_credits_start(&cr, 1024);
	rds_ib_credits_offered(&cr, 0, true);
	rds_ib_credits_posted(&cr, 300);
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_have_news(&cr, 1024));
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, news, 255);
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, news, 45);
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, news, 0);
}

struct limit_row {
	const char	*name;
	u32		told;
	u32		given;
	bool		ours;
	bool		limited;
};

static const struct limit_row limits[] = {
	{ "neither", 0, 0, false, false },
	{ "both", 8, 8, false, true },
	{ "only_we", 8, 0, false, false },
	{ "only_the_peer", 0, 8, false, false },
	{ "only_one_of_ours", 0, 8, true, true },
	{ "both_of_ours", 8, 8, true, true },
	{ "only_we_to_one_of_ours", 8, 0, true, false },
};

static void limit_desc(const struct limit_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(limits, limits, limit_desc);

/* The dialing end first records what it advertises itself; the accepting end
 * first records what the peer advertises. The result is the same.
 */
static void limit_holds(struct kunit *test)
{
	const struct limit_row *row = test->param_value;
	struct rds_ib_credits dials = {}, accepts = {};

	rds_ib_credits_start(&dials, row->told);
	rds_ib_credits_offered(&dials, row->given, row->ours);
	KUNIT_EXPECT_EQ(test, dials.cr_limited, row->limited);
	rds_ib_credits_offered(&accepts, row->given, row->ours);
	rds_ib_credits_start(&accepts, row->told);
	KUNIT_EXPECT_EQ(test, accepts.cr_limited, row->limited);
}

/* The end that dials may have buffers to advertise before it has read what the
 * peer advertises. A SEND at this time would be missing in one of the counts.
 */
static void nothing_before_the_reply(struct kunit *test)
{
	struct rds_ib_credits cr = {};
	u8 news;

	rds_ib_credits_start(&cr, 8);
	rds_ib_credits_posted(&cr, 3);
	KUNIT_EXPECT_FALSE(test, rds_ib_credits_take(&cr, &news));
	rds_ib_credits_grant(&cr, 2);
	KUNIT_EXPECT_FALSE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, cr.cr_pending, 3U);

	rds_ib_credits_offered(&cr, 4, true);
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_EQ(test, news, 3);
	KUNIT_EXPECT_EQ(test, cr.cr_send, 5U);
}

/* A peer that advertises nothing is not waited for any longer. */
static void all_after_an_empty_reply(struct kunit *test)
{
	struct rds_ib_credits cr = {};
	u8 news;

	rds_ib_credits_start(&cr, 8);
	KUNIT_EXPECT_FALSE(test, rds_ib_credits_take(&cr, &news));
	rds_ib_credits_offered(&cr, 0, false);
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
	KUNIT_EXPECT_TRUE(test, rds_ib_credits_take(&cr, &news));
}

static void given_back(struct kunit *test)
{
	struct rds_ib_credits cr = {}, was;
	u8 news;

	rds_ib_credits_start(&cr, 8);
	rds_ib_credits_offered(&cr, 5, true);
	rds_ib_credits_posted(&cr, 3);
	was = cr;
	KUNIT_ASSERT_TRUE(test, rds_ib_credits_take(&cr, &news));
	rds_ib_credits_back(&cr, news);
	KUNIT_EXPECT_EQ(test, cr.cr_send, was.cr_send);
	KUNIT_EXPECT_EQ(test, cr.cr_pending, was.cr_pending);
}

/* A hostile peer may advertise any number of receive buffers. */
static void absurd(struct kunit *test)
{
	static const u32 given[] = { 0, 1, 2, 65535, 65536, S32_MAX,
				     0x80000000, U32_MAX };
	struct rds_ib_credits cr;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(given); i++) {
		memset(&cr, 0, sizeof(cr));
		rds_ib_credits_start(&cr, 4);
		rds_ib_credits_offered(&cr, given[i], true);
		KUNIT_EXPECT_EQ(test, cr.cr_limited, given[i] != 0);
		KUNIT_EXPECT_EQ(test, cr.cr_send,
				min_t(u32, given[i], RDS_IB_CREDITS_MAX));
		for (j = 0; j < 1000; j++)
			rds_ib_credits_grant(&cr, 255);
		rds_ib_credits_grant(&cr, U32_MAX);
		KUNIT_EXPECT_EQ(test, cr.cr_send, (u32)RDS_IB_CREDITS_MAX);
		for (j = 0; j < 1000; j++)
			rds_ib_credits_posted(&cr, 255);
		KUNIT_EXPECT_EQ(test, cr.cr_pending, (u32)RDS_IB_CREDITS_MAX);
	}
}

/* Make one SEND if credits allow it. Returns whether a SEND was made. */
static bool end_send(struct kunit *test, struct end *from, struct end *to,
		     bool ack)
{
	u8 news;

	if (from->head - from->tail == FLIGHT)
		return false;
	if (!rds_ib_credits_take(&from->cr, &news))
		return false;
	/* Credits exist so that each SEND finds a receive buffer. */
	KUNIT_ASSERT_GT(test, to->posted, 0U);
	to->posted--;
	from->news[from->head++ % FLIGHT] = news;
	if (ack) {
		from->acks++;
	} else {
		from->to_send--;
		from->sent++;
	}
	return true;
}

/* Receive the oldest SEND in flight, and post its buffer again. */
static bool end_receive(struct end *at, struct end *from)
{
	if (from->head == from->tail)
		return false;
	rds_ib_credits_grant(&at->cr, from->news[from->tail++ % FLIGHT]);
	at->posted++;
	rds_ib_credits_posted(&at->cr, 1);
	return true;
}

static bool end_step(struct kunit *test, struct end *e, struct end *peer,
		     u32 what)
{
	switch (what % 3) {
	case 0:
		return e->to_send && end_send(test, e, peer, false);
	case 1:
		return rds_ib_credits_have_news(&e->cr, e->ring) &&
		       end_send(test, e, peer, true);
	default:
		return end_receive(e, peer);
	}
}

struct pair_row {
	const char	*name;
	u32		rings[2];
	u32		messages[2];
};

static const struct pair_row pairs[] = {
	{ "rings_of_4", { 4, 4 }, { 5000, 5000 } },
	{ "rings_of_4_one_way", { 4, 4 }, { 5000, 0 } },
	{ "4_and_1024", { 4, 1024 }, { 5000, 5000 } },
	{ "1024_and_4_one_way", { 1024, 4 }, { 5000, 0 } },
	{ "rings_of_5", { 5, 5 }, { 5000, 100 } },
	{ "rings_of_17", { 17, 17 }, { 5000, 5000 } },
	{ "rings_of_64", { 64, 64 }, { 5000, 5000 } },
	{ "rings_of_1024", { 1024, 1024 }, { 5000, 5000 } },
	{ "nothing_to_send", { 4, 4 }, { 0, 0 } },
};

static void pair_desc(const struct pair_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pairs, pairs, pair_desc);

/* Two ends take all possible steps in any order. All messages must be sent, and
 * no SEND may find the peer without a receive buffer. When all messages are
 * sent, both ends must fall silent.
 */
static void two_ends(struct kunit *test)
{
	const struct pair_row *row = test->param_value;
	struct end *e;
	u32 i, idle = 0, dir;

	e = kunit_kcalloc(test, 2, sizeof(*e), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e);
	for (i = 0; i < 2; i++) {
		e[i].ring = row->rings[i];
		e[i].posted = row->rings[i];
		e[i].to_send = row->messages[i];
		rds_ib_credits_start(&e[i].cr, row->rings[i]);
		rds_ib_credits_offered(&e[i].cr, row->rings[!i], true);
	}

	for (i = 0; i < STEPS && idle <= 6; i++) {
		/* A random step; after one without effect, all six in turn */
		dir = (idle ? idle - 1 : get_random_u32()) & 1;
		if (end_step(test, &e[dir], &e[!dir],
			     idle ? (idle - 1) / 2 : get_random_u32()))
			idle = 0;
		else
			idle++;
	}

	KUNIT_EXPECT_LT(test, i, (u32)STEPS);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, e[i].sent, row->messages[i]);
		KUNIT_EXPECT_EQ(test, e[i].posted, e[i].ring);
		KUNIT_EXPECT_EQ(test, e[i].cr.cr_pending + e[!i].cr.cr_send,
				e[i].ring);
	}
}

static struct kunit_case ib_credits_cases[] = {
	KUNIT_CASE(without_flow_control),
	KUNIT_CASE(last_credit),
	KUNIT_CASE(telling_without_limit),
	KUNIT_CASE_PARAM(limit_holds, limits_gen_params),
	KUNIT_CASE(nothing_before_the_reply),
	KUNIT_CASE(all_after_an_empty_reply),
	KUNIT_CASE(given_back),
	KUNIT_CASE(absurd),
	KUNIT_CASE_PARAM(two_ends, pairs_gen_params),
	{}
};

static struct kunit_suite ib_credits_suite = {
	.name		= "rds_ib_credits",
	.test_cases	= ib_credits_cases,
};

kunit_test_suite(ib_credits_suite);
