/* SPDX-License-Identifier: GPL-2.0-only */
/* Software RDMA: whether an operation may be sent over a connection. */
#ifndef _RDS_CORE_SW_ADMIT_H
#define _RDS_CORE_SW_ADMIT_H

#include <linux/jiffies.h>

struct rds_conn;

/* Time to wait for the peer's handshake frame. A peer that is connected and has
 * sent none by then does not run this implementation.
 */
#define RDS_SW_PATIENCE	(2 * HZ)

int rds_sw_admit(struct rds_conn *conn, long *timeo);

#endif /* _RDS_CORE_SW_ADMIT_H */
