// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user of connections that stands above core, net/rds/core/upper.c and
 * upper_calls.c.
 */
#include <net/ipv6.h>

#include "rig_upper.h"

static const struct rds_frame request = {
	.op	= RDS_FRAME_REQUEST,
	.id	= UPPER_ID,
	.buf	= 5,
};

static void one_user(struct kunit *test)
{
	const struct rds_upper other = upper.ops;
	struct socket *sock;

	KUNIT_EXPECT_EQ(test, -EEXIST, rds_upper_register(&other));
	KUNIT_EXPECT_EQ(test, -EXDEV,
			sock_create_kern(&init_net, AF_RDS, SOCK_STREAM, 0,
					 &sock));
	upper_unregister();
	KUNIT_EXPECT_EQ(test, -ESOCKTNOSUPPORT,
			sock_create_kern(&init_net, AF_RDS, SOCK_STREAM, 0,
					 &sock));
}

static void opened_by_name(struct kunit *test)
{
	struct rds_upper_names names;

	upper_open(test);
	rds_upper_names(upper.conn, &names);
	KUNIT_EXPECT_PTR_EQ(test, names.net, &init_net);
	KUNIT_EXPECT_TRUE(test, ipv6_addr_equal(&names.laddr, &fake_laddr));
	KUNIT_EXPECT_EQ(test, ntohl(names.faddr.s6_addr32[3]),
			(u32)RIG_FADDR);
	KUNIT_EXPECT_FALSE(test, names.loops);
	KUNIT_EXPECT_FALSE(test, rds_upper_is_gone(upper.conn));
	KUNIT_EXPECT_EQ(test, upper_peer(), RDS_PEER_UNKNOWN);
}

static void acked_frames_are_done(struct kunit *test)
{
	unsigned int i;

	upper_up(test, &rig_ours_1);
	for (i = 0; i < 3; i++)
		upper_submit(test);
	rig_expect_sent(test, "2a 3a 4a");
	upper_expect(test, 0, 0);
	rds_path_ack(rig_path(test), 2);
	upper_expect(test, 1, 0);
	rds_path_ack(rig_path(test), 2);
	upper_expect(test, 1, 0);
	rds_path_ack(rig_path(test), 4);
	upper_expect(test, 3, 0);
	upper_reconnect(test, &rig_ours_1, 0);
	upper_expect(test, 3, 0);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
}

static void submit(struct kunit *test, unsigned int n, unsigned int how)
{
	while (n--)
		KUNIT_ASSERT_EQ(test, 0,
				rds_upper_submit(upper.conn, upper_frame(test),
						 &upper, upper_epoch(), how));
	fake_settle(rig_fake(test));
}

/* The budget counts, as for other messages. What is sent to learn of the peer
 * has used it.
 */
static void not_each_frame_asks_for_an_ack(struct kunit *test)
{
	rig_sysctl()->max_unacked_packets = 2;
	upper_up(test, &rig_ours_1);
	submit(test, 4, RDS_UPPER_KICK);
	rig_expect_sent(test, "2a 3 4a 5");
	rds_path_ack(rig_path(test), 5);
	upper_expect(test, 4, 0);
}

/* A frame that nobody kicks waits for the next one, or for a kick. */
static void sent_when_kicked(struct kunit *test)
{
	upper_up(test, &rig_ours_1);
	submit(test, 2, RDS_UPPER_ASK);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	rds_upper_kick(upper.conn, htons(RIG_PORT), htons(RIG_PEER_PORT));
	fake_settle(rig_fake(test));
	rig_expect_sent(test, "2a 3a");
	rds_path_ack(rig_path(test), 3);
	upper_expect(test, 2, 0);
}

static void owner_is_told(struct kunit *test)
{
	struct rds_message *msg;

	upper_up(test, &rig_ours_1);
	msg = upper_submit_held(test);
	rds_path_ack(rig_path(test), 2);
	KUNIT_EXPECT_PTR_EQ(test, upper.owner, (void *)msg);
	/* It is done, so there is nothing to cancel. */
	KUNIT_EXPECT_FALSE(test, upper_cancel(msg));
	upper_expect(test, 1, 0);
}

/* Until a peer has announced streams, frames are given up. When it has, the
 * user is told.
 */
static void unknown_until_the_handshake(struct kunit *test)
{
	unsigned int told;

	upper_open(test);
	rds_upper_dial(upper.conn);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_await(test, FAKE_SENT, 1);
	KUNIT_EXPECT_EQ(test, upper_peer(), RDS_PEER_UNKNOWN);
	upper_submit(test);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	upper_expect(test, 1, 1);

	told = upper.events[RDS_UPPER_PEER];
	rig_reply(test, 0, 1, &rig_ours_1);
	KUNIT_EXPECT_EQ(test, upper_peer(), RDS_PEER_STREAMS);
	KUNIT_EXPECT_EQ(test, upper.events[RDS_UPPER_PEER], told + 1);
	upper_submit(test);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 1U);
	upper_expect(test, 1, 1);
}

/* A request of the peer has arrived with its handshake frame. The response is
 * pushed before the work item has acted on that frame.
 */
static void sent_when_the_peer_is_learnt(struct kunit *test)
{
	struct rds_conn *conn;

	upper_open(test);
	conn = upper.conn;
	rds_upper_dial(conn);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_await(test, FAKE_SENT, 1);

	mutex_lock(&conn->c_mp_lock);
	rig_probe_only(test, 0, 1, &rig_ours_1);
	upper_submit_for(test, upper_frame(test), upper_epoch());
	rds_upper_push(conn, htons(RIG_PORT), htons(RIG_PEER_PORT));
	upper_expect(test, 0, 0);
	mutex_unlock(&conn->c_mp_lock);

	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, upper_sent(test), 1U);
	upper_expect(test, 0, 0);
}

static void not_sent_to_others(struct kunit *test)
{
	upper_open(test);
	upper_submit(test);
	upper_connect(test, &rig_new_1);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	upper_expect(test, 1, 1);
	KUNIT_EXPECT_EQ(test, upper_peer(), RDS_PEER_OTHER);
	upper_submit(test);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	upper_expect(test, 2, 2);
}

static void sent_again_to_the_same(struct kunit *test)
{
	upper_up(test, &rig_ours_1);
	upper_submit(test);
	upper_reconnect(test, &rig_ours_1, 0);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 1U);
	upper_expect(test, 0, 0);
	rds_path_ack(rig_path(test), 2);
	upper_expect(test, 1, 0);
}

static void not_sent_to_another_incarnation(struct kunit *test)
{
	unsigned int told;
	u32 epoch;

	upper_up(test, &rig_ours_1);
	epoch = upper_epoch();
	told = upper.events[RDS_UPPER_PEER];
	upper_submit(test);
	upper_reconnect(test, &rig_restarted, 1);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	upper_expect(test, 1, 1);
	KUNIT_EXPECT_NE(test, epoch, upper_epoch());
	KUNIT_EXPECT_EQ(test, upper_peer(), RDS_PEER_STREAMS);
	/* Once for the incarnation, and once as frames may flow. */
	KUNIT_EXPECT_EQ(test, upper.events[RDS_UPPER_PEER], told + 2);

	/* One that was written before, and is submitted only now */
	upper_submit_for(test, upper_frame(test), epoch);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	upper_expect(test, 2, 2);
	upper_submit(test);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 1U);
}

/* A peer that has restarted without streams is another one than before. */
static void streams_are_unlearnt(struct kunit *test)
{
	upper_up(test, &rig_ours_1);
	upper_submit(test);
	upper_reconnect(test, &rig_new_1, 1);
	KUNIT_EXPECT_EQ(test, upper_peer(), RDS_PEER_OTHER);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	upper_expect(test, 1, 1);
}

static void cancel_queued(struct kunit *test)
{
	struct rds_message *msg;

	upper_up(test, &rig_ours_1);
	rig_fake(test)->connect_later = true;
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_CONNECTED, 1);
	msg = upper_submit_held(test);
	upper_submit(test);
	KUNIT_EXPECT_TRUE(test, upper_cancel(msg));

	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_probe(test, 0, 0, &rig_ours_1);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 1U);
	upper_expect(test, 0, 0);
}

/* The transport keeps what it has begun to send. */
static void cancel_in_hand(struct kunit *test)
{
	struct rds_message *msg;

	upper_up(test, &rig_ours_1);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	msg = upper_submit_held(test);
	upper_submit(test);
	KUNIT_EXPECT_TRUE(test, upper_cancel(msg));
	upper_expect(test, 0, 0);
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 2);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 2U);
	rds_path_ack(rig_path(test), 3);
	upper_expect(test, 1, 0);
}

static void cancel_sent(struct kunit *test)
{
	struct rds_message *msg;

	upper_up(test, &rig_ours_1);
	msg = upper_submit_held(test);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 1U);
	KUNIT_EXPECT_TRUE(test, upper_cancel(msg));
	upper_reconnect(test, &rig_ours_1, 0);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	upper_expect(test, 0, 0);
}

/* A canceled frame is canceled once. */
static void cancel_twice(struct kunit *test)
{
	struct rds_message *msg;

	upper_up(test, &rig_ours_1);
	msg = upper_submit_held(test);
	KUNIT_EXPECT_TRUE(test, rds_upper_cancel(msg));
	KUNIT_EXPECT_FALSE(test, upper_cancel(msg));
	rds_path_ack(rig_path(test), 2);
	upper_expect(test, 0, 0);
}

static void replies_are_limited(struct kunit *test)
{
	u8 exthdr[RDS_EXTHDR_SPACE];
	unsigned int i;

	rds_frame_write(exthdr, &request);
	rig_sysctl()->pongs_max = 400;
	upper_up(test, &rig_ours_1);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 0; i < 1000; i++)
		rds_upper_reply(upper.conn, htons(RIG_PORT),
				htons(RIG_PEER_PORT), exthdr);
	fake_settle(rig_fake(test));
	fake_unblock(rig_fake(test));
	rig_await(test, FAKE_SENT, 80);
	/* A path may have a quarter of what is left. */
	KUNIT_EXPECT_EQ(test, upper_sent(test), 80U);
	/* They count until they are acknowledged. */
	rds_upper_reply(upper.conn, htons(RIG_PORT), htons(RIG_PEER_PORT),
			exthdr);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, upper_sent(test), 80U);
	rds_path_ack(rig_path(test), 81);
	rds_upper_reply(upper.conn, htons(RIG_PORT), htons(RIG_PEER_PORT),
			exthdr);
	rig_await(test, FAKE_SENT, 81);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 81U);
	upper_expect(test, 0, 0);
}

/* Replies to a host that is gone would take the place of others. */
static void replies_do_not_wait(struct kunit *test)
{
	u8 exthdr[RDS_EXTHDR_SPACE];
	unsigned int i;

	rds_frame_write(exthdr, &request);
	rig_sysctl()->pongs_max = 4;
	upper_up(test, &rig_ours_1);
	rig_fake(test)->connect_later = true;
	fake_forget(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	fake_settle(rig_fake(test));
	for (i = 0; i < 10; i++) {
		rds_upper_reply(upper.conn, htons(RIG_PORT),
				htons(RIG_PEER_PORT), exthdr);
		fake_settle(rig_fake(test));
	}
	rig_await(test, FAKE_CONNECTED, 1);
	rds_path_connect_done(rig_path(test));
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_probe(test, 0, 0, &rig_ours_1);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
	rds_upper_reply(upper.conn, htons(RIG_PORT), htons(RIG_PEER_PORT),
			exthdr);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, upper_sent(test), 1U);
}

static void frames_are_delivered(struct kunit *test)
{
	struct rds_frame frame = request;

	upper_up(test, &rig_ours_1);
	upper_arrives(test, 2, RIG_PORT, 10, &frame);
	KUNIT_EXPECT_EQ(test, upper.delivered, 1U);
	KUNIT_EXPECT_EQ(test, upper.got.op, (u8)RDS_FRAME_REQUEST);
	KUNIT_EXPECT_EQ(test, upper.got.id, (u32)UPPER_ID);
	KUNIT_EXPECT_EQ(test, upper.sport, (u16)RIG_PEER_PORT);
	KUNIT_EXPECT_EQ(test, upper.len, 10U);
	/* Once */
	upper_arrives(test, 2, RIG_PORT, 10, &frame);
	KUNIT_EXPECT_EQ(test, upper.delivered, 1U);
	/* Also to the port of pings, and with an op that does not exist */
	frame.op = 200;
	upper_arrives(test, 3, 0, 0, &frame);
	KUNIT_EXPECT_EQ(test, upper.delivered, 2U);
	KUNIT_EXPECT_EQ(test, upper_sent(test), 0U);
}

/* The header of a frame means nothing in a message of another peer. */
static void others_send_messages(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);
	struct rig_got got;

	upper_up(test, &rig_new_1);
	upper_arrives(test, 2, RIG_PORT, 10, &request);
	KUNIT_EXPECT_EQ(test, upper.delivered, 0U);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 10);
	KUNIT_EXPECT_TRUE(test, got.intact);
}

struct refused_row {
	const char	*name;
	u8		op;
	u8		flags;
	bool		answered;
};

static const struct refused_row refuses[] = {
	{ "request",		RDS_FRAME_REQUEST, 0, true },
	{ "to_client",		RDS_FRAME_RW, RDS_FRAME_TO_CLIENT, true },
	{ "unknown",		200, 0, true },
	{ "rst",		RDS_FRAME_RST, 0, false },
	{ "busy",		RDS_FRAME_BUSY, RDS_FRAME_TO_CLIENT, false },
};

static void refused_desc(const struct refused_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refuses, refuses, refused_desc);

static void refused_without_a_user(struct kunit *test)
{
	const struct refused_row *row = test->param_value;
	struct rds_frame frame = {
		.op = row->op,
		.id = UPPER_ID,
		.fwd = 7,
	};
	u64 dropped = rig_stat(recv_drop_no_sock);
	const struct fake_call *call;
	struct rds_frame answer;

	frame.flags = row->flags;
	upper_up(test, &rig_ours_1);
	upper_unregister();
	upper_arrives(test, 2, RIG_PORT, 0, &frame);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_no_sock), dropped + 1);
	KUNIT_EXPECT_EQ(test, upper_sent(test), row->answered ? 1U : 0U);
	call = fake_nth(rig_fake(test), FAKE_SENT, 0);
	if (!row->answered || !call)
		return;
	KUNIT_EXPECT_EQ(test, call->sport, (u16)RIG_PORT);
	KUNIT_EXPECT_EQ(test, call->dport, (u16)RIG_PEER_PORT);
	KUNIT_EXPECT_TRUE(test, rds_frame_read(call->exthdr, &answer));
	KUNIT_EXPECT_EQ(test, answer.op, (u8)RDS_FRAME_RST);
	KUNIT_EXPECT_EQ(test, answer.arg, (u8)RDS_STREAM_NO_STREAMS);
	KUNIT_EXPECT_EQ(test, answer.id, (u32)UPPER_ID);
	KUNIT_EXPECT_EQ(test, answer.fwd, 0U);
	KUNIT_EXPECT_NE(test, answer.flags & RDS_FRAME_TO_CLIENT,
			row->flags & RDS_FRAME_TO_CLIENT);
}

struct failed_row {
	const char	*name;
	int		ret;
	int		err;
};

static const struct failed_row failures[] = {
	{ "network",	-ENETUNREACH, -EHOSTUNREACH },
	{ "host",	-EHOSTUNREACH, -EHOSTUNREACH },
	{ "memory",	-ENOMEM, 0 },
};

static void failed_desc(const struct failed_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(failures, failures, failed_desc);

static void failure_is_told(struct kunit *test)
{
	const struct failed_row *row = test->param_value;

	upper_open(test);
	fake_fail(&rig_fake(test)->connect, row->ret, 1);
	rds_upper_dial(upper.conn);
	rig_await(test, FAKE_MAPPED, 1);
	KUNIT_EXPECT_EQ(test, upper.events[RDS_UPPER_FAILED],
			row->err ? 1U : 0U);
	KUNIT_EXPECT_EQ(test, upper.err, row->err);
}

struct drop_row {
	const char		*name;
	enum rds_drop_reason	reason;
	int			err;
};

static const struct drop_row drops[] = {
	{ "refused",		RDS_DROP_REFUSED, -ECONNREFUSED },
	{ "unreachable",	RDS_DROP_UNREACHABLE, -EHOSTUNREACH },
	{ "timeout",		RDS_DROP_TIMEOUT, -ETIMEDOUT },
	{ "raced",		RDS_DROP_RACED, 0 },
	{ "reset",		RDS_DROP_PEER_RESET, 0 },
};

static void drop_desc(const struct drop_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(drops, drops, drop_desc);

static void drop_is_told(struct kunit *test)
{
	const struct drop_row *row = test->param_value;

	rig_fake(test)->connect_later = true;
	upper_open(test);
	upper_submit(test);
	rig_await(test, FAKE_CONNECTED, 1);
	rds_path_drop(rig_path(test), row->reason);
	rig_await(test, FAKE_SHUTDOWN, 1);
	fake_settle(rig_fake(test));
	KUNIT_EXPECT_EQ(test, upper.events[RDS_UPPER_FAILED],
			row->err ? 1U : 0U);
	KUNIT_EXPECT_EQ(test, upper.err, row->err);
	/* What is queued waits for the next attempt. */
	upper_expect(test, 0, 0);
}

/* The user may still have the connection when it is gone. */
static void gone_is_told(struct kunit *test)
{
	struct rds_message *msg;

	upper_up(test, &rig_ours_1);
	upper_submit(test);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	upper_submit(test);
	upper_submit(test);
	fake_unregister(rig_fake(test));
	KUNIT_EXPECT_EQ(test, upper.events[RDS_UPPER_GONE], 1U);
	KUNIT_EXPECT_TRUE(test, rds_upper_is_gone(upper.conn));
	upper_expect(test, 3, 3);

	msg = upper_frame(test);
	KUNIT_EXPECT_EQ(test, -ENOTCONN,
			rds_upper_submit(upper.conn, msg, msg, 0, 0));
	rds_message_put(msg);
	upper_expect(test, 3, 3);
}

static struct kunit_case upper_cases[] = {
	KUNIT_CASE(one_user),
	KUNIT_CASE(opened_by_name),
	KUNIT_CASE(acked_frames_are_done),
	KUNIT_CASE(not_each_frame_asks_for_an_ack),
	KUNIT_CASE(sent_when_kicked),
	KUNIT_CASE(owner_is_told),
	KUNIT_CASE(unknown_until_the_handshake),
	KUNIT_CASE(sent_when_the_peer_is_learnt),
	KUNIT_CASE(not_sent_to_others),
	KUNIT_CASE(sent_again_to_the_same),
	KUNIT_CASE(not_sent_to_another_incarnation),
	KUNIT_CASE(streams_are_unlearnt),
	KUNIT_CASE(cancel_queued),
	KUNIT_CASE(cancel_in_hand),
	KUNIT_CASE(cancel_sent),
	KUNIT_CASE(cancel_twice),
	KUNIT_CASE(replies_are_limited),
	KUNIT_CASE(replies_do_not_wait),
	KUNIT_CASE(frames_are_delivered),
	KUNIT_CASE(others_send_messages),
	KUNIT_CASE_PARAM(refused_without_a_user, refuses_gen_params),
	KUNIT_CASE_PARAM(failure_is_told, failures_gen_params),
	KUNIT_CASE_PARAM(drop_is_told, drops_gen_params),
	KUNIT_CASE(gone_is_told),
	{}
};

static struct kunit_suite upper_suite = {
	.name		= "rds_upper",
	.init		= upper_init,
	.exit		= upper_exit,
	.test_cases	= upper_cases,
};

kunit_test_suite(upper_suite);
