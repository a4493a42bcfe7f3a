/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of most tests: two bound sockets that can reach each other,
 * bound to ports of the kernel's choice. Each test runs once for every
 * transport and address family listed here; a transport joins by adding its
 * addresses.
 *
 * Where there is a wire, socket b is at the far end of it, in a network
 * namespace of its own, and what one end does is known at the other a while
 * later. Tests wait for that by the functions below and those of rds_test.h,
 * which on loopback expect it to be so at once.
 */
#ifndef RDS_PAIR_H
#define RDS_PAIR_H

#include "harness.h"
#include "veth.h"

#include <poll.h>

FIXTURE(pair) {
	const FIXTURE_VARIANT(pair) *variant;
	int a;
	int b;
	int watch;
	struct rds_name a_name;
	struct rds_name b_name;
};

FIXTURE_VARIANT(pair) {
	const char *a;		/* address of socket a */
	const char *b;		/* address of socket b */
	const char *stranger;	/* same family, on no host */
	int transport;		/* what SO_RDS_TRANSPORT tells of them */
	const char *name;	/* what RDS_INFO_CONNECTIONS calls it */
	bool wire;		/* there is one between the two */
};

FIXTURE_VARIANT_ADD(pair, loop_ipv4) {
	.a = "127.0.0.1",
	.b = "127.0.0.2",
	.stranger = "198.51.100.1",
	.transport = RDS_TRANS_LOOP,
	.name = "loopback",
};

FIXTURE_VARIANT_ADD(pair, loop_ipv6) {
	.a = "::1",
	.b = "::1",
	.stranger = "2001:db8::1",
	.transport = RDS_TRANS_LOOP,
	.name = "loopback",
};

FIXTURE_VARIANT_ADD(pair, tcp_ipv4) {
	.a = VETH_NEAR_IPV4,
	.b = VETH_FAR_IPV4,
	.stranger = "198.51.100.1",
	.transport = RDS_TRANS_TCP,
	.name = "tcp",
	.wire = true,
};

FIXTURE_VARIANT_ADD(pair, tcp_ipv6) {
	.a = VETH_NEAR_IPV6,
	.b = VETH_FAR_IPV6,
	.stranger = "2001:db8::1",
	.transport = RDS_TRANS_TCP,
	.name = "tcp",
	.wire = true,
};

/* Sockets at socket b's end */
static inline int pair_far_socket(const FIXTURE_VARIANT(pair) *variant)
{
	return variant->wire ? veth_far_socket() : rds_socket();
}

static inline int pair_far_bound(const FIXTURE_VARIANT(pair) *variant,
				 unsigned int port)
{
	if (variant->wire)
		return veth_far_bound(variant->b, port);
	return rds_bound(variant->b, port);
}

/* A sysctl of socket b's end */
static inline int pair_far_sysctl(const FIXTURE_VARIANT(pair) *variant,
				  const char *name, const char *value)
{
	int ret;

	if (!variant->wire)
		return rds_sysctl_set(name, value);
	if (veth_cross())
		return -errno;
	ret = rds_sysctl_set(name, value);
	return veth_back() ? -errno : ret;
}

/*
 * What a wire carries at last, but a moment too late for a test that counts
 * it, goes ahead: the lanes and their congestion maps.
 */
static inline bool pair_warm_up(const char *near, const char *far)
{
	int a = rds_bound(near, 0);
	int b = veth_far_bound(far, 0);
	struct rds_name name = rds_sockname(b);
	bool up;

	up = rds_sendto(a, NULL, 0, 0, &name) == 0 && rds_arrived(b) &&
	     veth_lanes_up(a, b);
	close(a);
	close(b);
	return up;
}

static inline bool pair_set_up_wire(void)
{
	return !veth_setup() &&
	       pair_warm_up(VETH_NEAR_IPV4, VETH_FAR_IPV4) &&
	       pair_warm_up(VETH_NEAR_IPV6, VETH_FAR_IPV6);
}

/* Once in a program, and behind what harness.h does: a debug kernel is slow */
static void __attribute__((constructor)) pair_enter_netns(void)
{
	if (pair_set_up_wire())
		return;
	perror("Cannot connect two network namespaces by RDS over TCP");
	exit(KSFT_FAIL);
}

static inline void pair_open(struct __test_metadata *_metadata,
			     FIXTURE_DATA(pair) *self,
			     const FIXTURE_VARIANT(pair) *variant)
{
	self->variant = variant;
	self->watch = -1;
	self->a = rds_bound(variant->a, 0);
	ASSERT_LE(0, self->a);
	self->b = pair_far_bound(variant, 0);
	ASSERT_LE(0, self->b);
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
}

/* For tests that need a namespace without connections, or change sysctls */
static inline void pair_move(struct __test_metadata *_metadata,
			     FIXTURE_DATA(pair) *self,
			     const FIXTURE_VARIANT(pair) *variant)
{
	close(self->a);
	close(self->b);
	ASSERT_EQ(0, rds_netns());
	if (variant->wire)
		ASSERT_EQ(0, ERR(veth_setup()));
	pair_open(_metadata, self, variant);
}

/*
 * A socket with a full send buffer hears of a port only whether it is
 * congested: if it is not, its own buffer is in the way, and so what asks is
 * never sent. The buffer is full of what cannot reach anybody.
 */
static inline int pair_watch(const FIXTURE_DATA(pair) *self)
{
	struct rds_name nobody = rds_name(self->variant->stranger, 4000);
	static char fill[8192];
	int fd = rds_bound(self->variant->a, 0);

	rds_sndbuf(fd, sizeof(fill));
	if (rds_sendto(fd, fill, sizeof(fill), 0, &nobody) == sizeof(fill))
		return fd;
	close(fd);
	return -1;
}

static inline bool pair_await_port(FIXTURE_DATA(pair) *self,
				   const struct rds_name *name, int wanted)
{
	struct pollfd told = { .events = POLLIN };
	unsigned int left;

	if (!self->variant->wire)
		return true;
	if (self->watch < 0)
		self->watch = pair_watch(self);
	for (left = 30000; left; left--) {
		if (ERR(rds_sendto(self->watch, "x", 1, MSG_DONTWAIT, name)) ==
		    wanted)
			break;
		usleep(1000);
	}
	/* A moment after the change can be seen sockets are told of it. */
	told.fd = self->watch;
	poll(&told, 1, 30);
	return left;
}

/* Waits until socket a's end knows that a port of the other end is full */
static inline bool pair_await_full(FIXTURE_DATA(pair) *self,
				   const struct rds_name *name)
{
	return pair_await_port(self, name, -ENOBUFS);
}

/* Or that it no longer is */
static inline bool pair_await_free(FIXTURE_DATA(pair) *self,
				   const struct rds_name *name)
{
	return pair_await_port(self, name, -EAGAIN);
}

FIXTURE_SETUP(pair)
{
	pair_open(_metadata, self, variant);
}

/* The next test must not be the one that hears of this one's end. */
FIXTURE_TEARDOWN(pair)
{
	close(self->b);
	if (self->watch >= 0) {
		EXPECT_TRUE(pair_await_free(self, &self->b_name));
		close(self->watch);
	}
	close(self->a);
}

#endif /* RDS_PAIR_H */
