// SPDX-License-Identifier: GPL-2.0
/* /proc/sys/net/rds, in every network namespace */
#include "solo.h"

static const struct {
	char name[24];
	long value;
	int mode;
} defaults[] = {
	{ "pf_rds", 21, 0444 },
	{ "sol_rds", 276, 0444 },
	{ "reconnect_min_delay_ms", 1, 0644 },
	{ "reconnect_max_delay_ms", 1000, 0644 },
	{ "reconnect_delay_min_ms", 1, 0644 },
	{ "reconnect_delay_max_ms", 1000, 0644 },
	{ "max_unacked_packets", 16, 0644 },
	{ "max_unacked_bytes", 16777216, 0644 },
	{ "ping_enable", 1, 0644 },
	{ "rx_held_max", 16777216, 0644 },
	{ "pongs_max", 16384, 0644 },
	{ "op_timeout_ms", 30000, 0644 },
	{ "max_conns", 32768, 0644 },
	{ "max_conns_per_user", 4096, 0644 },
};

TEST_F(solo, defaults_in_a_new_namespace)
{
	size_t i;

	solo_move(_metadata, self);
	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		EXPECT_EQ(defaults[i].value, rds_sysctl_get(defaults[i].name))
			TH_LOG("%s", defaults[i].name);
	}
}

TEST(the_initial_namespace_has_them_too)
{
	size_t i;

	ASSERT_EQ(0, ERR(rds_initial_netns()));
	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		EXPECT_LE(0, rds_sysctl_get(defaults[i].name))
			TH_LOG("%s", defaults[i].name);
	}
	EXPECT_EQ(21, rds_sysctl_get("pf_rds"));
	EXPECT_EQ(276, rds_sysctl_get("sol_rds"));
}

TEST_F(solo, modes)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		EXPECT_EQ(defaults[i].mode, rds_sysctl_mode(defaults[i].name))
			TH_LOG("%s", defaults[i].name);
	}
}

/* Programs read them to learn the values for socket(2) and setsockopt(2). */
TEST_F(solo, family_and_level_work)
{
	int fd = socket(rds_sysctl_get("pf_rds"), SOCK_SEQPACKET, 0);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, rds_get(fd, rds_sysctl_get("sol_rds"),
			      SO_RDS_TRANSPORT));
	close(fd);
}

TEST_F(solo, family_and_level_are_read_only)
{
	EXPECT_EQ(-EACCES, rds_sysctl_set("pf_rds", "22"));
	EXPECT_EQ(-EACCES, rds_sysctl_set("sol_rds", "277"));
	EXPECT_EQ(21, rds_sysctl_get("pf_rds"));
	EXPECT_EQ(276, rds_sysctl_get("sol_rds"));
}

TEST_F(solo, values_read_back)
{
	static const struct {
		const char *name;
		const char *value;
	} good[] = {
		{ "max_unacked_packets", "8" },
		{ "max_unacked_bytes", "65536\n" },
		{ "ping_enable", "0" },
		{ "rx_held_max", "1048576" },
		{ "reconnect_max_delay_ms", "5000" },
		{ "reconnect_min_delay_ms", "100" },
	};
	size_t i;

	solo_move(_metadata, self);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		EXPECT_EQ(0, rds_sysctl_set(good[i].name, good[i].value))
			TH_LOG("%s", good[i].name);
		EXPECT_EQ(atol(good[i].value), rds_sysctl_get(good[i].name))
			TH_LOG("%s", good[i].name);
	}
}

TEST_F(solo, what_is_refused)
{
	static const struct {
		const char *name;
		const char *value;
	} bad[] = {
		{ "max_unacked_packets", "abc" },
		{ "max_unacked_packets", "5x" },
		{ "max_unacked_packets", "-1" },
		{ "max_unacked_packets", "2147483648" },
		{ "max_unacked_bytes", "-1" },
		{ "max_unacked_bytes", "99999999999999999999" },
		{ "ping_enable", "-1" },
		{ "ping_enable", "2" },
		{ "rx_held_max", "-1" },
		{ "rx_held_max", "0" },
		{ "max_conns", "0" },
		{ "max_conns_per_user", "0" },
		{ "pongs_max", "0" },
		{ "op_timeout_ms", "99" },
		{ "op_timeout_ms", "86400001" },
		{ "reconnect_min_delay_ms", "0" },
		{ "reconnect_min_delay_ms", "-5" },
		{ "reconnect_max_delay_ms", "0" },
		{ "reconnect_max_delay_ms", "2147483648" },
	};
	long before;
	size_t i;

	solo_move(_metadata, self);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		before = rds_sysctl_get(bad[i].name);
		EXPECT_EQ(-EINVAL, rds_sysctl_set(bad[i].name, bad[i].value))
			TH_LOG("%s = %s", bad[i].name, bad[i].value);
		EXPECT_EQ(before, rds_sysctl_get(bad[i].name))
			TH_LOG("%s = %s", bad[i].name, bad[i].value);
	}
}

/*
 * The memory belongs to the host, not to the namespace. So a namespace cannot
 * exceed the limits of the host.
 */
TEST_F(solo, limits_on_memory_are_the_hosts)
{
	static const char * const names[] = { "rx_held_max", "pongs_max" };
	char host[64], more[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, ERR(rds_initial_netns()));
		ASSERT_EQ(0, rds_sysctl_read(names[i], host, sizeof(host)));
		snprintf(more, sizeof(more), "%ld", atol(host) + 1);
		EXPECT_EQ(0, rds_sysctl_set(names[i], more));
		EXPECT_EQ(0, rds_sysctl_set(names[i], host));
		ASSERT_EQ(0, rds_netns());
		EXPECT_EQ(-EINVAL, rds_sysctl_set(names[i], more))
			TH_LOG("%s = %s", names[i], more);
		EXPECT_EQ(0, rds_sysctl_set(names[i], host))
			TH_LOG("%s = %s", names[i], host);
	}
}

TEST_F(solo, minimum_and_maximum_delay_bound_each_other)
{
	solo_move(_metadata, self);
	ASSERT_EQ(0, rds_sysctl_set("reconnect_max_delay_ms", "500"));
	ASSERT_EQ(0, rds_sysctl_set("reconnect_min_delay_ms", "200"));
	EXPECT_EQ(-EINVAL, rds_sysctl_set("reconnect_min_delay_ms", "501"));
	EXPECT_EQ(-EINVAL, rds_sysctl_set("reconnect_max_delay_ms", "199"));
	EXPECT_EQ(0, rds_sysctl_set("reconnect_min_delay_ms", "500"));
	EXPECT_EQ(0, rds_sysctl_set("reconnect_min_delay_ms", "200"));
	EXPECT_EQ(0, rds_sysctl_set("reconnect_max_delay_ms", "200"));
}

TEST_F(solo, both_names_are_the_same_value)
{
	static const struct {
		const char *set;
		const char *get;
		const char *value;
	} names[] = {
		{ "reconnect_max_delay_ms", "reconnect_delay_max_ms", "777" },
		{ "reconnect_delay_max_ms", "reconnect_max_delay_ms", "888" },
		{ "reconnect_min_delay_ms", "reconnect_delay_min_ms", "77" },
		{ "reconnect_delay_min_ms", "reconnect_min_delay_ms", "88" },
	};
	size_t i;

	solo_move(_metadata, self);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, rds_sysctl_set(names[i].set, names[i].value))
			TH_LOG("%s", names[i].set);
		EXPECT_EQ(atol(names[i].value), rds_sysctl_get(names[i].get))
			TH_LOG("%s", names[i].get);
	}
	EXPECT_EQ(-EINVAL, rds_sysctl_set("reconnect_delay_min_ms", "889"));
}

/* Reading one sysctl must show only its own value (CVE-2015-2042). */
TEST_F(solo, each_file_holds_one_number)
{
	char text[64];
	size_t i;

	solo_move(_metadata, self);
	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		ASSERT_EQ(0, rds_sysctl_read(defaults[i].name, text,
					     sizeof(text)));
		EXPECT_EQ(strlen(text), strspn(text, "0123456789"))
			TH_LOG("%s: %s", defaults[i].name, text);
	}
	/* A second number must not reach the next sysctl either. */
	rds_sysctl_set("max_unacked_packets", "7 7 7 7");
	EXPECT_EQ(16777216, rds_sysctl_get("max_unacked_bytes"));
	EXPECT_EQ(1, rds_sysctl_get("ping_enable"));
}

TEST_F(solo, namespaces_do_not_share_values)
{
	solo_move(_metadata, self);
	ASSERT_EQ(0, rds_sysctl_set("max_unacked_packets", "9"));
	ASSERT_EQ(0, rds_sysctl_set("ping_enable", "0"));
	ASSERT_EQ(0, rds_sysctl_set("reconnect_max_delay_ms", "1234"));
	ASSERT_EQ(0, rds_netns());
	EXPECT_EQ(16, rds_sysctl_get("max_unacked_packets"));
	EXPECT_EQ(1, rds_sysctl_get("ping_enable"));
	EXPECT_EQ(1000, rds_sysctl_get("reconnect_max_delay_ms"));
}

/* A file belongs to the namespace in which it was opened (CVE-2025-21635). */
TEST_F(solo, an_open_file_keeps_its_namespace)
{
	FILE *file;

	solo_move(_metadata, self);
	file = fopen("/proc/sys/net/rds/max_unacked_packets", "w");
	ASSERT_NE(NULL, file);
	ASSERT_EQ(0, rds_netns());
	ASSERT_LT(0, fputs("5\n", file));
	ASSERT_EQ(0, fclose(file));
	EXPECT_EQ(16, rds_sysctl_get("max_unacked_packets"));
}

TEST_HARNESS_MAIN
