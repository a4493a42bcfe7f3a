/* SPDX-License-Identifier: GPL-2.0 */
/* A socket of TCP in place of a stream */
#ifndef RDS_PRELOAD_REPLACE_H
#define RDS_PRELOAD_REPLACE_H

#include <stdbool.h>
#include <sys/socket.h>

bool replace_is_refused(int fd);
int replace_connect(int fd, const struct sockaddr *addr, socklen_t len,
		    const char *why);
int replace_only(int fd, const char *why);
bool replace_refused(int fd);

#endif /* RDS_PRELOAD_REPLACE_H */
