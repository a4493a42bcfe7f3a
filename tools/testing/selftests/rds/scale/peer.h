/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One RDS peer. It has one connection to the host and replies to the messages
 * that arrive at PEER_PORT; it knows the contents that each of them must have.
 * The end with the lower address dials: a peer that has it resets a connection
 * of the host and dials one of its own.
 */
#ifndef SCALE_PEER_H
#define SCALE_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally.h"
#include "wire.h"

#define PEER_PORT	5000
#define PEER_MESSAGE	64
#define PEER_OUT	1024

/* The head of a message and of its reply; the rest of a message follows from it
 */
struct peer_stamp {
	uint32_t peer;
	uint32_t number;	/* counts the messages to that peer, from 0 */
};

/* Fill in a message of PEER_MESSAGE bytes. */
void peer_message(unsigned char *message, const struct peer_stamp *stamp);

struct peer {
	uint32_t index;
	struct in_addr addr;
	struct in_addr host;	/* the host under test */
	bool silent;		/* accepts connections and does nothing more */
	int epoll;		/* watches its connection, as @index */
	struct tally *tally;

	int fd;			/* -1: no connection */
	bool met;		/* the host has tried to connect */
	bool connecting;
	bool up;
	int64_t dial_at;	/* nanoseconds; 0: not to be dialed */
	int64_t delay;
	uint64_t next_rx;
	uint64_t next_tx;
	uint32_t heard;
	size_t map_sent;
	size_t out_len;
	unsigned char out[PEER_OUT];
	struct wire_stream in;
};

bool peer_is_lower(const struct peer *peer);

void peer_dial(struct peer *peer);
void peer_take(struct peer *peer, int fd);

/* Process the events of its connection. */
void peer_serve(struct peer *peer);

/* Reset its connection, if any, and make no other one. */
void peer_hang_up(struct peer *peer);

/* Reset a connection, whatever its owner. */
void peer_reset(int fd);

int64_t peer_now(void);

#endif
