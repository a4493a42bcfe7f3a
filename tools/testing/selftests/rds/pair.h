/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of most tests: two bound sockets that can reach each other,
 * bound to ports of the kernel's choice. Each test runs once for every
 * transport and address family listed here; a transport joins by adding its
 * addresses.
 */
#ifndef RDS_PAIR_H
#define RDS_PAIR_H

#include "harness.h"

FIXTURE(pair) {
	int a;
	int b;
	struct rds_name a_name;
	struct rds_name b_name;
};

FIXTURE_VARIANT(pair) {
	const char *a;		/* address of socket a */
	const char *b;		/* address of socket b */
	const char *stranger;	/* same family, on no host */
	int transport;		/* what SO_RDS_TRANSPORT tells of them */
	const char *name;	/* what RDS_INFO_CONNECTIONS calls it */
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

static inline void pair_open(struct __test_metadata *_metadata,
			     FIXTURE_DATA(pair) *self,
			     const FIXTURE_VARIANT(pair) *variant)
{
	self->a = rds_bound(variant->a, 0);
	ASSERT_LE(0, self->a);
	self->b = rds_bound(variant->b, 0);
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
	pair_open(_metadata, self, variant);
}

FIXTURE_SETUP(pair)
{
	pair_open(_metadata, self, variant);
}

FIXTURE_TEARDOWN(pair)
{
	close(self->a);
	close(self->b);
}

#endif /* RDS_PAIR_H */
