/* SPDX-License-Identifier: GPL-2.0-only */
/* The gate of a path: whether messages may be sent on a path that is UP. */
#ifndef _RDS_CORE_GATE_H
#define _RDS_CORE_GATE_H

#include "path.h"

void rds_gate_begin(struct rds_cpath *cp);
void rds_gate_update(struct rds_cpath *cp);
void rds_gate_expire(struct rds_cpath *cp);
long rds_gate_delay(const struct rds_cpath *cp);

#endif /* _RDS_CORE_GATE_H */
