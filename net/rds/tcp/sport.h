/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Source ports: a port identifies the path.
 *
 * The port modulo RDS_MAX_PATHS is the index of the path. So the peer can
 * assign a connection to a path before it has read a byte, and assigns it to
 * the same path again when we reconnect. The ports come from
 * net.ipv4.ip_local_port_range, as those of any other connection. They form
 * groups with one port for each path; incomplete groups are left out.
 */
#ifndef _RDS_TCP_SPORT_H
#define _RDS_TCP_SPORT_H

#include <linux/math.h>
#include <linux/types.h>
#include <net/rds/transport.h>

/**
 * struct rds_tcp_sports - the available source ports
 * @sp_base: the first port; a multiple of RDS_MAX_PATHS
 * @sp_groups: number of groups from there; each group has RDS_MAX_PATHS ports,
 *	one for each path
 */
struct rds_tcp_sports {
	u32	sp_base;
	u32	sp_groups;
};

/**
 * rds_tcp_sport_index() - Get the index of the path that a source port names
 * @port: the port
 *
 * Context: Any context.
 * Return: the index, below RDS_MAX_PATHS.
 */
static inline u8 rds_tcp_sport_index(u16 port)
{
	return port % RDS_MAX_PATHS;
}

/**
 * rds_tcp_sports_init() - Find the groups in a range of ports
 * @sp: the result; has no group if the range contains none
 * @low: first port of the range
 * @high: last port of the range
 *
 * Context: Any context.
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
 * rds_tcp_sport() - Get the port of a path in a group
 * @sp: the ports, with at least one group
 * @group: any number; taken modulo the number of groups
 * @index: index of the path, below RDS_MAX_PATHS
 *
 * Context: Any context.
 * Return: the port.
 */
static inline u16 rds_tcp_sport(const struct rds_tcp_sports *sp, u32 group,
				u8 index)
{
	return sp->sp_base + group % sp->sp_groups * RDS_MAX_PATHS + index;
}

#endif /* _RDS_TCP_SPORT_H */
