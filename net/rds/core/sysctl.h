/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/sys/net/rds */
#ifndef _RDS_CORE_SYSCTL_H
#define _RDS_CORE_SYSCTL_H

#include <linux/minmax.h>

#include "rds_net.h"

/**
 * rds_sysctl_limit() - Read a limit on memory
 * @rn: the namespace
 * @field: the limit, a member of struct rds_sysctl
 *
 * All namespaces share the memory of the host. The limit of the first namespace
 * therefore bounds that of every other one.
 *
 * Context: Any context.
 * Return: the limit of @rn or that of the first namespace, whichever is lower.
 */
#define rds_sysctl_limit(rn, field)					\
	min(READ_ONCE((rn)->rn_sysctl.field),				\
	    READ_ONCE((rn)->rn_host->rn_sysctl.field))

/**
 * rds_rx_held_max() - Read the limit on memory held by unread messages
 * @rn: the namespace
 *
 * Context: Any context.
 * Return: the limit in bytes.
 */
static inline int rds_rx_held_max(const struct rds_net *rn)
{
	return rds_sysctl_limit(rn, rx_held_max);
}

int rds_sysctl_net_init(struct rds_net *rn);
void rds_sysctl_net_exit(struct rds_net *rn);

#endif /* _RDS_CORE_SYSCTL_H */
