// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on memory of a peer: RDMA reads and writes, atomics, and what is
 * told of their ends. Socket b has the memory, socket a works on it. Transports
 * without RDMA refuse all this in a way of their own.
 */
#include "memory.h"
#include "pair.h"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#define PAGE	4096
#define LARGEST	(1 << 20)
#define TOKEN	0x123456789abcdef0ULL

static unsigned char near[LARGEST + 2 * PAGE] __attribute__((aligned(PAGE)));
static unsigned char far[LARGEST + 2 * PAGE] __attribute__((aligned(PAGE)));
static unsigned char payload[LARGEST];

struct op {
	uint64_t cookie;
	uint64_t off;		/* where in the peer's memory */
	uint64_t room;		/* how much there is; 0: as much as local */
	struct rds_iovec *vec;
	uint64_t nr;
	uint64_t flags;
	uint64_t token;
	size_t len;		/* of the message that follows */
};

static long send_op(int fd, const struct rds_name *to, const struct op *op,
		    int flags)
{
	struct rds_rdma_args args = {
		.cookie = op->cookie,
		.remote_vec = { op->off, op->room },
		.local_vec_addr = (uintptr_t)op->vec,
		.nr_local = op->nr,
		.flags = op->flags,
		.user_token = op->token,
	};
	struct rds_msg msg;
	uint64_t i;

	for (i = 0; i < op->nr && !op->room; i++)
		args.remote_vec.bytes += op->vec[i].bytes;
	rds_fill(payload, op->len, 7);
	rds_msg_init(&msg, payload, op->len);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, flags));
}

/* One stretch, and to be told */
static long rdma(int fd, const struct rds_name *to, uint64_t cookie,
		 uint64_t off, void *mem, size_t len, uint64_t flags,
		 uint64_t token)
{
	struct rds_iovec vec = { (uintptr_t)mem, len };
	struct op op = {
		.cookie = cookie, .off = off, .vec = &vec, .nr = 1,
		.flags = flags | RDS_RDMA_NOTIFY_ME, .token = token,
	};

	return send_op(fd, to, &op, 0);
}

static bool read_status(struct cmsghdr *cmsg, uint64_t *token, int *status)
{
	struct rds_rdma_notify notify;

	if (!cmsg || cmsg->cmsg_type != RDS_CMSG_RDMA_STATUS ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(notify)))
		return false;
	memcpy(&notify, CMSG_DATA(cmsg), sizeof(notify));
	*token = notify.user_token;
	*status = notify.status;
	return true;
}

/* Waits for news of the next operation alone: its status, or an errno */
static long await_any(int fd, uint64_t *token)
{
	char bytes[16];
	struct rds_msg msg;
	int status;
	long ret;

	do {
		rds_msg_init(&msg, bytes, sizeof(bytes));
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen =
			CMSG_SPACE(sizeof(struct rds_rdma_notify));
		ret = ERR(recvmsg(fd, &msg.hdr, 0));
	} while (!ret && rds_msg_find(&msg, SOL_RDS, RDS_CMSG_CONG_UPDATE));
	if (ret)
		return ret > 0 ? -EBADMSG : ret;
	if (msg.hdr.msg_namelen || rds_msg_count(&msg) != 1 ||
	    !read_status(rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_STATUS),
			 token, &status))
		return -EPROTO;
	return status;
}

/* And it is that one. */
static long await_status(int fd, uint64_t want)
{
	uint64_t token;
	long ret = await_any(fd, &token);

	return ret < 0 || token == want ? ret : -EILSEQ;
}

/* Waits until so many have ended, without taking note of it. */
static bool await_told(int fd, unsigned int count)
{
	struct rds_msg msg;
	unsigned int left;
	char byte;

	for (left = 5000; left; left--) {
		if (!ERR(rds_msg_recv(fd, &msg, &byte, 1,
				      MSG_PEEK | MSG_DONTWAIT)) &&
		    rds_msg_count(&msg) == count)
			return true;
		usleep(1000);
	}
	return false;
}

/* Nobody else here pins any. */
static bool await_only(long pages)
{
	unsigned int left;

	for (left = 5000; left && rds_pages_pinned() != pages; left--)
		usleep(1000);
	return left;
}

TEST_F(pair, write_and_read)
{
	static const size_t lens[] = {
		1, 8, PAGE - 1, PAGE, PAGE + 1, 70000, LARGEST - PAGE + 1,
	};
	static const size_t offs[] = { 0, 1, 100, PAGE - 1 };
	uint64_t cookie;
	unsigned int i, j;

	ASSERT_EQ(0, rds_get_mr(self->b, far + 5, LARGEST, RDS_RDMA_READWRITE,
				&cookie));
	rds_fill(near, sizeof(near), 1);
	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (j = 0; j < sizeof(offs) / sizeof(*offs); j++) {
			unsigned char *mine = near + offs[j];
			unsigned char *there = far + 5 + offs[j];

			/* The largest once, where that takes long */
			if (j && lens[i] > memory_share(LARGEST))
				break;
			memset(far, 0, sizeof(far));
			ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie,
					  offs[j], mine, lens[i],
					  RDS_RDMA_READWRITE, i + 1));
			ASSERT_EQ(RDS_RDMA_SUCCESS,
				  await_status(self->a, i + 1));
			EXPECT_EQ(0, memcmp(mine, there, lens[i]));
			EXPECT_EQ(0, there[-1]);
			EXPECT_EQ(0, there[lens[i]]);
			/* The message that follows is empty. */
			EXPECT_EQ(0, rds_recv(self->b, payload, 1));

			rds_fill(there, lens[i], i + 50);
			ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie,
					  offs[j], mine, lens[i], 0, i + 2));
			ASSERT_EQ(RDS_RDMA_SUCCESS,
				  await_status(self->a, i + 2));
			EXPECT_TRUE(rds_check(mine, lens[i], i + 50));
			EXPECT_EQ(0, rds_recv(self->b, payload, 1));
			rds_fill(near, sizeof(near), i + 2);
		}
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

/* There and back again, and not a byte more */
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

/* A megabyte of each, at either end, that begins and ends within a page */
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

/* A disk for this process alone, which goes with it */
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

static bool kernel_is_at_least(unsigned int major, unsigned int minor)
{
	unsigned int has_major, has_minor;
	struct utsname name;

	return !uname(&name) &&
	       sscanf(name.release, "%u.%u", &has_major, &has_minor) == 2 &&
	       (has_major > major ||
		(has_major == major && has_minor >= minor));
}

static const struct memory_kind disk_shared = {
	.from = MEMORY_FILE, .flags = MAP_SHARED, .dir = DISK,
};

static const struct memory_kind disk_private = {
	.from = MEMORY_FILE, .flags = MAP_PRIVATE, .dir = DISK,
};

/* At either end; refused is refused with nothing left. */
static void write_to_disk(struct __test_metadata *_metadata,
			  FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	long want = kernel_is_at_least(6, 5) ? -EFAULT : 0;
	unsigned char *mem = memory_map(&disk_shared);
	uint64_t file;

	ASSERT_NE(NULL, mem);
	rds_fill(mem, PAGE, 1);
	EXPECT_EQ(want, rds_get_mr(self->b, mem, PAGE, RDS_RDMA_READWRITE,
				   &file));
	EXPECT_EQ(want, rdma(self->a, &self->b_name, cookie, 0, mem, PAGE, 0,
			     1));
	if (want) {
		EXPECT_TRUE(rds_check(mem, PAGE, 1));
	} else {
		EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
		EXPECT_EQ(0, memcmp(mem, far, PAGE));
		EXPECT_EQ(0, rds_free_mr(self->b, file));
	}
	EXPECT_TRUE(await_only(1));
	memory_unmap(mem);
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
 * A file system that has to know who writes to its pages: a device would do so
 * behind its back, which kernels refuse since 6.5. To read them is no harm, nor
 * is it to write to copies.
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
 * What an owner may do to private memory while a device has it. Returns where
 * there is something to be seen afterwards.
 */
struct away {
	const char *name;
	unsigned char *(*take)(unsigned char *mem);
	bool same;	/* it is what the device has, still */
};

static unsigned char *take_unmap(unsigned char *mem)
{
	return munmap(mem, MEMORY_LEN) ? MAP_FAILED : NULL;
}

/* What comes to that place is another's. */
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

/* Where it is, and @seed was put; or in what is another's, nothing was. */
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

/* A region is what was registered, whatever is there now. */
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

/* What comes behind that is still to be done when this returns, or begun. */
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

/* The local side of an operation is what it was when that was sent. */
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

/* A file may lose pages that a device has: it gets others when it grows. */
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

/* A byte of each page, which a device leaves alone */
static void touch(unsigned char *mem, unsigned char byte)
{
	size_t i;

	for (i = 0; i < AREA; i += PAGE)
		mem[i] = byte;
}

/* The rest of each page: pieces, and their bytes */
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

/* Sees what there was when it was made, until it is told to go */
static pid_t child_that_looks(unsigned char *mem, int *pipefd)
{
	pid_t pid = pipe(pipefd) ? -1 : fork();
	char byte;

	if (pid)
		return pid;
	_exit(read(pipefd[0], &byte, 1) != 1 || !rds_check(mem, AREA, 1));
}

/* What its owner writes, the peer reads; and the other way round. */
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
 * Whoever writes first after fork() gets another page, but not if a device has
 * it: so the parent, who writes first to each, and the device go on seeing the
 * same, and the child sees nothing of it.
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

/* By the time that the message is there, so is what was written. */
TEST_F(pair, goes_before_its_message)
{
	struct rds_iovec vec = { (uintptr_t)near, 50000 };
	struct op op = {
		.vec = &vec, .nr = 1, .len = 3000, .flags = RDS_RDMA_READWRITE,
	};
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, 50000, RDS_RDMA_READWRITE,
				&op.cookie));
	for (i = 0; i < 20; i++) {
		rds_fill(near, 50000, i);
		ASSERT_EQ(3000, send_op(self->a, &self->b_name, &op, 0));
		ASSERT_EQ(3000, rds_recv(self->b, payload, sizeof(payload)));
		EXPECT_TRUE(rds_check(payload, 3000, 7));
		EXPECT_TRUE(rds_check(far, 50000, i));
	}
	/* Nobody wanted to know. */
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_F(pair, many_pieces)
{
	static struct rds_iovec vec[1024];
	struct op op = {
		.vec = vec, .nr = 1024, .token = TOKEN,
		.flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME,
	};
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, RDS_RDMA_READWRITE,
				&op.cookie));
	rds_fill(near, LARGEST, 3);
	/* Backwards, 1000 bytes of each 1024 */
	for (i = 0; i < 1024; i++) {
		vec[i].addr = (uintptr_t)near + (1023 - i) * 1024 + 24;
		vec[i].bytes = 1000;
	}
	ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, memcmp(far + i * 1000,
				    near + (1023 - i) * 1024 + 24, 1000));

	memset(near, 0, LARGEST);
	op.flags &= ~RDS_RDMA_READWRITE;
	ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, memcmp(far + i * 1000,
				    near + (1023 - i) * 1024 + 24, 1000));
}

TEST_F(pair, silent)
{
	struct rds_iovec vec = { (uintptr_t)near, 10000 };
	struct op op = {
		.vec = &vec, .nr = 1, .token = TOKEN, .flags =
		RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT,
	};
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, 10000, RDS_RDMA_READWRITE,
				&op.cookie));
	for (i = 0; i < 10; i++) {
		rds_fill(near, 10000, i);
		ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
		ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
		EXPECT_TRUE(rds_check(far, 10000, i));
	}
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(rds_await_acked(self->a));
	/* With something to say it is said. */
	op.len = 1;
	ASSERT_EQ(1, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_EQ(1, rds_recv(self->b, payload, sizeof(payload)));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
}

/* What is for one use is gone with the message that says that it was used. */
TEST_F(pair, used_once)
{
	uint64_t cookie, other;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE,
				RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE,
				&cookie));
	ASSERT_EQ(0, rds_get_mr(self->b, far + PAGE, PAGE, RDS_RDMA_READWRITE,
				&other));
	ASSERT_EQ(0, rdma(self->a, &self->b_name, other, 0, near, PAGE,
			  RDS_RDMA_READWRITE, 1));
	ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, PAGE,
			  RDS_RDMA_READWRITE, 2));
	EXPECT_EQ(0, await_status(self->a, 1));
	EXPECT_EQ(0, await_status(self->a, 2));
	EXPECT_TRUE(rds_arrived(self->b));
	EXPECT_EQ(0, rds_recv(self->b, payload, 1));
	EXPECT_EQ(0, rds_recv(self->b, payload, 1));
	EXPECT_EQ(-EINVAL, rds_free_mr(self->b, cookie));
	EXPECT_EQ(0, rds_free_mr(self->b, other));
}

/* Tries what the peer does not allow, and returns how it has ended. A device in
 * software may learn that the connection has gone before it learns why, and
 * then it is said that it was lost: it is tried again.
 */
static long refused(FIXTURE_DATA(pair) *self, uint64_t cookie, uint64_t off,
		    size_t len, uint64_t flags)
{
	unsigned int left = 5;
	long ret;

	do {
		ret = rdma(self->a, &self->b_name, cookie, off, near, len,
			   flags, TOKEN);
		if (!ret)
			ret = await_status(self->a, TOKEN);
	} while (ret == RDS_RDMA_DROPPED && --left &&
		 self->variant->transport == RDS_TRANS_IB);
	return ret;
}

/* Whatever the peer does not allow is refused, and said; the rest goes on. */
TEST_F(pair, what_is_not_allowed)
{
	struct rds_iovec vec = { (uintptr_t)near, PAGE };
	struct op op = { .vec = &vec, .nr = 1, .token = TOKEN };
	uint64_t cookie, gone;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &gone));
	ASSERT_EQ(0, rds_free_mr(self->b, gone));
	memset(far, 1, sizeof(far));
	memset(near, 2, sizeof(near));

	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR,
		  refused(self, cookie, 0, PAGE, RDS_RDMA_READWRITE));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, refused(self, gone, 0, PAGE, 0));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, refused(self, cookie, 1, PAGE, 0));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, refused(self, cookie, -1ULL, 1, 0));
	EXPECT_EQ(2, near[0]);
	EXPECT_EQ(1, far[0]);
	/* Who has not asked to be told is told of failures if he wants. */
	op.cookie = gone;
	EXPECT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_EQ(0, rds_set(self->a, SOL_RDS, RDS_RECVERR, 1));
	EXPECT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_LT(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
	/* A message without an operation is never given up. */
	EXPECT_EQ(4, rds_sendto(self->a, "rest", 4, 0, &self->b_name));
	EXPECT_EQ(4, rds_recv(self->b, payload, sizeof(payload)));
	op.cookie = cookie;
	EXPECT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_EQ(0, rds_recv(self->b, payload, sizeof(payload)));
	EXPECT_EQ(1, near[0]);
	EXPECT_TRUE(rds_silent(self->a));
}

/* I2: numbers that make no sense, or too much of it */
TEST_F(pair, cve_2010_3865_nonsense)
{
	struct rds_iovec vec[2] = { { (uintptr_t)near, PAGE }, {} };
	struct op op = { .vec = vec, .nr = 1, .room = PAGE };

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&op.cookie));
	vec[0].bytes = 0;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	vec[0].bytes = PAGE + 1;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	op.room = LARGEST;
	vec[0].bytes = LARGEST + 1;
	EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0));
	vec[0].addr = -PAGE;
	vec[0].bytes = PAGE + 1;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	vec[0].addr = -PAGE;
	vec[0].bytes = PAGE;
	EXPECT_EQ(-EFAULT, send_op(self->a, &self->b_name, &op, 0));
	vec[0].addr = 0;
	EXPECT_EQ(-EFAULT, send_op(self->a, &self->b_name, &op, 0));
	/* I8, I19: it is the second piece that is not there. */
	op.nr = 2;
	vec[0].addr = (uintptr_t)near;
	vec[1].addr = 0;
	vec[1].bytes = PAGE;
	EXPECT_EQ(-EFAULT, send_op(self->a, &self->b_name, &op, 0));
	vec[1].bytes = -PAGE;
	EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0));
	op.nr = 1025;
	EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0));
	op.nr = 0;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(0, rds_free_mr(self->b, op.cookie));
	EXPECT_TRUE(await_only(0));
}

/* Counts that wrap when they are multiplied, or make huge allocations */
TEST_F(pair, cve_2010_4175_cve_2022_21385_huge_vector_counts)
{
	static const uint64_t counts[] = {
		1025, 0x40001, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0x100000001, 1ULL << 60, ~0ULL,
	};
	struct rds_iovec vec = { (uintptr_t)near, PAGE };
	struct op op = { .vec = &vec, .room = PAGE };
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&op.cookie));
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		op.nr = counts[i];
		EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0))
			TH_LOG("%llx", (unsigned long long)counts[i]);
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* None at all, or with nothing in one of them */
TEST_F(pair, cve_2018_5332_no_vectors_or_no_pages)
{
	static struct rds_iovec vec[1024];
	struct op op = { .vec = vec, .room = PAGE };
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&op.cookie));
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	for (op.nr = 1; op.nr <= ARRAY_SIZE(vec); op.nr *= 2) {
		memset(vec, 0, sizeof(vec));
		EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
		for (i = 0; i < op.nr; i++)
			vec[i] = (struct rds_iovec) { (uintptr_t)near + i, 1 };
		vec[op.nr - 1].bytes = 0;
		EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	}
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(0, rds_free_mr(self->b, op.cookie));
	EXPECT_TRUE(await_only(0));
}

static long send_map(int fd, const struct rds_name *to, void *mem, size_t len,
		     uint64_t *cookie)
{
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)mem, len },
		.cookie_addr = (uintptr_t)cookie,
	};
	struct rds_msg msg;

	rds_msg_init(&msg, payload, 10);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, MSG_DONTWAIT));
}

static long get_mr_for_dest(int fd, const struct rds_name *to, void *mem,
			    size_t len, uint64_t *cookie)
{
	struct rds_get_mr_for_dest_args args = {
		.vec = { (uintptr_t)mem, len },
		.cookie_addr = (uintptr_t)cookie,
	};

	memcpy(&args.dest_addr, &to->ss, to->len);
	return ERR(setsockopt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &args,
			      sizeof(args)));
}

/* A transport alone is not enough. */
TEST_F(pair, cve_2018_7492_register_unbound)
{
	int fd = rds_socket();
	uint64_t cookie;

	ASSERT_LE(0, fd);
	/* Nobody chooses loopback. */
	if (variant->transport != RDS_TRANS_LOOP) {
		ASSERT_EQ(0, rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT,
				     variant->transport));
	}
	EXPECT_EQ(-ENOTCONN, rds_get_mr(fd, far, PAGE, 0, &cookie));
	EXPECT_EQ(-ENOTCONN, get_mr_for_dest(fd, &self->b_name, far, PAGE,
					     &cookie));
	EXPECT_EQ(-ENOTCONN, send_map(fd, &self->b_name, far, PAGE, &cookie));
	EXPECT_EQ(-EINVAL, rds_free_mr(fd, 1));
	EXPECT_TRUE(await_only(0));
	close(fd);
}

/* There was no path yet that could have been told to connect. */
TEST_F(pair, cve_2024_27024_cve_2024_35902_map_that_fails_as_first_act)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	uint64_t cookie;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		EXPECT_EQ(variant->wire ? -EFAULT : -ENETUNREACH,
			  send_map(self->a, &nobody, NULL, PAGE, &cookie));
		EXPECT_EQ(-EFAULT, get_mr_for_dest(self->a, &nobody, NULL,
						   PAGE, &cookie));
		EXPECT_EQ(-EFAULT, rds_get_mr(self->a, NULL, PAGE, 0,
					      &cookie));
	}
	EXPECT_TRUE(await_only(0));
	if (!variant->wire)
		return;
	/* And there is none needed. */
	EXPECT_EQ(10, send_map(self->a, &nobody, near, PAGE, &cookie));
	EXPECT_EQ(0, rds_free_mr(self->a, cookie));
	EXPECT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, NULL,
				    0)));
	EXPECT_TRUE(await_only(0));
}

/* Nowhere to put the cookie: the region has had its pages already. */
TEST_F(pair, cve_2026_46053_cookie_at_bad_address)
{
	uint64_t *bad[] = {
		(uint64_t *)8, (uint64_t *)-8L,
		(uint64_t *)(rds_guarded_page() + PAGE),
	};
	unsigned int i;
	uint64_t none;

	ASSERT_EQ(0, rds_get_mr(self->b, near, PAGE, 0, &none));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, rds_get_mr(self->a, far, 5 * PAGE,
					      RDS_RDMA_READWRITE, bad[i]));
		EXPECT_EQ(-EFAULT, get_mr_for_dest(self->a, &self->b_name, far,
						   5 * PAGE, bad[i]));
		EXPECT_EQ(-EFAULT, send_map(self->a, &self->b_name, far,
					    5 * PAGE, bad[i]));
		EXPECT_TRUE(await_only(1));
	}
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(0, rds_free_mr(self->b, none));
	EXPECT_TRUE(await_only(0));
}

/* It counts as locked, and what has been done does not any more. */
TEST_F(pair, more_than_may_be_locked)
{
	const struct rlimit limit = { 40 * PAGE, 40 * PAGE };
	uint64_t cookie;
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, 0, &cookie));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, setresuid(1, 1, 1));
	EXPECT_EQ(-ENOMEM, rdma(self->a, &self->b_name, cookie, 0, near,
				60 * PAGE, 0, 1));
	EXPECT_EQ(-ENOMEM, rds_get_mr(self->b, near, 60 * PAGE, 0, &cookie));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near,
				  20 * PAGE, RDS_RDMA_SILENT, i));
		ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, i));
	}
}

/* A device must not write to memory that its owner may only read. */
TEST_F(pair, read_into_what_is_read_only)
{
	unsigned char *mem;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	mem = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	EXPECT_EQ(-EFAULT, rdma(self->a, &self->b_name, cookie, 0, mem, PAGE,
				0, 1));
	EXPECT_TRUE(rds_silent(self->a));
}

struct atomic {
	int type;
	uint64_t a, b, c, d;
};

static long atomic(int fd, const struct rds_name *to, uint64_t cookie,
		   uint64_t off, void *mem, const struct atomic *what,
		   uint64_t token)
{
	struct rds_atomic_args args = {
		.cookie = cookie,
		.local_addr = (uintptr_t)mem,
		.remote_addr = off,
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = token,
	};
	struct rds_msg msg;

	args.m_cswp.compare = what->a;
	args.m_cswp.swap = what->b;
	args.m_cswp.compare_mask = what->c;
	args.m_cswp.swap_mask = what->d;
	rds_msg_init(&msg, NULL, 0);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, what->type, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, 0));
}

/* CVE-2026-52939: from one end to the other, with the results */
TEST_F(pair, cve_2026_52939_atomics)
{
	const struct atomic add = { RDS_CMSG_ATOMIC_FADD, 5 };
	const struct atomic wraps = { RDS_CMSG_ATOMIC_FADD, -1ULL };
	const struct atomic swap = { RDS_CMSG_ATOMIC_CSWP, 1004, 77 };
	uint64_t *there = (uint64_t *)far, *mine = (uint64_t *)near;
	uint64_t cookie;
	int64_t drops;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&cookie));
	memset(near, 0, PAGE);
	there[0] = 1;
	there[1] = 1000;
	there[2] = 2;
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine + 1, &add,
			    1));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
	EXPECT_EQ(1000, mine[1]);
	EXPECT_EQ(1005, there[1]);
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &wraps,
			    2));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	EXPECT_EQ(1005, mine[0]);
	EXPECT_EQ(1004, there[1]);
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &swap,
			    3));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 3));
	EXPECT_EQ(1004, mine[0]);
	EXPECT_EQ(77, there[1]);
	/* It is not what is expected any more. */
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &swap,
			    4));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 4));
	EXPECT_EQ(77, mine[0]);
	EXPECT_EQ(77, there[1]);
	EXPECT_EQ(1, there[0]);
	EXPECT_EQ(2, there[2]);
	EXPECT_EQ(0, mine[2]);

	/* What the device does not even take harms nobody else. */
	drops = rds_counter(self->a, "conn_reset");
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 9, mine, &add, 6));
	EXPECT_EQ(variant->transport == RDS_TRANS_IB ? RDS_RDMA_OTHER_ERROR :
						       RDS_RDMA_REMOTE_ERROR,
		  await_status(self->a, 6));
	EXPECT_EQ(77, there[1]);
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &add, 7));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 7));
	EXPECT_EQ(82, there[1]);
	EXPECT_EQ(drops, rds_counter(self->a, "conn_reset"));
}

/* Soft-RoCE cannot do those. */
TEST_F(pair, masked_atomics)
{
	/* Two parts of 32 bits, and nothing carries from one to the other. */
	const struct atomic add = {
		RDS_CMSG_MASKED_ATOMIC_FADD, 0x100000001, 0x80000000,
	};
	/* Where the lowest byte is 0x34, the next becomes 0x56. */
	const struct atomic swap = {
		RDS_CMSG_MASKED_ATOMIC_CSWP, 0xff34, 0x5678, 0xff, 0xff00,
	};
	long wanted = variant->transport == RDS_TRANS_IB ? -EOPNOTSUPP : 0;
	uint64_t *there = (uint64_t *)far, *mine = (uint64_t *)near;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&cookie));
	there[1] = 0x7ffffffff;
	there[2] = 0x1234;
	EXPECT_EQ(wanted, atomic(self->a, &self->b_name, cookie, 8, mine, &add,
				 1));
	EXPECT_EQ(wanted, atomic(self->a, &self->b_name, cookie, 16, mine + 1,
				 &swap, 2));
	EXPECT_EQ(wanted, atomic(self->a, &self->b_name, cookie, 16, mine + 2,
				 &(struct atomic){ swap.type, 1, 0, 0xff, -1 },
				 3));
	if (wanted) {
		EXPECT_TRUE(rds_silent(self->a));
		return;
	}
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
	EXPECT_EQ(0x7ffffffff, mine[0]);
	EXPECT_EQ(0x800000000, there[1]);
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	EXPECT_EQ(0x1234, mine[1]);
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 3));
	EXPECT_EQ(0x5634, mine[2]);
	EXPECT_EQ(0x5634, there[2]);
}

/* It was freed as if its page had been pinned. */
TEST_F(pair, cve_2018_5333_atomic_at_bad_address)
{
	static const int types[] = {
		RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP,
	};
	unsigned char *end = (unsigned char *)rds_guarded_page() + PAGE;
	unsigned char *constant = mmap(NULL, PAGE, PROT_READ,
				       MEMORY_ANONYMOUS, -1, 0);
	unsigned char *bad[] = {
		NULL, near + 1, end, end - 4, constant, (void *)-8L,
	};
	unsigned int i, j;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&cookie));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		const struct atomic op = { types[i] };

		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			EXPECT_EQ(-EFAULT, atomic(self->a, &self->b_name,
						  cookie, 0, bad[j], &op, 1))
				TH_LOG("type %d at %p", types[i], bad[j]);
		}
		EXPECT_TRUE(await_only(1));
		EXPECT_TRUE(rds_silent(self->a));
		EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 0,
				    end - 8, &op, 2));
		EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	}
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

/* As many as there is room for are told at once, in order, and none is lost. */
TEST_F(pair, told_together)
{
	struct rds_iovec vec = { (uintptr_t)near, 8 };
	struct op op = {
		.vec = &vec, .nr = 1,
		.flags = RDS_RDMA_SILENT | RDS_RDMA_NOTIFY_ME,
	};
	const size_t each = CMSG_SPACE(sizeof(struct rds_rdma_notify));
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	unsigned int i;
	uint64_t token;
	int status;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &op.cookie));
	for (op.token = 0; op.token <= 5; op.token++)
		ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_TRUE(await_told(self->a, 6));
	ASSERT_LT(0, rds_poll(self->a) & POLLIN);

	/* Who has no room gets on all the same. */
	rds_msg_init(&msg, payload, 10);
	msg.hdr.msg_control = msg.control;
	msg.hdr.msg_controllen = CMSG_LEN(sizeof(struct rds_rdma_notify)) - 1;
	EXPECT_EQ(0, ERR(recvmsg(self->a, &msg.hdr, 0)));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	/* For three, twice */
	for (i = 0; i < 2; i++) {
		rds_msg_init(&msg, payload, 10);
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen = 3 * each;
		EXPECT_EQ(0, ERR(recvmsg(self->a, &msg.hdr,
					 i ? 0 : MSG_PEEK)));
		EXPECT_EQ(3 * each, msg.hdr.msg_controllen);
		op.token = 1;
		for (cmsg = CMSG_FIRSTHDR(&msg.hdr); cmsg;
		     cmsg = CMSG_NXTHDR(&msg.hdr, cmsg)) {
			ASSERT_TRUE(read_status(cmsg, &token, &status));
			EXPECT_EQ(op.token++, token);
			EXPECT_EQ(RDS_RDMA_SUCCESS, status);
		}
	}
	/* What there is of them goes before messages. */
	EXPECT_EQ(1, rds_sendto(self->b, "x", 1, 0, &self->a_name));
	EXPECT_TRUE(rds_await_queued(self->a, 1));
	EXPECT_EQ(0, rds_msg_recv(self->a, &msg, payload, 10, 0));
	EXPECT_EQ(2, rds_msg_count(&msg));
	EXPECT_EQ(1, rds_msg_recv(self->a, &msg, payload, 10, 0));
	EXPECT_EQ(0, rds_msg_count(&msg));
}

/* How much room each takes, to the byte */
#define STATUS_ROOM	CMSG_LEN(sizeof(struct rds_rdma_notify))
#define CONG_ROOM	CMSG_LEN(sizeof(uint64_t))
#define LATENCY_ROOM	CMSG_LEN(sizeof(struct rds_cmsg_rx_trace))
#define COOKIES_ROOM	CMSG_SPACE(sizeof(struct rds_zcopy_cookies))
#define LATENCY_SPACE	CMSG_SPACE(sizeof(struct rds_cmsg_rx_trace))
#define STATUS_SPACE	CMSG_SPACE(sizeof(struct rds_rdma_notify))

static long take(int fd, struct rds_msg *msg, size_t room, int flags)
{
	rds_msg_init(msg, payload, 10);
	msg->hdr.msg_control = room ? msg->control : NULL;
	msg->hdr.msg_controllen = room;
	return ERR(recvmsg(fd, &msg->hdr, MSG_DONTWAIT | flags));
}

/* Exactly that, whole */
static bool brings(struct rds_msg *msg, int type)
{
	return !msg->hdr.msg_flags && rds_msg_count(msg) == 1 &&
	       rds_msg_find(msg, SOL_RDS, type);
}

/* In this order */
static bool brings_two(struct rds_msg *msg, int first, int second)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg->hdr);

	return !msg->hdr.msg_flags && rds_msg_count(msg) == 2 &&
	       cmsg->cmsg_type == first &&
	       CMSG_NXTHDR(&msg->hdr, cmsg)->cmsg_type == second;
}

/* A send from user memory that is to be told of, as long as nothing else is */
static void have_a_completion(struct __test_metadata *_metadata,
			      FIXTURE_DATA(pair) *self)
{
	uint32_t cookie = 7;
	struct rds_msg msg;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	rds_msg_init(&msg, near, 5);
	rds_msg_to(&msg, &self->b_name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
		    sizeof(cookie));
	ASSERT_EQ(5, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	ASSERT_EQ(5, rds_recv(self->b, payload, 10));
	ASSERT_EQ(0, rds_msg_recv(self->a, &msg, payload, 10, MSG_PEEK));
	ASSERT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
}

/* A port that was full, and is not */
static void have_news_of_congestion(struct __test_metadata *_metadata,
				    FIXTURE_DATA(pair) *self)
{
	ASSERT_EQ(0, rds_set(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, rds_rcvbuf(self->b, PAGE));
	ASSERT_EQ(PAGE, rds_sendto(self->a, near, PAGE, 0, &self->b_name));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
	ASSERT_EQ(-ENOBUFS, ERR(rds_sendto(self->a, "x", 1, MSG_DONTWAIT,
					   &self->b_name)));
	ASSERT_EQ(PAGE, rds_recv(self->b, payload, PAGE));
	ASSERT_TRUE(pair_await_free(self, &self->b_name));
}

/* All that a socket is told of at once, with two operations that have ended */
static void have_all_news(struct __test_metadata *_metadata,
			  FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	struct rds_rx_trace_so so = { .rx_traces = 3, { 0, 1, 2 } };

	have_a_completion(_metadata, self);
	ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, 8,
			  RDS_RDMA_SILENT, 1));
	ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, 8,
			  RDS_RDMA_SILENT, 2));
	ASSERT_TRUE(await_told(self->a, 2));
	ASSERT_EQ(0, setsockopt(self->a, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY,
				&so, sizeof(so)));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_TRUE(rds_await_queued(self->a, 1));
	have_news_of_congestion(_metadata, self);
}

/* It may come a moment late, and goes before the message, which is there. */
static bool await_congestion(int fd)
{
	struct rds_msg msg;
	unsigned int left;

	for (left = 5000; left; left--) {
		if (!take(fd, &msg, sizeof(msg.control), MSG_PEEK))
			return brings(&msg, RDS_CMSG_CONG_UPDATE);
		usleep(1000);
	}
	return false;
}

/*
 * Operations, then congestion, then a message with all that goes with one; what
 * goes alone is never held up by what it might have gone with.
 */
TEST_F(pair, told_with_just_enough_room)
{
	struct rds_msg msg;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	EXPECT_EQ(0, take(self->a, &msg, STATUS_SPACE + STATUS_ROOM, 0));
	EXPECT_TRUE(brings_two(&msg, RDS_CMSG_RDMA_STATUS,
			       RDS_CMSG_RDMA_STATUS));
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, CONG_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_CONG_UPDATE));
	EXPECT_EQ(3, take(self->a, &msg, LATENCY_SPACE + COOKIES_ROOM, 0));
	EXPECT_TRUE(brings_two(&msg, RDS_CMSG_RXPATH_LATENCY,
			       RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

/*
 * What is behind the first of its kind, or goes with another, is kept until
 * there is room for it. What comes first is not: its reader would never get to
 * his messages. So is a message, and MSG_CTRUNC says so.
 */
TEST_F(pair, told_with_a_byte_too_little)
{
	struct rds_msg msg;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	EXPECT_EQ(0, take(self->a, &msg, STATUS_SPACE + STATUS_ROOM - 1, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_RDMA_STATUS));
	EXPECT_EQ(0, take(self->a, &msg, STATUS_ROOM, MSG_PEEK));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_RDMA_STATUS));
	EXPECT_EQ(0, take(self->a, &msg, STATUS_ROOM - 1, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, CONG_ROOM - 1, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(3, take(self->a, &msg, LATENCY_SPACE + COOKIES_ROOM - 1, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_RXPATH_LATENCY));
	EXPECT_EQ(-EAGAIN, take(self->a, &msg, COOKIES_ROOM - 1, 0));
	EXPECT_EQ(0, take(self->a, &msg, COOKIES_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_F(pair, told_with_a_byte_too_little_for_a_latency)
{
	struct rds_msg msg;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	EXPECT_EQ(0, take(self->a, &msg, sizeof(msg.control), 0));
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, sizeof(msg.control), 0));
	EXPECT_EQ(3, take(self->a, &msg, LATENCY_ROOM - 1, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(0, take(self->a, &msg, COOKIES_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

/* He gets to his message, and can be told of sends still. */
TEST_F(pair, told_who_has_no_room_at_all)
{
	struct rds_msg msg;
	uint64_t cookie;
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	have_all_news(_metadata, self, cookie);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, take(self->a, &msg, 0, 0));
		EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	}
	EXPECT_TRUE(await_congestion(self->a));
	EXPECT_EQ(0, take(self->a, &msg, 0, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(3, take(self->a, &msg, 0, 0));
	EXPECT_EQ(MSG_CTRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(-EAGAIN, take(self->a, &msg, 0, 0));
	EXPECT_EQ(0, take(self->a, &msg, COOKIES_ROOM, 0));
	EXPECT_TRUE(brings(&msg, RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_TRUE(rds_silent(self->a));
}

/* What has not begun is cancelled, and its memory let go. */
TEST_F(pair, cancelled_before_it_begins)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	ASSERT_TRUE(await_only(1));
	if (!variant->wire) {
		EXPECT_EQ(-ENETUNREACH, rdma(self->a, &nobody, cookie, 0, near,
					     LARGEST, 0, 1));
		EXPECT_TRUE(await_only(1));
		return;
	}
	ASSERT_EQ(0, rdma(self->a, &nobody, cookie, 0, near, LARGEST, 0, 1));
	ASSERT_EQ(0, rdma(self->a, &nobody, cookie, 0, near, LARGEST, 0, 2));
	EXPECT_TRUE(await_only(1 + 2 * LARGEST / PAGE));
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, NULL,
				    0)));
	EXPECT_EQ(RDS_RDMA_CANCELED, await_status(self->a, 1));
	EXPECT_EQ(RDS_RDMA_CANCELED, await_status(self->a, 2));
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

/* However far they are: cancelled, or left to close(). */
TEST_F(pair, given_up_at_any_time)
{
	struct rds_iovec vec = { (uintptr_t)near, memory_share(LARGEST) };
	struct op op = {
		.vec = &vec, .nr = 1, .flags = RDS_RDMA_NOTIFY_ME,
	};
	unsigned int i, j, told;
	uint64_t token;
	long ret;
	int fd;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, 0, &op.cookie));
	for (i = 0; i < 12; i++) {
		fd = rds_bound(variant->a, 0);
		for (j = 0; j < 4; j++) {
			op.token = j;
			ASSERT_EQ(0, send_op(fd, &self->b_name, &op, 0));
		}
		usleep(i * 700);
		told = 0;
		if (i % 2) {
			EXPECT_EQ(0, ERR(setsockopt(fd, SOL_RDS,
						    RDS_CANCEL_SENT_TO, NULL,
						    0)));
			/* Those that had not begun have ended first. */
			for (j = 0; j < 4; j++) {
				ret = await_any(fd, &token);
				ASSERT_TRUE(ret == RDS_RDMA_SUCCESS ||
					    ret == RDS_RDMA_CANCELED);
				told |= 1 << token;
			}
			EXPECT_EQ(0xf, told);
		}
		close(fd);
	}
	EXPECT_EQ(0, rds_free_mr(self->b, op.cookie));
	rds_drain(self->b);
	EXPECT_TRUE(await_only(0));
}

TEST_HARNESS_MAIN
