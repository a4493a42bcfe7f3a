/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file with what one end has sent and received, message by message, for a
 * referee on another machine. It is written at short intervals, so that little
 * is missing if this end dies.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

enum journal_kind {
	JOURNAL_SENT = 'S',
	JOURNAL_RECEIVED = 'R',
	/* The end of the peer's life was noted: @seq messages were sent. */
	JOURNAL_NOTED = 'N',
	/* The peer's next life was first received from. */
	JOURNAL_RETURNED = 'H',
};

/* In the byte order of the machine; see journal.py */
struct journal_entry {
	/* Nanoseconds of CLOCK_MONOTONIC */
	uint64_t time;
	uint64_t hash;
	uint32_t seq;
	uint32_t len;
	/* The number of the direction, and the life of the sender */
	uint16_t flow;
	uint16_t life;
	uint8_t kind;
	uint8_t pad[3];
};

/* Without this call, the other functions do nothing. */
void journal_open(const char *dir, char me, unsigned int life);

bool journal_is_open(void);

/* A journal_entry whose hash is that of the message @bytes, or 0 without one */
void journal_note(struct journal_entry entry, const void *bytes);

void journal_flush(void);

#endif /* JOURNAL_H */
