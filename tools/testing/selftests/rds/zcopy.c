// SPDX-License-Identifier: GPL-2.0
/*
 * Sends from user memory (MSG_ZEROCOPY): from which memory, and what arrives.
 * Loopback copies the payload, which only the time and the counters show.
 */
#include "memory.h"
#include "zcopy.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

TEST_F(pair, what_is_refused)
{
	uint32_t cookie = 7;
	struct rds_msg msg;

	ASSERT_EQ(0, rds_sndbuf(self->a, 4 * LARGEST));
	EXPECT_EQ(-EINVAL, zcopy_send(self->a, &self->b_name, sent, 10, 1, 0));
	zcopy_on(_metadata, self->a);
	EXPECT_EQ(-EINVAL, zcopy_send(self->a, &self->b_name, sent, 0, 1, 0));
	EXPECT_EQ(-EMSGSIZE, zcopy_send(self->a, &self->b_name, sent,
					LARGEST + 1, 1, 0));
	rds_msg_init(&msg, sent, 10);
	rds_msg_to(&msg, &self->b_name);
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	zcopy_msg(&msg, &self->b_name, sent, 10, 1);
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, 0)));
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, 4);
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(10, zcopy_send(self->a, &self->b_name, sent, 10, 1, 0));
	EXPECT_EQ(10, rds_recv(self->b, received, 100));
	EXPECT_TRUE(await_cookie(self->a, 1));
}

/* "PinTheft": the first pages can be pinned, a later one cannot. */
TEST_F(pair, cve_2026_43494_memory_that_ends_part_way)
{
	char *pages = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov[3];
	struct rds_msg msg;
	unsigned int i;

	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, mprotect(pages + 8 * PAGE, 8 * PAGE, PROT_NONE));
	zcopy_on(_metadata, self->a);
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(-EFAULT,
			  zcopy_send(self->a, &self->b_name,
				     pages + i * PAGE / 2 + 1, 8 * PAGE, i, 0));
		zcopy_msg(&msg, &self->b_name, sent, 1, i);
		iov[0] = (struct iovec) { pages, i * PAGE / 2 };
		iov[1] = (struct iovec) { pages + 9 * PAGE, PAGE };
		iov[2] = (struct iovec) { pages, PAGE };
		msg.hdr.msg_iov = iov;
		msg.hdr.msg_iovlen = 3;
		EXPECT_EQ(-EFAULT, ERR(sendmsg(self->a, &msg.hdr,
					       MSG_ZEROCOPY)));
	}
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(rds_silent(self->b));
	munmap(pages, 16 * PAGE);
}

/* In pieces of every size, and in so many that they are copied after all */
TEST_F(pair, many_pieces)
{
	static struct iovec iov[1024];
	unsigned int count, i;
	struct rds_msg msg;
	size_t at, len;

	zcopy_on(_metadata, self->a);
	for (count = 1; count <= ARRAY_SIZE(iov); count *= 2) {
		for (i = 0, at = 0; i < count; i++, at += len) {
			len = (i * 37) % 900 + 1;
			iov[i] = (struct iovec) { sent + at, len };
		}
		rds_fill(sent, at, count);
		zcopy_msg(&msg, &self->b_name, sent, 1, count);
		msg.hdr.msg_iov = iov;
		msg.hdr.msg_iovlen = count;
		ASSERT_EQ((long)at, ERR(sendmsg(self->a, &msg.hdr,
						MSG_ZEROCOPY)));
		EXPECT_TRUE(await_cookie(self->a, count));
		memset(sent, 0, sizeof(sent));
		ASSERT_EQ((long)at, rds_recv(self->b, received,
					     sizeof(received)));
		EXPECT_TRUE(rds_check(received, at, count));
	}
}

/*
 * Loopback copies every payload. RDMA copies a payload that is not contiguous.
 * TCP copies none.
 */
TEST_F(pair, what_is_copied)
{
	bool loop = variant->transport == RDS_TRANS_LOOP;
	bool tcp = variant->transport == RDS_TRANS_TCP;
	struct iovec iov[2] = {
		{ sent + 100, 5000 }, { sent + 20000, 60536 },
	};
	struct rds_msg msg;
	int64_t before;

	zcopy_on(_metadata, self->a);
	rds_fill(sent, sizeof(sent), 1);
	before = rds_counter(self->a, "copy_from_user");
	ASSERT_EQ(65536, zcopy_send(self->a, &self->b_name, sent + 100, 65536,
				    1, 0));
	EXPECT_EQ(before + (loop ? 65536 : 0),
		  rds_counter(self->a, "copy_from_user"));
	ASSERT_EQ(65536, rds_recv(self->b, received, sizeof(received)));
	EXPECT_EQ(0, memcmp(sent + 100, received, 65536));
	EXPECT_TRUE(await_cookie(self->a, 1));

	before = rds_counter(self->a, "copy_from_user");
	zcopy_msg(&msg, &self->b_name, sent, 1, 2);
	msg.hdr.msg_iov = iov;
	msg.hdr.msg_iovlen = 2;
	ASSERT_EQ(65536, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	EXPECT_EQ(before + (tcp ? 0 : 65536),
		  rds_counter(self->a, "copy_from_user"));
	ASSERT_EQ(65536, rds_recv(self->b, received, sizeof(received)));
	EXPECT_EQ(0, memcmp(sent + 100, received, 5000));
	EXPECT_EQ(0, memcmp(sent + 20000, received + 5000, 60536));
	EXPECT_TRUE(await_cookie(self->a, 2));
}

/* The process unmaps the memory before the message is read. */
TEST_F(pair, memory_that_is_unmapped)
{
	size_t len = 70000;
	unsigned int i;
	char *pages;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < 10; i++) {
		pages = mmap(NULL, len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, pages);
		rds_fill(pages, len, i);
		ASSERT_EQ((long)len, zcopy_send(self->a, &self->b_name, pages,
						len, i, 0));
		ASSERT_EQ(0, munmap(pages, len));
		ASSERT_EQ((long)len, rds_recv(self->b, received,
					      sizeof(received)));
		EXPECT_TRUE(rds_check(received, len, i));
		EXPECT_TRUE(await_cookie(self->a, i));
	}
}

static bool comes_from(FIXTURE_DATA(pair) *self, char *from, size_t len,
		       uint32_t cookie)
{
	return zcopy_send(self->a, &self->b_name, from, len, cookie, 0) ==
	       (long)len &&
	       await_cookie(self->a, cookie) &&
	       rds_recv(self->b, received, sizeof(received)) == (long)len &&
	       !memcmp(received, from, len);
}

/* A megabyte of each kind, which begins and ends within a page */
TEST_F(pair, memory_of_all_kinds)
{
	long huge = memory_need_huge_pages(4);
	unsigned int i;
	char *mem;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < ARRAY_SIZE(memory_kinds); i++) {
		const struct memory_kind *kind = &memory_kinds[i];

		if (!memory_exists(kind)) {
			TH_LOG("This kernel has none that is %s", kind->name);
			continue;
		}
		mem = (char *)memory_map(kind);
		ASSERT_NE(NULL, mem) TH_LOG("%s", kind->name);
		rds_fill(mem, MEMORY_LEN, i);
		EXPECT_TRUE(comes_from(self, mem + 100, LARGEST, i))
			TH_LOG("%s", kind->name);
		munmap(mem, MEMORY_LEN);
	}
	memory_set_huge_pages(huge);
}

/* Memory of a file that is only read, and anonymous memory without contents */
TEST_F(pair, memory_that_is_only_read)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t len = 3 * PAGE;
	char *pages[2];
	unsigned int i;

	pages[0] = mmap(NULL, len, PROT_READ, MAP_PRIVATE, file, 0);
	pages[1] = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	close(file);
	zcopy_on(_metadata, self->a);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		ASSERT_NE(MAP_FAILED, pages[i]);
		EXPECT_TRUE(comes_from(self, pages[i], len, i));
		munmap(pages[i], len);
	}
}

/* A full send buffer refuses these sends, too, and reports no completion. */
TEST_F(pair, a_full_send_buffer)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);

	if (!variant->wire)
		return;
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_sndbuf(self->a, 8192));
	ASSERT_EQ(8192, zcopy_send(self->a, &nobody, sent, 8192, 1, 0));
	EXPECT_EQ(-EAGAIN, zcopy_send(self->a, &nobody, sent, 4000, 2,
				      MSG_DONTWAIT));
	ASSERT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO,
				    &nobody.ss, nobody.len)));
	EXPECT_TRUE(await_cookie(self->a, 1));
	EXPECT_TRUE(rds_silent(self->a));
}

/*
 * A user may lock a megabyte and no more. Memory that was reported free no
 * longer counts.
 */
static int send_without_rights(FIXTURE_DATA(pair) *self)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct rlimit limit = { LARGEST, LARGEST };
	struct __user_cap_data_struct none[2] = {};
	struct iovec iov[100];
	struct rds_msg msg;
	unsigned int i;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(4321) ||
	    setuid(4321) || syscall(SYS_capset, &head, none))
		return 1;
	for (i = 0; i < 10; i++) {
		if (zcopy_send(self->a, &self->b_name, sent, 500000, i, 0) !=
		    500000)
			return 2;
		if (!await_cookie(self->a, i))
			return 3;
		if (rds_recv(self->b, received, sizeof(received)) != 500000)
			return 4;
	}
	if (zcopy_send(self->a, &self->b_name, sent, LARGEST, 1, 0) != -ENOMEM)
		return 5;
	limit.rlim_cur = 0;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    zcopy_send(self->a, &self->b_name, sent, 1, 1, 0) != -ENOMEM)
		return 6;
	/* One byte of each of many pages counts as that many pages. */
	limit.rlim_cur = 20 * PAGE;
	for (i = 0; i < ARRAY_SIZE(iov); i++)
		iov[i] = (struct iovec) { sent + i * PAGE, 1 };
	zcopy_msg(&msg, &self->b_name, sent, 1, 1);
	msg.hdr.msg_iov = iov;
	msg.hdr.msg_iovlen = ARRAY_SIZE(iov);
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)) != -ENOMEM)
		return 8;
	return rds_silent(self->a) && rds_silent(self->b) ? 0 : 7;
}

TEST_F(pair, memory_that_may_be_locked)
{
	int status = -1;
	pid_t pid;

	zcopy_on(_metadata, self->a);
	pid = fork();
	if (!pid)
		_exit(send_without_rights(self));
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status >> 8);
	EXPECT_TRUE(WIFEXITED(status));
}

TEST_HARNESS_MAIN
