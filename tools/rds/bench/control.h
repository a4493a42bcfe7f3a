/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control channel: a TCP connection on which both sides tell each other,
 * line by line, what comes next. Whoever waits for a line that does not come
 * ends the process with a message.
 */
#ifndef RDS_BENCH_CONTROL_H
#define RDS_BENCH_CONTROL_H

#include <stdio.h>

#include "addr.h"

struct control {
	int	fd;
	FILE	*lines;
};

/* Both return a listening or connected socket, or end the process. */
int control_listen(const union addr *local);
int control_dial(const union addr *server);

void control_open(struct control *control, int fd);
void control_close(struct control *control);

/* How long control_expect() waits; 0: for ever */
void control_set_timeout(struct control *control, double seconds);

void control_send(struct control *control, const char *word,
		  const char *rest);

/*
 * Wait for the line that begins with @word and return the rest of it, for
 * the caller to free.
 */
char *control_expect(struct control *control, const char *word);

#endif
