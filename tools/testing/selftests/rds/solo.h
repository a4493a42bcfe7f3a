/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of tests about one socket: unbound, in a fresh namespace */
#ifndef RDS_SOLO_H
#define RDS_SOLO_H

#include "harness.h"

FIXTURE(solo) {
	int fd;
};

FIXTURE_SETUP(solo)
{
	ASSERT_EQ(0, rds_netns());
	self->fd = rds_socket();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(solo)
{
	close(self->fd);
}

#endif /* RDS_SOLO_H */
