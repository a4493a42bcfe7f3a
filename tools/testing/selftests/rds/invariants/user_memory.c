// SPDX-License-Identifier: GPL-2.0
/*
 * Invalid user memory: the call fails with EFAULT, the kernel has read and
 * written nothing that it should not, and no message is lost or leaked.
 */
#include "loop.h"

#include <sys/mman.h>

/* Small messages and those made of pages are built by different code. */
static const size_t sizes[] = { 1, 64, PAGE, 5 * PAGE + 3 };

#define MAX_SIZE (5 * PAGE + 3)

static char good[MAX_SIZE];
static char room[MAX_SIZE];

/* Return the address of the rds module, or 0 if it is not available. */
static unsigned long module_address(void)
{
	FILE *file = fopen("/proc/modules", "r");
	unsigned long addr, found = 0;
	char line[512], name[64];

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %*s %*s %*s %*s %lx", name,
			   &addr) == 2 && !strcmp(name, "rds"))
			found = addr;
	if (file)
		fclose(file);
	return found;
}

/* Return a page with nothing behind it; only its last @len bytes are used. */
static char *end_of_memory(size_t len)
{
	char *page = rds_guarded_page();

	return page ? page + PAGE - len : NULL;
}

#define BAD_ADDRESSES 8

static void bad_addresses(unsigned long addr[BAD_ADDRESSES])
{
	void *none = mmap(NULL, MAX_SIZE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	addr[0] = 0x10;			/* the NULL page */
	addr[1] = (unsigned long)none;
	addr[2] = 0x7ffffffff000;	/* the page that cannot be mapped */
	addr[3] = 0x8000000000000000;	/* not canonical */
	addr[4] = 0xffff888000100000;	/* the linear mapping */
	addr[5] = 0xffffffff81000000;	/* kernel text */
	addr[6] = -PAGE;
	addr[7] = module_address() ?: 0xffffffffa0000000;
}

static long send_iov(int fd, const struct rds_name *to, struct iovec *iov,
		     size_t count)
{
	struct msghdr hdr = {
		.msg_name = (void *)&to->ss, .msg_namelen = to->len,
		.msg_iov = iov, .msg_iovlen = count,
	};

	return ERR(sendmsg(fd, &hdr, MSG_DONTWAIT));
}

static long recv_iov(int fd, struct iovec *iov, size_t count)
{
	struct msghdr hdr = { .msg_iov = iov, .msg_iovlen = count };

	return ERR(recvmsg(fd, &hdr, MSG_DONTWAIT));
}

TEST_F(loop, cve_2010_3904_send_from_bad_address)
{
	unsigned long addr[BAD_ADDRESSES];
	unsigned int i, j;
	struct iovec iov;

	bad_addresses(addr);
	for (i = 0; i < BAD_ADDRESSES; i++) {
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			iov.iov_base = (void *)addr[i];
			iov.iov_len = sizes[j];
			EXPECT_EQ(-EFAULT, send_iov(self->a, &self->b_name,
						    &iov, 1))
				TH_LOG("%zu at %lx", sizes[j], addr[i]);
		}
	}
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

TEST_F(loop, cve_2010_3904_receive_to_bad_address)
{
	unsigned long addr[BAD_ADDRESSES];
	unsigned int i, j;
	struct iovec iov;

	bad_addresses(addr);
	for (j = 0; j < ARRAY_SIZE(sizes); j++) {
		rds_fill(good, sizes[j], j);
		ASSERT_EQ(sizes[j], rds_sendto(self->a, good, sizes[j], 0,
					       &self->b_name));
		for (i = 0; i < BAD_ADDRESSES; i++) {
			iov.iov_base = (void *)addr[i];
			iov.iov_len = sizes[j];
			EXPECT_EQ(-EFAULT, recv_iov(self->b, &iov, 1))
				TH_LOG("%zu at %lx", sizes[j], addr[i]);
		}
		EXPECT_EQ(sizes[j], rds_recv(self->b, room, sizeof(room)));
		EXPECT_TRUE(rds_check(room, sizes[j], j));
	}
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(loop, cve_2010_3904_receive_to_read_only_memory)
{
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct iovec iov = { page, 64 };

	ASSERT_NE(MAP_FAILED, page);
	memset(good, 0xa5, 64);
	ASSERT_EQ(64, rds_sendto(self->a, good, 64, 0, &self->b_name));
	EXPECT_EQ(-EFAULT, recv_iov(self->b, &iov, 1));
	EXPECT_EQ(0, page[0]);
	EXPECT_EQ(64, rds_recv(self->b, room, sizeof(room)));
	EXPECT_EQ(0, memcmp(good, room, 64));
}

/* The address of an operation is rejected before anything accesses it. */
TEST_F(loop, cve_2018_5333_atomic_at_bad_address)
{
	unsigned long addr[BAD_ADDRESSES + 1];
	struct rds_atomic_args args = { .cookie = 1ULL << 32 };
	struct rds_msg msg;
	unsigned int i;
	int type;

	bad_addresses(addr);
	addr[BAD_ADDRESSES] = (unsigned long)good + 1;	/* not aligned */
	for (type = RDS_CMSG_ATOMIC_FADD; type <= RDS_CMSG_MASKED_ATOMIC_CSWP;
	     type++) {
		for (i = 0; i <= BAD_ADDRESSES; i++) {
			args.local_addr = addr[i];
			rds_msg_init(&msg, good, 8);
			rds_msg_to(&msg, &self->b_name);
			rds_msg_add(&msg, SOL_RDS, type, &args, sizeof(args));
			EXPECT_EQ(-EFAULT, ERR(sendmsg(self->a, &msg.hdr, 0)))
				TH_LOG("type %d at %lx", type, addr[i]);
		}
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* Some of the memory is valid: still nothing is sent, and nothing lost. */
TEST_F(loop, i1_memory_that_ends_part_way)
{
	struct iovec iov[3];
	size_t size = 3 * PAGE;
	char *last = end_of_memory(100);
	unsigned int i;

	ASSERT_NE(NULL, last);
	rds_fill(good, size, 7);
	iov[0] = (struct iovec) { good, PAGE + 1 };
	iov[1] = (struct iovec) { last, 101 };
	iov[2] = (struct iovec) { good + PAGE, size };
	for (i = 0; i < 20; i++)
		EXPECT_EQ(-EFAULT, send_iov(self->a, &self->b_name, iov, 3));
	EXPECT_TRUE(rds_silent(self->b));

	ASSERT_EQ(size, rds_sendto(self->a, good, size, 0, &self->b_name));
	iov[0].iov_base = room;
	iov[2].iov_base = room + PAGE;
	for (i = 0; i < 20; i++)
		EXPECT_EQ(-EFAULT, recv_iov(self->b, iov, 3));
	EXPECT_EQ(size, rds_recv(self->b, room, sizeof(room)));
	EXPECT_TRUE(rds_check(room, size, 7));
}

/* The end of the fixture detects a message that was leaked. */
TEST_F(loop, cve_2021_47249_bad_control_buffer)
{
	void *control = (void *)end_of_memory(0);
	struct iovec iov = { room, sizeof(room) };
	struct msghdr hdr = {};
	unsigned int i;

	ASSERT_NE(NULL, control);
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP, 1));
	rds_fill(good, PAGE, 3);
	ASSERT_EQ(PAGE, rds_sendto(self->a, good, PAGE, 0, &self->b_name));
	for (i = 0; i < 100; i++) {
		hdr.msg_iov = &iov;
		hdr.msg_iovlen = 1;
		hdr.msg_control = i % 2 ? control : (void *)-PAGE;
		hdr.msg_controllen = 256;
		EXPECT_EQ(-EFAULT, ERR(recvmsg(self->b, &hdr, MSG_DONTWAIT)));
	}
	memset(room, 0, PAGE);
	EXPECT_EQ(PAGE, rds_recv(self->b, room, sizeof(room)));
	EXPECT_TRUE(rds_check(room, PAGE, 3));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(loop, cve_2021_47249_peek_with_bad_control_buffer)
{
	struct iovec iov = { room, sizeof(room) };
	struct msghdr hdr = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = (void *)-PAGE, .msg_controllen = 256,
	};

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP, 1));
	rds_fill(good, 10, 4);
	ASSERT_EQ(10, rds_sendto(self->a, good, 10, 0, &self->b_name));
	EXPECT_EQ(-EFAULT, ERR(recvmsg(self->b, &hdr, MSG_PEEK)));
	EXPECT_EQ(10, rds_recv(self->b, room, sizeof(room)));
	EXPECT_TRUE(rds_check(room, 10, 4));
}

/* The address and length for a list come from user space as well. */
TEST_F(loop, i1_lists_to_bad_addresses)
{
	unsigned long addr[BAD_ADDRESSES];
	socklen_t len;
	unsigned int i;
	int option;

	bad_addresses(addr);
	ASSERT_EQ(10, rds_sendto(self->a, good, 10, 0, &self->b_name));
	for (option = RDS_INFO_FIRST; option <= RDS_INFO_LAST; option++) {
		len = 0;
		if (getsockopt(self->a, SOL_RDS, option, NULL, &len) != -1 ||
		    errno != ENOSPC)
			continue;
		for (i = 0; i < BAD_ADDRESSES; i++) {
			len = 65536;
			EXPECT_EQ(-EFAULT,
				  ERR(getsockopt(self->a, SOL_RDS, option,
						 (void *)addr[i], &len)))
				TH_LOG("%d at %lx", option, addr[i]);
			EXPECT_EQ(-EFAULT,
				  ERR(getsockopt(self->a, SOL_RDS, option,
						 room, (void *)addr[i])));
		}
	}
	EXPECT_EQ(10, rds_recv(self->b, room, sizeof(room)));
}

TEST_F(loop, i1_options_at_bad_addresses)
{
	static const int options[] = {
		RDS_CANCEL_SENT_TO, RDS_RECVERR, RDS_CONG_MONITOR,
		SO_RDS_MSG_RXPATH_LATENCY, SO_TIMESTAMP,
	};
	static const socklen_t sizes[] = { 16, 4, 4, 4, 4 };
	unsigned long addr[BAD_ADDRESSES];
	unsigned int i, j;

	bad_addresses(addr);
	for (i = 0; i < BAD_ADDRESSES; i++) {
		for (j = 0; j < ARRAY_SIZE(options); j++) {
			EXPECT_EQ(-EFAULT,
				  ERR(setsockopt(self->a, SOL_RDS, options[j],
						 (void *)addr[i], sizes[j])))
				TH_LOG("%d at %lx", options[j], addr[i]);
		}
		EXPECT_EQ(-EFAULT, ERR(ioctl(self->a, SIOCRDSGETTOS, addr[i])));
		EXPECT_EQ(-EFAULT, ERR(ioctl(self->a, SIOCRDSSETTOS, addr[i])));
	}
}

TEST_HARNESS_MAIN
