// SPDX-License-Identifier: GPL-2.0
/*
 * Report whether a stream listens on a port: listens PORT. A socket that allows
 * others to share its port gets the port unless one listens there.
 */
#include <stdlib.h>
#include <netinet/in.h>

#include "../stream.h"

int main(int argc, char **argv)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6 };
	int fd = socket(AF_RDS, SOCK_STREAM, RDS_PROTO_INET6), one = 1;

	if (argc != 2 || fd < 0)
		return 2;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	name.sin6_port = htons(atoi(argv[1]));
	return bind(fd, (struct sockaddr *)&name, sizeof(name)) ? 0 : 1;
}
