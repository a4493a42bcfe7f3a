/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of tests with one socket, which is unbound at first */
#ifndef RDS_SOLO_H
#define RDS_SOLO_H

#include "harness.h"

FIXTURE(solo) {
	int fd;
};

/*
 * Reopen the socket in a new namespace, for tests that need a namespace without
 * connections, or that change sysctls.
 */
static inline void solo_move(struct __test_metadata *_metadata,
			     FIXTURE_DATA(solo) *self)
{
	close(self->fd);
	ASSERT_EQ(0, rds_netns());
	self->fd = rds_socket();
	ASSERT_LE(0, self->fd);
}

FIXTURE_SETUP(solo)
{
	self->fd = rds_socket();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(solo)
{
	close(self->fd);
}

#endif /* RDS_SOLO_H */
