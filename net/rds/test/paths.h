/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common parts of the tests of several paths, and of the connections that peers
 * make.
 */
#ifndef _RDS_TEST_PATHS_H
#define _RDS_TEST_PATHS_H

#include "rig_peer.h"

/* Each stands for a connection that the peer has made. */
extern char paths_offers[RDS_MAX_PATHS];

/* Return the number of paths over which messages spread. */
static inline unsigned int paths_nr(struct kunit *test)
{
	return rig_conn(test)->c_npaths;
}

/* Offer the connection that stands for a path. */
static inline int paths_offer(struct kunit *test, u8 index)
{
	return rig_offer(test, index, paths_offers + index);
}

static inline enum rds_path_state paths_state(struct kunit *test,
					      unsigned int index)
{
	return rds_cpath_state(rig_nth_cpath(test, index));
}

/* Check whether the path's connection was made by the peer. */
static inline bool paths_is_taken(struct kunit *test, unsigned int index)
{
	return rds_cpath_is_accepted(rig_nth_cpath(test, index));
}

int paths_init_accept(struct kunit *test);
struct socket *paths_use(struct kunit *test);
int paths_live(struct kunit *test);
bool paths_become(struct kunit *test, int want);
void paths_expect_taken(struct kunit *test, unsigned int n, unsigned int index,
			void *offer);

struct socket *paths_accepted(struct kunit *test, u8 named);
struct socket *paths_eight(struct kunit *test);
struct socket *paths_eight_accepted(struct kunit *test);
struct socket *paths_eight_legacy(struct kunit *test,
				  const struct rig_peer *peer);
void paths_reconnect(struct kunit *test, unsigned int maps);
void paths_drop_all(struct kunit *test);

u16 paths_port(struct kunit *test, unsigned int index);
void paths_send(struct kunit *test, struct socket *sock, unsigned int index);
unsigned int paths_data_sent(struct kunit *test);
bool paths_receive(struct kunit *test, unsigned int index, u64 seq);
void paths_handshake(struct kunit *test, const struct rig_peer *peer);
void paths_expect_handshake(struct kunit *test, unsigned int n, u16 npaths,
			    bool in_use);

#endif /* _RDS_TEST_PATHS_H */
