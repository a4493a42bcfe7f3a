// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user of connections that stands above core: what core tells it.
 *
 * There is one slot. Core calls an op with the RCU read lock held, or with a
 * reference that pins the module: a frame holds its socket, and the socket the
 * module. The user gives up frames without a socket before it goes. So the slot
 * may be emptied at any time, and the module goes after a grace period, when it
 * has no socket any more.
 */
#include <linux/module.h>
#include <linux/net.h>

#include "delay.h"
#include "upper.h"

/* Time for the handshake frame of a peer, in jiffies */
#define RDS_UPPER_PATIENCE	(5 * HZ)

static const struct rds_upper __rcu *rds_upper_slot;
static DEFINE_MUTEX(rds_upper_mutex);

/**
 * rds_upper_register() - Register the user of connections
 * @upper: the user
 *
 * Context: Process context, may sleep.
 * Return: 0; -EEXIST if there is one already.
 */
int rds_upper_register(const struct rds_upper *upper)
{
	int ret = 0;

	mutex_lock(&rds_upper_mutex);
	if (rcu_access_pointer(rds_upper_slot))
		ret = -EEXIST;
	else
		rcu_assign_pointer(rds_upper_slot, upper);
	mutex_unlock(&rds_upper_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(rds_upper_register);

/**
 * rds_upper_unregister() - Unregister the user of connections
 * @upper: the user, registered; none of its sockets exists, and core has no
 *	frame of it any more that it would report
 *
 * When this returns, no op is running, and none will be called.
 *
 * Context: Process context, may sleep.
 */
void rds_upper_unregister(const struct rds_upper *upper)
{
	mutex_lock(&rds_upper_mutex);
	RCU_INIT_POINTER(rds_upper_slot, NULL);
	mutex_unlock(&rds_upper_mutex);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(rds_upper_unregister);

/**
 * rds_upper_is_registered() - Check whether there is a user of connections
 *
 * Context: Any context.
 * Return: true if there is one. It may begin or end at any time.
 */
bool rds_upper_is_registered(void)
{
	return rcu_access_pointer(rds_upper_slot);
}

/**
 * rds_upper_get() - Get the user of connections
 *
 * Context: Any context.
 * Return: the user, whose module is pinned: the caller puts it; NULL if there
 * is no user.
 */
const struct rds_upper *rds_upper_get(void)
{
	const struct rds_upper *upper;

	rcu_read_lock();
	upper = rcu_dereference(rds_upper_slot);
	if (upper && !try_module_get(upper->owner))
		upper = NULL;
	rcu_read_unlock();
	return upper;
}

/**
 * rds_upper_create() - Create a socket of the user above core
 * @net: the namespace
 * @sock: the socket being created, of type SOCK_STREAM
 * @protocol: as passed to socket()
 * @kern: nonzero if the socket is for use by the kernel
 *
 * Context: Process context, may sleep.
 * Return: 0; -ESOCKTNOSUPPORT if there is no such user; or the error of its
 * create().
 */
int rds_upper_create(struct net *net, struct socket *sock, int protocol,
		     int kern)
{
	const struct rds_upper *upper = rds_upper_get();
	int ret;

	if (!upper)
		return -ESOCKTNOSUPPORT;

	ret = upper->create(net, sock, protocol, kern);
	module_put(upper->owner);
	return ret;
}

/**
 * rds_upper_deliver() - Deliver a frame
 * @conn: the connection on which it has arrived
 * @inc: the frame; its reference is taken over on success
 * @batch: the batch of deliveries
 *
 * Context: Deliver context.
 * Return: false if nobody takes frames.
 */
bool rds_upper_deliver(struct rds_conn *conn, struct rds_incoming *inc,
		       struct rds_rx_batch *batch)
{
	const struct rds_upper *upper;

	rcu_read_lock();
	upper = rcu_dereference(rds_upper_slot);
	if (upper)
		upper->deliver(conn, inc, batch);
	rcu_read_unlock();
	return upper;
}

/**
 * rds_upper_done() - Report that a connection has finished with a frame
 * @msg: the frame, on no path's list; without an owner if it was canceled while
 *	it was being sent
 *
 * Context: Any context. Locks of the transport may be held.
 */
void rds_upper_done(struct rds_message *msg)
{
	const struct rds_upper *upper;
	void *owner = msg->m_owner;

	if (!owner)
		return;
	msg->m_owner = NULL;
	rcu_read_lock();
	upper = rcu_dereference(rds_upper_slot);
	/* The user has no frames any more when the slot is emptied. */
	if (!WARN_ON_ONCE(!upper))
		upper->done(msg, owner, msg->m_lost);
	rcu_read_unlock();
}

/**
 * rds_upper_event() - Report an event of a connection
 * @conn: the connection
 * @event: the event
 * @err: see &rds_upper.event
 *
 * Context: Any context; see &rds_upper.event.
 */
void rds_upper_event(struct rds_conn *conn, enum rds_upper_event event,
		     int err)
{
	const struct rds_upper *upper;

	/* Pairs with the barrier in rds_upper_watch(): either this context
	 * sees the flag, or the user sees what the event is about.
	 */
	smp_mb();
	if (likely(!READ_ONCE(conn->c_upper)))
		return;
	rcu_read_lock();
	upper = rcu_dereference(rds_upper_slot);
	if (upper)
		upper->event(conn, event, err);
	rcu_read_unlock();
}

/**
 * rds_upper_failed() - Report that an attempt to connect has failed
 * @cp: the path, which has been shut down; if it was UP before, nothing has
 *	failed
 * @reason: the reason why the path was dropped
 *
 * Only path 0 shows whether the peer can be reached. Attempts end for many
 * reasons, as two ends that dial agree on one connection; only some of these
 * show that no RDS can be reached.
 *
 * Context: Process context, the path's work item.
 */
void rds_upper_failed(struct rds_cpath *cp, enum rds_drop_reason reason)
{
	int err;

	switch (reason) {
	case RDS_DROP_REFUSED:
		err = -ECONNREFUSED;
		break;
	case RDS_DROP_UNREACHABLE:
		err = -EHOSTUNREACH;
		break;
	case RDS_DROP_TIMEOUT:
		err = -ETIMEDOUT;
		break;
	default:
		return;
	}
	if (!cp->cp_pub.index && READ_ONCE(cp->cp_dial.pd_failing))
		rds_upper_event(cp->cp_conn, RDS_UPPER_FAILED, err);
}

/**
 * rds_upper_names() - Get the names of a connection
 * @conn: the connection
 * @names: set to its names
 *
 * Context: Any context.
 */
void rds_upper_names(const struct rds_conn *conn,
		     struct rds_upper_names *names)
{
	names->net = conn->c_rn->rn_net;
	names->laddr = conn->c_key.laddr;
	names->faddr = conn->c_key.faddr;
	names->ifindex = conn->c_key.ifindex;
	names->loops = rds_conn_loops(conn);
}
EXPORT_SYMBOL_GPL(rds_upper_names);

/**
 * rds_upper_is_gone() - Check whether a user may have missed an event
 * @conn: the connection, which the user has just begun to use: an event finds
 *	it in the user's tables
 *
 * Context: Any context.
 * Return: true if %RDS_UPPER_GONE has been, or is being, reported.
 */
bool rds_upper_is_gone(const struct rds_conn *conn)
{
	/* Pairs with the barrier in rds_upper_event(). */
	smp_mb();
	return READ_ONCE(conn->c_gone);
}
EXPORT_SYMBOL_GPL(rds_upper_is_gone);

/* Check whether a peer has said all that it will say about itself. */
static bool rds_upper_has_spoken(const struct rds_cpath *cp)
{
	return !rds_cpath_can(cp, RDS_CAP_HANDSHAKE) ||
	       READ_ONCE(cp->cp_hs.ph_known) ||
	       !rds_delay_left(READ_ONCE(cp->cp_dial.pd_since) +
			       RDS_UPPER_PATIENCE, RDS_UPPER_PATIENCE);
}

/**
 * rds_upper_peer() - Check what is known of the peer of a connection
 * @conn: the connection
 * @epoch: set to the number of the peer's incarnation. Frames for this
 *	incarnation are submitted with it
 *
 * What an earlier connection has shown holds if the peer knew streams. A peer
 * that did not may be another one by now, so it is asked again. A peer of
 * another implementation may say nothing about itself.
 *
 * Context: Any context.
 * Return: what is known.
 */
enum rds_upper_peer rds_upper_peer(const struct rds_conn *conn, u32 *epoch)
{
	const struct rds_cpath *cp = rds_conn_path(conn, 0);

	*epoch = READ_ONCE(conn->c_rx_epoch);
	if (rds_conn_loops(conn) || rds_cpath_knows_streams(cp) ||
	    READ_ONCE(conn->c_peer_hs.streams))
		return RDS_PEER_STREAMS;
	if (rds_cpath_state(cp) != RDS_PATH_UP)
		return RDS_PEER_UNKNOWN;
	return rds_upper_has_spoken(cp) ? RDS_PEER_OTHER : RDS_PEER_UNKNOWN;
}
EXPORT_SYMBOL_GPL(rds_upper_peer);
