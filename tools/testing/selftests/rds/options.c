// SPDX-License-Identifier: GPL-2.0
/* Socket options at level SOL_RDS, and levels that RDS does not support */
#include "cgroup.h"
#include "pair.h"
#include "solo.h"

#include <netinet/tcp.h>

#ifndef SO_RESERVE_MEM
#define SO_RESERVE_MEM 73
#endif

#define RDS_BARRIER 4

static long set(int fd, int option, const void *value, socklen_t len)
{
	return ERR(setsockopt(fd, SOL_RDS, option, value, len));
}

static long get(int fd, int option, void *value, socklen_t *len)
{
	return ERR(getsockopt(fd, SOL_RDS, option, value, len));
}

static long get_int(int fd, int option)
{
	return rds_get(fd, SOL_RDS, option);
}

TEST_F(solo, unknown_options)
{
	static const int unknown[] = {
		0, RDS_BARRIER, 9, 11, 12, 99, -1, RDS_INFO_FIRST - 1,
		RDS_INFO_LAST + 1,
	};
	char value[64] = {};
	socklen_t len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		EXPECT_EQ(-ENOPROTOOPT, set(self->fd, unknown[i], value, 4))
			TH_LOG("option %d", unknown[i]);
		len = 4;
		EXPECT_EQ(-ENOPROTOOPT, get(self->fd, unknown[i], value, &len))
			TH_LOG("option %d", unknown[i]);
	}
}

TEST_F(solo, unknown_levels)
{
	int one = 1;
	socklen_t len = sizeof(one);

	EXPECT_EQ(-ENOPROTOOPT, ERR(setsockopt(self->fd, IPPROTO_IP, IP_TOS,
					       &one, sizeof(one))));
	EXPECT_EQ(-ENOPROTOOPT, ERR(setsockopt(self->fd, IPPROTO_TCP,
					       TCP_NODELAY, &one,
					       sizeof(one))));
	EXPECT_EQ(-ENOPROTOOPT, ERR(getsockopt(self->fd, IPPROTO_TCP,
					       TCP_NODELAY, &one, &len)));
	EXPECT_EQ(-ENOPROTOOPT, ERR(getsockopt(self->fd, SOL_RDS + 1,
					       RDS_RECVERR, &one, &len)));
}

TEST_F(solo, options_that_can_only_be_set)
{
	static const int only_set[] = {
		RDS_CANCEL_SENT_TO, RDS_GET_MR, RDS_FREE_MR,
		RDS_GET_MR_FOR_DEST, SO_RDS_MSG_RXPATH_LATENCY,
	};
	char value[256];
	socklen_t len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(only_set); i++) {
		len = sizeof(value);
		EXPECT_EQ(-ENOPROTOOPT,
			  get(self->fd, only_set[i], value, &len));
	}
}

TEST_F(solo, info_lists_cannot_be_set)
{
	int value = 0;
	int option;

	for (option = RDS_INFO_FIRST; option <= RDS_INFO_LAST; option++)
		EXPECT_EQ(-ENOPROTOOPT, set(self->fd, option, &value, 4));
}

TEST_F(solo, recverr_is_a_boolean)
{
	EXPECT_EQ(0, get_int(self->fd, RDS_RECVERR));
	EXPECT_EQ(0, ERR(rds_set(self->fd, SOL_RDS, RDS_RECVERR, 1)));
	EXPECT_EQ(1, get_int(self->fd, RDS_RECVERR));
	EXPECT_EQ(0, ERR(rds_set(self->fd, SOL_RDS, RDS_RECVERR, 5)));
	EXPECT_EQ(1, get_int(self->fd, RDS_RECVERR));
	EXPECT_EQ(0, ERR(rds_set(self->fd, SOL_RDS, RDS_RECVERR, 0)));
	EXPECT_EQ(0, get_int(self->fd, RDS_RECVERR));
}

TEST_F(solo, recverr_sizes)
{
	char value[16] = { 1 };
	socklen_t len;

	for (len = 0; len < 4; len++)
		EXPECT_EQ(-EINVAL, set(self->fd, RDS_RECVERR, value, len));
	EXPECT_EQ(0, get_int(self->fd, RDS_RECVERR));
	EXPECT_EQ(0, set(self->fd, RDS_RECVERR, value, sizeof(value)));
	EXPECT_EQ(1, get_int(self->fd, RDS_RECVERR));

	len = 3;
	EXPECT_EQ(-EINVAL, get(self->fd, RDS_RECVERR, value, &len));
	memset(value, 0xa5, sizeof(value));
	len = sizeof(value);
	EXPECT_EQ(0, get(self->fd, RDS_RECVERR, value, &len));
	EXPECT_EQ(4, len);
	EXPECT_EQ((char)0xa5, value[4]);
}

TEST_F(solo, bad_pointers)
{
	char *bad = (char *)8;
	socklen_t len = 4;

	EXPECT_EQ(-EFAULT, set(self->fd, RDS_RECVERR, bad, 4));
	EXPECT_EQ(-EFAULT, get(self->fd, RDS_RECVERR, bad, &len));
	EXPECT_EQ(-EFAULT, set(self->fd, RDS_CONG_MONITOR, bad, 4));
	EXPECT_EQ(-EFAULT, set(self->fd, RDS_CONG_MONITOR, bad, 8));
	EXPECT_EQ(-EFAULT, set(self->fd, SO_RDS_TRANSPORT, bad, 4));
	EXPECT_EQ(-EFAULT, get(self->fd, SO_RDS_TRANSPORT, bad, &len));
	EXPECT_EQ(-EFAULT, set(self->fd, SO_RDS_MSG_RXPATH_LATENCY, bad, 4));
	EXPECT_EQ(-EFAULT, get(self->fd, RDS_RECVERR, &len, (void *)8));
}

TEST_F(solo, negative_length)
{
	int value = 1;
	socklen_t len = -1;

	EXPECT_EQ(-EINVAL, set(self->fd, RDS_RECVERR, &value, -1));
	EXPECT_EQ(-EINVAL, get(self->fd, RDS_RECVERR, &value, &len));
	EXPECT_EQ(-EINVAL, get(self->fd, SO_RDS_TRANSPORT, &value, &len));
}

TEST_F(solo, transport_of_an_unbound_socket)
{
	EXPECT_EQ(-1, get_int(self->fd, SO_RDS_TRANSPORT));
}

TEST_F(pair, transport_of_a_bound_socket)
{
	EXPECT_EQ(variant->transport, get_int(self->a, SO_RDS_TRANSPORT));
	EXPECT_EQ(variant->transport, get_int(self->b, SO_RDS_TRANSPORT));
}

TEST_F(pair, transport_sizes)
{
	char value[16];
	socklen_t len = 3;

	EXPECT_EQ(-EINVAL, get(self->a, SO_RDS_TRANSPORT, value, &len));
	memset(value, 0xa5, sizeof(value));
	len = sizeof(value);
	EXPECT_EQ(0, get(self->a, SO_RDS_TRANSPORT, value, &len));
	EXPECT_EQ(4, len);
	EXPECT_EQ((char)0xa5, value[4]);
}

TEST_F(solo, transport_set_sizes)
{
	char value[8] = { RDS_TRANS_TCP };

	EXPECT_EQ(-EINVAL, set(self->fd, SO_RDS_TRANSPORT, value, 0));
	EXPECT_EQ(-EINVAL, set(self->fd, SO_RDS_TRANSPORT, value, 3));
	EXPECT_EQ(-EINVAL, set(self->fd, SO_RDS_TRANSPORT, value, 5));
	EXPECT_EQ(-EINVAL, set(self->fd, SO_RDS_TRANSPORT, value, 8));
}

TEST_F(solo, transport_that_cannot_be_chosen)
{
	static const int values[] = {
		RDS_TRANS_LOOP, 4, 100, -1, -2, INT32_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		EXPECT_EQ(-EINVAL, ERR(rds_set(self->fd, SOL_RDS,
					       SO_RDS_TRANSPORT, values[i])));
	/* A transport that has a name and a number, but never had a module */
	EXPECT_EQ(-ENOPROTOOPT, ERR(rds_set(self->fd, SOL_RDS,
					    SO_RDS_TRANSPORT,
					    RDS_TRANS_GAP)));
	EXPECT_EQ(-1, get_int(self->fd, SO_RDS_TRANSPORT));
}

/* The transport is either present and chosen, or absent and refused. */
TEST_F(solo, transport_without_its_module)
{
	long ret;

	ret = ERR(rds_set(self->fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	if (rds_module_loaded("rds_tcp")) {
		EXPECT_EQ(0, ret);
		EXPECT_EQ(RDS_TRANS_TCP, get_int(self->fd, SO_RDS_TRANSPORT));
	} else {
		EXPECT_EQ(-ENOPROTOOPT, ret);
		EXPECT_EQ(-1, get_int(self->fd, SO_RDS_TRANSPORT));
	}
}

TEST(transport_ib_without_its_module)
{
	long ret;
	int fd;

	ASSERT_EQ(0, ERR(rds_initial_netns()));
	fd = rds_socket();
	ret = ERR(rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB));
	EXPECT_EQ(rds_module_loaded("rds_rdma") ? 0 : -ENOPROTOOPT, ret);
	close(fd);
}

/*
 * RDMA devices serve the initial network namespace only, and this is another
 * one.
 */
TEST_F(solo, transport_ib_outside_the_initial_namespace)
{
	EXPECT_EQ(-EPROTOTYPE, ERR(rds_set(self->fd, SOL_RDS, SO_RDS_TRANSPORT,
					   RDS_TRANS_IB)));
	EXPECT_EQ(-1, get_int(self->fd, SO_RDS_TRANSPORT));
}

TEST_F(pair, transport_of_a_bound_socket_is_fixed)
{
	EXPECT_EQ(-EOPNOTSUPP, ERR(rds_set(self->a, SOL_RDS, SO_RDS_TRANSPORT,
					   RDS_TRANS_TCP)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(rds_set(self->a, SOL_RDS, SO_RDS_TRANSPORT,
					   RDS_TRANS_IB)));
	EXPECT_EQ(variant->transport, get_int(self->a, SO_RDS_TRANSPORT));
}

TEST_F(solo, rxpath_latency_bounds)
{
	struct rds_rx_trace_so trace = { .rx_traces = 3,
					 .rx_trace_pos = { 0, 1, 2 } };
	int option = SO_RDS_MSG_RXPATH_LATENCY;

	EXPECT_EQ(0, set(self->fd, option, &trace, sizeof(trace)));
	trace.rx_traces = 4;
	EXPECT_EQ(-EFAULT, set(self->fd, option, &trace, sizeof(trace)));
	trace.rx_traces = 255;
	EXPECT_EQ(-EFAULT, set(self->fd, option, &trace, sizeof(trace)));
	trace.rx_traces = 1;
	trace.rx_trace_pos[0] = RDS_MSG_RX_DGRAM_TRACE_MAX;
	EXPECT_EQ(-EFAULT, set(self->fd, option, &trace, sizeof(trace)));
	trace.rx_trace_pos[0] = 255;
	EXPECT_EQ(-EFAULT, set(self->fd, option, &trace, sizeof(trace)));
	trace.rx_traces = 0;
	EXPECT_EQ(0, set(self->fd, option, &trace, sizeof(trace)));
}

TEST_F(solo, rxpath_latency_sizes)
{
	char value[8] = {};

	EXPECT_EQ(-EFAULT, set(self->fd, SO_RDS_MSG_RXPATH_LATENCY, value, 3));
	EXPECT_EQ(-EFAULT, set(self->fd, SO_RDS_MSG_RXPATH_LATENCY, value, 5));
}

TEST_F(solo, timestamp_at_sol_rds)
{
	char value[8] = { 1 };

	EXPECT_EQ(0, set(self->fd, SO_TIMESTAMP_OLD, value, 4));
	EXPECT_EQ(0, set(self->fd, SO_TIMESTAMP_NEW, value, 4));
	EXPECT_EQ(-EFAULT, set(self->fd, SO_TIMESTAMP_OLD, value, 3));
	EXPECT_EQ(-EFAULT, set(self->fd, SO_TIMESTAMP_NEW, value, 8));
}

TEST_F(solo, zerocopy_can_be_enabled)
{
	EXPECT_EQ(0, ERR(rds_set(self->fd, SOL_SOCKET, SO_ZEROCOPY, 1)));
	EXPECT_EQ(1, rds_get(self->fd, SOL_SOCKET, SO_ZEROCOPY));
	EXPECT_EQ(0, ERR(rds_set(self->fd, SOL_SOCKET, SO_ZEROCOPY, 0)));
	EXPECT_EQ(0, rds_get(self->fd, SOL_SOCKET, SO_ZEROCOPY));
}

#define GROUP CGROUP_ROOT "/rds-options"

/*
 * Reserved memory would stay charged to the cgroup of the socket. It would also
 * be counted together with unread messages, but under another lock.
 */
TEST_F(solo, memory_cannot_be_reserved)
{
	int fd, value = 1 << 20;

	ASSERT_EQ(0, cgroup_enter(GROUP));
	fd = rds_socket();
	EXPECT_EQ(-EOPNOTSUPP, ERR(setsockopt(fd, SOL_SOCKET, SO_RESERVE_MEM,
					      &value, sizeof(value))));
	/* The other options of that level work as before. */
	EXPECT_EQ(0, rds_set(fd, SOL_SOCKET, SO_RCVBUF, 100000));
	EXPECT_EQ(200000, rds_get(fd, SOL_SOCKET, SO_RCVBUF));
	EXPECT_EQ(-ENOPROTOOPT, ERR(setsockopt(fd, SOL_SOCKET, 9999, &value,
					       sizeof(value))));
	close(fd);
	ASSERT_EQ(0, cgroup_leave());
	EXPECT_EQ(0, rmdir(GROUP));
}

TEST_F(solo, get_mr_sizes)
{
	char value[512] = {};
	size_t size = sizeof(struct rds_get_mr_args);

	EXPECT_EQ(-EINVAL, set(self->fd, RDS_GET_MR, value, size - 1));
	EXPECT_EQ(-EINVAL, set(self->fd, RDS_GET_MR, value, size + 1));
	size = sizeof(struct rds_get_mr_for_dest_args);
	EXPECT_EQ(-EINVAL,
		  set(self->fd, RDS_GET_MR_FOR_DEST, value, size - 1));
	EXPECT_EQ(-EINVAL,
		  set(self->fd, RDS_GET_MR_FOR_DEST, value, size + 1));
	size = sizeof(struct rds_free_mr_args);
	EXPECT_EQ(-EINVAL, set(self->fd, RDS_FREE_MR, value, size - 1));
	EXPECT_EQ(-EINVAL, set(self->fd, RDS_FREE_MR, value, size + 1));
}

static char region[4096];
static uint64_t cookie;

static struct rds_get_mr_args region_args(void)
{
	return (struct rds_get_mr_args) {
		.vec.addr = (uintptr_t)region,
		.vec.bytes = sizeof(region),
		.cookie_addr = (uintptr_t)&cookie,
	};
}

TEST_F(solo, get_mr_unbound)
{
	struct rds_get_mr_for_dest_args dest = {};
	struct rds_get_mr_args args = region_args();

	dest.vec = args.vec;
	dest.cookie_addr = args.cookie_addr;
	EXPECT_EQ(-ENOTCONN, set(self->fd, RDS_GET_MR, &args, sizeof(args)));
	EXPECT_EQ(-ENOTCONN,
		  set(self->fd, RDS_GET_MR_FOR_DEST, &dest, sizeof(dest)));
}

TEST_F(pair, get_mr)
{
	struct rds_get_mr_for_dest_args dest = {};
	struct rds_get_mr_args args = region_args();

	dest.vec = args.vec;
	dest.cookie_addr = args.cookie_addr;
	memcpy(&dest.dest_addr, &self->b_name.ss, self->b_name.len);
	EXPECT_EQ(0, set(self->a, RDS_GET_MR, &args, sizeof(args)));
	EXPECT_EQ(0,
		  set(self->a, RDS_GET_MR_FOR_DEST, &dest, sizeof(dest)));
	EXPECT_NE(0, cookie);
	EXPECT_EQ(-EINVAL, set(self->a, RDS_GET_MR, &args, sizeof(args) - 8));
	EXPECT_EQ(-EINVAL, set(self->a, RDS_GET_MR_FOR_DEST, &dest,
			       sizeof(dest) + 8));
}

TEST_F(pair, free_mr_of_nobody)
{
	struct rds_free_mr_args args = {};

	/*
	 * Cookie 0 frees the regions that are no longer used. There are none.
	 */
	EXPECT_EQ(0, set(self->a, RDS_FREE_MR, &args, sizeof(args)));
	args.cookie = 0x1234567800000000;
	EXPECT_EQ(-EINVAL, set(self->a, RDS_FREE_MR, &args, sizeof(args)));
}

TEST_F(solo, free_mr_unbound)
{
	struct rds_free_mr_args args = { .cookie = 1 };

	EXPECT_EQ(-EINVAL, set(self->fd, RDS_FREE_MR, &args, sizeof(args)));
	args.cookie = 0;
	EXPECT_EQ(-EINVAL, set(self->fd, RDS_FREE_MR, &args, sizeof(args)));
}

TEST_HARNESS_MAIN
