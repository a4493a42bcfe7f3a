/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths: the lanes of a connection. */
#ifndef _RDS_CORE_PATH_H
#define _RDS_CORE_PATH_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/rds/transport.h>

#include "path_state.h"

struct rds_conn;

/**
 * enum rds_path_flag - bits of &rds_cpath.cp_flags
 * @RDS_PF_CONNECT: connect at cp_connect_at; cleared by who takes it up
 * @RDS_PF_CONG: the peer is to be sent our congestion map
 */
enum rds_path_flag {
	RDS_PF_CONNECT,
	RDS_PF_CONG,
};

/**
 * struct rds_cpath - a path, as core sees it
 * @cp_pub: what the transport sees
 * @cp_conn: the connection; the path is part of it
 * @cp_trans: its transport; gone with its module once the path is dead
 * @cp_loops: that is a loopback transport
 * @cp_lock: guards all up to @cp_pongs
 * @cp_state: stored by rds_path_event() only; read without the lock
 * @cp_dead: the connection is being destroyed; nothing may be queued
 * @cp_send_queue: messages to send, in order
 * @cp_retrans: messages sent and not acknowledged, in order; the one being
 *	sent is among them
 * @cp_xmit_msg: the message being sent; changed only by the holder of
 *	@cp_xmit_lock
 * @cp_xmit_acked: the ack of @cp_xmit_msg is here already
 * @cp_next_tx_seq: number of the next message queued
 * @cp_unacked_packets: messages until the next request for an ack
 * @cp_unacked_bytes: bytes until the next request for an ack
 * @cp_pongs: answers to pings, to be queued by the path's work
 * @cp_npongs: those, and those queued and not yet acknowledged
 * @cp_next_rx_seq: number of the message expected next; touched by
 *	deliveries only, and those are serial
 * @cp_xmit_lock: held by the one who sends; taken by trylock to send, and
 *	waited for to shut down
 * @cp_map: snapshot of the congestion map being sent, or NULL; guarded by
 *	@cp_xmit_lock
 * @cp_work: all else that happens to the path, one at a time; holds a
 *	reference to the connection while queued
 * @cp_flags: enum rds_path_flag
 * @cp_connect_at: when %RDS_PF_CONNECT is due, in jiffies
 * @cp_backoff_ms: grows with each failed attempt; see rds_backoff_next()
 */
struct rds_cpath {
	struct rds_path		cp_pub;
	struct rds_conn		*cp_conn;
	const struct rds_transport *cp_trans;
	bool			cp_loops;

	spinlock_t		cp_lock;	/* guards state and queues */
	enum rds_path_state	cp_state;
	bool			cp_dead;
	struct list_head	cp_send_queue;
	struct list_head	cp_retrans;
	struct rds_message	*cp_xmit_msg;
	bool			cp_xmit_acked;
	u64			cp_next_tx_seq;
	int			cp_unacked_packets;
	int			cp_unacked_bytes;

	struct llist_head	cp_pongs;
	atomic_t		cp_npongs;
	u64			cp_next_rx_seq;

	struct mutex		cp_xmit_lock;	/* held to send */
	void			*cp_map;

	struct delayed_work	cp_work;
	unsigned long		cp_flags;
	unsigned long		cp_connect_at;
	u32			cp_backoff_ms;
};

extern struct workqueue_struct *rds_wq;

/**
 * to_cpath() - core's view of a path
 * @path: the transport's view
 *
 * Context: any.
 * Return: the same path.
 */
static inline struct rds_cpath *to_cpath(struct rds_path *path)
{
	return container_of(path, struct rds_cpath, cp_pub);
}

/**
 * rds_cpath_state() - state of a path
 * @cp: the path
 *
 * Context: any. The state may change as soon as this returns, except that
 * the holder of the transmit lock that sees UP may go on sending.
 * Return: the state.
 */
static inline enum rds_path_state rds_cpath_state(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->cp_state);
}

void rds_cpath_init(struct rds_cpath *cp, struct rds_conn *conn,
		    work_func_t work);
bool rds_cpath_event(struct rds_cpath *cp, enum rds_path_event event);
void rds_cpath_kick(struct rds_cpath *cp, unsigned long delay);
void rds_cpath_connect_soon(struct rds_cpath *cp);
void rds_cpath_connect_later(struct rds_cpath *cp);
void rds_cpath_connect(struct rds_cpath *cp);

#endif /* _RDS_CORE_PATH_H */
