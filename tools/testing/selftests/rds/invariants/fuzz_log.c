// SPDX-License-Identifier: GPL-2.0
/* The kernel log of fuzz_log.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_log.h"

static int log_fd = -1;

void fuzz_log_open(void)
{
	log_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log_fd >= 0)
		lseek(log_fd, 0, SEEK_END);
}

bool fuzz_log_complains(void)
{
	static const char *const complaints[] = {
		"WARNING:", "BUG:", "UBSAN:", "Oops", "INFO: task",
		"possible circular", "inconsistent lock",
	};
	bool found = false;
	char record[8192];
	unsigned int i;
	ssize_t len;

	if (log_fd < 0)
		return false;
	for (;;) {
		/* A record that was overwritten fails once. */
		len = read(log_fd, record, sizeof(record) - 1);
		if (len < 0 && errno != EPIPE)
			return found;
		record[len < 0 ? 0 : len] = '\0';
		for (i = 0; i < sizeof(complaints) / sizeof(*complaints); i++)
			found |= !!strstr(record, complaints[i]);
	}
}
