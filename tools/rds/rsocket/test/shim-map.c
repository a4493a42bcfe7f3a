// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of the library that stands for the kernel. They are in a file that
 * all processes map. The writer puts the bytes into the memory of the process
 * that made the mapping.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "shim.h"

#define MAPPINGS_MAX	256
#define ENDS_MAX	512

/* One end of a connection: its own name and that of its peer */
struct name {
	struct in6_addr	host;
	in_port_t	port;
};

struct end {
	struct name	local;
	struct name	remote;
};

struct mapping {
	struct end		end;
	pid_t			pid;	/* 0: unused */
	struct rds_stream_iomap	map;
};

struct announced {
	struct end	end;
	int		iomap_size;
};

struct shared {
	struct mapping		mappings[MAPPINGS_MAX];
	struct announced	ends[ENDS_MAX];
	unsigned int		last;
};

static int file = -1;

static int fail(int error)
{
	errno = error;
	return -1;
}

/* Return what is shared, locked, or NULL. */
static struct shared *take(void)
{
	static struct shared *all;
	const char *path = getenv("SHIM_FILE");

	if (!all && path) {
		file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (file < 0 || ftruncate(file, sizeof(*all)))
			return NULL;
		all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE,
			   MAP_SHARED, file, 0);
		if (all == MAP_FAILED)
			all = NULL;
	}
	if (all)
		flock(file, LOCK_EX);
	return all;
}

static void release(void)
{
	flock(file, LOCK_UN);
}

static void name_of(const struct sockaddr_storage *ss, struct name *name)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET6) {
		name->host = sin6->sin6_addr;
		name->port = sin6->sin6_port;
		return;
	}
	name->host.s6_addr32[2] = htonl(0xffff);
	name->host.s6_addr32[3] = sin->sin_addr.s_addr;
	name->port = sin->sin_port;
}

static bool end_of(int fd, struct end *end)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	memset(end, 0, sizeof(*end));
	if (getsockname(fd, (struct sockaddr *)&ss, &len))
		return false;
	name_of(&ss, &end->local);
	len = sizeof(ss);
	if (getpeername(fd, (struct sockaddr *)&ss, &len))
		return false;
	name_of(&ss, &end->remote);
	return true;
}

static struct end other_end(const struct end *end)
{
	struct end other;

	memset(&other, 0, sizeof(other));
	other.local = end->remote;
	other.remote = end->local;
	return other;
}

static bool same(const struct end *a, const struct end *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void shim_map_announce(int fd, int iomap_size)
{
	struct shared *all = take();
	struct announced *new;
	unsigned int i;

	if (!all)
		return;
	new = &all->ends[all->last++ % ENDS_MAX];
	if (end_of(fd, &new->end)) {
		new->iomap_size = iomap_size;
		/* The mappings of an older connection with these names */
		for (i = 0; i < MAPPINGS_MAX; i++)
			if (same(&all->mappings[i].end, &new->end))
				all->mappings[i].pid = 0;
	}
	release();
}

/* Return how many mappings the peer of @end allows; -1: it has not told. */
static int allowed(const struct shared *all, const struct end *end)
{
	struct end other = other_end(end);
	unsigned int i, at;

	for (i = 1; i <= ENDS_MAX && i <= all->last; i++) {
		at = (all->last - i) % ENDS_MAX;
		if (same(&all->ends[at].end, &other))
			return all->ends[at].iomap_size;
	}
	return -1;
}

/* As take(), but the peer of @end has told, or has had a second to do so. */
static struct shared *take_told(const struct end *end)
{
	struct shared *all = take();
	int tries;

	for (tries = 0; all && tries < 1000; tries++) {
		if (allowed(all, end) >= 0)
			break;
		release();
		usleep(1000);
		flock(file, LOCK_EX);
	}
	return all;
}

static bool overlap(const struct rds_stream_iomap *a,
		    const struct rds_stream_iomap *b)
{
	return a->offset < b->offset + (int64_t)b->len &&
	       b->offset < a->offset + (int64_t)a->len;
}

/*
 * Find a place, choose the offset if the caller did not, and check it. Return a
 * negative errno on failure.
 */
static int place(struct shared *all, const struct end *end,
		 struct rds_stream_iomap *map, struct mapping **found)
{
	bool chosen = map->offset >= 0;
	struct mapping *at;
	int count = 0;

	*found = NULL;
	if (!chosen)
		map->offset = 0;
	for (at = all->mappings; at < all->mappings + MAPPINGS_MAX; at++) {
		if (!at->pid) {
			*found = at;
			continue;
		}
		if (!same(&at->end, end))
			continue;
		count++;
		if (!chosen && map->offset < at->map.offset +
					     (int64_t)at->map.len)
			map->offset = at->map.offset + at->map.len;
		if (chosen && overlap(&at->map, map))
			return -EINVAL;
	}
	return !*found || count >= allowed(all, end) ? -ENOMEM : 0;
}

int shim_map(int fd, struct rds_stream_iomap *map)
{
	struct shared *all;
	struct mapping *at;
	struct end end;
	int error;

	if (map->flags || (map->prot != PROT_NONE && map->prot != PROT_WRITE))
		return fail(EINVAL);
	if (!end_of(fd, &end))
		return fail(ENOTCONN);
	all = take_told(&end);
	if (!all)
		return fail(ENOMEM);
	error = place(all, &end, map, &at);
	if (!error) {
		at->end = end;
		at->map = *map;
		at->pid = getpid();
	}
	release();
	return error ? fail(-error) : 0;
}

int shim_unmap(int fd, const struct rds_stream_iomap *map)
{
	struct shared *all = take();
	struct mapping *at;
	struct end end;
	int found = 0;

	if (!all)
		return fail(EINVAL);
	end_of(fd, &end);
	for (at = all->mappings; at < all->mappings + MAPPINGS_MAX; at++)
		if (at->pid && same(&at->end, &end) &&
		    at->map.addr == map->addr && at->map.len == map->len) {
			at->pid = 0;
			found = 1;
			break;
		}
	release();
	return found ? 0 : fail(EINVAL);
}

static bool covers(const struct rds_stream_iomap *map, uint64_t offset,
		   size_t len)
{
	uint64_t begin = map->offset;

	return offset >= begin && len <= map->len &&
	       offset - begin <= map->len - len;
}

ssize_t shim_map_write(int fd, const struct msghdr *msg, uint64_t offset)
{
	const struct iovec *iov = msg->msg_iov;
	struct shared *all = take();
	struct mapping *at;
	struct iovec remote;
	struct end end, peer;
	ssize_t ret = -1;
	int error = EINVAL;

	if (!all || !end_of(fd, &end)) {
		if (all)
			release();
		return fail(ENOTCONN);
	}
	peer = other_end(&end);
	for (at = all->mappings; at < all->mappings + MAPPINGS_MAX; at++) {
		if (!at->pid || !same(&at->end, &peer) ||
		    !covers(&at->map, offset, iov->iov_len))
			continue;
		error = EFAULT;
		if (at->map.prot != PROT_WRITE)
			break;
		remote.iov_base = (char *)(uintptr_t)at->map.addr +
				  (offset - at->map.offset);
		remote.iov_len = iov->iov_len;
		ret = process_vm_writev(at->pid, iov, 1, &remote, 1, 0);
		error = errno;
		break;
	}
	release();
	return ret < 0 ? fail(error) : ret;
}
