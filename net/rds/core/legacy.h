/* SPDX-License-Identifier: GPL-2.0-only */
/* More than one path with peers that run other implementations. */
#ifndef _RDS_CORE_LEGACY_H
#define _RDS_CORE_LEGACY_H

#include "conn.h"

bool rds_legacy_knows_us(const struct rds_cpath *first, unsigned long *at);
bool rds_legacy_is_early(const struct rds_conn *conn, unsigned int named);
bool rds_legacy_is_past_barrier(struct rds_cpath *cp);
long rds_legacy_cong_patience(const struct rds_conn *conn);

/**
 * rds_legacy_map_is_late() - Check whether a congestion map may be outdated
 * @cp: the path on which the map arrived, not path 0
 *
 * The first map on a path may have waited until the path took the connection.
 *
 * Context: Deliver context.
 * Return: true if the map may be older than the one that path 0 has delivered.
 */
static inline bool rds_legacy_map_is_late(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->cp_conn->c_peer_hs.names_paths) &&
	       !cp->cp_rx.pr_mapped;
}

#endif /* _RDS_CORE_LEGACY_H */
