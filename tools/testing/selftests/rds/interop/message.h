/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contents of a message: a head with its number in its flow and the like,
 * as far as it fits, and then bytes that depend on all of the head. The size
 * depends on flow and number only, so the receiver can compute it.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define MESSAGE_MAX (1024 * 1024)

/* A shorter message has only a part of its number. */
#define MESSAGE_NAMED 4

struct message {
	uint32_t seq;
	uint16_t flow;
	/* How often the sender has been started */
	uint16_t life;
	uint32_t len;
	uint32_t check;
};

/* @limit: no message is larger, at both ends */
void message_init(uint32_t limit);

/* @whole: at least as long as the head */
uint32_t message_size(unsigned int flow, uint32_t seq, bool whole);

/* Fill @msg, and set @iov to what is to be sent. */
void message_write(struct message *msg, struct iovec iov[2]);

/*
 * Check whether @len bytes are an undamaged message of @flow, and set @msg. A
 * message shorter than MESSAGE_NAMED is left to ledger_note_short().
 */
bool message_read(const void *bytes, uint32_t len, unsigned int flow,
		  bool whole, struct message *msg);

#endif /* MESSAGE_H */
