/* SPDX-License-Identifier: GPL-2.0-only */
/* Pinned user memory that devices, or core in their place, access. */
#ifndef _RDS_CORE_PIN_H
#define _RDS_CORE_PIN_H

#include <linux/skbuff.h>
#include <linux/types.h>

struct work_struct;

/**
 * struct rds_pin - pinned user memory
 * @pn_account: the charge against the user's limit of locked memory
 * @pn_late: a work item releases the memory
 * @pn_writable: the memory is also written to, not only read
 * @pn_nr: number of pages pinned so far
 * @pn_pages: the pages; the array belongs to the owner
 *
 * The owner zeroes this, sets @pn_pages and @pn_writable, and passes it to
 * rds_pin_release() at the end, even if only part of it was set up.
 */
struct rds_pin {
	struct mmpin	pn_account;
	bool		pn_late;
	bool		pn_writable;
	unsigned int	pn_nr;
	struct page	**pn_pages;
};

int rds_pin_init(void);
void rds_pin_exit(void);
int rds_pin_count(u64 addr, u64 bytes);
int rds_pin_account(struct rds_pin *pin, unsigned int pages);
int rds_pin_add(struct rds_pin *pin, u64 addr, unsigned int pages);
void rds_pin_release(struct rds_pin *pin);
void rds_pin_release_later(struct rds_pin *pin, struct work_struct *work);
void rds_pin_flush(void);

#endif /* _RDS_CORE_PIN_H */
