// SPDX-License-Identifier: GPL-2.0
/* What the library keeps about a descriptor */
#include "fds.h"
#include "guard.h"
#include "memory.h"

struct entry {
	ino_t		inode;		/* 0: unused */
	int		inline_size;
	bool		has_inline;
	socklen_t	route_len;
	unsigned char	route[ROUTES_MAX * ROUTE_SIZE];
};

static struct guard guard = GUARD_INIT;
static struct fds fds;

static void lock(void)
{
	guard_lock(&guard);
}

static void unlock(void)
{
	guard_unlock(&guard);
}

/* A child has the table as it is between two changes. */
__attribute__((constructor))
static void protect_fork(void)
{
	pthread_atfork(lock, unlock, unlock);
}

/* The lock is held. Return NULL if nothing is known about @fd. */
static struct entry *find(int fd)
{
	struct entry *entry = fds_entry(&fds, fd);
	ino_t inode;

	if (!entry)
		return NULL;
	inode = fds_inode(fd);
	return inode && entry->inode == inode ? entry : NULL;
}

/* The lock is held. Return NULL, and set errno, if there is no entry. */
static struct entry *find_or_make(int fd)
{
	ino_t inode = fds_inode(fd);
	struct entry *entry;

	if (!inode || !fds_reach(&fds, fd))
		return NULL;
	entry = fds.entry[fd];
	if (entry && entry->inode == inode)
		return entry;
	if (!entry)
		entry = malloc(sizeof(*entry));
	fds.entry[fd] = entry;
	if (entry) {
		memset(entry, 0, sizeof(*entry));
		entry->inode = inode;
	}
	return entry;
}

int memory_set_inline(int fd, int value)
{
	struct entry *entry;

	lock();
	entry = find_or_make(fd);
	if (entry) {
		entry->inline_size = value;
		entry->has_inline = true;
	}
	unlock();
	return entry ? 0 : -1;
}

int memory_get_inline(int fd, int otherwise)
{
	struct entry *entry;

	lock();
	entry = find(fd);
	if (entry && entry->has_inline)
		otherwise = entry->inline_size;
	unlock();
	return otherwise;
}

int memory_set_route(int fd, const void *route, socklen_t len)
{
	struct entry *entry;

	lock();
	entry = find_or_make(fd);
	if (entry) {
		memcpy(entry->route, route, len);
		entry->route_len = len;
	}
	unlock();
	return entry ? 0 : -1;
}

/* Return how many bytes of @route were filled in. */
socklen_t memory_get_route(int fd, void *route, socklen_t most)
{
	struct entry *entry;
	socklen_t len = 0;

	lock();
	entry = find(fd);
	if (entry) {
		len = entry->route_len < most ? entry->route_len : most;
		memcpy(route, entry->route, len);
	}
	unlock();
	return len;
}

/*
 * Let @to have what is kept about @from. If there is no memory for it, @to has
 * the values of a new socket.
 */
void memory_copy(int from, int to)
{
	struct entry *source, *copy;
	ino_t inode;

	lock();
	source = find(from);
	copy = source ? find_or_make(to) : NULL;
	if (copy) {
		inode = copy->inode;
		*copy = *source;
		copy->inode = inode;
	}
	unlock();
}

void memory_forget(int fd)
{
	lock();
	if (fds_entry(&fds, fd)) {
		free(fds.entry[fd]);
		fds.entry[fd] = NULL;
	}
	unlock();
}
