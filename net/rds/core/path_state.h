/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The states of a path, as a table. Pure; path.c is the only user, and the
 * only place where a state is stored. See Documentation/path-states.rst.
 */
#ifndef _RDS_CORE_PATH_STATE_H
#define _RDS_CORE_PATH_STATE_H

#include <linux/types.h>

/**
 * enum rds_path_state - where a path is in its life
 * @RDS_PATH_DOWN: no transport connection, and nothing under way
 * @RDS_PATH_CONNECTING: the transport is connecting or accepting
 * @RDS_PATH_DISCONNECTING: the path's work shuts the transport down
 * @RDS_PATH_UP: messages may be sent
 * @RDS_PATH_RESETTING: the transport exchanges its connection for another
 * @RDS_PATH_ERROR: dropped; the path's work has yet to shut it down
 * @RDS_PATH_STATES: how many there are
 */
enum rds_path_state {
	RDS_PATH_DOWN,
	RDS_PATH_CONNECTING,
	RDS_PATH_DISCONNECTING,
	RDS_PATH_UP,
	RDS_PATH_RESETTING,
	RDS_PATH_ERROR,
	RDS_PATH_STATES
};

/**
 * enum rds_path_event - what can happen to a path
 * @RDS_EV_CONNECT: somebody begins to connect or to accept
 * @RDS_EV_CONNECTED: the transport connection works
 * @RDS_EV_CONNECT_FAILED: the attempt ended and left nothing behind
 * @RDS_EV_RESET: the transport takes another connection instead
 * @RDS_EV_DROP: the connection is to be given up
 * @RDS_EV_SHUTDOWN: the path's work begins to shut down
 * @RDS_EV_SHUTDOWN_DONE: the transport is shut down
 * @RDS_EVENTS: how many there are
 */
enum rds_path_event {
	RDS_EV_CONNECT,
	RDS_EV_CONNECTED,
	RDS_EV_CONNECT_FAILED,
	RDS_EV_RESET,
	RDS_EV_DROP,
	RDS_EV_SHUTDOWN,
	RDS_EV_SHUTDOWN_DONE,
	RDS_EVENTS
};

bool rds_path_next_state(enum rds_path_state from, enum rds_path_event event,
			 enum rds_path_state *to);
u32 rds_backoff_next(u32 *cur_ms, u32 min_ms, u32 max_ms, u32 rnd);

#endif /* _RDS_CORE_PATH_STATE_H */
