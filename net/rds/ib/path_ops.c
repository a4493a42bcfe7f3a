// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations of a path that core calls: keep a connection that the peer has
 * made, connect, shut down.
 */
#include <linux/slab.h>

#include "ib.h"

/**
 * rds_ib_path_alloc() - Set up the transport's part of a path
 * @path: the path
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rds_ib_path_alloc(struct rds_path *path)
{
	struct rds_ib_path *ip = kzalloc(sizeof(*ip), GFP_KERNEL);

	if (!ip)
		return -ENOMEM;

	ip->ip_path = path;
	spin_lock_init(&ip->ip_lock);
	path->data = ip;
	return 0;
}

/**
 * rds_ib_path_free() - Undo rds_ib_path_alloc()
 * @path: the path, shut down
 *
 * Context: Process context, may sleep.
 */
void rds_ib_path_free(struct rds_path *path)
{
	struct rds_ib_path *ip = path->data;
	struct rds_ib_conn *ic = rds_ib_path_take_offer(ip);

	if (ic) {
		rds_ib_path_disown(ic);
		rds_ib_stat_inc(ib_listen_closed_stale);
		rds_ib_conn_free(ic);
	}
	kfree(ip);
}

/**
 * rds_ib_path_offer() - Keep a connection that the peer has made
 * @path: the path
 * @offer: the connection
 *
 * Context: Process context. rn_lock is held. Takes dv_lock, ip_lock.
 * Return: 0 if the path owns @offer from now on; -ECONNRESET if @offer is
 * already over; -EALREADY if the path does not need @offer any more, or refuses
 * it in a duel.
 */
int rds_ib_path_offer(struct rds_path *path, void *offer)
{
	struct rds_ib_conn *ic = offer, *older = NULL;
	struct rds_ib_path *ip = path->data;
	int ret = -ECONNRESET;
	bool stuck;

	/* On iWARP, an end cannot drop its attempt before the peer replies. */
	stuck = ic->ic_dev->dv_dev->node_type == RDMA_NODE_RNIC;

	spin_lock_bh(&ic->ic_dev->dv_lock);
	if (!ic->ic_dropped) {
		spin_lock(&ip->ip_lock);
		ret = -EALREADY;
		if (!rds_path_refuses_offer(path, &ic->ic_request, stuck)) {
			/* Set before the offer is visible: the context that
			 * takes it does so without dv_lock.
			 */
			ic->ic_ip = ip;
			older = ip->ip_offer;
			ip->ip_offer = ic;
			rds_path_offer_event(path, RDS_OFFER_KEPT);
			ret = 0;
		}
		spin_unlock(&ip->ip_lock);
	}
	spin_unlock_bh(&ic->ic_dev->dv_lock);
	if (ret == -EALREADY)
		rds_ib_stat_inc(ib_connect_raced);

	if (older) {
		rds_ib_path_disown(older);
		rds_ib_refuse(older);
	}
	return ret;
}

/**
 * rds_ib_path_connect() - Begin to connect
 * @path: the path
 *
 * Context: Process context, the path's work item, may sleep.
 * Return: see &rds_conn_ops.path_connect.
 */
int rds_ib_path_connect(struct rds_path *path)
{
	struct rds_ib_path *ip = path->data;
	struct rds_ib_conn *ic;
	int ret;

	ic = rds_ib_path_use_offer(ip);
	if (!ic && (path->passive || !rds_path_is_used(path)))
		return -EAGAIN;
	ret = ic ? rds_ib_accept(ip, ic) : rds_ib_dial(ip);
	/* A driver that lacks resources may say this, too. But to core it means
	 * that only the peer can connect.
	 */
	return ret == -EAGAIN ? -EBUSY : ret;
}

/**
 * rds_ib_path_shutdown() - End the connection of a path, or the attempt at one
 * @path: the path
 * @abort: ignored: messages that the peer has not acknowledged are
 *	retransmitted, and messages that we have not delivered were not
 *	acknowledged
 *
 * Context: Process context, may sleep. The path's transmit lock is held.
 * Return: 0.
 */
unsigned long rds_ib_path_shutdown(struct rds_path *path, bool abort)
{
	struct rds_ib_path *ip = path->data;
	struct rds_ib_conn *ic = ip->ip_conn;

	if (!ic)
		return 0;
	rds_ib_path_set_conn(ip, NULL);
	rds_ib_conn_free(ic);
	return 0;
}
