/* SPDX-License-Identifier: GPL-2.0 */
/* The cases of the fuzzer that are worth keeping, and their files */
#ifndef RDS_FUZZ_CORPUS_H
#define RDS_FUZZ_CORPUS_H

#include "fuzz_run.h"

#define FUZZ_CORPUS_MAX	4096

struct fuzz_corpus {
	unsigned int count;
	struct fuzz_case kept[FUZZ_CORPUS_MAX];
};

/* Add a case. If there is no room, a random one makes way. */
void fuzz_corpus_add(struct fuzz_corpus *corpus, const struct fuzz_case *c,
		     struct fuzz_random *random);
/* Read the cases of a file, or of all files of a directory. */
bool fuzz_corpus_load(struct fuzz_corpus *corpus, const char *path);
bool fuzz_corpus_append(const char *path, const struct fuzz_case *c);

/* Remove calls as long as what the case reaches, or reports, stays. */
void fuzz_minimize(struct fuzz_run *run, struct fuzz_case *c);
/*
 * Write the cases that reach something more than those before, the last case
 * first; until @end_ms, without calls that do not contribute.
 */
void fuzz_distill(struct fuzz_run *run, const struct fuzz_corpus *corpus,
		  FILE *to, long end_ms);

#endif /* RDS_FUZZ_CORPUS_H */
