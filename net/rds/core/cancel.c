// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that their socket gives up: RDS_CANCEL_SENT_TO and close(). send.c
 * describes the lists that a message is on, and who owns it.
 */
#include <net/ipv6.h>

#include "conn.h"
#include "message.h"
#include "op.h"
#include "send.h"

#include <trace/events/rds.h>

static bool rds_send_is_for(const struct rds_message *msg,
			    const struct rds_addr *dest)
{
	const struct rds_path *path = msg->m_path;

	return !dest ||
	       (msg->m_dport == dest->port &&
		ipv6_addr_equal(&path->faddr, &dest->ip) &&
		rds_addr_scope(&path->faddr, path->ifindex) == dest->ifindex);
}

/* Remove the message from its path, too, unless it is being sent. */
static void rds_send_cancel_on_path(struct rds_message *msg)
{
	struct rds_cpath *cp = to_cpath(msg->m_path);
	struct rds_sock *rs = NULL;
	bool mine;

	spin_lock_bh(&cp->cp_lock);
	mine = msg->m_on_path && msg != cp->cp_tx.pt_msg;
	msg->m_canceled = true;
	if (mine) {
		list_del(&msg->m_path_item);
		msg->m_on_path = false;
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_CANCELED);
	} else if (msg->m_on_path) {
		/* Detach the message from its socket. A socket keeps its
		 * namespace alive. When the namespace ends must not depend on
		 * when the transport has finished with the message.
		 */
		rs = msg->m_rs;
		msg->m_rs = NULL;
	}
	spin_unlock_bh(&cp->cp_lock);

	if (mine)
		rds_send_finish(msg);
	else if (msg->m_op)
		rds_op_finish(msg);
	if (rs)
		sock_put(&rs->rs_sk);
}

/* Move messages from the socket's list to @gone, each with a reference. */
static void rds_send_collect(struct rds_sock *rs, const struct rds_addr *dest,
			     struct list_head *gone)
{
	struct rds_message *msg, *next;

	spin_lock_bh(&rs->rs_lock);
	list_for_each_entry_safe(msg, next, &rs->rs_send_queue, m_sock_item) {
		if (!rds_send_is_for(msg, dest))
			continue;
		rds_send_unlink_sock(rs, msg);
		rds_message_get(msg);
		list_add_tail(&msg->m_sock_item, gone);
	}
	spin_unlock_bh(&rs->rs_lock);
}

/**
 * rds_send_cancel() - Cancel the messages that a socket has sent
 * @rs: the socket
 * @dest: cancel only messages to this address and port; NULL for all
 *
 * The transport goes on with a message that it has begun to send, but that
 * message no longer counts in the send buffer (rds(7), RDS_CANCEL_SENT_TO). An
 * operation that has begun is waited for, since the device may access the
 * user's memory until it has ended.
 *
 * Context: Process context, may sleep. Takes rs_lock and cp_lock in turn.
 * Return: 0 on success; -EINTR if a signal ended the wait before all operations
 * had ended.
 */
int rds_send_cancel(struct rds_sock *rs, const struct rds_addr *dest)
{
	struct rds_message *msg, *next;
	LIST_HEAD(gone);
	int ret = 0;

	rds_send_collect(rs, dest, &gone);
	if (list_empty(&gone))
		return 0;

	list_for_each_entry(msg, &gone, m_sock_item)
		rds_send_cancel_on_path(msg);
	rs->rs_sk.sk_write_space(&rs->rs_sk);

	list_for_each_entry_safe(msg, next, &gone, m_sock_item) {
		list_del(&msg->m_sock_item);
		if (msg->m_op && !ret)
			ret = rds_op_wait(msg);
		rds_message_put(msg);
	}
	return ret;
}

/**
 * rds_send_abandon() - Cancel all messages of a socket that is being closed
 * @rs: the socket; no other task uses it
 *
 * Same as rds_send_cancel() for all messages, but does not report to the user
 * how operations end, and does not wait for them.
 *
 * Context: Process context. Takes rs_lock and cp_lock in turn.
 */
void rds_send_abandon(struct rds_sock *rs)
{
	struct rds_message *msg, *next;
	LIST_HEAD(gone);

	rds_send_collect(rs, NULL, &gone);
	list_for_each_entry_safe(msg, next, &gone, m_sock_item) {
		list_del(&msg->m_sock_item);
		if (msg->m_op)
			rds_op_forget(msg);
		rds_send_cancel_on_path(msg);
		rds_message_put(msg);
	}
}
