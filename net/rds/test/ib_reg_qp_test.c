// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registrations in flight: net/rds/ib/reg_qp.c, unchanged, on a fake device. A
 * work request stays in flight until a test completes it. Callers are work
 * items.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../ib/ib.h"

/* There are more callers than slots. */
#define CALLERS		70
#define SLOTS		64

/* Longest time that a step may take on a slow machine */
#define PATIENCE	(20 * HZ)

/* Timeout for a work request that never completes. Its caller waits for that
 * time twice: for the completion, and for the flush.
 */
#define STUCK		HZ

/* A caller, and the work request that it posts and waits for */
struct caller {
	struct work_struct	work;
	struct ib_send_wr	wr;
	struct ib_qp		*by;	/* has @wr in flight, or NULL */
	unsigned int		tries;
	bool			once;
	bool			fails;
	bool			stuck;	/* @wr never completes */
	bool			done;
	int			ret;
};

/**
 * struct ib_reg_qp_rig - the fixture
 * @dev: the device
 * @dv: our structure for @dev
 * @gid: the GID of its port
 * @wq: workqueue of the callers
 * @lock: guards "by" and "tries" of each caller, @made, and @qps
 * @callers: the callers
 * @made: number of queue pairs created so far
 * @qps: number of queue pairs that exist
 * @cqs: number of completion queues that exist
 * @refuses: errno with which the driver refuses work requests, or 0
 */
struct ib_reg_qp_rig {
	struct ib_device	dev;
	struct rds_ib_device	dv;
	struct ib_gid_attr	gid;
	struct workqueue_struct	*wq;
	spinlock_t		lock;	/* see above */
	struct caller		callers[CALLERS];
	unsigned int		made;
	int			qps;
	int			cqs;
	int			refuses;
};

static struct ib_reg_qp_rig *rig;

static void ib_reg_qp_end(struct caller *caller, enum ib_wc_status status)
{
	struct ib_wc wc = { .status = status };

	spin_lock(&rig->lock);
	wc.wr_cqe = caller->wr.wr_cqe;
	caller->by = NULL;
	spin_unlock(&rig->lock);
	wc.wr_cqe->done(NULL, &wc);
}

static int ib_reg_qp_take(struct ib_qp *qp, struct ib_send_wr *wr)
{
	struct caller *caller = container_of(wr, struct caller, wr);

	if (rig->refuses)
		return rig->refuses;
	spin_lock(&rig->lock);
	caller->tries++;
	caller->by = qp;
	spin_unlock(&rig->lock);
	return 0;
}

/* The error state flushes the work requests in flight. */
static int ib_reg_qp_modify(struct ib_qp *qp, const struct ib_qp_attr *attr)
{
	struct caller *caller;

	if (attr->qp_state != IB_QPS_ERR)
		return 0;
	for (caller = rig->callers; caller < rig->callers + CALLERS; caller++) {
		if (READ_ONCE(caller->by) == qp && !caller->stuck)
			ib_reg_qp_end(caller, IB_WC_WR_FLUSH_ERR);
	}
	return 0;
}

static struct ib_qp *ib_reg_qp_make(void)
{
	struct ib_qp *qp = kzalloc(sizeof(*qp), GFP_KERNEL);

	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->device = &rig->dev;
	spin_lock(&rig->lock);
	rig->made++;
	rig->qps++;
	spin_unlock(&rig->lock);
	return qp;
}

/* No completion may follow for a destroyed queue pair or its slots. So only
 * work requests that never complete may still be in flight.
 */
static int ib_reg_qp_unmake(struct ib_qp *qp)
{
	struct caller *caller;

	for (caller = rig->callers; caller < rig->callers + CALLERS; caller++)
		WARN_ON(READ_ONCE(caller->by) == qp && !caller->stuck);
	spin_lock(&rig->lock);
	rig->qps--;
	spin_unlock(&rig->lock);
	kfree(qp);
	return 0;
}

static unsigned long ib_reg_qp_patience(const struct ib_cqe *cqe)
{
	const struct caller *caller;

	for (caller = rig->callers; caller < rig->callers + CALLERS; caller++) {
		if (caller->wr.wr_cqe == cqe && caller->stuck)
			return STUCK;
	}
	return PATIENCE;
}

static int ib_reg_qp_query_port(struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->gid_tbl_len = 1;
	return 0;
}

#undef rdma_for_each_port
#define rdma_for_each_port(dev, port)	for ((port) = 1; (port) == 1; (port)++)
#define ib_query_port(dev, port, attr)	ib_reg_qp_query_port(attr)
#define rdma_get_gid_attr(dev, port, i)	(&rig->gid)
#define rdma_put_gid_attr(gid)		((void)(gid))
#define rdma_ah_find_type(dev, port)	RDMA_AH_ATTR_TYPE_IB
#define rdma_protocol_roce(dev, port)	false
#define ib_alloc_cq_any(dev, ctx, nr, poll)				\
	(rig->cqs++, (struct ib_cq *)rig)
#define ib_free_cq(cq)			(rig->cqs--)
#define ib_create_qp(pd, attr)		((void)(attr), ib_reg_qp_make())
#define ib_destroy_qp(qp)		ib_reg_qp_unmake(qp)
#define ib_modify_qp(qp, attr, mask)	ib_reg_qp_modify(qp, attr)
#define rds_ib_post(qp, wr)		ib_reg_qp_take(qp, wr)
#define wait_for_completion_timeout(done, timeout)			\
	wait_for_completion_timeout(done, ib_reg_qp_patience(		\
		&container_of(done, struct rds_ib_reg_qp_slot,		\
			      qs_done)->qs_cqe))

#include "../ib/reg_qp.c"

static void ib_reg_qp_call(struct work_struct *work)
{
	struct caller *caller = container_of(work, struct caller, work);

	caller->ret = caller->once ?
		      rds_ib_reg_qp_run_once(&rig->dv, &caller->wr) :
		      rds_ib_reg_qp_run(&rig->dv, &caller->wr);
	/* Store the result first. Pairs with the acquire in nr_done(). */
	smp_store_release(&caller->done, true);
}

static int ib_reg_qp_test_init(struct kunit *test)
{
	unsigned int i;

	rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig);
	rig->wq = alloc_workqueue("rds_ib_reg_qp_test", WQ_UNBOUND, CALLERS);
	KUNIT_ASSERT_NOT_NULL(test, rig->wq);
	spin_lock_init(&rig->lock);
	for (i = 0; i < CALLERS; i++)
		INIT_WORK(&rig->callers[i].work, ib_reg_qp_call);
	rig->gid.device = &rig->dev;
	rig->dv.dv_dev = &rig->dev;
	rds_ib_reg_qp_init(&rig->dv);
	return 0;
}

static void ib_reg_qp_test_exit(struct kunit *test)
{
	destroy_workqueue(rig->wq);
	rds_ib_reg_qp_destroy(&rig->dv);
	KUNIT_EXPECT_EQ(test, rig->qps, 0);
	KUNIT_EXPECT_EQ(test, rig->cqs, 0);
}

static void call(unsigned int from, unsigned int nr)
{
	for (; nr--; from++)
		queue_work(rig->wq, &rig->callers[from].work);
}

static unsigned int in_flight(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < CALLERS; i++)
		nr += !!READ_ONCE(rig->callers[i].by);
	return nr;
}

static unsigned int nr_done(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < CALLERS; i++)
		/* Pairs with the release in ib_reg_qp_call(). */
		nr += smp_load_acquire(&rig->callers[i].done);
	return nr;
}

#define await(test, what, nr)						\
do {									\
	unsigned long end = jiffies + PATIENCE;				\
									\
	while (what != (nr) && time_before(jiffies, end))		\
		schedule_timeout_uninterruptible(1);			\
	KUNIT_ASSERT_EQ(test, what, nr);				\
} while (0)

static void end_all(void)
{
	struct caller *caller;

	for (caller = rig->callers; caller < rig->callers + CALLERS; caller++) {
		if (READ_ONCE(caller->by))
			ib_reg_qp_end(caller, caller->fails ?
				      IB_WC_LOC_PROT_ERR :
							    IB_WC_SUCCESS);
	}
}

static void end_until_done(struct kunit *test)
{
	unsigned long end = jiffies + PATIENCE;

	while (nr_done() != CALLERS && time_before(jiffies, end)) {
		end_all();
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_ASSERT_EQ(test, nr_done(), (unsigned int)CALLERS);
}

static void many_at_a_time(struct kunit *test)
{
	unsigned int i;

	call(0, 8);
	await(test, in_flight(), 8U);
	end_all();
	await(test, nr_done(), 8U);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, rig->callers[i].ret, 0);
	KUNIT_EXPECT_EQ(test, rig->made, 1U);
}

static void no_more_than_there_is_room_for(struct kunit *test)
{
	unsigned int i;

	call(0, CALLERS);
	await(test, in_flight(), (unsigned int)SLOTS);
	schedule_timeout_uninterruptible(HZ / 10);
	KUNIT_EXPECT_EQ(test, in_flight(), (unsigned int)SLOTS);
	end_until_done(test);
	for (i = 0; i < CALLERS; i++)
		KUNIT_EXPECT_EQ(test, rig->callers[i].ret, 0);
	KUNIT_EXPECT_EQ(test, rig->made, 1U);
}

/* If one work request fails, no other one fails, not even one whose caller
 * waits for a slot.
 */
static void failure_of_one_is_not_that_of_others(struct kunit *test)
{
	unsigned int i;

	/* Caller 0 creates the queue pair, and caller 1 finds it. */
	call(0, 1);
	await(test, in_flight(), 1U);
	call(1, 1);
	await(test, in_flight(), 2U);
	call(2, CALLERS - 2);
	await(test, in_flight(), (unsigned int)SLOTS);
	rig->callers[1].fails = true;
	ib_reg_qp_end(&rig->callers[1], IB_WC_LOC_PROT_ERR);
	end_until_done(test);

	/* The queue pair may have been at fault, so caller 1 has posted its
	 * work request a second time.
	 */
	KUNIT_EXPECT_EQ(test, rig->callers[1].ret, -EIO);
	KUNIT_EXPECT_EQ(test, rig->callers[1].tries, 2U);
	rig->callers[1].ret = 0;
	for (i = 0; i < CALLERS; i++)
		KUNIT_EXPECT_EQ(test, rig->callers[i].ret, 0);
}

static void others_fail_so_often(struct kunit *test)
{
	unsigned int i;

	call(0, 1);
	for (i = 1; i <= 8; i++) {
		await(test, rig->callers[0].tries, i);
		await(test, in_flight(), 1U);
		ib_reg_qp_end(&rig->callers[0], IB_WC_WR_FLUSH_ERR);
	}
	await(test, nr_done(), 1U);
	KUNIT_EXPECT_EQ(test, rig->callers[0].ret, -EIO);
	KUNIT_EXPECT_EQ(test, rig->qps, 0);
}

/* If a work request never completes, only its own caller loses time. */
static void stuck_one_is_left_behind(struct kunit *test)
{
	rig->callers[0].stuck = true;
	call(0, 1);
	await(test, in_flight(), 1U);
	call(1, 1);
	/* When caller 0 gives up, the work request of caller 1 is posted to the
	 * next queue pair.
	 */
	await(test, rig->callers[1].tries, 2U);
	ib_reg_qp_end(&rig->callers[1], IB_WC_SUCCESS);
	await(test, nr_done(), 2U);
	KUNIT_EXPECT_EQ(test, rig->callers[0].ret, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, rig->callers[1].ret, 0);
	KUNIT_EXPECT_EQ(test, rig->made, 2U);
	KUNIT_EXPECT_EQ(test, rig->qps, 1);
}

/* The next caller gets a new queue pair. It does not wait until the device has
 * flushed the work request that never completes.
 */
static void nobody_else_comes_to_a_stuck_one(struct kunit *test)
{
	rig->callers[0].stuck = true;
	call(0, 1);
	await(test, in_flight(), 1U);
	schedule_timeout_uninterruptible(STUCK * 3 / 2);
	call(1, 1);
	await(test, in_flight(), 2U);
	KUNIT_EXPECT_PTR_NE(test, READ_ONCE(rig->callers[0].by),
			    READ_ONCE(rig->callers[1].by));
	ib_reg_qp_end(&rig->callers[1], IB_WC_SUCCESS);
	await(test, nr_done(), 2U);
	KUNIT_EXPECT_EQ(test, rig->callers[1].ret, 0);
}

static void what_is_refused_is_told(struct kunit *test)
{
	rig->refuses = -EINVAL;
	call(0, 1);
	await(test, nr_done(), 1U);
	KUNIT_EXPECT_EQ(test, rig->callers[0].ret, -EINVAL);
	/* Only an older queue pair may have failed by itself. This one is new,
	 * so the work request is not posted again.
	 */
	KUNIT_EXPECT_EQ(test, rig->made, 1U);
	rig->refuses = -ENOMEM;
	call(1, 1);
	await(test, nr_done(), 2U);
	KUNIT_EXPECT_EQ(test, rig->callers[1].ret, -EIO);
	KUNIT_EXPECT_EQ(test, rig->qps, 0);
}

static void once_makes_none(struct kunit *test)
{
	rig->callers[0].once = true;
	call(0, 1);
	await(test, nr_done(), 1U);
	KUNIT_EXPECT_EQ(test, rig->callers[0].ret, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, rig->made, 0U);
}

static void none_on_a_device_that_is_going(struct kunit *test)
{
	rig->dv.dv_removed = true;
	call(0, 1);
	await(test, nr_done(), 1U);
	KUNIT_EXPECT_EQ(test, rig->callers[0].ret, -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, rig->made, 0U);
}

static struct kunit_case ib_reg_qp_cases[] = {
	KUNIT_CASE(many_at_a_time),
	KUNIT_CASE(no_more_than_there_is_room_for),
	KUNIT_CASE(failure_of_one_is_not_that_of_others),
	KUNIT_CASE(others_fail_so_often),
	KUNIT_CASE(stuck_one_is_left_behind),
	KUNIT_CASE(nobody_else_comes_to_a_stuck_one),
	KUNIT_CASE(what_is_refused_is_told),
	KUNIT_CASE(once_makes_none),
	KUNIT_CASE(none_on_a_device_that_is_going),
	{}
};

static struct kunit_suite ib_reg_qp_suite = {
	.name		= "rds_ib_reg_qp",
	.init		= ib_reg_qp_test_init,
	.exit		= ib_reg_qp_test_exit,
	.test_cases	= ib_reg_qp_cases,
};

kunit_test_suite(ib_reg_qp_suite);
