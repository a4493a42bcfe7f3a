// SPDX-License-Identifier: GPL-2.0
/*
 * Each point that is reached while a connection is made fails once. Whatever
 * fails, the message for which the connection is made arrives, once. See
 * point_sweep.h.
 */
#include "pair.h"

#include "point_sweep.h"

#define LEN 5000

static char sent[LEN], received[2 * LEN];

/* The fixture and the number of connections made so far */
static FIXTURE_DATA(pair) *pair;
static unsigned int made;

static bool is_wanted(const char *variant)
{
	return !strcmp(variant, "tcp_ipv4") || !strcmp(variant, "ib_ipv4");
}

static void __attribute__((constructor)) choose(void)
{
	rds_choose_variants(&_pair_fixture_object, is_wanted);
}

/* Drop the connection over TCP. Over RDMA, use a new one: there is one for each
 * type of service.
 */
static bool begin_anew(void)
{
	uint8_t tos = ++made;
	char size[16];

	if (pair->variant->transport == RDS_TRANS_TCP) {
		snprintf(size, sizeof(size), "%u", 65536 + made);
		return !rds_sysctl_set("tcp/rds_tcp_sndbuf", size);
	}
	close(pair->a);
	pair->a = rds_bound(pair->variant->a, 0);
	return pair->a >= 0 && !ioctl(pair->a, SIOCRDSSETTOS, &tos);
}

static long run(const struct set_up *what)
{
	if (!begin_anew())
		return -EINVAL;
	rds_fill(sent, LEN, made);
	if (rds_sendto(pair->a, sent, LEN, 0, &pair->b_name) != LEN)
		return -errno;
	/* What is reached from here on is reached for the message. */
	rds_arrived(pair->b);
	return 0;
}

/* A message that could not be sent can be sent now. */
static bool verify(const struct set_up *what, long ret)
{
	if (ret && run(what))
		return false;
	return rds_recv(pair->b, received, sizeof(received)) == LEN &&
	       rds_check(received, LEN, made) && rds_silent(pair->b);
}

TEST_F_TIMEOUT(pair, message_arrives, LONG)
{
	const struct set_up what = { variant->name, run, verify };

	pair = self;
	EXPECT_TRUE(sweep_set_up(&what, 20));
}

TEST_HARNESS_MAIN
