/* SPDX-License-Identifier: GPL-2.0 */
/* The time, for limits */
#ifndef RDS_CLOCK_H
#define RDS_CLOCK_H

#include <time.h>

static inline long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#endif /* RDS_CLOCK_H */
