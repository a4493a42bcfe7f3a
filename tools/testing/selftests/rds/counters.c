// SPDX-License-Identifier: GPL-2.0
/*
 * RDS_INFO_COUNTERS: the names of the counters, their order, and that they
 * count
 */
#include "pair.h"
#include "solo.h"

static const char *const core_names[] = {
	"conn_reset", "recv_drop_bad_checksum", "recv_drop_old_seq",
	"recv_drop_no_sock", "recv_drop_dead_sock", "recv_deliver_raced",
	"recv_delivered", "recv_queued", "recv_immediate_retry",
	"recv_delayed_retry", "recv_ack_required", "recv_rdma_bytes",
	"recv_ping", "send_queue_empty", "send_queue_full",
	"send_lock_contention", "send_lock_queue_raced",
	"send_immediate_retry", "send_delayed_retry", "send_drop_acked",
	"send_ack_required", "send_queued", "send_rdma", "send_rdma_bytes",
	"send_pong", "page_remainder_hit", "page_remainder_miss",
	"copy_to_user", "copy_from_user", "cong_update_queued",
	"cong_update_received", "cong_send_error", "cong_send_blocked",
	"recv_bytes_added_to_sock", "recv_bytes_freed_fromsock",
	"send_stuck_rm", "mprds_catchup_tx0_retries", "send_drop_restarted",
	"recv_path_stopped", "conn_refused_net", "conn_refused_user",
	"recv_ping_limited", "send_parked", "send_coalesced",
};

#define CORE	ARRAY_SIZE(core_names)
/* The counters of the stock kernel and, after them, ib_rx_repeated */
#define IB	40
#define TCP	6
#define STREAM	5

static struct rds_info_counter counters[256];
static char buf[8192];

static size_t read_counters(struct __test_metadata *_metadata, int fd)
{
	socklen_t len = sizeof(counters);

	memset(counters, 0xa5, sizeof(counters));
	EXPECT_EQ(40, ERR(getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, counters,
				     &len)));
	EXPECT_EQ(0, len % 40);
	return len / 40;
}

TEST_F(solo, core_names_in_order)
{
	size_t i;

	ASSERT_LE(CORE, read_counters(_metadata, self->fd));
	for (i = 0; i < CORE; i++)
		EXPECT_STREQ(core_names[i], (char *)counters[i].name);
}

TEST_F(solo, names_are_padded_with_zeros)
{
	size_t i, j, count = read_counters(_metadata, self->fd);

	for (i = 0; i < count; i++) {
		j = strnlen((char *)counters[i].name, 32);
		ASSERT_GT(32, j);
		for (; j < 32; j++)
			EXPECT_EQ(0, counters[i].name[j]);
	}
}

/*
 * The counters of each loaded transport follow, InfiniBand before TCP, and then
 * those of streams.
 */
TEST_F(solo, blocks_of_loaded_transports)
{
	size_t count = read_counters(_metadata, self->fd);
	bool ib = rds_module_loaded("rds_rdma");
	bool tcp = rds_module_loaded("rds_tcp");
	bool stream = rds_module_loaded("rds_stream");

	if (stream) {
		ASSERT_LE(CORE + STREAM, count);
		count -= STREAM;
		EXPECT_STREQ("stream_closed_limited",
			     (char *)counters[count].name);
	}
	EXPECT_EQ(CORE + (ib ? IB : 0) + (tcp ? TCP : 0), count);
	if (ib) {
		EXPECT_STREQ("ib_connect_raced",
			     (char *)counters[CORE].name);
		EXPECT_STREQ("ib_rx_repeated",
			     (char *)counters[CORE + IB - 1].name);
	}
	if (tcp) {
		EXPECT_STREQ("tcp_data_ready_calls",
			     (char *)counters[count - TCP].name);
	}
}

TEST_F(solo, probing)
{
	size_t count = read_counters(_metadata, self->fd);
	socklen_t len = 0;

	EXPECT_EQ(-ENOSPC, ERR(getsockopt(self->fd, SOL_RDS,
					  RDS_INFO_COUNTERS, NULL, &len)));
	EXPECT_EQ(40 * count, len);
}

TEST_F(solo, a_block_that_does_not_fit_is_left_out)
{
	size_t count = read_counters(_metadata, self->fd);
	socklen_t len = 40 * CORE - 1;

	memset(counters, 0xa5, sizeof(counters));
	EXPECT_EQ(-ENOSPC, ERR(getsockopt(self->fd, SOL_RDS,
					  RDS_INFO_COUNTERS, counters,
					  &len)));
	EXPECT_EQ(40 * count, len);
	EXPECT_EQ(0xa5, counters[0].name[0]);
}

TEST_F(pair, messages_are_counted)
{
	int64_t queued = rds_counter(self->a, "send_queued");
	int64_t delivered = rds_counter(self->b, "recv_delivered");
	int i;

	ASSERT_LE(0, queued);
	ASSERT_LE(0, delivered);

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0,
					    &self->b_name)));
		ASSERT_EQ(3, ERR(rds_recv(self->b, buf, sizeof(buf))));
	}
	EXPECT_LE(queued + 10, rds_counter(self->a, "send_queued"));
	EXPECT_LE(delivered + 10, rds_counter(self->b, "recv_delivered"));
}

TEST_F(pair, bytes_are_counted)
{
	int64_t from = rds_counter(self->a, "copy_from_user");
	int64_t to = rds_counter(self->b, "copy_to_user");
	int64_t added = rds_counter(self->b, "recv_bytes_added_to_sock");
	int64_t freed = rds_counter(self->b, "recv_bytes_freed_fromsock");

	ASSERT_EQ(5000, ERR(rds_sendto(self->a, buf, 5000, 0,
				       &self->b_name)));
	ASSERT_EQ(5000, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_LE(from + 5000, rds_counter(self->a, "copy_from_user"));
	EXPECT_LE(to + 5000, rds_counter(self->b, "copy_to_user"));
	EXPECT_LE(added + 5000,
		  rds_counter(self->b, "recv_bytes_added_to_sock"));
	EXPECT_LE(freed + 5000,
		  rds_counter(self->b, "recv_bytes_freed_fromsock"));
}

TEST_F(pair, drops_are_counted)
{
	int fd = pair_far_bound(variant, 0);
	int64_t drops = rds_counter(fd, "recv_drop_no_sock");

	close(self->b);
	self->b = -1;
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_TRUE(rds_await_counter(fd, "recv_drop_no_sock", drops + 1));
	close(fd);
}

TEST_F(pair, pings_are_counted)
{
	int64_t pings = rds_counter(self->b, "recv_ping");
	int64_t pongs = rds_counter(self->b, "send_pong");
	struct rds_name ping = rds_name(variant->b, 0);

	ASSERT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &ping)));
	ASSERT_EQ(0, ERR(rds_recv(self->a, buf, sizeof(buf))));
	EXPECT_LT(pings, rds_counter(self->b, "recv_ping"));
	EXPECT_LT(pongs, rds_counter(self->b, "send_pong"));
}

TEST_F(pair, refused_sends_are_counted)
{
	int64_t errors = rds_counter(self->a, "cong_send_error");

	ASSERT_EQ(0, rds_rcvbuf(self->b, 4096));
	ASSERT_EQ(4096, ERR(rds_sendto(self->a, buf, 4096, 0,
				       &self->b_name)));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
	ASSERT_EQ(-ENOBUFS, ERR(rds_sendto(self->a, buf, 1, MSG_DONTWAIT,
					   &self->b_name)));
	EXPECT_LT(errors, rds_counter(self->a, "cong_send_error"));
}

TEST_F(pair, blocked_sends_are_counted)
{
	int64_t blocked = rds_counter(self->a, "cong_send_blocked");

	ASSERT_EQ(0, rds_rcvbuf(self->b, 4096));
	ASSERT_EQ(4096, ERR(rds_sendto(self->a, buf, 4096, 0,
				       &self->b_name)));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_SNDTIMEO, 1));
	ASSERT_EQ(-ETIMEDOUT, ERR(rds_sendto(self->a, buf, 1, 0,
					     &self->b_name)));
	EXPECT_LT(blocked, rds_counter(self->a, "cong_send_blocked"));
}

TEST_HARNESS_MAIN
