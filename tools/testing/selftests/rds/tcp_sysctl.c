// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/sys/net/rds/tcp: its defaults, modes and bounds, and the buffers of the
 * connections, whose sizes two of the sysctls set
 */
#include "tcp.h"

static const struct {
	const char *name;
	long value;
	long low;
	long high;
} sysctls[] = {
	{ "rds_tcp_sndbuf", 0, 0, INT32_MAX / 2 },
	{ "rds_tcp_rcvbuf", 0, 0, INT32_MAX / 2 },
	{ "user_timeout_ms", 10000, 1000, 24 * 60 * 60 * 1000 },
	{ "legacy_multipath", 0, 0, 1 },
	{ "max_paths", 8, 1, 8 },
	{ "partial_max_kb", 0, 0, INT32_MAX },
};

TEST_F(tcp, sysctls_in_a_new_namespace)
{
	char path[64];
	size_t i;

	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		snprintf(path, sizeof(path), "tcp/%s", sysctls[i].name);
		EXPECT_EQ(sysctls[i].value, tcp_get(sysctls[i].name))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(0644, rds_sysctl_mode(path));
	}
}

TEST_F(tcp, sysctls_have_bounds)
{
	size_t i;

	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		EXPECT_EQ(-EINVAL, tcp_set(sysctls[i].name, sysctls[i].low - 1))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(-EINVAL, tcp_set(sysctls[i].name,
					   sysctls[i].high + 1))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(sysctls[i].value, tcp_get(sysctls[i].name));
		EXPECT_EQ(0, tcp_set(sysctls[i].name, sysctls[i].low));
		EXPECT_EQ(sysctls[i].low, tcp_get(sysctls[i].name));
		EXPECT_EQ(0, tcp_set(sysctls[i].name, sysctls[i].high));
		EXPECT_EQ(sysctls[i].high, tcp_get(sysctls[i].name));
	}
}

/*
 * 0 lets TCP choose the size. Sizes from 1 up to the least size that TCP can
 * use are refused.
 */
TEST_F(tcp, buffers_have_a_least_size)
{
	ASSERT_EQ(0, rds_netns());
	EXPECT_EQ(-EINVAL, tcp_set("rds_tcp_sndbuf", 1));
	EXPECT_EQ(-EINVAL, tcp_set("rds_tcp_sndbuf", 4096));
	EXPECT_EQ(0, tcp_get("rds_tcp_sndbuf"));
	EXPECT_EQ(0, tcp_set("rds_tcp_sndbuf", 4608));
	EXPECT_EQ(-EINVAL, tcp_set("rds_tcp_rcvbuf", 1));
	EXPECT_EQ(-EINVAL, tcp_set("rds_tcp_rcvbuf", 2048));
	EXPECT_EQ(0, tcp_get("rds_tcp_rcvbuf"));
	EXPECT_EQ(0, tcp_set("rds_tcp_rcvbuf", 2304));
	EXPECT_EQ(4608, tcp_get("rds_tcp_sndbuf"));
}

TEST_F(tcp, sysctls_are_of_one_namespace)
{
	size_t i;

	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		ASSERT_EQ(0, tcp_set(sysctls[i].name, sysctls[i].high));
	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		EXPECT_EQ(sysctls[i].value, tcp_get(sysctls[i].name));
}

/* Get the smallest and the largest @field that `ss` shows for sockets here. */
static void socket_memory(const char *field, long *least, long *most)
{
	FILE *ss = popen("ss -tmnH state established", "r");
	char line[512], *found;
	long value;

	*least = INT32_MAX;
	*most = -1;
	while (ss && fgets(line, sizeof(line), ss)) {
		found = strstr(line, field);
		if (!found)
			continue;
		value = strtol(found + strlen(field), NULL, 10);
		*least = value < *least ? value : *least;
		*most = value > *most ? value : *most;
	}
	if (ss)
		pclose(ss);
}

/*
 * Wait until all sockets have the size @wanted. Connections that are about to
 * be replaced, or to be taken by a path, may still have another size.
 */
static bool await_socket_memory(const char *field, long wanted)
{
	unsigned int tries = 100;
	long least, most;

	do {
		socket_memory(field, &least, &most);
		if (least == wanted && most == wanted)
			return true;
		usleep(100000);
	} while (--tries);
	printf("# %s from %ld to %ld\n", field, least, most);
	return false;
}

/*
 * In the upstream kernel, the sysctl for receiving set the size for sending,
 * for five years.
 */
TEST_F(tcp, buffers_have_the_size_that_was_set)
{
	long before;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_await_established(self, self->a, 0));
	ASSERT_EQ(0, tcp_set("rds_tcp_rcvbuf", 34567));
	before = tcp_established(self, self->a);
	ASSERT_EQ(0, tcp_set("rds_tcp_sndbuf", 45678));
	ASSERT_TRUE(tcp_await_established(self, self->a, before + PATHS - 1));
	EXPECT_TRUE(await_socket_memory(",rb", 34567));
	EXPECT_TRUE(await_socket_memory(",tb", 45678));
	EXPECT_TRUE(tcp_works(self->a, self->b));
	EXPECT_TRUE(tcp_works(self->b, self->a));
}

/* The second write does not drop a connection that the peer has made since the
 * first write, and that no path has taken yet.
 */
TEST_F(tcp, buffers_have_the_size_that_was_set_last)
{
	long size;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(tcp_works(self->a, self->b));
	for (size = 45000; size < 45010; size++) {
		ASSERT_TRUE(tcp_await_established(self, self->a, 0));
		ASSERT_EQ(0, tcp_set("rds_tcp_sndbuf", 56789));
		usleep((size - 45000) * 2000);
		ASSERT_EQ(0, tcp_set("rds_tcp_sndbuf", size));
		ASSERT_TRUE(await_socket_memory(",tb", size));
	}
	/* With 0 the kernel chooses the size again. */
	ASSERT_EQ(0, tcp_set("rds_tcp_sndbuf", 0));
	EXPECT_TRUE(tcp_works(self->a, self->b));
	EXPECT_TRUE(tcp_works(self->b, self->a));
}

/* A write takes effect by reconnecting, even if it changes nothing. */
TEST_F(tcp, writing_a_buffer_size_reconnects)
{
	static const char *const names[] = {
		"rds_tcp_sndbuf", "rds_tcp_rcvbuf",
	};
	long near, far;
	size_t i;

	ASSERT_TRUE(tcp_works(self->a, self->b));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_TRUE(tcp_await_established(self, self->a, 0));
		ASSERT_TRUE(tcp_await_established(self, self->b, 0));
		near = tcp_established(self, self->a);
		far = tcp_established(self, self->b);
		ASSERT_EQ(0, tcp_set(names[i], 0));
		EXPECT_TRUE(tcp_await_established(self, self->a,
						  near + PATHS - 1));
		EXPECT_TRUE(tcp_await_established(self, self->b,
						  far + PATHS - 1));
		EXPECT_TRUE(tcp_works(self->a, self->b));
	}
	/* A write that fails does not reconnect. */
	near = tcp_established(self, self->a);
	ASSERT_EQ(-EINVAL, tcp_set("rds_tcp_rcvbuf", 1));
	EXPECT_TRUE(tcp_works(self->a, self->b));
	EXPECT_EQ(near, tcp_established(self, self->a));
}

TEST_HARNESS_MAIN
