/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/sys/net/rds */
#ifndef _RDS_CORE_SYSCTL_H
#define _RDS_CORE_SYSCTL_H

#include "rds_net.h"

int rds_sysctl_net_init(struct rds_net *rn);
void rds_sysctl_net_exit(struct rds_net *rn);

#endif /* _RDS_CORE_SYSCTL_H */
