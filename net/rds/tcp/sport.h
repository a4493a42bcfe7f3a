/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Source ports: they name the path.
 *
 * The remainder of the port by RDS_MAX_PATHS is the path, so that the peer
 * knows which one a connection belongs to before it has read a byte, and
 * again when it comes back. The ports are those that net.ipv4.
 * ip_local_port_range gives to any connection, in groups that have one port
 * for each path; groups that are not whole are left out.
 */
#ifndef _RDS_TCP_SPORT_H
#define _RDS_TCP_SPORT_H

#include <linux/math.h>
#include <linux/types.h>
#include <net/rds/transport.h>

/**
 * struct rds_tcp_sports - the source ports there are
 * @sp_base: the first; a multiple of RDS_MAX_PATHS
 * @sp_groups: groups of RDS_MAX_PATHS ports from there, one for each path
 */
struct rds_tcp_sports {
	u32	sp_base;
	u32	sp_groups;
};

/**
 * rds_tcp_sport_index() - the path that a source port names
 * @port: the port
 *
 * Context: any.
 * Return: below RDS_MAX_PATHS.
 */
static inline u8 rds_tcp_sport_index(u16 port)
{
	return port % RDS_MAX_PATHS;
}

/**
 * rds_tcp_sports_init() - find the groups of a range
 * @sp: the result; without a group if the range has none
 * @low: first port of the range
 * @high: last port of the range
 *
 * Context: any.
 */
static inline void rds_tcp_sports_init(struct rds_tcp_sports *sp, int low,
				       int high)
{
	sp->sp_base = 0;
	sp->sp_groups = 0;
	if (low < 1 || high > U16_MAX)
		return;

	low = round_up(low, RDS_MAX_PATHS);
	if (high - low + 1 < RDS_MAX_PATHS)
		return;
	sp->sp_base = low;
	sp->sp_groups = (high - low + 1) / RDS_MAX_PATHS;
}

/**
 * rds_tcp_sport() - the port of a path in a group
 * @sp: the ports; with at least one group
 * @group: any number: it runs round
 * @index: below RDS_MAX_PATHS
 *
 * Context: any.
 * Return: the port.
 */
static inline u16 rds_tcp_sport(const struct rds_tcp_sports *sp, u32 group,
				u8 index)
{
	return sp->sp_base + group % sp->sp_groups * RDS_MAX_PATHS + index;
}

#endif /* _RDS_TCP_SPORT_H */
