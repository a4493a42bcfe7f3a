/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A limit on something that peers can make last, such as closed streams. A peer
 * may have at most half as many as are still free, so that some are always left
 * for other peers.
 *
 * What each peer has is counted by a hash of its IPv4 address, or of the
 * network of its IPv6 address. Peers that share a counter share what one may
 * have: against one that has addresses in many networks this does not help.
 */
#ifndef _RDS_STREAM_QUOTA_H
#define _RDS_STREAM_QUOTA_H

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <net/ipv6.h>
#include <net/rds/compat.h>

#define RDS_STREAM_QUOTA_BITS	6

/**
 * struct rds_stream_quota - what is counted
 * @sq_all: number of all
 * @sq_of: number of those of each peer
 */
struct rds_stream_quota {
	atomic_t	sq_all;
	atomic_t	sq_of[BIT(RDS_STREAM_QUOTA_BITS)];
};

static inline atomic_t *rds_stream_quota_of(struct rds_stream_quota *quota,
					    const struct in6_addr *peer)
{
	bool ipv4 = ipv6_addr_v4mapped(peer);
	u64 key = get_unaligned_be64(peer->s6_addr + (ipv4 ? 8 : 0));

	return &quota->sq_of[hash_64(key, RDS_STREAM_QUOTA_BITS)];
}

/**
 * rds_stream_quota_has_room() - Check whether a peer may have one more
 * @quota: the quota
 * @peer: the address of the peer
 * @max: the limit
 *
 * Context: Any context.
 * Return: true if it may. Several callers may get the last place.
 */
static inline bool rds_stream_quota_has_room(struct rds_stream_quota *quota,
					     const struct in6_addr *peer,
					     int max)
{
	int left = max(max - atomic_read(&quota->sq_all), 0);

	return atomic_read(rds_stream_quota_of(quota, peer)) <
	       left / 2 + left % 2;
}

/**
 * rds_stream_quota_add() - Count one more
 * @quota: the quota
 * @peer: the address of the peer
 *
 * Context: Any context.
 */
static inline void rds_stream_quota_add(struct rds_stream_quota *quota,
					const struct in6_addr *peer)
{
	atomic_inc(&quota->sq_all);
	atomic_inc(rds_stream_quota_of(quota, peer));
}

/**
 * rds_stream_quota_sub() - Count one less
 * @quota: the quota
 * @peer: the address of the peer
 *
 * Context: Any context.
 */
static inline void rds_stream_quota_sub(struct rds_stream_quota *quota,
					const struct in6_addr *peer)
{
	atomic_dec(&quota->sq_all);
	atomic_dec(rds_stream_quota_of(quota, peer));
}

#endif /* _RDS_STREAM_QUOTA_H */
