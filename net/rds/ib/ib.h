/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDS over reliable connections of InfiniBand verbs: the parts that all files
 * of this folder share.
 *
 * Ownership:
 *
 *  rds_ib_device (dv_)	a device that we use, with its protection domain. The
 *			client callbacks create and destroy it (client.c). Each
 *			connection on it holds a reference, and the removal of
 *			the device waits for the last one.
 *  listener		one CM ID for IPv4, and one for each IPv6 address of a
 *			device (listen.c).
 *  rds_ib_conn (ic_)	one connection, or an attempt at one: CM ID, QP, CQ,
 *			rings, credits, and the messages that are being sent and
 *			reassembled. Owned by the request queue (accept.c), then
 *			by a path as its offer, then by the path as its
 *			connection. There is one owner at a time, which ends the
 *			connection by rds_ib_conn_free(). The next attempt is
 *			another rds_ib_conn.
 *  rds_ib_path (ip_)	the part of a path that outlives connections: pointers
 *			to the current connection and to the offer, and the last
 *			facts that the peer has sent about itself.
 *  rds_ib_mr (im_)	user memory that peers may access. Owned by core until
 *			rds_ib_mr_unmap(). If the device is removed first, the
 *			removal ends the registration and unmaps the memory
 *			(mr.c).
 *  rds_ib_frmr (fm_)	a fast registration, by which the device registers
 *			memory. Owned by an rds_ib_mr, or kept in a pool of the
 *			device for the next one (mr_pool.c).
 *  tx slot		a WR of the send queue: its header, its mapping, and a
 *			reference to the message whose last part it carries. In
 *			use from rds_ib_ring_get() until its completion, or the
 *			completion of a later WR, or the end of the connection.
 *  tx_lent		references to messages that the device copies while we
 *			post. Held from the time when the messages are batched
 *			until the batch is posted.
 *  rx slot		a receive buffer: a header and the pages of a fragment.
 *			It is posted, in the backlog, or spare. The pages that
 *			a large message fills leave the slot with the message,
 *			and the slot gets others (page.c).
 *
 * Contexts: the path's work item (path_connect, path_shutdown, rx_resume);
 * senders, under the path's transmit lock; CM handlers, in process context
 * under the handler mutex of the CM ID; completions, in softirq; client
 * callbacks; the work items on rds_ib_wq, such as that of accept.c.
 *
 * Locks, outer before inner:
 *
 *	cp_xmit_lock (core's) > handler mutex of a CM ID (rdma_lock_handler())
 *	mutex of listen.c > handler mutex
 *	handler mutex > mutex of device.c > dv_lock
 *	handler mutex > ic_rx_lock
 *	rn_lock (core's) > dv_lock
 *	ic_rx_lock > locks taken in deliver context, or cp_lock, or ic_tx_lock
 *	ic_rx_lock > dv_lock > ip_lock > cp_lock
 *	ic_rx_lock > dv_lock > lock of path.c
 *
 * No other lock of RDS is taken under mp_lock, dv_reg_qp_lock, rp_lock, or the
 * spin locks of accept.c, cm_deferred.c and mr.c.
 *
 * No CM handler takes rn_lock or cp_xmit_lock, or waits for a context that
 * holds one of them. The work item of accept.c processes the requests of peers
 * instead. Spin locks are taken with bottom halves off, except rp_lock, which
 * is only taken in process context.
 *
 * The end of a connection (rds_ib_conn_free()):
 *  1. Set the state CLOSED, under the handler mutex: CM events have no effect
 *     from here on.
 *  2. Set ic_closing, under ic_rx_lock and ic_tx_lock: completions post nothing
 *     more. No sender is active, because the caller holds the path's transmit
 *     lock, or the connection has never been UP. So the watchdog and the
 *     delayed ack are not started any more. Cancel both.
 *  3. Disconnect, which also puts the QP into the error state. If the peer's
 *     request has not been answered, reject it instead.
 *  4. Wait for all posted WRs, for a bounded time; on some iWARP devices the
 *     wait has no limit (rds_ib_drain()).
 *  5. Destroy the QP: the device does not access our memory any more.
 *  6. Free the CQ: no completion runs any more.
 *  7. Release all that the rings hold.
 *  8. Destroy the CM ID, which waits for its handler.
 *  9. Leave the device.
 * Steps 8 and 9 may be left to cm_deferred.c, and step 3 is omitted then: some
 * devices break if a CM message is sent while their port is down.
 * A step is skipped if its object was never created, so the function also ends
 * a half-built connection.
 */
#ifndef _RDS_IB_IB_H
#define _RDS_IB_IB_H

#include "conn.h"
#include "device.h"
#include "mr.h"
#include "rx.h"
#include "sge.h"
#include "stats.h"
#include "tx.h"

/**
 * struct rds_ib_sysctl - tunables, see Documentation/sysctl.rst
 * @max_send_wr: entries of a send queue
 * @max_recv_wr: entries of a receive queue; bounds the receive buffers of a
 *	connection; half of them if they are for wide fragments
 * @min_recv_wr: receive buffers that a connection begins with, and has when it
 *	is idle; half as many, but 4 at least, if they are for wide fragments
 * @max_unsignaled_wr: most WRs between two that request a completion
 * @max_recv_allocation: most pages in receive buffers of all connections
 * @flow_control: count receive buffers by credits
 * @mr_pool_max: most registrations of each size that a device keeps
 * @mr_pool_software: software devices also keep some
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
