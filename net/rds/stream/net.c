// SPDX-License-Identifier: GPL-2.0-only
/* The state of streams in a namespace. */
#include "stream.h"

unsigned int rds_stream_net_id;

/**
 * rds_stream_net_init() - Initialize the state of a namespace
 * @sn: the state, zeroed
 *
 * Context: Process context.
 */
void rds_stream_net_init(struct rds_stream_net *sn)
{
	spin_lock_init(&sn->sn_lock);
	spin_lock_init(&sn->sn_listen_lock);
	hash_init(sn->sn_binds);
}
