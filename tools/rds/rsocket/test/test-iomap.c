// SPDX-License-Identifier: GPL-2.0
/* riomap, riounmap and riowrite, line by line of the manual */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/wait.h>

#include "check.h"

#define LEN	65536

static bool make_pair(int family, struct pair *pair, int iomap_size)
{
	struct sockaddr_storage name;
	socklen_t len;

	pair->listener = check_listen(family, &name, &len);
	pair->client = rsocket(family, SOCK_STREAM, 0);
	rsetsockopt(pair->listener, SOL_RDMA, RDMA_IOMAPSIZE, &iomap_size,
		    sizeof(iomap_size));
	rsetsockopt(pair->client, SOL_RDMA, RDMA_IOMAPSIZE, &iomap_size,
		    sizeof(iomap_size));
	if (rconnect(pair->client, (struct sockaddr *)&name, len))
		return false;
	pair->server = raccept(pair->listener, NULL, NULL);
	return pair->server >= 0;
}

static char memory[LEN], data[LEN];

/* Write to the mapping of the server at @offset, and notify the server. */
static bool place(struct pair *pair, size_t len, off_t offset)
{
	char note = 0;

	return riowrite(pair->client, data, len, offset, 0) == len &&
	       rsend(pair->client, "n", 1, 0) == 1 &&
	       rrecv(pair->server, &note, 1, 0) == 1 && note == 'n';
}

static void test_place(struct pair *pair)
{
	off_t first, second;

	first = riomap(pair->server, memory, LEN / 2, PROT_WRITE, 0, -1);
	ok(first >= 0, "riomap: rsockets chooses an offset");
	second = riomap(pair->server, memory + LEN / 2, LEN / 2, PROT_WRITE, 0,
			1 << 20);
	ok(second == 1 << 20, "riomap: the offset that the program chose");
	ok(check_exchange(pair->server, pair->client),
	   "the peer receives what was sent after riomap");
	check_fill(data, LEN, 1);
	ok(place(pair, LEN / 2, first) && !memcmp(memory, data, LEN / 2),
	   "riowrite: the data is there before what was sent next");
	ok(place(pair, 100, second + 1000) &&
	   !memcmp(memory + LEN / 2 + 1000, data, 100),
	   "riowrite: within the other mapping");
	memset(data, 'x', 10);
	ok(place(pair, 10, first) && !memcmp(memory, "xxxxxxxxxx", 10),
	   "riowrite: once more to the same place");
	ok(memory[LEN / 2] == 0 && memory[LEN / 2 + 999] == 0,
	   "riowrite: nothing beside it is written");
	ok(rrecv(pair->server, data, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN,
	   "riowrite: the receiver is not informed");
	ok(riowrite(pair->client, data, 10, first + LEN / 2 - 5, 0) ==
	   (size_t)-1 && (errno == EINVAL || errno == EFAULT),
	   "riowrite: beyond the mapping");
	ok(riowrite(pair->client, data, 10, 5 << 20, 0) == (size_t)-1 &&
	   (errno == EINVAL || errno == EFAULT),
	   "riowrite: where nothing is mapped");
	ok(check_exchange(pair->client, pair->server),
	   "the connection works after such an error");
	ok(!riounmap(pair->server, memory, LEN / 2), "riounmap");
	ok(!riounmap(pair->server, memory + LEN / 2, LEN / 2),
	   "riounmap: the other");
	check_exchange(pair->server, pair->client);
	ok(riowrite(pair->client, data, 10, first, 0) == (size_t)-1,
	   "riowrite: after riounmap");
	fails(riounmap(pair->server, memory, LEN / 2), EINVAL,
	      "riounmap: twice");
}

static void test_arguments(struct pair *pair)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	fails(riomap(pair->server, memory, LEN, PROT_WRITE, 1, -1), EINVAL,
	      "riomap: a flag");
	fails(riomap(pair->server, memory, LEN, PROT_EXEC, 0, -1), EINVAL,
	      "riomap: another protection");
	fails(riomap(-1, memory, LEN, PROT_WRITE, 0, -1), EBADF,
	      "riomap: no descriptor");
	fails(riomap(fd, memory, LEN, PROT_WRITE, 0, -1), EOPNOTSUPP,
	      "riomap: a socket of datagrams");
	fails(riounmap(fd, memory, LEN), EOPNOTSUPP,
	      "riounmap: a socket of datagrams");
	rclose(fd);
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	fails(riomap(fd, memory, LEN, PROT_WRITE, 0, -1), ENOTCONN,
	      "riomap: not connected");
	rclose(fd);
	ok(riomap(pair->server, memory, LEN, PROT_WRITE, 0, 4096) == 4096,
	   "riomap: a mapping");
	fails(riomap(pair->server, data, LEN, PROT_WRITE, 0, 8192), EINVAL,
	      "riomap: over another mapping");
	riounmap(pair->server, memory, LEN);
}

static void test_local_only(struct pair *pair)
{
	off_t at = riomap(pair->server, memory, LEN, PROT_NONE, 0, -1);

	ok(at >= 0, "riomap: PROT_NONE");
	check_exchange(pair->server, pair->client);
	memset(memory, 0, LEN);
	ok(riowrite(pair->client, data, 10, at, 0) == (size_t)-1 &&
	   !memory[0], "PROT_NONE: the peer cannot write");
	ok(!riounmap(pair->server, memory, LEN), "riounmap: PROT_NONE");
}

static void test_both_ways(struct pair *pair)
{
	static char other[LEN];
	off_t mine = riomap(pair->client, other, LEN, PROT_WRITE, 0, 0);
	off_t its = riomap(pair->server, memory, LEN, PROT_WRITE, 0, 0);

	ok(mine == 0 && its == 0, "riomap: each end has its own offsets");
	check_exchange(pair->client, pair->server);
	check_exchange(pair->server, pair->client);
	check_fill(data, LEN, 9);
	ok(riowrite(pair->client, data, LEN, 0, 0) == LEN &&
	   riowrite(pair->server, data, LEN / 2, 0, 0) == LEN / 2 &&
	   check_exchange(pair->client, pair->server) &&
	   check_exchange(pair->server, pair->client) &&
	   check_filled(memory, LEN, 9) && check_filled(other, LEN / 2, 9),
	   "riowrite: in both directions");
	riounmap(pair->client, other, LEN);
	riounmap(pair->server, memory, LEN);
}

/* A mapping of 6 MiB, written in pieces of all sizes */
static void test_large(struct pair *pair)
{
	size_t len = 6 << 20, at = 0, piece = 1;
	char *theirs = calloc(1, len), *ours = malloc(len);
	bool good = true;

	ok(riomap(pair->server, theirs, len, PROT_WRITE, 0, 0) == 0,
	   "riomap: 6 MiB");
	check_exchange(pair->server, pair->client);
	check_fill(ours, len, 5);
	while (good && at < len) {
		piece = piece * 3 > 2 << 20 ? 2 << 20 : piece * 3;
		if (piece > len - at)
			piece = len - at;
		good = riowrite(pair->client, ours + at, piece, at, 0) == piece;
		at += piece;
	}
	ok(good, "riowrite: up to 2 MiB at once");
	ok(check_exchange(pair->client, pair->server) &&
	   check_filled(theirs, len, 5), "riowrite: all 6 MiB are there");
	ok(!riounmap(pair->server, theirs, len), "riounmap: 6 MiB");
	free(theirs);
	free(ours);
}

static void test_limit(int family)
{
	struct pair pair;
	int i;

	make_pair(family, &pair, 3);
	for (i = 0; i < 3; i++)
		ok(riomap(pair.server, memory + i * 4096, 4096, PROT_WRITE, 0,
			  -1) >= 0, "RDMA_IOMAPSIZE 3: mapping %d", i + 1);
	fails(riomap(pair.server, memory + i * 4096, 4096, PROT_WRITE, 0, -1),
	      ENOMEM, "RDMA_IOMAPSIZE 3: no fourth");
	riounmap(pair.server, memory, 4096);
	ok(riomap(pair.server, memory + i * 4096, 4096, PROT_WRITE, 0, -1) >= 0,
	   "RDMA_IOMAPSIZE 3: one in place of another");
	check_close(&pair);

	make_pair(family, &pair, 0);
	fails(riomap(pair.server, memory, 4096, PROT_WRITE, 0, -1), ENOMEM,
	      "by default no mapping is possible");
	check_close(&pair);
}

/* The receiver, another process, looks at its memory and makes no call. */
static void test_other_process(int family)
{
	char *buffer = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile char *last = buffer + LEN - 1;
	int64_t end = check_msec() + 5000;
	struct pair pair;
	int status;
	pid_t pid;

	make_pair(family, &pair, 1);
	pid = check_fork();
	if (!pid) {
		riomap(pair.server, buffer, LEN, PROT_WRITE, 0, 0);
		rsend(pair.server, "m", 1, 0);
		while (!*last && check_msec() < end)
			;
		_exit(*last ? 0 : 1);
	}
	rrecv(pair.client, data, 1, 0);
	memset(data, 'z', LEN);
	riowrite(pair.client, data, LEN, 0, 0);
	ok(waitpid(pid, &status, 0) == pid && !status,
	   "riowrite: the receiver makes no call");
	check_close(&pair);
	munmap(buffer, LEN);
}

int main(void)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct pair pair;
	int i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < 2; i++) {
		check_prefix = families[i] == AF_INET ? "IPv4: " : "IPv6: ";
		ok(make_pair(families[i], &pair, 4), "RDMA_IOMAPSIZE: set");
		memset(memory, 0, LEN);
		test_place(&pair);
		test_arguments(&pair);
		test_local_only(&pair);
		test_both_ways(&pair);
		test_large(&pair);
		check_close(&pair);
		test_limit(families[i]);
		test_other_process(families[i]);
	}
	return check_end();
}
