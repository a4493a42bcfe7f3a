/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports of congestion changes to peers, senders and pollers. */
#ifndef _RDS_CORE_CONG_FLOW_H
#define _RDS_CORE_CONG_FLOW_H

#include "path.h"
#include "sock.h"

void rds_cong_publish(struct rds_sock *rs, bool congested);
bool rds_cong_wait_begin(struct rds_sock *rs, struct rds_cong_map *map,
			 __be16 port);
void rds_cong_settle(struct rds_sock *rs);
__poll_t rds_cong_poll(struct rds_sock *rs, __poll_t asked);
void rds_cong_monitor(struct rds_sock *rs, bool on, u64 watch);
u64 rds_cong_watched(struct rds_sock *rs, bool *on);
void rds_cong_resend_map(struct rds_cpath *cp);

/**
 * rds_cong_acts() - Note that a socket sends, or has found no input
 * @rs: the socket
 *
 * If poll() has reported a congestion change, the socket has now acted on the
 * report, and poll() does not repeat it. A change that was not reported yet is
 * reported all the same: the socket may send to another port than to the one
 * that has become free.
 *
 * Context: Process context. May take rn_cong_lock.
 */
static inline void rds_cong_acts(struct rds_sock *rs)
{
	if (unlikely(READ_ONCE(rs->rs_cong.sg_told)))
		rds_cong_settle(rs);
}

#endif /* _RDS_CORE_CONG_FLOW_H */
