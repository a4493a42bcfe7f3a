/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of streams whose peer does not answer. The fixture has a stream
 * between two namespaces that were created for the test.
 */
#ifndef RDS_STREAM_WIRE_H
#define RDS_STREAM_WIRE_H

#include "harness.h"
#include "clock.h"
#include "stream.h"
#include "veth.h"

#include <net/if.h>

FIXTURE(wire) {
	int listener;		/* at the far end */
	int a;
	int b;
	struct rds_name name;	/* of the listener */
};

FIXTURE_VARIANT(wire) {
	const char *a;
	const char *b;
	const char *nobody;	/* of the same network, on no host */
};

FIXTURE_VARIANT_ADD(wire, tcp_ipv4) {
	.a = VETH_NEAR_IPV4,
	.b = VETH_FAR_IPV4,
	.nobody = "10.1.0.99",
};

FIXTURE_VARIANT_ADD(wire, tcp_ipv6) {
	.a = VETH_NEAR_IPV6,
	.b = VETH_FAR_IPV6,
	.nobody = "fd01::99",
};

static void __attribute__((constructor)) wire_choose_variants(void)
{
	rds_choose_variants(&_wire_fixture_object, rds_wants_variant);
}

static inline int wire_neighbour(const char *addr, const char *action)
{
	char command[128];

	snprintf(command, sizeof(command), action, addr);
	return system(command);
}

#define WIRE_CUT	"ip neigh replace %s dev " VETH_DEV \
			" lladdr 02:00:00:00:00:99 nud permanent"

/*
 * Have the far end send its frames for the near one to an address of no device,
 * until wire_mend(). The devices stay up.
 */
static inline int wire_cut_far(const FIXTURE_VARIANT(wire) *variant)
{
	return veth_cross() || wire_neighbour(variant->a, WIRE_CUT) ||
	       veth_back();
}

/* The same for both ends. */
static inline int wire_cut(const FIXTURE_VARIANT(wire) *variant)
{
	return wire_neighbour(variant->b, WIRE_CUT) || wire_cut_far(variant);
}

static inline int wire_mend(const FIXTURE_VARIANT(wire) *variant)
{
	static const char action[] = "ip neigh del %s dev " VETH_DEV;

	return wire_neighbour(variant->b, action) || veth_cross() ||
	       wire_neighbour(variant->a, action) || veth_back();
}

/* The far namespace has ended when its device has, with the near one. */
static inline bool wire_far_ends(unsigned int patience)
{
	long end = now_ms() + patience;

	while (if_nametoindex(VETH_DEV)) {
		if (now_ms() > end)
			return false;
		usleep(10000);
	}
	return true;
}

/*
 * For how many milliseconds the path itself stands an interruption. A test that
 * ends one may need more, as a slow host takes long to end it; but what a test
 * leaves behind keeps the transport in use for as long.
 */
#ifndef WIRE_PATIENCE
#define WIRE_PATIENCE	"10000"
#endif

FIXTURE_SETUP(wire)
{
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, ERR(veth_setup()));
	ASSERT_EQ(0, rds_sysctl_set("tcp/user_timeout_ms", WIRE_PATIENCE));
	ASSERT_EQ(0, veth_cross());
	ASSERT_EQ(0, rds_sysctl_set("tcp/user_timeout_ms", WIRE_PATIENCE));
	self->listener = stream_listener(variant->b, 0);
	ASSERT_EQ(0, veth_back());
	ASSERT_LE(0, self->listener);
	self->name = rds_sockname(self->listener);
	self->a = stream_socket(variant->a);
	ASSERT_LE(0, self->a);
	ASSERT_EQ(0, ERR(rds_connect(self->a, self->name)));
	self->b = stream_accept(self->listener);
	ASSERT_LE(0, self->b);
}

FIXTURE_TEARDOWN(wire)
{
	close(self->a);
	close(self->b);
	close(self->listener);
}

#endif /* RDS_STREAM_WIRE_H */
