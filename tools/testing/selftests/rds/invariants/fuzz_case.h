/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test case of the fuzzer: a short sequence of calls. It has a text form, one
 * call a line, in which arguments that are 0 are left out:
 *
 *	threads 2
 *	bound fd=1 name=1 port=4001
 *	sendmsg fd=1 name=2 port=4000 size=300 flags=0x40
 *
 * An empty line ends the case, and a line that begins with # is a comment.
 * What a number means depends on the argument: see the kinds of calls.
 */
#ifndef RDS_FUZZ_CASE_H
#define RDS_FUZZ_CASE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FUZZ_CALLS	16
#define FUZZ_ARGS	20
#define FUZZ_THREADS	4

struct fuzz_run;

/* An argument, and the values that are worth a try; the likely ones first */
struct fuzz_arg {
	const char *name;
	const uint64_t *values;
	unsigned int count;
	bool bits;	/* a combination of several values is a value, too */
};

struct fuzz_kind {
	const char *name;
	unsigned int weight;	/* how often random cases contain it */
	unsigned int effects;	/* what to undo after the case */
	bool prepares;	/* at the head of a case, only one thread calls it */
	void (*call)(struct fuzz_run *run, const uint64_t *arg);
	struct fuzz_arg arg[FUZZ_ARGS];
};

/* Effects of calls that outlive the sockets of a case */
#define FUZZ_EFFECT_MEMORY	1
#define FUZZ_EFFECT_SYSCTL	2

struct fuzz_call {
	const struct fuzz_kind *kind;
	uint64_t arg[FUZZ_ARGS];
};

struct fuzz_case {
	unsigned int threads;
	unsigned int count;
	struct fuzz_call call[FUZZ_CALLS];
};

/* All kinds, ended by one without a name */
extern const struct fuzz_kind fuzz_socket_kinds[];
extern const struct fuzz_kind fuzz_message_kinds[];
extern const struct fuzz_kind fuzz_option_kinds[];
extern const struct fuzz_kind fuzz_world_kinds[];

/* Pseudo-random numbers: xorshift64*, small and the same everywhere */
struct fuzz_random {
	uint64_t state;
};

uint32_t fuzz_random(struct fuzz_random *random);
uint32_t fuzz_below(struct fuzz_random *random, uint32_t limit);

/* Make a case, or change one. @other is a case to take calls from. */
void fuzz_generate(struct fuzz_case *c, struct fuzz_random *random);
void fuzz_mutate(struct fuzz_case *c, const struct fuzz_case *other,
		 struct fuzz_random *random);
void fuzz_delete_call(struct fuzz_case *c, unsigned int index);

/* Read the next case. Returns 0, 1 at the end, or -1 if it is malformed. */
int fuzz_read(FILE *file, struct fuzz_case *c);
void fuzz_write(FILE *file, const struct fuzz_case *c);

/* The values of an argument */
#define FUZZ_TABLE(values)	values, sizeof(values) / sizeof((values)[0])

/* Tables that several kinds use */
extern const uint64_t fuzz_fds[8];
extern const uint64_t fuzz_names[24];
extern const uint64_t fuzz_ports[12];
extern const uint64_t fuzz_namelens[10];
extern const uint64_t fuzz_places[16];
extern const uint64_t fuzz_sizes[24];
extern const uint64_t fuzz_bools[2];
extern const uint64_t fuzz_rdma_flags[8];
extern const uint64_t fuzz_cookies[8];

#define FUZZ_FD		{ "fd", FUZZ_TABLE(fuzz_fds) }
#define FUZZ_NAME	{ "name", FUZZ_TABLE(fuzz_names) }
#define FUZZ_PORT	{ "port", FUZZ_TABLE(fuzz_ports) }
#define FUZZ_NAMELEN	{ "namelen", FUZZ_TABLE(fuzz_namelens) }
#define FUZZ_MEM	{ "mem", FUZZ_TABLE(fuzz_places) }
#define FUZZ_SIZE	{ "size", FUZZ_TABLE(fuzz_sizes) }
#define FUZZ_COOKIE	{ "cookie", FUZZ_TABLE(fuzz_cookies) }
#define FUZZ_RDMA_FLAGS	{ "rflags", FUZZ_TABLE(fuzz_rdma_flags), true }

#endif /* RDS_FUZZ_CASE_H */
