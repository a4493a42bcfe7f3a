/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two ends tell each other how far they are by files in a directory that
 * both see by another way than the network under test.
 */
#ifndef MEETING_H
#define MEETING_H

#include <stdbool.h>
#include <stdio.h>

struct meeting {
	const char *dir;
	/* Each end's name and how often it has been started */
	char me;
	unsigned int my_life;
	char peer;
	unsigned int peer_life;
};

/* What an end says: a file that becomes visible as a whole */
FILE *meeting_write(const struct meeting *meeting, const char *what);
void meeting_publish(const struct meeting *meeting, const char *what,
		     FILE *file);
void meeting_say(const struct meeting *meeting, const char *what);

/* Whether the peer has said it */
bool meeting_said(const struct meeting *meeting, const char *what);
/* Whether somebody else has told both of it */
bool meeting_told(const struct meeting *meeting, const char *what);

FILE *meeting_read(const struct meeting *meeting, const char *what);

#endif /* MEETING_H */
