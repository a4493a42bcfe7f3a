// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses: conversion from and to socket addresses, the device that serves a
 * local address, and the check for a route from one address to another.
 */
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "compat.h"
#include "ib.h"

/**
 * rds_ib_sockaddr_init() - Fill in a socket address
 * @ss: the socket address to fill in
 * @addr: the IP address; IPv4 in its mapped form
 * @port: the port
 * @ifindex: scope of a link-local address, otherwise 0
 *
 * Context: Any context.
 */
void rds_ib_sockaddr_init(struct sockaddr_storage *ss,
			  const struct in6_addr *addr, u16 port, int ifindex)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		sin->sin_port = htons(port);
		return;
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = *addr;
	sin6->sin6_port = htons(port);
	sin6->sin6_scope_id = ifindex;
}

/**
 * rds_ib_sockaddr_read() - Read the IP address of a socket address
 * @ss: the socket address
 * @addr: set to the IP address; IPv4 in its mapped form
 *
 * Context: Any context.
 * Return: true; false if @ss is neither IPv4 nor IPv6.
 */
bool rds_ib_sockaddr_read(const struct sockaddr_storage *ss,
			  struct in6_addr *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	switch (ss->ss_family) {
	case AF_INET:
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, addr);
		return true;
	case AF_INET6:
		*addr = sin6->sin6_addr;
		return true;
	default:
		return false;
	}
}

/**
 * rds_ib_id_destroy() - Destroy a CM ID
 * @id: the CM ID; no handler mutex is held
 *
 * The connection manager releases the device first, then the GID. If the device
 * were freed in between, the GID would belong to a freed device. So this
 * function holds the device until both are released.
 *
 * Context: Process context, may sleep. Waits for the handlers of @id.
 */
void rds_ib_id_destroy(struct rdma_cm_id *id)
{
	struct ib_device *dev = id->device;
	/* The device exists for as long as the CM ID is bound to it. */
	bool held = dev && ib_device_try_get(dev);

	rdma_destroy_id(id);
	if (held)
		ib_device_put(dev);
}

static int rds_ib_no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* The connection manager binds a loopback address to an arbitrary device. */
static bool rds_ib_addr_is_loopback(const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return ipv4_is_loopback(addr->s6_addr32[3]);
	return ipv6_addr_loopback(addr);
}

/* Check whether the device serves the address. iWARP devices do not serve IPv6,
 * because there is no listener for it on them: its port is also the port of RDS
 * over TCP, and iWARP devices take real TCP ports.
 */
static bool rds_ib_serves(const struct ib_device *dev,
			  const struct in6_addr *addr)
{
	return dev && rds_ib_device_has(dev) &&
	       (ipv6_addr_v4mapped(addr) || dev->node_type == RDMA_NODE_IB_CA);
}

static int rds_ib_addr_check(struct net *net, const struct in6_addr *addr)
{
	if (!net_eq(net, &init_net))
		return -EPROTOTYPE;
	return rds_ib_addr_is_loopback(addr) ? -EADDRNOTAVAIL : 0;
}

/* Create a CM ID, bound to an address that a device in use serves. */
static struct rdma_cm_id *rds_ib_bind_id(struct net *net,
					 const struct in6_addr *addr,
					 int ifindex)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int ret;

	ret = rds_ib_addr_check(net, addr);
	if (ret)
		return ERR_PTR(ret);

	id = rdma_create_id(net, rds_ib_no_event, NULL, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return id;

	rds_ib_sockaddr_init(&ss, addr, 0, ifindex);
	ret = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!ret && rds_ib_serves(id->device, addr))
		return id;
	rds_ib_id_destroy(id);
	return ERR_PTR(ret == -ENOMEM ? ret : -EADDRNOTAVAIL);
}

/**
 * rds_ib_laddr_check() - Check whether a device in use serves an address
 * @net: the namespace
 * @addr: the address
 * @ifindex: its scope, or 0
 *
 * Context: Process context, may sleep.
 * Return: see &rds_conn_ops.laddr_check.
 */
int rds_ib_laddr_check(struct net *net, const struct in6_addr *addr,
		       int ifindex)
{
	struct rdma_cm_id *id = rds_ib_bind_id(net, addr, ifindex);

	if (IS_ERR(id))
		return PTR_ERR(id);
	rds_ib_id_destroy(id);
	return 0;
}

/**
 * rds_ib_device_of() - Find the device that serves an address
 * @net: the namespace
 * @addr: the address
 * @ifindex: its scope, or 0
 *
 * If a connection from the address exists, its device is the result. Asking the
 * connection manager costs more: it uses up one of its ports for a moment, and
 * takes a mutex that all its users share.
 *
 * Context: Process context, may sleep.
 * Return: the device, for rds_ib_device_put(). Otherwise an errno as a pointer:
 * -EADDRNOTAVAIL if no device serves the address; -EPROTOTYPE if @net is not
 * the first namespace; -ENOMEM.
 */
struct rds_ib_device *rds_ib_device_of(struct net *net,
				       const struct in6_addr *addr, int ifindex)
{
	int ret = rds_ib_addr_check(net, addr);
	struct rds_ib_device *d;
	struct rdma_cm_id *id;

	if (ret)
		return ERR_PTR(ret);
	d = rds_ib_device_by_conn(addr, ifindex);
	if (d)
		return d;
	id = rds_ib_bind_id(net, addr, ifindex);
	if (IS_ERR(id))
		return ERR_CAST(id);
	d = rds_ib_device_get(id->device);
	rds_ib_id_destroy(id);
	return d ?: ERR_PTR(-EADDRNOTAVAIL);
}

static bool rds_ib_has_route_v4(const struct sockaddr_in *src,
				const struct sockaddr_in *dst, int oif)
{
	struct flowi4 fl4 = {
		.daddr		= dst->sin_addr.s_addr,
		.saddr		= src->sin_addr.s_addr,
		.flowi4_oif	= oif,
		.flowi4_proto	= IPPROTO_UDP,
	};
	struct rtable *rt = ip_route_output_key(&init_net, &fl4);

	if (IS_ERR(rt))
		return false;
	ip_rt_put(rt);
	return true;
}

#if IS_ENABLED(CONFIG_IPV6)
static bool rds_ib_has_route_v6(const struct sockaddr_in6 *src,
				const struct sockaddr_in6 *dst, int oif)
{
	struct flowi6 fl6 = {
		.daddr		= dst->sin6_addr,
		.saddr		= src->sin6_addr,
		.flowi6_oif	= oif,
		.flowi6_proto	= IPPROTO_UDP,
	};
	struct dst_entry *entry;

	entry = rds_ib_dst_lookup_v6(&init_net, &fl6);
	if (IS_ERR(entry))
		return false;
	dst_release(entry);
	return true;
}
#else
static bool rds_ib_has_route_v6(const struct sockaddr_in6 *src,
				const struct sockaddr_in6 *dst, int oif)
{
	return false;
}
#endif

/**
 * rds_ib_has_route() - Check whether a route leads to the peer of a CM ID
 * @id: the CM ID, with a device and both addresses
 *
 * The lookup is the one that soft-RoCE does for each packet of RoCE v2.
 *
 * Context: Process context.
 * Return: true if there is a route; false if there is none, or if the source
 * address is no longer one of this host.
 */
bool rds_ib_has_route(const struct rdma_cm_id *id)
{
	const struct rdma_addr *addr = &id->route.addr;
	int oif = addr->dev_addr.bound_dev_if;

	if (addr->dst_addr.ss_family == AF_INET6)
		return rds_ib_has_route_v6((void *)&addr->src_addr,
					   (void *)&addr->dst_addr, oif);
	return rds_ib_has_route_v4((void *)&addr->src_addr,
				   (void *)&addr->dst_addr, oif);
}
