/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether addresses have come or gone. */
#ifndef _RDS_CORE_ADDR_WATCH_H
#define _RDS_CORE_ADDR_WATCH_H

#include <linux/atomic.h>

extern atomic_t rds_addr_changes;

/**
 * rds_addr_state() - number that changes when an address comes or goes
 *
 * Context: any.
 * Return: the number; of all namespaces.
 */
static inline int rds_addr_state(void)
{
	/* What is looked up after it is not older. */
	return atomic_read_acquire(&rds_addr_changes);
}

int rds_addr_watch_start(void);
void rds_addr_watch_stop(void);

#endif /* _RDS_CORE_ADDR_WATCH_H */
