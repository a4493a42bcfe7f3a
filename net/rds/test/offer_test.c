// SPDX-License-Identifier: GPL-2.0-only
/* Tests of offers and duels, net/rds/core/offer.c. */
#include <kunit/test.h>

#include "../core/offer.h"

struct offer_row {
	const char		*name;
	enum rds_offer_state	state;
	/* State after each event, by letter */
	char			after[RDS_OFFER_EVENTS + 1];
};

/*
 * Events, from left to right: kept, gone, taken, overtaken; and those of core:
 * claimed, returned, ended. States: none, waits, in use, next waits.
 */
static const struct offer_row rows[] = {
	{ "none",	RDS_OFFER_NONE,		"WNUNNNN" },
	{ "waits",	RDS_OFFER_WAITS,	"WNUNUWW" },
	{ "in_use",	RDS_OFFER_IN_USE,	"XUUUUWN" },
	{ "next_waits",	RDS_OFFER_NEXT_WAITS,	"XUUUUWW" },
};

static const char letters[] = "NWUX";

static void row_desc(const struct offer_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rows, rows, row_desc);

static void every_pair(struct kunit *test)
{
	const struct offer_row *row = test->param_value;
	enum rds_offer_state to;
	unsigned int event;

	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(rows), (size_t)RDS_OFFER_STATES);
	KUNIT_ASSERT_EQ(test, strlen(row->after), (size_t)RDS_OFFER_EVENTS);
	for (event = 0; event < RDS_OFFER_EVENTS; event++) {
		to = rds_offer_next(row->state, event);
		KUNIT_ASSERT_LT(test, to, RDS_OFFER_STATES);
		KUNIT_EXPECT_EQ_MSG(test, letters[to], row->after[event],
				    "event %u", event);
	}
}

/* Transports without paths keep and withdraw offers at any time. Whatever
 * happens first, core knows afterwards whether one waits.
 */
static void last_report_counts(struct kunit *test)
{
	const struct offer_row *row = test->param_value;
	enum rds_offer_state kept, gone, taken, ended;

	kept = rds_offer_next(row->state, RDS_OFFER_KEPT);
	gone = rds_offer_next(row->state, RDS_OFFER_GONE);
	taken = rds_offer_next(row->state, RDS_OFFER_TAKEN);
	ended = rds_offer_next(row->state, RDS_OFFER_ENDED);
	KUNIT_EXPECT_TRUE(test, rds_offer_waits(kept));
	KUNIT_EXPECT_FALSE(test, rds_offer_waits(gone));
	KUNIT_EXPECT_FALSE(test, rds_offer_waits(taken));
	KUNIT_EXPECT_TRUE(test, rds_offer_in_use(taken));
	KUNIT_EXPECT_FALSE(test, rds_offer_in_use(ended));
	KUNIT_EXPECT_EQ(test, rds_offer_waits(row->state),
			rds_offer_waits(ended));
}

struct view_row {
	const char		*name;
	struct rds_offer_view	view;
	enum rds_drop_reason	drop;
	bool			wins;
};

#define UP	.path = RDS_PATH_UP
#define DIALS	.path = RDS_PATH_CONNECTING
#define NONE	.offer = RDS_OFFER_NONE
#define WAITS	.offer = RDS_OFFER_WAITS
#define IN_USE	.offer = RDS_OFFER_IN_USE
#define NEXT	.offer = RDS_OFFER_NEXT_WAITS
#define PATHS	.multipath = true
#define LOWER	.lower = true
#define KNOWS	.knows_duels = true

static const struct view_row views[] = {
	/* One path */
	{ "down",		{ KNOWS, WAITS } },
	{ "up",			{ UP, KNOWS, NONE } },
	{ "up_used",		{ UP, KNOWS, IN_USE } },
	{ "up_lost",		{ UP, LOWER, WAITS }, RDS_DROP_PEER_RESET },
	{ "up_lost_again",	{ UP, KNOWS, NEXT }, RDS_DROP_PEER_RESET },
	{ "higher_dials",	{ DIALS, KNOWS, NONE } },
	{ "higher_in_duel",	{ DIALS, KNOWS, WAITS }, RDS_DROP_RACED },
	{ "higher_with_stock",	{ DIALS, WAITS } },
	{ "lower_dials",	{ DIALS, LOWER, KNOWS, NONE }, 0, true },
	{ "lower_in_duel",	{ DIALS, LOWER, KNOWS, WAITS }, 0, true },
	{ "lower_with_stock",	{ DIALS, LOWER, WAITS } },
	{ "accepts",		{ DIALS, LOWER, KNOWS, IN_USE } },
	{ "accepts_newer",	{ DIALS, LOWER, KNOWS, NEXT }, RDS_DROP_RACED },
	{ "accepts_newer_of_stock", { DIALS, NEXT }, RDS_DROP_RACED },
	/* With paths, the end that accepts does not dial */
	{ "paths_up",		{ PATHS, UP, KNOWS, WAITS } },
	{ "paths_dial",		{ PATHS, DIALS, KNOWS, WAITS },
				RDS_DROP_RACED },
	{ "paths_lower_dials",	{ PATHS, DIALS, LOWER, WAITS },
				RDS_DROP_RACED },
	{ "paths_accept",	{ PATHS, DIALS, KNOWS, NEXT } },
};

static void view_desc(const struct view_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(views, views, view_desc);

static void what_is_kept(struct kunit *test)
{
	const struct view_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, rds_offer_displaces(&row->view), row->drop);
	KUNIT_EXPECT_EQ(test, rds_offer_wins_duel(&row->view), row->wins);
}

/* In a duel between two ends that know the rule, exactly one keeps its attempt:
 * never both, and never none.
 */
static void one_attempt_survives(struct kunit *test)
{
	struct rds_offer_view view = { DIALS, KNOWS, WAITS };
	bool lower, higher;

	view.lower = true;
	lower = rds_offer_displaces(&view) == RDS_DROP_NONE;
	view.lower = false;
	higher = rds_offer_displaces(&view) == RDS_DROP_NONE;
	KUNIT_EXPECT_NE(test, lower, higher);
}

static struct kunit_case offer_cases[] = {
	KUNIT_CASE_PARAM(every_pair, rows_gen_params),
	KUNIT_CASE_PARAM(last_report_counts, rows_gen_params),
	KUNIT_CASE_PARAM(what_is_kept, views_gen_params),
	KUNIT_CASE(one_attempt_survives),
	{}
};

static struct kunit_suite offer_suite = {
	.name		= "rds_offer",
	.test_cases	= offer_cases,
};

kunit_test_suite(offer_suite);
