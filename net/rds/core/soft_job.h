/* SPDX-License-Identifier: GPL-2.0-only */
/* RDMA in software: what peers ask for. */
#ifndef _RDS_CORE_SOFT_JOB_H
#define _RDS_CORE_SOFT_JOB_H

#include <linux/types.h>

struct rds_cpath;
struct rds_incoming;
struct rds_soft_frame;

int rds_soft_asked(struct rds_cpath *cp, struct rds_incoming *inc,
		   const struct rds_soft_frame *says);
bool rds_soft_bars(struct rds_cpath *cp, const struct rds_incoming *inc);
int rds_soft_go_on(struct rds_cpath *cp);
int rds_soft_answer(struct rds_cpath *cp);
void rds_soft_jobs_drop(struct rds_cpath *cp);

#endif /* _RDS_CORE_SOFT_JOB_H */
