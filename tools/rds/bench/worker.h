/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workers are processes that make blocking calls on one socket each. They count
 * in memory that they share with their parent. The parent watches the counts,
 * and interrupts the workers when they make no more progress.
 */
#ifndef RDS_BENCH_WORKER_H
#define RDS_BENCH_WORKER_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "addr.h"
#include "bench/link.h"
#include "bench/params.h"
#include "bench/tally.h"

#define NSEC_PER_SEC 1000000000LL

enum side {
	SIDE_CLIENT,
	SIDE_SERVER,
};

struct worker {
	const struct params	*params;
	enum side		side;
	unsigned int		index;
	int			fd;
	const struct link_family *family;	/* of that socket */
	const union addr	*peers;	/* the other side's, if any_to_any */
	struct tally		*tally;
	pid_t			pid;
};

typedef void (*worker_fn)(struct worker *worker);

/* Start @nr workers, and allocate their tallies. */
void workers_start(struct worker *workers, unsigned int nr, worker_fn fn);

/*
 * Wait until all workers have ended, and add up their tallies in @total.
 * @progress, unless NULL, is called about once a second with the sum so far.
 */
void workers_wait(struct worker *workers, unsigned int nr, struct tally *total,
		  void (*progress)(const struct tally *sum));

/* For use by the workers. These functions do not return on failure. */
void worker_send(struct worker *worker, const void *bytes, size_t size);
void worker_send_to(struct worker *worker, const void *bytes, size_t size,
		    const union addr *to);
size_t worker_receive(struct worker *worker, void *bytes, size_t size);
size_t worker_receive_from(struct worker *worker, void *bytes, size_t size,
			   union addr *from);
/* Like sendmsg() and recvmsg(). These messages are not counted. */
void worker_send_msg(struct worker *worker, const struct msghdr *msg,
		     int flags);
void worker_receive_msg(struct worker *worker, struct msghdr *msg);
void *worker_memory(size_t size);
/* End the worker: the call named by @what did not return what it should. */
void worker_stop(struct worker *worker, const char *what)
	__attribute__((noreturn));

/* Send the end mark of a socket, and check whether a message is that mark. */
void worker_send_end(struct worker *worker);
bool worker_at_end(struct worker *worker, size_t size);

/* Return this socket's share of @nr messages. */
uint64_t worker_share(const struct worker *worker, uint64_t nr);

/* Check whether there is more to do after @done messages since tally->begin. */
bool worker_goes_on(const struct worker *worker, uint64_t done);

/*
 * Call @once for each message of this socket's share: first for the warm-up,
 * and then timed, from one call to the next.
 */
void worker_time_each(const struct worker *worker, void (*once)(void *data),
		      void *data);

int64_t time_now(void);

#endif
