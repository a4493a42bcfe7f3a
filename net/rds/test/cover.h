/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coverage of our modules in every context. RDS_COVER=1 scripts/build has the
 * compiler include this before each file of the modules, and call the function
 * below in each basic block; otherwise nothing does.
 *
 * KCOV traces what a task does that asks for it. What a peer reaches runs in
 * softirqs and work items, on behalf of nobody. So here each basic block has a
 * bit in one map for all modules and contexts (cover.c). Blocks share a bit by
 * chance: there are many more bits than blocks.
 */
#ifndef _RDS_COVER_H
#define _RDS_COVER_H

#include <linux/compiler.h>

#define RDS_COVER_ORDER		18	/* bits of the map, a power of two */
#define RDS_COVER_WORD		(8 * sizeof(unsigned long))
#define RDS_COVER_WORDS		((1UL << RDS_COVER_ORDER) / RDS_COVER_WORD)

extern unsigned long rds_cover_map[RDS_COVER_WORDS];

/* A bit that is lost to another processor is set the next time. The function
 * calls nothing, as that would be traced.
 */
static noinline notrace __used __no_sanitize_coverage __no_sanitize_address
void __sanitizer_cov_trace_pc(void)
{
	unsigned long pc = (unsigned long)__builtin_return_address(0);
	unsigned long bit, mask;
	unsigned long *word;

	bit = (pc * 0x9e3779b97f4a7c15UL) >> (RDS_COVER_WORD - RDS_COVER_ORDER);
	word = &rds_cover_map[bit / RDS_COVER_WORD];
	mask = 1UL << bit % RDS_COVER_WORD;
	if (!(__READ_ONCE(*word) & mask))
		__WRITE_ONCE(*word, *word | mask);
}

#endif /* _RDS_COVER_H */
