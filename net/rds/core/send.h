/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages on their way: queues, transmission, acks. */
#ifndef _RDS_CORE_SEND_H
#define _RDS_CORE_SEND_H

#include "path.h"
#include "sock.h"

bool rds_send_account(struct rds_sock *rs, struct rds_message *msg);
bool rds_send_submit(struct rds_cpath *cp, struct rds_message *msg,
		     bool want_ack);
void rds_send_queue_pongs(struct rds_cpath *cp);
bool rds_send_pending(const struct rds_cpath *cp);
void rds_send_run(struct rds_cpath *cp);
void rds_send_run_waiting(struct rds_cpath *cp);
void rds_send_reset(struct rds_cpath *cp);
void rds_send_purge(struct rds_cpath *cp);
void rds_send_cancel(struct rds_sock *rs, const struct rds_addr *dest);
void rds_send_finish(struct rds_message *msg);

#endif /* _RDS_CORE_SEND_H */
