// SPDX-License-Identifier: GPL-2.0
/*
 * Streams that carry data in both directions all the time, and how each of them
 * ends:
 *
 *	streams serve PORT ADDRESS...
 *	streams drive PORT FIRST COUNT FROM,TO...
 *
 * The server listens at each address. The other end connects COUNT streams from
 * each address FROM to its address TO, numbered from FIRST on.
 *
 * Each stream has a thread that writes and one that reads. Those of streams
 * with an odd number wait by poll(), the others in their system calls. The byte
 * at each position is known, so that a reader finds the first wrong one.
 *
 * The program prints "ready" when it listens, or when all streams are
 * connected. Then it reads commands, one per line, and prints a line "." after
 * each:
 *
 *	report		a line of JSON for each stream
 *	finish		write nothing more: shut the streams down behind the
 *			last byte
 *	timeout SECONDS	set TCP_USER_TIMEOUT
 *	keepalive	send keepalive probes after a second of silence. The
 *			stream ends if neither of two is answered in a second
 *
 * A reader of the server that finds the end has the writer finish, too.
 */
#define _GNU_SOURCE

#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <netinet/tcp.h>

#include "stream.h"

#define STREAMS		256
#define CHUNK		16384
/* Time between two writes of a stream, in microseconds, for each stream that
 * there is: readers keep up with writers even on a slow host, so that they find
 * the end of a stream when it is there
 */
#define GAP		5000
/* How a half ends without an error */
#define FINISHED	-1

/* A half of a stream: @how is 0 until it ends, then FINISHED, or the errno of
 * the call that failed. Its thread stores it last.
 */
struct half {
	uint64_t bytes;
	int64_t ended_ms;
	int how;
	unsigned int seed;
	pthread_t thread;
};

struct stream {
	int fd;
	unsigned int number;
	bool server;
	bool finish;
	bool wrong;
	struct half in;
	struct half out;
};

static struct stream streams[STREAMS];
static unsigned int nr_streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static void end_half(struct half *half, int how)
{
	half->ended_ms = now_ms();
	__atomic_store_n(&half->how, how, __ATOMIC_RELEASE);
}

static void count(struct half *half, size_t bytes)
{
	__atomic_store_n(&half->bytes, half->bytes + bytes, __ATOMIC_RELAXED);
}

/* Wait as this stream does. Returns the flags for the call that follows. */
static int await_turn(const struct stream *stream, short event)
{
	struct pollfd pfd = { .fd = stream->fd, .events = event };

	if (stream->number % 2 == 0)
		return 0;
	if (poll(&pfd, 1, -1) < 0)
		err(1, "poll");
	return MSG_DONTWAIT;
}

static bool again(ssize_t ret)
{
	return ret < 0 && (errno == EAGAIN || errno == EINTR);
}

static void *read_all(void *arg)
{
	struct stream *stream = arg;
	struct half *in = &stream->in;
	char buf[CHUNK];
	ssize_t ret;
	int how;

	do {
		ret = recv(stream->fd, buf, sizeof(buf),
			   await_turn(stream, POLLIN));
		if (ret <= 0)
			continue;
		if (!stream_check(buf, ret, in->seed, in->bytes))
			__atomic_store_n(&stream->wrong, true,
					 __ATOMIC_RELAXED);
		count(in, ret);
	} while (ret > 0 || again(ret));
	how = ret ? errno : FINISHED;
	if (stream->server)
		__atomic_store_n(&stream->finish, true, __ATOMIC_RELAXED);
	end_half(in, how);
	return NULL;
}

/* Write @len bytes, perhaps by many calls. Returns false after a failure. */
static bool write_some(struct stream *stream, const char *buf, size_t len)
{
	size_t done = 0;
	ssize_t ret;

	while (done < len) {
		ret = send(stream->fd, buf + done, len - done, MSG_NOSIGNAL |
			   await_turn(stream, POLLOUT));
		if (again(ret))
			continue;
		if (ret < 0)
			return false;
		done += ret;
		count(&stream->out, ret);
	}
	return true;
}

static void *write_all(void *arg)
{
	struct stream *stream = arg;
	struct half *out = &stream->out;
	uint32_t random = stream->number;
	char buf[CHUNK];
	size_t len;
	int how = FINISHED;

	while (!__atomic_load_n(&stream->finish, __ATOMIC_RELAXED)) {
		random = random * 1664525 + 1013904223;
		len = 1 + (random >> 8) % CHUNK;
		stream_fill(buf, len, out->seed, out->bytes);
		if (!write_some(stream, buf, len)) {
			how = errno;
			break;
		}
		usleep(GAP * __atomic_load_n(&nr_streams, __ATOMIC_RELAXED));
	}
	if (how == FINISHED && shutdown(stream->fd, SHUT_WR))
		how = errno;
	end_half(out, how);
	return NULL;
}

/* Add a connected stream. Each direction has contents of its own. */
static void start(int fd, unsigned int number, bool server)
{
	struct stream *stream;

	pthread_mutex_lock(&lock);
	if (nr_streams == STREAMS)
		errx(1, "more than %u streams", STREAMS);
	stream = &streams[nr_streams];
	stream->fd = fd;
	stream->number = number;
	stream->server = server;
	stream->in.seed = 2 * number + server;
	stream->out.seed = 2 * number + !server;
	if (pthread_create(&stream->in.thread, NULL, read_all, stream) ||
	    pthread_create(&stream->out.thread, NULL, write_all, stream))
		errx(1, "cannot create a thread");
	__atomic_store_n(&nr_streams, nr_streams + 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

/* The first two bytes of a stream are its number. */
static void *accept_all(void *arg)
{
	int fd, *listener = arg;
	uint16_t number;

	while ((fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (recv(fd, &number, sizeof(number), MSG_WAITALL) ==
		    sizeof(number))
			start(fd, number, true);
		else
			close(fd);
	}
	err(1, "accept");
}

static void serve(unsigned int port, char **address)
{
	static int listeners[4];
	pthread_t thread;
	unsigned int i;

	for (i = 0; address[i]; i++) {
		if (i == sizeof(listeners) / sizeof(*listeners))
			errx(2, "too many addresses");
		listeners[i] = stream_listener(address[i], port);
		if (listeners[i] < 0 ||
		    pthread_create(&thread, NULL, accept_all, &listeners[i]))
			err(1, "listen at %s", address[i]);
	}
}

static void connect_one(const char *from, const char *to, unsigned int port,
			uint16_t number)
{
	int fd = stream_bound(from, 0);

	if (fd < 0 || rds_connect(fd, rds_name(to, port)))
		err(1, "stream %u: connect to %s", number, to);
	if (send(fd, &number, sizeof(number), MSG_NOSIGNAL) != sizeof(number))
		err(1, "stream %u: send", number);
	start(fd, number, false);
}

static void drive(char **argv)
{
	unsigned int number = atoi(argv[1]), left;
	char **pair, *to;

	for (pair = argv + 3; *pair; pair++) {
		to = strchr(*pair, ',');
		if (!to)
			errx(2, "not two addresses: %s", *pair);
		*to++ = 0;
		for (left = atoi(argv[2]); left; left--)
			connect_one(*pair, to, atoi(argv[0]), number++);
	}
}

static void report_half(const char *name, struct half *half)
{
	int how = __atomic_load_n(&half->how, __ATOMIC_ACQUIRE);

	printf(", \"%s\": {\"bytes\": %llu, \"how\": \"%s\", \"ms\": %lld}",
	       name, (unsigned long long)__atomic_load_n(&half->bytes,
							 __ATOMIC_RELAXED),
	       !how ? "open" : how == FINISHED ? "finished" :
	       strerrorname_np(how), how ? (long long)half->ended_ms : 0);
}

static void report(struct stream *stream)
{
	printf("{\"number\": %u, \"wrong\": %s", stream->number,
	       __atomic_load_n(&stream->wrong, __ATOMIC_RELAXED) ? "true" :
								   "false");
	report_half("in", &stream->in);
	report_half("out", &stream->out);
	printf("}\n");
}

static void finish(struct stream *stream)
{
	__atomic_store_n(&stream->finish, true, __ATOMIC_RELAXED);
}

static void set(struct stream *stream, int level, int option, int value)
{
	if (setsockopt(stream->fd, level, option, &value, sizeof(value)))
		err(1, "stream %u: option %d", stream->number, option);
}

static void keep_alive(struct stream *stream)
{
	set(stream, SOL_TCP, TCP_KEEPIDLE, 1);
	set(stream, SOL_TCP, TCP_KEEPINTVL, 1);
	set(stream, SOL_TCP, TCP_KEEPCNT, 2);
	set(stream, SOL_SOCKET, SO_KEEPALIVE, 1);
}

static void obey(struct stream *stream, const char *command)
{
	unsigned int seconds;

	if (!strcmp(command, "report\n"))
		report(stream);
	else if (!strcmp(command, "finish\n"))
		finish(stream);
	else if (!strcmp(command, "keepalive\n"))
		keep_alive(stream);
	else if (sscanf(command, "timeout %u\n", &seconds) == 1)
		set(stream, SOL_TCP, TCP_USER_TIMEOUT, 1000 * seconds);
	else
		errx(2, "unknown command: %s", command);
}

static void obey_all(const char *command)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_streams; i++)
		obey(&streams[i], command);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	char line[32];

	if (argc > 3 && !strcmp(argv[1], "serve"))
		serve(atoi(argv[2]), argv + 3);
	else if (argc > 5 && !strcmp(argv[1], "drive"))
		drive(argv + 2);
	else
		errx(2, "usage: see the head of %s", __FILE__);
	setlinebuf(stdout);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		obey_all(line);
		printf(".\n");
	}
	return 0;
}
