// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all parts of RDS in a network namespace share: the ID of its state, the
 * workqueue of the paths, and the generation number. For init and exit see
 * netns.c.
 */
#include <linux/random.h>

#include "compat.h"
#include "rds_net.h"

unsigned int rds_net_id __read_mostly;
EXPORT_SYMBOL_RDS_KUNIT(rds_net_id);

/* Runs the work items of the paths of all namespaces */
struct workqueue_struct *rds_wq;

/**
 * rds_net_new_gen() - Draw a new generation number
 * @rn: the namespace; it has forgotten connections that were used
 *
 * Context: Process context.
 */
void rds_net_new_gen(struct rds_net *rn)
{
	WRITE_ONCE(rn->rn_gen, get_random_u32() ?: 1);
}
