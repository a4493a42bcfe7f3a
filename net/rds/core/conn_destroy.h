/* SPDX-License-Identifier: GPL-2.0-only */
/* Destruction of connections. */
#ifndef _RDS_CORE_CONN_DESTROY_H
#define _RDS_CORE_CONN_DESTROY_H

#include "conn.h"

void rds_conn_destroy(struct rds_conn *conn, enum rds_drop_reason reason);
void rds_conn_destroy_all(struct rds_net *rn,
			  const struct rds_transport *trans,
			  enum rds_drop_reason reason);

#endif /* _RDS_CORE_CONN_DESTROY_H */
