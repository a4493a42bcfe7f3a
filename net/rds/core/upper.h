/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of connections that stand above core. */
#ifndef _RDS_CORE_UPPER_H
#define _RDS_CORE_UPPER_H

#include <net/rds/upper.h>

#include "conn.h"
#include "message.h"

bool rds_upper_is_registered(void);
const struct rds_upper *rds_upper_get(void);
int rds_upper_create(struct net *net, struct socket *sock, int protocol,
		     int kern);
bool rds_upper_deliver(struct rds_conn *conn, struct rds_incoming *inc,
		       struct rds_rx_batch *batch);
void rds_upper_done(struct rds_message *msg);
void rds_upper_event(struct rds_conn *conn, enum rds_upper_event event,
		     int err);
void rds_upper_failed(struct rds_cpath *cp, enum rds_drop_reason reason);

/* upper_calls.c */
void rds_upper_refuse(struct rds_cpath *cp, const struct rds_incoming *inc);

/**
 * rds_cpath_knows_streams() - Check whether frames of streams may be sent
 * @cp: the path, UP
 *
 * Context: Any context.
 * Return: true if the peer has announced on this connection that it knows
 * them, and what follows from its handshake is done.
 */
static inline bool rds_cpath_knows_streams(const struct rds_cpath *cp)
{
	if (rds_cpath_can(cp, RDS_CAP_LOOPBACK))
		return true;
	if (!rds_cpath_can(cp, RDS_CAP_HANDSHAKE))
		return READ_ONCE(cp->cp_rx.pr_streams);
	/* Pairs with the release in rds_mp_apply(). */
	return smp_load_acquire(&cp->cp_hs.ph_known) &&
	       READ_ONCE(cp->cp_rx.pr_streams);
}

/**
 * rds_upper_may_send() - Check whether a message may go to the present peer
 * @cp: the path, UP
 * @msg: the message
 *
 * Context: Any context.
 * Return: false if the message is a frame of a stream, and the peer knows no
 * such frames or is not the one that the frame is meant for.
 */
static inline bool rds_upper_may_send(const struct rds_cpath *cp,
				      const struct rds_message *msg)
{
	return likely(!rds_message_is_frame(msg)) ||
	       (msg->m_epoch == READ_ONCE(cp->cp_conn->c_rx_epoch) &&
		rds_cpath_knows_streams(cp));
}

#endif /* _RDS_CORE_UPPER_H */
