// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backlog.h"

/* Return a list, which the caller frees, and its size. */
static void *info(int fd, int what, socklen_t *size)
{
	void *list = NULL;
	int ret;

	*size = 0;
	for (;;) {
		ret = getsockopt(fd, SOL_RDS, what, list, size);
		if (ret >= 0)
			return list;
		if (errno == EAGAIN)
			continue;
		if (errno != ENOSPC)
			err(1, "RDS_INFO %d", what);
		/* The list may have grown before the next call. */
		*size += 4096;
		list = realloc(list, *size);
		if (!list)
			err(1, "no memory");
	}
}

/* The kernel lists an IPv4 address as an IPv4-mapped IPv6 address. */
static struct in6_addr mapped(const char *text)
{
	struct in6_addr addr;
	char buf[64];

	snprintf(buf, sizeof(buf), "%s%s", strchr(text, ':') ? "" : "::ffff:",
		 text);
	if (inet_pton(AF_INET6, buf, &addr) != 1)
		errx(1, "no address: %s", text);
	return addr;
}

static unsigned int count_messages(int fd, int what, unsigned int from,
				   unsigned int to)
{
	struct rds6_info_message *list;
	unsigned int port, count = 0;
	socklen_t size, i;

	list = info(fd, what, &size);
	for (i = 0; i < size / sizeof(*list); i++) {
		port = ntohs(list[i].lport);
		if (port >= from && port <= to)
			count++;
	}
	free(list);
	return count;
}

unsigned int backlog_messages(int fd, unsigned int from, unsigned int to,
			      bool unacked)
{
	unsigned int count;

	count = count_messages(fd, RDS6_INFO_SEND_MESSAGES, from, to);
	if (unacked)
		count += count_messages(fd, RDS6_INFO_RETRANS_MESSAGES, from,
					to);
	return count;
}

static bool is_between(const struct rds6_info_connection *conn,
		       const struct in6_addr *local,
		       const struct in6_addr *remote)
{
	return !memcmp(&conn->laddr, local, sizeof(*local)) &&
	       !memcmp(&conn->faddr, remote, sizeof(*remote));
}

bool backlog_is_connected(int fd, const char *local, const char *remote)
{
	struct in6_addr from = mapped(local), to = mapped(remote);
	struct rds6_info_connection *list;
	bool connected = false;
	socklen_t size, i;

	list = info(fd, RDS6_INFO_CONNECTIONS, &size);
	for (i = 0; i < size / sizeof(*list); i++)
		if (is_between(&list[i], &from, &to) &&
		    list[i].flags & RDS_INFO_CONNECTION_FLAG_CONNECTED)
			connected = true;
	free(list);
	return connected;
}

void counters_read(int fd, struct counters *counters)
{
	socklen_t size;
	void *list;

	list = info(fd, RDS_INFO_COUNTERS, &size);
	if (size > sizeof(counters->entry))
		size = sizeof(counters->entry);
	memcpy(counters->entry, list, size);
	counters->count = size / sizeof(counters->entry[0]);
	free(list);
}

uint64_t counters_value(const struct counters *counters, const char *name)
{
	unsigned int i;

	for (i = 0; i < counters->count; i++)
		if (!strncmp((const char *)counters->entry[i].name, name,
			     sizeof(counters->entry[i].name)))
			return counters->entry[i].value;
	return 0;
}
