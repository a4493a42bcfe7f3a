/* SPDX-License-Identifier: GPL-2.0 */
/* Streams that are not connected yet, and what a socket of TCP would need */
#ifndef RDS_PRELOAD_TRACK_H
#define RDS_PRELOAD_TRACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

enum phase {
	PHASE_NEW,		/* neither connected nor connecting */
	PHASE_CONNECTING,	/* connect() returned before it was decided */
	PHASE_REPLACING,	/* a thread is making it a socket of TCP */
	PHASE_FAILED,		/* TCP has failed; SO_ERROR has not told it */
};

struct option {
	struct option	*next;
	int		level;
	int		name;
	socklen_t	len;
	char		value[];
};

struct registration {
	struct registration	*next;
	int			epfd;
	int			fd;
	struct epoll_event	event;
};

struct track {
	struct track		*next;		/* of all */
	ino_t			inode;
	int			family;
	int			users;		/* descriptors and holders */
	enum phase		phase;
	int			error;		/* in PHASE_FAILED */
	bool			bound;		/* by the program */
	bool			any_port;	/* the program asked for 0 */
	struct sockaddr_storage	local;
	socklen_t		local_len;
	struct sockaddr_storage	peer;
	socklen_t		peer_len;
	struct option		*options;
	struct registration	*registrations;
};

/* How many there are, and how many of them are in PHASE_CONNECTING */
extern atomic_int tracks, tracks_connecting;

void track_lock(void);
void track_unlock(void);

/* For these, the lock is held. */
struct track *track_find(int fd);
struct track *track_add(int fd, int family);
void track_share(struct track *track, int fd);
void track_hold(struct track *track);
void track_put(struct track *track);
void track_end(struct track *track);
void track_phase(struct track *track, enum phase phase);
void track_refresh(struct track *track, int fd);
bool track_owns(const struct track *track, int fd);
int track_next(const struct track *track, int after);
void track_option(struct track *track, int level, int name, const void *value,
		  socklen_t len);
void track_register(struct track *track, int op, int epfd, int fd,
		    const struct epoll_event *event);
int track_by_event(int epfd, const struct epoll_event *event, int skip);

#endif /* RDS_PRELOAD_TRACK_H */
