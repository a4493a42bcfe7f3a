/* SPDX-License-Identifier: GPL-2.0 */
/* Make the kernel fail by the settings in debugfs and /proc. */
#ifndef RDS_FAULTS_H
#define RDS_FAULTS_H

#include "loop.h"

#include <dirent.h>
#include <fcntl.h>

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

#define FAULT(file) "/sys/kernel/debug/" file

/* Let allocations that may sleep fail too; none of the failures is logged. */
static inline bool faults_allow(void)
{
	return write_file(FAULT("failslab/ignore-gfp-wait"), "N") &&
	       write_file(FAULT("failslab/verbose"), "0") &&
	       write_file(FAULT("fail_page_alloc/ignore-gfp-wait"), "N") &&
	       write_file(FAULT("fail_page_alloc/ignore-gfp-highmem"), "N") &&
	       write_file(FAULT("fail_page_alloc/min-order"), "0") &&
	       write_file(FAULT("fail_page_alloc/verbose"), "0") &&
	       write_file(FAULT("fail_usercopy/verbose"), "0");
}

/* Mark the kernel threads that run work items, and the one that creates more of
 * them; RDS makes half of a connection there.
 */
static inline bool mark_workers(const char *mark)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300], comm[32];
	unsigned int marked = 0;
	FILE *file;

	while (proc && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (!fgets(comm, sizeof(comm), file))
			comm[0] = '\0';
		fclose(file);
		if (strncmp(comm, "kworker/", 8) && strcmp(comm, "kthreadd\n"))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/make-it-fail",
			 entry->d_name);
		marked += write_file(path, mark);
	}
	if (proc)
		closedir(proc);
	return marked > 0;
}

/* The result of a function of RDS that is made to fail: -ENOMEM; or, if it
 * returns a pointer, "0" instead.
 */
#define NO_MEMORY "0xfffffffffffffff4"

/* How often a function fails in most tests */
#define TIMES 4

struct step {
	const char *function;
	const char *retval;
	const char *interval;	/* one of so many calls fails */
};

/* Return how many more times it may fail; -1 is an error. */
static inline long times_left(void)
{
	FILE *file = fopen(FAULT("fail_function/times"), "r");
	long left = -1;

	if (file && fscanf(file, "%ld", &left) != 1)
		left = -1;
	if (file)
		fclose(file);
	return left;
}

static inline bool fail_at(const struct step *step, int times)
{
	char path[128], number[16];

	snprintf(number, sizeof(number), "%d", times);
	snprintf(path, sizeof(path), FAULT("fail_function/%s/retval"),
		 step->function);
	return write_file(FAULT("fail_function/inject"), step->function) &&
	       write_file(path, step->retval) &&
	       write_file(FAULT("fail_function/task-filter"), "N") &&
	       write_file(FAULT("fail_function/verbose"), "0") &&
	       write_file(FAULT("fail_function/interval"), step->interval) &&
	       write_file(FAULT("fail_function/probability"), "100") &&
	       write_file(FAULT("fail_function/times"), number);
}

static inline bool fail_no_more(void)
{
	return write_file(FAULT("fail_function/times"), "0") &&
	       write_file(FAULT("fail_function/inject"), "\n");
}

#endif /* RDS_FAULTS_H */
