/* SPDX-License-Identifier: GPL-2.0-only */
/* The sending half of a connection. */
#ifndef _RDS_IB_TX_H
#define _RDS_IB_TX_H

#include <linux/workqueue.h>
#include <net/rds/transport.h>
#include <rdma/ib_verbs.h>

#include "ring.h"
#include "rx.h"

struct rds_ib_conn;

/* Most work requests that are posted together; and bytes of payload after which
 * the device is not kept waiting for more
 */
#define RDS_IB_BATCH		16
#define RDS_IB_BATCH_BYTES	65536U

/* SGEs of a send work request: the header, and pieces of payload, which begins
 * anywhere in a page; the minimum applies if fragments are not wide
 */
#define RDS_IB_SEND_PIECES	(1 + RDS_IB_WIDE_PAGES)
#define RDS_IB_SEND_SGE		(1 + RDS_IB_SEND_PIECES)
#define RDS_IB_SEND_SGE_MIN	3

/* Longest SEND, header included, that the device may copy while it is posted,
 * if the device supports inline data: as long as the last one of a message of
 * 64 KiB in wide fragments
 */
#define RDS_IB_INLINE		240

/**
 * enum rds_ib_tx_op - relation of a slot to the operation of a message
 * @RDS_IB_OP_NONE: the slot has nothing to do with an operation
 * @RDS_IB_OP_PART: it carries a part of the operation; a later slot ends the
 *	operation
 * @RDS_IB_OP_LAST: it carries the last part, and no message follows
 * @RDS_IB_OP_MSG: it carries the last fragment of the message that follows the
 *	operation
 */
enum rds_ib_tx_op {
	RDS_IB_OP_NONE,
	RDS_IB_OP_PART,
	RDS_IB_OP_LAST,
	RDS_IB_OP_MSG,
};

/**
 * struct rds_ib_tx_slot - a work request of the send queue
 * @ts_cqe: its completion handler
 * @ts_conn: the connection
 * @ts_msg: message whose last fragment or whose operation the slot carries,
 *	with a reference; or NULL
 * @ts_map: memory of a congestion map whose last fragment the slot carries; or
 *	NULL
 * @ts_op: relation of the slot to the operation of @ts_msg
 * @ts_from: the device writes to the mapped memory
 * @ts_nr: number of mapped pieces
 * @ts_dma: DMA addresses of these pieces
 * @ts_len: their lengths
 */
struct rds_ib_tx_slot {
	struct ib_cqe		ts_cqe;
	struct rds_ib_conn	*ts_conn;
	struct rds_message	*ts_msg;
	enum rds_ib_tx_op	ts_op;
	bool			ts_from;
	u8			ts_nr;
	void			*ts_map;
	u64			ts_dma[RDS_IB_SEND_PIECES];
	u32			ts_len[RDS_IB_SEND_PIECES];
};

/**
 * struct rds_ib_tx - the sending half of a connection
 * @tx_slots: the slots of @tx_ring
 * @tx_hdrs: the headers of the slots, RDS_IB_HDR_STRIDE apart, and one more
 *	for acks
 * @tx_hdrs_len: size of @tx_hdrs
 * @tx_hdrs_dma: DMA address of @tx_hdrs
 * @tx_ring: which slots are in use; the sender hands them out under the
 *	transmit lock, completions take them back
 * @tx_posted: &rds_ib_ring.rg_head of @tx_ring after the last successful post;
 *	written under the transmit lock
 * @tx_number: number of the last SEND, if they are numbered; guarded by
 *	ic_tx_lock
 * @tx_inline: longest SEND, header included, that the device copies
 * @tx_signal: every @tx_signal-th work request is signaled
 * @tx_unsignaled: work requests since the last signaled one
 * @tx_batched: bytes of payload of the batched work requests
 * @tx_held: bytes of payload of the messages for which slots have taken a
 *	reference since then
 * @tx_op_piece: pieces of the current message's operation that are posted
 * @tx_op_bytes: bytes of these pieces
 * @tx_frag: fragments of the current message that have been batched
 * @tx_bvec: the piece of its payload that is next
 * @tx_bvec_off: offset in this piece
 * @tx_mapped: a fragment of the current message was mapped instead of copied
 * @tx_signal_last: the last of the batched work requests is to be signaled
 * @tx_map: copy of the congestion map that is being sent
 * @tx_last_map: copy of the map that was begun last; for comparison only, never
 *	dereferenced
 * @tx_nr: number of batched work requests
 * @tx_wr: the batched work requests
 * @tx_sge: their SGEs
 * @tx_nr_lent: number of messages in @tx_lent
 * @tx_lent: messages that the device copies when the batch is posted, each with
 *	a reference
 * @tx_stalled: bit 0: xmit() waits for slots or credits
 */
struct rds_ib_tx {
	struct rds_ib_tx_slot	*tx_slots;
	void			*tx_hdrs;
	size_t			tx_hdrs_len;
	u64			tx_hdrs_dma;
	struct rds_ib_ring	tx_ring;
	u32			tx_posted;
	u32			tx_number;
	u32			tx_inline;
	u32			tx_signal;
	u32			tx_unsignaled;
	u32			tx_batched;
	u32			tx_held;
	unsigned int		tx_op_piece;
	u32			tx_op_bytes;
	u32			tx_frag;
	unsigned int		tx_bvec;
	u32			tx_bvec_off;
	bool			tx_mapped;
	bool			tx_signal_last;
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
 * struct rds_ib_ack - acks that are sent alone, one at a time
 * @ak_cqe: completion handler of the ack
 * @ak_busy: an ack is in flight
 * @ak_due: an ack has to be sent as soon as possible
 * @ak_said: the last sequence number that we have acknowledged, in any header.
 *	Atomic: the sender of a message writes it with the path's transmit lock
 *	held, that of an ack with ic_tx_lock held, and @ak_later reads it
 * @ak_covers: value of &rds_ib_tx.tx_posted when the last ack was posted: the
 *	slots that it counts were posted before the ack
 * @ak_later: sends an ack for messages that did not ask for one
 */
struct rds_ib_ack {
	struct ib_cqe		ak_cqe;
	bool			ak_busy;
	bool			ak_due;
	atomic64_t		ak_said;
	u32			ak_covers;
	struct delayed_work	ak_later;
};

/* ack.c */
void rds_ib_ack_init(struct rds_ib_conn *ic);
void rds_ib_ack_wanted(struct rds_ib_conn *ic);
void rds_ib_ack_later(struct rds_ib_conn *ic);
u64 rds_ib_ack_value(struct rds_ib_conn *ic);
void rds_ib_ack_try(struct rds_ib_conn *ic);
bool rds_ib_ack_take(struct rds_ib_conn *ic, u8 *news);
void rds_ib_ack_untake(struct rds_ib_conn *ic, u8 news);

/* tx_ring.c */
int rds_ib_tx_init(struct rds_ib_conn *ic, u32 size);
void rds_ib_tx_release(struct rds_ib_conn *ic);
void rds_ib_tx_unmap(struct rds_ib_conn *ic, struct rds_ib_tx_slot *slot);
void *rds_ib_tx_header(struct rds_ib_conn *ic, u32 slot, u64 *dma);
void rds_ib_tx_seal(struct rds_ib_conn *ic, struct rds_header *hdr);
void rds_ib_send_done(struct ib_cq *cq, struct ib_wc *wc);
bool rds_ib_tx_must_signal(const struct rds_ib_conn *ic);
void rds_ib_tx_signal(struct rds_ib_tx *tx, struct ib_send_wr *wr);
void rds_ib_tx_put_lent(struct rds_ib_conn *ic);
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
 * rds_ib_post() - Post work requests to a queue pair
 * @qp: the queue pair
 * @wr: the work requests
 *
 * A software device does the work in a softirq. Bottom halves are off while
 * posting, so the softirq runs in this context as soon as they are on again,
 * and no thread has to be woken for it.
 *
 * Context: Process context.
 * Return: 0, or the errno of the driver.
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
