/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two ends report their progress to each other by files in a directory.
 * Both see it by another way than the network under test.
 */
#ifndef MEETING_H
#define MEETING_H

#include <stdbool.h>
#include <stdio.h>

struct meeting {
	const char *dir;
	/* The name of each end, and how often it has been started */
	char me;
	unsigned int my_life;
	char peer;
	unsigned int peer_life;
};

/* Write a file that becomes visible as a whole. */
FILE *meeting_write(const struct meeting *meeting, const char *what);
void meeting_publish(const struct meeting *meeting, const char *what,
		     FILE *file);
void meeting_say(const struct meeting *meeting, const char *what);

/* Check whether the peer has written it. */
bool meeting_said(const struct meeting *meeting, const char *what);
/* Check whether a third party has written it for both ends. */
bool meeting_told(const struct meeting *meeting, const char *what);

FILE *meeting_read(const struct meeting *meeting, const char *what);

#endif /* MEETING_H */
