/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDS over reliable connections of InfiniBand verbs: what the files of this
 * folder share.
 *
 * Who owns what:
 *
 *  rds_ib_device (dv_)	a device that we use, with its protection domain. Made
 *			and ended by the client callbacks (client.c). Each
 *			connection on it has a reference, and removal waits for
 *			the last.
 *  listener		one CM id for IPv4, and one for each IPv6 address of a
 *			device (listen.c).
 *  rds_ib_conn (ic_)	one connection, or an attempt at one: CM id, queue pair,
 *			completion queue, rings, credits, what is being sent and
 *			put together. Owned by the queue of requests (accept.c),
 *			then by a path as its offer, then by the path as its
 *			connection; one owner at a time, who ends it by
 *			rds_ib_conn_free(). It never comes back: the next
 *			attempt is another one.
 *  rds_ib_path (ip_)	what outlives connections: the one that there is, the
 *			one on offer, and what the peer said last of itself.
 *  rds_ib_mr (im_)	memory of a user's that peers may reach. Core's, until
 *			rds_ib_mr_unmap(); what the device has of it goes with
 *			the device, if that is removed before (mr.c).
 *  rds_ib_frmr (fm_)	a fast registration: what the device registers memory
 *			by. The memory's, or kept for the next in a pool of the
 *			device (mr_pool.c).
 *  tx slot		a work request of the send queue: its header, its
 *			mapping, and a reference to the message whose last part
 *			it carries. From rds_ib_ring_get() until its completion,
 *			or one behind it, or the end of the connection.
 *  tx_lent		references to messages that the device copies while we
 *			post, from when they are put by until then.
 *  rx slot		a receive buffer: a header and a page. Posted, or in the
 *			backlog, or spare. The page of a large message goes with
 *			it, and the slot gets another (page.c).
 *
 * Contexts: the path's work (path_connect, path_shutdown, rx_resume); who
 * sends, under the path's transmit lock; CM handlers, process context under the
 * id's handler mutex; completions, softirq; client callbacks; the work of
 * accept.c.
 *
 * Locks, outer before inner:
 *
 *	cp_xmit_lock (core's) > handler mutex of a CM id (rdma_lock_handler())
 *	handler mutex > the mutex of device.c
 *	handler mutex > ic_rx_lock
 *	rn_lock (core's) > dv_lock
 *	ic_rx_lock > what deliver context takes, or cp_lock, or ic_tx_lock
 *	ic_rx_lock > dv_lock > ip_lock > cp_lock
 *	ic_rx_lock > dv_lock > the lock of path.c
 *	mp_lock alone
 *
 * No CM handler takes rn_lock or cp_xmit_lock, nor waits for who holds them: a
 * request of the peer's is left to the work of accept.c. Spin locks are taken
 * with bottom halves off.
 *
 * The end of a connection (rds_ib_conn_free()):
 *  1. state CLOSED, under the handler mutex: CM events do nothing from here on;
 *  2. ic_closing, under ic_rx_lock and ic_tx_lock: completions post nothing
 *     more; nobody sends, for the caller has the path's transmit lock; and so
 *     nothing starts the watchdog, or an ack for later; both are cancelled;
 *  3. disconnect, which also puts the queue pair into the error state; or
 *     refuse, if nobody has answered the peer;
 *  4. wait, bounded, for all posted work requests;
 *  5. destroy the queue pair: the device is done with our memory;
 *  6. free the completion queue: no completion runs any more;
 *  7. give back what the rings hold;
 *  8. destroy the CM id, which waits for its handler;
 *  9. leave the device.
 * The last two may be left to cm_deferred.c: not every device survives that a
 * message of the connection manager is sent while its port is down.
 * Each step is skipped for what was never made, so it serves a connection that
 * is half built.
 */
#ifndef _RDS_IB_IB_H
#define _RDS_IB_IB_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/rds/transport.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "cm_table.h"
#include "credits.h"
#include "frag.h"
#include "privdata.h"
#include "ring.h"
#include "stats.h"

#define RDS_IB_PORT_V4		18634
#define RDS_IB_PORT_V6		16385

/* Work requests that are posted together */
#define RDS_IB_BATCH		16

/* Gather and scatter elements: the header, and the payload of a fragment */
#define RDS_IB_SEND_SGE		3
#define RDS_IB_SEND_PIECES	(RDS_IB_SEND_SGE - 1)
#define RDS_IB_RECV_SGE		2

/* Up to here, header included, the device copies while we post, if it can. */
#define RDS_IB_INLINE		220

/* Receive slots are made by so many. */
#define RDS_IB_RX_CHUNK		32

/* A header's place in memory that the device reads or writes */
#define RDS_IB_HDR_STRIDE	64

/**
 * struct rds_ib_sysctl - tunables, see Documentation/sysctl.rst
 * @max_send_wr: slots of a send ring
 * @max_recv_wr: receive buffers of a connection, at most
 * @min_recv_wr: those that it begins with, and has when it is idle
 * @max_unsignaled_wr: work requests between two that ask for a completion
 * @max_recv_allocation: receive buffers of all connections, at most
 * @flow_control: count receive buffers by credits
 * @mr_pool_max: registrations of each size that a device keeps, at most
 * @mr_pool_software: devices in software keep some, too
 */
struct rds_ib_sysctl {
	unsigned int	max_send_wr;
	unsigned int	max_recv_wr;
	unsigned int	min_recv_wr;
	unsigned int	max_unsignaled_wr;
	unsigned int	max_recv_allocation;
	int		flow_control;
	unsigned int	mr_pool_max;
	int		mr_pool_software;
};

/**
 * enum rds_ib_frmr_state - what peers reach by a fast registration
 * @RDS_IB_FRMR_IDLE: nothing
 * @RDS_IB_FRMR_VALID: memory
 * @RDS_IB_FRMR_UNKNOWN: nobody knows
 */
enum rds_ib_frmr_state {
	RDS_IB_FRMR_IDLE,
	RDS_IB_FRMR_VALID,
	RDS_IB_FRMR_UNKNOWN,
};

/**
 * struct rds_ib_frmr - a fast registration
 * @fm_item: on &rds_ib_mr_pool.mp_idle
 * @fm_pool: where it is kept
 * @fm_mr: the device's part
 * @fm_state: what peers reach by it
 * @fm_keys: which keys it has had, by their last byte
 */
struct rds_ib_frmr {
	struct list_head	fm_item;
	struct rds_ib_mr_pool	*fm_pool;
	struct ib_mr		*fm_mr;
	enum rds_ib_frmr_state	fm_state;
	DECLARE_BITMAP(fm_keys, 256);
};

/* Of a device: one for small memory, and one for the rest */
#define RDS_IB_MR_POOLS		2

/**
 * struct rds_ib_mr_pool - fast registrations of one size, to be used again
 * @mp_small: the counters are those of the small ones
 * @mp_pages: for how many pages they are
 * @mp_lock: guards the rest
 * @mp_idle: those that are kept, all idle; the one used last is first
 * @mp_nr: how many
 * @mp_low: the fewest that there were since the last look
 */
struct rds_ib_mr_pool {
	bool			mp_small;
	u32			mp_pages;
	spinlock_t		mp_lock;	/* the idle ones */
	struct list_head	mp_idle;
	u32			mp_nr;
	u32			mp_low;
};

/**
 * struct rds_ib_device - a device that we use
 * @dv_item: on the list of all
 * @dv_dev: the device
 * @dv_pd: protection domain of all queue pairs
 * @dv_events: tells of its ports
 * @dv_renew: a port has come up
 * @dv_removed: it is going
 * @dv_refs: the client's, and one for each connection
 * @dv_gone: the last reference has been given up
 * @dv_lock: guards @dv_conns, and who owns them
 * @dv_conns: its connections
 * @dv_mrs: memory that it has, &rds_ib_mr.im_item; guarded by the lock of mr.c
 * @dv_reg_qp_lock: guards @dv_reg_qp
 * @dv_reg_qp: registers it; NULL if there is none, or it has failed (reg_qp.c)
 * @dv_mr_pools: what for, the next time; small ones first
 * @dv_mr_look: gives back what of that is not needed
 * @dv_no_atomics: its driver has refused an atomic operation
 * @dv_no_mr_atomics: it has refused to register memory for those of peers
 */
struct rds_ib_device {
	struct list_head	dv_item;
	struct ib_device	*dv_dev;
	struct ib_pd		*dv_pd;
	struct ib_event_handler	dv_events;
	struct delayed_work	dv_renew;
	bool			dv_removed;
	refcount_t		dv_refs;
	struct completion	dv_gone;
	spinlock_t		dv_lock;		/* connections */
	struct list_head	dv_conns;
	struct list_head	dv_mrs;
	struct mutex		dv_reg_qp_lock;		/* dv_reg_qp */
	struct rds_ib_reg_qp	*dv_reg_qp;
	struct rds_ib_mr_pool	dv_mr_pools[RDS_IB_MR_POOLS];
	struct delayed_work	dv_mr_look;
	bool			dv_no_atomics;
	bool			dv_no_mr_atomics;
};

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

/**
 * struct rds_ib_rx_slot - a receive buffer
 * @rb_cqe: its completion
 * @rb_item: in the backlog, or among the spare
 * @rb_wr: its work request
 * @rb_sge: header and payload, as the device sees them
 * @rb_page: for the payload; NULL if it went with a message, or is not needed
 * @rb_hdr: for the header
 * @rb_bytes: what has come
 */
struct rds_ib_rx_slot {
	struct ib_cqe		rb_cqe;
	struct list_head	rb_item;
	struct ib_recv_wr	rb_wr;
	struct ib_sge		rb_sge[RDS_IB_RECV_SGE];
	struct page		*rb_page;
	struct rds_header	*rb_hdr;
	u32			rb_bytes;
};

/**
 * struct rds_ib_rx_chunk - receive buffers that are made together
 * @rk_item: on &rds_ib_rx.rx_chunks
 * @rk_hdrs: their headers
 * @rk_hdrs_dma: those, as the device sees them
 * @rk_slots: the buffers
 */
struct rds_ib_rx_chunk {
	struct list_head	rk_item;
	void			*rk_hdrs;
	u64			rk_hdrs_dma;
	struct rds_ib_rx_slot	rk_slots[RDS_IB_RX_CHUNK];
};

struct rds_ib_incoming;

/**
 * struct rds_ib_rx - the receiving half of a connection
 * @rx_done: what is called when a buffer has been used
 * @rx_chunks: all slots
 * @rx_spare: slots that are not posted
 * @rx_backlog: slots with what could not be taken yet, in order
 * @rx_slots: how many slots there are
 * @rx_posted: how many are posted
 * @rx_target: how many should be
 * @rx_max: how many may be
 * @rx_min: and how many there are in any case
 * @rx_tick: the tick in which @rx_used are counted
 * @rx_used: buffers used up in it
 * @rx_peak: the most that were used up in a tick since @rx_since
 * @rx_since: when @rx_target was looked at last
 * @rx_stopped: the receiver waits for rx_resume()
 * @rx_broken: the rest makes no sense
 * @rx_reasm: the message that is coming in
 * @rx_inc: the same, its memory; NULL between messages
 * @rx_map: congestion map that is coming in; NULL if none is
 * @rx_acked: the peer's last ack
 * @rx_seq: number of the last message that has come by this connection, new or
 *	not; 0 if none has
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
	u32			rx_min;
	unsigned long		rx_tick;
	u32			rx_used;
	u32			rx_peak;
	unsigned long		rx_since;
	bool			rx_stopped;
	bool			rx_broken;
	struct rds_ib_reasm	rx_reasm;
	struct rds_ib_incoming	*rx_inc;
	u8			*rx_map;
	u64			rx_acked;
	u64			rx_seq;
};

/**
 * struct rds_ib_watchdog - what the watchdog saw when it looked last
 * @w_seen: &rds_ib_conn.ic_completed
 * @w_head: slots handed out
 * @w_stalls: looks without any completion
 */
struct rds_ib_watchdog {
	int		w_seen;
	u32		w_head;
	unsigned int	w_stalls;
};

/**
 * struct rds_ib_conn - a connection, or an attempt at one
 * @ic_item: in the queue of accept.c, or at the end in that of cm_deferred.c
 * @ic_id: the connection manager's part
 * @ic_dev: the device; NULL until the address is resolved
 * @ic_dev_item: on &rds_ib_device.dv_conns
 * @ic_ip: the path, once it has one; changed under dv_lock
 * @ic_state: changed under the handler mutex only
 * @ic_request: who has made it, if the peer has
 * @ic_priv: what the peer said while connecting
 * @ic_version: the version to speak
 * @ic_responder: RDMA reads that the peer's request offers us
 * @ic_initiator: those that it wants to make
 * @ic_retries: how often packets are sent again, as it says
 * @ic_credits_told: buffers that we told the peer of while connecting
 * @ic_cq: completions of both queues
 * @ic_drained_sq: the send queue is empty
 * @ic_drained_rq: the receive queue is empty
 * @ic_drain_sqe: tells so
 * @ic_drain_rqe: tells so
 * @ic_watchdog: gives up an attempt that takes too long, and a connection on
 *	which nothing is completed
 * @ic_watch: what the watchdog saw last
 * @ic_signaled: completions that were asked for
 * @ic_completed: those that have come
 * @ic_dropped: core knows that it is over
 * @ic_tx_lock: guards @ic_ack, @ic_credits, and posting an ack
 * @ic_closing: nothing is posted any more; under both locks
 * @ic_ack: acknowledgments
 * @ic_credits: flow control
 * @ic_tx: sending
 * @ic_rx_lock: guards @ic_rx
 * @ic_rx: receiving
 */
struct rds_ib_conn {
	struct list_head	ic_item;
	struct rdma_cm_id	*ic_id;
	struct rds_ib_device	*ic_dev;
	struct list_head	ic_dev_item;
	struct rds_ib_path	*ic_ip;
	enum rds_ib_state	ic_state;
	struct rds_conn_request	ic_request;
	struct rds_ib_priv	ic_priv;
	u16			ic_version;
	u8			ic_responder;
	u8			ic_initiator;
	u8			ic_retries;
	u32			ic_credits_told;
	struct ib_cq		*ic_cq;
	struct completion	ic_drained_sq;
	struct completion	ic_drained_rq;
	struct ib_cqe		ic_drain_sqe;
	struct ib_cqe		ic_drain_rqe;
	struct delayed_work	ic_watchdog;
	struct rds_ib_watchdog	ic_watch;
	atomic_t		ic_signaled;
	atomic_t		ic_completed;
	bool			ic_dropped;

	spinlock_t		ic_tx_lock;	/* acks and credits */
	bool			ic_closing;
	struct rds_ib_ack	ic_ack;
	struct rds_ib_credits	ic_credits;
	struct rds_ib_tx	ic_tx;

	spinlock_t		ic_rx_lock;	/* receiving */
	struct rds_ib_rx	ic_rx;
};

/**
 * struct rds_ib_path - the transport's part of a path
 * @ip_path: core's
 * @ip_lock: guards @ip_offer, and changes of @ip_conn against those who only
 *	want to look at it
 * @ip_conn: the connection, or the attempt at one; changed by the path's work
 *	only
 * @ip_offer: a connection that the peer has made
 * @ip_heard: a peer has said what it is
 * @ip_epoch: the peer's, as it said last
 * @ip_knows_epoch: it did
 */
struct rds_ib_path {
	struct rds_path		*ip_path;
	spinlock_t		ip_lock;	/* offer, and ip_conn */
	struct rds_ib_conn	*ip_conn;
	struct rds_ib_conn	*ip_offer;
	bool			ip_heard;
	u32			ip_epoch;
	bool			ip_knows_epoch;
};

extern const struct rds_transport rds_ib_transport;
extern struct rds_ib_sysctl rds_ib_sysctl;
extern struct workqueue_struct *rds_ib_wq;
extern atomic_long_t rds_ib_rx_pages;

/**
 * rds_ib_is_v6() - does a path use IPv6?
 * @path: the path
 *
 * Context: any.
 * Return: true if it does.
 */
static inline bool rds_ib_is_v6(const struct rds_path *path)
{
	return !ipv6_addr_v4mapped(&path->laddr);
}

/* watchdog.c */
void rds_ib_watchdog_work(struct work_struct *work);

/* addr.c */
void rds_ib_sockaddr_init(struct sockaddr_storage *ss,
			  const struct in6_addr *addr, u16 port, int ifindex);
bool rds_ib_sockaddr_read(const struct sockaddr_storage *ss,
			  struct in6_addr *addr);
int rds_ib_laddr_check(struct net *net, const struct in6_addr *addr,
		       int ifindex);
struct rds_ib_device *rds_ib_device_of(struct net *net,
				       const struct in6_addr *addr,
				       int ifindex);
bool rds_ib_has_route(const struct rdma_cm_id *id);
void rds_ib_id_destroy(struct rdma_cm_id *id);

/* client.c */
int rds_ib_client_init(void);
void rds_ib_client_exit(void);

/* device.c */
void rds_ib_device_enlist(struct rds_ib_device *d);
struct rds_ib_device *rds_ib_device_delist(const struct ib_device *dev);
bool rds_ib_device_has(const struct ib_device *dev);
struct rds_ib_device *rds_ib_device_get(const struct ib_device *dev);
struct rds_ib_device *rds_ib_device_by_conn(const struct in6_addr *laddr,
					    int ifindex);
void rds_ib_device_put(struct rds_ib_device *d);
bool rds_ib_port_is_down(const struct rdma_cm_id *id);
int rds_ib_device_join(struct rds_ib_conn *ic, struct ib_device *dev);
void rds_ib_device_leave(struct rds_ib_conn *ic);

/* listen.c */
int rds_ib_listen(void);
void rds_ib_listen_stop(void);
void rds_ib_listen_exit(void);
void rds_ib_listen_again(void);
void rds_ib_unlisten_device(const struct ib_device *dev);

/* accept.c */
void rds_ib_accept_init(void);
void rds_ib_accept_exit(void);
int rds_ib_accept_request(struct rdma_cm_id *id,
			  const struct rdma_conn_param *param);

/* cm.c */
int rds_ib_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
int rds_ib_dial(struct rds_ib_path *ip);
int rds_ib_accept(struct rds_ib_path *ip, struct rds_ib_conn *ic);

/* cm_deferred.c */
void rds_ib_deferred_exit(void);
bool rds_ib_cm_must_defer(const struct rds_ib_conn *ic,
			  enum rds_ib_state state);
void rds_ib_cm_defer(struct rds_ib_conn *ic);
void rds_ib_deferred_look(void);
void rds_ib_conn_end(struct rds_ib_conn *ic);

/* conn.c */
struct rds_ib_conn *rds_ib_conn_alloc(void);
int rds_ib_conn_set_up(struct rds_ib_conn *ic);
void rds_ib_conn_free(struct rds_ib_conn *ic);

/* path_ops.c */
int rds_ib_path_alloc(struct rds_path *path);
void rds_ib_path_free(struct rds_path *path);
int rds_ib_path_offer(struct rds_path *path, void *offer);
int rds_ib_path_connect(struct rds_path *path);
unsigned long rds_ib_path_shutdown(struct rds_path *path, bool abort);

/* path.c */
extern struct work_struct rds_ib_accept_work;
void rds_ib_refuse(struct rds_ib_conn *ic);
void rds_ib_take_refused(struct list_head *refused);
void rds_ib_path_set_conn(struct rds_ib_path *ip, struct rds_ib_conn *ic);
bool rds_ib_path_is_conn(struct rds_ib_path *ip, const struct rds_ib_conn *ic);
bool rds_ib_path_dialed(struct rds_ib_path *ip);
bool rds_ib_path_withdraw_offer(struct rds_ib_path *ip,
				struct rds_ib_conn *ic);
struct rds_ib_conn *rds_ib_path_take_offer(struct rds_ib_path *ip);
struct rds_ib_conn *rds_ib_path_use_offer(struct rds_ib_path *ip);
void rds_ib_path_disown(struct rds_ib_conn *ic);

/* drop.c */
void rds_ib_watchdog_start(struct rds_ib_conn *ic);
void rds_ib_drop_locked(struct rds_ib_conn *ic, enum rds_drop_reason reason);
void rds_ib_drop(struct rds_ib_conn *ic, enum rds_drop_reason reason);

/* page.c */
struct page *rds_ib_page_get(gfp_t gfp);
void rds_ib_pages_put(struct page **pages, u32 nr);
void rds_ib_pages_exit(void);

/* incoming.c */
bool rds_ib_incoming_is_small(u32 len);
struct rds_ib_incoming *rds_ib_incoming_alloc(const struct rds_header *hdr);
void rds_ib_incoming_copy_in(struct rds_ib_incoming *ii, const void *from,
			     u32 len);
void rds_ib_incoming_add_page(struct rds_ib_incoming *ii, struct page *page);
struct rds_incoming *rds_ib_incoming_end(struct rds_ib_incoming *ii);
void rds_ib_incoming_drop(struct rds_ib_incoming *ii);

/* rx_ring.c */
int rds_ib_rx_init(struct rds_ib_conn *ic, u32 max);
void rds_ib_rx_refill(struct rds_ib_conn *ic, gfp_t gfp);
void rds_ib_rx_count(struct rds_ib_conn *ic);
void rds_ib_rx_release(struct rds_ib_conn *ic);
void rds_ib_rx_give_back(struct rds_ib_conn *ic, struct rds_ib_rx_slot *slot);
struct page *rds_ib_rx_take_page(struct rds_ib_conn *ic,
				 struct rds_ib_rx_slot *slot);

/* recv.c */
void rds_ib_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void rds_ib_rx_go_on(struct rds_ib_conn *ic);
void rds_ib_rx_resume(struct rds_path *path);

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

/* reg_qp.c */
void rds_ib_reg_qp_init(struct rds_ib_device *d);
int rds_ib_reg_qp_run(struct rds_ib_device *d, struct ib_send_wr *wr);
int rds_ib_reg_qp_run_once(struct rds_ib_device *d, struct ib_send_wr *wr);
void rds_ib_reg_qp_destroy(struct rds_ib_device *d);

/* mr_pool.c */
struct rds_ib_frmr *rds_ib_frmr_get(struct rds_ib_device *d,
				    unsigned int pages);
int rds_ib_frmr_register(struct rds_ib_frmr *fm, struct rds_ib_device *d,
			 int access);
void rds_ib_frmr_put(struct rds_ib_frmr *fm, struct rds_ib_device *d);
unsigned int rds_ib_mr_pages_max(const struct rds_ib_device *d);
void rds_ib_mr_pools_init(struct rds_ib_device *d);
void rds_ib_mr_pools_end(struct rds_ib_device *d);

/* mr.c */
void *rds_ib_mr_map(struct net *net, const struct in6_addr *laddr, int ifindex,
		    const struct rds_mr_memory *mem, u32 *key);
bool rds_ib_mr_alive(const void *handle);
void rds_ib_mr_unmap(void *handle);
void rds_ib_mrs_end(struct rds_ib_device *d);

/* info.c */
bool rds_ib_record(struct rds_path *path, int opt, void *record);

/* sysctl.c */
int rds_ib_sysctl_init(void);
void rds_ib_sysctl_exit(void);

#endif /* _RDS_IB_IB_H */
