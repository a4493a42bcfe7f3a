// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is registered with a device: net/rds/ib/mr.c, unchanged, on a
 * fake device. The device maps all memory, and a test chooses the registrations
 * that it refuses. Functions of other files that mr.c calls are replaced here.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#define rds_ib_device_of	ib_mr_device_of
#define rds_ib_device_put	ib_mr_device_put

#include "../ib/compat.h"
#include "../ib/ib.h"

#define PAGES		64

/* Longest piece in which memory is mapped, in bytes */
#define SEGMENT		65536U

/**
 * struct ib_mr_rig - the fixture
 * @dev: the device
 * @parent: the device for which memory is mapped
 * @dv: our structure for @dev
 * @mr: the device's part of a registration
 * @fm: our part of that registration
 * @copied: the device sees a copy of mapped memory
 * @refused: access rights with which a registration fails
 * @access: access rights that each registration requested
 * @nr: number of elements of @access in use
 * @mapped: number of scatterlist entries that are mapped
 * @longest: length of the longest entry mapped so far, in bytes
 * @kept: number of registrations that mr.c has got and not put
 * @page: pages of the memory
 */
struct ib_mr_rig {
	struct ib_device	dev;
	struct device		parent;
	struct rds_ib_device	dv;
	struct ib_mr		mr;
	struct rds_ib_frmr	fm;
	bool			copied;
	int			refused;
	int			access[8];
	unsigned int		nr;
	int			mapped;
	unsigned int		longest;
	int			kept;
	struct page		*page[PAGES];
};

static struct ib_mr_rig *rig;

static int ib_mr_map_sgtable(struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	sgt->nents = sgt->orig_nents;
	for_each_sgtable_sg(sgt, sg, i) {
		sg_dma_address(sg) = sg_phys(sg);
		sg_dma_len(sg) = sg->length;
		rig->longest = max(rig->longest, sg->length);
	}
	rig->mapped += sgt->nents;
	return 0;
}

static int ib_mr_add(struct ib_mr *mr, struct scatterlist *sg, int nents)
{
	mr->iova = sg->offset;
	return nents;
}

#define ib_dma_map_sgtable_attrs(dev, sgt, dir, attrs)	ib_mr_map_sgtable(sgt)
#define ib_dma_unmap_sgtable_attrs(dev, sgt, dir, attrs)		\
	(rig->mapped -= (sgt)->nents)
#define ib_map_mr_sg(mr, sg, nents, off, size)	ib_mr_add(mr, sg, nents)
#define rds_dma_need_sync(dev, addr)	((void)(addr), rig->copied)

#include "../ib/mr.c"

struct rds_ib_frmr *rds_ib_frmr_get(struct rds_ib_device *d, unsigned int pages)
{
	rig->kept++;
	return &rig->fm;
}

int rds_ib_frmr_register(struct rds_ib_frmr *fm, struct rds_ib_device *d,
			 int access)
{
	if (rig->nr < ARRAY_SIZE(rig->access))
		rig->access[rig->nr++] = access;
	return access & rig->refused ? -EINVAL : 0;
}

void rds_ib_frmr_put(struct rds_ib_frmr *fm, struct rds_ib_device *d)
{
	rig->kept--;
}

unsigned int rds_ib_mr_pages_max(const struct rds_ib_device *d)
{
	return PAGES;
}

struct rds_ib_device *rds_ib_device_of(struct net *net,
				       const struct in6_addr *addr, int ifindex)
{
	return &rig->dv;
}

void rds_ib_device_put(struct rds_ib_device *d)
{
}

static int ib_mr_test_init(struct kunit *test)
{
	unsigned int i;
	u8 *memory;

	rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig);
	memory = kunit_kzalloc(test, PAGES * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	for (i = 0; i < PAGES; i++)
		rig->page[i] = virt_to_page(memory + i * PAGE_SIZE);
	rig->dev.dma_device = &rig->parent;
	rig->dev.attrs.atomic_cap = IB_ATOMIC_HCA;
	rig->dv.dv_dev = &rig->dev;
	rig->mr.rkey = 77;
	rig->fm.fm_mr = &rig->mr;
	INIT_LIST_HEAD(&rig->dv.dv_mrs);
	return 0;
}

static void ib_mr_test_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rig->mapped, 0);
	KUNIT_EXPECT_EQ(test, rig->kept, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&rig->dv.dv_mrs));
}

static void *map(bool writable)
{
	const struct rds_mr_memory mem = {
		.pages		= rig->page,
		.nr		= PAGES,
		.off		= 100,
		.base		= 100,
		.len		= PAGES * PAGE_SIZE - 200,
		.writable	= writable,
	};
	u32 key;

	return rds_ib_mr_map(NULL, &in6addr_loopback, 0, &mem, &key);
}

static void is_mapped_piece_by_piece(struct kunit *test)
{
	void *handle = map(true);

	KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
	KUNIT_EXPECT_TRUE(test, rds_ib_mr_alive(handle));
	KUNIT_EXPECT_EQ(test, rig->longest, SEGMENT);
	KUNIT_EXPECT_EQ(test, rig->nr, 1U);
	KUNIT_EXPECT_TRUE(test, rig->access[0] & IB_ACCESS_REMOTE_ATOMIC);
	rds_ib_mr_unmap(handle);
}

/* If the device sees a copy of the memory, data that the peer writes never
 * reaches the owner of the memory.
 */
static void is_refused_where_it_is_copied(struct kunit *test)
{
	void *handle;

	rig->copied = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(map(true)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, PTR_ERR(map(false)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, rig->nr, 0U);

	/* A device in software does not map memory, so nothing is copied. */
	rig->dev.dma_device = NULL;
	handle = map(true);
	KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
	rds_ib_mr_unmap(handle);
}

static void does_without_atomics_where_they_are_refused(struct kunit *test)
{
	unsigned int i;
	void *handle;

	rig->refused = IB_ACCESS_REMOTE_ATOMIC;
	for (i = 0; i < 2; i++) {
		handle = map(true);
		KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
		rds_ib_mr_unmap(handle);
	}
	/* Atomics were requested only once. */
	KUNIT_ASSERT_EQ(test, rig->nr, 3U);
	KUNIT_EXPECT_TRUE(test, rig->access[0] & IB_ACCESS_REMOTE_ATOMIC);
	KUNIT_EXPECT_FALSE(test, rig->access[1] & IB_ACCESS_REMOTE_ATOMIC);
	KUNIT_EXPECT_TRUE(test, rig->access[1] & IB_ACCESS_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, rig->access[2], rig->access[1]);
}

/* If a registration fails without atomics, too, atomics are not the reason, and
 * the next registration requests them again.
 */
static void keeps_atomics_where_all_is_refused(struct kunit *test)
{
	void *handle;

	rig->refused = IB_ACCESS_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, PTR_ERR(map(true)), -EIO);
	rig->refused = 0;
	rig->nr = 0;
	handle = map(true);
	KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
	KUNIT_EXPECT_TRUE(test, rig->access[0] & IB_ACCESS_REMOTE_ATOMIC);
	rds_ib_mr_unmap(handle);
}

static struct kunit_case ib_mr_cases[] = {
	KUNIT_CASE(is_mapped_piece_by_piece),
	KUNIT_CASE(is_refused_where_it_is_copied),
	KUNIT_CASE(does_without_atomics_where_they_are_refused),
	KUNIT_CASE(keeps_atomics_where_all_is_refused),
	{}
};

static struct kunit_suite ib_mr_suite = {
	.name		= "rds_ib_mr",
	.init		= ib_mr_test_init,
	.exit		= ib_mr_test_exit,
	.test_cases	= ib_mr_cases,
};

kunit_test_suite(ib_mr_suite);
