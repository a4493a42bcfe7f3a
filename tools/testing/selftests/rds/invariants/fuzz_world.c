// SPDX-License-Identifier: GPL-2.0
/* Calls of the fuzzer that change what is around the sockets */
#define _GNU_SOURCE

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz_run.h"

static const uint64_t tunables[] = {
	4, 2, 5, 8, 13, 14, 16, 19, 3, 0, 1, 6, 7, 9, 10, 11, 12, 15, 17, 18,
	20, 21,
};

static const uint64_t values[] = {
	1, 0, 8, 100, 1000, 4096, 10000, 65536, 32768, -1UL, INT32_MAX,
};

static const uint64_t patterns[] = { 0, 0xff, 1, 0x41 };
static const uint64_t ways[] = { 0, 1, 2, 3 };
static const uint64_t users[] = { 65534, 0 };
static const uint64_t waits[] = { 1, 5, 10 };

static void call_sysctl(struct fuzz_run *run, const uint64_t *arg)
{
	fuzz_sysctl_write(arg[0], arg[1]);
}

static bool is_own(struct fuzz_run *run, const char *mem, uint64_t size)
{
	return mem >= run->memory && size <= FUZZ_MEMORY - FUZZ_PAGE &&
	       mem + size <= run->memory + FUZZ_MEMORY - FUZZ_PAGE;
}

static void *page_of(void *mem)
{
	return (void *)((uintptr_t)mem & -FUZZ_PAGE);
}

/* Fill a page by the kernel: another thread may have taken it away. */
static void call_fill(struct fuzz_run *run, const uint64_t *arg)
{
	char *page = page_of(fuzz_mem(run, arg[0]));
	struct iovec from, to;
	char data[FUZZ_PAGE];

	if (!is_own(run, page, FUZZ_PAGE))
		return;
	memset(data, arg[1], sizeof(data));
	from = (struct iovec) { data, sizeof(data) };
	to = (struct iovec) { page, FUZZ_PAGE };
	syscall(SYS_process_vm_writev, getpid(), &to, 1, &from, 1, 0);
}

/* Take a page away from under a registration, or change it. */
static void call_page(struct fuzz_run *run, const uint64_t *arg)
{
	char *page = page_of(fuzz_mem(run, arg[0]));

	if (!is_own(run, page, FUZZ_PAGE))
		return;
	switch (arg[1] % 4) {
	case 0:
		madvise(page, FUZZ_PAGE, MADV_DONTNEED);
		break;
	case 1:
		mprotect(page, FUZZ_PAGE, PROT_READ);
		break;
	case 2:
		mprotect(page, FUZZ_PAGE, PROT_NONE);
		break;
	case 3:
		mmap(page, FUZZ_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED |
		     MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	}
}

/* This thread only: its capabilities go with the user, and come back. */
static void call_user(struct fuzz_run *run, const uint64_t *arg)
{
	syscall(SYS_setresuid, -1, arg[0] ? 65534 : 0, -1);
}

static void call_sleep(struct fuzz_run *run, const uint64_t *arg)
{
	usleep(arg[0] % 20 * 1000);
}

const struct fuzz_kind fuzz_world_kinds[] = {
	{ "sysctl", 2, FUZZ_EFFECT_SYSCTL, false, call_sysctl, {
		{ "which", FUZZ_TABLE(tunables) },
		{ "value", FUZZ_TABLE(values) } } },
	{ "fill", 2, FUZZ_EFFECT_MEMORY, false, call_fill, {
		FUZZ_MEM, { "pattern", FUZZ_TABLE(patterns) } } },
	{ "page", 2, FUZZ_EFFECT_MEMORY, false, call_page, {
		FUZZ_MEM, { "way", FUZZ_TABLE(ways) } } },
	{ "user", 2, 0, false, call_user, {
		{ "id", FUZZ_TABLE(users) } } },
	{ "sleep", 2, 0, false, call_sleep, {
		{ "ms", FUZZ_TABLE(waits) } } },
	{ }
};
