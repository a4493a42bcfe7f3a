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

#include "conn.h"
#include "device.h"
#include "mr.h"
#include "rx.h"
#include "stats.h"
#include "tx.h"

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

extern const struct rds_transport rds_ib_transport;
extern struct rds_ib_sysctl rds_ib_sysctl;

/* info.c */
bool rds_ib_record(struct rds_path *path, int opt, void *record);

/* sysctl.c */
int rds_ib_sysctl_init(void);
void rds_ib_sysctl_exit(void);

#endif /* _RDS_IB_IB_H */
