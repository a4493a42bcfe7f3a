/* SPDX-License-Identifier: GPL-2.0-only */
/* The receiving half of a connection. */
#ifndef _RDS_IB_RX_H
#define _RDS_IB_RX_H

#include <linux/list.h>
#include <linux/sizes.h>
#include <net/rds/transport.h>
#include <rdma/ib_verbs.h>

#include "frag.h"
#include "ring.h"

struct rds_ib_conn;
struct rds_ib_incoming;

/* The pages of a wide fragment, and how much of each is used */
#define RDS_IB_PIECE		((u32)(PAGE_SHIFT < 14 ? PAGE_SIZE : \
						 RDS_IB_WIDE_BYTES))
#define RDS_IB_WIDE_PAGES	(RDS_IB_WIDE_BYTES / RDS_IB_PIECE)

/* SGEs of a receive work request: the header, and the payload of a fragment;
 * the minimum applies if fragments are not wide
 */
#define RDS_IB_RECV_SGE		(1 + RDS_IB_WIDE_PAGES)
#define RDS_IB_RECV_SGE_MIN	2

/* Number of receive slots that are allocated together: they fit into 4 KiB */
#define RDS_IB_RX_CHUNK		22

/**
 * struct rds_ib_rx_slot - a receive buffer
 * @rb_cqe: its completion handler
 * @rb_item: on &rds_ib_rx.rx_backlog or &rds_ib_rx.rx_spare
 * @rb_wr: its work request
 * @rb_sge: its SGEs: header and payload
 * @rb_pages: pages for the payload; NULL for each that a message has taken, or
 *	that the slot does not need
 * @rb_hdr: memory for the header
 * @rb_bytes: bytes received, including the header
 */
struct rds_ib_rx_slot {
	struct ib_cqe		rb_cqe;
	struct list_head	rb_item;
	struct ib_recv_wr	rb_wr;
	struct ib_sge		rb_sge[RDS_IB_RECV_SGE];
	struct page		*rb_pages[RDS_IB_WIDE_PAGES];
	struct rds_header	*rb_hdr;
	u32			rb_bytes;
};

/**
 * struct rds_ib_rx_chunk - receive buffers that are allocated together
 * @rk_item: on &rds_ib_rx.rx_chunks
 * @rk_hdrs: the headers of the buffers
 * @rk_hdrs_dma: DMA address of @rk_hdrs
 * @rk_slots: the buffers
 */
struct rds_ib_rx_chunk {
	struct list_head	rk_item;
	void			*rk_hdrs;
	u64			rk_hdrs_dma;
	struct rds_ib_rx_slot	rk_slots[RDS_IB_RX_CHUNK];
};

static_assert(sizeof(struct rds_ib_rx_chunk) <= SZ_4K);

/**
 * struct rds_ib_rx - the receiving half of a connection
 * @rx_done: completion handler of the buffers
 * @rx_chunks: all slots
 * @rx_spare: slots that are neither posted nor in the backlog
 * @rx_backlog: slots whose contents could not be taken yet, in order
 * @rx_slots: number of slots allocated
 * @rx_posted: number of buffers posted
 * @rx_target: number of buffers that should be posted
 * @rx_max: upper limit of @rx_slots
 * @rx_most: upper limit of @rx_target
 * @rx_min: lower limit of @rx_target; the connection may always have this many
 *	buffers
 * @rx_tick: the tick in which @rx_used is counted
 * @rx_used: buffers used up in that tick
 * @rx_peak: the most buffers used up in a tick since @rx_since
 * @rx_since: when lowering @rx_target was last considered
 * @rx_stopped: buffers go to the backlog: core has stopped the path until
 *	rx_resume()
 * @rx_early: buffers go to the backlog, and nothing of them is processed: the
 *	peer's reply to our REQ has not been read yet
 * @rx_broken: the peer has violated the protocol: ignore what follows
 * @rx_number: number of the last SEND that has arrived, if the peer numbers
 *	them
 * @rx_untold: buffers used up by SENDs that had arrived before: as many new
 *	ones must not be advertised
 * @rx_reasm: the message that is being reassembled
 * @rx_inc: memory of the message that is being reassembled; NULL between
 *	messages
 * @rx_map: congestion map that is being received; NULL if there is none
 * @rx_acked: the last ack of the peer. Needs no lock: completions write it, and
 *	read it when they take back slots of the send ring. All are of one
 *	completion queue, and run one after the other. rds_ib_tx_release() reads
 *	it after the last one. The acks that have arrived before the peer's
 *	reply was read are processed before any slot is in use
 * @rx_seq: sequence number of the last message that has arrived on this
 *	connection, duplicate or not; 0 if none has. Written with ic_rx_lock
 *	held, by deliveries; atomic for the sender of an ack, which reads it
 *	without
 */
struct rds_ib_rx {
	void			(*rx_done)(struct ib_cq *cq, struct ib_wc *wc);
	struct list_head	rx_chunks;
	struct list_head	rx_spare;
	struct list_head	rx_backlog;
	u32			rx_slots;
	u32			rx_posted;
	u32			rx_target;
	u32			rx_max;
	u32			rx_most;
	u32			rx_min;
	unsigned long		rx_tick;
	u32			rx_used;
	u32			rx_peak;
	unsigned long		rx_since;
	bool			rx_stopped;
	bool			rx_early;
	bool			rx_broken;
	u32			rx_number;
	u32			rx_untold;
	struct rds_ib_reasm	rx_reasm;
	struct rds_ib_incoming	*rx_inc;
	u8			*rx_map;
	u64			rx_acked;
	atomic64_t		rx_seq;
};

extern atomic_long_t rds_ib_rx_pages;

/* page.c */
struct page *rds_ib_page_get(gfp_t gfp);
void rds_ib_pages_put(struct page **pages, u32 nr);
void rds_ib_pages_exit(void);

/* incoming.c */
bool rds_ib_incoming_is_small(u32 len);
struct rds_ib_incoming *rds_ib_incoming_alloc(const struct rds_header *hdr,
					      bool wide);
void rds_ib_incoming_copy_in(struct rds_ib_incoming *ii, const void *from,
			     u32 len);
void rds_ib_incoming_add_page(struct rds_ib_incoming *ii, struct page *page);
struct rds_incoming *rds_ib_incoming_end(struct rds_ib_incoming *ii);
void rds_ib_incoming_drop(struct rds_ib_incoming *ii);

/* rx_ring.c */
void rds_ib_rx_set_limits(struct rds_ib_conn *ic);
int rds_ib_rx_init(struct rds_ib_conn *ic, u32 max);
void rds_ib_rx_refill(struct rds_ib_conn *ic, gfp_t gfp);
void rds_ib_rx_count(struct rds_ib_conn *ic);
void rds_ib_rx_release(struct rds_ib_conn *ic);
void rds_ib_rx_give_back(struct rds_ib_conn *ic, struct rds_ib_rx_slot *slot);
void rds_ib_rx_drop_pages(struct rds_ib_conn *ic, struct rds_ib_rx_slot *slot,
			  unsigned int nr);
struct page *rds_ib_rx_take_page(struct rds_ib_conn *ic,
				 struct rds_ib_rx_slot *slot, unsigned int nr);

/* recv.c */
void rds_ib_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void rds_ib_rx_go_on(struct rds_ib_conn *ic);
void rds_ib_rx_resume(struct rds_path *path);

#endif /* _RDS_IB_RX_H */
