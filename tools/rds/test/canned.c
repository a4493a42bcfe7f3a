// SPDX-License-Identifier: GPL-2.0
/*
 * A preloaded library that answers rds-info in place of a kernel, with lanes
 * in every state, dropped for every reason, and for times of all sizes.
 *
 * Environment: CANNED_PATHS, how many lanes; without it, a kernel that does not
 * know that list.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <linux/rds.h>

#define STATES 6

int socket(int family, int type, int protocol)
{
	(void)family;
	(void)type;
	(void)protocol;
	return dup(STDERR_FILENO);
}

/* The last one is IPv6. */
static void fill(struct rds6_info_path *path, unsigned int i, unsigned int nr)
{
	static const unsigned long long ages[] = {
		0, 17, 4249, 187000, 20400000, 1047600000,
	};

	memset(path, 0, sizeof(*path));
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &path->laddr);
	inet_pton(AF_INET6, "::ffff:10.0.0.2", &path->faddr);
	if (i == nr - 1) {
		inet_pton(AF_INET6, "fd00::1", &path->laddr);
		inet_pton(AF_INET6, "fd00::2", &path->faddr);
	}
	memcpy(path->transport, "tcp", sizeof("tcp"));
	path->index = i % 8;
	path->npaths = 8;
	path->state = i % STATES;
	path->drop_reason = i;
	path->attempts = 1000 + i;
	path->established = 2000 + i;
	path->resets = 3000 + i;
	path->since_ms = ages[i % (sizeof(ages) / sizeof(ages[0]))];
	path->next_tx_seq = 4000 + i;
	path->next_rx_seq = 5000 + i;
	path->rx_held = 6000 + i;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	const char *text = getenv("CANNED_PATHS");
	unsigned int i, nr = text ? atoi(text) : 0;
	struct rds6_info_path path;
	socklen_t room = *len;

	(void)fd;
	if (level != SOL_RDS || name != RDS6_INFO_PATHS || !text) {
		errno = ENOPROTOOPT;
		return -1;
	}

	*len = nr * sizeof(path);
	if (*len > room) {
		errno = ENOSPC;
		return -1;
	}
	for (i = 0; i < nr; i++) {
		fill(&path, i, nr);
		memcpy((char *)value + i * sizeof(path), &path, sizeof(path));
	}
	return sizeof(path);
}
