// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of a port that comes up: net/rds/ib/client.c, unchanged, with a
 * device that is never registered. A test decides when the delay is over.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#define rds_ib_deferred_look	ib_renew_deferred_look
#define rds_ib_device_delist	ib_renew_device_delist
#define rds_ib_device_enlist	ib_renew_device_enlist
#define rds_ib_device_put	ib_renew_device_put
#define rds_ib_drop_locked	ib_renew_drop_locked
#define rds_ib_listen_again	ib_renew_listen_again
#define rds_ib_mrs_end		ib_renew_mrs_end
#define rds_ib_unlisten_device	ib_renew_unlisten_device

#include "../ib/ib.h"

#define PORT	2

/**
 * struct ib_renew_rig - the fixture
 * @dv: the device
 * @ic: two connections of its port %PORT that are UP
 * @queued: how often the work item was queued
 */
struct ib_renew_rig {
	struct rds_ib_device	dv;
	struct rds_ib_conn	ic[2];
	unsigned int		queued;
};

static struct ib_renew_rig *rig;

#define mod_delayed_work(wq, work, delay)	((void)(work), rig->queued++)

#include "../ib/client.c"

#undef mod_delayed_work

void rds_ib_drop_locked(struct rds_ib_conn *ic, enum rds_drop_reason reason)
{
	lockdep_assert_held(&rig->dv.dv_lock);
	ic->ic_dropped = true;
}

void rds_ib_deferred_look(void)
{
}

void rds_ib_listen_again(void)
{
}

void rds_ib_device_enlist(struct rds_ib_device *d)
{
}

struct rds_ib_device *rds_ib_device_delist(const struct ib_device *dev)
{
	return NULL;
}

void rds_ib_device_put(struct rds_ib_device *d)
{
}

void rds_ib_mrs_end(struct rds_ib_device *d)
{
}

void rds_ib_unlisten_device(const struct ib_device *dev)
{
}

static int ib_renew_init(struct kunit *test)
{
	unsigned int i;

	rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig);
	spin_lock_init(&rig->dv.dv_lock);
	INIT_LIST_HEAD(&rig->dv.dv_conns);
	for (i = 0; i < ARRAY_SIZE(rig->ic); i++) {
		rig->ic[i].ic_state = RDS_IB_UP;
		rig->ic[i].ic_port = PORT;
		list_add_tail(&rig->ic[i].ic_dev_item, &rig->dv.dv_conns);
	}
	return 0;
}

static void event(enum ib_event_type type, u32 port)
{
	struct ib_event event = { .event = type, .element.port_num = port };

	rds_ib_device_event(&rig->dv.dv_events, &event);
}

static void work(void)
{
	rds_ib_device_renew(&rig->dv.dv_renew.work);
}

/* Let the work item run when the delay is over. */
static void work_later(void)
{
	rig->dv.dv_renew_at = jiffies;
	work();
}

/* Post something for which a completion is to arrive. */
static void post(unsigned int i)
{
	atomic_inc(&rig->ic[i].ic_signaled);
}

static void complete_one(unsigned int i)
{
	atomic_inc(&rig->ic[i].ic_completed);
}

static void expect_dropped(struct kunit *test, bool first, bool second)
{
	KUNIT_EXPECT_EQ(test, rig->ic[0].ic_dropped, first);
	KUNIT_EXPECT_EQ(test, rig->ic[1].ic_dropped, second);
}

static void without_progress_it_is_dropped(struct kunit *test)
{
	post(0);
	event(IB_EVENT_PORT_ACTIVE, PORT);
	KUNIT_EXPECT_EQ(test, rig->queued, 1U);
	expect_dropped(test, false, false);
	work_later();
	expect_dropped(test, true, false);
}

/* More completions are outstanding all the time. */
static void with_progress_it_stays(struct kunit *test)
{
	post(0);
	post(1);
	event(IB_EVENT_PORT_ACTIVE, PORT);
	post(0);
	complete_one(0);
	post(1);
	work_later();
	expect_dropped(test, false, true);
}

static void what_begins_later_does_not_count(struct kunit *test)
{
	event(IB_EVENT_PORT_ACTIVE, PORT);
	post(0);
	work_later();
	/* Nor does the mark of an earlier event */
	work_later();
	expect_dropped(test, false, false);
}

static void other_ports_do_not_count(struct kunit *test)
{
	rig->ic[1].ic_port = PORT - 1;
	post(0);
	post(1);
	event(IB_EVENT_PORT_ACTIVE, PORT);
	work_later();
	expect_dropped(test, true, false);
}

static void other_states_do_not_count(struct kunit *test)
{
	post(0);
	rig->ic[0].ic_state = RDS_IB_CLOSED;
	event(IB_EVENT_PORT_ACTIVE, PORT);
	work_later();
	expect_dropped(test, false, false);
}

/* Of two events, the later one counts, even if the work item runs already. */
static void second_event_counts(struct kunit *test)
{
	post(0);
	post(1);
	event(IB_EVENT_PORT_ACTIVE, PORT);
	complete_one(0);
	post(0);
	event(IB_EVENT_PORT_ACTIVE, PORT);
	work();
	expect_dropped(test, false, false);
	KUNIT_EXPECT_EQ(test, rig->queued, 2U);
	complete_one(0);
	work_later();
	expect_dropped(test, false, true);
}

/* That of another port leaves the marks alone. */
static void second_port_only_delays(struct kunit *test)
{
	post(0);
	event(IB_EVENT_PORT_ACTIVE, PORT);
	complete_one(0);
	post(0);
	event(IB_EVENT_PORT_ACTIVE, PORT - 1);
	work_later();
	expect_dropped(test, false, false);
}

static void fatal_event_drops_all(struct kunit *test)
{
	event(IB_EVENT_PORT_ERR, PORT);
	event(IB_EVENT_GID_CHANGE, PORT);
	expect_dropped(test, false, false);
	event(IB_EVENT_DEVICE_FATAL, 0);
	expect_dropped(test, true, true);
	KUNIT_EXPECT_EQ(test, rig->queued, 0U);
}

static struct kunit_case ib_renew_cases[] = {
	KUNIT_CASE(without_progress_it_is_dropped),
	KUNIT_CASE(with_progress_it_stays),
	KUNIT_CASE(what_begins_later_does_not_count),
	KUNIT_CASE(other_ports_do_not_count),
	KUNIT_CASE(other_states_do_not_count),
	KUNIT_CASE(second_event_counts),
	KUNIT_CASE(second_port_only_delays),
	KUNIT_CASE(fatal_event_drops_all),
	{}
};

static struct kunit_suite ib_renew_suite = {
	.name		= "rds_ib_renew",
	.init		= ib_renew_init,
	.test_cases	= ib_renew_cases,
};

kunit_test_suite(ib_renew_suite);
