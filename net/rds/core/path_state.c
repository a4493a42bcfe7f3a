// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of a path, as a table.
 *
 * A path can be dropped in any state, and the only way out of ERROR is a
 * shutdown. So the path's one work item takes down whatever the transport has
 * set up halfway, before the next attempt begins. A drop that arrives during
 * the shutdown leads back to ERROR, and the shutdown runs once more.
 */
#include <linux/minmax.h>

#include "compat.h"
#include "path_state.h"

/* 0 if the event does not apply; otherwise the next state plus 1 */
#define TO(state)	((state) + 1)

static const u8 rds_path_table[RDS_PATH_STATES][RDS_EVENTS] = {
	[RDS_PATH_DOWN] = {
		[RDS_EV_CONNECT]	= TO(RDS_PATH_CONNECTING),
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
	},
	[RDS_PATH_CONNECTING] = {
		[RDS_EV_CONNECTED]	= TO(RDS_PATH_UP),
		[RDS_EV_CONNECT_FAILED]	= TO(RDS_PATH_DOWN),
		[RDS_EV_DROP]		= TO(RDS_PATH_ERROR),
	},
	[RDS_PATH_UP] = {
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
 * rds_path_next_state() - Look up an event in the table
 * @from: the state that the path is in
 * @event: the event
 * @to: set to the next state if the event applies
 *
 * Context: Any context.
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
 * rds_backoff_next() - Compute the delay before the next attempt to connect
 * @cur_ms: the ceiling, which grows from attempt to attempt; 0 before the first
 * @min_ms: least value of the ceiling
 * @max_ms: greatest value of the ceiling
 * @rnd: a random number
 *
 * The first attempt follows at once. Each later one waits a random time below
 * the ceiling, which doubles up to @max_ms. So two peers that lose each other
 * at the same moment do not keep colliding (rds(7), reconnect_delay_*_ms).
 *
 * Context: Any context.
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
