// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pongs: replies to pings, from the delivery of a ping to the send queue of its
 * path.
 *
 * Deliver context does not transmit: it adds the pong to a lockless list of the
 * path, and the path's work item queues it. The number of pongs is limited for
 * each namespace and each path, so a peer that floods us with pings only loses
 * pongs.
 *
 * Replies about streams count as pongs.
 */
#include "compat.h"
#include "cong.h"
#include "conn.h"
#include "message.h"
#include "pong.h"
#include "send.h"
#include "sysctl.h"

/* Maximum number of pongs on a path; a peer that pings faster loses some. */
#define RDS_MAX_PONGS	1024

/* The pongs of a path may be at most 1 / RDS_PONGS_PART of those left for the
 * namespace, so that some are always left for other paths.
 */
#define RDS_PONGS_PART	4

static bool rds_pong_has_room(const struct rds_cpath *cp)
{
	const struct rds_net *rn = cp->cp_conn->c_rn;
	int max = rds_sysctl_limit(rn, pongs_max);
	int left, part;

	left = max(max - atomic_read(&rn->rn_npongs), 0);
	/* The limit may be INT_MAX, with which DIV_ROUND_UP() overflows. */
	part = left / RDS_PONGS_PART + !!(left % RDS_PONGS_PART);
	return atomic_read(&cp->cp_npongs) < min(RDS_MAX_PONGS, part);
}

/**
 * rds_pong_drop() - Drop the pongs of a dead path that were not queued
 * @cp: the path, dead
 *
 * These pongs hold no reference to the connection.
 *
 * Context: Any context.
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
 * rds_pong_new() - Allocate a pong, or another reply that is limited like pongs
 * @cp: the path that is to carry it
 *
 * Context: Any context.
 * Return: the pong, to be passed to rds_pong_push(); NULL if there are too many
 * already, or there is no memory.
 */
struct rds_message *rds_pong_new(struct rds_cpath *cp)
{
	struct rds_message *msg;

	if (!rds_pong_has_room(cp))
		return NULL;
	msg = rds_message_alloc_empty(GFP_ATOMIC | __GFP_NOWARN);
	if (msg)
		msg->m_kind = RDS_MSG_PONG;
	return msg;
}

/**
 * rds_pong_push() - Pass a pong to the path's work item, which sends it
 * @cp: the path
 * @msg: the pong; taken over
 *
 * Context: Any context.
 */
void rds_pong_push(struct rds_cpath *cp, struct rds_message *msg)
{
	atomic_inc(&cp->cp_npongs);
	atomic_inc(&cp->cp_conn->c_rn->rn_npongs);
	/* If the connection is being destroyed, either this context sees that
	 * it is off the list of connections, or the destruction sees the pong:
	 * llist_add() and llist_del_all() are full barriers.
	 */
	llist_add(&msg->m_pong, &cp->cp_pongs);
	if (list_empty(&cp->cp_conn->c_item))
		rds_pong_drop(cp);
	rds_cpath_kick(cp, 0);
}

/**
 * rds_pong_add() - Reply to a ping
 * @cp: the path that the ping arrived on
 * @port: the port that sent the ping
 *
 * Nothing is transmitted here; the path's work item sends the pong. A peer that
 * pings and does not read gets no more pongs once the limit is reached.
 *
 * Context: Deliver context.
 * Return: true if a pong was added to the path's list; false if there are too
 * many pongs already, the port is congested, or there is no memory.
 */
bool rds_pong_add(struct rds_cpath *cp, __be16 port)
{
	struct rds_message *msg;

	if (rds_cong_test(cp->cp_conn->c_fcong, port))
		return false;
	msg = rds_pong_new(cp);
	if (!msg)
		return false;

	msg->m_dport = port;
	rds_pong_push(cp, msg);
	return true;
}

/**
 * rds_pong_queue() - Queue the pongs for the pings received
 * @cp: the path
 *
 * Context: Process context, the path's work item.
 */
void rds_pong_queue(struct rds_cpath *cp)
{
	struct rds_message *msg, *next;
	struct llist_node *list;
	bool pong;

	if (llist_empty(&cp->cp_pongs))
		return;

	list = llist_reverse_order(llist_del_all(&cp->cp_pongs));
	llist_for_each_entry_safe(msg, next, list, m_pong) {
		msg->m_path = &cp->cp_pub;
		rds_conn_hold(cp->cp_conn);
		pong = msg->m_kind == RDS_MSG_PONG;
		/* A reply about streams does not wait for a host that is
		 * gone: it would count against those for other hosts. This
		 * host is not gone; but over loopback, the connection that
		 * replies may be a new one.
		 */
		if (!pong && rds_cpath_state(cp) != RDS_PATH_UP &&
		    !rds_conn_loops(cp->cp_conn)) {
			rds_send_finish(msg);
			continue;
		}
		if (rds_send_control(cp, msg, false) && pong)
			rds_stat_inc(cp->cp_conn->c_rn, send_pong);
	}
	rds_cpath_connect_soon(cp);
}
