/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer of the kernel's RDS, in user space: a queue pair that connects to the
 * kernel's listener, says what it is told to, and hears what comes.
 *
 * Nothing waits for longer than PEER_PATIENCE, in milliseconds. It is more than
 * the 20 seconds in which the watchdog of a connection notices a silent peer,
 * and less than the 30 that the harness gives a test.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <rdma/rdma_cma.h>

#include "frame.h"

#define PEER_PATIENCE 25000

/* Buffers each way, and what one can hold */
#define PEER_SLOTS 64
#define PEER_SLOT (sizeof(struct frame) + 2 * FRAME_PAYLOAD)

enum peer_fate {
	PEER_UP,
	/* The kernel said no. */
	PEER_REFUSED,
	/* The kernel has answered; it has not been told that we heard it. */
	PEER_ANSWERED,
	/* The kernel has said nothing yet. */
	PEER_WAITS,
	/* The kernel has ended it, which was told before that it was up. */
	PEER_ENDED,
	/* Anything else */
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
	/* Requests made, and how many of them have been completed */
	unsigned int sent;
	unsigned int done;
	/* Without receive buffers */
	bool deaf;
	/* The connection is over: as an event, or as a failed request, says */
	bool over;
	/* What came with the kernel's answer */
	unsigned char answer[256];
	unsigned int answer_len;
	int reason;
};

/* How often packets are to be sent again, both ways, as peers that dial say */
extern unsigned int peer_retries;

/* Waits until the device has an address that its network device was given. */
bool peer_await_address(const char *address);

/*
 * Connects @local to @remote with this private data. @deaf: without any receive
 * buffer. @halfway: without the last step, which the kernel waits for.
 */
enum peer_fate peer_dial(struct peer *peer, const char *local,
			 const char *remote, const void *hello,
			 unsigned int len, bool deaf, bool halfway);

/* Asks, and does not wait for an answer. False if it cannot even ask. */
bool peer_ask(struct peer *peer, const char *local, const char *remote,
	      const void *hello, unsigned int len, bool deaf, bool halfway);

/* What has become of that, if it does in so many milliseconds */
enum peer_fate peer_await_answer(struct peer *peer, unsigned int ms);

/*
 * Waits for requests to @local, with a peer that does nothing but that. @calls:
 * it is known to others. If not, they are told that nobody is there.
 */
bool peer_listen(struct peer *ear, const char *local, bool calls);

/* The next request, as a peer that has not answered yet: @peer->answer has what
 * it says.
 */
bool peer_asked(struct peer *ear, struct peer *peer);

/* Says yes, with this private data. @halfway: and hears nothing of it. */
enum peer_fate peer_accept(struct peer *peer, const void *hello,
			   unsigned int len, bool deaf, bool halfway);

/* Says no. */
bool peer_reject(struct peer *peer, const void *data, unsigned int len);

/*
 * A SEND. False if it could not be made, or an earlier one is known to have
 * failed.
 */
bool peer_send(struct peer *peer, const struct frame *frame,
	       const void *payload, unsigned int len);

/* The same without a header: @len bytes of @bytes */
bool peer_send_raw(struct peer *peer, const void *bytes, unsigned int len);

/* Any request, with local memory of at least 4 KiB */
bool peer_post(struct peer *peer, struct ibv_send_wr *wr, unsigned int len);

/*
 * An RDMA WRITE or READ of up to 4 KiB, and waits until it is done. False if it
 * fails, which ends the connection.
 */
bool peer_rdma(struct peer *peer, enum ibv_wr_opcode opcode, uint32_t rkey,
	       uint64_t address, void *bytes, unsigned int len);

/*
 * The next SEND of the kernel's, with as much of the payload as there is.
 * Returns the length of that, or -1 if nothing came in @ms milliseconds or the
 * connection is over.
 */
int peer_hear(struct peer *peer, struct frame *frame, void *payload,
	      unsigned int ms);

/* Waits until the connection is over. */
bool peer_await_end(struct peer *peer);

/* Says good-bye. */
void peer_hang_up(struct peer *peer);

/* Not a word more, and nothing is heard; the kernel is not told. */
void peer_vanish(struct peer *peer);

/* Frees it all, in whatever state it is. */
void peer_free(struct peer *peer);

#endif /* PEER_H */
