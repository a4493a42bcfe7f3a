/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a connection that a peer has made stops being a pending one. */
#ifndef _RDS_TCP_END_H
#define _RDS_TCP_END_H

/**
 * enum rds_tcp_end - why a connection is refused, or no longer pending
 * @RDS_TCP_END_NONE: it stays
 * @RDS_TCP_END_OFFERED: a path has it as an offer
 * @RDS_TCP_END_LOCAL: it comes from an address of this host
 * @RDS_TCP_END_KNOCK: our end dials; core has been notified of the attempt
 * @RDS_TCP_END_NO_MEMORY: there is no memory for another pending connection
 * @RDS_TCP_END_PEER_LIMIT: the peer has made more than it needs, so its oldest
 *	one is dropped
 * @RDS_TCP_END_FULL: the namespace has as many as it may have
 * @RDS_TCP_END_CLOSED: the connection has ended before its first header was
 *	complete
 * @RDS_TCP_END_OVERSIZED: the first header announces a message longer than
 *	allowed
 * @RDS_TCP_END_SILENT: the first header has not arrived in time
 * @RDS_TCP_END_NO_PATH: core has no path for it
 * @RDS_TCP_END_LATE: no path has taken it in time
 * @RDS_TCP_END_STOPPED: the namespace or the transport goes away
 * @RDS_TCP_END_PATH_GONE: the path that had it as an offer is freed
 */
enum rds_tcp_end {
	RDS_TCP_END_NONE,
	RDS_TCP_END_OFFERED,
	RDS_TCP_END_LOCAL,
	RDS_TCP_END_KNOCK,
	RDS_TCP_END_NO_MEMORY,
	RDS_TCP_END_PEER_LIMIT,
	RDS_TCP_END_FULL,
	RDS_TCP_END_CLOSED,
	RDS_TCP_END_OVERSIZED,
	RDS_TCP_END_SILENT,
	RDS_TCP_END_NO_PATH,
	RDS_TCP_END_LATE,
	RDS_TCP_END_STOPPED,
	RDS_TCP_END_PATH_GONE,
};

#endif /* _RDS_TCP_END_H */
