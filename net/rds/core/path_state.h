/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The states of a path, as a table without side effects. Only path.c uses the
 * table, and only path.c stores a state. See Documentation/path-states.rst.
 */
#ifndef _RDS_CORE_PATH_STATE_H
#define _RDS_CORE_PATH_STATE_H

#include <linux/types.h>

/**
 * enum rds_path_state - the states of a path
 * @RDS_PATH_DOWN: no transport connection, and no attempt under way
 * @RDS_PATH_CONNECTING: the transport is dialing, or takes a connection made by
 *	the peer
 * @RDS_PATH_DISCONNECTING: the path's work item shuts the transport down
 * @RDS_PATH_UP: messages may be sent
 * @RDS_PATH_ERROR: dropped; the path's work item has yet to shut it down
 * @RDS_PATH_STATES: number of states
 */
enum rds_path_state {
	RDS_PATH_DOWN,
	RDS_PATH_CONNECTING,
	RDS_PATH_DISCONNECTING,
	RDS_PATH_UP,
	RDS_PATH_ERROR,
	RDS_PATH_STATES
};

/**
 * enum rds_path_event - the events that change the state of a path
 * @RDS_EV_CONNECT: an attempt to dial or to accept begins
 * @RDS_EV_CONNECTED: the transport connection is established
 * @RDS_EV_CONNECT_FAILED: the attempt has failed and left nothing to shut down
 * @RDS_EV_DROP: the connection is to be dropped
 * @RDS_EV_SHUTDOWN: the path's work item begins to shut the transport down
 * @RDS_EV_SHUTDOWN_DONE: the transport is shut down
 * @RDS_EVENTS: number of events
 */
enum rds_path_event {
	RDS_EV_CONNECT,
	RDS_EV_CONNECTED,
	RDS_EV_CONNECT_FAILED,
	RDS_EV_DROP,
	RDS_EV_SHUTDOWN,
	RDS_EV_SHUTDOWN_DONE,
	RDS_EVENTS
};

bool rds_path_next_state(enum rds_path_state from, enum rds_path_event event,
			 enum rds_path_state *to);
u32 rds_backoff_next(u32 *cur_ms, u32 min_ms, u32 max_ms, u32 rnd);

#endif /* _RDS_CORE_PATH_STATE_H */
