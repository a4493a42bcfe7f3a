/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel version differences of core, named after the feature that differs. All
 * other code is written for the newest kernel only.
 */
#ifndef _RDS_CORE_COMPAT_H
#define _RDS_CORE_COMPAT_H

#include <linux/backing-dev.h>
#include <linux/kconfig.h>
#include <linux/export.h>
#include <linux/mm.h>
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

/* Since 6.5, the kernel pins no page for long-term writes if a file system must
 * know of each write to it. Before, refuse such pages here: to unpin a page
 * that was written to waits until the file system unlocks it, and a FUSE daemon
 * may keep it locked for ever.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
/* Anonymous, shmem and huge pages belong to no such file system. */
static inline bool rds_page_may_be_tracked(struct page *page)
{
	return !PageAnon(page) && !PageSwapBacked(page) && !PageHuge(page);
}

static inline bool rds_vma_is_tracked(const struct vm_area_struct *vma)
{
	const vm_flags_t shared = VM_SHARED | VM_WRITE;

	if ((vma->vm_flags & shared) != shared)
		return false;
	if (vma->vm_ops && (vma->vm_ops->page_mkwrite ||
			    vma->vm_ops->pfn_mkwrite))
		return true;
	return vma->vm_file && vma->vm_file->f_mapping &&
	       mapping_can_writeback(vma->vm_file->f_mapping);
}

/* Pin pages of the mapping that begins at or before @addr, up to its end. */
static inline int rds_pin_untracked(unsigned long addr, int nr,
				    unsigned int flags, struct page **pages)
{
	struct vm_area_struct *vma;
	int got = -EFAULT;

	addr = untagged_addr(addr);
	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	vma = vma_lookup(current->mm, addr);
	if (vma && !rds_vma_is_tracked(vma)) {
		nr = min_t(unsigned long, nr,
			   (vma->vm_end - addr) >> PAGE_SHIFT);
		got = pin_user_pages(addr, nr, flags, pages, NULL);
	}
	mmap_read_unlock(current->mm);
	return got;
}

static inline int rds_pin_for_write(unsigned long addr, int nr,
				    unsigned int flags, struct page **pages)
{
	int got = pin_user_pages_fast(addr, nr, flags | FOLL_WRITE, pages);
	int i;

	for (i = 0; i < got; i++)
		if (rds_page_may_be_tracked(pages[i]))
			break;
	if (got <= 0 || i == got)
		return got;
	/* Look at the mapping, and keep other threads from changing it. */
	unpin_user_pages(pages, got);
	return rds_pin_untracked(addr, nr, flags | FOLL_WRITE, pages);
}
#else
static inline int rds_pin_for_write(unsigned long addr, int nr,
				    unsigned int flags, struct page **pages)
{
	return pin_user_pages_fast(addr, nr, flags | FOLL_WRITE, pages);
}
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
