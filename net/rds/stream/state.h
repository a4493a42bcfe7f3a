/* SPDX-License-Identifier: GPL-2.0-only */
/* The states of a stream. */
#ifndef _RDS_STREAM_STATE_H
#define _RDS_STREAM_STATE_H

/**
 * enum rds_stream_state - the states of a stream
 * @RDS_STREAM_IDLE: neither connected nor listening
 * @RDS_STREAM_LISTEN: it accepts others
 * @RDS_STREAM_ASKING: connect() waits until the peer is known, or asks a server
 *	that was busy again in a while
 * @RDS_STREAM_REQUESTED: connect() has sent a REQUEST
 * @RDS_STREAM_OPEN: bytes may flow
 * @RDS_STREAM_ENDED: over for good
 * @RDS_STREAM_STATES: number of states
 */
enum rds_stream_state {
	RDS_STREAM_IDLE,
	RDS_STREAM_LISTEN,
	RDS_STREAM_ASKING,
	RDS_STREAM_REQUESTED,
	RDS_STREAM_OPEN,
	RDS_STREAM_ENDED,
	RDS_STREAM_STATES
};

/**
 * enum rds_stream_event - what changes the state of a stream
 * @RDS_STREAM_EV_LISTEN: listen()
 * @RDS_STREAM_EV_CONNECT: connect()
 * @RDS_STREAM_EV_KNOWN: the peer knows streams
 * @RDS_STREAM_EV_AGAIN: the REQUEST was lost, or the peer has restarted
 * @RDS_STREAM_EV_RESPONSE: the server has accepted the stream
 * @RDS_STREAM_EV_ACCEPT: this end accepts a new stream
 * @RDS_STREAM_EV_FAIL: it ends, and may be connected again if it was connecting
 * @RDS_STREAM_EV_CLOSE: close(), or all is done
 * @RDS_STREAM_EV_DISCONNECT: connect() to no address
 * @RDS_STREAM_EVENTS: number of events
 */
enum rds_stream_event {
	RDS_STREAM_EV_LISTEN,
	RDS_STREAM_EV_CONNECT,
	RDS_STREAM_EV_KNOWN,
	RDS_STREAM_EV_AGAIN,
	RDS_STREAM_EV_RESPONSE,
	RDS_STREAM_EV_ACCEPT,
	RDS_STREAM_EV_FAIL,
	RDS_STREAM_EV_CLOSE,
	RDS_STREAM_EV_DISCONNECT,
	RDS_STREAM_EVENTS
};

/**
 * rds_stream_is_connecting() - Check whether a stream waits for its server
 * @state: its state
 *
 * Context: Any context.
 * Return: true if connect() goes on.
 */
static inline bool rds_stream_is_connecting(enum rds_stream_state state)
{
	return state == RDS_STREAM_ASKING || state == RDS_STREAM_REQUESTED;
}

enum rds_stream_state rds_stream_next(enum rds_stream_state state,
				      enum rds_stream_event event);

#endif /* _RDS_STREAM_STATE_H */
