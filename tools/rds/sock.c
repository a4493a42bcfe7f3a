// SPDX-License-Identifier: GPL-2.0
/* Open RDS sockets on any kernel that supports RDS. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <linux/rds.h>

#include "sock.h"

#ifndef AF_RDS
#define AF_RDS 21
#endif

/*
 * Some kernels publish the numbers in sysctls. All kernels in use today have
 * the default numbers.
 */
static int published_number(const char *path, int otherwise)
{
	FILE *file = fopen(path, "r");
	int number;

	if (!file)
		return otherwise;
	if (fscanf(file, "%d", &number) != 1)
		number = otherwise;
	fclose(file);
	return number;
}

int rds_family(void)
{
	return published_number("/proc/sys/net/rds/pf_rds", AF_RDS);
}

int rds_level(void)
{
	return published_number("/proc/sys/net/rds/sol_rds", SOL_RDS);
}

int rds_socket(int flags)
{
	return socket(rds_family(), SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
}

const char *rds_socket_hint(int error)
{
	if (error == EAFNOSUPPORT)
		return "RDS is not loaded (try: modprobe rds)";
	return strerror(error);
}
