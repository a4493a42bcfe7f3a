/* SPDX-License-Identifier: GPL-2.0 */
/* User memory that is registered, and a peer that accesses it */
#ifndef SITE_MEMORY_H
#define SITE_MEMORY_H

#include "test.h"

#include <sys/mman.h>

#define PAGE	4096
#define PAGES	6
/* Where the memory begins, and its length; neither is aligned. */
#define BEGIN	100
#define LEN	(3 * PAGE + 1000)

#define WRITE	IBV_WR_RDMA_WRITE
#define READ	IBV_WR_RDMA_READ
#define BOTH	RDS_RDMA_READWRITE

FIXTURE(memory) {
	struct site site;
	unsigned char *pages;
	/* A part of them */
	unsigned char *area;
	unsigned char bytes[PAGE];
	long pinned;
};

FIXTURE_SETUP(memory)
{
	self->pinned = rds_pages_pinned();
	self->pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->pages);
	self->area = self->pages + BEGIN;
	rds_fill(self->pages, PAGES * PAGE, 1);
	rds_fill(self->bytes, sizeof(self->bytes), 2);
	ASSERT_EQ(0, site_set_up(&self->site));
}

FIXTURE_TEARDOWN(memory)
{
	unsigned int tries;

	site_tear_down(&self->site);
	for (tries = 0;
	     tries < 1000 && rds_pages_pinned() != self->pinned; tries++)
		usleep(10000);
	EXPECT_EQ(self->pinned, rds_pages_pinned());
	munmap(self->pages, PAGES * PAGE);
}

static inline bool is_untouched(const unsigned char *pages)
{
	return rds_check(pages, PAGES * PAGE, 1);
}

/* Access the memory by a peer that has the cookie, @off bytes from its
 * beginning.
 */
static inline bool reach(struct site *site, enum ibv_wr_opcode opcode,
			 uint64_t cookie, uint64_t off, void *bytes,
			 unsigned int len)
{
	return peer_rdma(&site->peer, opcode, cookie, (cookie >> 32) + off,
			 bytes, len);
}

#endif /* SITE_MEMORY_H */
