// SPDX-License-Identifier: GPL-2.0
/*
 * A program asks for a TCP socket and receives a stream of RDS. If it asks the
 * socket for its family and its protocol, it is told those of TCP.
 */
#include <errno.h>
#include <netinet/in.h>

#include "family.h"
#include "stream.h"

static int get_int(getsockopt_fn get, int fd, int name)
{
	socklen_t len = sizeof(int);
	int value;

	if (get(fd, SOL_SOCKET, name, &value, &len))
		return -1;
	return value;
}

/* Return the family of the names of a stream, or -1 if @fd is no stream. */
int family_of_stream(getsockopt_fn get, int fd)
{
	int error = errno, family = -1;

	if (get_int(get, fd, SO_DOMAIN) == AF_RDS &&
	    get_int(get, fd, SO_TYPE) == SOCK_STREAM)
		family = get_int(get, fd, SO_PROTOCOL) == RDS_PROTO_INET6 ?
			 AF_INET6 : AF_INET;
	errno = error;
	return family;
}

/* Report whether socket() with these arguments makes a socket of TCP. */
bool family_has_streams(int domain, int type, int protocol)
{
	return (domain == AF_INET || domain == AF_INET6) &&
	       (type & ~SOCKET_FLAGS) == SOCK_STREAM &&
	       (protocol == 0 || protocol == IPPROTO_TCP);
}

/* Return the protocol of AF_RDS for names of the family @domain. */
int family_protocol(int domain)
{
	return domain == AF_INET6 ? RDS_PROTO_INET6 : RDS_PROTO_INET;
}

/* getsockopt(), which takes a stream of RDS for a socket of TCP */
int family_getsockopt(getsockopt_fn get, int fd, int level, int name,
		      void *value, socklen_t *len)
{
	int family, ret = get(fd, level, name, value, len);

	if (ret || level != SOL_SOCKET || *len != sizeof(int) ||
	    (name != SO_DOMAIN && name != SO_PROTOCOL))
		return ret;
	family = family_of_stream(get, fd);
	if (family >= 0)
		*(int *)value = name == SO_DOMAIN ? family : IPPROTO_TCP;
	return 0;
}
