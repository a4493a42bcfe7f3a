/* SPDX-License-Identifier: GPL-2.0 */
/* Raw system calls for asynchronous requests, one at a time */
#ifndef RDS_RING_H
#define RDS_RING_H

#include "rds_test.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <linux/io_uring.h>

#define RING_ENTRIES 4

struct ring {
	int fd;
	unsigned int *sq_tail;
	unsigned int *sq_mask;
	unsigned int *sq_array;
	unsigned int *cq_head;
	unsigned int *cq_tail;
	unsigned int *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static inline void *ring_map(int fd, size_t size, off_t offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, fd, offset);
}

static inline int ring_setup(struct ring *ring)
{
	struct io_uring_params p = {};
	char *sq, *cq;

	ring->fd = syscall(SYS_io_uring_setup, RING_ENTRIES, &p);
	if (ring->fd < 0)
		return -errno;
	sq = ring_map(ring->fd, p.sq_off.array + p.sq_entries * 4,
		      IORING_OFF_SQ_RING);
	cq = ring_map(ring->fd,
		      p.cq_off.cqes + p.cq_entries * sizeof(*ring->cqes),
		      IORING_OFF_CQ_RING);
	ring->sqes = ring_map(ring->fd, p.sq_entries * sizeof(*ring->sqes),
			      IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring->sqes == MAP_FAILED)
		return -ENOMEM;
	ring->sq_tail = (void *)(sq + p.sq_off.tail);
	ring->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	ring->sq_array = (void *)(sq + p.sq_off.array);
	ring->cq_head = (void *)(cq + p.cq_off.head);
	ring->cq_tail = (void *)(cq + p.cq_off.tail);
	ring->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	ring->cqes = (void *)(cq + p.cq_off.cqes);
	return 0;
}

/* Returns 1, or a negative errno. */
static inline int ring_submit(struct ring *ring, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *ring->sq_tail;
	unsigned int slot = tail & *ring->sq_mask;

	ring->sqes[slot] = *sqe;
	ring->sq_array[slot] = slot;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	return ERR(syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0));
}

/*
 * Wait for the outstanding completion, and return its result. Any further
 * completions that are there by then are dropped.
 */
static inline int ring_wait(struct ring *ring)
{
	unsigned int head = *ring->cq_head;
	int ret;

	ret = ERR(syscall(SYS_io_uring_enter, ring->fd, 0, 1,
			  IORING_ENTER_GETEVENTS, NULL, 0));
	if (ret < 0)
		return ret;
	ret = ring->cqes[head & *ring->cq_mask].res;
	__atomic_store_n(ring->cq_head,
			 __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	return ret;
}

static inline int ring_run(struct ring *ring, const struct io_uring_sqe *sqe)
{
	int ret = ring_submit(ring, sqe);

	return ret == 1 ? ring_wait(ring) : ret < 0 ? ret : -EIO;
}

#endif /* RDS_RING_H */
