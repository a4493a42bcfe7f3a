// SPDX-License-Identifier: GPL-2.0
/*
 * Completions of sends from user memory: when and how the sender is notified
 * that its memory is free again
 */
#include "zcopy.h"

TEST_F(pair, arrives_and_is_told)
{
	static const size_t sizes[] = {
		1, 48, 1000, 1500, PAGE - 1, PAGE, PAGE + 1, 10000, 65536,
		65537, 300000, LARGEST,
	};
	size_t i;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/*
		 * Neither end is at a page boundary, except in the first round.
		 */
		rds_fill(sent + 13 * i, sizes[i], i);
		ASSERT_EQ((long)sizes[i],
			  zcopy_send(self->a, &self->b_name, sent + 13 * i,
				     sizes[i], 100 + i, 0));
		EXPECT_TRUE(await_cookie(self->a, 100 + i));
		memset(sent, 0xff, sizeof(sent));
		ASSERT_EQ((long)sizes[i],
			  rds_recv(self->b, received, sizeof(received)));
		EXPECT_TRUE(rds_check(received, sizes[i], i));
	}
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(rds_silent(self->b));
}

/*
 * After the notification, the sender may write to the memory at once, whether
 * the message has been read or not.
 */
TEST_F(pair, memory_is_free_when_told)
{
	unsigned int i, count = 20;
	struct rds_zcopy_cookies cookies;
	size_t len = 50000;
	long done, ret;

	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_rcvbuf(self->b, 4 * LARGEST));
	for (i = 0; i < count; i++) {
		rds_fill(sent + 7, len, i);
		ASSERT_EQ((long)len, zcopy_send(self->a, &self->b_name,
						sent + 7, len, i, 0));
		ASSERT_TRUE(await_cookie(self->a, i));
	}
	for (i = 0; i < count; i++) {
		ASSERT_EQ((long)len, rds_recv(self->b, received, len));
		EXPECT_TRUE(rds_check(received, len, i));
	}

	/* The same for many sends at once, each from memory of its own */
	for (i = 0; i < count; i++) {
		rds_fill(sent + i * len, len, 50 + i);
		ASSERT_EQ((long)len, zcopy_send(self->a, &self->b_name,
						sent + i * len, len, i, 0));
	}
	for (done = 0; done < count; done += ret) {
		ret = await_cookies(self->a, &cookies);
		ASSERT_LT(0, ret);
		for (i = 0; i < ret; i++)
			memset(sent + cookies.cookies[i] * len, 0xee, len);
	}
	EXPECT_EQ(count, done);
	for (i = 0; i < count; i++) {
		ASSERT_EQ((long)len, rds_recv(self->b, received, len));
		EXPECT_TRUE(rds_check(received, len, 50 + i));
	}
}

TEST_F(pair, eight_cookies_at_a_time_in_order)
{
	struct rds_zcopy_cookies cookies;
	unsigned int i, seen = 0;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(100, zcopy_send(self->a, &self->b_name, sent, 100, i,
					  0));
	ASSERT_TRUE(rds_await_acked(self->a));
	/* TCP may hold the memory for a moment after the ack. */
	usleep(300000);
	while (seen < 20) {
		ASSERT_EQ(seen < 16 ? 8 : 4, await_cookies(self->a, &cookies));
		for (i = 0; i < cookies.num; i++)
			EXPECT_EQ(seen++, cookies.cookies[i]);
		for (; i < RDS_MAX_ZCOOKIES; i++)
			EXPECT_EQ(0, cookies.cookies[i]);
	}
	EXPECT_TRUE(rds_silent(self->a));
}

/* A completion may come with a message, after all other control messages. */
TEST_F(pair, told_with_a_message)
{
	struct rds_zcopy_cookies cookies;
	struct rds_msg msg;

	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_TIMESTAMP, 1));
	ASSERT_EQ(5, zcopy_send(self->a, &self->b_name, sent, 5, 9, 0));
	ASSERT_EQ(5, rds_recv(self->b, received, sizeof(received)));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_TRUE(rds_arrived(self->a));
	usleep(300000);

	/* A peek at the message does not return the completion. */
	ASSERT_EQ(3, rds_msg_recv(self->a, &msg, received, 10, MSG_PEEK));
	EXPECT_FALSE(read_completion(&msg, &cookies));
	ASSERT_EQ(3, rds_msg_recv(self->a, &msg, received, 10, 0));
	EXPECT_EQ(2, rds_msg_count(&msg));
	EXPECT_NE(NULL, rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP));
	ASSERT_TRUE(read_completion(&msg, &cookies));
	EXPECT_EQ(1, cookies.num);
	EXPECT_EQ(9, cookies.cookies[0]);
	EXPECT_TRUE(rds_silent(self->a));
}

/* A completion that does not fit is not reported, and not lost. */
TEST_F(pair, no_room_to_be_told)
{
	struct rds_zcopy_cookies cookies;
	struct rds_msg msg;
	size_t room;

	zcopy_on(_metadata, self->a);
	ASSERT_EQ(5, zcopy_send(self->a, &self->b_name, sent, 5, 9, 0));
	ASSERT_TRUE(await_completion(self->a));
	EXPECT_LT(0, rds_poll(self->a) & POLLIN);
	for (room = 0; room < CMSG_SPACE(sizeof(cookies)); room++) {
		rds_msg_init(&msg, received, sizeof(received));
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen = room;
		EXPECT_EQ(-EAGAIN, ERR(recvmsg(self->a, &msg.hdr,
					       MSG_DONTWAIT)));
	}
	EXPECT_EQ(-EAGAIN, ERR(recv(self->a, received, 1, MSG_DONTWAIT)));
	/* A reader that has no room for it still gets a message. */
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_EQ(3, rds_recv(self->a, received, 10));

	rds_msg_init(&msg, received, sizeof(received));
	msg.hdr.msg_control = (void *)8;
	msg.hdr.msg_controllen = CMSG_SPACE(sizeof(cookies));
	EXPECT_EQ(-EFAULT, ERR(recvmsg(self->a, &msg.hdr, MSG_DONTWAIT)));

	EXPECT_EQ(POLLIN | POLLRDNORM,
		  rds_poll(self->a) & (POLLIN | POLLRDNORM));
	/* A peek returns the completion, and leaves it queued. */
	ASSERT_EQ(0, rds_msg_recv(self->a, &msg, received, 10, MSG_PEEK));
	EXPECT_TRUE(read_completion(&msg, &cookies));
	EXPECT_TRUE(await_cookie(self->a, 9));
	EXPECT_TRUE(await_no_input(self->a));
}

static void *send_a_little_later(void *arg)
{
	FIXTURE_DATA(pair) *self = arg;

	usleep(300000);
	return (void *)zcopy_send(self->a, &self->b_name, sent, 4000, 77, 0);
}

/* The stock kernel notifies only readers that do not block. */
TEST_F(pair, blocked_readers_are_told)
{
	struct rds_task other;
	pthread_t thread;
	void *ret;

	zcopy_on(_metadata, self->a);
	/* A reader that has no room for the completion sleeps on. */
	ASSERT_EQ(0, rds_task_recv(&other, self->a, received, 10));
	ASSERT_TRUE(rds_task_blocked(&other));
	ASSERT_EQ(0, pthread_create(&thread, NULL, send_a_little_later, self));
	EXPECT_TRUE(await_cookie(self->a, 77));
	pthread_join(thread, &ret);
	EXPECT_EQ(4000, (long)ret);
	EXPECT_TRUE(rds_task_blocked(&other));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	EXPECT_EQ(3, rds_task_join(&other));
}

static bool is_told_nothing(int fd)
{
	struct rds_msg msg;

	rds_msg_init(&msg, received, sizeof(received));
	msg.hdr.msg_control = msg.control;
	msg.hdr.msg_controllen = sizeof(msg.control);
	return ERR(recvmsg(fd, &msg.hdr, MSG_DONTWAIT)) == -EAGAIN;
}

/*
 * While data is on its way through a slow network, its memory is not free. So
 * the data was not copied when it was sent.
 */
TEST_F(pair, held_by_a_slow_network)
{
	if (variant->transport != RDS_TRANS_TCP)
		return;
	zcopy_on(_metadata, self->a);
	rds_fill(sent, 30000, 1);
	/* The first message establishes the connection. */
	ASSERT_EQ(10, zcopy_send(self->a, &self->b_name, sent, 10, 1, 0));
	ASSERT_EQ(10, rds_recv(self->b, received, sizeof(received)));
	EXPECT_TRUE(await_cookie(self->a, 1));

	EXPECT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem delay 1s"));
	EXPECT_EQ(30000, zcopy_send(self->a, &self->b_name, sent, 30000, 2, 0));
	usleep(300000);
	EXPECT_TRUE(is_told_nothing(self->a));
	EXPECT_TRUE(await_cookie(self->a, 2));
	memset(sent, 0xff, 30000);
	EXPECT_EQ(0, system("tc qdisc del dev " VETH_DEV " root"));
	EXPECT_EQ(30000, rds_recv(self->b, received, sizeof(received)));
	EXPECT_TRUE(rds_check(received, 30000, 1));
}

/* A send that is canceled is reported like one that has arrived. */
TEST_F(pair, cancelled_and_told)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	struct rds_zcopy_cookies cookies;

	if (!variant->wire)
		return;
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(9000, zcopy_send(self->a, &nobody, sent, 9000, 1, 0));
	ASSERT_EQ(20, zcopy_send(self->a, &nobody, sent, 20, 2, 0));
	usleep(200000);
	EXPECT_TRUE(is_told_nothing(self->a));
	ASSERT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO,
				    &nobody.ss, nobody.len)));
	ASSERT_EQ(2, await_cookies(self->a, &cookies));
	EXPECT_EQ(1, cookies.cookies[0]);
	EXPECT_EQ(2, cookies.cookies[1]);
	EXPECT_TRUE(rds_await_acked(self->a));
}

/*
 * The socket is closed at various stages of its sends. Then no reader is left
 * for their completions.
 */
TEST_F(pair, closed_at_every_stage)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	unsigned int i;
	int fd;

	/*
	 * A device may deliver a message after the drain below, and nothing
	 * else reads it. So make room for all messages.
	 */
	ASSERT_EQ(0, rds_rcvbuf(self->b, 20 * 60000));
	for (i = 0; i < 20; i++) {
		fd = rds_bound(variant->a, 0);
		ASSERT_LE(0, fd);
		zcopy_on(_metadata, fd);
		ASSERT_EQ(60000, zcopy_send(fd, &self->b_name, sent, 60000, 1,
					    0));
		zcopy_send(fd, &nobody, sent, 9000, 2, 0);
		usleep(i * 100);
		close(fd);
		/*
		 * Take the message if it has arrived. If close() has canceled
		 * it, it never will.
		 */
		rds_drain(self->b);
	}
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(100, zcopy_send(self->a, &self->b_name, sent, 100, 3, 0));
	EXPECT_TRUE(await_cookie(self->a, 3));
}

/*
 * If a socket never reads its completions, sends fail in the end, because each
 * leaves one behind. Test one variant only: all are alike, and a slow kernel
 * takes long.
 */
TEST_F(pair, nobody_asks)
{
	struct rds_zcopy_cookies cookies;
	unsigned int sends = 0, heard = 0;
	long ret;

	if (strcmp(variant->a, "127.0.0.1"))
		return;
	zcopy_on(_metadata, self->a);
	do {
		ret = zcopy_send(self->a, &self->b_name, sent, 1, sends, 0);
		if (ret == 1)
			ASSERT_EQ(1, rds_recv(self->b, received, 1));
		sends += ret == 1;
	} while (ret == 1 && sends < 100000);
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(16384, sends);
	while (heard < sends) {
		ASSERT_EQ(8, await_cookies(self->a, &cookies));
		heard += cookies.num;
	}
	EXPECT_EQ(1, zcopy_send(self->a, &self->b_name, sent, 1, 1, 0));
}

/*
 * A send that fails leaves no completion behind. So more sends may fail than
 * there is room for completions.
 */
TEST_F(pair, failed_sends_take_no_room)
{
	unsigned int i, failed = 0;

	if (strcmp(variant->a, "127.0.0.1"))
		return;
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_rcvbuf(self->b, 2048));
	ASSERT_EQ(2048, zcopy_send(self->a, &self->b_name, sent, 2048, 1, 0));
	EXPECT_TRUE(await_cookie(self->a, 1));
	for (i = 0; i < 16384 + 10; i++)
		failed += zcopy_send(self->a, &self->b_name, sent, 1, 2,
				     MSG_DONTWAIT) == -ENOBUFS;
	EXPECT_EQ(i, failed);
	ASSERT_EQ(2048, rds_recv(self->b, received, sizeof(received)));
	EXPECT_EQ(1, zcopy_send(self->a, &self->b_name, sent, 1, 3, 0));
	EXPECT_TRUE(await_cookie(self->a, 3));
}

TEST_HARNESS_MAIN
