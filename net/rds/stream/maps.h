/* SPDX-License-Identifier: GPL-2.0-only */
/* The mappings of a stream: memory that the peer may write to. */
#ifndef _RDS_STREAM_MAPS_H
#define _RDS_STREAM_MAPS_H

#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <net/rds/frame.h>

struct rds_incoming;
struct rds_stream;
struct rds_stream_iomap;
struct rds_upper_memory;
struct socket;

/* Longest mapping in bytes */
#define RDS_STREAM_MAP_LEN	SZ_1G

/**
 * struct rds_stream_map - a mapping of this end
 * @mp_item: on &rds_stream_maps.sm_own
 * @mp_addr: address of the memory in its process
 * @mp_as: offset, length and key, as the peer knows it
 * @mp_mem: the memory; NULL if the peer knows nothing of the mapping
 */
struct rds_stream_map {
	struct list_head	mp_item;
	u64			mp_addr;
	struct rds_frame_map	mp_as;
	struct rds_upper_memory	*mp_mem;
};

/**
 * struct rds_stream_maps - mappings of both ends
 * @sm_own: mappings of this end. They change under both the socket lock and
 *	st_lock; deliveries read them
 * @sm_nr: their number
 * @sm_most: how many the peer allows
 * @sm_key: key of the latest one
 * @sm_peer: mappings of the peer, at most @sm_peer_most of them; NULL if it may
 *	make none
 * @sm_peer_nr: their number
 * @sm_peer_most: how many the peer may make, as it was told
 * @sm_placers: tasks that wait to write to the peer's mappings, or to announce
 *	one; guarded by the socket lock
 */
struct rds_stream_maps {
	struct list_head	sm_own;
	u8			sm_nr;
	u8			sm_most;
	u32			sm_key;
	struct rds_frame_map	*sm_peer;
	u8			sm_peer_nr;
	u8			sm_peer_most;
	unsigned int		sm_placers;
};

/* maps.c */
int rds_stream_maps_start(struct rds_stream *st, u8 most, gfp_t gfp);
void rds_stream_maps_free(struct rds_stream *st);
void rds_stream_free_map(struct rds_stream_map *map);
void rds_stream_drop_map(struct rds_stream *st, struct rds_stream_map *map);
void rds_stream_unmap_all(struct rds_stream *st);
int rds_stream_take_map(struct rds_stream *st, struct rds_incoming *inc);
int rds_stream_find_place(const struct rds_stream *st, u64 offset, size_t len,
			  u32 *key, u32 *at);
int rds_stream_take_put(struct rds_stream *st, struct rds_incoming *inc,
			const struct rds_frame *frame);

/* iomap.c */
int rds_stream_map(struct socket *sock, struct rds_stream_iomap __user *uargs);
int rds_stream_unmap(struct socket *sock,
		     struct rds_stream_iomap __user *uargs);

#endif /* _RDS_STREAM_MAPS_H */
