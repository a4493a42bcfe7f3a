// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers to pings, from the delivery of the ping to the queue of its path.
 *
 * A delivery transmits nothing: it leaves the pong with the path, whose work
 * queues it. There may be so many in a namespace, and on a path.
 */
#include "compat.h"
#include "cong.h"
#include "conn.h"
#include "message.h"
#include "pong.h"
#include "send.h"
#include "sysctl.h"

/* Pongs that may wait on a path; a peer that pings faster loses some. */
#define RDS_MAX_PONGS	1024

/* No path may have more than this part of what is left for all, so that there
 * always is something left for another.
 */
#define RDS_PONGS_PART	4

static bool rds_pong_has_room(const struct rds_cpath *cp)
{
	const struct rds_net *rn = cp->cp_conn->c_rn;
	int left;

	left = rds_sysctl_limit(rn, pongs_max) - atomic_read(&rn->rn_npongs);
	return atomic_read(&cp->cp_npongs) <
	       min(RDS_MAX_PONGS, DIV_ROUND_UP(left, RDS_PONGS_PART));
}

/**
 * rds_pong_drop() - give up the pongs that were not queued
 * @cp: the path, dead
 *
 * They hold no reference to the connection.
 *
 * Context: any.
 */
void rds_pong_drop(struct rds_cpath *cp)
{
	struct llist_node *pongs = llist_del_all(&cp->cp_pongs);
	struct rds_message *msg, *next;

	llist_for_each_entry_safe(msg, next, pongs, m_pong) {
		atomic_dec(&cp->cp_npongs);
		atomic_dec(&cp->cp_conn->c_rn->rn_npongs);
		rds_message_put(msg);
	}
}

/**
 * rds_pong_add() - answer a ping
 * @cp: the path that it came by
 * @port: the port that it came from
 *
 * The answer goes by the path's work: nothing is transmitted from here. Who
 * pings and does not read gets no more of them.
 *
 * Context: deliver context.
 * Return: false if there are too many already, the port is congested, or there
 * is no memory.
 */
bool rds_pong_add(struct rds_cpath *cp, __be16 port)
{
	struct rds_message *msg;

	if (!rds_pong_has_room(cp) ||
	    rds_cong_test(cp->cp_conn->c_fcong, port))
		return false;

	msg = rds_message_alloc_empty(GFP_ATOMIC | __GFP_NOWARN);
	if (!msg)
		return false;

	msg->m_dport = port;
	msg->m_kind = RDS_MSG_PONG;
	atomic_inc(&cp->cp_npongs);
	atomic_inc(&cp->cp_conn->c_rn->rn_npongs);
	/* Either this sees that the connection is being destroyed, or that sees
	 * the pong: what both do to the list are full barriers.
	 */
	llist_add(&msg->m_pong, &cp->cp_pongs);
	if (list_empty_careful(&cp->cp_conn->c_item))
		rds_pong_drop(cp);
	rds_cpath_kick(cp, 0);
	return true;
}

/**
 * rds_pong_queue() - queue the answers to the pings received
 * @cp: the path
 *
 * Context: process, the path's work item.
 */
void rds_pong_queue(struct rds_cpath *cp)
{
	struct rds_message *msg, *next;
	struct llist_node *list;

	if (llist_empty(&cp->cp_pongs))
		return;

	list = llist_reverse_order(llist_del_all(&cp->cp_pongs));
	llist_for_each_entry_safe(msg, next, list, m_pong) {
		msg->m_path = &cp->cp_pub;
		rds_conn_hold(cp->cp_conn);
		if (rds_send_control(cp, msg, false))
			rds_stat_inc(cp->cp_conn->c_rn, send_pong);
	}
	rds_cpath_connect_soon(cp);
}
