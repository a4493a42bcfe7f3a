/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Record tracepoints in a trace instance of the program's own, and wait for
 * events
 */
#ifndef RDS_TRACING_H
#define RDS_TRACING_H

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/rds_selftest"

static inline int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t done;

	if (fd < 0)
		return -errno;
	done = write(fd, text, strlen(text));
	close(fd);
	return done < 0 ? -errno : 0;
}

static inline void trace_end(void)
{
	put(INSTANCE "/events/enable", "0");
	rmdir(INSTANCE);
}

/* Record the events of @system. The module has to be loaded. */
static inline int trace_begin(const char *system)
{
	char path[128];

	if (access(TRACING "/instances", F_OK) &&
	    mount("tracefs", TRACING, "tracefs", 0, NULL))
		return -errno;
	trace_end();
	if (mkdir(INSTANCE, 0700))
		return -errno;
	/* The names of commands would need events of the scheduler, too. */
	if (put(INSTANCE "/trace_options", "norecord-cmd"))
		return -errno;
	snprintf(path, sizeof(path), INSTANCE "/events/%s/enable", system);
	return put(path, "1");
}

static inline bool trace_has(const regex_t *want)
{
	FILE *file = fopen(INSTANCE "/trace", "r");
	bool found = false;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file))
		found = !regexec(want, line, 0, NULL, 0);
	if (file)
		fclose(file);
	return found;
}

/*
 * Wait for an event whose line has @ends and then @format. Both are extended
 * regular expressions.
 */
static inline bool __attribute__((format(printf, 3, 4)))
traced(const char *event, const char *ends, const char *format, ...)
{
	char rest[160], text[320];
	unsigned int left;
	bool found = false;
	regex_t want;
	va_list args;

	va_start(args, format);
	vsnprintf(rest, sizeof(rest), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s: %s %s", event, ends, rest);
	if (regcomp(&want, text, REG_EXTENDED | REG_NOSUB))
		abort();
	for (left = 300; left && !found; left--) {
		found = trace_has(&want);
		if (!found)
			usleep(100000);
	}
	regfree(&want);
	if (!found) {
		printf("# Not traced: %s\n", text);
		system("sed 's/^/# /' " INSTANCE "/trace | tail -n 60");
	}
	return found;
}

/* If RDS_VARIANTS has no variant of a fixture, its tests run without one. */
#define NEED_VARIANT() do {						\
	if (!variant)							\
		SKIP(return, "RDS_VARIANTS has no variant of this");	\
} while (0)

#endif /* RDS_TRACING_H */
