// SPDX-License-Identifier: GPL-2.0
/*
 * A stream is tracked from socket() until it is connected, listens, or is a
 * socket of TCP. All descriptors of one stream share one record.
 *
 * close() is not intercepted: a child of vfork() would forget the descriptors
 * of its parent. Whether a record is still that of a descriptor is checked
 * whenever it is looked up.
 */
#include "../fds.h"
#include "../guard.h"
#include "track.h"

atomic_int tracks, tracks_connecting;

static struct guard guard = GUARD_INIT;
static struct track *list;
static struct fds fds;

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

bool track_owns(const struct track *track, int fd)
{
	return fds_entry(&fds, fd) == track && fds_inode(fd) == track->inode;
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
	struct track *track = fds.entry[fd];

	fds.entry[fd] = NULL;
	if (track)
		track_put(track);
}

/* Return NULL if @fd is not tracked. */
struct track *track_find(int fd)
{
	struct track *track = fds_entry(&fds, fd);

	if (!track || track_owns(track, fd))
		return track;
	clear(fd);
	return NULL;
}

/* Return NULL if there is no memory: the stream remains a stream. */
struct track *track_add(int fd, int family)
{
	struct track *track;

	if (!fds_reach(&fds, fd))
		return NULL;
	track = calloc(1, sizeof(*track));
	if (!track)
		return NULL;
	clear(fd);
	track->inode = fds_inode(fd);
	track->family = family;
	track->users = 1;
	track->next = list;
	list = track;
	fds.entry[fd] = track;
	atomic_fetch_add(&tracks, 1);
	return track;
}

/* @fd is one more descriptor of the same stream. */
void track_share(struct track *track, int fd)
{
	if (!fds_reach(&fds, fd) || fds.entry[fd] == track)
		return;
	clear(fd);
	track_hold(track);
	fds.entry[fd] = track;
}

/* The record is now that of another socket, which has the same descriptors. */
void track_refresh(struct track *track, int fd)
{
	track->inode = fds_inode(fd);
}

/* Return the next descriptor behind @after, which is -1 at first, or -1. */
int track_next(const struct track *track, int after)
{
	while (++after < fds.room)
		if (fds.entry[after] == track)
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
