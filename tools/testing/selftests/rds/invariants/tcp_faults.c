// SPDX-License-Identifier: GPL-2.0
/*
 * Memory shortage while messages are received over TCP. What has arrived is not
 * lost, even if its connection is, because TCP has acknowledged it.
 *
 * Steps of our code are made to fail. Needs CONFIG_FAIL_FUNCTION.
 */
#include "faults.h"
#include "tracing.h"
#include "wire.h"

#define MANY 1000000

/* Together they fit into a receive window that has not grown. */
static const size_t sizes[] = { 64, 9000, 0, 30000, 1, 5000 };
static char payload[30000];

static const struct step steps[] = {
	{ "rds_tcp_incoming_alloc", "0", "1" },
	{ "rds_tcp_incoming_add", "0", "1" },
};

static void __attribute__((constructor)) enter_wire(void)
{
	wire_enter();
}

FIXTURE_SETUP(wire)
{
	ASSERT_TRUE(wire_bind(self, variant, 0, 0));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 1 << 20));
	ASSERT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

FIXTURE_TEARDOWN(wire)
{
	fail_no_more();
	close(self->a);
	close(self->b);
}

static void send_one(struct __test_metadata *_metadata,
		     FIXTURE_DATA(wire) *self, unsigned int i)
{
	rds_fill(payload, sizes[i], i);
	ASSERT_EQ((ssize_t)sizes[i],
		  rds_sendto(self->a, payload, sizes[i], 0, &self->b_name));
}

static void receive_one(struct __test_metadata *_metadata,
			FIXTURE_DATA(wire) *self, unsigned int i)
{
	ASSERT_EQ((ssize_t)sizes[i],
		  rds_recv(self->b, payload, sizeof(payload)));
	EXPECT_TRUE(rds_check(payload, sizes[i], i));
}

/*
 * No message follows, so TCP does not call again: the path has to try again by
 * itself.
 */
TEST_F(wire, i16_receive_without_memory)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			ASSERT_TRUE(fail_at(&steps[i], TIMES));
			send_one(_metadata, self, j);
			receive_one(_metadata, self, j);
			if (sizes[j])
				EXPECT_EQ(0, times_left())
					TH_LOG("%s", steps[i].function);
			EXPECT_TRUE(fail_no_more());
		}
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* All messages arrive after their connection was lost, and there has been no
 * memory for them for @ms milliseconds since.
 */
static void lose_connection(struct __test_metadata *_metadata,
			    FIXTURE_DATA(wire) *self, const struct step *step,
			    unsigned int ms)
{
	unsigned int i;

	ASSERT_TRUE(fail_at(step, MANY));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		send_one(_metadata, self, i);
	EXPECT_TRUE(rds_await_acked(self->a));
	EXPECT_EQ(0, reset_here());
	usleep(1000 * ms);
	EXPECT_GT(MANY, times_left()) TH_LOG("%s", step->function);
	EXPECT_TRUE(fail_no_more());
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		receive_one(_metadata, self, i);
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

TEST_F(wire, i16_connection_lost_while_there_is_no_memory)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		lose_connection(_metadata, self, &steps[i], 100);
}

/* However long that is */
TEST_F(wire, i16_connection_lost_and_no_memory_for_long)
{
	lose_connection(_metadata, self, &steps[0], 5000);
}

TEST_F(wire, receiver_without_memory_is_traced)
{
	ASSERT_EQ(0, trace_begin("rds_tcp"));
	ASSERT_TRUE(fail_at(&steps[0], 1));
	send_one(_metadata, self, 0);
	receive_one(_metadata, self, 0);
	EXPECT_TRUE(fail_no_more());
	EXPECT_TRUE(traced("rds_tcp_rx_pause", ".*",
			   "path=[0-7] .* state=ESTABLISHED err=-12 unread="));
	EXPECT_TRUE(traced("rds_tcp_rx_resume", ".*",
			   "path=[0-7] .* state=ESTABLISHED err=0 unread="));
	trace_end();
}

TEST_HARNESS_MAIN
