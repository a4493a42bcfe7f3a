/* SPDX-License-Identifier: GPL-2.0 */
/* Socket addresses of either family, and their conversion to and from text */
#ifndef RDS_TOOLS_ADDR_H
#define RDS_TOOLS_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <netinet/in.h>

union addr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

/* Room for the longest kind of address, one with a scope: "fe80::1%eth0" */
#define ADDR_TEXT_SIZE (INET6_ADDRSTRLEN + 17)

socklen_t addr_len(const union addr *addr);
uint16_t addr_port(const union addr *addr);
void addr_set_port(union addr *addr, uint16_t port);

/* Make an IPv4 address of one that is mapped into IPv6. */
void addr_unmap(union addr *addr);

/* Check whether two addresses, with their ports, are the same. */
bool addr_same(const union addr *a, const union addr *b);

/*
 * Resolve @name. @family is AF_INET, AF_INET6 or AF_UNSPEC. Returns 0, or an
 * error for gai_strerror().
 */
int addr_resolve(union addr *addr, const char *name, int family);

/* Format the address, without its port, into @text. Returns @text. */
const char *addr_text(const union addr *addr, char text[ADDR_TEXT_SIZE]);

/*
 * Find the local address from which packets to @peer are sent. Returns 0, or -1
 * with errno set.
 */
int addr_toward(union addr *local, const union addr *peer);

#endif
