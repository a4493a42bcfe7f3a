/* SPDX-License-Identifier: GPL-2.0-only */
/* Detects that local addresses have been added or removed. */
#ifndef _RDS_CORE_ADDR_WATCH_H
#define _RDS_CORE_ADDR_WATCH_H

#include <linux/atomic.h>

#include "rds_net.h"

extern atomic_t rds_addr_settlings;

/**
 * rds_addr_state() - Read the counter of local address changes
 * @rn: the namespace
 *
 * Context: Any context.
 * Return: the counter, which differs after each change.
 */
static inline int rds_addr_state(const struct rds_net *rn)
{
	/* A lookup that follows sees addresses that are no older than the
	 * counters. Pairs with the barrier in rds_addr_count().
	 */
	return atomic_read_acquire(&rn->rn_addr_changes) +
	       atomic_read_acquire(&rds_addr_settlings);
}

int rds_addr_watch_start(void);
void rds_addr_watch_stop(void);

#endif /* _RDS_CORE_ADDR_WATCH_H */
