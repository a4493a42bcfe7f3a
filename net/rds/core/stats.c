// SPDX-License-Identifier: GPL-2.0-only
/* Counters of core. */
#include "stats.h"

#define RDS_STAT_NAME(name)	#name,

static const char * const rds_stat_names[RDS_STAT_COUNT] = {
	RDS_STATS(RDS_STAT_NAME)
};

/**
 * rds_stat_name() - Get the name of a counter
 * @i: its position, below RDS_STAT_COUNT
 *
 * Context: Any context.
 * Return: the name.
 */
const char *rds_stat_name(unsigned int i)
{
	return rds_stat_names[i];
}
