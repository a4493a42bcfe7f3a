// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of receive buffers.
 *
 * When the user has read a large message, its pages return here, and serve
 * other receive buffers. Each CPU keeps a few. They are not cleared, because no
 * reader sees more of a page than the device has written.
 *
 * A cache is used with bottom halves disabled, and under its lock: on newer
 * kernels with PREEMPT_RT, the former does not keep other tasks out.
 */
#include <linux/error-injection.h>
#include <linux/local_lock.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/topology.h>

#include "ib.h"

/* Most pages that a CPU keeps: about those of a message of 256 KiB */
#define RDS_IB_PAGES_KEPT	64

/**
 * struct rds_ib_page_cache - unused pages of a CPU
 * @pc_lock: taken with bottom halves disabled
 * @pc_nr: number of pages
 * @pc_pages: the pages, each with one reference and of the CPU's node
 */
struct rds_ib_page_cache {
	local_lock_t	pc_lock;
	unsigned int	pc_nr;
	struct page	*pc_pages[RDS_IB_PAGES_KEPT];
};

static DEFINE_PER_CPU(struct rds_ib_page_cache, rds_ib_page_cache) = {
	.pc_lock	= INIT_LOCAL_LOCK(pc_lock),
};

/**
 * rds_ib_page_get() - Get a page for a receive buffer
 * @gfp: how to allocate, if there is no page to reuse
 *
 * Context: Any context except hard interrupts.
 * Return: the page, not cleared; NULL if there is no memory.
 */
struct page *rds_ib_page_get(gfp_t gfp)
{
	struct rds_ib_page_cache *pc;
	struct page *page = NULL;

	local_bh_disable();
	local_lock(&rds_ib_page_cache.pc_lock);
	pc = this_cpu_ptr(&rds_ib_page_cache);
	if (pc->pc_nr)
		page = pc->pc_pages[--pc->pc_nr];
	local_unlock(&rds_ib_page_cache.pc_lock);
	local_bh_enable();
	return page ?: alloc_page(gfp);
}

ALLOW_ERROR_INJECTION(rds_ib_page_get, NULL);

static bool rds_ib_page_can_stay(struct page *page)
{
	return page_ref_count(page) == 1 && !page_is_pfmemalloc(page) &&
	       page_to_nid(page) == numa_mem_id();
}

/**
 * rds_ib_pages_put() - Put pages, and keep those that can be reused
 * @pages: the pages; the caller's references are taken over
 * @nr: number of pages
 *
 * Context: Any context except hard interrupts.
 */
void rds_ib_pages_put(struct page **pages, u32 nr)
{
	struct rds_ib_page_cache *pc;
	u32 i;

	local_bh_disable();
	local_lock(&rds_ib_page_cache.pc_lock);
	pc = this_cpu_ptr(&rds_ib_page_cache);
	for (i = 0; i < nr; i++) {
		if (pc->pc_nr < RDS_IB_PAGES_KEPT &&
		    rds_ib_page_can_stay(pages[i]))
			pc->pc_pages[pc->pc_nr++] = pages[i];
		else
			put_page(pages[i]);
	}
	local_unlock(&rds_ib_page_cache.pc_lock);
	local_bh_enable();
}

/**
 * rds_ib_pages_exit() - Free the pages that all CPUs keep
 *
 * Context: Process context. No other context gets or puts pages any more.
 */
void rds_ib_pages_exit(void)
{
	struct rds_ib_page_cache *pc;
	int cpu;

	for_each_possible_cpu(cpu) {
		pc = per_cpu_ptr(&rds_ib_page_cache, cpu);
		while (pc->pc_nr)
			put_page(pc->pc_pages[--pc->pc_nr]);
	}
}
