/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of struct rds_tcp_path that send, receive and shut down */
#ifndef _RDS_TCP_PATH_PARTS_H
#define _RDS_TCP_PATH_PARTS_H

#include <linux/uio.h>
#include <net/rds/wire.h>

#include "frame.h"

struct rds_message;
struct rds_tcp_incoming;

/* Messages in a batch, at most */
#define RDS_TCP_BATCH		16

/**
 * struct rds_tcp_batch - small messages that are sent together
 * @b_nr: number of messages
 * @b_bytes: bytes of all headers and payloads
 * @b_sent: how many of those bytes TCP has taken
 * @b_vec: header and payload of each message
 * @b_hdr: the headers
 * @b_msg: the messages; the batch holds a reference to each
 */
struct rds_tcp_batch {
	unsigned int		b_nr;
	u32			b_bytes;
	u32			b_sent;
	struct kvec		b_vec[2 * RDS_TCP_BATCH];
	struct rds_header	b_hdr[RDS_TCP_BATCH];
	struct rds_message	*b_msg[RDS_TCP_BATCH];
};

/**
 * struct rds_tcp_path_tx - what a path sends
 * @tt_una: position in the stream up to which core has received acks
 * @tt_kick: xmit() waits for room in the send buffer
 * @tt_map_pending: the peer has not yet acknowledged our last congestion map
 * @tt_map_mark: position in the stream where that map ends
 * @tt_seq: position in the stream where the data that core has passed to us
 *	ends; guarded by the path's transmit lock, as are the next three
 * @tt_corked: the last data was passed to TCP with MSG_MORE
 * @tt_off: bytes of a large message, or of a congestion map, that TCP has
 *	taken; 0 between messages
 * @tt_batch: small messages that are batched
 *
 * The TCP socket lock guards the fields, except where noted.
 */
struct rds_tcp_path_tx {
	u32			tt_una;
	bool			tt_kick;
	bool			tt_map_pending;
	u32			tt_map_mark;

	u32			tt_seq;
	bool			tt_corked;
	u32			tt_off;
	struct rds_tcp_batch	tt_batch;
};

/**
 * struct rds_tcp_path_rx - what a path receives
 * @tr_draining: the receiver ignores requests of core to stop
 * @tr_stopped: the receiver waits for rx_resume()
 * @tr_paused: rds_tcp_rx_pause has been traced, and rds_tcp_rx_resume has not
 * @tr_broken: the rest of the received stream is unusable
 * @tr_acks_asked: the peer has set RDS_FLAG_ACK_REQUIRED on this connection, so
 *	it sets the flag whenever it waits for an ack
 * @tr_quiet: packets read since TCP was last allowed to acknowledge at once
 * @tr_frame: position in the received stream
 * @tr_inc: message being received, or NULL
 * @tr_partial_seen: bytes last counted for the message being received, or 0
 * @tr_map: congestion map being received, or NULL
 *
 * The TCP socket lock guards all fields.
 */
struct rds_tcp_path_rx {
	bool			tr_draining;
	bool			tr_stopped;
	bool			tr_paused;
	bool			tr_broken;
	bool			tr_acks_asked;
	u8			tr_quiet;
	struct rds_tcp_frame	tr_frame;
	struct rds_tcp_incoming	*tr_inc;
	u32			tr_partial_seen;
	u8			*tr_map;
};

/**
 * struct rds_tcp_path_end - an orderly shutdown of a path
 * @te_all_acked: the peer has acknowledged all data that TCP was given; the
 *	next ack is that of our FIN
 * @te_ending: an orderly shutdown is in progress
 * @te_at: deadline for the peer's acks and FIN, in jiffies
 *
 * The TCP socket lock guards all fields.
 */
struct rds_tcp_path_end {
	bool			te_all_acked;
	bool			te_ending;
	unsigned long		te_at;
};

#endif /* _RDS_TCP_PATH_PARTS_H */
