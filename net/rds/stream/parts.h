/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of struct rds_stream, by what they are for. */
#ifndef _RDS_STREAM_PARTS_H
#define _RDS_STREAM_PARTS_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/types.h>

struct rds_message;

/**
 * enum rds_stream_flag - bits of &rds_stream.st_flags
 * @RDS_STREAM_F_SERVER: this end has accepted the stream
 * @RDS_STREAM_F_LISTED: the stream is in the table of streams
 * @RDS_STREAM_F_WR_SHUT: this end sends no more bytes
 * @RDS_STREAM_F_RD_SHUT: this end reads no more
 * @RDS_STREAM_F_PEER_DONE: the peer sends no more bytes
 * @RDS_STREAM_F_PEER_DEAF: the peer reads no more
 * @RDS_STREAM_F_WAITS: the stream waits for accept()
 * @RDS_STREAM_F_CLOSED: the socket is closed; the stream only delivers what was
 *	written
 */
enum rds_stream_flag {
	RDS_STREAM_F_SERVER	= BIT(0),
	RDS_STREAM_F_LISTED	= BIT(1),
	RDS_STREAM_F_WR_SHUT	= BIT(2),
	RDS_STREAM_F_RD_SHUT	= BIT(3),
	RDS_STREAM_F_PEER_DONE	= BIT(4),
	RDS_STREAM_F_PEER_DEAF	= BIT(5),
	RDS_STREAM_F_CLOSED	= BIT(6),
	RDS_STREAM_F_WAITS	= BIT(7),
};

/**
 * enum rds_stream_timer - what the timer of a stream is for
 * @RDS_STREAM_T_CONNECT: connect() takes too long
 * @RDS_STREAM_T_AGAIN: ask a server again that was busy or has not answered, or
 *	look again whether the peer is known
 * @RDS_STREAM_T_OWED: send a frame for which there was no memory
 * @RDS_STREAM_T_KEEP: keepalive
 * @RDS_STREAM_T_USER: frames are not acknowledged, or no credit comes
 * @RDS_STREAM_T_CREDIT: a writer waits for credit
 * @RDS_STREAM_T_CORK: send bytes that more were to join
 * @RDS_STREAM_T_CLOSE: a closed stream does not get rid of what was written
 * @RDS_STREAM_TIMERS: number of timers
 */
enum rds_stream_timer {
	RDS_STREAM_T_CONNECT,
	RDS_STREAM_T_AGAIN,
	RDS_STREAM_T_OWED,
	RDS_STREAM_T_KEEP,
	RDS_STREAM_T_USER,
	RDS_STREAM_T_CREDIT,
	RDS_STREAM_T_CORK,
	RDS_STREAM_T_CLOSE,
	RDS_STREAM_TIMERS
};

/**
 * struct rds_stream_tx - the sending half
 * @tx_frames: frames that core has not finished with, by m_sock_item
 * @tx_bytes: bytes of payload in them
 * @tx_held: memory that they hold, in bytes
 * @tx_cost: credit that all bytes sent so far have cost
 * @tx_fwd: of that, what the peer has consumed, as it has announced
 * @tx_buf: credit that the peer gives beyond @tx_fwd
 * @tx_owed: bits by enum rds_frame_op: frames without payload to be sent
 * @tx_control: the frame without payload that is on its way, or NULL
 * @tx_closed: when the socket was closed, in jiffies
 * @tx_since: since when the oldest frame waits, or the last one was finished,
 *	in jiffies
 * @tx_corked: bytes submitted that are not sent until more have joined them
 * @tx_asked: how often credit was asked for since the peer gave some
 * @tx_starved: a task has found no credit to write, and the peer has given none
 *	since
 * @tx_starved_at: when it has, in jiffies
 */
struct rds_stream_tx {
	struct list_head	tx_frames;
	u32			tx_bytes;
	u32			tx_held;
	u32			tx_cost;
	u32			tx_fwd;
	u32			tx_buf;
	u32			tx_owed;
	u32			tx_corked;
	struct rds_message	*tx_control;
	unsigned long		tx_since;
	unsigned long		tx_closed;
	unsigned long		tx_starved_at;
	u8			tx_asked;
	bool			tx_starved;
};

/**
 * struct rds_stream_rx - the receiving half
 * @rx_queue: frames with payload that have not been read to the end, by i_item
 * @rx_offset: bytes that were read of the first one
 * @rx_bytes: bytes in the queue that have not been read
 * @rx_cost: credit that all bytes received so far have cost, in RW frames
 * @rx_fwd: of that, what was read
 * @rx_told: @rx_fwd as the peer was told last
 * @rx_given: credit beyond @rx_told that it was given then
 * @rx_limit: @rx_cost may not pass this: credit that the peer was ever given
 * @rx_at: when a frame arrived last, in jiffies
 * @rx_probes: keepalive probes since then
 * @rx_early: tasks that wait for less than SO_RCVLOWAT; changed under the
 *	socket lock
 */
struct rds_stream_rx {
	struct list_head	rx_queue;
	u32			rx_offset;
	u32			rx_bytes;
	u32			rx_cost;
	u32			rx_fwd;
	u32			rx_told;
	u32			rx_given;
	u32			rx_limit;
	unsigned long		rx_at;
	u8			rx_probes;
	unsigned int		rx_early;
};

/**
 * enum rds_stream_opt - options by which programs tune sockets of TCP and IP
 * @RDS_STREAM_KEEPIDLE: idle time before keepalive probes, in seconds
 * @RDS_STREAM_KEEPINTVL: time between two probes, in seconds
 * @RDS_STREAM_KEEPCNT: unanswered probes after which the stream ends
 * @RDS_STREAM_USERTIME: time that frames may be unacknowledged, and that a
 *	writer may be without credit, in ms; 0 for the default
 * @RDS_STREAM_V6ONLY: the socket does not take what is sent to IPv4 addresses
 * @RDS_STREAM_IOMAPS_OPT: how many mappings the peer may make
 * @RDS_STREAM_NODELAY: when it is set, what is corked is sent at once
 * @RDS_STREAM_CORK: all bytes are written as if more were to come
 * @RDS_STREAM_KEPT: the first of those that are kept without effect
 * @RDS_STREAM_NR_OPTS: number of options; see sockopt.c
 */
enum rds_stream_opt {
	RDS_STREAM_KEEPIDLE,
	RDS_STREAM_KEEPINTVL,
	RDS_STREAM_KEEPCNT,
	RDS_STREAM_USERTIME,
	RDS_STREAM_V6ONLY,
	RDS_STREAM_IOMAPS_OPT,
	RDS_STREAM_NODELAY,
	RDS_STREAM_CORK,
	RDS_STREAM_KEPT,
	RDS_STREAM_NR_OPTS = 25
};

#endif /* _RDS_STREAM_PARTS_H */
