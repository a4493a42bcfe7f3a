/* SPDX-License-Identifier: GPL-2.0-only */
/* Init and exit of RDS in network namespaces. */
#ifndef _RDS_CORE_NETNS_H
#define _RDS_CORE_NETNS_H

#include "rds_net.h"

void rds_net_for_each(void (*fn)(struct rds_net *rn, void *arg), void *arg);
int rds_net_register(void);
void rds_net_unregister(void);

#endif /* _RDS_CORE_NETNS_H */
