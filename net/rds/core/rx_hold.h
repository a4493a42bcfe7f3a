/* SPDX-License-Identifier: GPL-2.0-only */
/* The limit on memory that unread messages hold */
#ifndef _RDS_CORE_RX_HOLD_H
#define _RDS_CORE_RX_HOLD_H

#include <net/rds/transport.h>

struct rds_cpath;
struct rds_sock;

long rds_rx_hold_charge(struct rds_cpath *cp, struct rds_incoming *inc);
void rds_rx_hold_uncharge(struct rds_incoming *inc);
bool rds_rx_hold_stops(struct rds_cpath *cp, const struct rds_sock *rs,
		       long held);

#endif /* _RDS_CORE_RX_HOLD_H */
