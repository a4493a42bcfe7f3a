// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which connections a path has.
 *
 * A path has at most one connection, and at most one offer. A newer offer
 * replaces an older one, because a peer that connects again has given the
 * earlier connection up. The work item of accept.c frees the connections that
 * no path is to have.
 */
#include "ib.h"

/* Takes connections from the list below, and from that of accept.c */
struct work_struct rds_ib_accept_work;

static DEFINE_SPINLOCK(rds_ib_refuse_lock);	/* guards the list */
static LIST_HEAD(rds_ib_refused);

/**
 * rds_ib_refuse() - Schedule a connection to be freed
 * @ic: the connection, owned by the caller, which passes it on; not in the
 *	request queue of accept.c
 *
 * Context: Any context. Takes the lock of the list.
 */
void rds_ib_refuse(struct rds_ib_conn *ic)
{
	spin_lock_bh(&rds_ib_refuse_lock);
	list_add_tail(&ic->ic_item, &rds_ib_refused);
	spin_unlock_bh(&rds_ib_refuse_lock);
	queue_work(rds_ib_wq, &rds_ib_accept_work);
}

/**
 * rds_ib_take_refused() - Take the connections that are to be freed
 * @refused: an empty list; the caller owns the connections that it returns
 *
 * Context: Any context. Takes the lock of the list.
 */
void rds_ib_take_refused(struct list_head *refused)
{
	spin_lock_bh(&rds_ib_refuse_lock);
	list_splice_init(&rds_ib_refused, refused);
	spin_unlock_bh(&rds_ib_refuse_lock);
}

/**
 * rds_ib_path_set_conn() - Change the connection of a path
 * @ip: the path
 * @ic: the connection, or NULL
 *
 * Context: Process context: the path's work item, or path_shutdown() when core
 * destroys the path. Takes ip_lock.
 */
void rds_ib_path_set_conn(struct rds_ib_path *ip, struct rds_ib_conn *ic)
{
	spin_lock_bh(&ip->ip_lock);
	ip->ip_conn = ic;
	spin_unlock_bh(&ip->ip_lock);
}

/**
 * rds_ib_path_is_conn() - Check whether a path uses a connection
 * @ip: the path
 * @ic: the connection
 *
 * Context: Any context. Takes ip_lock.
 * Return: true if @ic is the connection of @ip.
 */
bool rds_ib_path_is_conn(struct rds_ib_path *ip, const struct rds_ib_conn *ic)
{
	bool is_conn;

	spin_lock_bh(&ip->ip_lock);
	is_conn = ip->ip_conn == ic;
	spin_unlock_bh(&ip->ip_lock);
	return is_conn;
}

/**
 * rds_ib_path_disown() - Detach a connection from its path
 * @ic: the connection, just taken from the path, whose offer it was
 *
 * The path may be freed soon, and the end of @ic must not affect the connection
 * that the path uses.
 *
 * Context: Any context. Takes dv_lock.
 */
void rds_ib_path_disown(struct rds_ib_conn *ic)
{
	spin_lock_bh(&ic->ic_dev->dv_lock);
	ic->ic_ip = NULL;
	ic->ic_dropped = true;
	spin_unlock_bh(&ic->ic_dev->dv_lock);
}

/**
 * rds_ib_path_take_offer() - Take the offer of a path
 * @ip: the path
 *
 * Context: Any context. Takes ip_lock.
 * Return: the connection, which the caller owns; NULL if there is no offer.
 */
struct rds_ib_conn *rds_ib_path_take_offer(struct rds_ib_path *ip)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&ip->ip_lock);
	ic = ip->ip_offer;
	ip->ip_offer = NULL;
	rds_path_offer_event(ip->ip_path, RDS_OFFER_GONE);
	spin_unlock_bh(&ip->ip_lock);
	return ic;
}

/**
 * rds_ib_path_use_offer() - Make the offer of a path its connection
 * @ip: the path; it has no connection
 *
 * Context: Process context, the path's work item. Takes ip_lock.
 * Return: the connection; NULL if there is no offer.
 */
struct rds_ib_conn *rds_ib_path_use_offer(struct rds_ib_path *ip)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&ip->ip_lock);
	ic = ip->ip_offer;
	ip->ip_offer = NULL;
	ip->ip_conn = ic;
	if (ic)
		rds_path_offer_event(ip->ip_path, RDS_OFFER_TAKEN);
	spin_unlock_bh(&ip->ip_lock);
	return ic;
}

/**
 * rds_ib_path_dialed() - Process the success of our dial
 * @ip: the path
 *
 * If the path still waits for the connection that we dialed, it does not need
 * another one, and its offer is refused.
 *
 * Context: Any context. Takes ip_lock, and dv_lock after it.
 * Return: true if the path waits for the connection; false if it has given the
 * attempt up.
 */
bool rds_ib_path_dialed(struct rds_ib_path *ip)
{
	struct rds_ib_conn *ic = NULL;
	bool wanted;

	spin_lock_bh(&ip->ip_lock);
	wanted = rds_path_offer_event(ip->ip_path, RDS_OFFER_OVERTAKEN);
	if (wanted)
		swap(ic, ip->ip_offer);
	spin_unlock_bh(&ip->ip_lock);

	if (ic) {
		rds_ib_path_disown(ic);
		rds_ib_refuse(ic);
		rds_ib_stat_inc(ib_connect_raced);
	}
	return wanted;
}

/**
 * rds_ib_path_withdraw_offer() - Take back a connection that was offered
 * @ip: the path
 * @ic: the connection
 *
 * Context: Any context. Takes ip_lock.
 * Return: true if the caller owns @ic now; false if @ic is not the offer of
 * @ip.
 */
bool rds_ib_path_withdraw_offer(struct rds_ib_path *ip,
				struct rds_ib_conn *ic)
{
	bool found;

	spin_lock_bh(&ip->ip_lock);
	found = ip->ip_offer == ic;
	if (found) {
		ip->ip_offer = NULL;
		rds_path_offer_event(ip->ip_path, RDS_OFFER_GONE);
	}
	spin_unlock_bh(&ip->ip_lock);
	return found;
}
