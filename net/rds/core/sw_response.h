/* SPDX-License-Identifier: GPL-2.0-only */
/* Software RDMA: requests from peers. */
#ifndef _RDS_CORE_SW_RESPONSE_H
#define _RDS_CORE_SW_RESPONSE_H

#include <linux/types.h>

struct rds_cpath;
struct rds_incoming;
struct rds_sw_frame;

int rds_sw_requested(struct rds_cpath *cp, struct rds_incoming *inc,
		     const struct rds_sw_frame *ext);
bool rds_sw_bars(struct rds_cpath *cp, const struct rds_incoming *inc);
int rds_sw_go_on(struct rds_cpath *cp);
int rds_sw_respond(struct rds_cpath *cp);
void rds_sw_responses_drop(struct rds_cpath *cp);

#endif /* _RDS_CORE_SW_RESPONSE_H */
