/* SPDX-License-Identifier: GPL-2.0 */
/* How a case of the fuzzer is run: its sockets, its memory, its threads */
#ifndef RDS_FUZZ_RUN_H
#define RDS_FUZZ_RUN_H

#include <semaphore.h>

#include "fuzz_case.h"
#include "fuzz_cover.h"
#include "fuzz_scene.h"
#include "rds_test.h"

#define FUZZ_SOCKETS	8
#define FUZZ_COOKIES	4
#define FUZZ_PAGE	4096UL
#define FUZZ_MEMORY	(64 * FUZZ_PAGE)

struct fuzz_worker {
	struct fuzz_run *run;
	unsigned int index;
	struct fuzz_trace trace;
	pthread_t thread;
	sem_t start;
	sem_t done;
	atomic_bool busy;
	atomic_ulong calls;
	unsigned long seen;	/* calls at the last look */
	unsigned int looks;	/* how often they were the same */
};

struct fuzz_run {
	unsigned int lane;
	const struct fuzz_case *current;
	unsigned int prepared;	/* calls that only the first thread makes */
	atomic_int socket[FUZZ_SOCKETS];
	atomic_ullong cookie[FUZZ_COOKIES];
	char *memory;		/* the last page cannot be accessed */
	atomic_bool stop;
	unsigned long cases;
	/* The first is the thread that runs the cases. */
	struct fuzz_worker worker[FUZZ_THREADS];
};

bool fuzz_run_init(struct fuzz_run *run, unsigned int lane);
/* In the thread that runs cases: start its helpers, and stop them. */
void fuzz_run_begin(struct fuzz_run *run);
void fuzz_run_end(struct fuzz_run *run);
/* Run a case. What it reached is in the traces of the workers. */
void fuzz_run_case(struct fuzz_run *run, const struct fuzz_case *c);
/* Add what the last case reached. Returns the number of new places. */
unsigned int fuzz_run_reached(struct fuzz_run *run, struct fuzz_places *places);
unsigned long fuzz_run_calls(struct fuzz_run *run);
/*
 * To be called by another thread, every FUZZ_LOOK_MS: interrupt calls that
 * sleep. Returns false if one has not ended for very long.
 */
bool fuzz_run_look(struct fuzz_run *run);

#define FUZZ_LOOK_MS	10

/* For the calls: what their arguments stand for */
int fuzz_fd(struct fuzz_run *run, uint64_t arg);
/* Put a socket into a slot; what was there is closed. */
void fuzz_put(struct fuzz_run *run, uint64_t arg, int fd);
/* Addresses below FUZZ_MEMORY are in the memory of the run. */
void *fuzz_mem(struct fuzz_run *run, uint64_t arg);
uint64_t fuzz_cookie(struct fuzz_run *run, uint64_t arg);

#endif /* RDS_FUZZ_RUN_H */
