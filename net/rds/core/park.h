/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages that wait at the sender for a congested port. */
#ifndef _RDS_CORE_PARK_H
#define _RDS_CORE_PARK_H

#include <linux/wait.h>
#include <linux/xarray.h>
#include <net/rds/transport.h>

struct rds_cpath;

/**
 * struct rds_park - parked messages of a path
 * @pk_ports: struct rds_parked by destination port; guarded by cp_lock
 * @pk_from: messages with lower tickets are not parked; guarded by cp_lock
 * @pk_wait: kicks the path's work item when a port of the peer becomes free
 * @pk_waits: @pk_wait is on the wait queue of the peer's map; guarded by
 *	cp_xmit_lock
 */
struct rds_park {
	struct xarray		pk_ports;
	u64			pk_from;
	wait_queue_entry_t	pk_wait;
	bool			pk_waits;
};

/**
 * struct rds_parked - parked messages for one port
 * @pd_msgs: the messages, linked by m_path_item, in the order in which they are
 *	to be sent; may be empty, if they were canceled
 */
struct rds_parked {
	struct list_head	pd_msgs;
};

void rds_park_init(struct rds_park *pk);
bool rds_park_wants(struct rds_cpath *cp, const struct rds_message *msg);
bool rds_park_take(struct rds_cpath *cp, struct rds_message *msg);
void rds_park_watch(struct rds_cpath *cp);
void rds_park_release(struct rds_cpath *cp);
void rds_park_release_all(struct rds_cpath *cp);
void rds_park_end(struct rds_cpath *cp);

#endif /* _RDS_CORE_PARK_H */
