/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of RDS over TCP. Its fixture has a socket in each of two namespaces
 * that are connected by all their paths.
 */
#ifndef RDS_TCP_H
#define RDS_TCP_H

#include "harness.h"
#include "paths.h"
#include "veth.h"

#define PATHS		8

/* enum rds_drop_reason, as rds-info(1) lists it */
enum {
	PEER_CLOSED = 2,
	PEER_RESET = 3,
	TIMEOUT = 4,
	YIELD = 8,
	TUNED = 11,
};

static char buf[1024 * 1024];

FIXTURE(tcp) {
	int a;
	int b;
	struct rds_name a_name;
	struct rds_name b_name;
};

FIXTURE_VARIANT(tcp) {
	const char *near;
	const char *far;
	bool dials;		/* the near end dials */
};

FIXTURE_VARIANT_ADD(tcp, ipv4) {
	.near = VETH_NEAR_IPV4,
	.far = VETH_FAR_IPV4,
	.dials = true,
};

FIXTURE_VARIANT_ADD(tcp, ipv6) {
	.near = VETH_NEAR_IPV6,
	.far = VETH_FAR_IPV6,
};

/* pair.h has the same variants over TCP, named with the prefix "tcp_". */
static inline bool tcp_wants(const char *variant)
{
	char name[32];

	snprintf(name, sizeof(name), "tcp_%s", variant);
	return rds_wants_variant(name);
}

/*
 * Run this once per program, because a debug kernel is slow, and after the
 * constructor of harness.h.
 */
static void __attribute__((constructor)) tcp_enter_netns(void)
{
	rds_choose_variants(&_tcp_fixture_object, tcp_wants);
	if (veth_connect())
		return;
	perror("Cannot connect two network namespaces by RDS over TCP");
	exit(KSFT_FAIL);
}

static inline void tcp_open(struct __test_metadata *_metadata,
			    FIXTURE_DATA(tcp) *self,
			    const FIXTURE_VARIANT(tcp) *variant)
{
	self->a = rds_bound(variant->near, 0);
	ASSERT_LE(0, self->a);
	self->b = veth_far_bound(variant->far, 0);
	ASSERT_LE(0, self->b);
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
}

/*
 * Reopen the sockets in new namespaces, for tests that change sysctls or the
 * link, or that need a first contact.
 */
static inline void tcp_move(struct __test_metadata *_metadata,
			    FIXTURE_DATA(tcp) *self,
			    const FIXTURE_VARIANT(tcp) *variant)
{
	close(self->a);
	close(self->b);
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, ERR(veth_setup()));
	tcp_open(_metadata, self, variant);
}

FIXTURE_SETUP(tcp)
{
	tcp_open(_metadata, self, variant);
}

FIXTURE_TEARDOWN(tcp)
{
	close(self->a);
	close(self->b);
}

static inline bool tcp_works(int from, int to)
{
	struct rds_name name = rds_sockname(to);

	return rds_sendto(from, "abc", 3, 0, &name) == 3 &&
	       rds_recv(to, buf, sizeof(buf)) == 3 && !memcmp(buf, "abc", 3);
}

/* Get the paths of one end. Returns their number, or -1. */
static inline int tcp_paths(FIXTURE_DATA(tcp) *self, int fd,
			    struct rds6_info_path *path)
{
	bool near = fd == self->a;

	return rds_paths_between(fd, near ? &self->a_name : &self->b_name,
				 near ? &self->b_name : &self->a_name, path,
				 PATHS);
}

/*
 * Return how often the paths of one end have come UP in total, or -1 while one
 * of them is not UP.
 */
static inline long tcp_established(FIXTURE_DATA(tcp) *self, int fd)
{
	struct rds6_info_path path[PATHS];
	long sum = 0;
	int i;

	if (tcp_paths(self, fd, path) != PATHS)
		return -1;
	for (i = 0; i < PATHS; i++) {
		if (path[i].state != PATH_UP)
			return -1;
		sum += path[i].established;
	}
	return sum;
}

/*
 * Wait until all paths are UP and have come UP more than @before times in
 * total.
 */
static inline bool tcp_await_established(FIXTURE_DATA(tcp) *self, int fd,
					 long before)
{
	unsigned int left;

	for (left = 30000; left; left--) {
		if (tcp_established(self, fd) > before)
			return true;
		usleep(1000);
	}
	return false;
}

/* Sysctls of the namespace of the caller */
static inline long tcp_set(const char *name, long value)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "tcp/%s", name);
	snprintf(text, sizeof(text), "%ld", value);
	return rds_sysctl_set(path, text);
}

static inline long tcp_get(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "tcp/%s", name);
	return rds_sysctl_get(path);
}

#endif /* RDS_TCP_H */
