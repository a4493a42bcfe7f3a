// SPDX-License-Identifier: GPL-2.0
/* Socket addresses of either family, and their conversion to and from text */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>

#include "addr.h"

/*
 * connect() only looks up the route. Any port would do, and no packet is sent.
 */
#define DISCARD_PORT 9

socklen_t addr_len(const union addr *addr)
{
	return addr->sa.sa_family == AF_INET6 ? sizeof(addr->in6) :
						sizeof(addr->in);
}

uint16_t addr_port(const union addr *addr)
{
	return ntohs(addr->sa.sa_family == AF_INET6 ? addr->in6.sin6_port :
						      addr->in.sin_port);
}

void addr_set_port(union addr *addr, uint16_t port)
{
	if (addr->sa.sa_family == AF_INET6)
		addr->in6.sin6_port = htons(port);
	else
		addr->in.sin_port = htons(port);
}

void addr_unmap(union addr *addr)
{
	union addr plain = { .in.sin_family = AF_INET };

	if (addr->sa.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&addr->in6.sin6_addr))
		return;
	plain.in.sin_port = addr->in6.sin6_port;
	memcpy(&plain.in.sin_addr, &addr->in6.sin6_addr.s6_addr[12],
	       sizeof(plain.in.sin_addr));
	*addr = plain;
}

bool addr_same(const union addr *a, const union addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family || addr_port(a) != addr_port(b))
		return false;
	if (a->sa.sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr);
	return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

int addr_resolve(union addr *addr, const char *name, int family)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *found;
	int error;

	error = getaddrinfo(name, NULL, &hints, &found);
	if (error)
		return error;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

const char *addr_text(const union addr *addr, char text[ADDR_TEXT_SIZE])
{
	if (getnameinfo(&addr->sa, addr_len(addr), text, ADDR_TEXT_SIZE,
			NULL, 0, NI_NUMERICHOST))
		snprintf(text, ADDR_TEXT_SIZE, "?");
	return text;
}

int addr_toward(union addr *local, const union addr *peer)
{
	socklen_t len = sizeof(*local);
	union addr probe = *peer;
	int ret = -1;
	int fd;

	fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	addr_set_port(&probe, DISCARD_PORT);
	memset(local, 0, sizeof(*local));
	if (!connect(fd, &probe.sa, addr_len(&probe)) &&
	    !getsockname(fd, &local->sa, &len)) {
		addr_set_port(local, 0);
		ret = 0;
	}
	close(fd);
	return ret;
}
