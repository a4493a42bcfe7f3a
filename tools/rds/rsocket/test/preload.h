/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs that rds-run runs have in common */
#ifndef RDS_RSOCKET_TEST_PRELOAD_H
#define RDS_RSOCKET_TEST_PRELOAD_H

#include <stdbool.h>
#include <netinet/in.h>

/* A host without RDS, and one that has RDS without streams */
#define NO_RDS		"127.0.0.9"
#define NO_STREAMS	"127.0.0.8"

struct tcp_server {
	int			fd;
	struct sockaddr_in	name;
};

int get_int(int fd, int level, int name);
int set_int(int fd, int level, int name, int value);
bool is_stream(int fd);
bool exchange(int from, int to);
void tcp_serve(struct tcp_server *server, const char *host);
int tcp_connect(int fd, const struct tcp_server *server);
bool tcp_accept(int fd, const struct tcp_server *server);

#endif /* RDS_RSOCKET_TEST_PRELOAD_H */
