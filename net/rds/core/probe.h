/* SPDX-License-Identifier: GPL-2.0-only */
/* Handshake frames: probes and replies. */
#ifndef _RDS_CORE_PROBE_H
#define _RDS_CORE_PROBE_H

#include "conn.h"

/* Marks cp_hs.ph_turn and ph_former as set, since 0 is a valid generation
 * number
 */
#define RDS_TURN_NOTED		BIT_ULL(32)

/* Delay before a failed allocation is tried again, in jiffies */
#define RDS_PROBE_NOMEM_DELAY	2

void rds_probe_write_frame(struct rds_conn *conn, struct rds_message *msg,
			   bool reply, u8 tag);
void rds_probe_write(struct rds_cpath *cp, struct rds_message *msg);
void rds_probe_write_reply(struct rds_cpath *cp, struct rds_message *msg);
unsigned int rds_probe_offer(const struct rds_conn *conn);
void rds_probe_offer_again(struct rds_conn *conn);
void rds_probe_soon(struct rds_cpath *cp);
bool rds_probe_is_former(const struct rds_cpath *cp,
			 const struct rds_handshake *hs);
bool rds_probe_receive(struct rds_cpath *cp, struct rds_incoming *inc,
		       bool *turn);
struct rds_message *rds_probe_new(struct rds_cpath *cp);
void rds_probe_queue(struct rds_cpath *cp);
void rds_probe_queue_replies(struct rds_cpath *cp);

#endif /* _RDS_CORE_PROBE_H */
