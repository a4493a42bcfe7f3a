// SPDX-License-Identifier: GPL-2.0
/*
 * Whether an address belongs to an iWARP device is determined in another way
 * than for other devices. In software, only kernels with soft-iWARP have such a
 * device.
 */
#include "verbs.h"

#define SPARE_SIW "siw1"

static bool siw_add(void)
{
	system("modprobe -q siw");
	return !nldev_add(SPARE_SIW, "siw", SPARE_DEV);
}

/* Before there is any iWARP device, beside one, and after it was removed */
TEST_F(rdma, cve_2014_2678_bind_beside_an_iwarp_device)
{
	nldev_del(SPARE_SIW);
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A));
	if (!siw_add())
		SKIP(return, "this kernel has no soft-iWARP");
	EXPECT_EQ(0, rdma_bind(SPARE_A));
	EXPECT_EQ(0, rdma_bind(SPARE_B));
	/* On such a device only IPv4 addresses are served. */
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A_IPV6));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("127.0.0.1"));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("::1"));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("198.51.100.1"));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("2001:db8::1"));
	/* The addresses of the other device have not changed. */
	EXPECT_EQ(0, rdma_bind(ROCE_NEAR_IPV4));
	EXPECT_EQ(0, rdma_bind(ROCE_NEAR_IPV6));
	EXPECT_EQ(0, nldev_del(SPARE_SIW));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A_IPV6));
}

TEST_HARNESS_MAIN
