/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, by the name of the feature. The rest of the
 * folder reads as if only the newest existed.
 */
#ifndef _RDS_IB_COMPAT_H
#define _RDS_IB_COMPAT_H

#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/ipv6.h>
#include <linux/version.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

/* Where IPv6 is a module, which it cannot be in newer kernels, it is called
 * through a table. What is built in may have been switched off at boot.
 */
#if IS_MODULE(CONFIG_IPV6)
static inline struct dst_entry *rds_ib_dst_lookup_v6(struct net *net,
						     struct flowi6 *fl6)
{
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl6, NULL);
}
#else
static inline struct dst_entry *rds_ib_dst_lookup_v6(struct net *net,
						     struct flowi6 *fl6)
{
	if (!ipv6_mod_enabled())
		return ERR_PTR(-EAFNOSUPPORT);
	return ip6_dst_lookup_flow(net, NULL, fl6, NULL);
}
#endif

/* Before 6.10 dma_need_sync() says so of all that goes by an IOMMU. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static inline bool rds_dma_need_sync(struct device *dev, dma_addr_t addr)
{
	return dma_need_sync(dev, addr);
}
#else
static inline bool rds_dma_need_sync(struct device *dev, dma_addr_t addr)
{
	if (get_dma_ops(dev))
		return !dev_is_dma_coherent(dev);
	return dma_need_sync(dev, addr);
}
#endif

#endif /* _RDS_IB_COMPAT_H */
