// SPDX-License-Identifier: GPL-2.0-only
/*
 * The local address of a stream that is not bound to one: the address that the
 * route to the peer has as its source.
 */
#include <net/ipv6.h>
#include <net/rds/addr.h>
#include <net/route.h>

#include "compat.h"
#include "stream.h"

static int rds_stream_source_v4(struct net *net, struct in6_addr *local,
				const struct in6_addr *peer)
{
	struct flowi4 fl4 = { .daddr = peer->s6_addr32[3] };
	struct rtable *rt;

	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	ip_rt_put(rt);
	ipv6_addr_set_v4mapped(fl4.saddr, local);
	return 0;
}

/* A link-local address has the scope of the device of the route: without one,
 * the connection could not be bound to it.
 */
static u32 rds_stream_source_scope(const struct in6_addr *ip,
				   const struct dst_entry *dst)
{
	u32 ifindex = 0;

	if (ipv6_addr_type(ip) & IPV6_ADDR_LINKLOCAL) {
		rcu_read_lock();
		ifindex = READ_ONCE(dst->dev)->ifindex;
		rcu_read_unlock();
	}
	return ifindex;
}

static int rds_stream_source_v6(struct net *net, struct rds_stream_name *local,
				const struct rds_stream_name *peer)
{
	struct flowi6 fl6 = {
		.daddr = peer->ip,
		.flowi6_oif = peer->ifindex,
	};
	struct dst_entry *dst;

	if (!ipv6_mod_enabled()) {
		local->ip = peer->ip;
		return ipv6_addr_loopback(&peer->ip) ? 0 : -ENETUNREACH;
	}
	dst = rds_stream_route_v6(net, &fl6);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	local->ip = fl6.saddr;
	local->ifindex = rds_stream_source_scope(&local->ip, dst);
	dst_release(dst);
	return 0;
}

/**
 * rds_stream_source() - Select the local address for a peer
 * @st: the stream
 * @local: its name; address and scope are set if the address is unspecified
 * @peer: the name of the peer
 *
 * A stream between addresses of this host has the peer's address at both ends,
 * as with TCP.
 *
 * Context: Process context, may sleep. The socket lock is held.
 * Return: 0; -ENETUNREACH, -EHOSTUNREACH or another errno of the routing if
 * there is no way to the peer; -ENETUNREACH or, if the peer's is the one of
 * IPv6, -EAFNOSUPPORT if the two addresses are of different families.
 */
int rds_stream_source(struct rds_stream *st, struct rds_stream_name *local,
		      const struct rds_stream_name *peer)
{
	struct net *net = sock_net(&st->st_sk);
	bool v4 = ipv6_addr_v4mapped(&peer->ip);

	if (!ipv6_addr_any(&local->ip) && ipv6_addr_v4mapped(&local->ip) != v4)
		return v4 ? -ENETUNREACH : -EAFNOSUPPORT;
	if (!rds_stream_is_any(&local->ip))
		return 0;
	if (rds_addr_is_local(net, &peer->ip, peer->ifindex)) {
		local->ip = peer->ip;
		local->ifindex = peer->ifindex;
		return 0;
	}
	if (v4)
		return rds_stream_source_v4(net, &local->ip, &peer->ip);
	return rds_stream_source_v6(net, local, peer);
}
