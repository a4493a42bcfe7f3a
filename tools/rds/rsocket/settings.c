// SPDX-License-Identifier: GPL-2.0
/*
 * The files in /etc/rdma/rsocket and the environment are read once, when the
 * first socket is made.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

#include "settings.h"
#include "stream.h"

#define DIRECTORY	"/etc/rdma/rsocket"

static struct settings now;

/* Store the number in @text if it is one from 0 to @max. */
static void take(const char *text, int max, int *value)
{
	char *end;
	long number;

	number = strtol(text, &end, 10);
	if (end == text || number < 0 || number > max)
		return;
	while (*end == ' ' || *end == '\t' || *end == '\n' || *end == '\r')
		end++;
	if (!*end)
		*value = number;
}

static void read_file(const char *name, int max, int *value)
{
	const char *directory = secure_getenv("RDS_RSOCKET_DIR");
	char path[4096], text[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s",
		 directory ? directory : DIRECTORY, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return;
	text[got] = '\0';
	take(text, max, value);
}

/* The size of a queue in the environment replaces that of its buffer. */
static void read_environment(const char *name, int *value, int *bytes)
{
	const char *text = getenv(name);
	int given = -1;

	if (text)
		take(text, QUEUE_MAX, &given);
	if (given < 0)
		return;
	*value = given;
	if (bytes)
		*bytes = 0;
}

#define BYTES_MAX	(1 << 30)

static void read_all(void)
{
	read_file("mem_default", BYTES_MAX, &now.mem);
	read_file("wmem_default", BYTES_MAX, &now.wmem);
	read_file("sqsize_default", QUEUE_MAX, &now.sqsize);
	read_file("rqsize_default", QUEUE_MAX, &now.rqsize);
	read_file("inline_default", QUEUE_MAX, &now.inline_size);
	read_file("iomap_size", IOMAP_MAX, &now.iomap_size);
	read_file("polling_time", BYTES_MAX, &now.polling_time);
	read_file("wake_up_interval", BYTES_MAX, &now.wake_up_interval);
	read_environment("RS_SQ_SIZE", &now.sqsize, &now.wmem);
	read_environment("RS_RQ_SIZE", &now.rqsize, &now.mem);
	read_environment("RS_INLINE", &now.inline_size, NULL);
}

const struct settings *settings(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
	return &now;
}

static void set(int fd, int level, int name, int value)
{
	if (value)
		setsockopt(fd, level, name, &value, sizeof(value));
}

/*
 * Set the sizes of a new socket. The size of a buffer in bytes has precedence
 * over the size of its queue.
 */
void settings_apply(int fd)
{
	const struct settings *given = settings();

	set(fd, SOL_SOCKET, SO_SNDBUF,
	    given->wmem ? given->wmem : given->sqsize * QUEUE_ENTRY);
	set(fd, SOL_SOCKET, SO_RCVBUF,
	    given->mem ? given->mem : given->rqsize * QUEUE_ENTRY);
	set(fd, SOL_RDS, RDS_STREAM_IOMAP_SIZE, given->iomap_size);
}
