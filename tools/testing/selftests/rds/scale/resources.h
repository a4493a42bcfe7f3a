/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the whole machine has spent: to be asked where nothing else runs, such
 * as in a virtual machine with one CPU that counts instructions.
 */
#ifndef SCALE_RESOURCES_H
#define SCALE_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

/* In nanoseconds; all CPUs together have been busy for @busy of @elapsed. */
struct cpu_time {
	int64_t elapsed;
	int64_t busy;
};

void cpu_time_read(struct cpu_time *time);
struct cpu_time cpu_time_since(const struct cpu_time *start);

/*
 * In bytes, with everything that can be given back given back first. All of
 * memory is what is neither free, nor room left in slabs, nor a copy of a file,
 * nor of programs, nor a thread's stack: it has in it objects in slabs and
 * pages that sockets hold.
 */
struct memory {
	int64_t all;
	int64_t slab;
};

void memory_read(struct memory *memory);

#endif
