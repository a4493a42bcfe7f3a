// SPDX-License-Identifier: GPL-2.0
/* The control channel */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/tcp.h>
#include <sys/time.h>

#include "bench/control.h"
#include "bench/link.h"
#include "bench/params.h"

/* The longest has the names of all sockets. */
#define LINE_MAX_SIZE	(MAX_SOCKETS * LINK_NAME_SIZE + 64)

int control_listen(const union addr *local)
{
	int one = 1, zero = 0;
	int fd;

	fd = socket(local->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err(2, "control socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (local->sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, &local->sa, addr_len(local)) || listen(fd, 8))
		err(2, "control port %u", addr_port(local));
	return fd;
}

int control_dial(const union addr *server)
{
	char text[ADDR_TEXT_SIZE];
	int fd;

	fd = socket(server->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err(2, "control socket");
	if (connect(fd, &server->sa, addr_len(server)))
		err(2, "no server at %s port %u", addr_text(server, text),
		    addr_port(server));
	return fd;
}

void control_open(struct control *control, int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	control->fd = fd;
	control->lines = fdopen(fd, "r");
	if (!control->lines)
		err(2, "control channel");
}

void control_close(struct control *control)
{
	fclose(control->lines);
}

void control_set_timeout(struct control *control, double seconds)
{
	struct timeval timeout = {
		.tv_sec = seconds,
		.tv_usec = (seconds - (long)seconds) * 1e6,
	};

	setsockopt(control->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
		   sizeof(timeout));
}

void control_send(struct control *control, const char *word, const char *rest)
{
	if (dprintf(control->fd, "%s %s\n", word, rest) < 0)
		err(2, "control channel");
}

char *control_expect(struct control *control, const char *word)
{
	size_t len = strlen(word);
	static char line[LINE_MAX_SIZE];
	char *rest, *end;

	errno = 0;
	if (!fgets(line, sizeof(line), control->lines)) {
		if (errno == EAGAIN)
			errx(2, "the other side does not say %s in time", word);
		errx(2, "the other side has gone");
	}
	end = strchr(line, '\n');
	if (!end)
		errx(2, "the other side does not end a line");
	*end = '\0';
	if (strncmp(line, word, len) || line[len] != ' ')
		errx(2, "the other side says: %s", line);
	rest = strdup(line + len + 1);
	if (!rest)
		err(2, "out of memory");
	return rest;
}
