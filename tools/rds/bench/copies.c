// SPDX-License-Identifier: GPL-2.0
/* Two copies without a socket: write to and read from a memfd. */
#include <err.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/copies.h"
#include "bench/payload.h"
#include "bench/worker.h"

static void copy_twice(int fd, void *bytes, size_t size)
{
	if (pwrite(fd, bytes, size, 0) != (ssize_t)size ||
	    pread(fd, bytes, size, 0) != (ssize_t)size)
		err(2, "copy");
}

static bool copies_go_on(const struct params *params,
			 const struct tally *total)
{
	if (params->count)
		return total->measured < params->count;
	return time_now() - total->begin < params->duration * NSEC_PER_SEC;
}

void copies_run(const struct params *params, struct tally *total)
{
	void *bytes = worker_memory(params->size);
	uint64_t i;
	int fd;

	fd = memfd_create("copies", MFD_CLOEXEC);
	if (fd < 0)
		err(2, "memfd");
	payload_noise(bytes, params->size, 0);
	for (i = 0; i < params->warmup; i++)
		copy_twice(fd, bytes, params->size);
	total->begin = time_now();
	for (; copies_go_on(params, total); total->measured++)
		copy_twice(fd, bytes, params->size);
	total->end = time_now();
	total->sent = params->warmup + total->measured;
	total->received = total->sent;
	total->bytes = total->received * params->size;
	close(fd);
}
