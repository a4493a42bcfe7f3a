// SPDX-License-Identifier: GPL-2.0-only
/* Tests of frames that share a transmission, net/rds/core/coalesce.c. */
#include <kunit/test.h>

#include "../core/coalesce.h"
#include "../core/path_parts.h"

/* Let the work item run a number of times, each time for some frames. */
static void run(struct kunit *test, struct rds_path_coalesce *pc,
		unsigned int runs, unsigned int frames)
{
	unsigned int i;

	while (runs--) {
		for (i = 1; i <= frames; i++)
			KUNIT_ASSERT_EQ(test, rds_coalesce_add(pc), i);
		rds_coalesce_end(pc);
	}
}

/* The sender of the first frame kicks the work item, and so does the first one
 * after each run.
 */
static void frames_are_counted_from_run_to_run(struct kunit *test)
{
	struct rds_path_coalesce pc = {};

	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 1);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 2);
	rds_coalesce_end(&pc);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 1);
}

/* If the work item does not run, frames do not wait without limit. */
static void the_number_of_frames_is_limited(struct kunit *test)
{
	struct rds_path_coalesce pc = {};
	unsigned int left = 0;

	while (rds_coalesce_add(&pc))
		KUNIT_ASSERT_LT(test, left++, 100);
	KUNIT_EXPECT_EQ(test, left, 31);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 0);
	rds_coalesce_end(&pc);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 1);
}

static void frames_left_alone_are_sent_at_once_for_a_while(struct kunit *test)
{
	struct rds_path_coalesce pc = {};
	unsigned int i;

	run(test, &pc, RDS_COALESCE_RUNS, 1);
	for (i = 0; i < RDS_COALESCE_REST; i++)
		KUNIT_ASSERT_EQ(test, rds_coalesce_add(&pc), 0);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 1);
}

/* The work item also runs for other reasons. */
static void runs_without_frames_do_not_count(struct kunit *test)
{
	struct rds_path_coalesce pc = {};

	run(test, &pc, 10 * RDS_COALESCE_RUNS, 0);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 1);
}

/* Five frames in four runs are just enough. */
static void frames_that_share_enough_are_left(struct kunit *test)
{
	struct rds_path_coalesce pc = {};

	run(test, &pc, RDS_COALESCE_RUNS / 4, 2);
	run(test, &pc, RDS_COALESCE_RUNS - RDS_COALESCE_RUNS / 4, 1);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 1);
	rds_coalesce_end(&pc);

	run(test, &pc, RDS_COALESCE_RUNS / 4 - 1, 2);
	run(test, &pc, RDS_COALESCE_RUNS - RDS_COALESCE_RUNS / 4, 1);
	KUNIT_EXPECT_EQ(test, rds_coalesce_add(&pc), 0);
}

static struct kunit_case coalesce_cases[] = {
	KUNIT_CASE(frames_are_counted_from_run_to_run),
	KUNIT_CASE(the_number_of_frames_is_limited),
	KUNIT_CASE(frames_left_alone_are_sent_at_once_for_a_while),
	KUNIT_CASE(runs_without_frames_do_not_count),
	KUNIT_CASE(frames_that_share_enough_are_left),
	{}
};

static struct kunit_suite coalesce_suite = {
	.name		= "rds_coalesce",
	.test_cases	= coalesce_cases,
};

kunit_test_suite(coalesce_suite);
