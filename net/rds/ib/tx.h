/* SPDX-License-Identifier: GPL-2.0-only */
/* The sending half of a connection. */
#ifndef _RDS_IB_TX_H
#define _RDS_IB_TX_H

#include <linux/workqueue.h>
#include <net/rds/transport.h>
#include <rdma/ib_verbs.h>

#include "ring.h"

struct rds_ib_conn;

/* Work requests that are posted together */
#define RDS_IB_BATCH		16

/* Gather elements: the header, and the payload of a fragment */
#define RDS_IB_SEND_SGE		3
#define RDS_IB_SEND_PIECES	(RDS_IB_SEND_SGE - 1)

/* Up to here, header included, the device copies while we post, if it can. */
#define RDS_IB_INLINE		220

/**
 * enum rds_ib_tx_op - what a slot has to do with an operation
 * @RDS_IB_OP_NONE: nothing
 * @RDS_IB_OP_PART: it is part of it
 * @RDS_IB_OP_LAST: it is the last part, and no message follows
 * @RDS_IB_OP_MSG: it is the last part of the message that follows
 */
enum rds_ib_tx_op {
	RDS_IB_OP_NONE,
	RDS_IB_OP_PART,
	RDS_IB_OP_LAST,
	RDS_IB_OP_MSG,
};

/**
 * struct rds_ib_tx_slot - a work request of the send queue
 * @ts_cqe: its completion
 * @ts_conn: the connection
 * @ts_msg: message whose last part it carries, or whose operation, referenced;
 *	or NULL
 * @ts_map: memory of a congestion map whose last part it carries; or NULL
 * @ts_op: how it belongs to the operation of @ts_msg
 * @ts_from: the device writes to what was mapped
 * @ts_dma: the pieces of its payload, as the device sees them
 * @ts_len: lengths of those; 0 if nothing was mapped
 */
struct rds_ib_tx_slot {
	struct ib_cqe		ts_cqe;
	struct rds_ib_conn	*ts_conn;
	struct rds_message	*ts_msg;
	enum rds_ib_tx_op	ts_op;
	bool			ts_from;
	void			*ts_map;
	u64			ts_dma[RDS_IB_SEND_PIECES];
	u32			ts_len[RDS_IB_SEND_PIECES];
};

/**
 * struct rds_ib_tx - the sending half of a connection
 * @tx_slots: the slots of @tx_ring
 * @tx_hdrs: their headers, RDS_IB_HDR_STRIDE apart; one more for acks
 * @tx_hdrs_len: size of that
 * @tx_hdrs_dma: as the device sees it
 * @tx_ring: which slots are in use; handed out under the transmit lock, taken
 *	back by completions
 * @tx_posted: &rds_ib_ring.rg_head of @tx_ring when something was posted last;
 *	changed under the transmit lock
 * @tx_inline: up to here the device copies
 * @tx_signal: a completion is asked for every so many
 * @tx_unsignaled: since the last that was asked for
 * @tx_held: bytes of the messages that slots hold since then
 * @tx_op_piece: pieces of its operation that have been posted
 * @tx_op_bytes: bytes of those
 * @tx_frag: fragments of the current message that have been taken
 * @tx_bvec: the piece of its payload that is next
 * @tx_bvec_off: where in it
 * @tx_mapped: a fragment of it was not copied
 * @tx_asks: the last of the work requests put by is to have a completion
 * @tx_map: copy of a congestion map that is being sent
 * @tx_last_map: copy of the one that was begun last; not to be followed
 * @tx_nr: work requests put by
 * @tx_wr: those
 * @tx_sge: their elements
 * @tx_nr_lent: messages that are copied only when those are posted
 * @tx_lent: those, referenced
 * @tx_stalled: bit 0: xmit() waits for slots or credits
 */
struct rds_ib_tx {
	struct rds_ib_tx_slot	*tx_slots;
	void			*tx_hdrs;
	size_t			tx_hdrs_len;
	u64			tx_hdrs_dma;
	struct rds_ib_ring	tx_ring;
	u32			tx_posted;
	u32			tx_inline;
	u32			tx_signal;
	u32			tx_unsignaled;
	u32			tx_held;
	unsigned int		tx_op_piece;
	u32			tx_op_bytes;
	u32			tx_frag;
	unsigned int		tx_bvec;
	u32			tx_bvec_off;
	bool			tx_mapped;
	bool			tx_asks;
	void			*tx_map;
	void			*tx_last_map;
	unsigned int		tx_nr;
	struct ib_send_wr	tx_wr[RDS_IB_BATCH];
	struct ib_sge		tx_sge[RDS_IB_BATCH][RDS_IB_SEND_SGE];
	unsigned int		tx_nr_lent;
	struct rds_message	*tx_lent[RDS_IB_BATCH];
	unsigned long		tx_stalled;
};

/**
 * struct rds_ib_ack - acknowledgments that go alone, one at a time
 * @ak_cqe: its completion
 * @ak_busy: one is on its way
 * @ak_due: the peer waits for one
 * @ak_said: what the peer was told last, by whatever header
 * @ak_covers: slots handed out that were posted before the last one
 * @ak_later: tells of what the peer did not want to know at once
 */
struct rds_ib_ack {
	struct ib_cqe		ak_cqe;
	bool			ak_busy;
	bool			ak_due;
	u64			ak_said;
	u32			ak_covers;
	struct delayed_work	ak_later;
};

/* ack.c */
void rds_ib_ack_init(struct rds_ib_conn *ic);
void rds_ib_ack_wanted(struct rds_ib_conn *ic);
void rds_ib_ack_later(struct rds_ib_conn *ic);
u64 rds_ib_ack_say(struct rds_ib_conn *ic);
void rds_ib_ack_try(struct rds_ib_conn *ic);
bool rds_ib_ack_take(struct rds_ib_conn *ic, u8 *news);
void rds_ib_ack_untake(struct rds_ib_conn *ic, u8 news);

/* tx_ring.c */
int rds_ib_tx_init(struct rds_ib_conn *ic, u32 size);
void rds_ib_tx_release(struct rds_ib_conn *ic);
void rds_ib_tx_unmap(struct rds_ib_conn *ic, struct rds_ib_tx_slot *slot);
void *rds_ib_tx_header(struct rds_ib_conn *ic, u32 slot, u64 *dma);
void rds_ib_send_done(struct ib_cq *cq, struct ib_wc *wc);
bool rds_ib_tx_must_tell(const struct rds_ib_conn *ic);
void rds_ib_tx_signal(struct rds_ib_tx *tx, struct ib_send_wr *wr);
void rds_ib_tx_return(struct rds_ib_conn *ic);
void rds_ib_tx_is_posted(struct rds_ib_conn *ic);
void rds_ib_tx_reclaim(struct rds_ib_conn *ic, u32 posted);
void rds_ib_tx_unstall(struct rds_ib_conn *ic);
enum rds_drop_reason rds_ib_send_reason(enum ib_wc_status status);
void rds_ib_op_set_error(struct rds_op *op, int error);

/* tx_post.c */
int rds_ib_tx_post(struct rds_ib_conn *ic);
int rds_ib_tx_room(struct rds_ib_conn *ic, u8 *news);

/* send.c */
int rds_ib_xmit(struct rds_path *path, struct rds_message *msg, bool more);
int rds_ib_flush(struct rds_path *path);
int rds_ib_xmit_cong_map(struct rds_path *path, const void *map);

/**
 * rds_ib_post() - give work requests to a queue pair
 * @qp: the queue pair
 * @wr: the work requests
 *
 * A device in software does its work when bottom halves are on again, in this
 * context, and wakes nobody for it.
 *
 * Context: process.
 * Return: 0, or what the driver says.
 */
static inline int rds_ib_post(struct ib_qp *qp, struct ib_send_wr *wr)
{
	int ret;

	local_bh_disable();
	ret = ib_post_send(qp, wr, NULL);
	local_bh_enable();
	return ret;
}

/* op.c */
int rds_ib_atomic_check(struct net *net, const struct in6_addr *laddr,
			int ifindex, enum rds_op_kind kind);
int rds_ib_xmit_op(struct rds_ib_conn *ic, struct rds_message *msg);

#endif /* _RDS_IB_TX_H */
