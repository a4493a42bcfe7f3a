// SPDX-License-Identifier: GPL-2.0-only
/*
 * Received messages.
 *
 * Any holder of a reference may read a message. rds_deliver() takes over the
 * transport's reference. Then the receive queue of a socket owns it until
 * recvmsg() or close(). MSG_PEEK takes another one. From rds_deliver() on the
 * message pins the module that can free it, since it may outlive the
 * connection.
 */
#include <linux/module.h>

#include "conn.h"
#include "incoming.h"
#include "sysctl.h"

/**
 * rds_incoming_get() - Take another reference to a received message
 * @inc: the message; the caller holds a reference, or the lock of its queue
 *
 * Context: Any context.
 */
void rds_incoming_get(struct rds_incoming *inc)
{
	refcount_inc(&inc->i_refs);
}

/**
 * rds_incoming_charge() - Count a message as held for a slow reader
 * @inc: the message
 * @path: the path that the message arrived on; its connection is referenced
 *	until the message is freed
 *
 * Context: Deliver context.
 * Return: bytes of memory that the counted messages of all paths of the
 * connection hold now.
 */
long rds_incoming_charge(struct rds_incoming *inc, struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	inc->i_path = path;
	rds_conn_hold(cp->cp_conn);
	return atomic_long_add_return(inc->i_truesize,
				      &cp->cp_conn->c_rx_held);
}

/* Undo rds_incoming_charge(). When the memory held falls below half of the
 * limit, resume reading on all paths that were stopped.
 */
static void rds_incoming_uncharge(struct rds_incoming *inc)
{
	struct rds_conn *conn = to_cpath(inc->i_path)->cp_conn;
	struct rds_cpath *cp;
	unsigned int i;
	long held;

	held = atomic_long_sub_return(inc->i_truesize, &conn->c_rx_held);
	if (held >= rds_rx_held_max(conn->c_rn) / 2)
		goto out;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp || !test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags) ||
		    !test_and_clear_bit(RDS_PF_RX_STOPPED, &cp->cp_flags))
			continue;
		set_bit(RDS_PF_RX, &cp->cp_flags);
		rds_cpath_kick(cp, 0);
	}
out:
	rds_conn_put(conn);
}

/**
 * rds_incoming_put() - Put a reference to a received message
 * @inc: the message, which rds_deliver() has taken over
 *
 * The last reference frees the message and unpins its module.
 *
 * Context: Any context, including softirq. Not under a lock of the socket.
 */
void rds_incoming_put(struct rds_incoming *inc)
{
	struct module *owner = inc->i_ops->owner;

	if (!refcount_dec_and_test(&inc->i_refs))
		return;
	if (inc->i_path)
		rds_incoming_uncharge(inc);
	inc->i_ops->free(inc);
	if (owner)
		module_put(owner);
}
