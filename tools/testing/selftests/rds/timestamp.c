// SPDX-License-Identifier: GPL-2.0
/* Control messages that come with data: timestamps and receive latency */
#include "pair.h"

#include <sys/time.h>
#include <time.h>

static char received[4096];

/* The layout of a timestamp of the new form, the same on 64-bit and 32-bit */
struct new_timeval {
	int64_t sec;
	int64_t usec;
};

static bool is_now(int64_t sec, int64_t usec)
{
	time_t now = time(NULL);

	return sec <= now + 1 && sec >= now - 600 &&
	       usec >= 0 && usec < 1000000;
}

static void receive(struct __test_metadata *_metadata,
		    FIXTURE_DATA(pair) *self, struct rds_msg *msg, int flags)
{
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_EQ(3, ERR(rds_msg_recv(self->b, msg, received, 100, flags)));
}

TEST_F(pair, timestamp_old)
{
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	struct timeval tv;

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 1));
	receive(_metadata, self, &msg, 0);
	EXPECT_EQ(1, rds_msg_count(&msg));
	cmsg = rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP_OLD);
	ASSERT_NE(NULL, cmsg);
	ASSERT_EQ(CMSG_LEN(sizeof(tv)), cmsg->cmsg_len);
	memcpy(&tv, CMSG_DATA(cmsg), sizeof(tv));
	EXPECT_TRUE(is_now(tv.tv_sec, tv.tv_usec));
}

TEST_F(pair, timestamp_new)
{
	struct new_timeval tv;
	struct cmsghdr *cmsg;
	struct rds_msg msg;

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_NEW, 1));
	receive(_metadata, self, &msg, 0);
	EXPECT_EQ(1, rds_msg_count(&msg));
	cmsg = rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP_NEW);
	ASSERT_NE(NULL, cmsg);
	ASSERT_EQ(CMSG_LEN(sizeof(tv)), cmsg->cmsg_len);
	memcpy(&tv, CMSG_DATA(cmsg), sizeof(tv));
	EXPECT_TRUE(is_now(tv.sec, tv.usec));
}

TEST_F(pair, timestamp_in_nanoseconds)
{
	static const int options[] = { SO_TIMESTAMPNS_OLD, SO_TIMESTAMPNS_NEW };
	struct {
		int64_t sec;
		int64_t nsec;
	} new;
	struct cmsghdr *cmsg;
	struct timespec old;
	struct rds_msg msg;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, options[i], 1));
		receive(_metadata, self, &msg, 0);
		EXPECT_EQ(1, rds_msg_count(&msg));
		cmsg = rds_msg_find(&msg, SOL_SOCKET, options[i]);
		ASSERT_NE(NULL, cmsg);
		if (options[i] == SO_TIMESTAMPNS_OLD) {
			ASSERT_EQ(CMSG_LEN(sizeof(old)), cmsg->cmsg_len);
			memcpy(&old, CMSG_DATA(cmsg), sizeof(old));
			EXPECT_TRUE(is_now(old.tv_sec, old.tv_nsec / 1000));
		} else {
			ASSERT_EQ(CMSG_LEN(sizeof(new)), cmsg->cmsg_len);
			memcpy(&new, CMSG_DATA(cmsg), sizeof(new));
			EXPECT_TRUE(is_now(new.sec, new.nsec / 1000));
		}
	}
}

TEST_F(pair, timestamp_at_level_sol_rds)
{
	struct rds_msg msg;

	ASSERT_EQ(0, rds_set(self->b, SOL_RDS, SO_TIMESTAMP_OLD, 1));
	receive(_metadata, self, &msg, 0);
	EXPECT_NE(NULL, rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP_OLD));
	ASSERT_EQ(0, rds_set(self->b, SOL_RDS, SO_TIMESTAMP_NEW, 1));
	receive(_metadata, self, &msg, 0);
	EXPECT_NE(NULL, rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP_NEW));
}

TEST_F(pair, timestamp_switched_off)
{
	struct rds_msg msg;

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 1));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 0));
	receive(_metadata, self, &msg, 0);
	EXPECT_EQ(0, rds_msg_count(&msg));
}

/* The timestamp is that of the arrival, so two reads return the same. */
TEST_F(pair, timestamp_of_a_peeked_message)
{
	struct rds_msg peeked, msg;

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 1));
	receive(_metadata, self, &peeked, MSG_PEEK);
	ASSERT_EQ(3, ERR(rds_msg_recv(self->b, &msg, received, 100, 0)));
	ASSERT_EQ(1, rds_msg_count(&msg));
	EXPECT_EQ(0, memcmp(peeked.control, msg.control,
			    CMSG_LEN(sizeof(struct timeval))));
}

TEST_F(pair, no_room_for_the_timestamp)
{
	struct iovec iov = { received, 100 };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 1));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(3, ERR(recvmsg(self->b, &hdr, 0)));
	EXPECT_EQ(MSG_CTRUNC, hdr.msg_flags);
}

/*
 * A bad control buffer must not leak the received message, or crash the kernel.
 */
TEST_F(pair, bad_control_buffer)
{
	struct iovec iov = { received, 100 };
	struct msghdr hdr = {};
	int i;

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 1));
	for (i = 0; i < 5; i++) {
		hdr = (struct msghdr) {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = (void *)8, .msg_controllen = 100,
		};
		ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0,
					    &self->b_name)));
		ASSERT_TRUE(rds_arrived(self->b));
		EXPECT_EQ(-EFAULT, ERR(recvmsg(self->b, &hdr, MSG_DONTWAIT)));
		rds_drain(self->b);
	}
}

static int set_latency(int fd, int count, const char *pos)
{
	struct rds_rx_trace_so trace = { .rx_traces = count };

	memcpy(trace.rx_trace_pos, pos, count);
	return setsockopt(fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &trace,
			  sizeof(trace));
}

TEST_F(pair, latency_of_every_point)
{
	struct rds_cmsg_rx_trace trace;
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	int i;

	ASSERT_EQ(0, set_latency(self->b, 3, "\0\1\2"));
	receive(_metadata, self, &msg, 0);
	EXPECT_EQ(1, rds_msg_count(&msg));
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	ASSERT_NE(NULL, cmsg);
	ASSERT_EQ(CMSG_LEN(sizeof(trace)), cmsg->cmsg_len);
	memcpy(&trace, CMSG_DATA(cmsg), sizeof(trace));
	EXPECT_EQ(3, trace.rx_traces);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(i, trace.rx_trace_pos[i]);
		/* It is a difference of two timestamps, so below an hour. */
		EXPECT_GT(3600ull * 1000000000, trace.rx_trace[i]);
	}
}

TEST_F(pair, latency_of_chosen_points)
{
	struct rds_cmsg_rx_trace trace;
	struct cmsghdr *cmsg;
	struct rds_msg msg;

	ASSERT_EQ(0, set_latency(self->b, 2, "\2\0"));
	receive(_metadata, self, &msg, 0);
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	ASSERT_NE(NULL, cmsg);
	ASSERT_EQ(CMSG_LEN(sizeof(trace)), cmsg->cmsg_len);
	memcpy(&trace, CMSG_DATA(cmsg), sizeof(trace));
	EXPECT_EQ(2, trace.rx_traces);
	EXPECT_EQ(2, trace.rx_trace_pos[0]);
	EXPECT_EQ(0, trace.rx_trace_pos[1]);
	/* Points that were not requested are zero, not stale memory. */
	EXPECT_EQ(0, trace.rx_trace_pos[2]);
	EXPECT_EQ(0, trace.rx_trace[2]);
}

TEST_F(pair, latency_switched_off)
{
	struct rds_msg msg;

	ASSERT_EQ(0, set_latency(self->b, 3, "\0\1\2"));
	ASSERT_EQ(0, set_latency(self->b, 0, ""));
	receive(_metadata, self, &msg, 0);
	EXPECT_EQ(0, rds_msg_count(&msg));
}

TEST_F(pair, timestamp_comes_before_latency)
{
	struct cmsghdr *cmsg;
	struct rds_msg msg;

	ASSERT_EQ(0, set_latency(self->b, 3, "\0\1\2"));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 1));
	receive(_metadata, self, &msg, 0);
	ASSERT_EQ(2, rds_msg_count(&msg));
	cmsg = CMSG_FIRSTHDR(&msg.hdr);
	EXPECT_EQ(SOL_SOCKET, cmsg->cmsg_level);
	EXPECT_EQ(SO_TIMESTAMP_OLD, cmsg->cmsg_type);
	cmsg = CMSG_NXTHDR(&msg.hdr, cmsg);
	EXPECT_EQ(SOL_RDS, cmsg->cmsg_level);
	EXPECT_EQ(RDS_CMSG_RXPATH_LATENCY, cmsg->cmsg_type);
}

TEST_HARNESS_MAIN
