/* SPDX-License-Identifier: GPL-2.0-only */
/* Software RDMA between addresses of this host. */
#ifndef _RDS_CORE_SW_LOCAL_H
#define _RDS_CORE_SW_LOCAL_H

#include "path.h"

struct rds_op;

bool rds_sw_put_result(const struct rds_op *op, u64 old);
int rds_sw_do_here(struct rds_cpath *cp, struct rds_message *msg);

#endif /* _RDS_CORE_SW_LOCAL_H */
