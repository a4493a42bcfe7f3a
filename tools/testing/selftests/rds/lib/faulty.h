/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Make a child process fail in the kernel, at a place that is counted from its
 * start, and learn from it how it has ended. See sweep_tests.h.
 */
#ifndef RDS_FAULTY_H
#define RDS_FAULTY_H

#include <stdbool.h>

/* A place that is never reached */
#define FAULTY_NEVER 1000000000L

/* The last child; shared with it */
struct faulty_run {
	long place;	/* 0: none is to fail */
	bool begun;
	bool ended;	/* by itself; otherwise the rest is not known */
	long left;	/* places that were left before the failure */
	bool passed;
	bool skipped;
};

extern struct faulty_run *faulty_run;

/* Let allocations fail that may sleep, too. Call this once, in the parent. */
bool faulty_set_up(void);
/* Have the next child fail at this place. */
void faulty_arm(long place);
/* Have no other child fail. */
void faulty_disarm(void);

#endif /* RDS_FAULTY_H */
