/* SPDX-License-Identifier: GPL-2.0 */
/* Opening RDS sockets on any kernel that has them. */
#ifndef RDS_TOOLS_SOCK_H
#define RDS_TOOLS_SOCK_H

/* The protocol family and the option level, as the running kernel has them. */
int rds_family(void);
int rds_level(void);

/* A new RDS socket, or -1 with errno. */
int rds_socket(int flags);

/* What to tell somebody whose rds_socket() failed with @error. */
const char *rds_socket_hint(int error);

#endif
