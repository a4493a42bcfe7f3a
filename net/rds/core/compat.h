/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, by the name of the feature. The rest of the
 * tree reads as if only the newest existed.
 */
#ifndef _RDS_CORE_COMPAT_H
#define _RDS_CORE_COMPAT_H

#include <linux/kconfig.h>
#include <linux/export.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* Symbols that only the KUnit module uses */
#if IS_ENABLED(CONFIG_RDS_KUNIT_TEST)
#define EXPORT_SYMBOL_RDS_KUNIT(sym)	EXPORT_SYMBOL_GPL(sym)
#else
#define EXPORT_SYMBOL_RDS_KUNIT(sym)
#endif

/* Since 6.2 memory that is pinned for reading stays its owner's when he writes
 * to it; before, he must be made to write first.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define RDS_FOLL_READ	0
#else
#define RDS_FOLL_READ	(FOLL_WRITE | FOLL_FORCE)
#endif

/* Before 6.10 a ubuf_info had its one operation itself. */
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
