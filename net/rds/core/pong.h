/* SPDX-License-Identifier: GPL-2.0-only */
/* Pongs: replies to pings. */
#ifndef _RDS_CORE_PONG_H
#define _RDS_CORE_PONG_H

#include "path.h"

struct rds_message *rds_pong_new(struct rds_cpath *cp);
void rds_pong_push(struct rds_cpath *cp, struct rds_message *msg);
bool rds_pong_add(struct rds_cpath *cp, __be16 port);
void rds_pong_queue(struct rds_cpath *cp);
void rds_pong_drop(struct rds_cpath *cp);

#endif /* _RDS_CORE_PONG_H */
