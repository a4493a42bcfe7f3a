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

#include "incoming.h"
#include "rx_hold.h"

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
		rds_rx_hold_uncharge(inc);
	inc->i_ops->free(inc);
	if (owner)
		module_put(owner);
}
