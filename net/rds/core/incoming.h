/* SPDX-License-Identifier: GPL-2.0-only */
/* Received messages. */
#ifndef _RDS_CORE_INCOMING_H
#define _RDS_CORE_INCOMING_H

#include <net/rds/transport.h>

void rds_incoming_get(struct rds_incoming *inc);
void rds_incoming_put(struct rds_incoming *inc);

#endif /* _RDS_CORE_INCOMING_H */
