/* SPDX-License-Identifier: GPL-2.0-only */
/* Congestion maps: which ports of an address have a full receive queue. */
#ifndef _RDS_CORE_CONG_H
#define _RDS_CORE_CONG_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/rds/wire.h>

struct rds_net;

/**
 * enum rds_cong_side - the side that sets the bits of a congestion map
 * @RDS_CONG_LOCAL: this host; its sockets set the bits
 * @RDS_CONG_REMOTE: the peer; its congestion maps set the bits
 *
 * An address that moves between hosts may have one map of each side.
 */
enum rds_cong_side {
	RDS_CONG_LOCAL,
	RDS_CONG_REMOTE,
};

/**
 * struct rds_cong_key - the lookup key of a congestion map
 * @ip: the address
 * @ifindex: the scope of the address, or 0
 * @side: enum rds_cong_side
 */
struct rds_cong_key {
	struct in6_addr	ip;
	u32		ifindex;
	u32		side;
};

/**
 * struct rds_cong_map - the congestion map of one address
 * @cm_node: entry in &rds_net.rn_maps
 * @cm_key: lookup key
 * @cm_rn: the namespace
 * @cm_refs: references of sockets bound to the address and of connections from
 *	or to it
 * @cm_ver: map version of a local map; counts the changes of @cm_bits. A change
 *	is counted after it has been made
 * @cm_lock: guards @cm_conns and @cm_flagged_at, and serializes the maps that
 *	arrive from one peer
 * @cm_conns: connections whose peers receive this map, if it is a local one
 * @cm_flagged_at: when these connections were last flagged to send the map, in
 *	jiffies
 * @cm_waitq: senders, and paths with parked messages, that wait for a port;
 *	also senders that wait for the peer's handshake (sw_admit.c)
 * @cm_bits: RDS_CONG_MAP_BITS in little-endian order; changed atomically
 */
struct rds_cong_map {
	struct rhash_head	cm_node;
	struct rds_cong_key	cm_key;
	struct rds_net		*cm_rn;
	refcount_t		cm_refs;
	atomic_t		cm_ver;
	spinlock_t		cm_lock;	/* see above */
	struct list_head	cm_conns;
	unsigned long		cm_flagged_at;
	wait_queue_head_t	cm_waitq;
	unsigned long		*cm_bits;
};

int rds_cong_net_init(struct rds_net *rn);
void rds_cong_net_exit(struct rds_net *rn);
struct rds_cong_map *rds_cong_map_get(struct rds_net *rn,
				      enum rds_cong_side side,
				      const struct in6_addr *ip, u32 ifindex);
void rds_cong_map_put(struct rds_cong_map *map);
u64 rds_cong_bits_update(unsigned long *bits, const void *new, bool late);

/* Bits are kept in wire order: port p is bit p % 8 of byte p / 8. */
#ifdef __BIG_ENDIAN
#define RDS_CONG_SWIZZLE	((BITS_PER_LONG - 1) & ~0x7)
#else
#define RDS_CONG_SWIZZLE	0
#endif

/**
 * rds_cong_ver() - Read the version of a local map
 * @map: the map
 *
 * Context: Any.
 * Return: the version; bits that are read afterwards are at least as new.
 */
static inline u32 rds_cong_ver(const struct rds_cong_map *map)
{
	u32 ver = atomic_read(&map->cm_ver);

	/* Pairs with the order of change and count in rds_cong_publish(). */
	smp_rmb();
	return ver;
}

/**
 * rds_cong_test() - Check whether a port is congested
 * @map: the map of the port's address
 * @port: the port
 *
 * Context: Any.
 * Return: true if the port is congested.
 */
static inline bool rds_cong_test(const struct rds_cong_map *map, __be16 port)
{
	return test_bit(ntohs(port) ^ RDS_CONG_SWIZZLE, map->cm_bits);
}

/**
 * rds_cong_assign() - Mark a port congested or free
 * @map: the map of the port's address
 * @port: the port
 * @congested: true to mark it congested, false to mark it free
 *
 * Context: Any.
 */
static inline void rds_cong_assign(struct rds_cong_map *map, __be16 port,
				   bool congested)
{
	if (congested)
		set_bit(ntohs(port) ^ RDS_CONG_SWIZZLE, map->cm_bits);
	else
		clear_bit(ntohs(port) ^ RDS_CONG_SWIZZLE, map->cm_bits);
}

#endif /* _RDS_CORE_CONG_H */
