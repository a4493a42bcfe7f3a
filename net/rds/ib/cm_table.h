/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each event of the connection manager does in each state of a
 * connection, as a table.
 *
 * A connection is made to dial, or by a request of the peer's, and goes one
 * way: to UP, then to CLOSED. Whatever the table does not have is ignored: the
 * connection manager may repeat itself, or be late.
 */
#ifndef _RDS_IB_CM_TABLE_H
#define _RDS_IB_CM_TABLE_H

#include <linux/types.h>

/**
 * enum rds_ib_state - states of a connection
 * @RDS_IB_IDLE: nothing has been asked for
 * @RDS_IB_RESOLVING: dialing; the address, then the route are looked for
 * @RDS_IB_DIALING: our REQ is on its way
 * @RDS_IB_OFFERED: the peer's REQ is here; nobody has answered it
 * @RDS_IB_ACCEPTING: our REP is on its way
 * @RDS_IB_UP: established
 * @RDS_IB_CLOSED: over; nothing changes that
 * @RDS_IB_STATES: how many there are
 */
enum rds_ib_state {
	RDS_IB_IDLE,
	RDS_IB_RESOLVING,
	RDS_IB_DIALING,
	RDS_IB_OFFERED,
	RDS_IB_ACCEPTING,
	RDS_IB_UP,
	RDS_IB_CLOSED,
	RDS_IB_STATES
};

/**
 * enum rds_ib_event - what the connection manager tells of a connection
 * @RDS_IB_EV_ADDR: the address is resolved, and with it the device
 * @RDS_IB_EV_ROUTE: the route is resolved
 * @RDS_IB_EV_ESTABLISHED: it is established
 * @RDS_IB_EV_FAILED: it will not come about: no address, route, or answer
 * @RDS_IB_EV_REJECTED: the peer has refused
 * @RDS_IB_EV_DISCONNECTED: the peer has disconnected
 * @RDS_IB_EV_GONE: the device, or the address, goes
 * @RDS_IB_EVENTS: how many there are
 */
enum rds_ib_event {
	RDS_IB_EV_ADDR,
	RDS_IB_EV_ROUTE,
	RDS_IB_EV_ESTABLISHED,
	RDS_IB_EV_FAILED,
	RDS_IB_EV_REJECTED,
	RDS_IB_EV_DISCONNECTED,
	RDS_IB_EV_GONE,
	RDS_IB_EVENTS
};

/**
 * enum rds_ib_action - what is to be done
 * @RDS_IB_DO_NOTHING: nothing
 * @RDS_IB_DO_ROUTE: look for a route
 * @RDS_IB_DO_REQUEST: set the queue pair up and send a REQ
 * @RDS_IB_DO_COME_UP: announce it to core
 * @RDS_IB_DO_FAIL: it has failed; drop the path
 * @RDS_IB_DO_REFUSED: likewise, for the peer said so
 * @RDS_IB_DO_LOSE: it is lost; drop the path
 * @RDS_IB_DO_ABANDON: the same with the device, or the address
 */
enum rds_ib_action {
	RDS_IB_DO_NOTHING,
	RDS_IB_DO_ROUTE,
	RDS_IB_DO_REQUEST,
	RDS_IB_DO_COME_UP,
	RDS_IB_DO_FAIL,
	RDS_IB_DO_REFUSED,
	RDS_IB_DO_LOSE,
	RDS_IB_DO_ABANDON,
};

/**
 * rds_ib_cm_action() - look an event up
 * @state: the state that the connection is in
 * @event: what the connection manager tells
 *
 * Context: any.
 * Return: what is to be done.
 */
static inline enum rds_ib_action rds_ib_cm_action(enum rds_ib_state state,
						  enum rds_ib_event event)
{
	static const u8 table[RDS_IB_STATES][RDS_IB_EVENTS] = {
		[RDS_IB_RESOLVING] = {
			[RDS_IB_EV_ADDR]	 = RDS_IB_DO_ROUTE,
			[RDS_IB_EV_ROUTE]	 = RDS_IB_DO_REQUEST,
			[RDS_IB_EV_FAILED]	 = RDS_IB_DO_FAIL,
			[RDS_IB_EV_GONE]	 = RDS_IB_DO_ABANDON,
		},
		[RDS_IB_DIALING] = {
			[RDS_IB_EV_ESTABLISHED]	 = RDS_IB_DO_COME_UP,
			[RDS_IB_EV_FAILED]	 = RDS_IB_DO_FAIL,
			[RDS_IB_EV_REJECTED]	 = RDS_IB_DO_REFUSED,
			[RDS_IB_EV_DISCONNECTED] = RDS_IB_DO_FAIL,
			[RDS_IB_EV_GONE]	 = RDS_IB_DO_ABANDON,
		},
		[RDS_IB_OFFERED] = {
			[RDS_IB_EV_FAILED]	 = RDS_IB_DO_FAIL,
			[RDS_IB_EV_REJECTED]	 = RDS_IB_DO_REFUSED,
			[RDS_IB_EV_DISCONNECTED] = RDS_IB_DO_FAIL,
			[RDS_IB_EV_GONE]	 = RDS_IB_DO_ABANDON,
		},
		[RDS_IB_ACCEPTING] = {
			[RDS_IB_EV_ESTABLISHED]	 = RDS_IB_DO_COME_UP,
			[RDS_IB_EV_FAILED]	 = RDS_IB_DO_FAIL,
			[RDS_IB_EV_REJECTED]	 = RDS_IB_DO_REFUSED,
			[RDS_IB_EV_DISCONNECTED] = RDS_IB_DO_FAIL,
			[RDS_IB_EV_GONE]	 = RDS_IB_DO_ABANDON,
		},
		[RDS_IB_UP] = {
			[RDS_IB_EV_FAILED]	 = RDS_IB_DO_LOSE,
			[RDS_IB_EV_DISCONNECTED] = RDS_IB_DO_LOSE,
			[RDS_IB_EV_GONE]	 = RDS_IB_DO_ABANDON,
		},
	};

	if ((unsigned int)state >= RDS_IB_STATES ||
	    (unsigned int)event >= RDS_IB_EVENTS)
		return RDS_IB_DO_NOTHING;
	return table[state][event];
}

#endif /* _RDS_IB_CM_TABLE_H */
