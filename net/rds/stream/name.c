// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of streams. Pure functions, without state.
 *
 * A socket of protocol RDS_PROTO_INET has names of struct sockaddr_in, one of
 * RDS_PROTO_INET6 names of struct sockaddr_in6, in which IPv4 is mapped. The
 * unspecified address stands for all addresses of this host: that of IPv4, in
 * its mapped form, for those of IPv4; that of IPv6, ::, for those of IPv6, and
 * unless IPV6_V6ONLY is set, for those of IPv4 as well.
 */
#include <linux/in.h>
#include <net/ipv6.h>

#include "name.h"

/**
 * rds_stream_name_set() - Set a name to that of one end of a connection
 * @name: set to the name
 * @ip: the address
 * @ifindex: scope of those addresses of the connection that are link-local
 * @port: the port
 *
 * Context: Any context.
 */
void rds_stream_name_set(struct rds_stream_name *name,
			 const struct in6_addr *ip, u32 ifindex, __be16 port)
{
	bool scoped = ipv6_addr_type(ip) & IPV6_ADDR_LINKLOCAL;

	name->ip = *ip;
	name->ifindex = scoped ? ifindex : 0;
	name->port = port;
}

static int rds_stream_name_parse_v4(const struct sockaddr_in *sin, int len,
				    struct rds_stream_name *name)
{
	__be32 ip;

	if (len < (int)sizeof(*sin))
		return -EINVAL;
	if (sin->sin_family != AF_INET)
		return -EAFNOSUPPORT;
	ip = sin->sin_addr.s_addr;
	if (ipv4_is_multicast(ip) || ipv4_is_lbcast(ip))
		return -EADDRNOTAVAIL;
	ipv6_addr_set_v4mapped(ip, &name->ip);
	name->port = sin->sin_port;
	return 0;
}

static int rds_stream_name_parse_v6(const struct sockaddr_in6 *sin6, int len,
				    struct rds_stream_name *name)
{
	int type;

	if (len < SIN6_LEN_RFC2133)
		return -EINVAL;
	if (sin6->sin6_family != AF_INET6)
		return -EAFNOSUPPORT;
	type = ipv6_addr_type(&sin6->sin6_addr);
	if (type & IPV6_ADDR_MULTICAST)
		return -EADDRNOTAVAIL;
	name->ip = sin6->sin6_addr;
	name->port = sin6->sin6_port;
	if (!(type & IPV6_ADDR_LINKLOCAL))
		return 0;
	if (len < (int)sizeof(*sin6) || !sin6->sin6_scope_id)
		return -EINVAL;
	name->ifindex = sin6->sin6_scope_id;
	return 0;
}

/**
 * rds_stream_name_parse() - Parse a name that user space has passed
 * @v6: the socket has names of struct sockaddr_in6
 * @sa: the name, in kernel memory
 * @len: its length in bytes, as passed
 * @name: set to the name
 *
 * Context: Any context.
 * Return: 0; -EINVAL if the name is too short or lacks its scope; -EAFNOSUPPORT
 * if it is of another family; -EADDRNOTAVAIL if it is not the address of one
 * host.
 */
int rds_stream_name_parse(bool v6, const void *sa, int len,
			  struct rds_stream_name *name)
{
	memset(name, 0, sizeof(*name));
	return v6 ? rds_stream_name_parse_v6(sa, len, name) :
	       rds_stream_name_parse_v4(sa, len, name);
}

/**
 * rds_stream_name_format() - Write a name for user space
 * @v6: the socket has names of struct sockaddr_in6
 * @name: the name
 * @sa: set to the name; has room for a struct sockaddr_in6
 *
 * Context: Any context.
 * Return: its length in bytes.
 */
int rds_stream_name_format(bool v6, const struct rds_stream_name *name,
			   void *sa)
{
	struct sockaddr_in6 *sin6 = sa;
	struct sockaddr_in *sin = sa;

	if (v6) {
		memset(sin6, 0, sizeof(*sin6));
		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = name->ip;
		sin6->sin6_port = name->port;
		sin6->sin6_scope_id = name->ifindex;
		return sizeof(*sin6);
	}
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = name->ip.s6_addr32[3];
	sin->sin_port = name->port;
	return sizeof(*sin);
}
