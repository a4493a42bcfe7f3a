// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over RDMA devices: events of a port that is up all the time
 */
#include "verbs.h"

/*
 * Any change of an interface whose link is up makes soft-RoCE report that the
 * port has come up. A connection that has completions outstanding then, but
 * makes progress, stays.
 */
TEST_F(rdma, port_comes_up_again_under_traffic)
{
	struct flow flow;
	char change[64];
	int64_t resets;
	unsigned int i;

	ASSERT_EQ(0, spare_add());
	ASSERT_TRUE(flow_start(&flow));
	ASSERT_TRUE(flow_goes_on(&flow, 50));
	resets = rds_counter(self->a, "conn_reset");
	for (i = 0; i < 10; i++) {
		snprintf(change, sizeof(change),
			 "ip link set " SPARE_DEV " alias n%u", i);
		EXPECT_EQ(0, system(change));
		usleep(300000);
	}
	EXPECT_TRUE(flow_goes_on(&flow, 50));
	EXPECT_EQ(resets, rds_counter(self->a, "conn_reset"));
	EXPECT_EQ(0, flow_end(&flow));
}

TEST_HARNESS_MAIN
