// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications of the end of operations, and all other notifications, and what
 * happens to them if there is too little room
 */
#include "rdma.h"

#include <poll.h>

/*
 * One call returns as many notifications as there is room for, in order. The
 * others stay queued.
 */
TEST_F(pair, told_together)
{
	struct rds_iovec vec = { (uintptr_t)near, 8 };
	struct op op = {
		.vec = &vec, .nr = 1,
		.flags = RDS_RDMA_SILENT | RDS_RDMA_NOTIFY_ME,
	};
	const size_t each = CMSG_SPACE(sizeof(struct rds_rdma_notify));
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	unsigned int i;
	uint64_t token;
	int status;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &op.cookie));
	for (op.token = 0; op.token <= 5; op.token++)
		ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_TRUE(await_told(self->a, 6));
	ASSERT_LT(0, rds_poll(self->a) & POLLIN);

	/* A reader without room loses the first one, but makes progress. */
	rds_msg_init(&msg, payload, 10);
	msg.hdr.msg_control = msg.control;
	msg.hdr.msg_controllen = CMSG_LEN(sizeof(struct rds_rdma_notify)) - 1;
	EXPECT_EQ(0, ERR(recvmsg(self->a, &msg.hdr, 0)));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	/* Room for three: peek, then receive */
	for (i = 0; i < 2; i++) {
		rds_msg_init(&msg, payload, 10);
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen = 3 * each;
		EXPECT_EQ(0, ERR(recvmsg(self->a, &msg.hdr,
					 i ? 0 : MSG_PEEK)));
		EXPECT_EQ(3 * each, msg.hdr.msg_controllen);
		op.token = 1;
		for (cmsg = CMSG_FIRSTHDR(&msg.hdr); cmsg;
		     cmsg = CMSG_NXTHDR(&msg.hdr, cmsg)) {
			ASSERT_TRUE(read_status(cmsg, &token, &status));
			EXPECT_EQ(op.token++, token);
			EXPECT_EQ(RDS_RDMA_SUCCESS, status);
		}
	}
	/* Notifications come before messages. */
	EXPECT_EQ(1, rds_sendto(self->b, "x", 1, 0, &self->a_name));
	EXPECT_TRUE(rds_await_queued(self->a, 1));
	EXPECT_EQ(0, rds_msg_recv(self->a, &msg, payload, 10, 0));
	EXPECT_EQ(2, rds_msg_count(&msg));
	EXPECT_EQ(1, rds_msg_recv(self->a, &msg, payload, 10, 0));
	EXPECT_EQ(0, rds_msg_count(&msg));
}

/* The exact room that each of them needs */
#define STATUS_ROOM	CMSG_LEN(sizeof(struct rds_rdma_notify))
#define CONG_ROOM	CMSG_LEN(sizeof(uint64_t))
#define LATENCY_ROOM	CMSG_LEN(sizeof(struct rds_cmsg_rx_trace))
#define COOKIES_ROOM	CMSG_SPACE(sizeof(struct rds_zcopy_cookies))
#define LATENCY_SPACE	CMSG_SPACE(sizeof(struct rds_cmsg_rx_trace))
#define STATUS_SPACE	CMSG_SPACE(sizeof(struct rds_rdma_notify))

static long take(int fd, struct rds_msg *msg, size_t room, int flags)
{
	rds_msg_init(msg, payload, 10);
	msg->hdr.msg_control = room ? msg->control : NULL;
	msg->hdr.msg_controllen = room;
	return ERR(recvmsg(fd, &msg->hdr, MSG_DONTWAIT | flags));
}

/*
 * Check that @msg has exactly one control message, complete and of type @type.
 */
static bool brings(struct rds_msg *msg, int type)
{
	return !msg->hdr.msg_flags && rds_msg_count(msg) == 1 &&
	       rds_msg_find(msg, SOL_RDS, type);
}

/* The same for two control messages, in this order */
static bool brings_two(struct rds_msg *msg, int first, int second)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg->hdr);

	return !msg->hdr.msg_flags && rds_msg_count(msg) == 2 &&
	       cmsg->cmsg_type == first &&
	       CMSG_NXTHDR(&msg->hdr, cmsg)->cmsg_type == second;
}

/*
 * Queue the completion of a send from user memory. No other notification may be
 * queued at this time.
 */
static void have_a_completion(struct __test_metadata *_metadata,
			      FIXTURE_DATA(pair) *self)
{
	uint32_t cookie = 7;
	struct rds_msg msg;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	rds_msg_init(&msg, near, 5);
	rds_msg_to(&msg, &self->b_name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
		    sizeof(cookie));
	ASSERT_EQ(5, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	ASSERT_EQ(5, rds_recv(self->b, payload, 10));
	ASSERT_EQ(0, rds_msg_recv(self->a, &msg, payload, 10, MSG_PEEK));
	ASSERT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
}

/* Queue a notification that a congested port is free again. */
static void have_news_of_congestion(struct __test_metadata *_metadata,
				    FIXTURE_DATA(pair) *self)
{
	ASSERT_EQ(0, rds_set(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, rds_rcvbuf(self->b, PAGE));
	ASSERT_EQ(PAGE, rds_sendto(self->a, near, PAGE, 0, &self->b_name));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
	ASSERT_EQ(-ENOBUFS, ERR(rds_sendto(self->a, "x", 1, MSG_DONTWAIT,
					   &self->b_name)));
	ASSERT_EQ(PAGE, rds_recv(self->b, payload, PAGE));
	ASSERT_TRUE(pair_await_free(self, &self->b_name));
}

/* Queue every kind of notification at once, with two for operations. */
static void have_all_news(struct __test_metadata *_metadata,
			  FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	struct rds_rx_trace_so so = { .rx_traces = 3, { 0, 1, 2 } };

	have_a_completion(_metadata, self);
	ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, 8,
			  RDS_RDMA_SILENT, 1));
	ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, 8,
			  RDS_RDMA_SILENT, 2));
	ASSERT_TRUE(await_told(self->a, 2));
	ASSERT_EQ(0, setsockopt(self->a, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY,
				&so, sizeof(so)));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_TRUE(rds_await_queued(self->a, 1));
	have_news_of_congestion(_metadata, self);
}

/*
 * Wait for the notification of congestion. It may be queued a moment late. It
 * comes before the message, which is already queued.
 */
static bool await_congestion(int fd)
{
	struct rds_msg msg;
	unsigned int left;

	for (left = 5000; left; left--) {
		if (!take(fd, &msg, sizeof(msg.control), MSG_PEEK))
			return brings(&msg, RDS_CMSG_CONG_UPDATE);
		usleep(1000);
	}
	return false;
}

/*
 * Operations come first, then congestion, then a message with everything that
 * accompanies one. A notification that comes alone is never delayed by one that
 * could have accompanied it.
 */
TEST_F(pair, told_with_just_enough_room)
{
	struct rds_msg msg;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	EXPECT_EQ(0, take(self->a, &msg, STATUS_SPACE + STATUS_ROOM, 0));
	EXPECT_TRUE(brings_two(&msg, RDS_CMSG_RDMA_STATUS,
			       RDS_CMSG_RDMA_STATUS));
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, CONG_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_CONG_UPDATE));
	EXPECT_EQ(3, take(self->a, &msg, LATENCY_SPACE + COOKIES_ROOM, 0));
	EXPECT_TRUE(brings_two(&msg, RDS_CMSG_RXPATH_LATENCY,
			       RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

/*
 * A notification that is not the first of its kind, or that accompanies
 * another, stays queued until there is room for it. The first one does not
 * stay: it would keep its reader from the messages behind it. A message does
 * not stay either. In the last two cases, MSG_CTRUNC reports the loss.
 */
TEST_F(pair, told_with_a_byte_too_little)
{
	struct rds_msg msg;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	EXPECT_EQ(0, take(self->a, &msg, STATUS_SPACE + STATUS_ROOM - 1, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_RDMA_STATUS));
	EXPECT_EQ(0, take(self->a, &msg, STATUS_ROOM, MSG_PEEK));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_RDMA_STATUS));
	EXPECT_EQ(0, take(self->a, &msg, STATUS_ROOM - 1, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, CONG_ROOM - 1, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(3, take(self->a, &msg, LATENCY_SPACE + COOKIES_ROOM - 1, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_RXPATH_LATENCY));
	EXPECT_EQ(-EAGAIN, take(self->a, &msg, COOKIES_ROOM - 1, 0));
	EXPECT_EQ(0, take(self->a, &msg, COOKIES_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_F(pair, told_with_a_byte_too_little_for_a_latency)
{
	struct rds_msg msg;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	EXPECT_EQ(0, take(self->a, &msg, sizeof(msg.control), 0));
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, sizeof(msg.control), 0));
	EXPECT_EQ(3, take(self->a, &msg, LATENCY_ROOM - 1, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(0, take(self->a, &msg, COOKIES_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

/*
 * A reader without any room gets its message, and can still be notified of its
 * sends later.
 */
TEST_F(pair, told_who_has_no_room_at_all)
{
	struct rds_msg msg;
	uint64_t cookie;
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, take(self->a, &msg, 0, 0));
		EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	}
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, 0, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(3, take(self->a, &msg, 0, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(-EAGAIN, take(self->a, &msg, 0, 0));
	EXPECT_EQ(0, take(self->a, &msg, COOKIES_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_HARNESS_MAIN
