/* SPDX-License-Identifier: GPL-2.0-only */
/* Connecting a path */
#ifndef _RDS_CORE_PATH_CONNECT_H
#define _RDS_CORE_PATH_CONNECT_H

#include "path.h"

void rds_cpath_connect_now(struct rds_cpath *cp);
void rds_cpath_connect_later(struct rds_cpath *cp);
void rds_cpath_connect(struct rds_cpath *cp);
void rds_cpath_forget_connection(struct rds_cpath *cp);

#endif /* _RDS_CORE_PATH_CONNECT_H */
