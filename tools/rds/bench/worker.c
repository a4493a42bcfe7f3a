// SPDX-License-Identifier: GPL-2.0
/* Workers: processes that make blocking calls on one socket each */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench/worker.h"

#define WATCH_NS (NSEC_PER_SEC / 5)

static volatile sig_atomic_t given_up;

int64_t time_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static void give_up(int signal)
{
	(void)signal;
	given_up = 1;
}

void worker_stop(struct worker *worker, const char *what)
{
	if (given_up) {
		worker->tally->timed_out = 1;
	} else {
		worker->tally->failed = 1;
		warn("socket %u: %s", worker->index, what);
	}
	_exit(1);
}

void worker_send_to(struct worker *worker, const void *bytes, size_t size,
		    const union addr *to)
{
	ssize_t ret;

	do {
		ret = sendto(worker->fd, bytes, size, 0, &to->sa,
			     addr_len(to));
	} while (ret < 0 && errno == EINTR && !given_up);
	if (ret != (ssize_t)size)
		worker_stop(worker, "send");
	worker->tally->sent++;
}

void worker_send(struct worker *worker, const void *bytes, size_t size)
{
	ssize_t ret;

	do {
		ret = worker->family->send(worker->fd, bytes, size);
	} while (ret < 0 && errno == EINTR && !given_up);
	if (ret != (ssize_t)size)
		worker_stop(worker, "send");
	worker->tally->sent++;
}

void worker_send_msg(struct worker *worker, const struct msghdr *msg,
		     int flags)
{
	ssize_t ret;

	do {
		ret = sendmsg(worker->fd, msg, flags);
	} while (ret < 0 && errno == EINTR && !given_up);
	if (ret < 0)
		worker_stop(worker, "send");
}

void worker_receive_msg(struct worker *worker, struct msghdr *msg)
{
	ssize_t ret;

	do {
		ret = recvmsg(worker->fd, msg, 0);
	} while (ret < 0 && errno == EINTR && !given_up);
	if (ret < 0)
		worker_stop(worker, "receive");
}

static size_t received(struct worker *worker, ssize_t ret)
{
	if (ret < 0)
		worker_stop(worker, "receive");
	worker->tally->received++;
	worker->tally->bytes += ret;
	return ret;
}

size_t worker_receive(struct worker *worker, void *bytes, size_t size)
{
	ssize_t ret;

	do {
		ret = worker->family->receive(worker->fd, bytes, size);
	} while (ret < 0 && errno == EINTR && !given_up);
	return received(worker, ret);
}

size_t worker_receive_from(struct worker *worker, void *bytes, size_t size,
			   union addr *from)
{
	socklen_t len;
	ssize_t ret;

	do {
		len = sizeof(*from);
		ret = recvfrom(worker->fd, bytes, size, 0, &from->sa, &len);
	} while (ret < 0 && errno == EINTR && !given_up);
	return received(worker, ret);
}

/* Return the length of the end mark. No other message of the run has it. */
static size_t end_size(const struct worker *worker)
{
	return worker->params->size ? 0 : 1;
}

void worker_send_end(struct worker *worker)
{
	worker_send(worker, "", end_size(worker));
	worker->tally->sent--;
}

bool worker_at_end(struct worker *worker, size_t size)
{
	if (size != end_size(worker))
		return false;
	worker->tally->received--;
	worker->tally->bytes -= size;
	return true;
}

uint64_t worker_share(const struct worker *worker, uint64_t nr)
{
	unsigned int sockets = worker->params->sockets;

	return nr / sockets + (worker->index < nr % sockets);
}

bool worker_goes_on(const struct worker *worker, uint64_t done)
{
	const struct params *params = worker->params;

	if (params->count)
		return done < worker_share(worker, params->count);
	return time_now() - worker->tally->begin <
	       params->duration * NSEC_PER_SEC;
}

void worker_time_each(const struct worker *worker, void (*once)(void *data),
		      void *data)
{
	uint64_t warmup = worker_share(worker, worker->params->warmup);
	struct tally *tally = worker->tally;
	int64_t now, before;

	while (warmup--)
		once(data);
	before = time_now();
	tally->begin = before;
	while (worker_goes_on(worker, tally->measured)) {
		once(data);
		now = time_now();
		hist_add(&tally->hist, now - before);
		before = now;
		tally->measured++;
	}
	tally->end = before;
}

void *worker_memory(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		err(2, "out of memory");
	return memory;
}

static struct tally *shared_tallies(unsigned int nr)
{
	void *memory = mmap(NULL, nr * sizeof(struct tally),
			    PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(2, "out of memory");
	return memory;
}

static void become_worker(struct worker *worker, worker_fn fn,
			  const sigset_t *mask)
{
	struct sigaction action = { .sa_handler = give_up };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	fn(worker);
	_exit(0);
}

void workers_start(struct worker *workers, unsigned int nr, worker_fn fn)
{
	struct tally *tallies = shared_tallies(nr);
	sigset_t children, before;
	unsigned int i;

	/*
	 * SIGCHLD stays blocked: workers_wait() takes the signals one by one.
	 */
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &before);
	fflush(NULL);
	for (i = 0; i < nr; i++) {
		workers[i].tally = &tallies[i];
		workers[i].pid = fork();
		if (workers[i].pid < 0)
			err(2, "fork");
		if (!workers[i].pid)
			become_worker(&workers[i], fn, &before);
	}
}

static void sum_up(const struct worker *workers, unsigned int nr,
		   struct tally *total)
{
	unsigned int i;

	memset(total, 0, sizeof(*total));
	for (i = 0; i < nr; i++)
		tally_add(total, workers[i].tally);
}

/* Reap the workers that have ended. Returns how many are still running. */
static unsigned int reap(struct worker *workers, unsigned int nr)
{
	unsigned int i, left = 0;
	int status;

	for (i = 0; i < nr; i++) {
		if (!workers[i].pid)
			continue;
		if (waitpid(workers[i].pid, &status, WNOHANG) !=
		    workers[i].pid) {
			left++;
			continue;
		}
		workers[i].pid = 0;
		if (WIFSIGNALED(status))
			warnx("socket %u: killed by signal %d",
			      workers[i].index, WTERMSIG(status));
		if (status && !workers[i].tally->timed_out)
			workers[i].tally->failed = 1;
	}
	return left;
}

/* A worker may be about to make another call, so the caller repeats this. */
static void interrupt(struct worker *workers, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (workers[i].pid)
			kill(workers[i].pid, SIGALRM);
}

static void wait_for_child(void)
{
	struct timespec tick = { .tv_nsec = WATCH_NS };
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigtimedwait(&children, NULL, &tick);
}

void workers_wait(struct worker *workers, unsigned int nr, struct tally *total,
		  void (*progress)(const struct tally *sum))
{
	int64_t timeout = workers[0].params->timeout * NSEC_PER_SEC;
	int64_t moved_at = time_now(), shown_at = moved_at, now;
	uint64_t moved = 0;

	while (reap(workers, nr)) {
		wait_for_child();
		now = time_now();
		sum_up(workers, nr, total);
		if (total->sent + total->received != moved) {
			moved = total->sent + total->received;
			moved_at = now;
		} else if (now - moved_at > timeout) {
			interrupt(workers, nr);
		}
		if (progress && now - shown_at >= NSEC_PER_SEC) {
			shown_at = now;
			progress(total);
		}
	}
	sum_up(workers, nr, total);
	munmap(workers[0].tally, nr * sizeof(struct tally));
}
