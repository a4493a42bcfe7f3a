// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faulty.h"

/* The status with which the harness reports that a test was skipped */
#define SKIPPED 255

struct faulty_run *faulty_run;
static pid_t parent;

static bool set(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static long places_left(void)
{
	char text[24] = "";
	int fd;

	fd = open("/proc/thread-self/fail-nth", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;	/* This was the place that failed. */
	return atol(text);
}

/* A page that the child writes to for the first time is copied. These copies
 * shall not count as places.
 */
static void begin(void)
{
	char text[24];

	if (!faulty_run->place || faulty_run->begun || getppid() != parent)
		return;
	faulty_run->begun = true;
	if (!mlockall(MCL_CURRENT))
		munlockall();
	snprintf(text, sizeof(text), "%ld", faulty_run->place);
	if (!set("/proc/thread-self/fail-nth", text))
		abort();
}

bool faulty_set_up(void)
{
	static const char *const settings[] = {
		"failslab/ignore-gfp-wait", "N",
		"failslab/verbose", "0",
		"fail_page_alloc/ignore-gfp-wait", "N",
		"fail_page_alloc/ignore-gfp-highmem", "N",
		"fail_page_alloc/min-order", "0",
		"fail_page_alloc/verbose", "0",
		"fail_usercopy/verbose", "0",
		NULL
	};
	char file[64];
	unsigned int i;

	for (i = 0; settings[i]; i += 2) {
		snprintf(file, sizeof(file), "/sys/kernel/debug/%s",
			 settings[i]);
		if (!set(file, settings[i + 1])) {
			perror(file);
			return false;
		}
	}
	parent = getpid();
	faulty_run = mmap(NULL, sizeof(*faulty_run), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return faulty_run != MAP_FAILED && !pthread_atfork(NULL, NULL, begin);
}

void faulty_arm(long place)
{
	*faulty_run = (struct faulty_run){ .place = place };
}

void faulty_disarm(void)
{
	faulty_run->place = 0;
}

/* In place of that of the C library: the harness ends each test with it. */
void _exit(int status)
{
	if (faulty_run && faulty_run->place && getppid() == parent) {
		faulty_run->ended = true;
		faulty_run->left = places_left();
		faulty_run->passed = !status;
		faulty_run->skipped = status == SKIPPED;
	}
	for (;;)
		syscall(SYS_exit_group, status);
}
