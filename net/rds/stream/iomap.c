// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIOCRDSIOMAP and SIOCRDSIOUNMAP: a user maps memory for the peer, and removes
 * the mapping. maps.c has the rest of direct placement.
 */
#include <linux/mman.h>
#include <linux/rcupdate.h>
#include <linux/rds.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "stream.h"

/* Returns the mapping that a range of offsets overlaps, or NULL. */
static struct rds_stream_map *
rds_stream_overlap(const struct rds_stream *st, u64 offset, u32 len)
{
	struct rds_stream_map *map;

	list_for_each_entry(map, &st->st_maps.sm_own, mp_item) {
		if (offset < map->mp_as.offset + map->mp_as.len &&
		    map->mp_as.offset < offset + len)
			return map;
	}
	return NULL;
}

/* Find an offset for a new mapping, or check the one that the user has chosen.
 * Offsets are less than 2^63, so that the end of a mapping does not wrap.
 */
static int rds_stream_choose_offset(const struct rds_stream *st,
				    struct rds_stream_iomap *args)
{
	const struct rds_stream_map *map;
	u64 offset = 0;

	if (args->offset >= 0)
		return rds_stream_overlap(st, args->offset, args->len) ?
		       -EINVAL : 0;
	while ((map = rds_stream_overlap(st, offset, args->len)))
		offset = map->mp_as.offset + map->mp_as.len;
	if (offset > S64_MAX)
		return -ENOMEM;
	args->offset = offset;
	return 0;
}

static int rds_stream_check_args(const struct rds_stream_iomap *args)
{
	if (args->flags || !args->len || args->len > RDS_STREAM_MAP_LEN ||
	    args->offset < -1 ||
	    (args->prot != PROT_WRITE && args->prot != PROT_NONE))
		return -EINVAL;
	return 0;
}

/* A MAP, ready to be submitted, or NULL. */
static struct rds_message *rds_stream_map_frame(struct rds_frame_map *as)
{
	u8 bytes[RDS_FRAME_MAP_BYTES];
	struct kvec kvec = { bytes, sizeof(bytes) };
	struct rds_message *msg;
	struct iov_iter from;

	msg = rds_upper_alloc(sizeof(bytes), GFP_KERNEL);
	if (!msg)
		return NULL;
	rds_frame_map_write(bytes, as);
	iov_iter_kvec(&from, ITER_SOURCE, &kvec, 1, sizeof(bytes));
	if (!rds_upper_fill(msg, &from))
		return msg;
	rds_message_put(msg);
	return NULL;
}

static struct rds_stream_map *
rds_stream_new_map(struct rds_stream *st, const struct rds_stream_iomap *args)
{
	struct rds_stream_map *map;
	void *err;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->mp_addr = args->addr;
	map->mp_as.offset = args->offset;
	map->mp_as.len = args->len;
	map->mp_as.key = ++st->st_maps.sm_key;
	if (args->prot == PROT_NONE)
		return map;
	map->mp_mem = rds_upper_pin(args->addr, args->len);
	if (!IS_ERR(map->mp_mem))
		return map;
	err = map->mp_mem;
	kfree(map);
	return err;
}

/* Enter a mapping into the list, and tell the peer of it, if it may know. */
static int rds_stream_announce(struct rds_stream *st,
			       struct rds_stream_map *map)
{
	struct rds_stream_maps *maps = &st->st_maps;
	struct rds_message *msg = NULL;
	int ret = 0;

	if (map->mp_mem) {
		msg = rds_stream_map_frame(&map->mp_as);
		if (!msg)
			return -ENOMEM;
	}
	spin_lock_bh(&st->st_lock);
	if (st->st_state != RDS_STREAM_OPEN)
		ret = -ENOTCONN;
	/* The send buffer does not limit those that write no more. */
	else if (st->st_flags & (RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DEAF))
		ret = -EPIPE;
	else if (maps->sm_nr >= maps->sm_most)
		ret = -ENOMEM;
	if (!ret && msg)
		ret = rds_stream_submit(st, msg, RDS_FRAME_MAP, false);
	if (!ret) {
		list_add_tail(&map->mp_item, &maps->sm_own);
		maps->sm_nr++;
	}
	spin_unlock_bh(&st->st_lock);
	if (ret && msg)
		rds_message_put(msg);
	return ret;
}

/* The offset is stored before there is a mapping, so that a failure to store it
 * leaves none: a peer could write to memory that the user believes private.
 */
static int rds_stream_map_locked(struct rds_stream *st,
				 struct rds_stream_iomap *args,
				 struct rds_stream_iomap __user *uargs,
				 long timeo)
{
	struct rds_stream_map *map;
	int ret;

	/* A task that waits lets others map; so wait first. */
	ret = rds_stream_wait_write(st, true, &timeo);
	if (ret)
		return ret;
	if (st->st_state != RDS_STREAM_OPEN)
		return -ENOTCONN;
	if (st->st_maps.sm_nr >= st->st_maps.sm_most)
		return -ENOMEM;
	ret = rds_stream_choose_offset(st, args);
	if (ret)
		return ret;
	if (put_user(args->offset, &uargs->offset))
		return -EFAULT;
	map = rds_stream_new_map(st, args);
	if (IS_ERR(map))
		return PTR_ERR(map);
	ret = rds_stream_announce(st, map);
	if (ret) {
		rds_stream_free_map(map);
		return ret;
	}
	rds_stream_push(st);
	return 0;
}

/**
 * rds_stream_map() - Implement SIOCRDSIOMAP
 * @sock: the socket
 * @uargs: the arguments; the offset is stored there, perhaps although the call
 *	fails then
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: 0; -EINVAL if an argument is not valid, or the offset is that of
 * another mapping; -ENOTCONN; -EPIPE if this end writes no more, or the peer
 * reads no more; -ENOMEM if the peer allows no more mappings, the
 * user may not lock that much memory, or there is none; -EFAULT; -EAGAIN; or
 * the errno of a signal.
 */
int rds_stream_map(struct socket *sock, struct rds_stream_iomap __user *uargs)
{
	struct rds_stream *st = rds_stream(sock->sk);
	struct rds_stream_iomap args;
	int ret;

	if (copy_from_user(&args, uargs, sizeof(args)))
		return -EFAULT;
	ret = rds_stream_check_args(&args);
	if (ret)
		return ret;

	mutex_lock(&st->st_mutex);
	ret = rds_stream_map_locked(st, &args, uargs,
				    sock_sndtimeo(sock->sk, sock->file &&
						  sock->file->f_flags &
						  O_NONBLOCK));
	mutex_unlock(&st->st_mutex);
	return ret;
}

static int rds_stream_unmap_locked(struct rds_stream *st,
				   struct rds_stream_map *map)
{
	struct rds_frame_map as = { .key = map->mp_as.key };
	struct rds_message *msg = NULL;
	bool told = false;

	if (map->mp_mem) {
		msg = rds_stream_map_frame(&as);
		if (!msg)
			return -ENOMEM;
	}
	spin_lock_bh(&st->st_lock);
	rds_stream_drop_map(st, map);
	/* This does not wait for the send buffer, since there is one for each
	 * MAP at most.
	 */
	if (msg && st->st_state == RDS_STREAM_OPEN)
		told = !rds_stream_submit(st, msg, RDS_FRAME_MAP, false);
	spin_unlock_bh(&st->st_lock);
	if (told)
		rds_stream_push(st);
	else if (msg)
		rds_message_put(msg);
	synchronize_rcu();
	rds_stream_free_map(map);
	return 0;
}

/**
 * rds_stream_unmap() - Implement SIOCRDSIOUNMAP
 * @sock: the socket
 * @uargs: the arguments: address and length of the memory
 *
 * When this returns, the memory is not written to any more.
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: 0; -EINVAL if there is no such mapping; -ENOMEM; -EFAULT.
 */
int rds_stream_unmap(struct socket *sock,
		     struct rds_stream_iomap __user *uargs)
{
	struct rds_stream *st = rds_stream(sock->sk);
	struct rds_stream_iomap args;
	struct rds_stream_map *map;
	int ret = -EINVAL;

	if (copy_from_user(&args, uargs, sizeof(args)))
		return -EFAULT;

	mutex_lock(&st->st_mutex);
	list_for_each_entry(map, &st->st_maps.sm_own, mp_item) {
		if (map->mp_addr == args.addr && map->mp_as.len == args.len) {
			ret = rds_stream_unmap_locked(st, map);
			break;
		}
	}
	mutex_unlock(&st->st_mutex);
	return ret;
}

