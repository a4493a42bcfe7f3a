// SPDX-License-Identifier: GPL-2.0
/*
 * A stream is tracked from socket() until it is connected, listens, or is a
 * socket of TCP. All descriptors of one stream share one record.
 *
 * close() is not intercepted: a child of vfork() would forget the descriptors
 * of its parent. A record is that of a descriptor as long as the inode is the
 * same, which is checked whenever it is looked up.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../guard.h"
#include "track.h"

atomic_int tracks, tracks_connecting;

static struct guard guard = GUARD_INIT;
static struct track *list;
static struct track **table;
static int room;

void track_lock(void)
{
	guard_lock(&guard);
}

void track_unlock(void)
{
	guard_unlock(&guard);
}

/* A child has the table as it is between two changes. */
__attribute__((constructor))
static void protect_fork(void)
{
	pthread_atfork(track_lock, track_unlock, track_unlock);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISSOCK(st.st_mode) ? 0 : st.st_ino;
}

bool track_owns(const struct track *track, int fd)
{
	return fd < room && table[fd] == track && inode_of(fd) == track->inode;
}

static void free_track(struct track *track)
{
	struct registration *registration;
	struct track **at = &list;
	struct option *option;

	while (*at != track)
		at = &(*at)->next;
	*at = track->next;
	while ((option = track->options)) {
		track->options = option->next;
		free(option);
	}
	while ((registration = track->registrations)) {
		track->registrations = registration->next;
		free(registration);
	}
	track_phase(track, PHASE_NEW);
	atomic_fetch_sub(&tracks, 1);
	free(track);
}

void track_hold(struct track *track)
{
	track->users++;
}

void track_put(struct track *track)
{
	if (!--track->users)
		free_track(track);
}

static void clear(int fd)
{
	struct track *track = table[fd];

	table[fd] = NULL;
	if (track)
		track_put(track);
}

/* Return NULL if @fd is not tracked. */
struct track *track_find(int fd)
{
	if (fd < 0 || fd >= room || !table[fd])
		return NULL;
	if (track_owns(table[fd], fd))
		return table[fd];
	clear(fd);
	return NULL;
}

static bool make_room(int fd)
{
	int wanted = room ? room : 64;
	struct track **larger;

	if (fd < room)
		return true;
	while (wanted <= fd)
		wanted *= 2;
	larger = realloc(table, wanted * sizeof(*table));
	if (!larger)
		return false;
	memset(larger + room, 0, (wanted - room) * sizeof(*table));
	table = larger;
	room = wanted;
	return true;
}

/* Return NULL if there is no memory: the stream remains a stream. */
struct track *track_add(int fd, int family)
{
	struct track *track = make_room(fd) ? calloc(1, sizeof(*track)) : NULL;

	if (!track)
		return NULL;
	clear(fd);
	track->inode = inode_of(fd);
	track->family = family;
	track->users = 1;
	track->next = list;
	list = track;
	table[fd] = track;
	atomic_fetch_add(&tracks, 1);
	return track;
}

/* @fd is one more descriptor of the same stream. */
void track_share(struct track *track, int fd)
{
	if (!make_room(fd) || table[fd] == track)
		return;
	clear(fd);
	track_hold(track);
	table[fd] = track;
}

/* The record is now that of another socket, which has the same descriptors. */
void track_refresh(struct track *track, int fd)
{
	track->inode = inode_of(fd);
}

/* Return the next descriptor behind @after, which is -1 at first, or -1. */
int track_next(const struct track *track, int after)
{
	while (++after < room)
		if (table[after] == track)
			return after;
	return -1;
}

/* No descriptor is tracked any more. */
void track_end(struct track *track)
{
	int fd = -1;

	track_hold(track);
	while (track->users > 1 && (fd = track_next(track, fd)) >= 0)
		clear(fd);
	track_put(track);
}

void track_phase(struct track *track, enum phase phase)
{
	if (track->phase == PHASE_CONNECTING)
		atomic_fetch_sub(&tracks_connecting, 1);
	if (phase == PHASE_CONNECTING)
		atomic_fetch_add(&tracks_connecting, 1);
	track->phase = phase;
}

/* The options are kept in the order in which they were set. */
void track_option(struct track *track, int level, int name, const void *value,
		  socklen_t len)
{
	struct option **end, *option = malloc(sizeof(*option) + len);

	if (!option)
		return;
	option->next = NULL;
	option->level = level;
	option->name = name;
	option->len = len;
	memcpy(option->value, value, len);
	for (end = &track->options; *end; end = &(*end)->next)
		;
	*end = option;
}

void track_register(struct track *track, int op, int epfd, int fd,
		    const struct epoll_event *event)
{
	struct registration **at = &track->registrations, *found;

	while (*at && ((*at)->epfd != epfd || (*at)->fd != fd))
		at = &(*at)->next;
	found = *at;
	if (op == EPOLL_CTL_DEL) {
		if (found) {
			*at = found->next;
			free(found);
		}
		return;
	}
	if (!found) {
		found = calloc(1, sizeof(*found));
		if (!found)
			return;
		found->epfd = epfd;
		found->fd = fd;
		*at = found;
	}
	found->event = *event;
}

/*
 * Return a descriptor that is connecting and that may have caused @event: the
 * first, or the one behind @skip others. Return -1 if there is none.
 */
int track_by_event(int epfd, const struct epoll_event *event, int skip)
{
	const struct registration *at;
	const struct track *track;

	for (track = list; track; track = track->next) {
		if (track->phase != PHASE_CONNECTING)
			continue;
		for (at = track->registrations; at; at = at->next)
			if (at->epfd == epfd &&
			    at->event.data.u64 == event->data.u64 && !skip--)
				return at->fd;
	}
	return -1;
}
