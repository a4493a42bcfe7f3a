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

int control_listen(const union addr *local)
{
	int one = 1;
	int fd;

	fd = socket(local->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err(2, "control socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
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
	size_t len = strlen(word), room = 0;
	char *line = NULL, *rest;
	ssize_t got;

	got = getline(&line, &room, control->lines);
	if (got < 0 && errno == EAGAIN)
		errx(2, "the other side does not say %s in time", word);
	if (got <= 0)
		errx(2, "the other side has gone");
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, word, len) || line[len] != ' ')
		errx(2, "the other side says: %s", line);
	rest = strdup(line + len + 1);
	if (!rest)
		err(2, "out of memory");
	free(line);
	return rest;
}
