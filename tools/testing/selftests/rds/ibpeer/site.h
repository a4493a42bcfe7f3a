/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the tests take place: sockets of the kernel under test, a peer with an
 * address that nobody has had before, and next to them two honest ends, which
 * nothing that the peer does may disturb.
 */
#ifndef SITE_H
#define SITE_H

#include "peer.h"
#include "rds_test.h"

#define SITE_DEVICE "rdma0"
/* The socket that is talked to, and the two honest ends */
#define SITE_NEAR "10.9.0.1"
#define SITE_NEAR6 "fd09::1"
#define SITE_HONEST "10.9.0.2"
#define SITE_PORT 5000
#define SITE_HONEST_PORT 5001
/* Bytes of what site_send() sends */
#define SITE_LEN 100
/* The peer's */
#define SITE_PEER_PORT 6000

struct site {
	int fd;
	int honest[2];
	char address[INET6_ADDRSTRLEN];
	struct rds_name name;
	struct peer peer;
	/* What waits for the kernel's requests, if it is asked to connect */
	struct peer ear;
	/* Of messages that the peer sends */
	uint64_t seq;
	/* Dropped paths before, as the kernel counts them */
	unsigned int drops;
};

/* The device is one of iWARP, as $RDS_RDMA says. */
bool site_is_iwarp(void);

/* A socket of the transport under test */
int site_socket(const char *address, unsigned int port);

int site_set_up(struct site *site);
/* With IPv6 addresses, and a peer that the kernel can connect to: @calls, or
 * finds nobody at.
 */
int site_set_up_listening(struct site *site, bool calls);
/* With a peer that it can connect to, and that has the lower address */
int site_set_up_below(struct site *site);
void site_tear_down(struct site *site);

/* With private data that nobody can object to; waits until it is UP */
enum peer_fate site_dial(struct site *site);
/* Messages of several sizes between the honest ends, both ways */
bool site_honest(struct site *site);
/* Whether the kernel has a connection to the peer that is UP */
bool site_is_up(struct site *site);
/* Waits until it has one. */
bool site_await_up(struct site *site);
/* How often one to the peer was dropped: one that was there, or was dialed */
unsigned int site_drops(struct site *site);
/* Waits until it has none. */
bool site_await_none(struct site *site);
/*
 * Waits until the connection that site_dial() has made is dropped. (The kernel
 * may connect to that address by itself then: it is one of its own, too.)
 */
bool site_await_drop(struct site *site);

/* The next request is answered as it should be; @ack messages are there. */
bool site_answer(struct site *site, uint64_t ack, bool deaf);

/* Sends the peer that many messages, numbered from @first. */
bool site_send(struct site *site, unsigned int first, unsigned int count);
/* The next frame of the kernel's that is a message to the peer's port */
bool site_hear(struct site *site, struct frame *frame, void *payload);
/* Whether just these come to the peer, in order, and no others after them */
bool site_hear_all(struct site *site, unsigned int first, unsigned int count);

/* A whole message of the peer's, as it should be */
bool site_say(struct site *site, const void *bytes, unsigned int len);
/* Whether one of the peer's messages comes out of the socket as it was sent */
bool site_hears(struct site *site, const void *bytes, unsigned int len);
/* Whether a message that the peer sends now does */
bool site_talks(struct site *site, unsigned int len);

#endif /* SITE_H */
