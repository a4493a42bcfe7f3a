/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credits: receive buffers that one end has told the other of (RDS Wire
 * Specification 3.1, "Flow Control").
 *
 * Each SEND uses one buffer of the peer's, an acknowledgment too. New ones are
 * told in h_credit of whatever goes the other way. The last credit that an end
 * has may only carry news of its own buffers: so two ends that have used up all
 * their credits but one still can give each other more.
 *
 * Arithmetic alone; the caller sees to it that it is serial.
 */
#ifndef _RDS_IB_CREDITS_H
#define _RDS_IB_CREDITS_H

#include <linux/minmax.h>
#include <linux/types.h>

/* What fits into h_credit */
#define RDS_IB_CREDITS_HDR_MAX	255

/* So many we keep count of; no peer has as many buffers */
#define RDS_IB_CREDITS_MAX	65535

/* So many untold buffers are worth a message of their own. It uses a buffer of
 * the peer's: if a single one were worth it, two ends would never be done with
 * telling each other.
 */
#define RDS_IB_CREDITS_NEWS	16
#define RDS_IB_CREDITS_NEWS_MIN	2

/* More than that; so few buffers suffice, then, and no fewer do */
#define RDS_IB_CREDITS_RING_MIN	4

/**
 * struct rds_ib_credits - what is left to send, and what is to be told
 * @cr_limited: send no more than the peer has buffers
 * @cr_offered: the peer counts its buffers
 * @cr_knows: it goes on to tell of them whether we count ours or not
 * @cr_telling: we count ours
 * @cr_send: buffers of the peer's
 * @cr_untold: buffers of ours that the peer does not know of
 */
struct rds_ib_credits {
	bool	cr_limited;
	bool	cr_offered;
	bool	cr_knows;
	bool	cr_telling;
	u32	cr_send;
	u32	cr_untold;
};

/* A peer of another implementation that we offer nothing to takes that for no
 * flow control at all, and tells of no more buffers than at first: we would
 * wait for ever.
 */
static inline void rds_ib_credits_settle(struct rds_ib_credits *cr)
{
	cr->cr_limited = cr->cr_offered && (cr->cr_knows || cr->cr_telling);
}

/**
 * rds_ib_credits_start() - we tell the peer of our buffers, while connecting
 * @cr: the credits, zeroed
 * @told: how many there are, all posted; 0: we do not count them
 *
 * Context: any.
 */
static inline void rds_ib_credits_start(struct rds_ib_credits *cr, u32 told)
{
	cr->cr_telling = told;
	rds_ib_credits_settle(cr);
}

/**
 * rds_ib_credits_grant() - the peer has told us of more buffers
 * @cr: the credits
 * @nr: how many
 *
 * Context: any.
 */
static inline void rds_ib_credits_grant(struct rds_ib_credits *cr, u32 nr)
{
	cr->cr_send = min_t(u32, cr->cr_send + min_t(u32, nr,
						     RDS_IB_CREDITS_MAX),
			    RDS_IB_CREDITS_MAX);
}

/**
 * rds_ib_credits_offered() - the peer has told us of its buffers, likewise
 * @cr: the credits; news may have come before
 * @given: how many; 0: it does not count them
 * @ours: it is of this implementation
 *
 * Context: any.
 */
static inline void rds_ib_credits_offered(struct rds_ib_credits *cr, u32 given,
					  bool ours)
{
	cr->cr_offered = given;
	cr->cr_knows = ours;
	rds_ib_credits_settle(cr);
	rds_ib_credits_grant(cr, given);
}

/**
 * rds_ib_credits_posted() - there are more buffers of ours
 * @cr: the credits
 * @nr: how many
 *
 * Context: any.
 */
static inline void rds_ib_credits_posted(struct rds_ib_credits *cr, u32 nr)
{
	if (cr->cr_telling)
		cr->cr_untold = min_t(u32, cr->cr_untold + nr,
				      RDS_IB_CREDITS_MAX);
}

/**
 * rds_ib_credits_take() - a SEND is to be made
 * @cr: the credits
 * @news: set to what h_credit of it is to say
 *
 * Context: any.
 * Return: false if it has to wait for credits.
 */
static inline bool rds_ib_credits_take(struct rds_ib_credits *cr, u8 *news)
{
	*news = min_t(u32, cr->cr_untold, RDS_IB_CREDITS_HDR_MAX);
	if (cr->cr_limited) {
		if (!cr->cr_send || (cr->cr_send == 1 && !*news))
			return false;
		cr->cr_send--;
	}
	cr->cr_untold -= *news;
	return true;
}

/**
 * rds_ib_credits_back() - a SEND was not made after all
 * @cr: the credits
 * @news: what its h_credit said
 *
 * Context: any.
 */
static inline void rds_ib_credits_back(struct rds_ib_credits *cr, u8 news)
{
	cr->cr_untold += news;
	if (cr->cr_limited)
		cr->cr_send++;
}

/**
 * rds_ib_credits_have_news() - is the peer to be told of buffers?
 * @cr: the credits
 * @size: how many buffers we have, at least RDS_IB_CREDITS_RING_MIN
 *
 * Before it runs dry, if our ring is a small one.
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool rds_ib_credits_have_news(const struct rds_ib_credits *cr,
					    u32 size)
{
	return cr->cr_untold >= clamp_t(u32, size / 4, RDS_IB_CREDITS_NEWS_MIN,
					RDS_IB_CREDITS_NEWS);
}

#endif /* _RDS_IB_CREDITS_H */
