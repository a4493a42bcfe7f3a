// SPDX-License-Identifier: GPL-2.0-only
/*
 * Support of core for transports that are byte streams,
 * net/rds/core/{send,retrans}.c: acks by marks, and batches.
 */
#include "../core/path.h"
#include "rig.h"

#define LEN	10
#define STEP	((u32)sizeof(struct rds_header) + LEN)

static void ack_mark(struct kunit *test, u32 mark)
{
	rds_path_ack_mark(rig_path(test), mark);
}

struct start_row {
	const char	*name;
	u32		start;
};

/* Position of the stream before three messages are sent */
static const struct start_row starts[] = {
	{ "0", 0 },
	{ "1", 1 },
	{ "before_the_sign", 0x7fffffff - STEP - 5 },
	{ "at_the_sign", 0x80000000 - STEP },
	{ "before_the_wrap", U32_MAX - STEP - 5 },
	{ "at_the_wrap", 0U - STEP },
	{ "in_a_header", 0U - 2 * STEP + 20 },
};

static void start_desc(const struct start_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(starts, starts, start_desc);

static void mark_releases_what_it_covers(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct socket *sock = rig_up(test);
	u32 mark = row->start;
	unsigned int i;

	rig_fake(test)->mark = mark;
	for (i = 0; i < 3; i++)
		rig_send(test, sock, LEN);

	ack_mark(test, mark);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 3);
	ack_mark(test, mark + STEP - 1);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 3);
	ack_mark(test, mark + STEP);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 2);
	ack_mark(test, mark + 3 * STEP - 1);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	ack_mark(test, mark + 3 * STEP);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static void mark_wakes_blocked_sender(struct kunit *test)
{
	struct rig_sender sender = { .test = test, .len = 10 };
	struct socket *sock = rig_up(test);
	u64 full = rig_stat(send_queue_full);

	rig_fake(test)->mark = 0;
	rig_set_bufs(sock, 100);
	rig_send(test, sock, 100);
	sender.sock = sock;
	rig_start_sender(&sender);
	rig_await_stat(test, send_queue_full, full + 1);
	ack_mark(test, sizeof(struct rds_header) + 100);
	KUNIT_EXPECT_EQ(test, rig_finish_sender(&sender), 10);
}

/* An operation may end so long after the bytes of its message were acknowledged
 * that marks have wrapped. Its message holds up no other for that.
 */
static void op_outlasts_the_wrap(struct kunit *test)
{
	struct rds_op slow = { .op_bare = true };
	struct socket *sock = rig_up(test);
	struct rds_message *msg;

	rig_fake(test)->mark = 0;
	rig_send(test, sock, LEN);
	rig_send(test, sock, LEN);
	msg = list_first_entry(&rig_nth_cpath(test, 0)->cp_tx.pt_retrans,
			       struct rds_message, m_path_item);
	msg->m_op = &slow;
	ack_mark(test, 2 * STEP);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	ack_mark(test, 0x70000000);
	ack_mark(test, 0xe0000000);
	msg->m_op = NULL;
	ack_mark(test, 0xe0000000);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

/* No mark releases a message that is in hand or waits to be sent. */
static void mark_of_what_was_not_sent(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->mark = 0;
	rig_send(test, sock, LEN);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, LEN);
	rig_send(test, sock, LEN);
	ack_mark(test, 0x70000000);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 2);
}

static void ack_by_mark(struct rds_path *path, struct rds_message *msg)
{
	rds_path_ack_mark(path, msg->m_mark);
}

/* A transport may send a batch, and receive its ack, within xmit(). */
static void mark_before_xmit_returns(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->in_xmit = ack_by_mark;
	rig_send(test, sock, LEN);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	rig_expect_ops(test, "X");
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_expect_ops(test, "XsCM");
}

/* A new connection is a new stream, which counts from elsewhere. An old mark
 * must not release a message that is sent again.
 */
static void marks_end_with_the_connection(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->mark = 1000000;
	rig_send(test, sock, LEN);
	rig_send(test, sock, LEN);
	ack_mark(test, 1000000 + STEP);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);

	rig_fake(test)->mark = 0;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 3);
	rig_send(test, sock, LEN);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 2);
	ack_mark(test, STEP);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
	ack_mark(test, 2 * STEP);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
}

static void late_ack(struct rds_path *path)
{
	rds_path_ack_mark(path, STEP);
}

/* An ack that arrives while the connection is shut down counts. */
static void mark_while_shutting_down(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	rig_fake(test)->mark = 0;
	rig_send(test, sock, LEN);
	rig_send(test, sock, LEN);
	rig_fake(test)->in_shutdown = late_ack;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 3);
	rig_expect_sent(test, "2 3 3ar");
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 1);
}

static int batch_init(struct kunit *test)
{
	int ret = rig_init(test);

	if (!ret)
		fake_batches(rig_fake(test));
	return ret;
}

static void flush_ends_a_batch(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	unsigned int i;

	rig_send(test, sock, LEN);
	rig_expect_ops(test, "XU");

	fake_forget(rig_fake(test));
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 0; i < 3; i++)
		rig_send(test, sock, LEN);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_FLUSHED, 1);
	rig_expect_ops(test, "XXXU");
}

static void flush_waits_for_a_kick(struct kunit *test)
{
	u64 before = rig_stat(send_immediate_retry);
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->flush, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, LEN);
	fake_settle(rig_fake(test));
	rig_expect_ops(test, "Xu");
	KUNIT_EXPECT_EQ(test, rig_stat(send_immediate_retry), before + 1);

	fake_fail(&rig_fake(test)->flush, 0, 0);
	rds_path_kick(rig_path(test), RDS_KICK_SEND);
	rig_await(test, FAKE_FLUSHED, 1);
	rig_expect_ops(test, "XuU");
}

static void flush_without_memory(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->flush, -ENOMEM, 2);
	rig_send(test, sock, LEN);
	rig_await(test, FAKE_FLUSHED, 1);
	rig_expect_ops(test, "XuuU");
}

static void flush_that_fails_drops_the_path(struct kunit *test)
{
	struct socket *sock = rig_up(test);

	fake_fail(&rig_fake(test)->flush, -EPIPE, 1);
	rig_send(test, sock, LEN);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_sent(test, "2 2ar");
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SHUTDOWN), 1U);
}

/* A batch also ends where the path's work item takes over. */
static void long_queue_is_flushed_between(struct kunit *test)
{
	const unsigned int batch = 1024, nr = 1500;
	struct socket *sock = rig_up(test);
	unsigned int i;

	rig_set_bufs(sock, 1 << 20);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 0; i < nr; i++)
		rig_send(test, sock, 1);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, nr);
	rig_await(test, FAKE_FLUSHED, 2);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_FLUSHED), 2U);
	KUNIT_EXPECT_FALSE(test, fake_nth(rig_fake(test), FAKE_SENT,
					  batch - 1)->more);
}

static struct kunit_case marks_cases[] = {
	KUNIT_CASE_PARAM(mark_releases_what_it_covers, starts_gen_params),
	KUNIT_CASE(mark_wakes_blocked_sender),
	KUNIT_CASE(op_outlasts_the_wrap),
	KUNIT_CASE(mark_of_what_was_not_sent),
	KUNIT_CASE(mark_before_xmit_returns),
	KUNIT_CASE(marks_end_with_the_connection),
	KUNIT_CASE(mark_while_shutting_down),
	{}
};

static struct kunit_suite marks_suite = {
	.name		= "rds_marks",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= marks_cases,
};

static struct kunit_case batch_cases[] = {
	KUNIT_CASE(flush_ends_a_batch),
	KUNIT_CASE(flush_waits_for_a_kick),
	KUNIT_CASE(flush_without_memory),
	KUNIT_CASE(flush_that_fails_drops_the_path),
	KUNIT_CASE(long_queue_is_flushed_between),
	{}
};

static struct kunit_suite batch_suite = {
	.name		= "rds_batch",
	.init		= batch_init,
	.exit		= rig_exit,
	.test_cases	= batch_cases,
};

kunit_test_suites(&marks_suite, &batch_suite);
