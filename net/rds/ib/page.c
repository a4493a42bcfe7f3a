// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of receive buffers. One that a message has brought to its reader comes
 * back here and serves another: each CPU keeps a few. They are not cleared
 * between, for nobody reads more of a page than the device has written.
 *
 * The caches are guarded by bottom halves being off.
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/topology.h>

#include "ib.h"

/* Pages that a CPU keeps: those of a message of 256 KiB */
#define RDS_IB_PAGES_KEPT	64

/**
 * struct rds_ib_page_cache - pages that nobody uses
 * @pc_nr: how many
 * @pc_pages: those; each with one reference, and of this CPU's node
 */
struct rds_ib_page_cache {
	unsigned int	pc_nr;
	struct page	*pc_pages[RDS_IB_PAGES_KEPT];
};

static DEFINE_PER_CPU(struct rds_ib_page_cache, rds_ib_page_cache);

/**
 * rds_ib_page_get() - a page for a receive buffer
 * @gfp: how to allocate, if there is none to be used again
 *
 * Context: any but hard interrupts.
 * Return: the page, not cleared; or NULL.
 */
struct page *rds_ib_page_get(gfp_t gfp)
{
	struct rds_ib_page_cache *pc;
	struct page *page = NULL;

	local_bh_disable();
	pc = this_cpu_ptr(&rds_ib_page_cache);
	if (pc->pc_nr)
		page = pc->pc_pages[--pc->pc_nr];
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
 * rds_ib_pages_put() - pages have been read
 * @pages: the pages; the caller's references are taken over
 * @nr: how many
 *
 * Context: any but hard interrupts.
 */
void rds_ib_pages_put(struct page **pages, u32 nr)
{
	struct rds_ib_page_cache *pc;
	u32 i;

	local_bh_disable();
	pc = this_cpu_ptr(&rds_ib_page_cache);
	for (i = 0; i < nr; i++) {
		if (pc->pc_nr < RDS_IB_PAGES_KEPT &&
		    rds_ib_page_can_stay(pages[i]))
			pc->pc_pages[pc->pc_nr++] = pages[i];
		else
			put_page(pages[i]);
	}
	local_bh_enable();
}

/**
 * rds_ib_pages_exit() - free what is kept
 *
 * Context: process; nobody gets or puts pages any more.
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
