/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Offers and duels, without side effects: what the events of an offer change,
 * and which connection is kept. Only path.c and path_connect.c store the state
 * of an offer. See accept.c for the rules.
 */
#ifndef _RDS_CORE_OFFER_H
#define _RDS_CORE_OFFER_H

#include <net/rds/path.h>

#include "path_state.h"

/**
 * enum rds_offer_state - which connections made by the peer a path has
 * @RDS_OFFER_NONE: none
 * @RDS_OFFER_WAITS: the transport keeps a connection that the peer has made
 * @RDS_OFFER_IN_USE: the path uses a connection that the peer has made
 * @RDS_OFFER_NEXT_WAITS: the path uses one, and the transport keeps a newer one
 * @RDS_OFFER_STATES: number of states
 */
enum rds_offer_state {
	RDS_OFFER_NONE,
	RDS_OFFER_WAITS,
	RDS_OFFER_IN_USE,
	RDS_OFFER_NEXT_WAITS,
	RDS_OFFER_STATES
};

/**
 * struct rds_offer_view - what decides between connections of both ends
 * @multipath: the transport has %RDS_CAP_MULTIPATH
 * @lower: our address is the lower of the two
 * @knows_duels: the peer that made the offer knows which connection is kept
 * @path: the state of the path
 * @offer: the state of its offer
 */
struct rds_offer_view {
	bool			multipath;
	bool			lower;
	bool			knows_duels;
	enum rds_path_state	path;
	enum rds_offer_state	offer;
};

/**
 * rds_offer_waits() - Check whether an offer waits
 * @state: the state of the offer
 *
 * Context: Any context.
 * Return: true if the transport keeps a connection that the peer has made.
 */
static inline bool rds_offer_waits(enum rds_offer_state state)
{
	return state == RDS_OFFER_WAITS || state == RDS_OFFER_NEXT_WAITS;
}

/**
 * rds_offer_in_use() - Check whether the path uses an offer
 * @state: the state of the offer
 *
 * Context: Any context.
 * Return: true if the peer has made the connection or attempt of the path.
 */
static inline bool rds_offer_in_use(enum rds_offer_state state)
{
	return state == RDS_OFFER_IN_USE || state == RDS_OFFER_NEXT_WAITS;
}

enum rds_offer_state rds_offer_next(enum rds_offer_state from,
				    enum rds_offer_event event);
enum rds_drop_reason rds_offer_displaces(const struct rds_offer_view *view);
bool rds_offer_wins_duel(const struct rds_offer_view *view);

#endif /* _RDS_CORE_OFFER_H */
