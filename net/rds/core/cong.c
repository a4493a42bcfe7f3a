// SPDX-License-Identifier: GPL-2.0-only
/*
 * Congestion maps.
 *
 * An address has one map per side. Our sockets set the bits of the local map.
 * The remote map is a copy of the maps that the peer has sent. Sockets and
 * connections hold references; the last put removes the map from the table and
 * frees it. On loopback, the sender reads the receiver's local map.
 *
 * A sender reads its bit without a lock. It may see a port as free that has
 * just become congested. The message is then accepted all the same, as rds(7)
 * says, so only the size of that overshoot depends on the race.
 *
 * Locks: rn_map_lock serializes lookup, insertion and the last put. It is taken
 * with bottom halves disabled. No other RDS lock is taken inside it.
 */
#include <linux/rhashtable.h>
#include <linux/slab.h>

#include "compat.h"
#include "cong.h"
#include "rds_net.h"

static const struct rhashtable_params rds_cong_params = {
	.key_len	= sizeof(struct rds_cong_key),
	.key_offset	= offsetof(struct rds_cong_map, cm_key),
	.head_offset	= offsetof(struct rds_cong_map, cm_node),
	.automatic_shrinking = true,
};

int rds_cong_net_init(struct rds_net *rn)
{
	spin_lock_init(&rn->rn_map_lock);
	spin_lock_init(&rn->rn_cong_lock);
	INIT_LIST_HEAD(&rn->rn_cong_socks);
	atomic_set(&rn->rn_cong_ver, 0);
	return rhashtable_init(&rn->rn_maps, &rds_cong_params);
}

void rds_cong_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(atomic_read(&rn->rn_maps.nelems));
	rhashtable_destroy(&rn->rn_maps);
}

static void rds_cong_map_free(struct rds_cong_map *map)
{
	kfree(map->cm_bits);
	kfree(map);
}

static struct rds_cong_map *rds_cong_map_alloc(struct rds_net *rn,
					       const struct rds_cong_key *key)
{
	struct rds_cong_map *map;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;

	map->cm_bits = kzalloc(RDS_CONG_MAP_BYTES, GFP_KERNEL_ACCOUNT);
	if (!map->cm_bits) {
		kfree(map);
		return NULL;
	}

	map->cm_key = *key;
	map->cm_rn = rn;
	refcount_set(&map->cm_refs, 1);
	spin_lock_init(&map->cm_lock);
	INIT_LIST_HEAD(&map->cm_conns);
	map->cm_flagged_at = jiffies - 1;
	init_waitqueue_head(&map->cm_waitq);
	return map;
}

/* Returns the map that is already in the table, with a reference; NULL if @new
 * has been inserted; or an errno as a pointer.
 */
static struct rds_cong_map *rds_cong_map_insert(struct rds_net *rn,
						struct rds_cong_map *new)
	__must_hold(&rn->rn_map_lock)
{
	struct rds_cong_map *map;

	lockdep_assert_held(&rn->rn_map_lock);
	map = rhashtable_lookup_get_insert_fast(&rn->rn_maps, &new->cm_node,
						rds_cong_params);
	if (!IS_ERR_OR_NULL(map))
		refcount_inc(&map->cm_refs);
	return map;
}

/**
 * rds_cong_map_get() - Find or create the congestion map of an address
 * @rn: the namespace
 * @side: the side that sets the bits of the map
 * @ip: the address
 * @ifindex: scope of a link-local address, otherwise 0
 *
 * Context: Process context, may sleep. Takes rn_map_lock.
 * Return: the map with a reference for the caller; NULL if there is no memory
 * for a new one.
 */
struct rds_cong_map *rds_cong_map_get(struct rds_net *rn,
				      enum rds_cong_side side,
				      const struct in6_addr *ip, u32 ifindex)
{
	struct rds_cong_key key = {
		.ip = *ip, .ifindex = ifindex, .side = side,
	};
	struct rds_cong_map *map, *new;

	spin_lock_bh(&rn->rn_map_lock);
	map = rhashtable_lookup_fast(&rn->rn_maps, &key, rds_cong_params);
	if (map)
		refcount_inc(&map->cm_refs);
	spin_unlock_bh(&rn->rn_map_lock);
	if (map)
		return map;

	new = rds_cong_map_alloc(rn, &key);
	if (!new)
		return NULL;

	spin_lock_bh(&rn->rn_map_lock);
	map = rds_cong_map_insert(rn, new);
	spin_unlock_bh(&rn->rn_map_lock);
	if (!map)
		return new;

	rds_cong_map_free(new);
	return IS_ERR(map) ? NULL : map;
}

/**
 * rds_cong_map_put() - Put a reference to a congestion map
 * @map: the map, or NULL
 *
 * Context: Any, including softirq. Takes rn_map_lock to put the last reference.
 */
void rds_cong_map_put(struct rds_cong_map *map)
{
	struct rds_net *rn;
	bool last;

	if (!map || refcount_dec_not_one(&map->cm_refs))
		return;

	rn = map->cm_rn;
	spin_lock_bh(&rn->rn_map_lock);
	last = refcount_dec_and_test(&map->cm_refs);
	if (last)
		rhashtable_remove_fast(&rn->rn_maps, &map->cm_node,
				       rds_cong_params);
	spin_unlock_bh(&rn->rn_map_lock);

	if (last) {
		WARN_ON_ONCE(!list_empty(&map->cm_conns));
		rds_cong_map_free(map);
	}
}

/**
 * rds_cong_bits_update() - Replace the bits of a map and find the freed ports
 * @bits: the bits to be replaced
 * @new: RDS_CONG_MAP_BYTES in wire order, at any alignment
 * @late: @new may be older than @bits: it frees ports, but marks none congested
 *
 * The function accesses nothing but its arguments. A concurrent reader sees
 * each word either old or new.
 *
 * Context: Any.
 * Return: the ports that were congested and are now free, as a mask with bit
 * port % 64 (RDS_CONG_MONITOR_BIT() of rds(7)).
 */
u64 rds_cong_bits_update(unsigned long *bits, const void *new, bool late)
{
	__le64 *old = (__le64 *)bits;
	__le64 word, cleared = 0;
	unsigned int i;

	for (i = 0; i < RDS_CONG_MAP_BYTES / sizeof(word); i++) {
		memcpy(&word, new + i * sizeof(word), sizeof(word));
		if (unlikely(late))
			word &= old[i];
		cleared |= old[i] & ~word;
		WRITE_ONCE(old[i], word);
	}
	return le64_to_cpu(cleared);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_cong_bits_update);
