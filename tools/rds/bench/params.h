/* SPDX-License-Identifier: GPL-2.0 */
/* What to run: chosen by the client, told to the server. */
#ifndef RDS_BENCH_PARAMS_H
#define RDS_BENCH_PARAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define MAX_SOCKETS	256
#define MAX_MESSAGE	(1U << 20)
#define NAME_SIZE	16
#define PARAMS_TEXT	512

/* When does a receiver run that a message has woken? */
enum receiver {
	RECEIVER_ANY,		/* as the scheduler likes */
	RECEIVER_EAGER,		/* at once, before the sender goes on */
	RECEIVER_LAZY,		/* when the sender has to wait */
};

struct params {
	char		workload[NAME_SIZE];
	char		family[NAME_SIZE];
	uint32_t	size;		/* bytes in one message */
	uint32_t	sockets;	/* on each side */
	uint64_t	count;		/* messages in all, 0: by duration */
	uint64_t	warmup;		/* messages before the clock starts */
	double		duration;	/* seconds */
	uint32_t	window;		/* stream: messages in flight */
	uint32_t	batch;		/* stream: messages for one credit */
	uint32_t	buffer;		/* SO_SNDBUF and SO_RCVBUF */
	uint32_t	verify;		/* sequence and checksum */
	uint32_t	seed;		/* mix: which schedule */
	uint32_t	receiver;	/* stream: enum receiver */
	uint32_t	ports;		/* RDS: the first one, 0: any */
	double		timeout;	/* seconds without progress */
};

/* One line of text, without line end, and back; false if it makes no sense. */
void params_format(const struct params *params, char text[PARAMS_TEXT]);
bool params_parse(struct params *params, const char *text);

/* NULL, or why these cannot be run. */
const char *params_fault(const struct params *params);

#endif
