/* SPDX-License-Identifier: GPL-2.0-only */
/* Outgoing messages: queues, transmission, acks. */
#ifndef _RDS_CORE_SEND_H
#define _RDS_CORE_SEND_H

#include "path.h"
#include "sock.h"

bool rds_send_account(struct rds_sock *rs, struct rds_message *msg);
int rds_send_submit(struct rds_cpath *cp, struct rds_message *msg,
		    bool want_ack);
struct rds_message *rds_send_new_control(struct rds_cpath *cp);
void rds_send_enqueue_control(struct rds_cpath *cp, struct rds_message *msg);
bool rds_send_control(struct rds_cpath *cp, struct rds_message *msg,
		      bool first);
bool rds_send_all_acked(struct rds_cpath *cp, u64 ticket);
void rds_send_flush(struct rds_cpath *cp);
int rds_send_cong_map(struct rds_cpath *cp);
void rds_send_forget_map(struct rds_cpath *cp);
void rds_send_map_again(struct rds_cpath *cp);
long rds_send_map_delay(const struct rds_cpath *cp);
void rds_send_run(struct rds_cpath *cp);
void rds_send_run_waiting(struct rds_cpath *cp);
void rds_send_reset(struct rds_cpath *cp);
void rds_send_purge(struct rds_cpath *cp);
int rds_send_cancel(struct rds_sock *rs, const struct rds_addr *dest);
void rds_send_abandon(struct rds_sock *rs);
void rds_send_ack_again(struct rds_cpath *cp);
void rds_send_finish(struct rds_message *msg);
void rds_send_finish_all(struct list_head *done);
void rds_send_unlink_sock(struct rds_sock *rs, struct rds_message *msg);
void rds_send_pick(struct rds_cpath *cp, struct rds_message *msg);
int rds_send_enqueue(struct rds_cpath *cp, struct rds_message *msg,
		     bool want_ack, bool pick);

/**
 * rds_send_pending() - Check whether a path has anything to send
 * @cp: the path
 *
 * Context: Any context. The result is only a hint unless the caller excludes
 * concurrent changes.
 * Return: true if a message may be sent, a message is in progress, or a frame
 * that goes ahead of messages is due; false otherwise.
 */
static inline bool rds_send_pending(const struct rds_cpath *cp)
{
	return (!list_empty(&cp->cp_tx.pt_queue) &&
		!READ_ONCE(cp->cp_gate.pg_shut)) ||
	       READ_ONCE(cp->cp_tx.pt_msg) ||
	       (READ_ONCE(cp->cp_flags) & RDS_PF_AHEAD);
}

#endif /* _RDS_CORE_SEND_H */
