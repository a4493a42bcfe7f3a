// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "paths.h"
#include "site.h"

bool site_is_iwarp(void)
{
	const char *kind = getenv("RDS_RDMA");

	return kind && !strcmp(kind, "siw");
}

int site_socket(const char *address, unsigned int port)
{
	int fd = rds_socket();

	if (fd < 0 || rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB) ||
	    rds_bind(fd, rds_name(address, port)))
		return -1;
	return fd;
}

static int open_sockets(struct site *site, const char *near)
{
	*site = (struct site){ .seq = 1 };
	site->fd = site_socket(near, SITE_PORT);
	site->honest[0] = site_socket(SITE_NEAR, SITE_HONEST_PORT);
	site->honest[1] = site_socket(SITE_HONEST, SITE_HONEST_PORT);
	return site->fd < 0 || site->honest[0] < 0 || site->honest[1] < 0 ?
	       -1 : 0;
}

/* Each test is a process of its own, with an address of its own. */
int site_set_up(struct site *site)
{
	unsigned int number = getpid();

	if (open_sockets(site, SITE_NEAR))
		return -1;
	snprintf(site->address, sizeof(site->address), "10.9.%u.%u",
		 1 + number / 250 % 250, 1 + number % 250);
	site->name = rds_name(site->address, SITE_PEER_PORT);
	if (rds_address_on(SITE_DEVICE, site->address, 32) ||
	    !peer_await_address(site->address))
		return -1;
	return 0;
}

/*
 * The kernel listens on its own addresses, and this becomes one of them: but a
 * little later, so that the peer is usually first.
 */
static int set_up_listening(struct site *site, const char *net, bool listens)
{
	unsigned int try;

	if (open_sockets(site, SITE_NEAR6))
		return -1;
	for (try = 0; try < 20; try++) {
		snprintf(site->address, sizeof(site->address), "%s::%x:%x", net,
			 try + 1, getpid());
		if (rds_address_on(SITE_DEVICE, site->address, 128))
			return -1;
		if (peer_listen(&site->listener, site->address, listens)) {
			site->name = rds_name(site->address, SITE_PEER_PORT);
			return 0;
		}
		peer_free(&site->listener);
	}
	return -1;
}

int site_set_up_listening(struct site *site, bool listens)
{
	return set_up_listening(site, "fd09", listens);
}

int site_set_up_below(struct site *site)
{
	return set_up_listening(site, "fd08", true);
}

void site_tear_down(struct site *site)
{
	peer_free(&site->peer);
	peer_free(&site->listener);
	close(site->fd);
	close(site->honest[0]);
	close(site->honest[1]);
}

static bool passes(int from, int to, unsigned int len)
{
	static unsigned char out[FRAME_MAX_MSG], in[FRAME_MAX_MSG + 1];
	struct rds_name name = rds_sockname(to);

	rds_fill(out, len, len);
	return rds_sendto(from, out, len, 0, &name) == (ssize_t)len &&
	       rds_recv(to, in, sizeof(in)) == (ssize_t)len &&
	       rds_check(in, len, len);
}

bool site_honest(struct site *site)
{
	static const unsigned int lens[] = { 0, 64, 5000, 70000 };
	unsigned int i;

	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		if (!passes(site->honest[0], site->honest[1], lens[i]) ||
		    !passes(site->honest[1], site->honest[0], lens[i]))
			return false;
	return true;
}

/* Find the path to the peer, if the kernel has one. */
static bool find_path(struct site *site, struct rds6_info_path *found)
{
	struct in6_addr remote = rds_addr6(&site->name);
	struct rds6_info_path *path;
	bool is_there = false;
	unsigned int i, nr;

	path = rds_paths(site->fd, &nr);
	for (i = 0; !is_there && i < nr; i++) {
		is_there = !memcmp(&remote, &path[i].faddr, sizeof(remote));
		if (is_there)
			*found = path[i];
	}
	free(path);
	return is_there;
}

bool site_is_up(struct site *site)
{
	struct rds6_info_path path;

	return find_path(site, &path) && path.state == PATH_UP;
}

unsigned int site_drops(struct site *site)
{
	struct rds6_info_path path;

	return find_path(site, &path) ? path.resets : 0;
}

bool site_await_up(struct site *site)
{
	unsigned int left;

	for (left = PEER_PATIENCE / 10; left && !site_is_up(site); left--)
		usleep(10000);
	return left;
}

static enum peer_fate dial(struct site *site, const struct handshake *handshake)
{
	enum peer_fate fate;

	site->drops = site_drops(site);
	fate = peer_dial(&site->peer, site->address, SITE_NEAR, handshake,
			 sizeof(*handshake), false, false);
	/* A message may arrive before the event that the connection is up. */
	if (fate == PEER_UP && !site_await_up(site))
		return PEER_FAILED;
	return fate;
}

enum peer_fate site_dial(struct site *site)
{
	struct handshake handshake = handshake_honest(site->address, SITE_NEAR);

	return dial(site, &handshake);
}

enum peer_fate site_dial_ours(struct site *site, uint32_t capabilities,
			      uint32_t credits)
{
	struct handshake handshake = handshake_honest(site->address, SITE_NEAR);

	handshake.tail.reserved = HANDSHAKE_OURS;
	handshake.tail.credits = htonl(credits);
	handshake.tail.last = htonl(SITE_EPOCH | capabilities);
	return dial(site, &handshake);
}

bool site_await_none(struct site *site)
{
	unsigned int left;

	for (left = PEER_PATIENCE / 10; left && site_is_up(site); left--)
		usleep(10000);
	return left;
}

bool site_await_drop(struct site *site)
{
	struct rds6_info_path path;
	unsigned int left;

	for (left = PEER_PATIENCE / 10; left; left--) {
		/* An unused connection is forgotten soon after. */
		if (!find_path(site, &path) || path.resets > site->drops)
			return true;
		usleep(10000);
	}
	return false;
}

bool site_accept(struct site *site, uint64_t ack, bool no_buffers)
{
	struct handshake6 handshake = handshake6_honest(site->address,
							SITE_NEAR6);

	handshake.tail.ack = htobe64(ack);
	return peer_await_request(&site->listener, &site->peer) &&
	       peer_accept(&site->peer, &handshake, sizeof(handshake),
			   no_buffers, false) == PEER_UP;
}

bool site_send(struct site *site, unsigned int first, unsigned int count)
{
	unsigned char bytes[SITE_LEN];

	for (; count--; first++) {
		rds_fill(bytes, sizeof(bytes), first);
		if (rds_sendto(site->fd, bytes, sizeof(bytes), MSG_DONTWAIT,
			       &site->name) != sizeof(bytes))
			return false;
	}
	return true;
}

bool site_hear(struct site *site, struct frame *frame, void *payload)
{
	do {
		if (peer_hear(&site->peer, frame, payload, PEER_PATIENCE) < 0)
			return false;
	} while (frame->dport != htons(SITE_PEER_PORT));
	return true;
}

bool site_hear_all(struct site *site, unsigned int first, unsigned int count)
{
	unsigned char payload[PEER_SLOT];
	struct frame frame;

	for (; count--; first++)
		if (!site_hear(site, &frame, payload) ||
		    ntohl(frame.len) != SITE_LEN || frame_csum(&frame) ||
		    !rds_check(payload, SITE_LEN, first))
			return false;
	while (peer_hear(&site->peer, &frame, payload, 200) >= 0)
		if (frame.dport == htons(SITE_PEER_PORT))
			return false;
	return true;
}

bool site_say(struct site *site, const void *bytes, unsigned int len)
{
	struct frame frame = frame_data(site->seq++, len, SITE_PEER_PORT,
					SITE_PORT);
	unsigned int off = 0, part;

	do {
		part = len - off < FRAME_PAYLOAD ? len - off : FRAME_PAYLOAD;
		if (!peer_send(&site->peer, &frame,
			       (const char *)bytes + off, part))
			return false;
		off += part;
	} while (off < len);
	return true;
}

bool site_hears(struct site *site, const void *bytes, unsigned int len)
{
	static unsigned char in[FRAME_MAX_MSG + 1];

	return rds_recv(site->fd, in, sizeof(in)) == (ssize_t)len &&
	       !memcmp(in, bytes, len);
}

bool site_talks(struct site *site, unsigned int len)
{
	static unsigned char out[FRAME_MAX_MSG];

	rds_fill(out, len, site->seq);
	return site_say(site, out, len) && site_hears(site, out, len);
}
