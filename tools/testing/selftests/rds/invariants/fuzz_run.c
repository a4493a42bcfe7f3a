// SPDX-License-Identifier: GPL-2.0
/*
 * The run of a case, of fuzz_run.h. The calls at its head that prepare sockets
 * are made once. The others are made by each thread, which begins with a call
 * of its own. Sockets are closed when the case ends.
 */
#define _GNU_SOURCE

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz_run.h"

/* A call that has not ended for so long hangs, even in a debug kernel. */
#define HANG_MS		60000
/* One that has not ended for so long, which is long for others, is woken. */
#define SLEEP_MS	200

/* Addresses that are no memory of the program */
static const uint64_t wild[] = {
	0x7ffffffff000, 0x8000000000000000, 0xffff888000000000,
	0xffffffff81000000, -1UL, -FUZZ_PAGE,
};

int fuzz_fd(struct fuzz_run *run, uint64_t arg)
{
	return run->socket[arg % FUZZ_SOCKETS];
}

void fuzz_put(struct fuzz_run *run, uint64_t arg, int fd)
{
	int old = atomic_exchange(&run->socket[arg % FUZZ_SOCKETS], fd);

	if (old >= 0)
		close(old);
}

void *fuzz_mem(struct fuzz_run *run, uint64_t arg)
{
	unsigned int i;

	for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
		if (arg == wild[i])
			return (void *)arg;
	return run->memory + arg % FUZZ_MEMORY;
}

uint64_t fuzz_cookie(struct fuzz_run *run, uint64_t arg)
{
	return arg < FUZZ_COOKIES ? run->cookie[arg] : arg;
}

static bool map_memory(struct fuzz_run *run)
{
	void *memory = mmap(run->memory, FUZZ_MEMORY, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS |
			    (run->memory ? MAP_FIXED : 0), -1, 0);

	if (memory == MAP_FAILED)
		return false;
	run->memory = memory;
	return !mprotect(run->memory + FUZZ_MEMORY - FUZZ_PAGE, FUZZ_PAGE,
			 PROT_NONE);
}

static void call(struct fuzz_worker *worker, unsigned int index)
{
	const struct fuzz_call *call = &worker->run->current->call[index];

	call->kind->call(worker->run, call->arg);
	worker->calls++;
}

/* The thread may have changed its user. It can always become root again. */
static void become_root(void)
{
	syscall(SYS_setresuid, -1, 0, -1);
}

static void make_calls(struct fuzz_worker *worker)
{
	unsigned int first = worker->run->prepared;
	unsigned int count = worker->run->current->count - first;
	unsigned int i, from;

	from = worker->index * count / worker->run->current->threads;
	for (i = 0; i < count; i++)
		call(worker, first + (from + i) % count);
	become_root();
}

static void *help(void *data)
{
	struct fuzz_worker *worker = data;

	fuzz_lane = worker->run->lane;
	fuzz_trace_open(&worker->trace);
	for (;;) {
		while (sem_wait(&worker->start))
			;
		if (worker->run->stop)
			break;
		worker->busy = true;
		make_calls(worker);
		worker->busy = false;
		sem_post(&worker->done);
	}
	fuzz_trace_close(&worker->trace);
	return NULL;
}

bool fuzz_run_init(struct fuzz_run *run, unsigned int lane)
{
	unsigned int i;

	memset(run, 0, sizeof(*run));
	run->lane = lane;
	for (i = 0; i < FUZZ_SOCKETS; i++)
		run->socket[i] = -1;
	for (i = 0; i < FUZZ_THREADS; i++) {
		run->worker[i].run = run;
		run->worker[i].index = i;
		run->worker[i].trace.fd = -1;
		sem_init(&run->worker[i].start, 0, 0);
		sem_init(&run->worker[i].done, 0, 0);
	}
	return map_memory(run);
}

void fuzz_run_begin(struct fuzz_run *run)
{
	unsigned int i;

	fuzz_lane = run->lane;
	run->worker[0].thread = pthread_self();
	fuzz_trace_open(&run->worker[0].trace);
	for (i = 1; i < FUZZ_THREADS; i++)
		if (pthread_create(&run->worker[i].thread, NULL, help,
				   &run->worker[i]))
			abort();
}

void fuzz_run_end(struct fuzz_run *run)
{
	unsigned int i;

	run->stop = true;
	for (i = 1; i < FUZZ_THREADS; i++) {
		sem_post(&run->worker[i].start);
		pthread_join(run->worker[i].thread, NULL);
	}
	fuzz_trace_close(&run->worker[0].trace);
}

/* Undo what outlives the sockets. */
static void clean_up(struct fuzz_run *run)
{
	unsigned int effects = 0, i;

	for (i = 0; i < FUZZ_SOCKETS; i++)
		fuzz_put(run, i, -1);
	for (i = 0; i < FUZZ_COOKIES; i++)
		run->cookie[i] = 0;
	for (i = 0; i < run->current->count; i++)
		effects |= run->current->call[i].kind->effects;
	if (effects & FUZZ_EFFECT_MEMORY)
		map_memory(run);
	if (effects & FUZZ_EFFECT_SYSCTL)
		fuzz_sysctl_restore();
}

void fuzz_run_case(struct fuzz_run *run, const struct fuzz_case *c)
{
	struct fuzz_worker *worker = run->worker;
	unsigned int i;

	run->current = c;
	worker->busy = true;
	for (i = 0; i < FUZZ_THREADS; i++)
		fuzz_trace_clear(&worker[i].trace);
	run->prepared = 0;
	while (run->prepared < c->count &&
	       c->call[run->prepared].kind->prepares)
		call(worker, run->prepared++);
	for (i = 1; i < c->threads; i++)
		sem_post(&worker[i].start);
	if (run->prepared < c->count)
		make_calls(worker);
	/* To wait for helpers is no call that hangs. */
	worker->busy = false;
	for (i = 1; i < c->threads; i++)
		while (sem_wait(&worker[i].done))
			;
	worker->busy = true;
	clean_up(run);
	worker->busy = false;
	run->cases++;
}

unsigned int fuzz_run_reached(struct fuzz_run *run, struct fuzz_places *places)
{
	unsigned int new = 0, i;

	for (i = 0; i < run->current->threads; i++)
		new += fuzz_places_add(places, &run->worker[i].trace);
	return new;
}

unsigned long fuzz_run_calls(struct fuzz_run *run)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < FUZZ_THREADS; i++)
		sum += run->worker[i].calls;
	return sum;
}

bool fuzz_run_look(struct fuzz_run *run)
{
	bool fine = true;
	unsigned int i;

	for (i = 0; i < FUZZ_THREADS; i++) {
		struct fuzz_worker *worker = &run->worker[i];

		if (!worker->busy || worker->seen != worker->calls) {
			worker->seen = worker->calls;
			worker->looks = 0;
			continue;
		}
		if (++worker->looks * FUZZ_LOOK_MS > SLEEP_MS)
			pthread_kill(worker->thread, SIGUSR1);
		if (worker->looks * FUZZ_LOOK_MS > HANG_MS)
			fine = false;
	}
	return fine;
}
