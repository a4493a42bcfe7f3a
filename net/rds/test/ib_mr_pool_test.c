// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys of registrations: net/rds/ib/mr_pool.c, unchanged, on a fake device,
 * which gives the same key to each registration that it allocates.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#define rds_ib_frmr_get		ib_mr_pool_get
#define rds_ib_frmr_register	ib_mr_pool_register
#define rds_ib_frmr_put		ib_mr_pool_put
#define rds_ib_mr_pages_max	ib_mr_pool_pages_max

#include "../ib/ib.h"

/* The last byte of this key is what the driver chooses of it. */
#define KEY		0x12345677U

#define FRMRS		64

/**
 * struct ib_mr_pool_rig - the fixture
 * @dev: the device
 * @dv: our structure for @dev
 * @mr: the device's parts of the registrations
 * @nr: number of elements of @mr in use
 * @full: the device allocates no registrations
 */
struct ib_mr_pool_rig {
	struct ib_device	dev;
	struct rds_ib_device	dv;
	struct ib_mr		mr[FRMRS];
	unsigned int		nr;
	bool			full;
};

static struct ib_mr_pool_rig *rig;

static struct ib_mr *ib_mr_pool_alloc(void)
{
	struct ib_mr *mr = &rig->mr[rig->nr];

	if (rig->full || rig->nr == FRMRS)
		return ERR_PTR(-ENOMEM);
	rig->nr++;
	mr->lkey = KEY;
	mr->rkey = KEY;
	return mr;
}

#define ib_alloc_mr(pd, type, nr)	((void)(nr), ib_mr_pool_alloc())
#define ib_dereg_mr(mr)			((void)(mr), rig->nr--)

#include "../ib/mr_pool.c"

static int ib_mr_pool_test_init(struct kunit *test)
{
	rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig);
	rig->dev.attrs.max_fast_reg_page_list_len = 1024;
	rig->dv.dv_dev = &rig->dev;
	rds_ib_mr_pools_init(&rig->dv);
	return 0;
}

static void ib_mr_pool_test_exit(struct kunit *test)
{
	rds_ib_mr_pools_end(&rig->dv);
	KUNIT_EXPECT_EQ(test, rig->nr, 0U);
}

/* A driver may give each new registration the same last byte. */
static void first_key_is_random(struct kunit *test)
{
	struct rds_ib_frmr *fm[FRMRS];
	unsigned int i, as_given = 0;
	u32 key;

	for (i = 0; i < FRMRS; i++) {
		fm[i] = rds_ib_frmr_get(&rig->dv, 1);
		KUNIT_ASSERT_FALSE(test, IS_ERR(fm[i]));
		key = fm[i]->fm_mr->rkey;
		KUNIT_EXPECT_EQ(test, key >> 8, KEY >> 8);
		KUNIT_EXPECT_EQ(test, key, fm[i]->fm_mr->lkey);
		KUNIT_EXPECT_TRUE(test, test_bit((u8)key, fm[i]->fm_keys));
		as_given += key == KEY;
	}
	KUNIT_EXPECT_LT(test, as_given, (unsigned int)FRMRS / 2);
	for (i = 0; i < FRMRS; i++)
		rds_ib_frmr_put(fm[i], &rig->dv);
}

static void without_registrations_there_is_no_key(struct kunit *test)
{
	rig->full = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rds_ib_frmr_get(&rig->dv, 1)), -ENOMEM);
}

static struct kunit_case ib_mr_pool_cases[] = {
	KUNIT_CASE(first_key_is_random),
	KUNIT_CASE(without_registrations_there_is_no_key),
	{}
};

static struct kunit_suite ib_mr_pool_suite = {
	.name		= "rds_ib_mr_pool",
	.init		= ib_mr_pool_test_init,
	.exit		= ib_mr_pool_test_exit,
	.test_cases	= ib_mr_pool_cases,
};

kunit_test_suite(ib_mr_pool_suite);
