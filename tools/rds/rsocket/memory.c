// SPDX-License-Identifier: GPL-2.0
/*
 * What the library keeps about a descriptor stands in a table. An entry is that
 * of a socket, and not of another one that has its number later: the numbers of
 * their inodes differ.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
static struct entry **table;
static int room;

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

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISSOCK(st.st_mode) ? 0 : st.st_ino;
}

/* The lock is held. Return NULL if nothing is known about @fd. */
static struct entry *find(int fd)
{
	ino_t inode;

	if (fd < 0 || fd >= room || !table[fd])
		return NULL;
	inode = inode_of(fd);
	return inode && table[fd]->inode == inode ? table[fd] : NULL;
}

static bool grow(int fd)
{
	int wanted = room ? room : 64;
	struct entry **larger;

	while (wanted <= fd)
		wanted *= 2;
	larger = realloc(table, wanted * sizeof(*table));
	if (!larger)
		return false;
	memset(larger + room, 0, (wanted - room) * sizeof(*table));
	table = larger;
	room = wanted;
	return true;
}

/* The lock is held. Return NULL, and set errno, if there is no entry. */
static struct entry *find_or_make(int fd)
{
	struct entry *entry = find(fd);
	ino_t inode;

	if (entry)
		return entry;
	inode = inode_of(fd);
	if (!inode || (fd >= room && !grow(fd)))
		return NULL;
	if (!table[fd])
		table[fd] = malloc(sizeof(*table[fd]));
	if (table[fd]) {
		memset(table[fd], 0, sizeof(*table[fd]));
		table[fd]->inode = inode;
	}
	return table[fd];
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
	if (fd >= 0 && fd < room) {
		free(table[fd]);
		table[fd] = NULL;
	}
	unlock();
}
