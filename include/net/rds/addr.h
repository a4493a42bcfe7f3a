/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses, for transports that serve all addresses of this host. */
#ifndef _NET_RDS_ADDR_H
#define _NET_RDS_ADDR_H

#include <linux/inetdevice.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/route.h>

static inline bool rds_addr_is_local_v6(struct net *net,
					const struct in6_addr *addr,
					int ifindex)
{
	struct net_device *dev = NULL;
	bool local;

	if (!ipv6_mod_enabled())
		return false;
	if (ipv6_addr_loopback(addr))
		return true;
	if (!(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL))
		ifindex = 0;

	rcu_read_lock();
	if (ifindex)
		dev = dev_get_by_index_rcu(net, ifindex);
	local = (!ifindex || dev) && ipv6_chk_addr(net, addr, dev, 0);
	rcu_read_unlock();
	return local;
}

/**
 * rds_addr_is_local() - Check whether an address is one of this host
 * @net: the namespace
 * @addr: the address; IPv4 in its mapped form
 * @ifindex: scope of a link-local address, otherwise ignored
 *
 * Context: Any context; does not sleep.
 * Return: true if it is.
 */
static inline bool rds_addr_is_local(struct net *net,
				     const struct in6_addr *addr, int ifindex)
{
	__be32 ip = addr->s6_addr32[3];

	if (!ipv6_addr_v4mapped(addr))
		return rds_addr_is_local_v6(net, addr, ifindex);
	return ipv4_is_loopback(ip) || inet_addr_type(net, ip) == RTN_LOCAL;
}

#endif /* _NET_RDS_ADDR_H */
