/* SPDX-License-Identifier: GPL-2.0-only */
/* Moments that may be so long ago that jiffies have wrapped since. */
#ifndef _RDS_CORE_DELAY_H
#define _RDS_CORE_DELAY_H

#include <linux/jiffies.h>
#include <linux/minmax.h>

/**
 * rds_delay_left() - Compute how long it is until a moment
 * @at: the moment, in jiffies
 * @most: how far ahead it was at most when it was set, in jiffies
 *
 * time_before() would take a moment for one of the future again when half the
 * range of jiffies has passed, which is after 25 days on a 32-bit machine.
 *
 * Context: Any context.
 * Return: the time in jiffies; 0 if the moment has passed.
 */
static inline long rds_delay_left(unsigned long at, long most)
{
	long left = at - jiffies;

	return left <= most ? max(left, 0L) : 0;
}

#endif /* _RDS_CORE_DELAY_H */
