// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "meeting.h"

static const char *path(const char *dir, char who, unsigned int life,
			const char *what, const char *suffix)
{
	static char text[2][PATH_MAX];
	static unsigned int turn;

	turn = !turn;
	snprintf(text[turn], PATH_MAX, "%s/%c.%u.%s%s", dir, who, life, what,
		 suffix);
	return text[turn];
}

FILE *meeting_write(const struct meeting *meeting, const char *what)
{
	const char *name = path(meeting->dir, meeting->me, meeting->my_life,
				what, ".new");
	FILE *file = fopen(name, "w");

	if (!file)
		err(1, "%s", name);
	return file;
}

void meeting_publish(const struct meeting *meeting, const char *what,
		     FILE *file)
{
	if (fclose(file) ||
	    rename(path(meeting->dir, meeting->me, meeting->my_life, what,
			".new"),
		   path(meeting->dir, meeting->me, meeting->my_life, what,
			"")))
		err(1, "%s", what);
}

void meeting_say(const struct meeting *meeting, const char *what)
{
	meeting_publish(meeting, what, meeting_write(meeting, what));
}

bool meeting_said(const struct meeting *meeting, const char *what)
{
	return !access(path(meeting->dir, meeting->peer, meeting->peer_life,
			    what, ""), F_OK);
}

bool meeting_told(const struct meeting *meeting, const char *what)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/%s", meeting->dir, what);
	return !access(name, F_OK);
}

FILE *meeting_read(const struct meeting *meeting, const char *what)
{
	return fopen(path(meeting->dir, meeting->peer, meeting->peer_life,
			  what, ""), "r");
}
