/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Make each allocation, and each access to user memory, of a call fail once:
 * the call is made again and again, and each time one more of them succeeds
 * before one fails, until none fails.
 */
#ifndef RDS_SWEEP_H
#define RDS_SWEEP_H

#include "faults.h"

#include <sys/mman.h>

#define MANY 1000000000L

static int nth;		/* /proc/thread-self/fail-nth */

static inline bool faults_setup(void)
{
	bool ok = faults_allow();

	setvbuf(stdout, NULL, _IOLBF, 0);
	nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return ok && nth >= 0 && !mlockall(MCL_CURRENT);
}

static inline void faults_arm(long count)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", count);
	if (write(nth, text, strlen(text)) < 0)
		abort();
}

/* Return how many were left; 0 if one has failed. These calls may fail as well.
 */
static inline long faults_disarm(void)
{
	char text[24] = "";
	long left = 1;

	if (pread(nth, text, sizeof(text) - 1, 0) > 0)
		left = atol(text);
	while (write(nth, "0", 1) < 0)
		;
	return left;
}

/* A call that fails, with its preparation and the check of its outcome */
struct scene;

struct faulty_call {
	void (*prepare)(struct scene *scene);
	long (*run)(struct scene *scene);
	bool (*verify)(struct scene *scene, long ret);
};

struct scene {
	int a;
	int b;
	int fd;
	struct rds_name b_name;
	struct rds_name name;
	size_t len;
	uint64_t cookie;
	int option;
	unsigned int number;
	unsigned long failures;
	uint64_t own;		/* cookie of a region of socket a */
};

/* Check for one of the few errnos that describe what is wrong. */
static inline bool is_plain(long ret)
{
	return ret == -ENOMEM || ret == -EFAULT || ret == -ENOBUFS ||
	       ret == -ENFILE;
}

/* Repeat until the call succeeds without a failure; return false after a wrong
 * outcome.
 */
static inline bool sweep(struct scene *scene, const struct faulty_call *call,
			 long first)
{
	long count, left, ret;

	for (count = first; ; count++) {
		if (call->prepare)
			call->prepare(scene);
		faults_arm(count);
		ret = call->run(scene);
		left = faults_disarm();
		if (!left)
			scene->failures++;
		if (ret < 0 && (left || !is_plain(ret))) {
			printf("# failure %ld: errno %ld\n", count, -ret);
			return false;
		}
		if (call->verify && !call->verify(scene, ret)) {
			printf("# failure %ld: returned %ld, but\n", count,
			       ret);
			return false;
		}
		if (left)
			return true;
	}
}

#endif /* RDS_SWEEP_H */
