// SPDX-License-Identifier: GPL-2.0-only
/* The states that may follow a state of a connection: net/rds/ib/cm_table.h. */
#include <kunit/test.h>
#include <linux/bitops.h>

#include "../ib/cm_table.h"

/* The whole table. A row has a letter for each state that may follow, in the
 * order of enum rds_ib_state, which is that of "irdoauc".
 */
static const char * const rows[RDS_IB_STATES] = {
	[RDS_IB_IDLE]		= "-r-o--c",
	[RDS_IB_RESOLVING]	= "--d---c",
	[RDS_IB_DIALING]	= "-----uc",
	[RDS_IB_OFFERED]	= "----a-c",
	[RDS_IB_ACCEPTING]	= "-----uc",
	[RDS_IB_UP]		= "------c",
	[RDS_IB_CLOSED]		= "-------",
};

static void every_pair(struct kunit *test)
{
	unsigned int from, to;

	for (from = 0; from < RDS_IB_STATES; from++) {
		KUNIT_ASSERT_EQ(test, strlen(rows[from]),
				(size_t)RDS_IB_STATES);
		for (to = 0; to < RDS_IB_STATES; to++)
			KUNIT_EXPECT_EQ_MSG(test,
					    rds_ib_state_follows(from, to),
					    rows[from][to] != '-',
					    "from %u to %u", from, to);
	}
}

static void out_of_range(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < RDS_IB_STATES; i++) {
		KUNIT_EXPECT_FALSE(test,
				   rds_ib_state_follows(i, RDS_IB_STATES));
		KUNIT_EXPECT_FALSE(test,
				   rds_ib_state_follows(RDS_IB_STATES, i));
	}
	KUNIT_EXPECT_FALSE(test, rds_ib_state_follows(-1, RDS_IB_CLOSED));
	KUNIT_EXPECT_FALSE(test, rds_ib_state_follows(RDS_IB_UP, -1));
}

/* A state never comes back, so a connection has an end. */
static void no_state_comes_back(struct kunit *test)
{
	unsigned long seen, before;
	unsigned int start, from, to;

	for (start = 0; start < RDS_IB_STATES; start++) {
		seen = 0;
		do {
			before = seen;
			for (to = 0; to < RDS_IB_STATES; to++) {
				if (rds_ib_state_follows(start, to))
					seen |= BIT(to);
				for_each_set_bit(from, &before, RDS_IB_STATES)
					if (rds_ib_state_follows(from, to))
						seen |= BIT(to);
			}
		} while (seen != before);
		KUNIT_EXPECT_FALSE_MSG(test, seen & BIT(start), "state %u",
				       start);
	}
}

/* An action on an event sets the state that it leads to. */
static void events_lead_to_states_that_follow(struct kunit *test)
{
	enum rds_ib_action action;
	unsigned int state, event;
	enum rds_ib_state to;

	for (state = 0; state < RDS_IB_STATES; state++) {
		for (event = 0; event < RDS_IB_EVENTS; event++) {
			action = rds_ib_cm_action(state, event);
			if (action == RDS_IB_DO_REQUEST)
				to = RDS_IB_DIALING;
			else if (action == RDS_IB_DO_COME_UP)
				to = RDS_IB_UP;
			else
				continue;
			KUNIT_EXPECT_TRUE(test,
					  rds_ib_state_follows(state, to));
		}
	}
}

static struct kunit_case ib_state_cases[] = {
	KUNIT_CASE(every_pair),
	KUNIT_CASE(out_of_range),
	KUNIT_CASE(no_state_comes_back),
	KUNIT_CASE(events_lead_to_states_that_follow),
	{}
};

static struct kunit_suite ib_state_suite = {
	.name		= "rds_ib_state",
	.test_cases	= ib_state_cases,
};

kunit_test_suite(ib_state_suite);
