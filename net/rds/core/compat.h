/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel version differences of core, named after the feature that differs. All
 * other code is written for the newest kernel only.
 */
#ifndef _RDS_CORE_COMPAT_H
#define _RDS_CORE_COMPAT_H

#include <linux/kconfig.h>
#include <linux/export.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include <net/rds/compat.h>

/* Exports for the KUnit module only */
#if IS_ENABLED(CONFIG_RDS_KUNIT_TEST)
#define EXPORT_SYMBOL_RDS_KUNIT(sym)	EXPORT_SYMBOL_GPL(sym)
#else
#define EXPORT_SYMBOL_RDS_KUNIT(sym)
#endif

/* Since 6.2, pages that were pinned for reading stay mapped when the process
 * writes to its memory. Before that, a write may give the process a copy, so
 * ask for write access to break copy-on-write at the time of pinning.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define RDS_FOLL_READ	0
#else
#define RDS_FOLL_READ	(FOLL_WRITE | FOLL_FORCE)
#endif

/* Before 6.10, struct ubuf_info had its only callback as a member, not in a
 * table of operations.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
struct ubuf_info_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf,
			 bool success);
};

static inline void rds_ubuf_set_ops(struct ubuf_info *ubuf,
				    const struct ubuf_info_ops *ops)
{
	ubuf->callback = ops->complete;
}
#else
static inline void rds_ubuf_set_ops(struct ubuf_info *ubuf,
				    const struct ubuf_info_ops *ops)
{
	ubuf->ops = ops;
}
#endif

#endif /* _RDS_CORE_COMPAT_H */
