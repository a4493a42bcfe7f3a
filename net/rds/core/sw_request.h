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
struct rds_sw_frame;

/* Requests per path that may be unanswered at a time */
#define RDS_SW_DEPTH	16

/**
 * struct rds_sw - software RDMA state of a path
 * @sw_lock: guards the members down to @sw_nr_responses; a leaf lock
 * @sw_ops: our requests that the peer has not answered, including one that is
 *	being sent
 * @sw_nr_ops: number of entries on @sw_ops
 * @sw_since: when the time limit for the first entry of @sw_ops began, in
 *	jiffies
 * @sw_paused_at: when its clock was stopped, in jiffies, if %RDS_PF_RX_PAUSED
 *	is set; see rds_cpath_pause_rx()
 * @sw_nr_fetches: entries on @sw_ops whose response carries data: reads and
 *	atomic operations
 * @sw_nr_reads: entries on @sw_ops that are reads; the peer does a read only
 *	when it responds
 * @sw_responses: requests of the peer that we have not answered
 * @sw_nr_responses: number of entries on @sw_responses
 * @sw_failed: the message that must not be delivered, because the write that
 *	precedes it failed: the low half of its sequence number, with bit 32
 *	set; 0 if there is none. Accessed only in deliver context, or after the
 *	transport has shut down.
 * @sw_known: the peer has advertised software RDMA on this connection; access
 *	as for @sw_failed
 * @sw_request: request frame that is being sent, or NULL; guarded by
 *	cp_xmit_lock, as all members below
 * @sw_response: response frame that is being sent, or NULL
 * @sw_in_turn: responses sent since a message last had a turn
 * @sw_yields: responses are due, but a message goes first
 * @sw_handshake_sent: a handshake frame has been sent to the peer on this
 *	connection
 * @sw_posted: sequence number of the message whose request was sent last
 * @sw_passed: sequence number of the last message whose operation no longer
 *	holds it back
 */
struct rds_sw {
	spinlock_t		sw_lock;	/* guards the lists */
	struct list_head	sw_ops;
	unsigned int		sw_nr_ops;
	unsigned long		sw_since;
	unsigned long		sw_paused_at;
	unsigned int		sw_nr_fetches;
	unsigned int		sw_nr_reads;
	struct list_head	sw_responses;
	unsigned int		sw_nr_responses;

	u64			sw_failed;
	bool			sw_known;

	struct rds_message	*sw_request;
	struct rds_message	*sw_response;
	unsigned int		sw_in_turn;
	bool			sw_yields;
	bool			sw_handshake_sent;
	u64			sw_posted;
	u64			sw_passed;
};

bool rds_sw_waits(struct rds_cpath *cp, const struct rds_message *msg);
int rds_sw_xmit(struct rds_cpath *cp, struct rds_message *msg);
void rds_sw_receive(struct rds_cpath *cp, struct rds_incoming *inc,
		    const struct rds_sw_frame *ext);
void rds_sw_unpause(struct rds_cpath *cp);
long rds_sw_watch(struct rds_cpath *cp);
void rds_sw_reset(struct rds_cpath *cp);

#endif /* _RDS_CORE_SW_REQUEST_H */
