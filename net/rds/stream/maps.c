// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct placement: memory of a process into which the peer writes.
 *
 * An end says when it asks for a stream, or accepts it, how many mappings the
 * other end may make. That end then maps memory (iomap.c): the pages are
 * pinned, and a MAP tells the peer where it finds them. For a write there
 * (send.c), PUTs go out, which the receiver copies to the pages as they arrive;
 * no task takes part. All of these frames are in the order of the stream, and
 * cost no credit, since nothing of them is kept. So a writer waits for its send
 * buffer only.
 *
 * Each mapping has a key, which no later one has for a long time: a PUT that
 * was sent before the peer knew that a mapping is gone does not reach the next
 * one at the same offset.
 *
 * Deliveries find a mapping under st_lock, and copy without it. They are RCU
 * read-side critical sections. So the pages of a mapping that was removed are
 * unpinned after a grace period, and are not written to any more when the
 * system call that has removed it returns.
 */
#include <linux/rcupdate.h>
#include <linux/rds.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "stream.h"

/**
 * rds_stream_maps_start() - Prepare a stream for the mappings of its peer
 * @st: the stream, idle; without mappings
 * @most: how many the peer may make; it is told
 * @gfp: allocation flags
 *
 * Context: Any context that @gfp permits.
 * Return: 0 or -ENOMEM.
 */
int rds_stream_maps_start(struct rds_stream *st, u8 most, gfp_t gfp)
{
	struct rds_stream_maps *maps = &st->st_maps;

	if (most != maps->sm_peer_most) {
		rds_stream_maps_free(st);
		maps->sm_peer = most ? kcalloc(most, sizeof(*maps->sm_peer),
					       gfp | __GFP_NOWARN) : NULL;
		if (most && !maps->sm_peer)
			return -ENOMEM;
		maps->sm_peer_most = most;
	}
	maps->sm_peer_nr = 0;
	maps->sm_most = 0;
	return 0;
}

/**
 * rds_stream_maps_free() - Free the list of mappings of the peer
 * @st: the stream; no frame arrives for it
 *
 * Context: Any context.
 */
void rds_stream_maps_free(struct rds_stream *st)
{
	kfree(st->st_maps.sm_peer);
	st->st_maps.sm_peer = NULL;
	st->st_maps.sm_peer_most = 0;
}

/**
 * rds_stream_free_map() - Free a mapping
 * @map: the mapping, on no list; no delivery writes to it
 *
 * Context: Process context, may sleep.
 */
void rds_stream_free_map(struct rds_stream_map *map)
{
	if (map->mp_mem)
		rds_upper_unpin(map->mp_mem);
	kfree(map);
}

/**
 * rds_stream_drop_map() - Take a mapping away from deliveries
 * @st: the stream
 * @map: the mapping. The caller frees it after a grace period
 *
 * Context: Process context. The socket lock and st_lock are held.
 */
void rds_stream_drop_map(struct rds_stream *st, struct rds_stream_map *map)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	list_del(&map->mp_item);
	st->st_maps.sm_nr--;
}

/**
 * rds_stream_unmap_all() - Remove the mappings of this end
 * @st: the stream, which is being closed or disconnected
 *
 * The peer is not told.
 *
 * Context: Process context, may sleep. The socket lock is held.
 */
void rds_stream_unmap_all(struct rds_stream *st)
{
	struct rds_stream_map *map, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&st->st_lock);
	list_splice_init(&st->st_maps.sm_own, &gone);
	st->st_maps.sm_nr = 0;
	spin_unlock_bh(&st->st_lock);
	if (list_empty(&gone))
		return;
	synchronize_rcu();
	list_for_each_entry_safe(map, next, &gone, mp_item)
		rds_stream_free_map(map);
}

/* Returns the place of the mapping of the peer with this key, or -1. */
static int rds_stream_peer_find(const struct rds_stream_maps *maps, u32 key)
{
	unsigned int i;

	for (i = 0; i < maps->sm_peer_nr; i++) {
		if (maps->sm_peer[i].key == key)
			return i;
	}
	return -1;
}

/**
 * rds_stream_take_map() - Take a MAP that has arrived
 * @st: the stream, open
 * @inc: the frame
 *
 * Context: Deliver context. st_lock is held.
 * Return: 1; -EPROTO if it breaks the rules.
 */
int rds_stream_take_map(struct rds_stream *st, struct rds_incoming *inc)
	__must_hold(&st->st_lock)
{
	struct rds_stream_maps *maps = &st->st_maps;
	u8 bytes[RDS_FRAME_MAP_BYTES];
	struct kvec kvec = { bytes, sizeof(bytes) };
	struct rds_frame_map map;
	struct iov_iter to;
	int i;

	lockdep_assert_held(&st->st_lock);
	iov_iter_kvec(&to, ITER_DEST, &kvec, 1, sizeof(bytes));
	if (inc->i_len != sizeof(bytes) ||
	    inc->i_ops->copy(inc, 0, sizeof(bytes), &to))
		return -EPROTO;
	rds_frame_map_read(bytes, &map);

	i = rds_stream_peer_find(maps, map.key);
	if (!map.len && i >= 0) {
		maps->sm_peer[i] = maps->sm_peer[--maps->sm_peer_nr];
		return 1;
	}
	if (!map.len || i >= 0 || map.len > RDS_STREAM_MAP_LEN ||
	    map.offset > S64_MAX || maps->sm_peer_nr >= maps->sm_peer_most)
		return -EPROTO;
	maps->sm_peer[maps->sm_peer_nr++] = map;
	return 1;
}

/**
 * rds_stream_find_place() - Find out where the peer has mapped an offset
 * @st: the stream
 * @offset: the offset
 * @len: as many bytes are to be written
 * @key: set to the key of the mapping
 * @at: set to the place in it
 *
 * Context: Any context. st_lock is held.
 * Return: 0; -EINVAL if the bytes are not within a mapping.
 */
int rds_stream_find_place(const struct rds_stream *st, u64 offset, size_t len,
			  u32 *key, u32 *at)
	__must_hold(&st->st_lock)
{
	const struct rds_stream_maps *maps = &st->st_maps;
	const struct rds_frame_map *map;
	unsigned int i;

	lockdep_assert_held(&st->st_lock);
	for (i = 0; i < maps->sm_peer_nr; i++) {
		map = &maps->sm_peer[i];
		if (offset < map->offset || len > map->len ||
		    offset - map->offset > map->len - len)
			continue;
		*key = map->key;
		*at = offset - map->offset;
		return 0;
	}
	return -EINVAL;
}

/* Returns the memory, which stays while the RCU read lock is held; NULL if its
 * mapping is gone.
 */
static struct rds_upper_memory *rds_stream_placed(struct rds_stream *st,
						  u32 key)
	__must_hold(&st->st_lock)
{
	struct rds_stream_map *map;

	lockdep_assert_held(&st->st_lock);
	list_for_each_entry(map, &st->st_maps.sm_own, mp_item) {
		if (map->mp_as.key == key)
			return map->mp_mem;
	}
	return NULL;
}

/**
 * rds_stream_take_put() - Place the bytes of a PUT that has arrived
 * @st: the stream
 * @inc: the frame; borrowed
 * @frame: its header
 *
 * Bytes for a mapping that is gone are dropped: the user has taken it away.
 *
 * Context: Deliver context: the RCU read lock is held.
 * Return: 0; -EPROTO if the frame breaks the rules; -EFAULT if the bytes cannot
 * be read.
 */
int rds_stream_take_put(struct rds_stream *st, struct rds_incoming *inc,
			const struct rds_frame *frame)
{
	struct rds_upper_memory *mem = NULL;
	int ret;

	spin_lock_bh(&st->st_lock);
	st->st_rx.rx_at = jiffies;
	st->st_rx.rx_probes = 0;
	if (st->st_state == RDS_STREAM_OPEN && inc->i_len &&
	    !(st->st_flags & RDS_STREAM_F_PEER_DONE)) {
		mem = rds_stream_placed(st, frame->buf);
		ret = 0;
	} else {
		ret = -EPROTO;
	}
	spin_unlock_bh(&st->st_lock);
	if (!ret && mem)
		ret = rds_upper_place(mem, frame->fwd, inc);
	return ret == -ERANGE ? -EPROTO : ret;
}
