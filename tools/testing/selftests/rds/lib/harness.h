/* SPDX-License-Identifier: GPL-2.0 */
/* The kselftest harness as the RDS tests use it */
#ifndef RDS_HARNESS_H
#define RDS_HARNESS_H

/* This must come first, because it selects the GNU declarations. */
#include "kselftest_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "rds_test.h"
#include "sweep_tests.h"

/*
 * Time limit of a test, in seconds. It only ends a test that hangs; no result
 * depends on it. An emulated kernel with all debugging options, on a shared
 * machine, needs seconds for what takes other kernels milliseconds.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 150

/*
 * Time limit for tests whose duration is a parameter. In effect only the limit
 * of the guest applies.
 */
#define LONG 86400

/*
 * Every program runs in a network namespace of its own, which its tests share.
 * So each test uses ports of its own, or ports that the tests before it have
 * freed. A test that needs an unused namespace creates one. (One namespace per
 * test would be cleaner, but a debug kernel takes a second to create one.)
 */
static void __attribute__((constructor)) rds_enter_netns(void)
{
	if (!rds_netns())
		return;
	perror("Cannot enter a network namespace (tests must run as root)");
	exit(KSFT_FAIL);
}

/* Leave out all tests of @fixture. */
static inline void rds_drop_fixture(struct __fixture_metadata *fixture)
{
	struct __fixture_metadata **link = &__fixture_list;

	while (*link != fixture)
		link = &(*link)->next;
	*link = fixture->next;
	if (fixture->next)
		fixture->next->prev = fixture->prev;
	else
		__fixture_list->prev = fixture->prev;
}

/*
 * Remove the variants of @fixture for which @wants returns false. If none is
 * left, the tests run without one.
 */
static inline void rds_filter_variants(struct __fixture_metadata *fixture,
				       bool (*wants)(const char *variant))
{
	struct __fixture_variant_metadata **link = &fixture->variant;

	while (*link)
		if (wants((*link)->name))
			link = &(*link)->next;
		else
			*link = (*link)->next;
}

/* The same; but if none is left, leave out the tests. */
static inline void rds_choose_variants(struct __fixture_metadata *fixture,
				       bool (*wants)(const char *variant))
{
	rds_filter_variants(fixture, wants);
	if (!fixture->variant)
		rds_drop_fixture(fixture);
}

#endif /* RDS_HARNESS_H */
