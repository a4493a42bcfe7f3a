/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Make each point (lib/points.h) fail once that is reached while something is
 * set up: it is set up again and again, and each time one more point succeeds
 * before one fails, until none fails, or POINTS_LIMIT have failed.
 *
 * This needs modules that RDS_FAIL=1 scripts/build has built.
 */
#ifndef RDS_POINT_SWEEP_H
#define RDS_POINT_SWEEP_H

#include <stdio.h>

#include "points.h"

#define POINTS_LIMIT 400

struct set_up {
	const char *name;
	long (*run)(const struct set_up *what);
	/* Returns whether all is well, after run() has returned @ret. */
	bool (*verify)(const struct set_up *what, long ret);
};

static inline unsigned long failures(void)
{
	unsigned long sum = 0;
	struct points points;
	unsigned int id;

	if (!points_read(&points))
		return 0;
	for (id = 1; id <= points.nr; id++)
		sum += points.failed[id];
	return sum;
}

/* Returns whether all outcomes are right, and there have been more failures
 * than @wanted.
 */
static inline bool sweep_set_up(const struct set_up *what, unsigned int wanted)
{
	unsigned long before, after;
	unsigned int in;
	long ret;

	for (in = 1; in <= POINTS_LIMIT; in++) {
		before = failures();
		if (!points_arm(0, in))
			return false;
		ret = what->run(what);
		if (!points_disarm())
			return false;
		after = failures();
		if (!what->verify(what, ret) || (ret && after == before)) {
			fprintf(stderr, "# %s: point %u: returned %ld, but\n",
				what->name, in, ret);
			return false;
		}
		if (after == before)
			break;
	}
	fprintf(stderr, "# %s: %u failures\n", what->name, in - 1);
	return in > wanted;
}

#endif /* RDS_POINT_SWEEP_H */
