/* SPDX-License-Identifier: GPL-2.0-only */
/* The work item of a path */
#ifndef _RDS_CORE_PATH_WORK_H
#define _RDS_CORE_PATH_WORK_H

#include "path.h"

void rds_path_work(struct work_struct *work);
void rds_path_shut_down_idle(struct rds_cpath *cp);
void rds_path_shut_down_dead(struct rds_cpath *cp);

#endif /* _RDS_CORE_PATH_WORK_H */
