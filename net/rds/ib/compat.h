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
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/iommu-dma.h>
#endif
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

/* Since 6.12 an IOMMU is not reached by a table of operations any more. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static inline bool rds_dma_is_direct(struct device *dev)
{
	return !use_dma_iommu(dev) && !get_dma_ops(dev);
}
#else
static inline bool rds_dma_is_direct(struct device *dev)
{
	return !get_dma_ops(dev);
}
#endif

/* dma_need_sync() may say so of all that is not mapped directly. */
static inline bool rds_dma_need_sync(struct device *dev, dma_addr_t addr)
{
	if (!rds_dma_is_direct(dev))
		return !dev_is_dma_coherent(dev);
	return dma_need_sync(dev, addr);
}

#endif /* _RDS_IB_COMPAT_H */
