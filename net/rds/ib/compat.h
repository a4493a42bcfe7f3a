/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel version differences of the IB transport, named after the feature that
 * differs. All other code is written for the newest kernel only.
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
#if IS_MODULE(CONFIG_IPV6)
#include <net/ipv6_stubs.h>
#endif

/* If IPv6 is a module, which newer kernels do not allow, it is called through a
 * table. If it is built in, it may have been disabled at boot.
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

/* Since 6.12, an IOMMU is no longer reached through a table of operations. */
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

/* Since 6.10, a trace event takes the source of a string from __string(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define rds_assign_str(dst, src)	__assign_str(dst)
#else
#define rds_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* dma_need_sync() may return true for any memory that is not mapped directly.
 * For such memory, check instead whether the device is coherent.
 */
static inline bool rds_dma_need_sync(struct device *dev, dma_addr_t addr)
{
	if (!rds_dma_is_direct(dev))
		return !dev_is_dma_coherent(dev);
	return dma_need_sync(dev, addr);
}

#endif /* _RDS_IB_COMPAT_H */
