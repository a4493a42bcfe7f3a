/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of most tests: two bound sockets that can reach each other. The
 * kernel chooses their ports. Each test runs once for every transport and
 * address family listed here. To add a transport, add its addresses.
 *
 * Over a wire, one end learns only later what the other end has done. Tests
 * wait for that with the functions below and those of rds_test.h. On loopback
 * each change takes effect at once. Over TCP, socket b is in a network
 * namespace of its own. Over RDMA, both sockets are in the initial namespace,
 * on a device that is connected to itself.
 */
#ifndef RDS_PAIR_H
#define RDS_PAIR_H

#include "harness.h"
#include "roce.h"
#include "veth.h"
#include "watch.h"

FIXTURE(pair) {
	const FIXTURE_VARIANT(pair) *variant;
	int a;
	int b;
	int watch;
	struct rds_name a_name;
	struct rds_name b_name;
	const char *sysctl;	/* to be restored */
	char value[32];		/* to this value */
};

FIXTURE_VARIANT(pair) {
	const char *a;		/* address of socket a */
	const char *b;		/* address of socket b */
	const char *stranger;	/* same family, on no host */
	int transport;		/* value of SO_RDS_TRANSPORT */
	const char *name;	/* name in RDS_INFO_CONNECTIONS */
	bool wire;		/* the transport has a wire */
	bool apart;		/* the sockets are in two namespaces */
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
	.apart = true,
};

FIXTURE_VARIANT_ADD(pair, tcp_ipv6) {
	.a = VETH_NEAR_IPV6,
	.b = VETH_FAR_IPV6,
	.stranger = "2001:db8::1",
	.transport = RDS_TRANS_TCP,
	.name = "tcp",
	.wire = true,
	.apart = true,
};

FIXTURE_VARIANT_ADD(pair, ib_ipv4) {
	.a = ROCE_NEAR_IPV4,
	.b = ROCE_FAR_IPV4,
	.stranger = "198.51.100.1",
	.transport = RDS_TRANS_IB,
	.name = "infiniband",
	.wire = true,
};

FIXTURE_VARIANT_ADD(pair, ib_ipv6) {
	.a = ROCE_NEAR_IPV6,
	.b = ROCE_FAR_IPV6,
	.stranger = "2001:db8::1",
	.transport = RDS_TRANS_IB,
	.name = "infiniband",
	.wire = true,
};

/* Open a socket at socket b's end. */
static inline int pair_far_socket(const FIXTURE_VARIANT(pair) *variant)
{
	return variant->apart ? veth_far_socket() : rds_socket();
}

static inline int pair_far_bound(const FIXTURE_VARIANT(pair) *variant,
				 unsigned int port)
{
	if (variant->apart)
		return veth_far_bound(variant->b, port);
	return rds_bound(variant->b, port);
}

/*
 * Open a socket at socket b's end, bound to @port of another address. Returns
 * -1 on failure.
 */
static inline int pair_far_third(const FIXTURE_VARIANT(pair) *variant,
				 unsigned int port)
{
	bool ipv4 = !strchr(variant->b, ':');

	if (variant->apart)
		return veth_far_bound(ipv4 ? VETH_FAR_IPV4_2 : VETH_FAR_IPV6_2,
				      port);
	if (variant->wire)
		return rds_bound(ipv4 ? ROCE_FAR_IPV4_2 : ROCE_FAR_IPV6_2,
				 port);
	if (rds_address(ipv4 ? "10.9.9.1" : "fd00::9", true))
		return -1;
	return rds_bound(ipv4 ? "10.9.9.1" : "fd00::9", port);
}

/*
 * Set a sysctl at socket b's end. The fixture restores one sysctl, so a test
 * may set only one.
 */
static inline int pair_far_sysctl(FIXTURE_DATA(pair) *self, const char *name,
				  const char *value)
{
	int ret;

	if (!self->variant->apart) {
		if (!self->sysctl &&
		    rds_sysctl_read(name, self->value, sizeof(self->value)))
			return -1;
		self->sysctl = name;
		return rds_sysctl_set(name, value);
	}
	if (veth_cross())
		return -errno;
	ret = rds_sysctl_set(name, value);
	return veth_back() ? -errno : ret;
}

static inline bool pair_wants(const char *variant)
{
	return rds_wants_variant(variant) &&
	       (rds_wants_device() || strncmp(variant, "ib_", 3));
}

/*
 * Run this once per program, because a debug kernel is slow, and after the
 * constructor of harness.h.
 */
static void __attribute__((constructor)) pair_enter_netns(void)
{
	rds_choose_variants(&_pair_fixture_object, pair_wants);
	if (!veth_connect())
		perror("Cannot connect two network namespaces by RDS over TCP");
	else if (rds_wants_device() && !roce_connect())
		perror("Cannot connect an RDMA device to itself by RDS");
	else
		return;
	exit(KSFT_FAIL);
}

static inline void pair_open(struct __test_metadata *_metadata,
			     FIXTURE_DATA(pair) *self,
			     const FIXTURE_VARIANT(pair) *variant)
{
	self->variant = variant;
	self->watch = -1;
	if (variant->transport == RDS_TRANS_IB)
		ASSERT_EQ(0, roce_enter());
	self->a = rds_bound(variant->a, 0);
	ASSERT_LE(0, self->a);
	self->b = pair_far_bound(variant, 0);
	ASSERT_LE(0, self->b);
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
}

/*
 * Reopen the sockets in new namespaces, for tests that need a namespace without
 * connections. RDMA works in the initial namespace only, so there the sockets
 * stay as they are.
 */
static inline void pair_move(struct __test_metadata *_metadata,
			     FIXTURE_DATA(pair) *self,
			     const FIXTURE_VARIANT(pair) *variant)
{
	if (variant->transport == RDS_TRANS_IB)
		return;
	close(self->a);
	close(self->b);
	ASSERT_EQ(0, rds_netns());
	if (variant->apart)
		ASSERT_EQ(0, ERR(veth_setup()));
	pair_open(_metadata, self, variant);
}

static inline bool pair_await_port(FIXTURE_DATA(pair) *self,
				   const struct rds_name *name, bool congested)
{
	const FIXTURE_VARIANT(pair) *variant = self->variant;

	if (!variant->wire)
		return true;
	if (self->watch < 0)
		self->watch = watch_open(variant->a, variant->stranger);
	return watch_await(self->watch, name, congested) &&
	       (variant->apart || watch_await_maps(variant->a, variant->b));
}

/* Wait until socket a's end knows that a port of the other end is congested. */
static inline bool pair_await_full(FIXTURE_DATA(pair) *self,
				   const struct rds_name *name)
{
	return pair_await_port(self, name, true);
}

/* Wait until socket a's end knows that the port is no longer congested. */
static inline bool pair_await_free(FIXTURE_DATA(pair) *self,
				   const struct rds_name *name)
{
	return pair_await_port(self, name, false);
}

FIXTURE_SETUP(pair)
{
	pair_open(_metadata, self, variant);
}

/*
 * Wait until the port is free. Otherwise the next test would be notified of
 * that.
 */
FIXTURE_TEARDOWN(pair)
{
	if (self->sysctl)
		EXPECT_EQ(0, rds_sysctl_set(self->sysctl, self->value));
	close(self->b);
	if (self->watch >= 0) {
		EXPECT_TRUE(pair_await_free(self, &self->b_name));
		close(self->watch);
	}
	close(self->a);
}

#endif /* RDS_PAIR_H */
