/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the whole machine has used. This makes sense where nothing else runs,
 * such as in a virtual machine with one CPU that counts instructions.
 */
#ifndef SCALE_RESOURCES_H
#define SCALE_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

/* In nanoseconds; all CPUs together were busy for @busy of @elapsed. */
struct cpu_time {
	int64_t elapsed;
	int64_t busy;
};

void cpu_time_read(struct cpu_time *time);
struct cpu_time cpu_time_since(const struct cpu_time *start);

/*
 * In bytes, after everything that can be given back was given back. @all is the
 * memory that is neither free, nor room in slabs, nor a copy of a file, nor of
 * programs, nor a thread's stack. It includes objects in slabs and pages that
 * sockets hold.
 */
struct memory {
	int64_t all;
	int64_t slab;
};

void memory_read(struct memory *memory);

#endif
