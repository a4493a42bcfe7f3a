/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A socket that sends one stream of messages to its peer and receives another
 * from it; and groups of those, between the same two addresses.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"
#include "lent.h"
#include "rds_test.h"

#define STREAM_PORT 10000
#define STREAM_SOCKETS 16
#define STREAM_GROUPS 16
/* How often one end may be started in one run */
#define STREAM_LIVES 2

struct group;

struct stream {
	struct group *group;
	int fd;
	struct rds_name peer;
	/* What it is called in messages, with the direction */
	unsigned int out;
	unsigned int in;
	unsigned int life;
	bool whole;
	/* Every other message is sent from memory that is lent. */
	bool lends;
	struct lent lent;

	/*
	 * How many it is to send, has sent, had sent when the peer was known
	 * to be no more, and when it was heard again
	 */
	uint32_t total;
	uint32_t sent;
	uint32_t queued;
	uint32_t stale;
	/* A full send buffer, and until when it waits for a congested peer */
	bool full;
	uint64_t congested;
	unsigned int errors;
	int error;

	/* By the life of the sender */
	struct ledger ledger[STREAM_LIVES];
	unsigned int corrupt;
	uint64_t bytes;
	/* What the peer says about what it has sent: as above */
	uint32_t peer_sent;
	uint32_t peer_queued;
	uint32_t peer_stale;
};

struct group {
	char *name;
	char *local;
	char *remote;
	char *starter;
	/* When the first message of each of the peer's lives came */
	uint64_t heard[STREAM_LIVES];
	unsigned int count;
	struct stream *stream;
};

/* @transport: one of RDS_TRANS_*, NONE for whichever has the address */
void stream_open(struct stream *stream, unsigned int port, int transport);

/* Sends the next message. False if it is not taken at the moment. */
bool stream_send(struct stream *stream, uint64_t now);

/* Receives all that has come, and returns how many messages that were. */
unsigned int stream_receive(struct stream *stream, uint64_t now);

#endif /* STREAM_H */
