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
 * enum rds_cong_side - whose word a map is
 * @RDS_CONG_LOCAL: ours; the sockets of this host set its bits
 * @RDS_CONG_REMOTE: the peer's; its congestion maps set the bits
 *
 * An address that moves between hosts may have one of each.
 */
enum rds_cong_side {
	RDS_CONG_LOCAL,
	RDS_CONG_REMOTE,
};

/**
 * struct rds_cong_key - what a map is found by
 * @ip: the address
 * @ifindex: its scope, or 0
 * @side: enum rds_cong_side
 */
struct rds_cong_key {
	struct in6_addr	ip;
	u32		ifindex;
	u32		side;
};

/**
 * struct rds_cong_map - congestion of the ports of one address
 * @cm_node: in &rds_net.rn_maps
 * @cm_key: what it is found by
 * @cm_rn: the namespace
 * @cm_refs: sockets bound to the address and connections from or to it
 * @cm_ver: counts changes of @cm_bits; each is made before it is counted
 * @cm_lock: guards @cm_conns and @cm_flagged_at, and keeps one peer's maps
 *	apart
 * @cm_conns: connections to whose peers a local map is sent
 * @cm_flagged_at: when these were flagged last because of that, in jiffies
 * @cm_waitq: senders that wait for a port
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
 * rds_cong_ver() - state of a local map
 * @map: the map
 *
 * Context: any.
 * Return: a number; the bits read after it are at least as new.
 */
static inline u32 rds_cong_ver(const struct rds_cong_map *map)
{
	u32 gen = atomic_read(&map->cm_ver);

	/* Pairs with the order of change and count in rds_cong_publish(). */
	smp_rmb();
	return gen;
}

/**
 * rds_cong_test() - is a port congested?
 * @map: the map of its address
 * @port: the port
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool rds_cong_test(const struct rds_cong_map *map, __be16 port)
{
	return test_bit(ntohs(port) ^ RDS_CONG_SWIZZLE, map->cm_bits);
}

/**
 * rds_cong_assign() - mark a port congested or not
 * @map: the map of its address
 * @port: the port
 * @congested: what it is now
 *
 * Context: any.
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
