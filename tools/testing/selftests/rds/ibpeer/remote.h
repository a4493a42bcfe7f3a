/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections of a peer, for programs that are not written in C. Built as a
 * library, libpeer.so; remote.py calls it. Nothing here waits for longer than
 * it is told.
 */
#ifndef REMOTE_H
#define REMOTE_H

#include "peer.h"

/*
 * Connect with this private data. Return NULL if no request could be sent;
 * otherwise a connection, which is up (*@up) or not.
 */
struct peer *remote_dial(const char *local, const char *remote,
			 const void *handshake, unsigned int len,
			 unsigned int ms, int *up);

/* Listen, for the kernel to connect. */
struct peer *remote_listen(const char *local);

/* Accept a request of the kernel if there is one within @ms milliseconds. */
struct peer *remote_accept(struct peer *listener, const void *handshake,
			   unsigned int len, unsigned int ms, int *up);

/* Post a SEND. Return 0 if that is not possible now. */
int remote_send(struct peer *peer, const void *bytes, unsigned int len);

/* Solicit all later SENDs. */
void remote_solicit(struct peer *peer);

/* Receive a SEND to @bytes, which has room for PEER_SLOT bytes. Return its
 * length, or -1 if there is none.
 */
int remote_hear(struct peer *peer, void *bytes, unsigned int ms);

/* Copy the beginning of the private data that the kernel has sent last. */
void remote_private(const struct peer *peer, void *bytes, unsigned int len);

void remote_hang_up(struct peer *peer);
void remote_vanish(struct peer *peer);
void remote_free(struct peer *peer);

#endif /* REMOTE_H */
