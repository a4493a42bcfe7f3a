/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credits: receive buffers that one end has advertised to the other (RDS Wire
 * Specification 3.1, "Flow Control").
 *
 * Each SEND uses one receive buffer of the peer, and so does an ack that is
 * sent alone. New buffers are advertised in h_credit of any header that goes
 * the other way. An end may use its last credit only for a SEND that advertises
 * buffers of its own. So two ends that have used up all credits but one can
 * still give each other more.
 *
 * This file does arithmetic only. The caller serializes the calls.
 */
#ifndef _RDS_IB_CREDITS_H
#define _RDS_IB_CREDITS_H

#include <linux/minmax.h>
#include <linux/types.h>

/* Largest value of h_credit */
#define RDS_IB_CREDITS_HDR_MAX	255

/* Largest number of buffers that is counted; no peer has as many */
#define RDS_IB_CREDITS_MAX	65535

/* Number of unadvertised buffers that is worth a SEND of its own; the minimum
 * applies if the ring is small. Such a SEND uses a buffer of the peer. If a
 * single buffer were worth it, two ends would never stop advertising to each
 * other.
 */
#define RDS_IB_CREDITS_NEWS	16
#define RDS_IB_CREDITS_NEWS_MIN	2

/* Fewest buffers that a ring needs to make progress with credits. It must be
 * above RDS_IB_CREDITS_NEWS_MIN.
 */
#define RDS_IB_CREDITS_RING_MIN	4

/**
 * struct rds_ib_credits - credits of both directions of a connection
 * @cr_known: what the peer advertises while connecting is known
 * @cr_limited: send no more than the peer has buffers for
 * @cr_offered: the peer advertises its buffers
 * @cr_always: the peer keeps advertising its buffers even if we advertise none
 * @cr_telling: we advertise our buffers
 * @cr_send: advertised buffers of the peer that are left
 * @cr_pending: buffers of ours that are not advertised to the peer yet
 */
struct rds_ib_credits {
	bool	cr_known;
	bool	cr_limited;
	bool	cr_offered;
	bool	cr_always;
	bool	cr_telling;
	u32	cr_send;
	u32	cr_pending;
};

/* If we advertise no buffers, a stock peer assumes that there is no flow
 * control at all, and advertises none beyond its first buffers. If we were
 * limited to those, we would wait for credits forever.
 */
static inline void rds_ib_credits_settle(struct rds_ib_credits *cr)
{
	cr->cr_limited = cr->cr_offered && (cr->cr_always || cr->cr_telling);
}

/**
 * rds_ib_credits_start() - Record what we advertise while connecting
 * @cr: the credits, zeroed unless rds_ib_credits_offered() was called first
 * @told: number of our buffers, all posted; 0 if we advertise none
 *
 * Context: Any context.
 */
static inline void rds_ib_credits_start(struct rds_ib_credits *cr, u32 told)
{
	cr->cr_telling = told;
	rds_ib_credits_settle(cr);
}

/**
 * rds_ib_credits_grant() - Add buffers that the peer has advertised
 * @cr: the credits
 * @nr: number of buffers
 *
 * Context: Any context.
 */
static inline void rds_ib_credits_grant(struct rds_ib_credits *cr, u32 nr)
{
	cr->cr_send = min_t(u32, cr->cr_send + min_t(u32, nr,
						     RDS_IB_CREDITS_MAX),
			    RDS_IB_CREDITS_MAX);
}

/**
 * rds_ib_credits_offered() - Record what the peer advertises while connecting
 * @cr: the credits
 * @given: number of buffers; 0 if the peer advertises none
 * @ours: the peer runs our implementation
 *
 * Context: Any context.
 */
static inline void rds_ib_credits_offered(struct rds_ib_credits *cr, u32 given,
					  bool ours)
{
	cr->cr_known = true;
	cr->cr_offered = given;
	cr->cr_always = ours;
	rds_ib_credits_settle(cr);
	rds_ib_credits_grant(cr, given);
}

/**
 * rds_ib_credits_posted() - Count new buffers of ours as unadvertised
 * @cr: the credits
 * @nr: number of buffers
 *
 * Context: Any context.
 */
static inline void rds_ib_credits_posted(struct rds_ib_credits *cr, u32 nr)
{
	if (cr->cr_telling)
		cr->cr_pending = min_t(u32, cr->cr_pending + nr,
				       RDS_IB_CREDITS_MAX);
}

/**
 * rds_ib_credits_take() - Take a credit for a SEND
 * @cr: the credits
 * @news: set to the number of our buffers that its h_credit is to advertise
 *
 * Before rds_ib_credits_offered(), the SEND has to wait: the peer may count it.
 *
 * Context: Any context.
 * Return: true if the SEND may be made; false if it has to wait for credits.
 */
static inline bool rds_ib_credits_take(struct rds_ib_credits *cr, u8 *news)
{
	*news = min_t(u32, cr->cr_pending, RDS_IB_CREDITS_HDR_MAX);
	if (!cr->cr_known)
		return false;
	if (cr->cr_limited) {
		if (!cr->cr_send || (cr->cr_send == 1 && !*news))
			return false;
		cr->cr_send--;
	}
	cr->cr_pending -= *news;
	return true;
}

/**
 * rds_ib_credits_back() - Undo rds_ib_credits_take() if the SEND is not made
 * @cr: the credits
 * @news: the number that its h_credit was to advertise
 *
 * Context: Any context.
 */
static inline void rds_ib_credits_back(struct rds_ib_credits *cr, u8 news)
{
	cr->cr_pending += news;
	if (cr->cr_limited)
		cr->cr_send++;
}

/**
 * rds_ib_credits_have_news() - Check whether to advertise buffers by themselves
 * @cr: the credits
 * @size: number of our buffers that are posted
 *
 * If our ring is small, the threshold is lower, so that the peer is notified
 * before it runs out of credits.
 *
 * Context: Any context.
 * Return: true if there are enough unadvertised buffers for a SEND of their
 * own.
 */
static inline bool rds_ib_credits_have_news(const struct rds_ib_credits *cr,
					    u32 size)
{
	return cr->cr_pending >= clamp_t(u32, size / 4, RDS_IB_CREDITS_NEWS_MIN,
					 RDS_IB_CREDITS_NEWS);
}

#endif /* _RDS_IB_CREDITS_H */
