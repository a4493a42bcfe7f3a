// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of a stream: one table, which is all that changes them.
 *
 *	IDLE --LISTEN--> LISTEN
 *	IDLE --CONNECT--> ASKING --KNOWN--> REQUESTED --RESPONSE--> OPEN
 *	IDLE --ACCEPT--> OPEN
 *	REQUESTED --AGAIN--> ASKING --RESPONSE--> OPEN
 *	ASKING, REQUESTED --FAIL--> IDLE
 *	OPEN --FAIL--> ENDED
 *	any --CLOSE--> ENDED --DISCONNECT--> IDLE
 *
 * The two halves of an open stream end one by one; the flags of struct
 * rds_stream tell which has.
 */
#include <linux/types.h>

#include "state.h"

/* Marks a pair in which the event does not apply: the state stays */
#define STAYS	RDS_STREAM_STATES

#define IDLE		RDS_STREAM_IDLE
#define LISTEN		RDS_STREAM_LISTEN
#define ASKING		RDS_STREAM_ASKING
#define REQUESTED	RDS_STREAM_REQUESTED
#define OPEN		RDS_STREAM_OPEN
#define ENDED		RDS_STREAM_ENDED

static const u8
rds_stream_table[RDS_STREAM_STATES][RDS_STREAM_EVENTS] = {
	/* In the order of enum rds_stream_event: LISTEN, CONNECT, KNOWN, AGAIN,
	 * RESPONSE, ACCEPT, FAIL, CLOSE, DISCONNECT
	 */
	[IDLE] = {
		LISTEN, ASKING, STAYS, STAYS, STAYS, OPEN, STAYS, ENDED, STAYS
	},
	[LISTEN] = {
		STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, ENDED, STAYS
	},
	[ASKING] = {
		STAYS, STAYS, REQUESTED, STAYS, OPEN, STAYS, IDLE, ENDED, STAYS
	},
	[REQUESTED] = {
		STAYS, STAYS, STAYS, ASKING, OPEN, STAYS, IDLE, ENDED, STAYS
	},
	[OPEN] = {
		STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, ENDED, ENDED, STAYS
	},
	[ENDED] = {
		STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, IDLE
	},
};

/**
 * rds_stream_next() - Get the state that follows an event
 * @state: the present state
 * @event: the event
 *
 * Context: Any context.
 * Return: the next state; @state if the event does not apply.
 */
enum rds_stream_state rds_stream_next(enum rds_stream_state state,
				      enum rds_stream_event event)
{
	u8 next = rds_stream_table[state][event];

	return next == STAYS ? state : next;
}
