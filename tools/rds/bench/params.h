/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parameters of a run. The client chooses them and sends them to the
 * server.
 */
#ifndef RDS_BENCH_PARAMS_H
#define RDS_BENCH_PARAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define MAX_SOCKETS	256
#define MAX_MESSAGE	(1U << 20)
#define NAME_SIZE	16
#define PARAMS_TEXT	512

/* When a receiver runs after a message has woken it */
enum receiver {
	RECEIVER_ANY,		/* when the scheduler decides */
	RECEIVER_EAGER,		/* at once, before the sender continues */
	RECEIVER_LAZY,		/* when the sender has to wait */
};

struct params {
	char		workload[NAME_SIZE];
	char		family[NAME_SIZE];
	uint32_t	size;		/* bytes in one message */
	uint32_t	sockets;	/* on each side */
	uint64_t	count;		/* messages in total; 0: by duration */
	uint64_t	warmup;		/* messages before the clock starts */
	double		duration;	/* seconds */
	uint32_t	window;		/* stream: messages in flight */
	uint32_t	batch;		/* stream: messages for one credit */
	uint32_t	buffer;		/* SO_SNDBUF and SO_RCVBUF */
	uint32_t	verify;		/* check sequence and checksum */
	uint32_t	seed;		/* mix: seed of the schedule */
	uint32_t	receiver;	/* stream: enum receiver */
	uint32_t	ports;		/* RDS: the first port; 0: any */
	double		timeout;	/* seconds without progress */
};

/*
 * Convert to one line of text, without a newline, and back. params_parse()
 * returns false if @text is malformed.
 */
void params_format(const struct params *params, char text[PARAMS_TEXT]);
bool params_parse(struct params *params, const char *text);

/* Return NULL, or the reason why these parameters cannot be run. */
const char *params_fault(const struct params *params);

#endif
