// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "remote.h"

struct peer *remote_dial(const char *local, const char *remote,
			 const void *handshake, unsigned int len,
			 unsigned int ms, int *up)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	*up = 0;
	if (!peer)
		return NULL;
	if (!peer_request(peer, local, remote, handshake, len, false, false)) {
		remote_free(peer);
		return NULL;
	}
	*up = peer_await_reply(peer, ms) == PEER_UP;
	return peer;
}

struct peer *remote_listen(const char *local)
{
	struct peer *listener = calloc(1, sizeof(*listener));

	if (listener && peer_listen(listener, local, true))
		return listener;
	if (listener)
		remote_free(listener);
	return NULL;
}

struct peer *remote_accept(struct peer *listener, const void *handshake,
			   unsigned int len, unsigned int ms, int *up)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	*up = 0;
	if (!peer)
		return NULL;
	if (!peer_next_request(listener, peer, ms) ||
	    !peer_reply(peer, handshake, len, false, false)) {
		remote_free(peer);
		return NULL;
	}
	*up = peer_await_reply(peer, ms) == PEER_UP;
	return peer;
}

int remote_send(struct peer *peer, const void *bytes, unsigned int len)
{
	return len <= PEER_SLOT && peer_has_place(peer) &&
	       peer_send_raw(peer, bytes, len);
}

void remote_solicit(struct peer *peer)
{
	peer->solicits = true;
}

int remote_hear(struct peer *peer, void *bytes, unsigned int ms)
{
	struct frame *frame = bytes;
	int len;

	len = peer_hear(peer, frame, frame + 1, ms);
	return len < 0 ? -1 : (int)sizeof(*frame) + len;
}

void remote_private(const struct peer *peer, void *bytes, unsigned int len)
{
	if (len > sizeof(peer->private_data))
		len = sizeof(peer->private_data);
	memcpy(bytes, peer->private_data, len);
}

void remote_hang_up(struct peer *peer)
{
	peer_hang_up(peer);
}

void remote_vanish(struct peer *peer)
{
	peer_vanish(peer);
}

void remote_free(struct peer *peer)
{
	peer_free(peer);
	free(peer);
}
