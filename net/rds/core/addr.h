/* SPDX-License-Identifier: GPL-2.0-only */
/* Socket addresses as RDS stores them. Pure functions without state. */
#ifndef _RDS_CORE_ADDR_H
#define _RDS_CORE_ADDR_H

#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <net/ipv6.h>

/**
 * struct rds_addr - address and port of a socket
 * @ip: the address; IPv4 in its mapped form
 * @ifindex: scope of a link-local address, otherwise 0
 * @port: the port
 * @pad: zero; the structure is a hash key
 */
struct rds_addr {
	struct in6_addr	ip;
	u32		ifindex;
	__be16		port;
	u16		pad;
};

/**
 * enum rds_addr_fault - result of parsing a socket address
 * @RDS_ADDR_OK: the address is valid
 * @RDS_ADDR_SHORT: it is shorter than its family requires
 * @RDS_ADDR_FAMILY: it is neither IPv4 nor IPv6
 * @RDS_ADDR_ANY: it is the IPv4 wildcard
 * @RDS_ADDR_NOT_UNICAST: it is not the address of one host
 * @RDS_ADDR_NO_SCOPE: it is link-local, and names no interface
 */
enum rds_addr_fault {
	RDS_ADDR_OK,
	RDS_ADDR_SHORT,
	RDS_ADDR_FAMILY,
	RDS_ADDR_ANY,
	RDS_ADDR_NOT_UNICAST,
	RDS_ADDR_NO_SCOPE,
};

/**
 * rds_addr_scope() - Get the scope of an address
 * @ip: the address
 * @ifindex: scope of the socket, path or message that the address belongs to
 *
 * Context: Any context.
 * Return: @ifindex for a link-local address, otherwise 0.
 */
static inline u32 rds_addr_scope(const struct in6_addr *ip, u32 ifindex)
{
	if (likely(!ifindex))
		return 0;
	return ipv6_addr_type(ip) & IPV6_ADDR_LINKLOCAL ? ifindex : 0;
}

enum rds_addr_fault rds_addr_parse(const void *sa, int len,
				   struct rds_addr *addr);
int rds_addr_format(const struct rds_addr *addr, void *sa);
bool rds_addr_is_loopback(const struct in6_addr *ip);

#endif /* _RDS_CORE_ADDR_H */
