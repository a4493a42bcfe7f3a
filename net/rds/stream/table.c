// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of streams that have a connection: by connection and ports, to
 * deliver frames, and by connection alone, for its events.
 *
 * A stream is in the table from connect() or the REQUEST until it ends. The
 * table holds a reference to it. Readers use RCU; sockets are freed after a
 * grace period (SOCK_RCU_FREE). Since the server is marked, two streams between
 * the same two ports, one in each direction, are two entries.
 */
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/rculist.h>

#include "stream.h"

#define RDS_STREAM_TABLE_BITS	12

static DEFINE_HASHTABLE(rds_stream_by_ports, RDS_STREAM_TABLE_BITS);
static DEFINE_HASHTABLE(rds_stream_by_conn, RDS_STREAM_TABLE_BITS);
static DEFINE_SPINLOCK(rds_stream_table_lock);

static struct hlist_head *rds_stream_ports_bucket(const struct rds_conn *conn,
						  __be16 lport, __be16 fport)
{
	u32 ports = (__force u32)lport << 16 | (__force u32)fport;
	u32 hash = jhash_2words(ports, hash_ptr(conn, 32), 0);

	return &rds_stream_by_ports[hash_32(hash, RDS_STREAM_TABLE_BITS)];
}

static struct hlist_head *rds_stream_conn_bucket(const struct rds_conn *conn)
{
	return &rds_stream_by_conn[hash_ptr(conn, RDS_STREAM_TABLE_BITS)];
}

static bool rds_stream_matches(const struct rds_stream *st,
			       const struct rds_conn *conn, __be16 lport,
			       __be16 fport, bool server)
{
	return READ_ONCE(st->st_conn) == conn && st->st_local.port == lport &&
	       st->st_peer.port == fport &&
	       !!(READ_ONCE(st->st_flags) & RDS_STREAM_F_SERVER) == server;
}

/**
 * rds_stream_list() - Enter a stream into the table
 * @st: the stream, with connection and names
 *
 * Context: Any context. st_lock is held.
 * Return: true; false if there is another stream between the two ports.
 */
bool rds_stream_list(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	bool server = st->st_flags & RDS_STREAM_F_SERVER;
	struct hlist_head *bucket;
	struct rds_stream *other;
	bool free = true;

	lockdep_assert_held(&st->st_lock);

	bucket = rds_stream_ports_bucket(st->st_conn, st->st_local.port,
					 st->st_peer.port);
	spin_lock_bh(&rds_stream_table_lock);
	hlist_for_each_entry(other, bucket, st_node) {
		if (rds_stream_matches(other, st->st_conn, st->st_local.port,
				       st->st_peer.port, server))
			free = false;
	}
	if (free) {
		sock_hold(&st->st_sk);
		st->st_flags |= RDS_STREAM_F_LISTED;
		hlist_add_head_rcu(&st->st_node, bucket);
		hlist_add_head_rcu(&st->st_conn_node,
				   rds_stream_conn_bucket(st->st_conn));
	}
	spin_unlock_bh(&rds_stream_table_lock);
	return free;
}

/**
 * rds_stream_unlist() - Remove a stream from the table
 * @st: the stream; if it is in the table, the caller puts the reference that
 *	the table has held
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_unlist(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);

	st->st_flags &= ~RDS_STREAM_F_LISTED;
	spin_lock_bh(&rds_stream_table_lock);
	hlist_del_init_rcu(&st->st_node);
	hlist_del_init_rcu(&st->st_conn_node);
	spin_unlock_bh(&rds_stream_table_lock);
}

/**
 * rds_stream_find() - Find a stream by its connection and ports
 * @conn: the connection
 * @lport: our port
 * @fport: the peer's port
 * @server: whether this end has accepted the stream
 *
 * Context: Any context.
 * Return: the stream with a reference for the caller, or NULL.
 */
struct rds_stream *rds_stream_find(const struct rds_conn *conn, __be16 lport,
				   __be16 fport, bool server)
{
	struct rds_stream *st, *found = NULL;
	struct hlist_head *bucket;

	bucket = rds_stream_ports_bucket(conn, lport, fport);
	rcu_read_lock();
	hlist_for_each_entry_rcu(st, bucket, st_node) {
		if (rds_stream_matches(st, conn, lport, fport, server) &&
		    refcount_inc_not_zero(&st->st_sk.sk_refcnt)) {
			found = st;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/**
 * rds_stream_for_net() - Call a function for each stream of a namespace
 * @net: the namespace
 * @fn: the function; does not sleep
 * @add: passed to @fn
 * @list: passed to @fn
 *
 * Context: Process context, may sleep.
 */
void rds_stream_for_net(const struct net *net, rds_stream_lister *fn,
			rds_info_add_t *add, void *list)
{
	struct rds_stream *st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rds_stream_by_ports); i++) {
		rcu_read_lock();
		hlist_for_each_entry_rcu(st, &rds_stream_by_ports[i], st_node) {
			if (net_eq(sock_net(&st->st_sk), net))
				fn(st, add, list);
		}
		rcu_read_unlock();
		cond_resched();
	}
}

/**
 * rds_stream_for_conn() - Call a function for each stream of a connection
 * @conn: the connection
 * @fn: the function; may remove the stream from the table; does not sleep
 * @arg: passed to @fn
 *
 * Context: Any context.
 */
void rds_stream_for_conn(const struct rds_conn *conn,
			 void (*fn)(struct rds_stream *st, int arg), int arg)
{
	struct rds_stream *st;

	rcu_read_lock();
	hlist_for_each_entry_rcu(st, rds_stream_conn_bucket(conn),
				 st_conn_node) {
		if (READ_ONCE(st->st_conn) != conn ||
		    !refcount_inc_not_zero(&st->st_sk.sk_refcnt))
			continue;
		fn(st, arg);
		sock_put(&st->st_sk);
	}
	rcu_read_unlock();
}
