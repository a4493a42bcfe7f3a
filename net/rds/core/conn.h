/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections: what two addresses share. */
#ifndef _RDS_CORE_CONN_H
#define _RDS_CORE_CONN_H

#include <linux/rhashtable-types.h>

#include "path.h"
#include "rds_net.h"

struct rds_cong_map;

/**
 * struct rds_conn_key - what a connection is found by
 * @laddr: our address
 * @faddr: the peer's
 * @trans: the transport
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service
 * @passive: the accepting end of a connection to itself
 * @pad: zero
 */
struct rds_conn_key {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	const struct rds_transport *trans;
	u32		ifindex;
	u8		tos;
	u8		passive;
	u16		pad;
};

/**
 * struct rds_conn - a connection
 * @c_node: in &rds_net.rn_conns
 * @c_item: on &rds_net.rn_conn_list
 * @c_key: what it is found by; never changes
 * @c_rn: the namespace
 * @c_refs: the table, sockets that use it, messages, queued work, the loopback
 *	path that delivers on it
 * @c_lcong: our address's congestion map
 * @c_fcong: the map that says which of the peer's ports are congested
 * @c_cong_item: on the list of @c_lcong, if the peer is to be told
 * @c_rcu: frees it
 * @c_path: its first path
 */
struct rds_conn {
	struct rhash_head	c_node;
	struct list_head	c_item;
	struct rds_conn_key	c_key;
	struct rds_net		*c_rn;
	refcount_t		c_refs;
	struct rds_cong_map	*c_lcong;
	struct rds_cong_map	*c_fcong;
	struct list_head	c_cong_item;
	struct rcu_head		c_rcu;
	struct rds_cpath	c_path;
};

int rds_conn_net_init(struct rds_net *rn);
void rds_conn_net_exit(struct rds_net *rn);
struct rds_conn *rds_conn_get(struct rds_net *rn,
			      const struct rds_conn_key *key);
struct rds_conn *rds_conn_get_for_user(struct rds_net *rn,
				       const struct rds_conn_key *key);
void rds_conn_release(struct rds_conn *conn);
void rds_conn_destroy_all(struct rds_net *rn,
			  const struct rds_transport *trans,
			  enum rds_drop_reason reason);

/**
 * rds_conn_hold() - take another reference
 * @conn: the connection; the caller has a reference already
 *
 * Context: any.
 */
static inline void rds_conn_hold(struct rds_conn *conn)
{
	refcount_inc(&conn->c_refs);
}

/**
 * rds_conn_put() - give up a reference
 * @conn: the connection, or NULL
 *
 * Context: any.
 */
static inline void rds_conn_put(struct rds_conn *conn)
{
	if (conn && refcount_dec_and_test(&conn->c_refs))
		rds_conn_release(conn);
}

#endif /* _RDS_CORE_CONN_H */
