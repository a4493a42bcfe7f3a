// SPDX-License-Identifier: GPL-2.0
/*
 * Messages over a wire to a host that is absent. They wait in the send buffer
 * without a time limit, unless they are canceled. No error is ever reported.
 */
#include "pair.h"

#include <poll.h>

#define SNDBUF 16384

static char buf[2 * SNDBUF];

FIXTURE(unreachable) {
	int fd;
	struct rds_name to;
	struct rds_name other;
};

FIXTURE_VARIANT(unreachable) {
	const char *from;
	const char *to;
	const char *other;
	const char *late;	/* on no host until a test adds it */
	bool roce;
};

/* No route leads there. */
FIXTURE_VARIANT_ADD(unreachable, no_route) {
	.from = VETH_NEAR_IPV4,
	.to = "198.51.100.1",
	.other = "198.51.100.2",
	.late = "10.1.0.8",
};

/* No host answers. */
FIXTURE_VARIANT_ADD(unreachable, no_host) {
	.from = VETH_NEAR_IPV6,
	.to = "fd01::8",
	.other = "fd01::9",
	.late = "fd01::8",
};

FIXTURE_VARIANT_ADD(unreachable, ib_no_route) {
	.from = ROCE_NEAR_IPV4,
	.to = "198.51.100.1",
	.other = "198.51.100.2",
	.late = "10.0.0.8",
	.roce = true,
};

FIXTURE_VARIANT_ADD(unreachable, ib_no_host) {
	.from = ROCE_NEAR_IPV6,
	.to = "fd00::8",
	.other = "fd00::9",
	.late = "fd00::8",
	.roce = true,
};

FIXTURE_SETUP(unreachable)
{
	if (variant->roce)
		ASSERT_EQ(0, roce_enter());
	self->fd = rds_bound(variant->from, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, rds_sndbuf(self->fd, SNDBUF));
	self->to = rds_name(variant->to, 4000);
	self->other = rds_name(variant->other, 4000);
}

FIXTURE_TEARDOWN(unreachable)
{
	close(self->fd);
}

static long try_send(int fd, size_t len, const struct rds_name *to)
{
	return ERR(rds_sendto(fd, buf, len, MSG_DONTWAIT, to));
}

static long outq(int fd)
{
	int bytes = -1;

	return ioctl(fd, SIOCOUTQ, &bytes) ? -errno : bytes;
}

static long cancel(int fd, const struct rds_name *to)
{
	return ERR(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO,
			      to ? &to->sa : NULL, to ? to->len : 0));
}

/* Fill the send buffer to the last byte. */
static void fill(struct __test_metadata *_metadata,
		 FIXTURE_DATA(unreachable) *self)
{
	ASSERT_EQ(SNDBUF, try_send(self->fd, SNDBUF, &self->to));
}

/* Count the messages from the port of @fd that wait to be sent. */
static int waiting(int fd)
{
	struct rds_name name = rds_sockname(fd);
	struct rds6_info_message msg[200];
	socklen_t i, len = sizeof(msg);
	int count = 0;

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_SEND_MESSAGES, msg, &len) < 0)
		return -errno;
	for (i = 0; i < len / sizeof(*msg); i++)
		count += ntohs(msg[i].lport) == rds_port(&name);
	return count;
}

TEST_F(unreachable, messages_wait_in_the_send_buffer)
{
	EXPECT_EQ(100, try_send(self->fd, 100, &self->to));
	EXPECT_EQ(0, try_send(self->fd, 0, &self->to));
	EXPECT_EQ(50, try_send(self->fd, 50, &self->other));
	EXPECT_EQ(150, outq(self->fd));
	EXPECT_EQ(3, waiting(self->fd));
}

TEST_F(unreachable, a_full_send_buffer_takes_no_more)
{
	fill(_metadata, self);
	EXPECT_EQ(-EAGAIN, try_send(self->fd, 1, &self->to));
	EXPECT_EQ(-EAGAIN, try_send(self->fd, 1, &self->other));
	EXPECT_EQ(SNDBUF, outq(self->fd));
	EXPECT_EQ(1, waiting(self->fd));
}

/*
 * A message is accepted if the buffer is not full, even if the message does not
 * fit.
 */
TEST_F(unreachable, the_last_message_may_overshoot)
{
	EXPECT_EQ(SNDBUF - 1, try_send(self->fd, SNDBUF - 1, &self->to));
	EXPECT_EQ(SNDBUF, try_send(self->fd, SNDBUF, &self->to));
	EXPECT_EQ(-EAGAIN, try_send(self->fd, 1, &self->to));
	EXPECT_EQ(2 * SNDBUF - 1, outq(self->fd));
}

TEST_F(unreachable, a_full_send_buffer_is_not_writable)
{
	rds_poll(self->fd);
	EXPECT_EQ(POLLOUT | POLLWRNORM, rds_poll(self->fd));
	fill(_metadata, self);
	EXPECT_EQ(0, rds_poll(self->fd));
	ASSERT_EQ(0, cancel(self->fd, NULL));
	EXPECT_EQ(POLLOUT | POLLWRNORM, rds_poll(self->fd));
}

TEST_F(unreachable, send_timeout)
{
	fill(_metadata, self);
	ASSERT_EQ(0, rds_set_timeout(self->fd, SO_SNDTIMEO, 20));
	EXPECT_EQ(-ETIMEDOUT, ERR(rds_sendto(self->fd, buf, 1, 0,
					     &self->to)));
	EXPECT_EQ(1, waiting(self->fd));
}

TEST_F(unreachable, signal_interrupts_a_sender)
{
	struct rds_task task;

	fill(_metadata, self);
	ASSERT_EQ(0, rds_signal_setup(0));
	ASSERT_EQ(0, rds_task_send(&task, self->fd, buf, 77, &self->to));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, pthread_kill(task.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, rds_task_join(&task));
	EXPECT_EQ(SNDBUF, outq(self->fd));
}

TEST_F(unreachable, cancelling_wakes_a_sender)
{
	struct rds_task task;

	fill(_metadata, self);
	ASSERT_EQ(0, rds_task_send(&task, self->fd, buf, 77, &self->to));
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_EQ(0, cancel(self->fd, NULL));
	EXPECT_EQ(77, rds_task_join(&task));
	EXPECT_EQ(77, outq(self->fd));
}

TEST_F(unreachable, cancelling_takes_back)
{
	struct rds_name port = self->to;

	ASSERT_EQ(100, try_send(self->fd, 100, &self->to));
	ASSERT_EQ(50, try_send(self->fd, 50, &self->other));
	/* Only messages to the same address and port are canceled. */
	if (port.sa.sa_family == AF_INET)
		port.in.sin_port++;
	else
		port.in6.sin6_port++;
	EXPECT_EQ(0, cancel(self->fd, &port));
	EXPECT_EQ(150, outq(self->fd));
	EXPECT_EQ(0, cancel(self->fd, &self->to));
	EXPECT_EQ(50, outq(self->fd));
	EXPECT_EQ(1, waiting(self->fd));
	EXPECT_EQ(0, cancel(self->fd, NULL));
	EXPECT_EQ(0, outq(self->fd));
	EXPECT_EQ(0, waiting(self->fd));
}

TEST_F(unreachable, cancelling_leaves_other_sockets_alone)
{
	int fd = rds_bound(variant->from, 0);

	ASSERT_EQ(100, try_send(self->fd, 100, &self->to));
	ASSERT_EQ(50, try_send(fd, 50, &self->to));
	EXPECT_EQ(0, cancel(fd, NULL));
	EXPECT_EQ(100, outq(self->fd));
	EXPECT_EQ(0, outq(fd));
	close(fd);
}

TEST_F(unreachable, closing_takes_back)
{
	int fd = rds_bound(variant->from, 0);
	struct rds_name name = rds_sockname(fd);

	ASSERT_EQ(100, try_send(fd, 100, &self->to));
	close(fd);
	fd = rds_bound(variant->from, rds_port(&name));
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, waiting(fd));
	close(fd);
}

static int reachable_socket(const FIXTURE_VARIANT(unreachable) *variant)
{
	bool ipv4 = !strchr(variant->from, ':');

	if (variant->roce)
		return rds_bound(ipv4 ? ROCE_FAR_IPV4 : ROCE_FAR_IPV6, 0);
	return veth_far_bound(ipv4 ? VETH_FAR_IPV4 : VETH_FAR_IPV6, 0);
}

/* Messages to an absent host do not delay messages to other hosts. */
TEST_F(unreachable, others_are_reached)
{
	int fd = reachable_socket(variant);
	struct rds_name name = rds_sockname(fd);
	int i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(100, try_send(self->fd, 100, &self->to));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(10, ERR(rds_sendto(self->fd, buf, 10, 0, &name)));
		ASSERT_EQ(10, ERR(rds_recv(fd, buf, sizeof(buf))));
	}
	EXPECT_EQ(1, waiting(self->fd));
	close(fd);
}

/* Add or remove the late address where it is to be. */
static int late_address(const FIXTURE_VARIANT(unreachable) *variant, bool add)
{
	int (*change)(const char *dev, const char *addr, unsigned int prefix) =
		add ? rds_address_on : rds_address_off;
	unsigned int prefix = strchr(variant->late, ':') ? 64 : 24;
	int ret;

	if (variant->roce)
		return change(ROCE_DEV, variant->late, prefix);
	if (veth_cross())
		return -1;
	ret = change(VETH_DEV, variant->late, prefix);
	if (veth_back())
		abort();
	return ret;
}

/*
 * Open a socket that is bound to the late address, and remove the address. A
 * socket that is bound once the address is there may come too late: messages
 * for a port that no socket has are dropped.
 */
static int late_socket(const FIXTURE_VARIANT(unreachable) *variant)
{
	int fd;

	if (late_address(variant, true))
		return -1;
	fd = variant->roce ? rds_bound(variant->late, 4000) :
			     veth_far_bound(variant->late, 4000);
	return late_address(variant, false) ? -1 : fd;
}

/*
 * When an absent host appears, it receives the messages that waited, in order.
 */
TEST_F(unreachable, who_comes_later_is_given_what_waited)
{
	int fd = late_socket(variant);
	struct rds_name name;
	uint32_t i, seen;

	ASSERT_LE(0, fd);
	self->to = rds_name(variant->late, 4000);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(4, ERR(rds_sendto(self->fd, &i, 4, MSG_DONTWAIT,
					    &self->to)));
	ASSERT_EQ(0, late_address(variant, true));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(4, ERR(rds_recv(fd, &seen, 4)));
		EXPECT_EQ(i, seen);
	}
	/*
	 * Over RDMA the last ack may wait for a message in the other direction,
	 * which carries it.
	 */
	name = rds_sockname(self->fd);
	ASSERT_EQ(0, ERR(rds_sendto(fd, NULL, 0, 0, &name)));
	ASSERT_EQ(0, ERR(rds_recv(self->fd, buf, sizeof(buf))));
	EXPECT_TRUE(rds_await_acked(self->fd));
	close(fd);
	EXPECT_EQ(0, late_address(variant, false));
}

TEST_HARNESS_MAIN
