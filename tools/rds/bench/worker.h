/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workers: processes that make blocking calls on one socket each and count
 * what happens in memory that they share with their parent. The parent
 * watches them, and interrupts them when nothing moves any more.
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
	const union addr	*peers;	/* of all sockets over there, or NULL */
	struct tally		*tally;
	pid_t			pid;
};

typedef void (*worker_fn)(struct worker *worker);

/* Start @nr workers, whose tallies are made here. */
void workers_start(struct worker *workers, unsigned int nr, worker_fn fn);

/*
 * Wait until all have ended and sum up into @total. @progress, unless NULL,
 * is called about once a second with the sum so far.
 */
void workers_wait(struct worker *workers, unsigned int nr, struct tally *total,
		  void (*progress)(const struct tally *sum));

/* For the workers themselves. These do not return if they cannot go on. */
void worker_send(struct worker *worker, const void *bytes, size_t size);
void worker_send_to(struct worker *worker, const void *bytes, size_t size,
		    const union addr *to);
size_t worker_receive(struct worker *worker, void *bytes, size_t size);
size_t worker_receive_from(struct worker *worker, void *bytes, size_t size,
			   union addr *from);
/* As sendmsg() and recvmsg(); not counted. */
void worker_send_msg(struct worker *worker, const struct msghdr *msg,
		     int flags);
void worker_receive_msg(struct worker *worker, struct msghdr *msg);
void *worker_memory(size_t size);
/* Whatever a call returned, it was not what the worker needs. */
void worker_stop(struct worker *worker, const char *what)
	__attribute__((noreturn));

/* The last message of a socket; the receiver asks whether it was that. */
void worker_send_end(struct worker *worker);
bool worker_at_end(struct worker *worker, size_t size);

/* This socket's part of @nr messages */
uint64_t worker_share(const struct worker *worker, uint64_t nr);

/* With @done messages since tally->begin: is there more to do? */
bool worker_goes_on(const struct worker *worker, uint64_t done);

/*
 * Do something once for each message of this socket's part: first to warm up,
 * then timed, from one to the next.
 */
void worker_time_each(const struct worker *worker, void (*once)(void *data),
		      void *data);

int64_t time_now(void);

#endif
