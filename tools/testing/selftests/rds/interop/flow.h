/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A socket that sends one flow of messages to its peer and receives another
 * from it; and groups of such sockets between the same two addresses
 */
#ifndef FLOW_H
#define FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"
#include "lent.h"
#include "rds_test.h"

#define FLOW_PORT 10000
#define FLOW_SOCKETS 16
#define FLOW_GROUPS 16
/* The maximum number of starts of one end in one run */
#define FLOW_LIVES 2

struct group;

struct flow {
	struct group *group;
	int fd;
	struct rds_name peer;
	/* The numbers of the two directions in messages */
	unsigned int out;
	unsigned int in;
	unsigned int life;
	bool whole;
	/* Every other message is sent from memory that is lent. */
	bool lends;
	struct lent lent;

	/*
	 * Messages: to be sent; sent; sent when the end of the peer's life was
	 * noted; sent when its next life was first received from
	 */
	uint32_t total;
	uint32_t sent;
	uint32_t queued;
	uint32_t stale;
	/* The send buffer is full; no sends before this time, because the port
	 * is congested
	 */
	bool full;
	uint64_t congested;
	unsigned int errors;
	int error;

	/* By the life of the sender */
	struct ledger ledger[FLOW_LIVES];
	unsigned int corrupt;
	uint64_t bytes;
	/* The peer's own figures of what it has sent, as above */
	uint32_t peer_sent;
	uint32_t peer_queued;
	uint32_t peer_stale;
};

struct group {
	char *name;
	char *local;
	char *remote;
	char *starter;
	/* When the first message of each life of the peer arrived */
	uint64_t heard[FLOW_LIVES];
	unsigned int count;
	struct flow *flow;
};

/* @transport: one of RDS_TRANS_*, or NONE for the one that has the address */
void flow_open(struct flow *flow, unsigned int port, int transport);

/* Send the next message. Return false if the socket does not take it now. */
bool flow_send(struct flow *flow, uint64_t now);

/* Receive all that has arrived, and return the number of messages. */
unsigned int flow_receive(struct flow *flow, uint64_t now);

#endif /* FLOW_H */
