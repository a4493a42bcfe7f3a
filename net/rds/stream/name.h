/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of streams: an address and a port. */
#ifndef _RDS_STREAM_NAME_H
#define _RDS_STREAM_NAME_H

#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <net/ipv6.h>

/**
 * struct rds_stream_name - address and port of one end of a stream
 * @ip: the address; IPv4 in its mapped form. Unspecified (:: or 0.0.0.0) in a
 *	name that is bound to all addresses
 * @ifindex: scope of a link-local address, otherwise 0
 * @port: the port
 */
struct rds_stream_name {
	struct in6_addr	ip;
	u32		ifindex;
	__be16		port;
};

/* Check whether an address is the unspecified one of IPv6 or of IPv4. */
static inline bool rds_stream_is_any(const struct in6_addr *ip)
{
	return ipv6_addr_any(ip) ||
	       (ipv6_addr_v4mapped(ip) && !ip->s6_addr32[3]);
}

void rds_stream_name_set(struct rds_stream_name *name,
			 const struct in6_addr *ip, u32 ifindex, __be16 port);
int rds_stream_name_parse(bool v6, const void *sa, int len,
			  struct rds_stream_name *name);
int rds_stream_name_format(bool v6, const struct rds_stream_name *name,
			   void *sa);

#endif /* _RDS_STREAM_NAME_H */
