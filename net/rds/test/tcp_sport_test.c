// SPDX-License-Identifier: GPL-2.0-only
/* Source ports that identify the path: net/rds/tcp/sport.h. */
#include <kunit/test.h>
#include <linux/limits.h>

#include "../tcp/sport.h"

struct range_row {
	const char	*name;
	int		low;
	int		high;
	u32		base;
	u32		groups;
};

static const struct range_row ranges[] = {
	{ "default", 32768, 60999, 32768, 3529 },
	{ "all", 1024, 65535, 1024, 8064 },
	{ "unaligned", 32769, 60999, 32776, 3528 },
	{ "last_of_a_group", 32775, 32783, 32776, 1 },
	{ "one_group", 40000, 40007, 40000, 1 },
	{ "one_port_short", 40000, 40006, 0, 0 },
	{ "one_group_in_the_middle", 40001, 40015, 40008, 1 },
	{ "none_in_the_middle", 40001, 40014, 0, 0 },
	{ "one_port", 50000, 50000, 0, 0 },
	{ "from_port_1", 1, 15, 8, 1 },
	{ "to_the_end", 65528, 65535, 65528, 1 },
	{ "past_the_last_group", 65529, 65535, 0, 0 },
	{ "upside_down", 60999, 32768, 0, 0 },
	{ "zero", 0, 100, 0, 0 },
	{ "negative", -8, 100, 0, 0 },
	{ "too_high", 65528, 65536, 0, 0 },
	{ "huge", INT_MAX - 3, INT_MAX, 0, 0 },
};

static void range_desc(const struct range_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ranges, ranges, range_desc);

static void groups_of_a_range(struct kunit *test)
{
	const struct range_row *row = test->param_value;
	struct rds_tcp_sports sp;

	rds_tcp_sports_init(&sp, row->low, row->high);
	KUNIT_EXPECT_EQ(test, sp.sp_groups, row->groups);
	KUNIT_EXPECT_EQ(test, sp.sp_base, row->base);
}

/* Each port of each group is in the range, and identifies its path. */
static void ports_name_their_path(struct kunit *test)
{
	const struct range_row *row = test->param_value;
	struct rds_tcp_sports sp;
	u32 group;
	u16 port;
	u8 index;

	rds_tcp_sports_init(&sp, row->low, row->high);
	for (group = 0; group < sp.sp_groups; group++) {
		for (index = 0; index < RDS_MAX_PATHS; index++) {
			port = rds_tcp_sport(&sp, group, index);
			KUNIT_ASSERT_GE(test, (int)port, row->low);
			KUNIT_ASSERT_LE(test, (int)port, row->high);
			KUNIT_ASSERT_EQ(test, rds_tcp_sport_index(port), index);
		}
	}
}

/* No two ports are the same. */
static void ports_differ(struct kunit *test)
{
	const struct range_row *row = test->param_value;
	struct rds_tcp_sports sp;
	unsigned long *seen;
	u32 group;
	u16 port;
	u8 index;

	seen = kunit_kzalloc(test, BITS_TO_LONGS(U16_MAX + 1) *
			     sizeof(unsigned long), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seen);

	rds_tcp_sports_init(&sp, row->low, row->high);
	for (group = 0; group < sp.sp_groups; group++) {
		for (index = 0; index < RDS_MAX_PATHS; index++) {
			port = rds_tcp_sport(&sp, group, index);
			KUNIT_ASSERT_FALSE(test, test_and_set_bit(port, seen));
		}
	}
}

static void groups_run_round(struct kunit *test)
{
	struct rds_tcp_sports sp;

	rds_tcp_sports_init(&sp, 40000, 40023);
	KUNIT_ASSERT_EQ(test, sp.sp_groups, 3U);
	KUNIT_EXPECT_EQ(test, (int)rds_tcp_sport(&sp, 0, 5), 40005);
	KUNIT_EXPECT_EQ(test, (int)rds_tcp_sport(&sp, 2, 5), 40021);
	KUNIT_EXPECT_EQ(test, (int)rds_tcp_sport(&sp, 3, 5), 40005);
	KUNIT_EXPECT_EQ(test, (int)rds_tcp_sport(&sp, U32_MAX, 0), 40000);
}

static struct kunit_case tcp_sport_cases[] = {
	KUNIT_CASE_PARAM(groups_of_a_range, ranges_gen_params),
	KUNIT_CASE_PARAM(ports_name_their_path, ranges_gen_params),
	KUNIT_CASE_PARAM(ports_differ, ranges_gen_params),
	KUNIT_CASE(groups_run_round),
	{}
};

static struct kunit_suite tcp_sport_suite = {
	.name		= "rds_tcp_sport",
	.test_cases	= tcp_sport_cases,
};

kunit_test_suite(tcp_sport_suite);
