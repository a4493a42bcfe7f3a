// SPDX-License-Identifier: GPL-2.0
/* One RDS peer: its connection, and the frames on it */
#define _GNU_SOURCE

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"
#include "rds_test.h"

#define IN_SIZE		65536
#define MAP_FRAME	(WIRE_HEADER + WIRE_MAP)
#define MSEC		1000000LL
#define SEC		1000000000LL

/* How long a peer waits before it dials again: at first, and at most */
#define REDIAL_MIN	(10 * MSEC)
#define REDIAL_MAX	(1000 * MSEC)

/* No port of a peer is ever congested. */
static unsigned char map_frame[MAP_FRAME];

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

int64_t peer_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

bool peer_is_lower(const struct peer *peer)
{
	return ntohl(peer->addr.s_addr) < ntohl(peer->host.s_addr);
}

void peer_message(unsigned char *message, const struct peer_stamp *stamp)
{
	memcpy(message, stamp, sizeof(*stamp));
	rds_fill(message + sizeof(*stamp), PEER_MESSAGE - sizeof(*stamp),
		 stamp->peer * 7919 + stamp->number);
}

/* Connections */

void peer_reset(int fd)
{
	struct linger linger = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

static void watch(struct peer *peer)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.u32 = peer->index,
	};

	if (epoll_ctl(peer->epoll, EPOLL_CTL_ADD, peer->fd, &event))
		die("epoll_ctl");
}

static void dial_later(struct peer *peer)
{
	peer->delay = peer->delay * 2 ? : REDIAL_MIN;
	if (peer->delay > REDIAL_MAX)
		peer->delay = REDIAL_MAX;
	peer->dial_at = peer_now() + random() % peer->delay + 1;
}

void peer_hang_up(struct peer *peer)
{
	if (peer->fd < 0)
		return;
	peer_reset(peer->fd);
	peer->fd = -1;
	peer->connecting = false;
	if (peer->up)
		tally_add(peer->tally, TALLY_UP, -1);
	peer->up = false;
}

static void lose(struct peer *peer)
{
	peer_hang_up(peer);
	if (peer_is_lower(peer) && peer->met)
		dial_later(peer);
}

static void flush(struct peer *peer)
{
	ssize_t ret = 0;

	while (peer->map_sent < MAP_FRAME) {
		ret = send(peer->fd, map_frame + peer->map_sent,
			   MAP_FRAME - peer->map_sent, MSG_NOSIGNAL);
		if (ret < 0)
			goto out;
		peer->map_sent += ret;
	}
	if (peer->out_len)
		ret = send(peer->fd, peer->out, peer->out_len, MSG_NOSIGNAL);
	if (ret < 0 || !peer->out_len)
		goto out;
	peer->out_len -= ret;
	memmove(peer->out, peer->out + ret, peer->out_len);
out:
	if (ret < 0 && errno != EAGAIN)
		lose(peer);
}

/* The connection is established: send the congestion map first. */
static void begin(struct peer *peer)
{
	struct wire_frame map = { .is_map = true, .len = WIRE_MAP };

	wire_header(map_frame, &map, 0);
	memset(&peer->in, 0, sizeof(peer->in));
	peer->map_sent = 0;
	peer->out_len = 0;
	peer->delay = 0;
	flush(peer);
}

void peer_dial(struct peer *peer)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_addr = peer->addr,
	};
	int one = 1;

	peer->dial_at = 0;
	peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  0);
	if (peer->fd < 0 ||
	    setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    bind(peer->fd, (struct sockaddr *)&name, sizeof(name)))
		die("a peer's socket");
	name.sin_addr = peer->host;
	name.sin_port = htons(WIRE_TCP_PORT);
	peer->connecting = true;
	if (connect(peer->fd, (struct sockaddr *)&name, sizeof(name)) &&
	    errno != EINPROGRESS)
		lose(peer);
	else
		watch(peer);
}

/* Return whether there is a connection to read from and write to. */
static bool dialed(struct peer *peer)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (!peer->connecting)
		return peer->fd >= 0;
	if (getsockopt(peer->fd, SOL_SOCKET, SO_ERROR, &error, &len) || error) {
		lose(peer);
		return false;
	}
	peer->connecting = false;
	begin(peer);
	return peer->fd >= 0;
}

/* Only the end with the lower address keeps a connection that it has dialed. */
void peer_take(struct peer *peer, int fd)
{
	peer->met = true;
	if (peer_is_lower(peer)) {
		peer_reset(fd);
		if (!peer->silent && peer->fd < 0 && !peer->dial_at)
			peer_dial(peer);
		return;
	}
	peer_hang_up(peer);
	peer->fd = fd;
	if (peer->silent)
		return;
	watch(peer);
	begin(peer);
}

/* Frames */

static void put(struct peer *peer, struct wire_frame *frame,
		unsigned int npaths, const void *payload)
{
	if (peer->out_len + WIRE_HEADER + frame->len > PEER_OUT) {
		tally_add(peer->tally, TALLY_WRONG, 1);
		return;
	}
	frame->sequence = ++peer->next_tx;
	wire_header(peer->out + peer->out_len, frame, npaths);
	peer->out_len += WIRE_HEADER;
	memcpy(peer->out + peer->out_len, payload, frame->len);
	peer->out_len += frame->len;
}

static void send_pong(struct peer *peer, const struct wire_frame *ping)
{
	struct wire_frame pong = { .dport = ping->sport };

	put(peer, &pong, ping->sport == WIRE_PORT_PROBE, "");
}

static void hear(struct peer *peer, const struct wire_frame *frame)
{
	struct peer_stamp stamp = {
		.peer = peer->index,
		.number = peer->heard,
	};
	struct wire_frame reply = {
		.len = sizeof(stamp),
		.sport = PEER_PORT,
		.dport = frame->sport,
	};
	unsigned char expected[PEER_MESSAGE];

	peer_message(expected, &stamp);
	if (frame->len != sizeof(expected) ||
	    memcmp(peer->in.payload, expected, sizeof(expected))) {
		tally_add(peer->tally, TALLY_WRONG, 1);
		return;
	}
	peer->heard++;
	tally_add(peer->tally, TALLY_HEARD, 1);
	put(peer, &reply, 0, &stamp);
}

/* A message that is sent again after a reset may have arrived before. */
static bool seen_before(struct peer *peer, const struct wire_frame *frame)
{
	if (frame->sequence < peer->next_rx && frame->retransmitted)
		return true;
	peer->next_rx = frame->sequence + 1;
	return false;
}

static void take_frame(struct peer *peer, const struct wire_frame *frame)
{
	if (!peer->up) {
		peer->up = true;
		tally_add(peer->tally, TALLY_UP, 1);
	}
	if (frame->is_map || seen_before(peer, frame))
		return;
	if (frame->dport == WIRE_PORT_PING)
		send_pong(peer, frame);
	else if (frame->dport == PEER_PORT)
		hear(peer, frame);
	else if (frame->sport != WIRE_PORT_PING)
		tally_add(peer->tally, TALLY_WRONG, 1);
}

static void take_bytes(struct peer *peer, const unsigned char *bytes,
		       size_t len)
{
	struct wire_frame frame;
	bool complete;
	size_t used;

	while (len) {
		used = wire_feed(&peer->in, bytes, len, &frame, &complete);
		bytes += used;
		len -= used;
		if (complete)
			take_frame(peer, &frame);
	}
}

void peer_serve(struct peer *peer)
{
	static unsigned char bytes[IN_SIZE];
	ssize_t got;

	if (!dialed(peer))
		return;
	while ((got = recv(peer->fd, bytes, sizeof(bytes), 0)) > 0)
		take_bytes(peer, bytes, got);
	if (!got || errno != EAGAIN)
		lose(peer);
	else
		flush(peer);
}

