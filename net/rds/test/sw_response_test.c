// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software RDMA responses, and when they are sent: net/rds/core/sw_response.c.
 * The peer requests writes with a key that no memory has, so all requests are
 * refused.
 */
#include "../core/sw_frame.h"
#include "../core/sw_request.h"
#include "rig_peer.h"

/* Limits: ONE response is in hand, and up to WAITING more may wait. */
#define WAITING		(4 * RDS_SW_DEPTH)
#define ONE		1U

/* TURN is the number of responses sent in a row while a message waits. MANY is
 * the number of requests that arrive in that test.
 */
#define TURN		4U
#define MANY		1000

static const struct rig_peer ours = { RIG_OURS, 1, 77, 5 };

static struct fake *fake;
static u32 asked;
static bool blocked;

static void ask(struct rds_path *path)
{
	const struct rds_sw_frame ext = {
		.sf_kind = RDS_SW_WRITE, .sf_id = ++asked, .sf_key = 1,
	};
	struct rds_header hdr = {
		.h_len		= htonl(1),
		.h_flags	= RDS_FLAG_RETRANSMITTED,
	};

	rds_sw_frame_write(hdr.h_exthdr, &ext);
	fake_deliver(fake, path, &hdr);
}

/* Whenever a response is sent, the peer sends another request. */
static void ask_again(struct rds_path *path, struct rds_message *msg)
{
	ask(path);
	if (asked < MANY)
		fake->in_xmit = ask_again;
}

/* Both ends have sent handshake frames, and nothing is left to send. */
static struct socket *known(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	fake = rig_fake(test);
	asked = 0;
	blocked = false;
	rig_send(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_reply(test, 0, 1, &ours);
	fake_settle(fake);
	fake_forget(fake);
	return sock;
}

/* The transport accepts nothing, and a response is in hand. */
static void block(struct kunit *test)
{
	fake_fail(&fake->xmit, -EAGAIN, FAKE_FOR_EVER);
	ask(rig_path(test));
	fake_settle(fake);
}

/* Expect responses in the order of the requests. Skip other frames. */
static void expect_responses(struct kunit *test, unsigned int count)
{
	const struct fake_call *call;
	struct rds_sw_frame ext;
	unsigned int n, id = 0;

	for (n = 0; (call = fake_nth(fake, FAKE_SENT, n)); n++) {
		if (call->seq || !rds_sw_frame_read(call->exthdr, &ext))
			continue;
		KUNIT_ASSERT_EQ(test, ext.sf_id, ++id);
		KUNIT_EXPECT_EQ(test, ext.sf_kind, RDS_SW_RESPONSE);
		KUNIT_EXPECT_EQ(test, ext.sf_status, RDS_SW_REFUSED);
		KUNIT_EXPECT_EQ(test, call->len, 0U);
	}
	KUNIT_EXPECT_EQ(test, id, count);
}

/* Return the number of frames that were sent before the first message. */
static unsigned int sent_before(struct kunit *test)
{
	const struct fake_call *call;
	unsigned int n = 0;

	while ((call = fake_nth(fake, FAKE_SENT, n)) && !call->seq)
		n++;
	KUNIT_ASSERT_NOT_NULL(test, call);
	return n;
}

static void responses_go_before_messages(struct kunit *test)
{
	struct socket *sock = known(test);

	block(test);
	rig_send(test, sock, 1);
	while (asked < TURN)
		ask(rig_path(test));
	fake_unblock(fake);
	fake_settle(fake);
	KUNIT_EXPECT_EQ(test, sent_before(test), TURN);
	expect_responses(test, TURN);
}

/* A message waits while the peer keeps sending requests, which it does in
 * @in_xmit. The message must be sent after TURN responses.
 */
static void expect_turns(struct kunit *test,
			 void (*in_xmit)(struct rds_path *path,
					 struct rds_message *msg))
{
	struct socket *sock = known(test);

	block(test);
	rig_send(test, sock, 1);
	fake->in_xmit = in_xmit;
	fake_unblock(fake);
	rig_await(test, FAKE_SENT, MANY + 1);
	KUNIT_EXPECT_EQ(test, sent_before(test), TURN);
	expect_responses(test, MANY);
}

static void endless_requests_block_nothing(struct kunit *test)
{
	expect_turns(test, ask_again);
}

/* Same as ask_again(), but every second xmit() fails, and a kick follows. */
static void ask_or_block(struct rds_path *path, struct rds_message *msg)
{
	if (blocked) {
		rds_path_kick(path, RDS_KICK_SEND);
	} else {
		ask(path);
		fake_fail(&fake->xmit, -EAGAIN, 1);
	}
	blocked = !blocked;
	if (asked < MANY || blocked)
		fake->in_xmit = ask_or_block;
}

static void slow_transport_gives_all_a_turn(struct kunit *test)
{
	expect_turns(test, ask_or_block);
}

static void as_many_as_are_allowed(struct kunit *test)
{
	known(test);
	block(test);
	while (asked < WAITING + ONE)
		ask(rig_path(test));
	fake_unblock(fake);
	fake_settle(fake);
	expect_responses(test, WAITING + ONE);
	KUNIT_EXPECT_EQ(test, fake_count(fake, FAKE_SHUTDOWN), 0U);
}

static void one_more_is_too_much(struct kunit *test)
{
	known(test);
	block(test);
	while (asked < WAITING + ONE + 1)
		ask(rig_path(test));
	rig_await(test, FAKE_SHUTDOWN, 1);
	fake_unblock(fake);
	fake_settle(fake);
	expect_responses(test, 0);
}

static struct kunit_case sw_response_cases[] = {
	KUNIT_CASE(responses_go_before_messages),
	KUNIT_CASE(endless_requests_block_nothing),
	KUNIT_CASE(slow_transport_gives_all_a_turn),
	KUNIT_CASE(as_many_as_are_allowed),
	KUNIT_CASE(one_more_is_too_much),
	{}
};

static struct kunit_suite sw_response_suite = {
	.name		= "rds_sw_response",
	.init		= rig_init_one_path,
	.exit		= rig_exit,
	.test_cases	= sw_response_cases,
};

kunit_test_suite(sw_response_suite);
