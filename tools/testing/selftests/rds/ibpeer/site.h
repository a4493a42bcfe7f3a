/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scene of the tests: sockets of the kernel under test, a peer with an
 * address that no peer has had before, and two honest ends, which the peer must
 * not disturb.
 */
#ifndef SITE_H
#define SITE_H

#include "peer.h"
#include "rds_test.h"

#define SITE_DEVICE "rdma0"
/* The socket that talks to the peer, and the two honest ends */
#define SITE_NEAR "10.9.0.1"
#define SITE_NEAR6 "fd09::1"
#define SITE_HONEST "10.9.0.2"
#define SITE_PORT 5000
#define SITE_HONEST_PORT 5001
/* Bytes of a message of site_send() */
#define SITE_LEN 100
/* The port of the peer, and its epoch if it has one */
#define SITE_PEER_PORT 6000
#define SITE_EPOCH 0x123456

struct site {
	int fd;
	int honest[2];
	char address[INET6_ADDRSTRLEN];
	struct rds_name name;
	struct peer peer;
	/* The listener, if the kernel is the end that connects */
	struct peer listener;
	/* The number of the peer's next message */
	uint64_t seq;
	/* How often paths were dropped before, as the kernel counts it */
	unsigned int drops;
};

/* Check whether the device is an iWARP device, according to $RDS_RDMA. */
bool site_is_iwarp(void);

/* Return a socket of the transport under test. */
int site_socket(const char *address, unsigned int port);

int site_set_up(struct site *site);
/* Set up IPv6 addresses, and a peer to which the kernel can connect: @listens,
 * or at which nothing listens.
 */
int site_set_up_listening(struct site *site, bool listens);
/* Set up a peer to which the kernel can connect, and that has the lower
 * address.
 */
int site_set_up_below(struct site *site);
void site_tear_down(struct site *site);

/* Connect with valid private data, and wait until the path is UP. */
enum peer_fate site_dial(struct site *site);
/* The same for a peer that runs our implementation, with these capabilities. */
enum peer_fate site_dial_ours(struct site *site, uint32_t capabilities,
			      uint32_t credits);
/* Exchange messages of several sizes between the honest ends, both ways. */
bool site_honest(struct site *site);
/* Check whether the kernel has a connection to the peer that is UP. */
bool site_is_up(struct site *site);
/* Wait until the kernel has one. */
bool site_await_up(struct site *site);
/* Return how often one to the peer was dropped: one that was up, or was dialed.
 */
unsigned int site_drops(struct site *site);
/* Wait until the kernel has none. */
bool site_await_none(struct site *site);
/*
 * Wait until the connection that site_dial() has made is dropped. (The kernel
 * may then connect to that address by itself: it is one of its own, too.)
 */
bool site_await_drop(struct site *site);

/* Accept the next request with valid private data; @ack messages have arrived.
 */
bool site_accept(struct site *site, uint64_t ack, bool no_buffers);

/* Send the peer that many messages, numbered from @first. */
bool site_send(struct site *site, unsigned int first, unsigned int count);
/* Receive the next frame of the kernel that is a message to the peer's port. */
bool site_hear(struct site *site, struct frame *frame, void *payload);
/* Check that exactly these messages arrive at the peer, in order. */
bool site_hear_all(struct site *site, unsigned int first, unsigned int count);

/* Send a whole valid message of the peer. */
bool site_say(struct site *site, const void *bytes, unsigned int len);
/* Check that the socket receives one of the peer's messages as it was sent. */
bool site_hears(struct site *site, const void *bytes, unsigned int len);
/* Send a message of the peer, and check that the socket receives it. */
bool site_talks(struct site *site, unsigned int len);

#endif /* SITE_H */
