/* SPDX-License-Identifier: GPL-2.0-only */
/* Received messages. */
#ifndef _RDS_CORE_INCOMING_H
#define _RDS_CORE_INCOMING_H

#include <net/rds/transport.h>

void rds_incoming_get(struct rds_incoming *inc);
void rds_incoming_put(struct rds_incoming *inc);
long rds_incoming_charge(struct rds_incoming *inc, struct rds_path *path);

#endif /* _RDS_CORE_INCOMING_H */
