// SPDX-License-Identifier: GPL-2.0
/* RDS_CONG_MONITOR, and the notifications that it enables */
#include "pair.h"
#include "solo.h"

#include <poll.h>

#define RCVBUF		4096
#define GROUP(port)	RDS_CONG_MONITOR_MASK(port)
#define READABLE	(POLLIN | POLLRDNORM)

static char buf[2 * RCVBUF];

static long set_switch(int fd, int on)
{
	return ERR(rds_set(fd, SOL_RDS, RDS_CONG_MONITOR, on));
}

static long set_mask(int fd, uint64_t mask)
{
	return ERR(setsockopt(fd, SOL_RDS, RDS_CONG_MONITOR, &mask,
			      sizeof(mask)));
}

static uint64_t get_mask(int fd)
{
	uint64_t mask = 0;
	socklen_t len = sizeof(mask);

	if (getsockopt(fd, SOL_RDS, RDS_CONG_MONITOR, &mask, &len))
		return -errno;
	return mask;
}

/* Fill the queue of @fd, a socket at socket b's end. @from is at either end. */
static void congest(struct __test_metadata *_metadata,
		    FIXTURE_DATA(pair) *self, int from, int fd)
{
	struct rds_name to = rds_sockname(fd);

	ASSERT_EQ(0, rds_rcvbuf(fd, RCVBUF));
	ASSERT_EQ(RCVBUF, ERR(rds_sendto(from, buf, RCVBUF, 0, &to)));
	ASSERT_TRUE(pair_await_full(self, &to));
}

static void relieve(struct __test_metadata *_metadata,
		    FIXTURE_DATA(pair) *self, int fd)
{
	struct rds_name name = rds_sockname(fd);

	ASSERT_EQ(RCVBUF, ERR(rds_recv(fd, buf, sizeof(buf))));
	ASSERT_TRUE(pair_await_free(self, &name));
}

static long refused(int fd, const struct rds_name *to)
{
	return ERR(rds_sendto(fd, "x", 1, MSG_DONTWAIT, to));
}

/* Receive a notification. Returns its mask, or 0 if there is none. */
static uint64_t notification(struct __test_metadata *_metadata, int fd)
{
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	uint64_t mask;
	long ret;

	ret = ERR(rds_msg_recv(fd, &msg, buf, sizeof(buf), MSG_DONTWAIT));
	if (ret == -EAGAIN)
		return 0;
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, msg.hdr.msg_namelen);
	EXPECT_EQ(1, rds_msg_count(&msg));
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_CONG_UPDATE);
	ASSERT_NE(NULL, cmsg);
	ASSERT_EQ(CMSG_LEN(sizeof(mask)), cmsg->cmsg_len);
	memcpy(&mask, CMSG_DATA(cmsg), sizeof(mask));
	return mask;
}

/*
 * The same for a notification that must come. It may come a moment after the
 * port is seen to be free.
 */
static uint64_t awaited(struct __test_metadata *_metadata, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	poll(&poll_fd, 1, 10000);
	return notification(_metadata, fd);
}

TEST_F(solo, off_by_default)
{
	EXPECT_EQ(0, rds_get(self->fd, SOL_RDS, RDS_CONG_MONITOR));
	EXPECT_EQ(0, get_mask(self->fd));
}

TEST_F(solo, sizes)
{
	char value[16] = { 1 };
	socklen_t len;

	for (len = 0; len < 4; len++)
		EXPECT_EQ(-EINVAL, ERR(setsockopt(self->fd, SOL_RDS,
						  RDS_CONG_MONITOR, value,
						  len)));
	for (len = 0; len < 4; len++) {
		socklen_t got = len;

		EXPECT_EQ(-EINVAL, ERR(getsockopt(self->fd, SOL_RDS,
						  RDS_CONG_MONITOR, value,
						  &got)));
	}
}

TEST_F(solo, switch_reads_back)
{
	EXPECT_EQ(0, set_switch(self->fd, 1));
	EXPECT_EQ(1, rds_get(self->fd, SOL_RDS, RDS_CONG_MONITOR));
	EXPECT_EQ(0, get_mask(self->fd));
	EXPECT_EQ(0, set_switch(self->fd, 5));
	EXPECT_EQ(1, rds_get(self->fd, SOL_RDS, RDS_CONG_MONITOR));
	EXPECT_EQ(0, set_switch(self->fd, 0));
	EXPECT_EQ(0, rds_get(self->fd, SOL_RDS, RDS_CONG_MONITOR));
}

TEST_F(solo, mask_reads_back)
{
	uint64_t mask = 0x8000000000000001;

	EXPECT_EQ(0, set_mask(self->fd, mask));
	EXPECT_EQ(mask, get_mask(self->fd));
	EXPECT_EQ(1, rds_get(self->fd, SOL_RDS, RDS_CONG_MONITOR));
	EXPECT_EQ(0, set_mask(self->fd, 0));
	EXPECT_EQ(0, get_mask(self->fd));
	EXPECT_EQ(0, rds_get(self->fd, SOL_RDS, RDS_CONG_MONITOR));
}

TEST_F(solo, the_length_chooses_the_form)
{
	unsigned char value[16];
	socklen_t len;

	ASSERT_EQ(0, set_mask(self->fd, 0x8000000000000000));
	memset(value, 0xa5, sizeof(value));
	len = 7;
	ASSERT_EQ(0, getsockopt(self->fd, SOL_RDS, RDS_CONG_MONITOR, value,
				&len));
	EXPECT_EQ(4, len);
	EXPECT_EQ(1, value[0]);
	EXPECT_EQ(0xa5, value[4]);
	len = sizeof(value);
	ASSERT_EQ(0, getsockopt(self->fd, SOL_RDS, RDS_CONG_MONITOR, value,
				&len));
	EXPECT_EQ(8, len);
	EXPECT_EQ(0x80, value[7]);
	EXPECT_EQ(0xa5, value[8]);
}

TEST_F(pair, refused_send_sets_the_bit_of_its_port)
{
	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	EXPECT_EQ(0, get_mask(self->a));
	EXPECT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	EXPECT_EQ(GROUP(rds_port(&self->b_name)), get_mask(self->a));
}

TEST_F(pair, refused_send_adds_to_a_mask)
{
	uint64_t group = GROUP(rds_port(&self->b_name));
	uint64_t other = group << 1 | group >> 63;

	ASSERT_EQ(0, set_mask(self->a, other));
	congest(_metadata, self, self->a, self->b);
	EXPECT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	EXPECT_EQ(group | other, get_mask(self->a));
}

TEST_F(pair, notifies_when_the_port_clears)
{
	uint64_t group = GROUP(rds_port(&self->b_name));

	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	EXPECT_EQ(0, notification(_metadata, self->a));
	relieve(_metadata, self, self->b);
	EXPECT_EQ(group, awaited(_metadata, self->a));
	EXPECT_EQ(0, notification(_metadata, self->a));
	EXPECT_EQ(1, refused(self->a, &self->b_name));
}

TEST_F(pair, the_bit_of_a_known_port)
{
	struct rds_name name = rds_name(variant->b, 7002);
	int fd = pair_far_bound(variant, 7002);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, fd);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &name));
	relieve(_metadata, self, fd);
	EXPECT_EQ(0x4000000, awaited(_metadata, self->a));
	close(fd);
}

TEST_F(pair, the_mask_asks_without_a_refused_send)
{
	uint64_t group = GROUP(rds_port(&self->b_name));

	ASSERT_EQ(0, set_mask(self->a, group));
	congest(_metadata, self, self->b, self->b);
	EXPECT_EQ(0, notification(_metadata, self->a));
	relieve(_metadata, self, self->b);
	EXPECT_EQ(group, awaited(_metadata, self->a));
}

TEST_F(pair, other_groups_are_not_reported)
{
	uint64_t group = GROUP(rds_port(&self->b_name));

	ASSERT_EQ(0, set_mask(self->a, ~group));
	congest(_metadata, self, self->b, self->b);
	relieve(_metadata, self, self->b);
	EXPECT_EQ(0, notification(_metadata, self->a));
}

TEST_F(pair, without_a_bit_nothing_is_reported)
{
	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->b, self->b);
	relieve(_metadata, self, self->b);
	EXPECT_EQ(0, notification(_metadata, self->a));
}

TEST_F(pair, two_ports_in_one_notification)
{
	unsigned int port = rds_port(&self->b_name) ^ 1;
	struct rds_name name = rds_name(variant->b, port);
	uint64_t both = GROUP(port) | GROUP(port ^ 1), told;
	int fd = pair_far_bound(variant, port);
	int tries = 100;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	congest(_metadata, self, self->a, fd);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	ASSERT_EQ(-ENOBUFS, refused(self->a, &name));
	relieve(_metadata, self, self->b);
	relieve(_metadata, self, fd);
	told = awaited(_metadata, self->a);
	/* Over a wire, two maps may report the two ports separately. */
	while (variant->wire && told != both && --tries) {
		usleep(100000);
		told |= notification(_metadata, self->a);
	}
	EXPECT_EQ(both, told);
	EXPECT_EQ(0, notification(_metadata, self->a));
	close(fd);
}

TEST_F(pair, comes_before_data_and_alone)
{
	ASSERT_EQ(0, set_switch(self->a, 1));
	ASSERT_EQ(3, ERR(rds_sendto(self->b, "abc", 3, 0, &self->a_name)));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	relieve(_metadata, self, self->b);
	if (variant->wire)
		usleep(100000);
	EXPECT_NE(0, notification(_metadata, self->a));
	EXPECT_EQ(3, ERR(rds_recv(self->a, buf, sizeof(buf))));
	EXPECT_EQ(0, memcmp(buf, "abc", 3));
}

TEST_F(pair, no_room_for_the_notification)
{
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	relieve(_metadata, self, self->b);
	EXPECT_EQ(0, ERR(recvmsg(self->a, &hdr, 0)));
	EXPECT_EQ(MSG_CTRUNC, hdr.msg_flags & MSG_CTRUNC);
}

TEST_F(pair, makes_readable_without_wrband)
{
	struct pollfd fd = { .fd = self->a, .events = POLLIN };

	ASSERT_EQ(0, set_switch(self->a, 1));
	rds_poll(self->a);
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	EXPECT_EQ(0, rds_poll(self->a) & (READABLE | POLLWRBAND));
	relieve(_metadata, self, self->b);
	poll(&fd, 1, 10000);
	EXPECT_EQ(READABLE, rds_poll(self->a) & (READABLE | POLLWRBAND));
	EXPECT_EQ(READABLE, rds_poll(self->a) & (READABLE | POLLWRBAND));
	EXPECT_NE(0, notification(_metadata, self->a));
	EXPECT_EQ(0, rds_poll(self->a) & (READABLE | POLLWRBAND));
}

TEST_F(pair, wakes_a_blocking_receiver)
{
	struct rds_task task;

	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	ASSERT_EQ(0, rds_task_recv(&task, self->a, buf + RCVBUF, 10));
	EXPECT_TRUE(rds_task_blocked(&task));
	relieve(_metadata, self, self->b);
	EXPECT_EQ(0, rds_task_join(&task));
}

TEST_F(pair, wakes_a_poll)
{
	struct rds_task task;

	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	ASSERT_EQ(0, rds_task_poll(&task, self->a, POLLIN));
	EXPECT_TRUE(rds_task_blocked(&task));
	relieve(_metadata, self, self->b);
	EXPECT_EQ(POLLIN, rds_task_join(&task));
}

TEST_F(pair, closing_the_receiver_notifies)
{
	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	close(self->b);
	self->b = -1;
	ASSERT_TRUE(pair_await_free(self, &self->b_name));
	EXPECT_EQ(GROUP(rds_port(&self->b_name)),
		  awaited(_metadata, self->a));
}

TEST_F(pair, switched_off_by_the_switch)
{
	ASSERT_EQ(0, set_switch(self->a, 1));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	ASSERT_EQ(0, set_switch(self->a, 0));
	relieve(_metadata, self, self->b);
	EXPECT_EQ(0, notification(_metadata, self->a));
	EXPECT_EQ(0, get_mask(self->a));
}

TEST_F(pair, switched_off_by_an_empty_mask)
{
	ASSERT_EQ(0, set_mask(self->a, GROUP(rds_port(&self->b_name))));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	ASSERT_EQ(0, set_mask(self->a, 0));
	relieve(_metadata, self, self->b);
	EXPECT_EQ(0, notification(_metadata, self->a));
}

TEST_F(pair, each_socket_has_its_own)
{
	int fd = rds_bound(variant->a, 0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_switch(self->a, 1));
	ASSERT_EQ(0, set_switch(fd, 1));
	congest(_metadata, self, self->a, self->b);
	ASSERT_EQ(-ENOBUFS, refused(self->a, &self->b_name));
	relieve(_metadata, self, self->b);
	EXPECT_NE(0, awaited(_metadata, self->a));
	EXPECT_EQ(0, notification(_metadata, fd));
	close(fd);
}

TEST_HARNESS_MAIN
