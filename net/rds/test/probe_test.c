// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the probes of peers and the replies to them, net/rds/core/probe.c.
 */
#include "../core/probe.h"
#include "paths.h"

static void first_number_is_a_probe(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_send(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_said(test, 0, "M 1p 2");
	/* Only a peer that runs our implementation is offered more paths. */
	paths_expect_handshake(test, 0, 1, false);
}

/* The reaper marks the paths dead, finds that the connection is used again, and
 * takes the mark back. A probe that is due meanwhile is not forgotten.
 */
static void probe_outlives_a_dead_moment(struct kunit *test)
{
	struct rds_cpath *cp;
	int probes;

	rig_dialed(test);
	cp = rig_nth_cpath(test, 0);
	probes = atomic_read(&cp->cp_conn->c_probes);
	cp->cp_conn->c_first_probe = true;
	set_bit(RDS_PF_PROBE, &cp->cp_flags);
	WRITE_ONCE(cp->cp_dead, true);
	rds_probe_queue(cp);
	KUNIT_EXPECT_EQ(test, atomic_read(&cp->cp_conn->c_probes), probes);
	KUNIT_EXPECT_TRUE(test, cp->cp_conn->c_first_probe);

	WRITE_ONCE(cp->cp_dead, false);
	rds_probe_queue(cp);
	KUNIT_EXPECT_EQ(test, atomic_read(&cp->cp_conn->c_probes), probes + 1);
	KUNIT_EXPECT_FALSE(test, cp->cp_conn->c_first_probe);
}

struct reply_row {
	const char		*name;
	const struct rig_peer	*peer;
	u64			seq;
	const char		*said;
	u16			npaths;
	/* Pings are turned off, but peers wait for replies to their probes. */
	bool			no_pings;
};

static const struct reply_row replies[] = {
	{ "old",		&rig_old_1, 1, "3y", 1 },
	{ "old_without_pings",	&rig_old_1, 1, "3y", 1, true },
	{ "old_with_8",		&rig_old_8, 1, "3y", 1 },
	{ "new_with_8",		&rig_new_8, 1, "3y", 1 },
	{ "ours",		&rig_ours_1, 1, "3y", 8 },
	{ "ours_later",		&rig_ours_1, 9, "3y", 8 },
	{ "ours_unnumbered",	&rig_ours_1, 0, "0y", 8 },
};

static void reply_desc(const struct reply_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(replies, replies, reply_desc);

static void probe_is_replied_to(struct kunit *test)
{
	const struct reply_row *row = test->param_value;

	if (row->no_pings)
		rig_sysctl()->ping_enable = 0;
	rig_dialed(test);
	rig_probe(test, 0, row->seq, row->peer);
	rig_expect_said(test, 0, row->said);
	paths_expect_handshake(test, 0, row->npaths, false);
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 0)->len, 0U);
	KUNIT_EXPECT_EQ(test, paths_nr(test), 1U);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);
}

/* Count the messages on path 0 that wait, or were sent and not acknowledged. */
static unsigned int queued(struct kunit *test)
{
	struct rds_cpath *cp = rig_nth_cpath(test, 0);
	struct list_head *item;
	unsigned int n = 0;

	spin_lock_bh(&cp->cp_lock);
	list_for_each(item, &cp->cp_tx.pt_queue)
		n++;
	list_for_each(item, &cp->cp_tx.pt_retrans)
		n++;
	spin_unlock_bh(&cp->cp_lock);
	return n;
}

/* A peer that sends probes and does not read must not fill our memory. */
static void replies_are_bounded(struct kunit *test)
{
	unsigned int i;

	rig_dialed(test);
	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	for (i = 1; i <= 300; i++)
		rig_probe(test, 0, i, &rig_old_1);
	KUNIT_EXPECT_GE(test, queued(test), 1U);
	KUNIT_EXPECT_LE(test, queued(test), 64U);

	fake_unblock(rig_fake(test));
	fake_settle(rig_fake(test));
	rds_path_ack(rig_path(test), rig_nth_cpath(test,
						   0)->cp_tx.pt_next_seq - 1);
	KUNIT_EXPECT_EQ(test, queued(test), 0U);
	fake_forget(rig_fake(test));
	rig_probe(test, 0, i, &rig_old_1);
	KUNIT_EXPECT_EQ(test, fake_count(rig_fake(test), FAKE_SENT), 1U);
}

struct repeat_row {
	const char		*name;
	const struct rig_peer	*peer;
	u64			seq;
	u8			flags;
	bool			dropped;
};

/* A probe that arrives after one with sequence number 5 */
static const struct repeat_row repeats[] = {
	{ "old_same",		&rig_old_1, 5, 0, false },
	{ "old_marked",		&rig_old_1, 5, RDS_FLAG_RETRANSMITTED, true },
	{ "old_next",		&rig_old_1, 6, RDS_FLAG_RETRANSMITTED, false },
	{ "ours_same",		&rig_ours_1, 5, 0, true },
	{ "ours_marked",	&rig_ours_1, 4, RDS_FLAG_RETRANSMITTED, true },
	{ "ours_next",		&rig_ours_1, 6, RDS_FLAG_RETRANSMITTED, false },
	{ "ours_unnumbered",	&rig_ours_1, 0, 0, false },
	{ "restarted_same",	&rig_restarted, 5, RDS_FLAG_RETRANSMITTED,
	  false },
};

static void repeat_desc(const struct repeat_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(repeats, repeats, repeat_desc);

static void repeated_probe(struct kunit *test)
{
	const struct repeat_row *row = test->param_value;
	u64 dropped = rig_stat(recv_drop_old_seq);
	struct rig_peer first = *row->peer;

	if (row->peer == &rig_restarted)
		first = rig_ours_1;
	rig_dialed(test);
	rig_probe(test, 0, 5, &first);
	rig_probe_flags(test, 0, row->seq, row->flags, row->peer);
	KUNIT_EXPECT_EQ(test, rig_stat(recv_drop_old_seq),
			dropped + row->dropped);
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(first_number_is_a_probe),
	KUNIT_CASE(probe_outlives_a_dead_moment),
	KUNIT_CASE_PARAM(probe_is_replied_to, replies_gen_params),
	KUNIT_CASE(replies_are_bounded),
	KUNIT_CASE_PARAM(repeated_probe, repeats_gen_params),
	{}
};

static struct kunit_suite probe_suite = {
	.name		= "rds_probe",
	.init		= rig_init_paths,
	.exit		= rig_exit,
	.test_cases	= probe_cases,
};

kunit_test_suite(probe_suite);
