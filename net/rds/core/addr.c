// SPDX-License-Identifier: GPL-2.0-only
/*
 * Socket addresses as RDS stores them: IPv6, with IPv4 in its mapped form. An
 * IPv4 address and the IPv6 address mapped from it therefore name the same
 * socket.
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "addr.h"
#include "compat.h"

static enum rds_addr_fault rds_addr_check_v4(__be32 ip)
{
	if (ip == htonl(INADDR_ANY))
		return RDS_ADDR_ANY;
	if (ip == htonl(INADDR_BROADCAST) || ipv4_is_multicast(ip))
		return RDS_ADDR_NOT_UNICAST;
	return RDS_ADDR_OK;
}

static enum rds_addr_fault rds_addr_parse_v6(const struct sockaddr_in6 *sin6,
					     struct rds_addr *addr)
{
	int type = ipv6_addr_type(&sin6->sin6_addr);

	addr->ip = sin6->sin6_addr;
	addr->port = sin6->sin6_port;

	if (type & IPV6_ADDR_MAPPED) {
		if (rds_addr_check_v4(sin6->sin6_addr.s6_addr32[3]))
			return RDS_ADDR_NOT_UNICAST;
		return RDS_ADDR_OK;
	}
	if (!(type & IPV6_ADDR_UNICAST))
		return RDS_ADDR_NOT_UNICAST;
	if (type & IPV6_ADDR_LINKLOCAL) {
		if (!sin6->sin6_scope_id)
			return RDS_ADDR_NO_SCOPE;
		addr->ifindex = sin6->sin6_scope_id;
	}
	return RDS_ADDR_OK;
}

/**
 * rds_addr_parse() - Parse a socket address from user space
 * @sa: the address, already copied into the kernel
 * @len: its length in bytes, as passed by the user
 * @addr: set to the result; fully initialized, also on error
 *
 * Context: Any context.
 * Return: %RDS_ADDR_OK, or the fault. Callers map the fault to the errno of
 * their system call.
 */
enum rds_addr_fault rds_addr_parse(const void *sa, int len,
				   struct rds_addr *addr)
{
	const struct sockaddr_in *sin = sa;

	memset(addr, 0, sizeof(*addr));

	if (len < (int)sizeof(sa_family_t))
		return RDS_ADDR_SHORT;

	switch (sin->sin_family) {
	case AF_INET:
		if (len < (int)sizeof(struct sockaddr_in))
			return RDS_ADDR_SHORT;
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &addr->ip);
		addr->port = sin->sin_port;
		return rds_addr_check_v4(sin->sin_addr.s_addr);
	case AF_INET6:
		if (len < (int)sizeof(struct sockaddr_in6))
			return RDS_ADDR_SHORT;
		return rds_addr_parse_v6(sa, addr);
	default:
		return RDS_ADDR_FAMILY;
	}
}
EXPORT_SYMBOL_RDS_KUNIT(rds_addr_parse);

/**
 * rds_addr_format() - Write a socket address for user space
 * @addr: the address; if it is unspecified, the result is AF_UNSPEC
 * @sa: room for a struct sockaddr_in6
 *
 * Context: Any context.
 * Return: the length in bytes; all of them are initialized.
 */
int rds_addr_format(const struct rds_addr *addr, void *sa)
{
	struct sockaddr_in6 *sin6 = sa;
	struct sockaddr_in *sin = sa;

	if (ipv6_addr_any(&addr->ip)) {
		memset(sin, 0, sizeof(*sin));
		return sizeof(*sin);
	}

	if (ipv6_addr_v4mapped(&addr->ip)) {
		memset(sin, 0, sizeof(*sin));
		sin->sin_family = AF_INET;
		sin->sin_port = addr->port;
		sin->sin_addr.s_addr = addr->ip.s6_addr32[3];
		return sizeof(*sin);
	}

	memset(sin6, 0, sizeof(*sin6));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = addr->port;
	sin6->sin6_addr = addr->ip;
	sin6->sin6_scope_id = addr->ifindex;
	return sizeof(*sin6);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_addr_format);

/**
 * rds_addr_is_loopback() - Check whether an address is in 127.0.0.0/8 or is ::1
 * @ip: the address
 *
 * Context: Any context.
 * Return: true if it is.
 */
bool rds_addr_is_loopback(const struct in6_addr *ip)
{
	return ipv6_addr_loopback(ip) || ipv6_addr_v4mapped_loopback(ip);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_addr_is_loopback);
