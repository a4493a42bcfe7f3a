// SPDX-License-Identifier: GPL-2.0
/*
 * Make a socket of TCP and put it in place of a stream, in every descriptor:
 * with the options that the program set, the name that it bound, the flags of
 * the descriptor, and its registrations for epoll.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <netinet/in.h>

#include "../stream.h"
#include "config.h"
#include "real.h"
#include "replace.h"
#include "track.h"

/*
 * Report whether the peer has no streams; a closed port is another matter. If
 * another thread has found out first, it is a socket of TCP by now.
 */
bool replace_is_refused(int fd)
{
	int error = errno, reason = RDS_STREAM_NOT_REFUSED, ret;
	socklen_t len = sizeof(reason);

	ret = real()->getsockopt(fd, SOL_RDS, RDS_STREAM_REFUSED, &reason,
				 &len);
	errno = error;
	return ret || reason == RDS_STREAM_NO_RDS ||
	       reason == RDS_STREAM_NO_STREAMS;
}

/*
 * Bind the socket @tcp as the program bound the stream. The port that the
 * kernel chose for the stream may be in use by TCP: then another is chosen.
 */
static int bind_again(const struct track *track, int tcp)
{
	struct sockaddr_storage name = track->local;
	struct sockaddr *addr = (struct sockaddr *)&name;

	_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
		       offsetof(struct sockaddr_in6, sin6_port), "port");
	if (!track->bound || !real()->bind(tcp, addr, track->local_len))
		return 0;
	if (errno != EADDRINUSE || !track->any_port)
		return -1;
	((struct sockaddr_in *)addr)->sin_port = 0;
	return real()->bind(tcp, addr, track->local_len);
}

/* Return a socket of TCP that is like the stream @fd, or -1. */
static int make_tcp(const struct track *track, int fd)
{
	int mode = real()->fcntl(fd, F_GETFL), tcp, error;
	const struct option *option;

	tcp = real()->socket(track->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (tcp < 0)
		return -1;
	for (option = track->options; option; option = option->next)
		real()->setsockopt(tcp, option->level, option->name,
				   option->value, option->len);
	if (!bind_again(track, tcp) && !real()->fcntl(tcp, F_SETFL, mode))
		return tcp;
	error = errno;
	real()->close(tcp);
	errno = error;
	return -1;
}

/* A descriptor that the program closed is not registered again. */
static void unregister(const struct track *track)
{
	const struct registration *at;

	for (at = track->registrations; at; at = at->next)
		if (track_owns(track, at->fd))
			real()->epoll_ctl(at->epfd, EPOLL_CTL_DEL, at->fd,
					  NULL);
}

static void register_again(const struct track *track, int fd)
{
	const struct registration *at;
	struct epoll_event event;

	for (at = track->registrations; at; at = at->next) {
		if (at->fd != fd)
			continue;
		event = at->event;
		real()->epoll_ctl(at->epfd, EPOLL_CTL_ADD, fd, &event);
	}
}

/* Put @tcp in place of the stream, in all its descriptors. */
static void put_in_place(const struct track *track, int tcp)
{
	int fd = -1, flags;

	while ((fd = track_next(track, fd)) >= 0) {
		if (!track_owns(track, fd))
			continue;
		flags = real()->fcntl(fd, F_GETFD);
		while (real()->dup3(tcp, fd, flags & FD_CLOEXEC ?
				    O_CLOEXEC : 0) < 0 &&
		       (errno == EBUSY || errno == EINTR))
			;
		register_again(track, fd);
	}
}

/* The lock is held. Return the record of @fd if this call shall replace it. */
static struct track *claim(int fd)
{
	struct track *track = track_find(fd);

	if (!track || track->phase == PHASE_REPLACING ||
	    track->phase == PHASE_FAILED)
		return NULL;
	track_phase(track, PHASE_REPLACING);
	track_hold(track);
	return track;
}

/*
 * The lock is held, and is released while connect() may wait. Return what the
 * program's connect() returns; without @addr nothing is connected.
 */
static int replace(struct track *track, int fd, const struct sockaddr *addr,
		   socklen_t len)
{
	int tcp = make_tcp(track, fd), ret = 0, error = 0;

	if (tcp < 0) {
		track_phase(track, PHASE_NEW);
		return -1;
	}
	unregister(track);
	if (addr) {
		track_unlock();
		ret = real()->connect(tcp, addr, len);
		error = errno;
		track_lock();
	}
	put_in_place(track, tcp);
	real()->close(tcp);
	errno = error;
	return ret;
}

/*
 * Connect by TCP what was a stream. Return what connect() returns. If another
 * thread has done so, the connection is in progress or complete.
 */
int replace_connect(int fd, const struct sockaddr *addr, socklen_t len,
		    const char *why)
{
	struct track *track;
	int ret, error;

	track_lock();
	track = claim(fd);
	if (!track) {
		track_unlock();
		ret = real()->connect(fd, addr, len);
		if (ret && errno == EALREADY)
			errno = EINPROGRESS;
		return ret && errno == EISCONN ? 0 : ret;
	}
	ret = replace(track, fd, addr, len);
	error = errno;
	if (track->phase == PHASE_REPLACING)
		track_end(track);
	track_put(track);
	track_unlock();
	config_report(fd, why);
	errno = error;
	return ret;
}

/* Make a socket of TCP of it. Return -1, and set errno, on failure. */
int replace_only(int fd, const char *why)
{
	struct track *track;
	int ret = 0, error;

	track_lock();
	track = claim(fd);
	if (track) {
		ret = replace(track, fd, NULL, 0);
		error = errno;
		if (!ret)
			track_end(track);
		track_put(track);
		errno = error;
	}
	track_unlock();
	if (!ret)
		config_report(fd, why);
	return ret;
}

/*
 * TCP failed at once: SO_ERROR tells it later. The record is that of the socket
 * of TCP from here on.
 */
static void failed(struct track *track, int fd, int error)
{
	track_phase(track, PHASE_FAILED);
	track->error = error;
	track_refresh(track, fd);
}

/* The lock is held. Let TCP continue what was refused. */
static void continue_by_tcp(int fd)
{
	struct sockaddr_storage name;
	struct track *track = claim(fd);
	socklen_t len;

	name = track->peer;
	len = track->peer_len;
	if (!replace(track, fd, (struct sockaddr *)&name, len) ||
	    errno == EINPROGRESS)
		track_end(track);
	else
		failed(track, fd, errno);
	track_put(track);
}

/*
 * Report whether the connection that was in progress has been refused, and is
 * now in progress by TCP instead.
 */
bool replace_refused(int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	struct track *track;
	bool refused = false;
	int error = errno;

	track_lock();
	track = track_find(fd);
	if (track && track->phase == PHASE_CONNECTING) {
		refused = replace_is_refused(fd);
		if (refused)
			continue_by_tcp(fd);
		else if (!getpeername(fd, (struct sockaddr *)&name, &len))
			track_end(track);
	}
	track_unlock();
	if (refused)
		config_report(fd, "the peer has no streams: TCP");
	errno = error;
	return refused;
}
