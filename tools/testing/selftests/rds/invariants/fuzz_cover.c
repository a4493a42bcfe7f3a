// SPDX-License-Identifier: GPL-2.0
/* Coverage of fuzz_cover.h */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>
#include <linux/kcov.h>

#include "fuzz_cover.h"

#define KCOV		"/sys/kernel/debug/kcov"
#define ENTRIES		(1UL << 17)
#define AREA		(ENTRIES * sizeof(uint64_t))
#define SLOTS		(1U << 17)

static int open_kcov(void)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);

	if (fd < 0 && !mount("debugfs", "/sys/kernel/debug", "debugfs", 0, ""))
		fd = open(KCOV, O_RDWR | O_CLOEXEC);
	return fd;
}

void fuzz_trace_open(struct fuzz_trace *trace)
{
	void *area;

	trace->area = NULL;
	trace->fd = open_kcov();
	if (trace->fd < 0)
		return;
	area = MAP_FAILED;
	if (!ioctl(trace->fd, KCOV_INIT_TRACE, ENTRIES))
		area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED,
			    trace->fd, 0);
	if (area == MAP_FAILED)
		return;
	if (ioctl(trace->fd, KCOV_ENABLE, KCOV_TRACE_PC))
		munmap(area, AREA);
	else
		trace->area = area;
}

void fuzz_trace_close(struct fuzz_trace *trace)
{
	if (trace->area) {
		ioctl(trace->fd, KCOV_DISABLE, 0);
		munmap(trace->area, AREA);
		trace->area = NULL;
	}
	if (trace->fd >= 0)
		close(trace->fd);
}

void fuzz_trace_clear(struct fuzz_trace *trace)
{
	if (trace->area)
		__atomic_store_n(&trace->area[0], 0, __ATOMIC_RELAXED);
}

bool fuzz_places_init(struct fuzz_places *places)
{
	places->slot = calloc(SLOTS, sizeof(*places->slot));
	places->count = 0;
	return places->slot;
}

void fuzz_places_free(struct fuzz_places *places)
{
	free(places->slot);
}

void fuzz_places_clear(struct fuzz_places *places)
{
	memset(places->slot, 0, SLOTS * sizeof(*places->slot));
	places->count = 0;
}

/* Find a place, or the empty slot for it. */
static uint64_t *find(const struct fuzz_places *places, uint64_t pc)
{
	unsigned int i = (pc * 0x9e3779b97f4a7c15ULL) >> 47;

	while (places->slot[i] && places->slot[i] != pc)
		i = (i + 1) % SLOTS;
	return &places->slot[i];
}

static bool add(struct fuzz_places *places, uint64_t pc)
{
	uint64_t *slot = find(places, pc);

	if (*slot || places->count >= SLOTS / 2)
		return false;
	*slot = pc;
	places->count++;
	return true;
}

unsigned int fuzz_places_add(struct fuzz_places *places,
			     const struct fuzz_trace *trace)
{
	unsigned int new = 0;
	uint64_t i, count;

	if (!trace->area)
		return 0;
	count = __atomic_load_n(&trace->area[0], __ATOMIC_RELAXED);
	for (i = 1; i <= count && i < ENTRIES; i++)
		new += trace->area[i] && add(places, trace->area[i]);
	return new;
}

bool fuzz_places_include(const struct fuzz_places *places,
			 const struct fuzz_places *part)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		if (part->slot[i] && !*find(places, part->slot[i]))
			return false;
	return true;
}

void fuzz_places_join(struct fuzz_places *places,
		      const struct fuzz_places *more,
		      const struct fuzz_places *except)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		if (more->slot[i] && !(except && *find(except, more->slot[i])))
			add(places, more->slot[i]);
}

void fuzz_places_keep(struct fuzz_places *places,
		      const struct fuzz_places *other)
{
	struct fuzz_places kept;
	unsigned int i;

	if (!fuzz_places_init(&kept))
		return;
	for (i = 0; i < SLOTS; i++)
		if (places->slot[i] && *find(other, places->slot[i]))
			add(&kept, places->slot[i]);
	free(places->slot);
	*places = kept;
}
