/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two ends of RDS over TCP for the tests of its connections: in one variant the
 * near end dials, in the other the far end.
 */
#ifndef RDS_WIRE_H
#define RDS_WIRE_H

#include "loop.h"
#include "paths.h"
#include "veth.h"

#define PATHS	8

FIXTURE(wire) {
	int a;
	int b;
	struct rds_name a_name;
	struct rds_name b_name;
};

FIXTURE_VARIANT(wire) {
	const char *near;
	const char *far;
};

FIXTURE_VARIANT_ADD(wire, near_dials) {
	.near = VETH_NEAR_IPV4,
	.far = VETH_FAR_IPV4,
};

FIXTURE_VARIANT_ADD(wire, far_dials) {
	.near = VETH_NEAR_IPV6,
	.far = VETH_FAR_IPV6,
};

static void __attribute__((constructor)) wire_choose_variants(void)
{
	rds_choose_variants(&_wire_fixture_object, rds_wants_variant);
}

/* Create one set of namespaces for all tests of a program, at its start. */
static inline void wire_enter(void)
{
	if (!veth_setup())
		return;
	perror("Cannot make namespaces");
	exit(KSFT_FAIL);
}

/* Bind a socket at each end; port 0 is any. */
static inline bool wire_bind(FIXTURE_DATA(wire) *self,
			     const FIXTURE_VARIANT(wire) *variant,
			     unsigned int near_port, unsigned int far_port)
{
	self->a = rds_bound(variant->near, near_port);
	self->b = veth_far_bound(variant->far, far_port);
	if (self->a < 0 || self->b < 0)
		return false;
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
	return true;
}

/* Count the TCP paths, if all paths of all connections are UP; 0 otherwise */
static inline int all_paths_up(int fd)
{
	struct rds6_info_connection conn[16];
	socklen_t len = sizeof(conn);
	unsigned long established;
	int up = rds_tcp_paths_up(fd, &established);

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_CONNECTIONS, conn, &len) < 0)
		return 0;
	return up == (int)(len / sizeof(*conn)) * PATHS ? up : 0;
}

static inline bool await_all_paths(int fd)
{
	unsigned int left;

	for (left = 30000; left && !all_paths_up(fd); left--)
		usleep(1000);
	return left;
}

/* Wait until @count paths are UP; this needs no traffic. */
static inline bool await_paths(int fd, int count)
{
	unsigned long established;
	unsigned int left;

	for (left = 30000; left; left--) {
		if (rds_tcp_paths_up(fd, &established) == count)
			return true;
		usleep(1000);
	}
	return false;
}

/* Call @work in the far namespace. */
static inline int at_far_end(int (*work)(void))
{
	int ret;

	if (veth_cross())
		return -1;
	ret = work();
	return veth_back() ? -1 : ret;
}

/* Reset every connection of the caller's namespace; they are made again. */
static inline int reset_here(void)
{
	return rds_sysctl_set("tcp/rds_tcp_rcvbuf", "0");
}

#endif /* RDS_WIRE_H */
