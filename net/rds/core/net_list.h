/* SPDX-License-Identifier: GPL-2.0-only */
/* All namespaces. */
#ifndef _RDS_CORE_NET_LIST_H
#define _RDS_CORE_NET_LIST_H

#include "rds_net.h"

void rds_net_for_each(void (*fn)(struct rds_net *rn, void *arg), void *arg);
int rds_net_register(void);
void rds_net_unregister(void);

#endif /* _RDS_CORE_NET_LIST_H */
