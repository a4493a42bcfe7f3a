// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on memory of all kinds at either end, on memory that its owner
 * takes away, and on memory that its owner shares with a child
 */
#include "rdma.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

/*
 * Check that data is written to the peer and read back, and that the adjacent
 * bytes do not change.
 */
static bool works_on(FIXTURE_DATA(pair) *self, unsigned char *mine,
		     unsigned char *there, size_t len)
{
	uint64_t cookie;

	rds_fill(mine, len, 1);
	if (rds_get_mr(self->b, there, len, RDS_RDMA_READWRITE, &cookie) ||
	    rdma(self->a, &self->b_name, cookie, 0, mine, len,
		 RDS_RDMA_READWRITE, 1) ||
	    await_status(self->a, 1) != RDS_RDMA_SUCCESS ||
	    !rds_check(there, len, 1) || there[-1] || there[len])
		return false;
	rds_fill(there, len, 2);
	return !rdma(self->a, &self->b_name, cookie, 0, mine, len, 0, 2) &&
	       await_status(self->a, 2) == RDS_RDMA_SUCCESS &&
	       rds_check(mine, len, 2) && !mine[-1] && !mine[len] &&
	       !rds_recv(self->b, payload, 1) &&
	       !rds_recv(self->b, payload, 1) &&
	       !rds_free_mr(self->b, cookie);
}

/* A megabyte of each kind at either end, which begins and ends within a page */
TEST_F(pair, memory_of_all_kinds)
{
	size_t len = memory_share(LARGEST);
	unsigned char *mine, *there;
	unsigned int i;
	long huge;

	huge = memory_need_huge_pages(4);
	for (i = 0; i < ARRAY_SIZE(memory_kinds); i++) {
		const struct memory_kind *kind = &memory_kinds[i];

		if (!memory_exists(kind)) {
			TH_LOG("This kernel has none that is %s", kind->name);
			continue;
		}
		mine = memory_map(kind);
		there = memory_map(kind);
		ASSERT_NE(NULL, mine) TH_LOG("%s", kind->name);
		ASSERT_NE(NULL, there) TH_LOG("%s", kind->name);
		EXPECT_TRUE(works_on(self, mine + 100, there + 5, len))
			TH_LOG("%s", kind->name);
		memory_unmap(mine);
		memory_unmap(there);
		EXPECT_TRUE(await_only(0)) TH_LOG("%s", kind->name);
	}
	memory_set_huge_pages(huge);
}

/* A disk that only this process sees, and that goes away with it */
#define DISK "/mnt"

#define DISK_IMAGE "/dev/shm/rds-disk"

static bool has_ext4(void)
{
	system("modprobe -q -a loop ext4");
	return !system("grep -qw ext4 /proc/filesystems");
}

static bool mount_disk(void)
{
	return !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !system("truncate -s 8M " DISK_IMAGE) &&
	       !system("mkfs.ext4 -q " DISK_IMAGE) &&
	       !system("mount -o loop " DISK_IMAGE " " DISK) &&
	       !unlink(DISK_IMAGE);
}

static const struct memory_kind disk_shared = {
	.from = MEMORY_FILE, .flags = MAP_SHARED, .dir = DISK,
};

static const struct memory_kind disk_private = {
	.from = MEMORY_FILE, .flags = MAP_PRIVATE, .dir = DISK,
};

/*
 * No operation may write to pages of a file, at either end. Nothing changes
 * and nothing stays pinned, also where only the second page is of the file.
 */
static void write_to_disk(struct __test_metadata *_metadata,
			  FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	unsigned char *mem = memory_map(&disk_shared);
	uint64_t file;

	ASSERT_NE(NULL, mem);
	rds_fill(mem + PAGE, PAGE, 1);
	EXPECT_EQ(-EFAULT, rds_get_mr(self->b, mem + PAGE, PAGE,
				      RDS_RDMA_READWRITE, &file));
	EXPECT_EQ(-EFAULT, rdma(self->a, &self->b_name, cookie, 0, mem + PAGE,
				PAGE, 0, 1));
	EXPECT_TRUE(rds_check(mem + PAGE, PAGE, 1));
	ASSERT_EQ(mem, mmap(mem, PAGE, PROT_READ | PROT_WRITE,
			    MEMORY_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_EQ(-EFAULT, rds_get_mr(self->b, mem, 2 * PAGE,
				      RDS_RDMA_READWRITE, &file));
	EXPECT_EQ(0, rds_get_mr(self->b, mem, PAGE, RDS_RDMA_READWRITE,
				&file));
	EXPECT_EQ(0, rds_free_mr(self->b, file));
	EXPECT_TRUE(await_only(1));
	memory_unmap(mem);
}

/* Wait until the contents of the disk itself are @want. */
static bool reaches_disk(int fd, const void *want)
{
	static unsigned char got[PAGE] __attribute__((aligned(PAGE)));
	unsigned int tries;

	for (tries = 0; tries < 600; tries++) {
		if (pread(fd, got, PAGE, 0) == (ssize_t)PAGE &&
		    !memcmp(got, want, PAGE))
			return true;
		usleep(50000);
	}
	return false;
}

/*
 * A page that the file system considers clean is written to without its
 * knowledge, by getsockopt() for a list. If the file system is not notified,
 * the data never reaches the disk. A read with O_DIRECT shows what has reached
 * it.
 */
static void write_to_clean_pages(struct __test_metadata *_metadata,
				 FIXTURE_DATA(pair) *self)
{
	int fd = open(DISK "/clean", O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC,
		      0600);
	socklen_t len = PAGE;
	unsigned char *mem;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, mem);
	rds_fill(mem, PAGE, 3);
	ASSERT_EQ(0, msync(mem, PAGE, MS_SYNC));
	EXPECT_LT(0, getsockopt(self->a, SOL_RDS, RDS_INFO_COUNTERS, mem,
				&len));
	memcpy(near, mem, PAGE);
	EXPECT_FALSE(rds_check(near, PAGE, 3));
	EXPECT_TRUE(reaches_disk(fd, near));
	munmap(mem, PAGE);
	close(fd);
}

static void read_from_disk(struct __test_metadata *_metadata,
			   FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	unsigned char *mem = memory_map(&disk_shared);
	uint64_t file;

	ASSERT_NE(NULL, mem);
	rds_fill(mem, 2 * PAGE, 2);
	ASSERT_EQ(0, rds_get_mr(self->b, mem + PAGE, PAGE, 0, &file));
	EXPECT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, mem, PAGE,
			  RDS_RDMA_READWRITE, 2));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	EXPECT_EQ(0, memcmp(far, mem, PAGE));
	EXPECT_EQ(0, rdma(self->a, &self->b_name, file, 0, near, PAGE, 0, 3));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 3));
	EXPECT_EQ(0, memcmp(near, mem + PAGE, PAGE));
	EXPECT_EQ(0, rds_free_mr(self->b, file));
	EXPECT_TRUE(await_only(1));
	memory_unmap(mem);
}

/*
 * A file system that must know of all writes to its pages. A device would write
 * without its knowledge, so that is refused. Reading such pages is harmless,
 * and so is writing to private copies.
 */
TEST_F(pair, memory_of_a_file_on_a_disk)
{
	unsigned char *mine, *there;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&cookie));
	if (!has_ext4())
		SKIP(return, "this kernel has no ext4");
	ASSERT_TRUE(mount_disk());
	write_to_disk(_metadata, self, cookie);
	read_from_disk(_metadata, self, cookie);
	write_to_clean_pages(_metadata, self);
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	rds_drain(self->b);

	mine = memory_map(&disk_private);
	there = memory_map(&disk_private);
	ASSERT_NE(NULL, mine);
	ASSERT_NE(NULL, there);
	EXPECT_TRUE(works_on(self, mine + 100, there + 5, 10 * PAGE));
	EXPECT_TRUE(await_only(0));
	memory_unmap(mine);
	memory_unmap(there);
}

/*
 * What an owner may do to private memory while a device uses it. @take returns
 * the memory to check afterwards, NULL if there is none, or MAP_FAILED.
 */
struct away {
	const char *name;
	unsigned char *(*take)(unsigned char *mem);
	bool same;	/* still the memory the device has */
};

static unsigned char *take_unmap(unsigned char *mem)
{
	return munmap(mem, MEMORY_LEN) ? MAP_FAILED : NULL;
}

/* The new memory at this address must not change. */
static unsigned char *take_replace(unsigned char *mem)
{
	mem = mmap(mem, MEMORY_LEN, PROT_READ | PROT_WRITE,
		   MEMORY_ANONYMOUS | MAP_FIXED, -1, 0);
	if (mem != MAP_FAILED)
		memset(mem, 0x55, MEMORY_LEN);
	return mem;
}

static unsigned char *take_discard(unsigned char *mem)
{
	if (madvise(mem, MEMORY_LEN, MADV_DONTNEED))
		return MAP_FAILED;
	memset(mem, 0x55, MEMORY_LEN);
	return mem;
}

static unsigned char *take_move(unsigned char *mem)
{
	return mremap(mem, MEMORY_LEN, MEMORY_LEN,
		      MREMAP_MAYMOVE | MREMAP_FIXED, memory_room());
}

static unsigned char *take_protect(unsigned char *mem)
{
	return mprotect(mem, MEMORY_LEN, PROT_READ) ? MAP_FAILED : mem;
}

static const struct away ways[] = {
	{ "unmapped", take_unmap },
	{ "replaced", take_replace },
	{ "discarded", take_discard },
	{ "moved", take_move, true },
	{ "protected", take_protect, true },
};

/*
 * Check the memory: if it is still what the device has, it must hold the data
 * of @seed; other memory must not have changed.
 */
static bool is_as_it_should_be(const struct away *way,
			       const unsigned char *mem, size_t len,
			       unsigned int seed)
{
	size_t i;

	if (way->same)
		return rds_check(mem, len, seed);
	for (i = 0; mem && i < len; i++)
		if (mem[i] != 0x55)
			return false;
	return true;
}

#define AREA	(8 * PAGE)

static bool leave(unsigned char *mem)
{
	return !mem || !munmap(mem, MEMORY_LEN);
}

/* A region is the memory that was registered, whatever is mapped there now. */
TEST_F(pair, region_that_its_owner_takes_away)
{
	unsigned char *mem;
	unsigned int i;
	uint64_t cookie;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		mem = memory_map(memory_kinds);
		ASSERT_NE(NULL, mem);
		rds_fill(mem, AREA, 1);
		ASSERT_EQ(0, rds_get_mr(self->b, mem, AREA, RDS_RDMA_READWRITE,
					&cookie));
		mem = ways[i].take(mem);
		ASSERT_NE(MAP_FAILED, mem) TH_LOG("%s", ways[i].name);

		EXPECT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near,
				  AREA, 0, 1));
		EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
		EXPECT_TRUE(rds_check(near, AREA, 1));
		rds_fill(near, AREA, 2);
		EXPECT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near,
				  AREA, RDS_RDMA_READWRITE, 2));
		EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
		EXPECT_TRUE(is_as_it_should_be(&ways[i], mem, AREA, 2))
			TH_LOG("%s", ways[i].name);
		EXPECT_TRUE(await_only(AREA / PAGE));
		EXPECT_EQ(0, rds_free_mr(self->b, cookie));
		EXPECT_TRUE(await_only(0)) TH_LOG("%s", ways[i].name);
		EXPECT_TRUE(leave(mem));
		rds_drain(self->b);
	}
}

/*
 * Send two large operations, so that the next one is still queued, or has only
 * begun, when its sendmsg() returns.
 */
static bool keep_busy(FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	struct rds_iovec vec = { (uintptr_t)near, memory_share(LARGEST / 4) };
	struct op op = {
		.cookie = cookie, .off = LARGEST / 2, .vec = &vec, .nr = 1,
		.flags = RDS_RDMA_SILENT,
	};

	return !send_op(self->a, &self->b_name, &op, 0) &&
	       !send_op(self->a, &self->b_name, &op, 0);
}

/* An operation uses the local memory that was mapped when it was sent. */
static bool goes_on_without(FIXTURE_DATA(pair) *self, const struct away *way,
			    uint64_t cookie, bool write)
{
	unsigned char *mem = memory_map(memory_kinds);

	if (!mem || !keep_busy(self, cookie))
		return false;
	rds_fill(mem, AREA, 1);
	rds_fill(far, AREA, 2);
	if (rdma(self->a, &self->b_name, cookie, 0, mem, AREA,
		 RDS_RDMA_SILENT | (write ? RDS_RDMA_READWRITE : 0), 7))
		return false;
	mem = way->take(mem);
	return mem != MAP_FAILED &&
	       await_status(self->a, 7) == RDS_RDMA_SUCCESS &&
	       rds_check(far, AREA, write ? 1 : 2) &&
	       is_as_it_should_be(way, mem, AREA, write ? 1 : 2) &&
	       leave(mem);
}

TEST_F(pair, operation_whose_memory_its_owner_takes_away)
{
	uint64_t cookie;
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, RDS_RDMA_READWRITE,
				&cookie));
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		EXPECT_TRUE(goes_on_without(self, &ways[i], cookie, true))
			TH_LOG("%s", ways[i].name);
		EXPECT_TRUE(goes_on_without(self, &ways[i], cookie, false))
			TH_LOG("%s", ways[i].name);
	}
	EXPECT_TRUE(await_only(LARGEST / PAGE));
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

/*
 * A truncated file loses pages that a device has. When it grows, it gets
 * others.
 */
TEST_F(pair, region_of_a_file_that_is_cut_off)
{
	int fd = syscall(SYS_memfd_create, "rds", MFD_CLOEXEC);
	unsigned char *mem;
	uint64_t cookie;

	ASSERT_EQ(0, ftruncate(fd, AREA));
	mem = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, mem);
	rds_fill(mem, AREA, 1);
	ASSERT_EQ(0, rds_get_mr(self->b, mem, AREA, RDS_RDMA_READWRITE,
				&cookie));
	ASSERT_EQ(0, ftruncate(fd, 0));
	ASSERT_EQ(0, ftruncate(fd, AREA));
	memset(mem, 0x55, AREA);

	EXPECT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, AREA, 0,
			  1));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
	EXPECT_TRUE(rds_check(near, AREA, 1));
	EXPECT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, AREA,
			  RDS_RDMA_READWRITE, 2));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	EXPECT_TRUE(is_as_it_should_be(&(struct away) {}, mem, AREA, 0));
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

/* In each page, write the one byte that the device does not use. */
static void touch(unsigned char *mem, unsigned char byte)
{
	size_t i;

	for (i = 0; i < AREA; i += PAGE)
		mem[i] = byte;
}

/* Describe the rest of each page, one vector per page. */
static void spare_first_bytes(struct rds_iovec *vec, unsigned char *mem)
{
	unsigned int i;

	for (i = 0; i < AREA / PAGE; i++)
		vec[i] = (struct rds_iovec) {
			(uintptr_t)mem + i * PAGE + 1, PAGE - 1,
		};
}

static bool has_all(const struct rds_iovec *vec, const unsigned char *all)
{
	unsigned int i;

	for (i = 0; i < AREA / PAGE; i++)
		if (memcmp((void *)(uintptr_t)vec[i].addr,
			   all + i * (PAGE - 1), PAGE - 1))
			return false;
	return true;
}

/*
 * Fork a child. When it gets a byte, it checks that its memory has not changed.
 */
static pid_t child_that_looks(unsigned char *mem, int *pipefd)
{
	pid_t pid = pipe(pipefd) ? -1 : fork();
	char byte;

	if (pid)
		return pid;
	_exit(read(pipefd[0], &byte, 1) != 1 || !rds_check(mem, AREA, 1));
}

/* Check that the peer reads what the owner writes, and the other way round. */
static bool both_see_the_same(FIXTURE_DATA(pair) *self, uint64_t cookie,
			      unsigned char *there, unsigned int seed)
{
	rds_fill(there, AREA, seed);
	if (rdma(self->a, &self->b_name, cookie, 0, near, AREA,
		 RDS_RDMA_SILENT, 2) ||
	    await_status(self->a, 2) != RDS_RDMA_SUCCESS ||
	    !rds_check(near, AREA, seed))
		return false;
	rds_fill(near, AREA, seed + 1);
	return !rdma(self->a, &self->b_name, cookie, 0, near, AREA,
		     RDS_RDMA_SILENT | RDS_RDMA_READWRITE, 3) &&
	       await_status(self->a, 3) == RDS_RDMA_SUCCESS &&
	       rds_check(there, AREA, seed + 1);
}

/*
 * After fork(), the first process to write to a page gets a copy, unless a
 * device has the page pinned. So the parent, which writes first to each page,
 * and the device continue to see the same memory. The child sees no change.
 */
TEST_F(pair, memory_that_a_child_has_a_copy_of)
{
	unsigned char *mine = memory_map(memory_kinds);
	unsigned char *there = memory_map(memory_kinds);
	struct rds_iovec vec[AREA / PAGE];
	struct op op = {
		.vec = vec, .nr = AREA / PAGE, .token = 1,
		.flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT,
	};
	int status, pipefd[2];
	uint64_t cookie;
	pid_t pid;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, RDS_RDMA_READWRITE,
				&cookie));
	rds_fill(there, AREA, 1);
	ASSERT_EQ(0, rds_get_mr(self->b, there, AREA, RDS_RDMA_READWRITE,
				&op.cookie));
	spare_first_bytes(vec, mine);
	ASSERT_TRUE(keep_busy(self, cookie));
	ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	pid = child_that_looks(there, pipefd);
	ASSERT_LT(0, pid);
	touch(mine, 0xaa);
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
	EXPECT_TRUE(has_all(vec, there));

	EXPECT_TRUE(both_see_the_same(self, op.cookie, there, 2));
	ASSERT_EQ(1, write(pipefd[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(both_see_the_same(self, op.cookie, there, 4));
	EXPECT_EQ(0, rds_free_mr(self->b, op.cookie));
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

TEST_HARNESS_MAIN
