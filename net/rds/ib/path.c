// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has a connection: a path has at most one, and one that the peer has made
 * and that waits to be taken. A newer offer takes the place of an older one,
 * for a peer that connects again has given the former up. What nobody is to
 * have is ended by the work item of accept.c.
 */
#include "ib.h"

/* Takes from the list below, and from that of accept.c */
struct work_struct rds_ib_accept_work;

static DEFINE_SPINLOCK(rds_ib_refuse_lock);	/* guards the list */
static LIST_HEAD(rds_ib_refused);

/**
 * rds_ib_refuse() - end a connection later
 * @ic: the connection, of a path or of nobody; not in the queue of accept.c
 *
 * Context: any.
 */
void rds_ib_refuse(struct rds_ib_conn *ic)
{
	spin_lock_bh(&rds_ib_refuse_lock);
	list_add_tail(&ic->ic_item, &rds_ib_refused);
	spin_unlock_bh(&rds_ib_refuse_lock);
	queue_work(rds_ib_wq, &rds_ib_accept_work);
}

/**
 * rds_ib_take_refused() - take what is to be ended
 * @refused: an empty list; the connections on it are the caller's
 *
 * Context: any.
 */
void rds_ib_take_refused(struct list_head *refused)
{
	spin_lock_bh(&rds_ib_refuse_lock);
	list_splice_init(&rds_ib_refused, refused);
	spin_unlock_bh(&rds_ib_refuse_lock);
}

/**
 * rds_ib_path_set_conn() - change the connection of a path
 * @ip: the path
 * @ic: the connection, or NULL
 *
 * Context: process, the path's work item.
 */
void rds_ib_path_set_conn(struct rds_ib_path *ip, struct rds_ib_conn *ic)
{
	spin_lock_bh(&ip->ip_lock);
	ip->ip_conn = ic;
	spin_unlock_bh(&ip->ip_lock);
}

/**
 * rds_ib_path_is_conn() - is a connection the one of a path?
 * @ip: the path
 * @ic: the connection
 *
 * Context: any.
 * Return: true if it is.
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
 * rds_ib_path_disown() - have a connection be nobody's
 * @ic: the connection, taken from a path
 *
 * Whose it was may be gone soon, and its end is of no concern to the one that
 * the path has.
 *
 * Context: any. Takes dv_lock.
 */
void rds_ib_path_disown(struct rds_ib_conn *ic)
{
	spin_lock_bh(&ic->ic_dev->dv_lock);
	ic->ic_ip = NULL;
	ic->ic_dropped = true;
	spin_unlock_bh(&ic->ic_dev->dv_lock);
}

/**
 * rds_ib_path_take_offer() - take what the peer has made from a path
 * @ip: the path
 *
 * Context: any.
 * Return: the connection, the caller's now; NULL if there is none.
 */
struct rds_ib_conn *rds_ib_path_take_offer(struct rds_ib_path *ip)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&ip->ip_lock);
	ic = ip->ip_offer;
	ip->ip_offer = NULL;
	rds_path_offer_gone(ip->ip_path);
	spin_unlock_bh(&ip->ip_lock);
	return ic;
}

/**
 * rds_ib_path_use_offer() - make what the peer has made a path's connection
 * @ip: the path; it has none
 *
 * Context: process, the path's work item.
 * Return: the connection, or NULL if there is none on offer.
 */
struct rds_ib_conn *rds_ib_path_use_offer(struct rds_ib_path *ip)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&ip->ip_lock);
	ic = ip->ip_offer;
	ip->ip_offer = NULL;
	ip->ip_conn = ic;
	if (ic)
		rds_path_taken(ip->ip_path);
	spin_unlock_bh(&ip->ip_lock);
	return ic;
}

/**
 * rds_ib_path_dialed() - what we have dialed is here
 * @ip: the path
 *
 * If the path waits for it, nothing else is needed: what the peer has made is
 * refused.
 *
 * Context: any; no dv_lock is held.
 * Return: true if it does; false if it has given the attempt up.
 */
bool rds_ib_path_dialed(struct rds_ib_path *ip)
{
	struct rds_ib_conn *ic = NULL;
	bool wanted;

	spin_lock_bh(&ip->ip_lock);
	wanted = rds_path_dialed(ip->ip_path);
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
 * rds_ib_path_withdraw_offer() - take a connection back that was offered
 * @ip: the path
 * @ic: the connection
 *
 * Context: any.
 * Return: true if it is the caller's now; false if it is not on offer.
 */
bool rds_ib_path_withdraw_offer(struct rds_ib_path *ip,
				struct rds_ib_conn *ic)
{
	bool found;

	spin_lock_bh(&ip->ip_lock);
	found = ip->ip_offer == ic;
	if (found) {
		ip->ip_offer = NULL;
		rds_path_offer_gone(ip->ip_path);
	}
	spin_unlock_bh(&ip->ip_lock);
	return found;
}
