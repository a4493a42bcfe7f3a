// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that wait at the sender for a congested port.
 *
 * sendmsg() does not accept a message for a port that the peer has marked as
 * congested. But other messages for that port may be queued already. If they
 * were sent, they would pile up at the peer until it has to stop reading the
 * path, which also carries the messages of other sockets. So if the port of the
 * next message is congested, the message is parked, and others overtake it. The
 * order must be kept only between one pair of sockets. As long as any message
 * for a port is parked, later messages for that port are parked behind it.
 *
 * When a map from the peer frees a port, the messages parked for it return to
 * the front of the send queue, in order, behind the messages that have a
 * sequence number. All parked messages return in two cases: when the connection
 * is lost, as the next one begins with a new map, and before messages are
 * flushed (retrans.c). On the next connection a message is parked again if the
 * old map still marks its port.
 *
 * These are not parked:
 *
 * - a message with a sequence number: it has been sent before, and the peer may
 *   have it;
 * - a message that was queued before messages began to spread over paths: the
 *   barrier probe must arrive behind all of these (multipath.c);
 * - a control message of core: a probe, reply or pong;
 * - a message over TCP to a peer that runs another implementation: on several
 *   paths, its map that frees a port may be overtaken by an older one;
 * - any message on loopback, where the sender itself waits;
 * - a message, if there is no memory to record its port.
 *
 * A parked message counts in its socket's send buffer, is on its socket's list,
 * and is canceled like a queued one.
 *
 * A path that has parked messages is on the wait queue of the peer's map. It
 * enters the queue before it looks at the map for the last time, so it misses
 * no change. It leaves the queue when no message is parked, and before the path
 * is destroyed.
 */
#include <linux/slab.h>

#include "cong.h"
#include "conn.h"
#include "message.h"
#include "park.h"

static int rds_park_wake(wait_queue_entry_t *entry, unsigned int mode,
			 int flags, void *key)
{
	struct rds_cpath *cp = container_of(entry, struct rds_cpath,
					    cp_park.pk_wait);

	set_bit(RDS_PF_UNPARK, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
	return 0;
}

/**
 * rds_park_init() - Initialize the park of a new path
 * @pk: the park, zeroed
 *
 * Context: Process context.
 */
void rds_park_init(struct rds_park *pk)
{
	xa_init(&pk->pk_ports);
	init_waitqueue_func_entry(&pk->pk_wait, rds_park_wake);
}

/* Check whether the peer's map is reliable enough to park messages: see the top
 * of this file.
 */
static bool rds_park_trusts_map(const struct rds_cpath *cp)
{
	return !rds_cpath_can(cp, RDS_CAP_LOOPBACK) &&
	       (!rds_cpath_can(cp, RDS_CAP_HANDSHAKE) ||
		READ_ONCE(cp->cp_conn->c_peer_hs.ours));
}

/**
 * rds_park_wants() - Check whether a message is to be parked, not sent
 * @cp: the path
 * @msg: the message, the next to be sent
 *
 * Context: Any. cp_lock is held.
 * Return: true if the message is to be parked; false if it is to be sent.
 */
bool rds_park_wants(struct rds_cpath *cp, const struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	struct rds_park *pk = &cp->cp_park;
	struct rds_cong_map *map = cp->cp_conn->c_fcong;

	lockdep_assert_held(&cp->cp_lock);

	if (msg->m_seq || msg->m_kind != RDS_MSG_DATA)
		return false;
	if (unlikely(!xa_empty(&pk->pk_ports)) &&
	    xa_load(&pk->pk_ports, ntohs(msg->m_dport)))
		return true;
	return unlikely(rds_cong_test(map, msg->m_dport)) &&
	       msg->m_ticket >= pk->pk_from && rds_park_trusts_map(cp);
}

static struct rds_parked *rds_park_get(struct rds_park *pk, unsigned int port)
{
	struct rds_parked *pd = xa_load(&pk->pk_ports, port);

	if (pd)
		return pd;
	pd = kmalloc(sizeof(*pd), GFP_ATOMIC | __GFP_NOWARN);
	if (!pd)
		return NULL;
	INIT_LIST_HEAD(&pd->pd_msgs);
	if (xa_err(xa_store(&pk->pk_ports, port, pd,
			    GFP_ATOMIC | __GFP_NOWARN))) {
		kfree(pd);
		return NULL;
	}
	return pd;
}

/**
 * rds_park_take() - Park the next message in the queue if its port is congested
 * @cp: the path
 * @msg: the message
 *
 * If the message is parked, the caller must call rds_park_watch() after it has
 * released cp_lock.
 *
 * Context: Process context. cp_xmit_lock and cp_lock are held.
 * Return: true if the message is parked; false if it is to be sent.
 */
bool rds_park_take(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	struct rds_parked *pd;

	lockdep_assert_held(&cp->cp_xmit_lock);
	lockdep_assert_held(&cp->cp_lock);

	if (likely(!rds_park_wants(cp, msg)))
		return false;
	pd = rds_park_get(&cp->cp_park, ntohs(msg->m_dport));
	if (!pd)
		return false;
	list_move_tail(&msg->m_path_item, &pd->pd_msgs);
	/* The socket waits for an ack: let the next message request one. */
	if (msg->m_want_ack)
		cp->cp_tx.pt_packets_left = 0;
	rds_stat_inc(cp->cp_conn->c_rn, send_parked);
	return true;
}

/**
 * rds_park_watch() - Put the path on the wait queue of the peer's map
 * @cp: the path, which has parked a message
 *
 * When a port of the peer becomes free, the path's work item is kicked.
 *
 * Context: Process context. cp_xmit_lock is held.
 */
void rds_park_watch(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_park *pk = &cp->cp_park;

	lockdep_assert_held(&cp->cp_xmit_lock);

	if (pk->pk_waits)
		return;
	pk->pk_waits = true;
	add_wait_queue(&cp->cp_conn->c_fcong->cm_waitq, &pk->pk_wait);
	/* Enter the wait queue before looking at the map: see
	 * rds_cong_changed().
	 */
	smp_mb();
	set_bit(RDS_PF_UNPARK, &cp->cp_flags);
}

/* Insert @msgs behind the messages that have a sequence number. Those are sent
 * first, in their order.
 */
static void rds_park_requeue(struct rds_cpath *cp, struct list_head *msgs)
	__must_hold(&cp->cp_lock)
{
	struct rds_message *msg;
	struct list_head *pos;

	lockdep_assert_held(&cp->cp_lock);
	pos = &cp->cp_tx.pt_queue;
	list_for_each_entry(msg, &cp->cp_tx.pt_queue, m_path_item) {
		if (!msg->m_seq)
			break;
		pos = &msg->m_path_item;
	}
	list_splice(msgs, pos);
}

static bool rds_park_is_over(const struct rds_cpath *cp,
			     struct rds_parked *pd, unsigned long port)
	__must_hold(&cp->cp_lock)
{
	const struct rds_message *first;

	lockdep_assert_held(&cp->cp_lock);
	first = list_first_entry_or_null(&pd->pd_msgs, struct rds_message,
					 m_path_item);
	return !first || first->m_ticket < cp->cp_park.pk_from ||
	       !rds_cong_test(cp->cp_conn->c_fcong, htons(port));
}

static void rds_park_look(struct rds_cpath *cp, bool all)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_park *pk = &cp->cp_park;
	struct rds_parked *pd;
	unsigned long port;
	LIST_HEAD(msgs);
	bool empty;

	lockdep_assert_held(&cp->cp_xmit_lock);

	spin_lock_bh(&cp->cp_lock);
	xa_for_each(&pk->pk_ports, port, pd) {
		if (!all && !rds_park_is_over(cp, pd, port))
			continue;
		list_splice_tail(&pd->pd_msgs, &msgs);
		xa_erase(&pk->pk_ports, port);
		kfree(pd);
	}
	if (!list_empty(&msgs))
		rds_park_requeue(cp, &msgs);
	empty = xa_empty(&pk->pk_ports);
	spin_unlock_bh(&cp->cp_lock);

	if (empty && pk->pk_waits) {
		remove_wait_queue(&cp->cp_conn->c_fcong->cm_waitq,
				  &pk->pk_wait);
		pk->pk_waits = false;
	}
}

/**
 * rds_park_release() - Requeue the parked messages whose port has become free
 * @cp: the path
 *
 * Context: Process context. cp_xmit_lock is held; takes cp_lock.
 */
void rds_park_release(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);
	if (test_and_clear_bit(RDS_PF_UNPARK, &cp->cp_flags))
		rds_park_look(cp, false);
}

/**
 * rds_park_release_all() - Return all parked messages to the send queue
 * @cp: the path
 *
 * Context: Process context. cp_xmit_lock is held; takes cp_lock.
 */
void rds_park_release_all(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);
	clear_bit(RDS_PF_UNPARK, &cp->cp_flags);
	rds_park_look(cp, true);
}

/**
 * rds_park_end() - Exempt all messages queued so far from being parked
 * @cp: the path
 *
 * Messages that are parked already return to the send queue. The caller must
 * kick the path's work item.
 *
 * Context: Process context. cp_lock is held.
 */
void rds_park_end(struct rds_cpath *cp)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	cp->cp_park.pk_from = cp->cp_tx.pt_next_ticket;
	/* This keeps messages from being picked until the parked ones are back
	 * in the queue.
	 */
	set_bit(RDS_PF_UNPARK, &cp->cp_flags);
}
