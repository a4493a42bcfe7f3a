// SPDX-License-Identifier: GPL-2.0-only
/*
 * Canceling messages by RDS_CANCEL_SENT_TO and close(),
 * net/rds/core/{cancel,retrans}.c: messages that wait in the send queue, that
 * are being sent, and that have been sent.
 */
#include <linux/in.h>
#include <linux/poll.h>

#include "../core/message.h"
#include "../core/send.h"
#include "rig.h"

static void cancel_all(struct kunit *test, struct socket *sock)
{
	KUNIT_EXPECT_EQ(test, 0, rig_setsockopt(sock, RDS_CANCEL_SENT_TO,
						NULL, 0));
}

static void cancel_port(struct kunit *test, struct socket *sock, u16 port)
{
	struct sockaddr_in sin = {
		.sin_family	 = AF_INET,
		.sin_port	 = htons(port),
		.sin_addr.s_addr = htonl(rig_of(test)->peer),
	};

	KUNIT_EXPECT_EQ(test, 0, rig_setsockopt(sock, RDS_CANCEL_SENT_TO,
						&sin, sizeof(sin)));
}

static void queued_to_one_port(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);
	unsigned int i;

	rig_fake(test)->connect_later = true;
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 10,
				rig_try_send(test, sock, RIG_PEER_PORT + i % 2,
					     10, MSG_DONTWAIT));
	rig_await(test, FAKE_CONNECTED, 1);

	cancel_port(test, sock, RIG_PEER_PORT);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 2);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 20);

	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_SENT, 2);
	rig_send(test, sock, 10);
	rig_expect_sent(test, "1a 2 3");
}

static void queued_all(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_fake(test)->connect_later = true;
	rig_send(test, sock, 10);
	rig_send(test, sock, 5000);
	rig_await(test, FAKE_CONNECTED, 1);
	cancel_all(test, sock);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 0);

	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_ops(test, "aCM");
	rig_send(test, sock, 10);
	rig_expect_sent(test, "1a");
}

static void other_socket_keeps_its_own(struct kunit *test)
{
	struct socket *one = rig_up(test);
	struct socket *two = rig_socket(test, RIG_PORT + 1);

	rig_send(test, one, 10);
	rig_send(test, two, 10);
	cancel_all(test, one);
	KUNIT_EXPECT_EQ(test, rig_msgs(one), 0);
	KUNIT_EXPECT_EQ(test, rig_msgs(two), 1);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 3);
	rig_expect_sent(test, "2 3 3ar");
}

static void sent_is_not_sent_again(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_send(test, sock, 10);
	rig_send(test, sock, 10);
	cancel_all(test, sock);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_send(test, sock, 10);
	rig_expect_ops(test, "XXsCMX");
	rig_expect_sent(test, "2 3 4");

	/* An ack of canceled messages has no effect. */
	rds_path_ack(rig_path(test), 3);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	rds_path_ack(rig_path(test), 4);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static void in_hand_goes_on_but_does_not_count(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 5000);
	rig_send(test, sock, 10);
	cancel_all(test, sock);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	KUNIT_EXPECT_EQ(test, rig_bytes(sock), 0);

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 1);
	rig_send(test, sock, 10);
	rig_expect_sent(test, "2 3");
	KUNIT_EXPECT_TRUE(test, fake_nth(rig_fake(test), FAKE_SENT,
					 0)->intact);
	rds_path_ack(rig_path(test), 3);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static void in_hand_ends_with_its_connection(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 5000);
	rig_send(test, sock, 10);
	cancel_port(test, sock, RIG_PEER_PORT);
	fake_fail(&rig_fake(test)->xmit, 0, 0);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_send(test, sock, 10);
	rig_expect_sent(test, "3");
}

/* Another task cancels a message between the two steps of sendmsg(): it is on
 * its socket's list, and not yet on its path.
 */
static void on_its_way_to_the_path(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_message *msg;
	int ret;

	msg = rds_message_alloc_empty(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, msg);
	msg->m_path = rig_path(test);
	rds_conn_hold(rig_conn(test));
	KUNIT_ASSERT_TRUE(test, rds_send_account(rs, msg));
	cancel_all(test, sock);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	ret = rds_send_submit(to_cpath(rig_path(test)), msg, false);
	KUNIT_EXPECT_EQ(test, ret, -ECANCELED);
	if (ret)
		rds_send_finish(msg);
	rig_send(test, sock, 10);
	rig_expect_sent(test, "2");
}

static void canceling_makes_room(struct kunit *test)
{
	struct rig_sender sender = { .test = test, .len = 10 };
	struct socket *sock = rig_up(test);
	u64 full = rig_stat(send_queue_full);

	rig_set_bufs(sock, 100);
	rig_send(test, sock, 100);
	KUNIT_EXPECT_FALSE(test, rig_poll(sock) & POLLOUT);
	sender.sock = sock;
	rig_start_sender(&sender);
	rig_await_stat(test, send_queue_full, full + 1);

	cancel_all(test, sock);
	KUNIT_EXPECT_EQ(test, rig_finish_sender(&sender), 10);
	KUNIT_EXPECT_TRUE(test, rig_poll(sock) & POLLOUT);
}

/* Close a socket, but keep a reference to see whether any other one is left. */
static struct sock *close_and_hold(struct kunit *test, struct socket *sock)
{
	struct sock *sk = sock->sk;

	sock_hold(sk);
	rig_close(test, sock);
	return sk;
}

static void close_gives_up_what_was_sent(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct sock *sk;

	rig_send(test, sock, 10);
	rig_send(test, sock, 5000);
	sk = close_and_hold(test, sock);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), 1U);
	sock_put(sk);

	rds_path_ack(rig_path(test), 3);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_ops(test, "XXsCM");
}

static void close_and_a_late_ack(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct sock *sk;

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 5000);
	rig_send(test, sock, 10);
	sk = close_and_hold(test, sock);
	/* The transport goes on with the message in hand. That message holds no
	 * reference to the socket.
	 */
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), 1U);

	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 1);
	rig_expect_sent(test, "2");
	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), 1U);
	sock_put(sk);
}

static void close_in_hand_and_a_drop(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	struct sock *sk;

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 5000);
	sk = close_and_hold(test, sock);

	fake_fail(&rig_fake(test)->xmit, 0, 0);
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), 1U);
	sock_put(sk);
}

static struct kunit_case cancel_cases[] = {
	KUNIT_CASE(queued_to_one_port),
	KUNIT_CASE(queued_all),
	KUNIT_CASE(other_socket_keeps_its_own),
	KUNIT_CASE(sent_is_not_sent_again),
	KUNIT_CASE(in_hand_goes_on_but_does_not_count),
	KUNIT_CASE(in_hand_ends_with_its_connection),
	KUNIT_CASE(on_its_way_to_the_path),
	KUNIT_CASE(canceling_makes_room),
	KUNIT_CASE(close_gives_up_what_was_sent),
	KUNIT_CASE(close_and_a_late_ack),
	KUNIT_CASE(close_in_hand_and_a_drop),
	{}
};

static struct kunit_suite cancel_suite = {
	.name		= "rds_cancel",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= cancel_cases,
};

kunit_test_suite(cancel_suite);
