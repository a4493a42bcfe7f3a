/* SPDX-License-Identifier: GPL-2.0 */
/* Open RDS sockets on any kernel that supports RDS. */
#ifndef RDS_TOOLS_SOCK_H
#define RDS_TOOLS_SOCK_H

/* The numbers of the protocol family and the option level in this kernel */
int rds_family(void);
int rds_level(void);

/* Open an RDS socket. Returns -1 with errno set on failure. */
int rds_socket(int flags);

/* Return the message to print if rds_socket() fails with @error. */
const char *rds_socket_hint(int error);

#endif
