/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer of the kernel's RDS, in user space: a queue pair that connects to the
 * kernel's listener, sends what a test gives it, and receives what arrives.
 *
 * Nothing waits longer than PEER_PATIENCE, in milliseconds. This is more than
 * the 20 seconds in which the watchdog of a connection detects a silent peer,
 * and less than the 30 seconds that the harness gives a test.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <rdma/rdma_cma.h>

#include "frame.h"

#define PEER_PATIENCE 25000

/* Buffers each way, and the size of one */
#define PEER_SLOTS 64
#define PEER_SLOT (2 * sizeof(struct frame) + FRAME_WIDEST)

enum peer_fate {
	PEER_UP,
	/* The kernel has rejected the request. */
	PEER_REFUSED,
	/* The kernel has accepted the request; the peer has not confirmed this.
	 */
	PEER_ACCEPTED,
	/* The kernel has not replied yet. */
	PEER_WAITS,
	/* The kernel has ended the connection before the event that it is up.
	 */
	PEER_ENDED,
	/* Any other outcome */
	PEER_FAILED,
};

struct peer {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *memory;
	/* Requests posted, and how many of them have completed */
	unsigned int sent;
	unsigned int done;
	/* It has no receive buffers. */
	bool no_buffers;
	/* The connection is over: an event or a failed request has shown it. */
	bool over;
	/* SENDs are solicited: stock RDS looks for no others */
	bool solicits;
	/* The private data of the kernel's reply or request */
	unsigned char private_data[256];
	unsigned int private_len;
	int reason;
};

/* How often packets are to be sent again, both ways, as peers that dial
 * announce
 */
extern unsigned int peer_retries;

/* Wait until the device has an address that its network device was given. */
bool peer_await_address(const char *address);

/*
 * Connect @local to @remote with this private data. @no_buffers: without any
 * receive buffer. @halfway: without the last step, for which the kernel waits.
 */
enum peer_fate peer_dial(struct peer *peer, const char *local,
			 const char *remote, const void *handshake,
			 unsigned int len, bool no_buffers, bool halfway);

/* Send the request, and do not wait for a reply. Return false if it cannot be
 * sent.
 */
bool peer_request(struct peer *peer, const char *local, const char *remote,
		  const void *handshake, unsigned int len, bool no_buffers,
		  bool halfway);

/* Return what has become of the request, after at most @ms milliseconds. */
enum peer_fate peer_await_reply(struct peer *peer, unsigned int ms);

/*
 * Wait for requests to @local, with a peer that does nothing else. @listens: it
 * listens; if not, requests are rejected because nothing listens there.
 */
bool peer_listen(struct peer *listener, const char *local, bool listens);

/* Take the next request, as a peer that has not replied yet:
 * @peer->private_data has its private data.
 */
bool peer_await_request(struct peer *listener, struct peer *peer);

/* The same, but wait for at most @ms milliseconds. */
bool peer_next_request(struct peer *listener, struct peer *peer,
		       unsigned int ms);

/* Accept the request, as peer_accept() does, but do not wait: what is sent now
 * may arrive before the kernel has read the reply.
 */
bool peer_reply(struct peer *peer, const void *handshake, unsigned int len,
		bool no_buffers, bool halfway);

/* Accept the request, with this private data. @halfway: receive nothing after
 * that.
 */
enum peer_fate peer_accept(struct peer *peer, const void *handshake,
			   unsigned int len, bool no_buffers, bool halfway);

/* Reject the request. */
bool peer_reject(struct peer *peer, const void *data, unsigned int len);

/* Check whether another request can be posted without waiting. */
bool peer_has_place(struct peer *peer);

/*
 * Post a SEND. Return false if it could not be posted, or an earlier one is
 * known to have failed.
 */
bool peer_send(struct peer *peer, const struct frame *frame,
	       const void *payload, unsigned int len);

/* The same without a header: @len bytes of @bytes */
bool peer_send_raw(struct peer *peer, const void *bytes, unsigned int len);

/* Post any request, with local memory of at least 4 KiB. */
bool peer_post(struct peer *peer, struct ibv_send_wr *wr, unsigned int len);

/*
 * Do an RDMA WRITE or READ of up to 4 KiB, and wait until it has completed.
 * Return false if it fails, which ends the connection.
 */
bool peer_rdma(struct peer *peer, enum ibv_wr_opcode opcode, uint32_t rkey,
	       uint64_t address, void *bytes, unsigned int len);

/*
 * Receive the next SEND of the kernel, with as much of the payload as it has.
 * Return the length of the payload, or -1 if nothing arrived in @ms
 * milliseconds or the connection is over.
 */
int peer_hear(struct peer *peer, struct frame *frame, void *payload,
	      unsigned int ms);

/* Wait until the connection is over. */
bool peer_await_end(struct peer *peer);

/* Disconnect. */
void peer_hang_up(struct peer *peer);

/* Send and receive nothing more; the kernel is not notified. */
void peer_vanish(struct peer *peer);

/* Free everything, in whatever state it is. */
void peer_free(struct peer *peer);

#endif /* PEER_H */
