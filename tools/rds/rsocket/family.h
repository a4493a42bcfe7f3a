/* SPDX-License-Identifier: GPL-2.0 */
/* Streams of RDS in place of TCP: what a program is told about its socket */
#ifndef RDS_RSOCKET_FAMILY_H
#define RDS_RSOCKET_FAMILY_H

#include <stdbool.h>
#include <sys/socket.h>

typedef int (*getsockopt_fn)(int fd, int level, int name, void *value,
			     socklen_t *len);

/* The bits of a socket's type that are flags */
#define SOCKET_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

int family_of_stream(getsockopt_fn get, int fd);
bool family_has_streams(int domain, int type, int protocol);
int family_protocol(int domain);
int family_getsockopt(getsockopt_fn get, int fd, int level, int name,
		      void *value, socklen_t *len);

#endif /* RDS_RSOCKET_FAMILY_H */
