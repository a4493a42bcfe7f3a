/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control channel is a TCP connection on which client and server exchange
 * lines of text. The lines order the steps of a run. If an expected line does
 * not arrive, the process that waits for it exits with an error message.
 */
#ifndef RDS_BENCH_CONTROL_H
#define RDS_BENCH_CONTROL_H

#include <stdio.h>

#include "addr.h"

struct control {
	int	fd;
	FILE	*lines;
};

/* Return a listening or a connected socket. Exit the process on failure. */
int control_listen(const union addr *local);
int control_dial(const union addr *server);

void control_open(struct control *control, int fd);
void control_close(struct control *control);

/* Set how long control_expect() waits. 0 means without a time limit. */
void control_set_timeout(struct control *control, double seconds);

void control_send(struct control *control, const char *word,
		  const char *rest);

/*
 * Wait for the line that begins with @word. Returns the rest of the line, which
 * the caller frees.
 */
char *control_expect(struct control *control, const char *word);

#endif
