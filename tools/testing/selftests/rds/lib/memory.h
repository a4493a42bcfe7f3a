/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of every kind that user space can have. RDS must handle all kinds
 * alike.
 */
#ifndef RDS_MEMORY_H
#define RDS_MEMORY_H

#include "harness.h"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Size and alignment of a mapping of each kind: one huge page */
#define MEMORY_LEN	(2UL << 20)

/* Since Linux 6.1 */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

enum memory_from {
	MEMORY_NOWHERE,
	MEMORY_MEMFD,
	MEMORY_FILE,
	MEMORY_PACKETS,
};

struct memory_kind {
	const char *name;
	enum memory_from from;
	int flags;		/* of mmap() */
	unsigned int memfd;	/* of memfd_create() */
	const char *dir;	/* of the file */
	bool transparent;	/* to be collapsed into a huge page */
};

#define MEMORY_ANONYMOUS	(MAP_PRIVATE | MAP_ANONYMOUS)

static const struct memory_kind memory_kinds[] = {
	{ "private", .flags = MEMORY_ANONYMOUS },
	{ "shared", .flags = MAP_SHARED | MAP_ANONYMOUS },
	{ "memfd", MEMORY_MEMFD, MAP_SHARED },
	{ "memfd, private", MEMORY_MEMFD, MAP_PRIVATE },
	{ "file of tmpfs", MEMORY_FILE, MAP_SHARED, .dir = "/dev/shm" },
	{ "file, private", MEMORY_FILE, MAP_PRIVATE, .dir = "/tmp" },
	{ "transparent", .flags = MEMORY_ANONYMOUS, .transparent = true },
	{ "huge", .flags = MEMORY_ANONYMOUS | MAP_HUGETLB },
	{ "huge, shared", .flags = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB },
	{ "huge memfd", MEMORY_MEMFD, MAP_SHARED, MFD_HUGETLB },
	{ "ring of a packet socket", MEMORY_PACKETS, MAP_SHARED },
};

static inline bool memory_is_huge(const struct memory_kind *kind)
{
	return kind->flags & MAP_HUGETLB || kind->memfd & MFD_HUGETLB;
}

/*
 * Read a number from the first line that matches @format. Returns -1 if there
 * is none.
 */
static inline long memory_number(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	long number = -1;
	char line[100];

	while (file && number < 0 && fgets(line, sizeof(line), file))
		sscanf(line, format, &number);
	if (file)
		fclose(file);
	return number;
}

/* Check whether this kernel has memory of this kind. */
static inline bool memory_exists(const struct memory_kind *kind)
{
	if (memory_is_huge(kind))
		return memory_number("/proc/meminfo",
				     "HugePages_Total: %ld") >= 0;
	return !kind->transparent ||
	       !access("/sys/kernel/mm/transparent_hugepage", F_OK);
}

#define MEMORY_NR_HUGE	"/proc/sys/vm/nr_hugepages"

static inline void memory_set_huge_pages(long count)
{
	FILE *file = count < 0 ? NULL : fopen(MEMORY_NR_HUGE, "w");

	if (!file)
		return;
	fprintf(file, "%ld", count);
	fclose(file);
}

/*
 * Reserve at least @count huge pages, if there is memory for them. Returns how
 * many there were before, for memory_set_huge_pages().
 */
static inline long memory_need_huge_pages(long count)
{
	long had = memory_number(MEMORY_NR_HUGE, "%ld");

	if (had < count)
		memory_set_huge_pages(count);
	return had;
}

/*
 * Return how much of @len a test should use. A kernel with all checks enabled
 * takes seconds for a megabyte.
 */
static inline size_t memory_share(size_t len)
{
	return access("/sys/kernel/debug/kmemleak", F_OK) ? len : len / 16;
}

/* Create a ring of MEMORY_LEN bytes of kernel memory, for no packets. */
static inline int memory_packets(void)
{
	unsigned int page = sysconf(_SC_PAGESIZE);
	struct tpacket_req req = {
		.tp_block_size = page,
		.tp_block_nr = MEMORY_LEN / page,
		.tp_frame_size = page,
		.tp_frame_nr = MEMORY_LEN / page,
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0 && setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req,
				  sizeof(req))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static inline int memory_file(const struct memory_kind *kind)
{
	char path[64];
	int fd;

	if (kind->from == MEMORY_NOWHERE)
		return -1;
	if (kind->from == MEMORY_PACKETS)
		return memory_packets();
	if (kind->from == MEMORY_MEMFD) {
		fd = syscall(SYS_memfd_create, "rds",
			     MFD_CLOEXEC | kind->memfd);
	} else {
		snprintf(path, sizeof(path), "%s/rdsXXXXXX", kind->dir);
		fd = mkostemp(path, O_CLOEXEC);
		unlink(path);
	}
	if (fd >= 0 && ftruncate(fd, MEMORY_LEN)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Reserve MEMORY_LEN bytes of aligned address space, without any memory. */
static inline unsigned char *memory_room(void)
{
	unsigned char *from, *to;

	from = mmap(NULL, 2 * MEMORY_LEN, PROT_NONE,
		    MEMORY_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (from == MAP_FAILED)
		return NULL;
	to = from + (-(uintptr_t)from & (MEMORY_LEN - 1));
	if (to != from)
		munmap(from, to - from);
	munmap(to + MEMORY_LEN, from + MEMORY_LEN - to);
	return to;
}

/* Map MEMORY_LEN bytes of memory of this kind. Returns NULL on failure. */
static inline unsigned char *memory_map(const struct memory_kind *kind)
{
	unsigned char *mem = memory_room();
	int fd = memory_file(kind);

	if (!mem || (fd < 0 && kind->from != MEMORY_NOWHERE))
		return NULL;
	mem = mmap(mem, MEMORY_LEN, PROT_READ | PROT_WRITE,
		   kind->flags | MAP_FIXED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mem == MAP_FAILED)
		return NULL;
	if (!kind->transparent)
		return mem;
	/* The pages must be present to be collapsed into a huge page. */
	memset(mem, 0, MEMORY_LEN);
	return madvise(mem, MEMORY_LEN, MADV_COLLAPSE) ? NULL : mem;
}

static inline void memory_unmap(unsigned char *mem)
{
	munmap(mem, MEMORY_LEN);
}

#endif /* RDS_MEMORY_H */
