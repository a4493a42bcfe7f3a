// SPDX-License-Identifier: GPL-2.0-only
/*
 * Offers and duels.
 *
 * The transport tracks the connections that it keeps for a path under a lock of
 * its own, and reports all changes. Core itself applies RDS_OFFER_CLAIMED when
 * the path's work item begins to connect.
 *
 * With RDS_CAP_MULTIPATH, core decides which path gets an offer, and chooses
 * only a path that has none (rds_accept_is_free()). With any other transport, a
 * newer offer may replace the one that waits, or wait while the path uses an
 * earlier one.
 */
#include "compat.h"
#include "offer.h"

static const u8 rds_offer_table[RDS_OFFER_STATES][RDS_OFFER_EVENTS] = {
	[RDS_OFFER_NONE] = {
		[RDS_OFFER_KEPT]	= RDS_OFFER_WAITS,
		[RDS_OFFER_GONE]	= RDS_OFFER_NONE,
		[RDS_OFFER_TAKEN]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_OVERTAKEN]	= RDS_OFFER_NONE,
		[RDS_OFFER_CLAIMED]	= RDS_OFFER_NONE,
		[RDS_OFFER_RETURNED]	= RDS_OFFER_NONE,
		[RDS_OFFER_ENDED]	= RDS_OFFER_NONE,
	},
	[RDS_OFFER_WAITS] = {
		[RDS_OFFER_KEPT]	= RDS_OFFER_WAITS,
		[RDS_OFFER_GONE]	= RDS_OFFER_NONE,
		[RDS_OFFER_TAKEN]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_OVERTAKEN]	= RDS_OFFER_NONE,
		[RDS_OFFER_CLAIMED]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_RETURNED]	= RDS_OFFER_WAITS,
		[RDS_OFFER_ENDED]	= RDS_OFFER_WAITS,
	},
	[RDS_OFFER_IN_USE] = {
		[RDS_OFFER_KEPT]	= RDS_OFFER_NEXT_WAITS,
		[RDS_OFFER_GONE]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_TAKEN]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_OVERTAKEN]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_CLAIMED]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_RETURNED]	= RDS_OFFER_WAITS,
		[RDS_OFFER_ENDED]	= RDS_OFFER_NONE,
	},
	[RDS_OFFER_NEXT_WAITS] = {
		[RDS_OFFER_KEPT]	= RDS_OFFER_NEXT_WAITS,
		[RDS_OFFER_GONE]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_TAKEN]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_OVERTAKEN]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_CLAIMED]	= RDS_OFFER_IN_USE,
		[RDS_OFFER_RETURNED]	= RDS_OFFER_WAITS,
		[RDS_OFFER_ENDED]	= RDS_OFFER_WAITS,
	},
};

/**
 * rds_offer_next() - Look up an event in the table
 * @from: the state that the offer is in
 * @event: the event
 *
 * Context: Any context.
 * Return: the next state.
 */
enum rds_offer_state rds_offer_next(enum rds_offer_state from,
				    enum rds_offer_event event)
{
	return rds_offer_table[from][event];
}
EXPORT_SYMBOL_RDS_KUNIT(rds_offer_next);

/* Check whether the attempt under way is kept although there is an offer.
 *
 * With RDS_CAP_MULTIPATH the end that receives offers for a path is not the end
 * that dials it, so our own dial is dropped. An attempt that takes an earlier
 * offer is kept.
 *
 * Without it, our own dial is kept if we have the lower address, or if the peer
 * does not know which connection is kept in a duel.
 */
static bool rds_offer_keeps_attempt(const struct rds_offer_view *view)
{
	if (view->multipath)
		return rds_offer_in_use(view->offer);
	return !rds_offer_in_use(view->offer) &&
	       (view->lower || !view->knows_duels);
}

/**
 * rds_offer_displaces() - Decide whether an offer displaces what a path has
 * @view: the path and its offer
 *
 * Only the path's work item takes offers, so the offer that waits is not the
 * connection of the path. Without RDS_CAP_MULTIPATH, an offer to a path that is
 * UP means that the peer has lost the connection in use: an offer that competed
 * with our own dial has been refused when the dial succeeded.
 *
 * Context: Any context.
 * Return: the reason for which the connection or the attempt of the path is
 * dropped; RDS_DROP_NONE if it is kept, or if there is nothing to drop.
 */
enum rds_drop_reason rds_offer_displaces(const struct rds_offer_view *view)
{
	if (!rds_offer_waits(view->offer))
		return RDS_DROP_NONE;
	if (view->path == RDS_PATH_UP && !view->multipath)
		return RDS_DROP_PEER_RESET;
	if (view->path == RDS_PATH_CONNECTING && !rds_offer_keeps_attempt(view))
		return RDS_DROP_RACED;
	return RDS_DROP_NONE;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_offer_displaces);

/**
 * rds_offer_wins_duel() - Decide whether our attempt beats that of the peer
 * @view: the path and its offer
 *
 * Context: Any context.
 * Return: true if our own attempt is under way, our address is the lower of the
 * two, and the peer knows that this attempt is kept.
 */
bool rds_offer_wins_duel(const struct rds_offer_view *view)
{
	return view->path == RDS_PATH_CONNECTING && view->lower &&
	       view->knows_duels && !rds_offer_in_use(view->offer);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_offer_wins_duel);
