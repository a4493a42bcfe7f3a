// SPDX-License-Identifier: GPL-2.0-only
/* CM events in each state of a connection: net/rds/ib/cm_table.h. */
#include <kunit/test.h>

#include "../ib/cm_table.h"

/* The whole table. A row has a letter for each event, in the order of enum
 * rds_ib_event. The letter stands for the action:
 *	r route, q request, u come up, f fail, x refused, l lose, a abandon
 */
static const char * const rows[RDS_IB_STATES] = {
	[RDS_IB_IDLE]		= "-------",
	[RDS_IB_RESOLVING]	= "rq-f--a",
	[RDS_IB_DIALING]	= "--ufxfa",
	[RDS_IB_OFFERED]	= "---fxfa",
	[RDS_IB_ACCEPTING]	= "--ufxfa",
	[RDS_IB_UP]		= "---l-la",
	[RDS_IB_CLOSED]		= "-------",
};

static const char letters[] = {
	[RDS_IB_DO_NOTHING]	= '-',
	[RDS_IB_DO_ROUTE]	= 'r',
	[RDS_IB_DO_REQUEST]	= 'q',
	[RDS_IB_DO_COME_UP]	= 'u',
	[RDS_IB_DO_FAIL]	= 'f',
	[RDS_IB_DO_REFUSED]	= 'x',
	[RDS_IB_DO_LOSE]	= 'l',
	[RDS_IB_DO_ABANDON]	= 'a',
};

static void every_pair(struct kunit *test)
{
	enum rds_ib_action action;
	unsigned int state, event;

	for (state = 0; state < RDS_IB_STATES; state++) {
		for (event = 0; event < RDS_IB_EVENTS; event++) {
			action = rds_ib_cm_action(state, event);
			KUNIT_ASSERT_LT(test, (size_t)action,
					ARRAY_SIZE(letters));
			KUNIT_EXPECT_EQ_MSG(test, letters[action],
					    rows[state][event],
					    "state %u, event %u", state, event);
		}
	}
}

static void out_of_range(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < RDS_IB_STATES; i++)
		KUNIT_EXPECT_EQ(test, rds_ib_cm_action(i, RDS_IB_EVENTS),
				RDS_IB_DO_NOTHING);
	KUNIT_EXPECT_EQ(test, rds_ib_cm_action(RDS_IB_STATES, 0),
			RDS_IB_DO_NOTHING);
	KUNIT_EXPECT_EQ(test, rds_ib_cm_action(-1, -1), RDS_IB_DO_NOTHING);
}

/* The device may go away in any state. Then the connection must end. */
static void gone_ends_all(struct kunit *test)
{
	unsigned int state;

	for (state = RDS_IB_RESOLVING; state < RDS_IB_CLOSED; state++)
		KUNIT_EXPECT_EQ(test, rds_ib_cm_action(state, RDS_IB_EV_GONE),
				RDS_IB_DO_ABANDON);
}

static struct kunit_case ib_cm_table_cases[] = {
	KUNIT_CASE(every_pair),
	KUNIT_CASE(out_of_range),
	KUNIT_CASE(gone_ends_all),
	{}
};

static struct kunit_suite ib_cm_table_suite = {
	.name		= "rds_ib_cm_table",
	.test_cases	= ib_cm_table_cases,
};

kunit_test_suite(ib_cm_table_suite);
