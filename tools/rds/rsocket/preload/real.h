/* SPDX-License-Identifier: GPL-2.0 */
/* The calls behind those that this library intercepts */
#ifndef RDS_PRELOAD_REAL_H
#define RDS_PRELOAD_REAL_H

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

struct real {
	int (*socket)(int domain, int type, int protocol);
	int (*listen)(int fd, int backlog);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*getsockopt)(int fd, int level, int name, void *value,
			  socklen_t *len);
	int (*setsockopt)(int fd, int level, int name, const void *value,
			  socklen_t len);
	int (*close)(int fd);
	int (*dup)(int fd);
	int (*dup2)(int fd, int to);
	int (*dup3)(int fd, int to, int flags);
	int (*fcntl)(int fd, int command, ...);
	int (*epoll_ctl)(int epfd, int op, int fd, struct epoll_event *event);
	int (*epoll_pwait)(int epfd, struct epoll_event *events, int most,
			   int timeout, const sigset_t *mask);
	int (*ppoll)(struct pollfd *fds, nfds_t count,
		     const struct timespec *timeout, const sigset_t *mask);
	int (*pselect)(int count, fd_set *in, fd_set *out, fd_set *except,
		       const struct timespec *timeout, const sigset_t *mask);
};

const struct real *real(void);

#endif /* RDS_PRELOAD_REAL_H */
