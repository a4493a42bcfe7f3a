// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of bound sockets: per namespace, by address, port and scope.
 *
 * Lookups run under RCU, in deliver context. A lookup takes a reference only if
 * the socket still has one. Sockets are freed after an RCU grace period
 * (SOCK_RCU_FREE). A socket leaves the table only when it is closed.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rhashtable.h>

#include "bind.h"

#define RDS_PORT_FIRST	2
#define RDS_PORT_COUNT	(65536 - RDS_PORT_FIRST)

static u32 rds_bind_hash(const void *key, u32 len, u32 seed)
{
	const struct rds_addr *addr = key;

	return jhash_3words(ipv6_addr_hash(&addr->ip), addr->ifindex,
			    (__force u32)addr->port, seed);
}

static int rds_bind_differs(struct rhashtable_compare_arg *arg,
			    const void *obj)
{
	const struct rds_sock *rs = obj;
	const struct rds_addr *addr = arg->key;

	return !ipv6_addr_equal(&rs->rs_bound.ip, &addr->ip) ||
	       rs->rs_bound.ifindex != addr->ifindex ||
	       rs->rs_bound.port != addr->port;
}

static const struct rhashtable_params rds_bind_params = {
	.hashfn		= rds_bind_hash,
	.obj_cmpfn	= rds_bind_differs,
	.key_len	= sizeof(struct rds_addr),
	.key_offset	= offsetof(struct rds_sock, rs_bound),
	.head_offset	= offsetof(struct rds_sock, rs_bind_node),
	.automatic_shrinking = true,
};

int rds_bind_net_init(struct rds_net *rn)
{
	return rhashtable_init(&rn->rn_binds, &rds_bind_params);
}

void rds_bind_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(atomic_read(&rn->rn_binds.nelems));
	rhashtable_destroy(&rn->rn_binds);
}

static int rds_bind_insert(struct rds_sock *rs, const struct rds_addr *addr)
{
	int ret;

	rs->rs_bound = *addr;
	ret = rhashtable_lookup_insert_fast(&rs->rs_rn->rn_binds,
					    &rs->rs_bind_node,
					    rds_bind_params);
	switch (ret) {
	case 0:
		return 0;
	case -EEXIST:
		return -EADDRINUSE;
	default:
		return -ENOMEM;
	}
}

static int rds_bind_any_port(struct rds_sock *rs, const struct rds_addr *addr)
{
	u32 start = get_random_u32() % RDS_PORT_COUNT;
	struct rds_addr try = *addr;
	u32 i;
	int ret;

	for (i = 0; i < RDS_PORT_COUNT; i++) {
		try.port = htons(RDS_PORT_FIRST +
				 (start + i) % RDS_PORT_COUNT);
		ret = rds_bind_insert(rs, &try);
		if (ret != -EADDRINUSE)
			return ret;
		cond_resched();
		if (signal_pending(current))
			return -EINTR;
	}
	return -EADDRINUSE;
}

/**
 * rds_bind_add() - Add a socket to the table
 * @rs: the socket, not in the table
 * @addr: address and port; for port 0, pick a free port at random
 *
 * Messages may arrive as soon as the socket is in the table.
 *
 * Context: Process context, may sleep. The socket lock is held.
 * Return: 0 with &rds_sock.rs_bound set; -EADDRINUSE; -ENOMEM; -EINTR if a
 * signal interrupted the search for a free port.
 */
int rds_bind_add(struct rds_sock *rs, const struct rds_addr *addr)
{
	int ret;

	if (addr->port)
		ret = rds_bind_insert(rs, addr);
	else
		ret = rds_bind_any_port(rs, addr);
	if (ret)
		memset(&rs->rs_bound, 0, sizeof(rs->rs_bound));
	return ret;
}

/**
 * rds_bind_del() - Remove a socket from the table
 * @rs: the socket, in the table
 *
 * A concurrent lookup may still find the socket. Deliveries therefore check
 * rs_closed.
 *
 * Context: Process context.
 */
void rds_bind_del(struct rds_sock *rs)
{
	rhashtable_remove_fast(&rs->rs_rn->rn_binds,
			       &rs->rs_bind_node, rds_bind_params);
}

/**
 * rds_bind_lookup() - Find the socket that a message is for
 * @rn: the namespace
 * @ip: destination address
 * @ifindex: its scope, or 0
 * @port: destination port
 *
 * Context: Any context.
 * Return: the socket, with a reference for the caller; NULL if there is none.
 */
struct rds_sock *rds_bind_lookup(struct rds_net *rn,
				 const struct in6_addr *ip, u32 ifindex,
				 __be16 port)
{
	struct rds_addr key = {
		.ip = *ip, .ifindex = ifindex, .port = port,
	};
	struct rds_sock *rs;

	rcu_read_lock();
	rs = rhashtable_lookup(&rn->rn_binds, &key, rds_bind_params);
	if (rs && !refcount_inc_not_zero(&rs->rs_sk.sk_refcnt))
		rs = NULL;
	rcu_read_unlock();
	return rs;
}
