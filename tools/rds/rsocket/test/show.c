// SPDX-License-Identifier: GPL-2.0
/*
 * Print the sizes of a new rsocket, one per line: what the files and the
 * environment set. The runner compares them. An argument "dgram" asks for a
 * socket of datagrams.
 */
#include <stdio.h>
#include <unistd.h>

#include "../rdsocket.h"

static void show(const char *name, int fd, int level, int option)
{
	socklen_t len = sizeof(int);
	int value;

	if (rgetsockopt(fd, level, option, &value, &len))
		printf("%s none\n", name);
	else
		printf("%s %d\n", name, value);
}

int main(int argc, char **argv)
{
	int fd = rsocket(AF_INET, argc > 1 ? SOCK_DGRAM : SOCK_STREAM, 0);

	(void)argv;
	if (fd < 0)
		return 1;
	show("rcvbuf", fd, SOL_SOCKET, SO_RCVBUF);
	show("sndbuf", fd, SOL_SOCKET, SO_SNDBUF);
	show("sqsize", fd, SOL_RDMA, RDMA_SQSIZE);
	show("rqsize", fd, SOL_RDMA, RDMA_RQSIZE);
	show("inline", fd, SOL_RDMA, RDMA_INLINE);
	show("iomapsize", fd, SOL_RDMA, RDMA_IOMAPSIZE);
	rclose(fd);
	return 0;
}
