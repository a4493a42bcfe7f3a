// SPDX-License-Identifier: GPL-2.0
/* What the programs that rds-run runs have in common */
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/syscall.h>

#include "../stream.h"
#include "check.h"
#include "preload.h"

int get_int(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, level, name, &value, &len) ? -1 : value;
}

int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Only a stream has this option; rds-run does not hide it. */
bool is_stream(int fd)
{
	return get_int(fd, SOL_RDS, RDS_STREAM_REFUSED) >= 0;
}

bool exchange(int from, int to)
{
	char sent[100], got[100];

	check_fill(sent, sizeof(sent), from);
	return write(from, sent, sizeof(sent)) == sizeof(sent) &&
	       recv(to, got, sizeof(got), MSG_WAITALL) == sizeof(got) &&
	       !memcmp(sent, got, sizeof(got));
}

/* A listener of TCP, which nobody makes a stream of */
void tcp_serve(struct tcp_server *server, const char *host)
{
	socklen_t len = sizeof(server->name);

	server->fd = syscall(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC,
			     0);
	memset(&server->name, 0, len);
	server->name.sin_family = AF_INET;
	inet_pton(AF_INET, host, &server->name.sin_addr);
	bind(server->fd, (struct sockaddr *)&server->name, len);
	listen(server->fd, 64);
	getsockname(server->fd, (struct sockaddr *)&server->name, &len);
}

int tcp_connect(int fd, const struct tcp_server *server)
{
	return connect(fd, (const struct sockaddr *)&server->name,
		       sizeof(server->name));
}

/* Accept what @fd has connected; does data arrive in both directions? */
bool tcp_accept(int fd, const struct tcp_server *server)
{
	int accepted = accept(server->fd, NULL, NULL);
	bool good;

	good = accepted >= 0 && exchange(fd, accepted) &&
	       exchange(accepted, fd);
	close(accepted);
	return good;
}
