// SPDX-License-Identifier: GPL-2.0
/* Memory that unread bytes of streams hold: who is charged */
#include "cgroup.h"
#include "memory.h"
#include "stream_pair.h"

#define GROUP	CGROUP_ROOT "/rds-stream-memory"
#define SEED	7
#define UNREAD	500000
#define WAITING	10
#define EACH	25000	/* of a stream that waits, within its credit */

/* Bytes that are charged to sockets of the group */
static long charged(void)
{
	return memory_number(GROUP "/memory.stat", "sock %ld");
}

/* Wait until the charge is in a range: the kernel reports it with a delay. */
static bool await_charge(long least, long most)
{
	long until = now_ms() + STREAM_PATIENCE;
	long now;

	for (;;) {
		now = charged();
		if (now >= least && now <= most)
			return true;
		if (now_ms() > until)
			return false;
		usleep(20000);
	}
}

/* On this host, what was sent is charged to its sender. */
static bool is_charged(const FIXTURE_VARIANT(stream) *variant)
{
	return variant->apart || variant->device;
}

TEST_F(stream, unread_bytes_are_charged)
{
	long most = is_charged(variant) ? 4 * UNREAD : 0;
	long least = is_charged(variant) ? UNREAD * 3 / 4 : 0;
	int a, b;

	ASSERT_EQ(0, cgroup_enter(GROUP));
	ASSERT_TRUE(stream_open(self, variant, &a, &b));
	EXPECT_TRUE(await_charge(0, 0));
	ASSERT_TRUE(stream_send(a, SEED, 0, UNREAD));
	ASSERT_TRUE(stream_await_bytes(b, UNREAD));
	EXPECT_TRUE(await_charge(least, most));
	EXPECT_TRUE(stream_recv(b, SEED, 0, UNREAD));
	EXPECT_TRUE(await_charge(0, UNREAD / 4));
	/* The other end, and bytes that nobody will read */
	ASSERT_TRUE(stream_send(b, SEED, 0, UNREAD));
	ASSERT_TRUE(stream_await_bytes(a, UNREAD));
	EXPECT_TRUE(await_charge(least, most));
	close(a);
	close(b);
	EXPECT_TRUE(await_charge(0, 0));
	ASSERT_EQ(0, cgroup_leave());
	EXPECT_EQ(0, rmdir(GROUP));
}

/* The listener is charged for streams that wait, and then who accepts them. */
TEST_F(stream, waiting_streams_are_charged_to_the_listener)
{
	long least = is_charged(variant) ? WAITING * EACH * 3 / 4 : 0;
	struct rds_name name;
	int a[WAITING], b[WAITING], listener, i;

	ASSERT_EQ(0, cgroup_enter(GROUP));
	listener = stream_far_listener(variant, 0);
	ASSERT_LE(0, listener);
	ASSERT_EQ(0, cgroup_leave());
	name = rds_sockname(listener);
	for (i = 0; i < WAITING; i++) {
		a[i] = stream_connected(variant, name);
		ASSERT_LE(0, a[i]);
		ASSERT_TRUE(stream_send(a[i], SEED, 0, EACH));
	}
	EXPECT_TRUE(await_charge(least, 4 * WAITING * EACH));
	for (i = 0; i < WAITING; i++) {
		b[i] = stream_accept(listener);
		ASSERT_LE(0, b[i]);
		ASSERT_TRUE(stream_await_bytes(b[i], EACH));
	}
	EXPECT_TRUE(await_charge(0, WAITING * EACH / 4));
	for (i = 0; i < WAITING; i++) {
		EXPECT_TRUE(stream_recv(b[i], SEED, 0, EACH));
		close(a[i]);
		close(b[i]);
	}
	close(listener);
	EXPECT_TRUE(await_charge(0, 0));
	EXPECT_EQ(0, rmdir(GROUP));
}

TEST_HARNESS_MAIN
