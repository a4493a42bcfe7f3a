// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of a path, as a table.
 *
 * A path is dropped from any state, and ERROR has one way out: its shutdown.
 * So whatever a transport half built is taken down before the next attempt,
 * by the one work item of the path. A drop that arrives while the shutdown
 * runs leads back to ERROR, and the shutdown runs once more.
 */
#include <linux/minmax.h>

#include "compat.h"
#include "path_state.h"

/* 0: the event does not apply; otherwise the next state, plus one */
#define TO(state)	((state) + 1)

static const u8 rds_path_table[RDS_PATH_STATES][RDS_EVENTS] = {
	[RDS_PATH_DOWN] = {
		[RDS_EV_CONNECT]	= TO(RDS_PATH_CONNECTING),
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
	},
	[RDS_PATH_CONNECTING] = {
		[RDS_EV_CONNECTED]	= TO(RDS_PATH_UP),
		[RDS_EV_CONNECT_FAILED]	= TO(RDS_PATH_DOWN),
		[RDS_EV_RESET]		= TO(RDS_PATH_RESETTING),
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
	},
	[RDS_PATH_UP] = {
		[RDS_EV_RESET]		= TO(RDS_PATH_RESETTING),
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
	},
	[RDS_PATH_RESETTING] = {
		[RDS_EV_CONNECTED]	= TO(RDS_PATH_UP),
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
	},
	[RDS_PATH_ERROR] = {
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
		[RDS_EV_SHUTDOWN]	= TO(RDS_PATH_DISCONNECTING),
	},
	[RDS_PATH_DISCONNECTING] = {
		[RDS_EV_SHUTDOWN_DONE]	= TO(RDS_PATH_DOWN),
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
	},
};

/**
 * rds_path_next_state() - look an event up in the table
 * @from: the state that the path is in
 * @event: what happened
 * @to: set to the next state if there is one
 *
 * Context: any.
 * Return: true if the event applies in this state.
 */
bool rds_path_next_state(enum rds_path_state from, enum rds_path_event event,
			 enum rds_path_state *to)
{
	u8 next;

	if ((unsigned int)from >= RDS_PATH_STATES ||
	    (unsigned int)event >= RDS_EVENTS)
		return false;

	next = rds_path_table[from][event];
	if (!next)
		return false;

	*to = next - 1;
	return true;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_path_next_state);

/**
 * rds_backoff_next() - how long to wait before the next attempt to connect
 * @cur_ms: the ceiling that grows from attempt to attempt; 0 before the first
 * @min_ms: its least value
 * @max_ms: its greatest value
 * @rnd: a random number
 *
 * The first attempt follows at once. Each later one waits a random time below
 * a ceiling that doubles up to @max_ms, so that two peers who lost each other
 * at the same moment do not keep colliding (rds(7), reconnect_delay_*_ms).
 *
 * Context: any.
 * Return: the delay in milliseconds.
 */
u32 rds_backoff_next(u32 *cur_ms, u32 min_ms, u32 max_ms, u32 rnd)
{
	u32 delay;

	min_ms = max(min_ms, 1U);
	max_ms = max(max_ms, min_ms);

	if (!*cur_ms) {
		*cur_ms = min_ms;
		return 0;
	}

	delay = rnd % *cur_ms;
	*cur_ms = *cur_ms > max_ms / 2 ? max_ms : *cur_ms * 2;
	return delay;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_backoff_next);
