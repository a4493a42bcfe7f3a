/* SPDX-License-Identifier: GPL-2.0-only */
/* The registered transports. */
#ifndef _RDS_CORE_TRANSPORT_H
#define _RDS_CORE_TRANSPORT_H

#include <linux/module.h>
#include <net/rds/transport.h>

#include "rds_net.h"

bool rds_transport_is_registered(const struct rds_transport *trans);
const struct rds_transport *rds_transport_get(unsigned int type);
const struct rds_transport *rds_transport_demand(unsigned int type);
int rds_transport_owns(const struct rds_transport *trans, struct net *net,
		       const struct in6_addr *ip, u32 ifindex);
const struct rds_transport *rds_transport_for_laddr(struct net *net,
						    const struct in6_addr *ip,
						    u32 ifindex);
const struct rds_transport *
rds_transport_for_faddr(const struct rds_transport *trans, struct net *net,
			const struct in6_addr *ip, u32 ifindex);

/**
 * rds_transport_put() - Put a reference to a transport's module
 * @trans: the transport, or NULL
 *
 * Context: Any.
 */
static inline void rds_transport_put(const struct rds_transport *trans)
{
	if (trans)
		module_put(trans->owner);
}

#endif /* _RDS_CORE_TRANSPORT_H */
