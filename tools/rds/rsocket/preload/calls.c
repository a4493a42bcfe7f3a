// SPDX-License-Identifier: GPL-2.0
/* The calls for sockets and descriptors that this library intercepts */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "../family.h"
#include "../settings.h"
#include "../stream.h"
#include "config.h"
#include "real.h"
#include "replace.h"
#include "track.h"

/* How long SO_ERROR waits for TCP if the program has not waited */
static const struct timespec decision = { 5, 0 };

static bool nothing_tracked(void)
{
	return !atomic_load_explicit(&tracks, memory_order_relaxed);
}

static bool tracked(int fd)
{
	bool found;

	if (nothing_tracked())
		return false;
	track_lock();
	found = track_find(fd);
	track_unlock();
	return found;
}

static void end_tracking(int fd)
{
	struct track *track;
	int error = errno;

	track_lock();
	track = track_find(fd);
	if (track && track->phase != PHASE_REPLACING)
		track_end(track);
	track_unlock();
	errno = error;
}

int socket(int domain, int type, int protocol)
{
	int fd, error;

	if (!family_has_streams(domain, type, protocol) ||
	    !config_wants(domain))
		return real()->socket(domain, type, protocol);
	fd = real()->socket(AF_RDS, type, family_protocol(domain));
	if (fd < 0) {
		error = errno;
		if (config_strict())
			return -1;
		config_report(fd, "no streams on this host: TCP");
		errno = error;
		return real()->socket(domain, type, protocol);
	}
	settings_apply(fd);
	track_lock();
	track_add(fd, domain);
	track_unlock();
	return fd;
}

static bool has_names(const struct sockaddr *addr, socklen_t len)
{
	return addr && len >= sizeof(struct sockaddr_in) &&
	       len <= sizeof(struct sockaddr_storage) &&
	       (addr->sa_family == AF_INET || addr->sa_family == AF_INET6);
}

/* Both families have the port at the same place. */
static int port_of(const void *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/* Keep the name that was bound. */
static void keep_name(struct track *track, int fd)
{
	track->local_len = sizeof(track->local);
	if (!getsockname(fd, (struct sockaddr *)&track->local,
			 &track->local_len))
		track->bound = true;
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	int ret = real()->bind(fd, addr, len);
	struct track *track;

	if (ret || nothing_tracked() || !has_names(addr, len))
		return ret;
	track_lock();
	track = track_find(fd);
	if (track) {
		keep_name(track, fd);
		track->any_port = !port_of(addr);
	}
	track_unlock();
	return ret;
}

/* Options that tell something about a stream of another program's */
static const struct {
	int	level;
	int	name;
} inherited[] = {
	{ SOL_SOCKET, SO_REUSEADDR },
	{ SOL_SOCKET, SO_REUSEPORT },
	{ SOL_SOCKET, SO_KEEPALIVE },
	{ SOL_SOCKET, SO_LINGER },
	{ SOL_SOCKET, SO_RCVTIMEO },
	{ SOL_SOCKET, SO_SNDTIMEO },
	{ SOL_SOCKET, SO_PRIORITY },
	{ SOL_SOCKET, SO_OOBINLINE },
	{ IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_IP, IP_TOS },
	{ IPPROTO_IPV6, IPV6_TCLASS },
	{ IPPROTO_IPV6, IPV6_V6ONLY },
};

/*
 * A stream that a program finds when it starts, made before exec(): what it
 * needs is read from it.
 */
static void adopt(int fd)
{
	int family = family_of_stream(real()->getsockopt, fd);
	struct track *track;
	char value[64];
	socklen_t len;
	size_t i;

	if (family < 0 || !config_wants(family))
		return;
	track_lock();
	track = track_find(fd) ? NULL : track_add(fd, family);
	for (i = 0; track && i < sizeof(inherited) / sizeof(inherited[0]);
	     i++) {
		len = sizeof(value);
		if (!real()->getsockopt(fd, inherited[i].level,
					inherited[i].name, value, &len))
			track_option(track, inherited[i].level,
				     inherited[i].name, value, len);
	}
	if (track) {
		keep_name(track, fd);
		track->bound = track->bound && port_of(&track->local);
	}
	track_unlock();
}

/*
 * The connection to this peer is in progress from here on: another thread that
 * waits may learn of its end first.
 */
static void begin_connecting(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct track *track;

	track_lock();
	track = track_find(fd);
	if (track && track->phase == PHASE_NEW) {
		memcpy(&track->peer, addr, len);
		track->peer_len = len;
		track_phase(track, PHASE_CONNECTING);
	}
	track_unlock();
}

/* It has failed; the program may try again. */
static void failed_to_connect(int fd)
{
	struct track *track;
	int error = errno;

	track_lock();
	track = track_find(fd);
	if (track && track->phase == PHASE_CONNECTING)
		track_phase(track, PHASE_NEW);
	track_unlock();
	errno = error;
}

static int family_of(int fd)
{
	struct track *track;
	int family = AF_INET;

	track_lock();
	track = track_find(fd);
	if (track)
		family = track->family;
	track_unlock();
	return family;
}

static bool in_progress(int error)
{
	return error == EINPROGRESS || error == EINTR || error == EALREADY;
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int ret;

	if (!has_names(addr, len))
		return real()->connect(fd, addr, len);
	if (!tracked(fd))
		adopt(fd);
	if (!tracked(fd))
		return real()->connect(fd, addr, len);
	if (!config_wants_port(family_of(fd), port_of(addr)))
		return replace_connect(fd, addr, len, "another port: TCP");
	begin_connecting(fd, addr, len);
	ret = real()->connect(fd, addr, len);
	if (!ret || errno == EISCONN)
		end_tracking(fd);
	else if (in_progress(errno))
		return ret;
	else if (!config_strict() && replace_is_refused(fd))
		return replace_connect(fd, addr, len,
				       "the peer has no streams: TCP");
	else
		failed_to_connect(fd);
	return ret;
}

int listen(int fd, int backlog)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int ret;

	if (tracked(fd) && !getsockname(fd, (struct sockaddr *)&name, &len) &&
	    !config_wants_port(family_of(fd), port_of(&name)) &&
	    replace_only(fd, "another port: TCP"))
		return -1;
	ret = real()->listen(fd, backlog);
	if (!ret && !nothing_tracked())
		end_tracking(fd);
	return ret;
}

/*
 * The program asks how its connection ended. If it was refused, the answer is
 * that of TCP, which takes a while.
 */
static int get_error(int fd, int *error)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(*error);
	struct track *track;
	int ret;

	if (!config_strict() && replace_refused(fd))
		real()->ppoll(&pfd, 1, &decision, NULL);
	ret = real()->getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &len);
	track_lock();
	track = track_find(fd);
	if (track && track->phase == PHASE_FAILED) {
		*error = track->error;
		track_end(track);
	} else if (track && track->phase == PHASE_CONNECTING && *error) {
		track_phase(track, PHASE_NEW);
	}
	track_unlock();
	return ret;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (level == SOL_SOCKET && name == SO_ERROR && value && len &&
	    *len == sizeof(int) && tracked(fd))
		return get_error(fd, value);
	return family_getsockopt(real()->getsockopt, fd, level, name, value,
				 len);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int ret = real()->setsockopt(fd, level, name, value, len);
	struct track *track;

	if (ret || nothing_tracked())
		return ret;
	track_lock();
	track = track_find(fd);
	if (track)
		track_option(track, level, name, value, len);
	track_unlock();
	return ret;
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	int ret = real()->epoll_ctl(epfd, op, fd, event);
	struct track *track;

	if (ret || nothing_tracked())
		return ret;
	track_lock();
	track = track_find(fd);
	if (track)
		track_register(track, op, epfd, fd, event);
	track_unlock();
	return ret;
}

/* @copy is a duplicate of @fd, or -1. Return @copy. */
static int duplicated(int fd, int copy)
{
	struct track *track;

	if (copy < 0 || nothing_tracked())
		return copy;
	track_lock();
	track = track_find(fd);
	if (track)
		track_share(track, copy);
	track_unlock();
	return copy;
}

int dup(int fd)
{
	return duplicated(fd, real()->dup(fd));
}

int dup2(int fd, int to)
{
	return duplicated(fd, real()->dup2(fd, to));
}

int dup3(int fd, int to, int flags)
{
	return duplicated(fd, real()->dup3(fd, to, flags));
}

/* Every command has one argument or none, and an int fits into a pointer. */
int fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;
	int ret;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	ret = real()->fcntl(fd, command, arg);
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return duplicated(fd, ret);
	return ret;
}

/* The name of fcntl() for programs with large files */
int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));
