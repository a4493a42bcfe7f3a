/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run the tests of a program with faults. If RDS_FAULTS is set, each test is
 * run first to count the places at which its process may fail in the kernel
 * (allocations, and accesses to user memory), then that many times, each time
 * with a failure at another place, chosen at random, and at last without one.
 *
 * With a failure a test may fail, or time out, and nobody cares: what counts is
 * that the kernel does not complain, and that the test passes before and after.
 *
 * Only the first thread of a test fails this way. What the kernel does for it
 * in softirqs and work items does not.
 *
 * If RDS_POINTS is set, the calls of our modules fail instead, in any context:
 * see points.h. Each point that a test reaches fails once, unless it has failed
 * that many times since the boot.
 */
#ifndef RDS_SWEEP_TESTS_H
#define RDS_SWEEP_TESTS_H

#include <fcntl.h>
#include <sys/mman.h>

#include "faulty.h"
#include "points.h"
#include "veth.h"

/* Seconds after which a test with a failure is killed: it may wait for what has
 * never been sent.
 */
#define SWEEP_TIMEOUT 3

struct rds_tally {
	unsigned int failures;
	unsigned int failed;
	unsigned int timed_out;
};

/* Send what is written there to /dev/null. Returns what it was. */
static inline int rds_silence(int fd)
{
	int was = dup(fd), null = open("/dev/null", O_WRONLY);

	dup2(null, fd);
	close(null);
	return was;
}

static inline void rds_restore(int fd, int was)
{
	dup2(was, fd);
	close(was);
}

/* Run a test with a failure at this place. What it prints is of interest only
 * if nothing is to fail.
 */
static inline void rds_run_faulty(struct __fixture_metadata *fixture,
				  struct __fixture_variant_metadata *variant,
				  struct __test_metadata *test, long place,
				  bool fails)
{
	int out, err = -1;

	fflush(stdout);
	out = rds_silence(STDOUT_FILENO);
	if (fails)
		err = rds_silence(STDERR_FILENO);
	faulty_arm(place);
	__run_test(fixture, variant, test);
	faulty_disarm();
	fflush(stdout);
	rds_restore(STDOUT_FILENO, out);
	if (err >= 0)
		rds_restore(STDERR_FILENO, err);
}

static inline struct rds_tally
rds_sweep_places(struct __fixture_metadata *fixture,
		 struct __fixture_variant_metadata *variant,
		 struct __test_metadata *test, long places, long most)
{
	long step, steps = places < most ? places : most;
	struct rds_tally tally = {};

	test->timeout = SWEEP_TIMEOUT;
	for (step = 0; step < steps; step++) {
		rds_run_faulty(fixture, variant, test, 1 +
			       (step * places + random() % places) / steps,
			       true);
		tally.failures += faulty_run->ended && !faulty_run->left;
		tally.failed += !faulty_run->passed;
		tally.timed_out += test->timed_out;
	}
	return tally;
}

/* Have each point fail that the test has reached since @before. */
static inline struct rds_tally
rds_sweep_points(struct __fixture_metadata *fixture,
		 struct __fixture_variant_metadata *variant,
		 struct __test_metadata *test, const struct points *before,
		 long most)
{
	struct rds_tally tally = {};
	struct points reached, now;
	unsigned long times;
	unsigned int id;

	test->timeout = SWEEP_TIMEOUT;
	if (!points_read(&reached))
		return tally;
	for (id = 1; id <= reached.nr; id++) {
		times = reached.reached[id] - before->reached[id];
		if (!times || reached.failed[id] >= (unsigned long)most ||
		    !points_arm(id, 1 + random() % times))
			continue;
		rds_run_faulty(fixture, variant, test, FAULTY_NEVER, true);
		if (!points_disarm() || !points_read(&now))
			break;
		tally.failures += now.failed[id] != reached.failed[id];
		tally.failed += !faulty_run->passed;
		tally.timed_out += test->timed_out;
	}
	return tally;
}

/* Run a test without a failure. Earlier runs may have left something in the
 * namespace that all tests share. So if it does not pass, it is run again in
 * another one.
 */
static inline bool rds_run_whole(struct __fixture_metadata *fixture,
				 struct __fixture_variant_metadata *variant,
				 struct __test_metadata *test)
{
	rds_run_faulty(fixture, variant, test, FAULTY_NEVER, false);
	if (faulty_run->passed || faulty_run->skipped)
		return true;
	ksft_print_msg("once more, in another namespace\n");
	if (!veth_renew())
		return false;
	rds_run_faulty(fixture, variant, test, FAULTY_NEVER, false);
	return faulty_run->passed;
}

/* Failures of all tests of the program: without any, nothing was tried. */
static unsigned long rds_failures;

/* Whether points fail, instead of places */
static bool rds_by_points;

/* Returns whether the test passes without a failure. */
static inline bool rds_sweep_test(struct __fixture_metadata *fixture,
				  struct __fixture_variant_metadata *variant,
				  struct __test_metadata *test, long most)
{
	struct rds_tally tally = {};
	int timeout = test->timeout;
	struct points before;
	long places;

	if (rds_by_points && !points_read(&before))
		return false;
	if (!rds_run_whole(fixture, variant, test))
		return false;
	if (faulty_run->skipped)
		return true;
	places = FAULTY_NEVER - faulty_run->left;
	if (rds_by_points)
		tally = rds_sweep_points(fixture, variant, test, &before, most);
	else if (places > 0)
		tally = rds_sweep_places(fixture, variant, test, places, most);
	ksft_print_msg("%ld places, %u failures, %u failed tests, %u killed\n",
		       places, tally.failures, tally.failed, tally.timed_out);

	test->timeout = timeout;
	rds_failures += tally.failures;
	return rds_run_whole(fixture, variant, test);
}

static inline int rds_sweep_tests(long most)
{
	struct __fixture_variant_metadata none = { .name = "" }, *variant;
	struct __fixture_metadata *fixture;
	struct __test_results *results;
	struct __test_metadata *test;
	unsigned int count = 0;
	bool passes, all = true;

	results = mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED || !faulty_set_up())
		return KSFT_FAIL;

	srandom(getpid());
	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		for (variant = fixture->variant ?: &none; variant;
		     variant = variant->next) {
			for (test = fixture->tests; test; test = test->next) {
				test->results = results;
				passes = rds_sweep_test(fixture, variant, test,
							most);
				all = all && passes;
				printf("%s %u %s%s%s.%s\n",
				       passes ? "ok" : "not ok", ++count,
				       fixture->name,
				       variant->name[0] ? "." : "",
				       variant->name, test->name);
			}
		}
	}
	/* The points that a program reaches may have failed in others. */
	if (rds_by_points)
		points_report();
	else
		printf("%s %u failures occur\n", rds_failures ? "ok" : "not ok",
		       ++count);
	printf("1..%u\n", count);
	return all && (rds_by_points || rds_failures) ? KSFT_PASS : KSFT_FAIL;
}

/* In place of test_harness_run() of the harness */
static inline int rds_run_tests(int argc, char **argv)
{
	const char *points = getenv("RDS_POINTS");
	const char *faults = getenv("RDS_FAULTS");

	rds_by_points = points;
	if (points || faults)
		return rds_sweep_tests(atol(points ?: faults));
	return test_harness_run(argc, argv);
}

#define test_harness_run rds_run_tests

#endif /* RDS_SWEEP_TESTS_H */
