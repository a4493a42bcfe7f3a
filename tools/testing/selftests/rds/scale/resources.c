// SPDX-License-Identifier: GPL-2.0
/* The CPU time and memory that the whole machine has used */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "resources.h"

#define SEC 1000000000LL

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

static FILE *open_file(const char *path, const char *mode)
{
	FILE *file = fopen(path, mode);

	if (!file)
		die(path);
	return file;
}

/* Return the idle time of all CPUs; get their number. */
static int64_t idle_time(int *cpus)
{
	unsigned long long idle, iowait, total = 0;
	char line[512];
	FILE *file;

	file = open_file("/proc/stat", "r");
	*cpus = 0;
	while (fgets(line, sizeof(line), file)) {
		/* The first line is the sum of the others. */
		if (!strncmp(line, "cpu ", 4) ||
		    sscanf(line, "cpu%*u %*u %*u %*u %llu %llu", &idle,
			   &iowait) != 2)
			continue;
		total += idle + iowait;
		(*cpus)++;
	}
	fclose(file);
	return total * (SEC / sysconf(_SC_CLK_TCK));
}

void cpu_time_read(struct cpu_time *time)
{
	struct timespec ts;
	int cpus;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	time->elapsed = ts.tv_sec * SEC + ts.tv_nsec;
	time->busy = -idle_time(&cpus);
	time->busy += time->elapsed * cpus;
}

struct cpu_time cpu_time_since(const struct cpu_time *start)
{
	struct cpu_time end;

	cpu_time_read(&end);
	return (struct cpu_time) {
		.elapsed = end.elapsed - start->elapsed,
		.busy = end.busy - start->busy,
	};
}

static void write_to(const char *path)
{
	FILE *file = open_file(path, "w");

	if (fputs("1", file) < 0 || fclose(file))
		die(path);
}

static void shrink_slab(void)
{
	glob_t found;
	size_t i;

	if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &found))
		die("/sys/kernel/slab");
	for (i = 0; i < found.gl_pathc; i++)
		write_to(found.gl_pathv[i]);
	globfree(&found);
}

/* Return the free pages on the lists of CPUs, which are not counted as free
 * elsewhere.
 */
static int64_t listed_free(void)
{
	int64_t pages = 0;
	char line[128];
	FILE *file;
	int count;

	file = open_file("/proc/zoneinfo", "r");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %d", &count) == 1)
			pages += count;
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

/* A cache whose objects can be reclaimed does not count anyway. */
static bool is_reclaimable(const char *cache)
{
	char path[128];
	bool is;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/reclaim_account",
		 cache);
	file = open_file(path, "r");
	is = fgetc(file) == '1';
	fclose(file);
	return is;
}

/* Return the room for more objects in partial slabs. It depends on how many
 * objects there were at one time, and in which order they were freed.
 */
static int64_t slab_room(void)
{
	unsigned int active, all, per_slab, pages;
	int64_t room = 0;
	char line[256];
	char cache[64];
	FILE *file;

	file = open_file("/proc/slabinfo", "r");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %u %u %*u %u %u", cache, &active, &all,
			   &per_slab, &pages) != 5 || is_reclaimable(cache))
			continue;
		room += (int64_t)(all - active) * pages *
			sysconf(_SC_PAGESIZE) / per_slab;
	}
	fclose(file);
	return room;
}

static int64_t value_of(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(line, name, len) || line[len] != ':')
		return 0;
	return atoll(line + len + 1) * 1024;
}

/*
 * The memory of programs is not counted, nor are the stacks of threads: how
 * many threads a workqueue starts depends on how many CPUs are idle at that
 * moment.
 */
void memory_read(struct memory *memory)
{
	char line[128];
	int64_t room;
	FILE *file;

	shrink_slab();
	room = slab_room();
	memory->all = -listed_free() - room;
	memory->slab = -room;
	file = open_file("/proc/meminfo", "r");
	while (fgets(line, sizeof(line), file)) {
		memory->all += value_of(line, "MemTotal") -
			       value_of(line, "MemFree") -
			       value_of(line, "Buffers") -
			       value_of(line, "Cached") -
			       value_of(line, "AnonPages") -
			       value_of(line, "PageTables") -
			       value_of(line, "KernelStack") -
			       value_of(line, "SReclaimable");
		memory->slab += value_of(line, "SUnreclaim");
	}
	fclose(file);
}
