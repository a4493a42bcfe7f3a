/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The points at which our modules may fail, in whatever context: see
 * net/rds/test/fail.h. Only modules that RDS_FAIL=1 scripts/build has built
 * have them.
 */
#ifndef RDS_POINTS_H
#define RDS_POINTS_H

#include <stdbool.h>

#define POINTS_MOST 1024

/* How often points have been reached and have failed, by their numbers, which
 * begin with 1
 */
struct points {
	unsigned int nr;
	unsigned long reached[POINTS_MOST + 1];
	unsigned long failed[POINTS_MOST + 1];
};

bool points_read(struct points *points);
/* Have a point fail once, when it is reached the given time from now on. */
bool points_arm(unsigned int id, unsigned long in);
bool points_disarm(void);
/* Print how many points have been reached and have failed since the boot. */
void points_report(void);

#endif /* RDS_POINTS_H */
