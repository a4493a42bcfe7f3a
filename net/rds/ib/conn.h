/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections, the paths that own them, and connecting. */
#ifndef _RDS_IB_CONN_H
#define _RDS_IB_CONN_H

#include <linux/completion.h>
#include <linux/lockdep.h>
#include <net/ipv6.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "cm_table.h"
#include "credits.h"
#include "privdata.h"
#include "rx.h"
#include "tx.h"

struct rds_ib_device;

/**
 * enum rds_ib_wr_kind - kinds of work requests, for the trace
 * @RDS_IB_WR_SEND: a fragment of a message or of a congestion map
 * @RDS_IB_WR_READ: an RDMA read
 * @RDS_IB_WR_WRITE: an RDMA write
 * @RDS_IB_WR_ATOMIC: an atomic operation
 * @RDS_IB_WR_ACK: an ack that is sent alone
 * @RDS_IB_WR_RECV: a receive buffer
 * @RDS_IB_WR_REG: a registration, or the end of one
 *
 * If a work request has failed, its completion does not have the opcode.
 */
enum rds_ib_wr_kind {
	RDS_IB_WR_SEND,
	RDS_IB_WR_READ,
	RDS_IB_WR_WRITE,
	RDS_IB_WR_ATOMIC,
	RDS_IB_WR_ACK,
	RDS_IB_WR_RECV,
	RDS_IB_WR_REG,
};

#define RDS_IB_PORT_V4		18634
#define RDS_IB_PORT_V6		16385

/**
 * struct rds_ib_watchdog - state of the watchdog at its last check
 * @w_seen: value of &rds_ib_conn.ic_completed
 * @w_posted: value of &rds_ib_tx.tx_posted
 * @w_stalls: checks in a row without any completion
 */
struct rds_ib_watchdog {
	int		w_seen;
	u32		w_posted;
	unsigned int	w_stalls;
};

/**
 * struct rds_ib_conn - a connection, or an attempt at one
 * @ic_item: entry in the request queue of accept.c, in the list of refused
 *	connections of path.c, or in the list of cm_deferred.c
 * @ic_id: the CM ID
 * @ic_dev: the device; NULL until the address is resolved
 * @ic_dev_item: entry in &rds_ib_device.dv_conns
 * @ic_port: number of the port of @ic_dev; set before the connection is on the
 *	list, and valid longer than @ic_id
 * @ic_renew: completions were outstanding when the port came up last; guarded
 *	by dv_lock, like @ic_renew_seen
 * @ic_renew_seen: value of @ic_completed at that time
 * @ic_ip: the path; NULL until the connection has one; changed under dv_lock
 *	once @ic_dev is set
 * @ic_state: changed by rds_ib_conn_set_state() only
 * @ic_handler: stands for the handler mutex, which is private to the connection
 *	manager, so that lockdep can tell whether it is held
 * @ic_request: the peer's request. If we dial, only the addresses and the type
 *	of service are set, for the trace: unlike @ic_ip, they never go away.
 * @ic_priv: private data that the peer has sent while connecting
 * @ic_version: protocol version to use
 * @ic_responder: RDMA reads that the peer's request wants to make
 * @ic_initiator: RDMA reads that the peer's request allows us to make
 * @ic_retries: retry count in the peer's request
 * @ic_credits_told: receive buffers announced to the peer while connecting; 0
 *	if they are not counted
 * @ic_qpn: number of the QP; 0 before it is created
 * @ic_cq: completions of both work queues
 * @ic_drained_sq: completed when the send queue is empty
 * @ic_drained_rq: completed when the receive queue is empty
 * @ic_drain_sqe: completion of the WR that drains the send queue
 * @ic_drain_rqe: completion of the WR that drains the receive queue
 * @ic_watchdog: drops an attempt that takes too long, and a connection on which
 *	no WR is completed
 * @ic_watch: state of the watchdog at its last check
 * @ic_signaled: number of completions that were requested
 * @ic_completed: number of completions that have arrived
 * @ic_dropped: the connection is over or refused, and further drops have no
 *	effect; changed under dv_lock once @ic_dev is set
 * @ic_tx_lock: guards @ic_ack, @ic_credits, and posting a SEND
 * @ic_closing: nothing is posted any more; changed under @ic_rx_lock and
 *	@ic_tx_lock
 * @ic_ack: acks that are sent on their own
 * @ic_credits: flow control
 * @ic_tx: the sending half
 * @ic_rx_lock: guards @ic_rx
 * @ic_rx: the receiving half
 */
struct rds_ib_conn {
	struct list_head	ic_item;
	struct rdma_cm_id	*ic_id;
	struct rds_ib_device	*ic_dev;
	struct list_head	ic_dev_item;
	u32			ic_port;
	bool			ic_renew;
	int			ic_renew_seen;
	struct rds_ib_path	*ic_ip;
	enum rds_ib_state	ic_state;
	struct lockdep_map	ic_handler;
	struct rds_conn_request	ic_request;
	struct rds_ib_priv	ic_priv;
	u16			ic_version;
	u8			ic_responder;
	u8			ic_initiator;
	u8			ic_retries;
	u32			ic_credits_told;
	u32			ic_qpn;
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

	spinlock_t		ic_tx_lock;	/* acks, credits, posting */
	bool			ic_closing;
	struct rds_ib_ack	ic_ack;
	struct rds_ib_credits	ic_credits;
	struct rds_ib_tx	ic_tx;

	spinlock_t		ic_rx_lock;	/* receiving */
	struct rds_ib_rx	ic_rx;
};

/**
 * struct rds_ib_path - the transport's part of a path
 * @ip_path: core's part
 * @ip_lock: guards @ip_offer; also held to change @ip_conn, so that contexts
 *	other than path operations can read it
 * @ip_conn: the connection, or the attempt at one; changed only by the path's
 *	work item, or when core destroys the path
 * @ip_offer: a connection made by the peer that waits for the path
 * @ip_heard: private data of a peer has been applied
 * @ip_epoch: the peer's epoch in its last private data
 * @ip_knows_epoch: that private data had an epoch: the peer ran our
 *	implementation
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

/**
 * rds_ib_handler_enter() - Record that the handler mutex is held
 * @ic: the connection
 *
 * Context: Process context. The handler mutex of its CM ID is held.
 */
static inline void rds_ib_handler_enter(struct rds_ib_conn *ic)
{
	lock_map_acquire(&ic->ic_handler);
}

/**
 * rds_ib_handler_leave() - Record that the handler mutex is unlocked next
 * @ic: the connection
 *
 * Context: Process context. The handler mutex of its CM ID is held.
 */
static inline void rds_ib_handler_leave(struct rds_ib_conn *ic)
{
	lock_map_release(&ic->ic_handler);
}

/**
 * rds_ib_conn_lock() - Lock the handler mutex of a connection
 * @ic: the connection, with its CM ID
 *
 * Context: Process context, may sleep. Takes the handler mutex.
 */
static inline void rds_ib_conn_lock(struct rds_ib_conn *ic)
{
	rdma_lock_handler(ic->ic_id);
	rds_ib_handler_enter(ic);
}

/**
 * rds_ib_conn_unlock() - Unlock the handler mutex of a connection
 * @ic: the connection
 *
 * Context: Process context. The handler mutex is held.
 */
static inline void rds_ib_conn_unlock(struct rds_ib_conn *ic)
{
	rds_ib_handler_leave(ic);
	rdma_unlock_handler(ic->ic_id);
}

/**
 * rds_ib_is_v6() - Check whether a path uses IPv6
 * @path: the path
 *
 * Context: Any context.
 * Return: true if it does.
 */
static inline bool rds_ib_is_v6(const struct rds_path *path)
{
	return !ipv6_addr_v4mapped(&path->laddr);
}

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

/* watchdog.c */
void rds_ib_watchdog_work(struct work_struct *work);

/* cm_deferred.c */
void rds_ib_deferred_exit(void);
bool rds_ib_cm_must_defer(const struct rds_ib_conn *ic,
			  enum rds_ib_state state);
void rds_ib_cm_defer(struct rds_ib_conn *ic);
void rds_ib_deferred_look(void);
void rds_ib_conn_end(struct rds_ib_conn *ic);

/* conn.c */
struct rds_ib_conn *rds_ib_conn_alloc(void);
void rds_ib_conn_set_state(struct rds_ib_conn *ic, enum rds_ib_state state);
int rds_ib_conn_set_up(struct rds_ib_conn *ic);
void rds_ib_conn_free(struct rds_ib_conn *ic);

/* accept.c */
void rds_ib_accept_init(void);
void rds_ib_accept_exit(void);
int rds_ib_accept_request(struct rdma_cm_id *id,
			  const struct rdma_conn_param *param);

/* cm.c */
int rds_ib_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
int rds_ib_dial(struct rds_ib_path *ip);
int rds_ib_accept(struct rds_ib_path *ip, struct rds_ib_conn *ic);

/* path_ops.c */
int rds_ib_path_alloc(struct rds_path *path);
void rds_ib_path_free(struct rds_path *path);
int rds_ib_path_offer(struct rds_path *path, void *offer);
int rds_ib_path_connect(struct rds_path *path);
unsigned long rds_ib_path_shutdown(struct rds_path *path, bool abort);

/* listen.c */
int rds_ib_listen(void);
void rds_ib_listen_stop(void);
void rds_ib_listen_exit(void);
void rds_ib_listen_again(void);
void rds_ib_unlisten_device(const struct ib_device *dev);

#endif /* _RDS_IB_CONN_H */
