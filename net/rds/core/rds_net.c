// SPDX-License-Identifier: GPL-2.0-only
/*
 * What every part of RDS in a network namespace needs: where it is, the work
 * queue of the paths, and the generation number. How it begins and ends is in
 * netns.c.
 */
#include <linux/random.h>

#include "compat.h"
#include "rds_net.h"

unsigned int rds_net_id __read_mostly;
EXPORT_SYMBOL_RDS_KUNIT(rds_net_id);

/* Of the paths of all namespaces */
struct workqueue_struct *rds_wq;

/**
 * rds_net_new_gen() - draw another generation number
 * @rn: the namespace; it has forgotten connections that were used
 *
 * Context: process.
 */
void rds_net_new_gen(struct rds_net *rn)
{
	WRITE_ONCE(rn->rn_gen, get_random_u32() ?: 1);
}
