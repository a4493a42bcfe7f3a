/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The action for each event of the connection manager in each state of a
 * connection, and the states that may follow a state, as tables.
 *
 * A connection is created to dial, or for a request of the peer. Its states
 * lead in one direction only: to UP, then to CLOSED. An event that is not in
 * the table is ignored: the connection manager may repeat events, or report
 * them late.
 */
#ifndef _RDS_IB_CM_TABLE_H
#define _RDS_IB_CM_TABLE_H

#include <linux/bits.h>
#include <linux/types.h>

/**
 * enum rds_ib_state - states of a connection
 * @RDS_IB_IDLE: nothing has been requested yet
 * @RDS_IB_RESOLVING: we dial: the address, then the route, is being resolved
 * @RDS_IB_DIALING: our REQ is on its way
 * @RDS_IB_OFFERED: the peer's REQ has arrived; we have not replied to it
 * @RDS_IB_ACCEPTING: our REP is on its way
 * @RDS_IB_UP: the connection is established
 * @RDS_IB_CLOSED: the connection has ended; this state is final
 * @RDS_IB_STATES: number of states
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
 * enum rds_ib_event - events of the connection manager for a connection
 * @RDS_IB_EV_ADDR: the address, and with it the device, is resolved
 * @RDS_IB_EV_ROUTE: the route is resolved
 * @RDS_IB_EV_ESTABLISHED: the connection is established
 * @RDS_IB_EV_FAILED: it cannot be established: no address, no route, or no
 *	reply
 * @RDS_IB_EV_REJECTED: the peer has refused
 * @RDS_IB_EV_DISCONNECTED: the peer has disconnected
 * @RDS_IB_EV_GONE: the device is being removed, or the address moves away
 * @RDS_IB_EVENTS: number of events
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
 * enum rds_ib_action - what to do on an event
 * @RDS_IB_DO_NOTHING: nothing
 * @RDS_IB_DO_ROUTE: resolve the route
 * @RDS_IB_DO_REQUEST: set up the QP, and send a REQ
 * @RDS_IB_DO_COME_UP: announce the connection to core
 * @RDS_IB_DO_FAIL: the attempt has failed: drop the path
 * @RDS_IB_DO_REFUSED: the peer has refused: drop the path
 * @RDS_IB_DO_LOSE: the connection is lost: drop the path
 * @RDS_IB_DO_ABANDON: the device or the address is lost: drop the path
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
 * rds_ib_cm_action() - Look up the action for an event
 * @state: the state of the connection
 * @event: the event of the connection manager
 *
 * Context: Any context.
 * Return: the action.
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

/**
 * rds_ib_state_follows() - Check whether a state may follow another one
 * @from: the state of the connection
 * @to: the state that is to follow
 *
 * A connection may end in any state, but only once.
 *
 * Context: Any context.
 * Return: true if it may; false otherwise, also if one of them is no state.
 */
static inline bool rds_ib_state_follows(enum rds_ib_state from,
					enum rds_ib_state to)
{
	static const u8 table[RDS_IB_STATES] = {
		[RDS_IB_IDLE]		= BIT(RDS_IB_RESOLVING) |
					  BIT(RDS_IB_OFFERED) |
					  BIT(RDS_IB_CLOSED),
		[RDS_IB_RESOLVING]	= BIT(RDS_IB_DIALING) |
					  BIT(RDS_IB_CLOSED),
		[RDS_IB_DIALING]	= BIT(RDS_IB_UP) | BIT(RDS_IB_CLOSED),
		[RDS_IB_OFFERED]	= BIT(RDS_IB_ACCEPTING) |
					  BIT(RDS_IB_CLOSED),
		[RDS_IB_ACCEPTING]	= BIT(RDS_IB_UP) | BIT(RDS_IB_CLOSED),
		[RDS_IB_UP]		= BIT(RDS_IB_CLOSED),
	};

	if ((unsigned int)from >= RDS_IB_STATES ||
	    (unsigned int)to >= RDS_IB_STATES)
		return false;
	return table[from] & BIT(to);
}

#endif /* _RDS_IB_CM_TABLE_H */
