/* SPDX-License-Identifier: GPL-2.0-only */
/* RDMA in software: operations on a peer's memory, as frames of a path. */
#ifndef _RDS_CORE_SW_REQUEST_H
#define _RDS_CORE_SW_REQUEST_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct rds_conn;
struct rds_cpath;
struct rds_incoming;
struct rds_message;

/* Operations that may be out on a path */
#define RDS_SW_DEPTH	16

/**
 * struct rds_sw - a path's operations
 * @so_lock: guards all up to @so_nr_responses; a leaf
 * @so_ops: what we have asked the peer for, and it has not answered
 * @so_nr_ops: how many those are
 * @so_since: since when the first of them is to be answered, in jiffies
 * @so_nr_fetches: those that bring something back
 * @so_nr_reads: those that the peer does only when it answers
 * @so_responses: what the peer has asked for, and was not answered
 * @so_nr_responses: how many those are
 * @so_failed: low half of the number of the message that is not to be
 *	delivered, because what was to be written before it could not be, and a
 *	bit above it; 0 if there is none; touched by deliveries only
 * @so_known: the peer does operations, as it has said on this connection;
 *	likewise
 * @so_request: frame being sent, or NULL; guarded by cp_xmit_lock, as all that
 *	follow
 * @so_response: likewise
 * @so_in_turn: answers sent since a message could be
 * @so_yields: it is a message's turn
 * @so_handshake_sent: the peer has been told on this connection what we are
 * @so_posted: number of the message whose request was sent last
 * @so_passed: number of the message that was let pass last
 */
struct rds_sw {
	spinlock_t		so_lock;	/* guards the lists */
	struct list_head	so_ops;
	unsigned int		so_nr_ops;
	unsigned long		so_since;
	unsigned int		so_nr_fetches;
	unsigned int		so_nr_reads;
	struct list_head	so_responses;
	unsigned int		so_nr_responses;

	u64			so_failed;
	bool			so_known;

	struct rds_message	*so_request;
	struct rds_message	*so_response;
	unsigned int		so_in_turn;
	bool			so_yields;
	bool			so_handshake_sent;
	u64			so_posted;
	u64			so_passed;
};

int rds_sw_admit(struct rds_conn *conn, long *timeo);
bool rds_sw_waits(struct rds_cpath *cp, const struct rds_message *msg);
int rds_sw_xmit(struct rds_cpath *cp, struct rds_message *msg);
bool rds_sw_receive(struct rds_cpath *cp, struct rds_incoming *inc);
void rds_sw_listen(struct rds_cpath *cp);
long rds_sw_watch(struct rds_cpath *cp);
void rds_sw_reset(struct rds_cpath *cp);

#endif /* _RDS_CORE_SW_REQUEST_H */
