/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a message contains: its number in its stream and the like, as far as
 * there is room, and then bytes that depend on all of that. Its size depends
 * on stream and number only, so that the receiver knows it too.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define MESSAGE_MAX (1024 * 1024)

/* Shorter ones have only a part of their number */
#define MESSAGE_NAMED 4

struct message {
	uint32_t seq;
	uint16_t stream;
	/* How often the sender has been started */
	uint16_t life;
	uint32_t len;
	uint32_t check;
};

/* @limit: what none is larger than, at both ends */
void message_init(uint32_t limit);

/* @whole: not too short for all of the above */
uint32_t message_size(unsigned int stream, uint32_t seq, bool whole);

/* Fills @msg, and @iov with what to send. */
void message_write(struct message *msg, struct iovec iov[2]);

/*
 * Whether @len bytes are a message of @stream, undamaged. Sets @msg. Those that
 * are not even MESSAGE_NAMED are for ledger_note_short() to judge.
 */
bool message_read(const void *bytes, uint32_t len, unsigned int stream,
		  bool whole, struct message *msg);

#endif /* MESSAGE_H */
