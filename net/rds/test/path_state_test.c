// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the states of a path, and of the back-off,
 * net/rds/core/path_state.c.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/random.h>

#include "../core/path_state.h"

#define DAY_MS	(24 * 60 * 60 * 1000)

struct state_row {
	const char		*name;
	enum rds_path_state	state;
	char			letter;
	/* State after each event, by letter; '-': the event does not apply */
	char			after[RDS_EVENTS + 1];
};

/*
 * Events, from left to right: connect, connected, connect failed, drop,
 * shutdown, shutdown done.
 */
static const struct state_row states[] = {
	{ "down",		RDS_PATH_DOWN,		'D', "C--E--" },
	{ "connecting",		RDS_PATH_CONNECTING,	'C', "-UDE--" },
	{ "disconnecting",	RDS_PATH_DISCONNECTING,	'S', "---E-D" },
	{ "up",			RDS_PATH_UP,		'U', "---E--" },
	{ "error",		RDS_PATH_ERROR,		'E', "---ES-" },
};

static void state_desc(const struct state_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(states, states, state_desc);

static char letter_of(enum rds_path_state state)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (states[i].state == state)
			return states[i].letter;
	}
	return '?';
}

static void every_pair(struct kunit *test)
{
	const struct state_row *row = test->param_value;
	const enum rds_path_state untouched = 99;
	enum rds_path_state to;
	unsigned int event;
	bool applies;

	KUNIT_ASSERT_EQ(test, strlen(row->after), (size_t)RDS_EVENTS);

	for (event = 0; event < RDS_EVENTS; event++) {
		to = untouched;
		applies = rds_path_next_state(row->state, event, &to);
		KUNIT_EXPECT_EQ_MSG(test, applies ? letter_of(to) : '-',
				    row->after[event], "event %u", event);
		if (!applies)
			KUNIT_EXPECT_EQ(test, to, untouched);
	}
}

static void table_is_complete(struct kunit *test)
{
	unsigned int state;

	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(states), (size_t)RDS_PATH_STATES);
	for (state = 0; state < RDS_PATH_STATES; state++)
		KUNIT_EXPECT_NE_MSG(test, letter_of(state), '?', "%u", state);
}

/* Return a mask of the states that can be reached from @from, and of itself. */
static unsigned long reachable(enum rds_path_state from)
{
	unsigned long seen = BIT(from), before;
	unsigned int state, event;
	enum rds_path_state to;

	do {
		before = seen;
		for_each_set_bit(state, &before, RDS_PATH_STATES) {
			for (event = 0; event < RDS_EVENTS; event++) {
				if (rds_path_next_state(state, event, &to))
					seen |= BIT(to);
			}
		}
	} while (seen != before);
	return seen;
}

static void every_state_leads_everywhere(struct kunit *test)
{
	const struct state_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, reachable(row->state),
			(unsigned long)GENMASK(RDS_PATH_STATES - 1, 0));
}

static void error_leaves_by_shutdown_alone(struct kunit *test)
{
	enum rds_path_state to;
	unsigned int event;

	for (event = 0; event < RDS_EVENTS; event++) {
		if (!rds_path_next_state(RDS_PATH_ERROR, event, &to))
			continue;
		if (event == RDS_EV_SHUTDOWN)
			KUNIT_EXPECT_EQ(test, to, RDS_PATH_DISCONNECTING);
		else
			KUNIT_EXPECT_EQ(test, to, RDS_PATH_ERROR);
	}
}

static void drop_applies_always(struct kunit *test)
{
	const struct state_row *row = test->param_value;
	enum rds_path_state to;

	KUNIT_EXPECT_TRUE(test, rds_path_next_state(row->state, RDS_EV_DROP,
						    &to));
	KUNIT_EXPECT_EQ(test, to, RDS_PATH_ERROR);
}

static void out_of_range(struct kunit *test)
{
	static const int bad[] = { -1, 100, INT_MAX, INT_MIN };
	enum rds_path_state to = RDS_PATH_UP;
	unsigned int i;

	KUNIT_EXPECT_FALSE(test, rds_path_next_state(RDS_PATH_STATES,
						     RDS_EV_DROP, &to));
	KUNIT_EXPECT_FALSE(test, rds_path_next_state(RDS_PATH_DOWN,
						     RDS_EVENTS, &to));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_FALSE(test, rds_path_next_state(bad[i],
							     RDS_EV_DROP,
							     &to));
		KUNIT_EXPECT_FALSE(test, rds_path_next_state(RDS_PATH_DOWN,
							     bad[i], &to));
	}
	KUNIT_EXPECT_EQ(test, to, RDS_PATH_UP);
}

struct backoff_row {
	const char	*name;
	u32		cur, min, max;
	u32		next;	/* ceiling of the attempt after this one */
};

static const struct backoff_row backoffs[] = {
	{ "first",			0,	10,	1000,	10 },
	{ "first_min_0",		0,	0,	1000,	1 },
	{ "first_min_above_max",	0,	50,	10,	50 },
	{ "first_all_zero",		0,	0,	0,	1 },
	{ "doubles",			10,	10,	1000,	20 },
	{ "doubles_again",		20,	10,	1000,	40 },
	{ "doubles_to_the_cap",		500,	10,	1000,	1000 },
	{ "capped",			640,	10,	1000,	1000 },
	{ "stays_at_the_cap",		1000,	10,	1000,	1000 },
	{ "odd_cap",			3,	1,	7,	6 },
	{ "odd_cap_reached",		6,	1,	7,	7 },
	{ "cap_was_lowered",		1000,	10,	100,	100 },
	{ "stays_with_min_above_max",	50,	50,	10,	50 },
	{ "least",			1,	1,	1,	1 },
	{ "longest",			DAY_MS,	1,	DAY_MS,	DAY_MS },
	{ "no_overflow",	0xc0000000,	1, U32_MAX,	U32_MAX },
	{ "greatest",			U32_MAX, 1, U32_MAX,	U32_MAX },
};

static void backoff_desc(const struct backoff_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(backoffs, backoffs, backoff_desc);

static void backoff(struct kunit *test)
{
	static const u32 randoms[] = { 0, 1, 7, 12345, INT_MAX, U32_MAX };
	const struct backoff_row *row = test->param_value;
	u32 cur, delay;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(randoms); i++) {
		cur = row->cur;
		delay = rds_backoff_next(&cur, row->min, row->max, randoms[i]);
		KUNIT_EXPECT_EQ(test, cur, row->next);
		KUNIT_EXPECT_LE(test, delay, row->cur);
	}
}

/* Delays use the whole range below the ceiling. */
static void backoff_spreads(struct kunit *test)
{
	unsigned int seen[16] = {};
	u32 rnd, cur, delay;

	for (rnd = 0; rnd < 256; rnd++) {
		cur = 16;
		delay = rds_backoff_next(&cur, 1, 1000, rnd);
		KUNIT_ASSERT_LE(test, delay, 16U);
		seen[min(delay, 15U)]++;
	}
	for (rnd = 0; rnd < ARRAY_SIZE(seen); rnd++)
		KUNIT_EXPECT_GE_MSG(test, seen[rnd], 15U, "delay %u", rnd);
}

static void backoff_random(struct kunit *test)
{
	u32 min_ms, max_ms, cur, before, delay;
	unsigned int round, step;

	for (round = 0; round < 1000; round++) {
		min_ms = get_random_u32() % DAY_MS;
		max_ms = get_random_u32() % DAY_MS;
		cur = 0;
		for (step = 0; step < 40; step++) {
			before = cur;
			delay = rds_backoff_next(&cur, min_ms, max_ms,
						 get_random_u32());
			KUNIT_ASSERT_LE(test, delay, before);
			KUNIT_ASSERT_GE(test, cur, max(min_ms, before));
			KUNIT_ASSERT_LE(test, cur, max3(min_ms, max_ms, 1U));
		}
		KUNIT_ASSERT_EQ(test, cur, max3(min_ms, max_ms, 1U));
	}
}

static struct kunit_case path_state_cases[] = {
	KUNIT_CASE(table_is_complete),
	KUNIT_CASE_PARAM(every_pair, states_gen_params),
	KUNIT_CASE_PARAM(every_state_leads_everywhere, states_gen_params),
	KUNIT_CASE_PARAM(drop_applies_always, states_gen_params),
	KUNIT_CASE(error_leaves_by_shutdown_alone),
	KUNIT_CASE(out_of_range),
	KUNIT_CASE_PARAM(backoff, backoffs_gen_params),
	KUNIT_CASE(backoff_spreads),
	KUNIT_CASE(backoff_random),
	{}
};

static struct kunit_suite path_state_suite = {
	.name		= "rds_path_state",
	.test_cases	= path_state_cases,
};

kunit_test_suite(path_state_suite);
