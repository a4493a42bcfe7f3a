// SPDX-License-Identifier: GPL-2.0
/*
 * The registration of the device is kept for the next region: a peer can then
 * access nothing of the region before.
 */
#include "site_memory.h"

FIXTURE(kept) {
	FIXTURE_DATA(memory) memory;
	int fd;
};

FIXTURE_SETUP(kept)
{
	memory_setup(_metadata, &self->memory, NULL);
	self->fd = self->memory.site.fd;
	ASSERT_EQ(0, rds_sysctl_set("ib/mr_pool_software", "1"));
	ASSERT_EQ(PEER_UP, site_dial(&self->memory.site));
	ASSERT_TRUE(site_talks(&self->memory.site, 100));
}

FIXTURE_TEARDOWN(kept)
{
	EXPECT_EQ(0, rds_sysctl_set("ib/mr_pool_software", "0"));
	memory_teardown(_metadata, &self->memory, NULL);
}

/* The keys of one registration differ in the last byte. */
static bool is_same_registration(uint64_t a, uint64_t b)
{
	return (uint32_t)(a ^ b) < 256;
}

/* An old cookie gives no access to the memory that is registered now. */
TEST_F(kept, has_another_key_for_the_next)
{
	struct site *site = &self->memory.site;
	unsigned char *area = self->memory.area, bytes[PAGE];
	uint64_t first = 0, second = 0;
	int64_t reused;

	ASSERT_EQ(0, rds_get_mr(self->fd, area, LEN, BOTH, &first));
	EXPECT_TRUE(reach(site, READ, first, 0, bytes, PAGE));
	EXPECT_TRUE(!memcmp(bytes, area, PAGE));
	ASSERT_EQ(0, rds_free_mr(self->fd, first));
	reused = rds_counter(self->fd, "ib_rdma_mr_1m_reused");
	ASSERT_EQ(0, rds_get_mr(self->fd, area, LEN, BOTH, &second));
	EXPECT_EQ(reused + 1, rds_counter(self->fd, "ib_rdma_mr_1m_reused"));
	EXPECT_TRUE(is_same_registration(first, second));
	EXPECT_NE(first, second);
	EXPECT_TRUE(reach(site, READ, second, 0, bytes, PAGE));

	memset(bytes, 0xee, PAGE);
	EXPECT_FALSE(reach(site, WRITE, first, 0, bytes, PAGE));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(is_untouched(self->memory.pages));
	EXPECT_EQ(0, rds_free_mr(self->fd, second));
	EXPECT_TRUE(site_honest(site));
}

/* Between two regions, nothing is accessible. */
TEST_F(kept, reaches_nothing_meanwhile)
{
	struct site *site = &self->memory.site;
	unsigned char bytes[PAGE];
	uint64_t cookie = 0;

	ASSERT_EQ(0, rds_get_mr(self->fd, self->memory.area, LEN, BOTH,
				&cookie));
	EXPECT_TRUE(reach(site, READ, cookie, 0, bytes, PAGE));
	ASSERT_EQ(0, rds_free_mr(self->fd, cookie));
	memset(bytes, 0xee, PAGE);
	EXPECT_FALSE(reach(site, WRITE, cookie, 0, bytes, PAGE));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(is_untouched(self->memory.pages));
	EXPECT_TRUE(site_honest(site));
}

/* The region before, which was larger, is not accessible. */
TEST_F(kept, has_the_bounds_of_the_next)
{
	struct site *site = &self->memory.site;
	unsigned char *pages = self->memory.pages, bytes[PAGE];
	uint64_t large = 0, small = 0;

	ASSERT_EQ(0, rds_get_mr(self->fd, pages, 3 * PAGE, BOTH, &large));
	ASSERT_EQ(0, rds_free_mr(self->fd, large));
	ASSERT_EQ(0, rds_get_mr(self->fd, pages, PAGE, 0, &small));
	ASSERT_TRUE(is_same_registration(large, small));
	EXPECT_TRUE(reach(site, READ, small, 0, bytes, PAGE));
	EXPECT_FALSE(reach(site, READ, small, 1, bytes, PAGE));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(site_honest(site));
}

/* The rights of the region before are not valid any more. */
TEST_F(kept, has_the_rights_of_the_next)
{
	struct site *site = &self->memory.site;
	unsigned char *pages = self->memory.pages, bytes[PAGE];
	uint64_t writable = 0, readable = 0;

	ASSERT_EQ(0, rds_get_mr(self->fd, pages, PAGE, BOTH, &writable));
	ASSERT_EQ(0, rds_free_mr(self->fd, writable));
	ASSERT_EQ(0, rds_get_mr(self->fd, pages, PAGE, 0, &readable));
	ASSERT_TRUE(is_same_registration(writable, readable));
	memset(bytes, 0xee, PAGE);
	EXPECT_FALSE(reach(site, WRITE, readable, 0, bytes, PAGE));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(is_untouched(pages));
	EXPECT_TRUE(site_honest(site));
}

#define KEYS	600

TEST_F(kept, never_has_the_same_key_again)
{
	int64_t reused = rds_counter(self->fd, "ib_rdma_mr_8k_reused");
	int64_t made = rds_counter(self->fd, "ib_rdma_mr_8k_alloc");
	uint64_t cookie[KEYS] = {};
	unsigned int i, j;

	for (i = 0; i < KEYS; i++) {
		ASSERT_EQ(0, rds_get_mr(self->fd, self->memory.pages, PAGE, 0,
					&cookie[i]));
		ASSERT_EQ(0, rds_free_mr(self->fd, cookie[i]));
		for (j = 0; j < i; j++)
			ASSERT_NE(cookie[j], cookie[i]);
	}
	/* For this some registrations have to be created now and then. */
	made = rds_counter(self->fd, "ib_rdma_mr_8k_alloc") - made;
	EXPECT_LE(KEYS / 128, made);
	EXPECT_GT(KEYS / 32, made);
	EXPECT_EQ(reused + KEYS - made,
		  rds_counter(self->fd, "ib_rdma_mr_8k_reused"));
}

/* Whether it is kept depends on the device. */
TEST_F(kept, after_a_peer_has_invalidated_it)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV };
	struct site *site = &self->memory.site;
	unsigned char *area = self->memory.area;
	uint64_t first = 0, second = 0;

	ASSERT_EQ(0, rds_get_mr(self->fd, area, LEN, BOTH, &first));
	wr.invalidate_rkey = first;
	ASSERT_TRUE(peer_post(&site->peer, &wr, 64));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_EQ(0, rds_free_mr(self->fd, first));
	ASSERT_EQ(0, rds_get_mr(self->fd, area, LEN, BOTH, &second));
	EXPECT_NE(first, second);
	EXPECT_EQ(0, rds_free_mr(self->fd, second));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
