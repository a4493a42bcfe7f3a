/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/sys/net/rds */
#ifndef _RDS_CORE_SYSCTL_H
#define _RDS_CORE_SYSCTL_H

#include <linux/minmax.h>

#include "rds_net.h"

/**
 * rds_sysctl_limit() - the value of a limit on memory
 * @rn: the namespace
 * @field: of struct rds_sysctl
 *
 * It is the host's memory: whoever owns another namespace may have less of it
 * than the first, but not more.
 *
 * Context: any.
 */
#define rds_sysctl_limit(rn, field)					\
	min(READ_ONCE((rn)->rn_sysctl.field),				\
	    READ_ONCE((rn)->rn_host->rn_sysctl.field))

/**
 * rds_rx_held_max() - bytes of memory that unread messages may hold
 * @rn: the namespace
 *
 * Context: any.
 * Return: how many.
 */
static inline int rds_rx_held_max(const struct rds_net *rn)
{
	return rds_sysctl_limit(rn, rx_held_max);
}

int rds_sysctl_net_init(struct rds_net *rn);
void rds_sysctl_net_exit(struct rds_net *rn);

#endif /* _RDS_CORE_SYSCTL_H */
