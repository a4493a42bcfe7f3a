/* SPDX-License-Identifier: GPL-2.0-only */
/* More than one path with peers of other implementations. */
#ifndef _RDS_CORE_LEGACY_H
#define _RDS_CORE_LEGACY_H

#include "conn.h"

bool rds_legacy_knows_us(const struct rds_cpath *first, unsigned long *at);
bool rds_legacy_is_early(const struct rds_conn *conn, unsigned int named);
bool rds_legacy_is_past_barrier(struct rds_cpath *cp);
long rds_legacy_cong_patience(const struct rds_conn *conn);

/**
 * rds_legacy_map_is_late() - may a congestion map be older than what path 0 has
 *	brought?
 * @cp: another path, by which it came
 *
 * What a path begins with may have waited for its place.
 *
 * Context: deliver context.
 * Return: true if it may.
 */
static inline bool rds_legacy_map_is_late(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->cp_conn->c_peer_hs.names_paths) && !cp->cp_mapped;
}

#endif /* _RDS_CORE_LEGACY_H */
