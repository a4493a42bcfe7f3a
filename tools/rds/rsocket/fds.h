/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What these libraries keep about descriptors: a table, indexed by them. An
 * entry is that of a socket, and not of another one that has its number later:
 * the numbers of their inodes differ. The owner has a lock for the table.
 */
#ifndef RDS_FDS_H
#define RDS_FDS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct fds {
	void	**entry;
	int	room;
};

/* Return 0 if @fd is not a socket. */
static inline ino_t fds_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISSOCK(st.st_mode) ? 0 : st.st_ino;
}

/* Return NULL if @fd has no entry. */
static inline void *fds_entry(const struct fds *fds, int fd)
{
	return fd >= 0 && fd < fds->room ? fds->entry[fd] : NULL;
}

/* Make room for the entry of @fd, which is not negative. Return false, with
 * errno set, if there is no memory.
 */
static inline bool fds_reach(struct fds *fds, int fd)
{
	int wanted = fds->room ? fds->room : 64;
	void **larger;

	if (fd < fds->room)
		return true;
	while (wanted <= fd)
		wanted *= 2;
	larger = realloc(fds->entry, wanted * sizeof(*larger));
	if (!larger)
		return false;
	memset(larger + fds->room, 0, (wanted - fds->room) * sizeof(*larger));
	fds->entry = larger;
	fds->room = wanted;
	return true;
}

#endif
