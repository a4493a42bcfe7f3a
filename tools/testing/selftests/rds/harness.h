/* SPDX-License-Identifier: GPL-2.0 */
/* The kselftest harness as the RDS tests use it */
#ifndef RDS_HARNESS_H
#define RDS_HARNESS_H

/* First: it selects the GNU declarations */
#include "kselftest_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rds_test.h"

/*
 * How long a hanging test may hang. A kernel with every debugging option,
 * emulated on a shared machine, needs seconds for what takes others
 * milliseconds; no verdict depends on it.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 150

/* For tests that are told how long to go on: no limit but the guest's own */
#define LONG 86400

static inline long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/*
 * Every program runs in a network namespace of its own, which its tests
 * share: they use ports of their own, or such as they free again. What needs
 * a namespace that nobody has used makes one. (One each would be neater, but
 * a namespace takes a debug kernel a second.)
 */
static void __attribute__((constructor)) rds_enter_netns(void)
{
	if (!rds_netns())
		return;
	perror("Cannot enter a network namespace (tests must run as root)");
	exit(KSFT_FAIL);
}

/* Whether RDS_VARIANTS, where it is set, names it with commas around */
static inline bool rds_wants_variant(const char *variant)
{
	const char *variants = getenv("RDS_VARIANTS");
	char name[64];

	snprintf(name, sizeof(name), ",%s,", variant);
	return !variants || strstr(variants, name);
}

/* Only those are run that are wanted. */
static inline void rds_choose_variants(struct __fixture_metadata *fixture,
				       bool (*wants)(const char *variant))
{
	struct __fixture_variant_metadata **link = &fixture->variant;

	while (*link)
		if (wants((*link)->name))
			link = &(*link)->next;
		else
			*link = (*link)->next;
}

#endif /* RDS_HARNESS_H */
