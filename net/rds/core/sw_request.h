/* SPDX-License-Identifier: GPL-2.0-only */
/* Software RDMA: operations on a peer's memory, as frames of a path. */
#ifndef _RDS_CORE_SW_REQUEST_H
#define _RDS_CORE_SW_REQUEST_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct rds_cpath;
struct rds_incoming;
struct rds_message;

/* Requests per path that may be unanswered at a time */
#define RDS_SW_DEPTH	16

/**
 * struct rds_sw - software RDMA state of a path
 * @so_lock: guards the members down to @so_nr_responses; a leaf lock
 * @so_ops: our requests that the peer has not answered, including one that is
 *	being sent
 * @so_nr_ops: number of entries on @so_ops
 * @so_since: when the time limit for the first entry of @so_ops began, in
 *	jiffies
 * @so_nr_fetches: entries on @so_ops whose response carries data: reads and
 *	atomic operations
 * @so_nr_reads: entries on @so_ops that are reads; the peer does a read only
 *	when it responds
 * @so_responses: requests of the peer that we have not answered
 * @so_nr_responses: number of entries on @so_responses
 * @so_failed: the message that must not be delivered, because the write that
 *	precedes it failed: the low half of its sequence number, with bit 32
 *	set; 0 if there is none. Accessed only in deliver context, or after the
 *	transport has shut down.
 * @so_known: the peer has advertised software RDMA on this connection; access
 *	as for @so_failed
 * @so_request: request frame that is being sent, or NULL; guarded by
 *	cp_xmit_lock, as all members below
 * @so_response: response frame that is being sent, or NULL
 * @so_in_turn: responses sent since a message last had a turn
 * @so_yields: responses are due, but a message goes first
 * @so_handshake_sent: a handshake frame has been sent to the peer on this
 *	connection
 * @so_posted: sequence number of the message whose request was sent last
 * @so_passed: sequence number of the last message whose operation no longer
 *	holds it back
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

bool rds_sw_waits(struct rds_cpath *cp, const struct rds_message *msg);
int rds_sw_xmit(struct rds_cpath *cp, struct rds_message *msg);
bool rds_sw_is_frame(const struct rds_cpath *cp,
		     const struct rds_incoming *inc);
void rds_sw_receive(struct rds_cpath *cp, struct rds_incoming *inc);
void rds_sw_listen(struct rds_cpath *cp);
long rds_sw_watch(struct rds_cpath *cp);
void rds_sw_reset(struct rds_cpath *cp);

#endif /* _RDS_CORE_SW_REQUEST_H */
