/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is lent to RDS, for it sends from there (MSG_ZEROCOPY), until it
 * tells that it is free again; and that is written over at once then.
 */
#ifndef LENT_H
#define LENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rds_test.h"

/* How much of it a stream may have lent at a time */
#define LENT_MAX 16

struct lent {
	struct {
		unsigned char *memory;
		uint32_t len;
	} part[LENT_MAX];
};

/* What a socket needs for it; false if it cannot */
bool lent_enable(int fd);

/*
 * Sends what is in @iov, @len bytes in all, from memory that is lent. Returns
 * what sendmsg() does; -1 with EBUSY if there is too much of it already.
 */
ssize_t lent_send(struct lent *lent, int fd, const struct iovec iov[2],
		  const struct rds_name *to);

/* Takes back what @msg, received, tells of. False if that was never lent. */
bool lent_take_back(struct lent *lent, struct msghdr *msg);

#endif /* LENT_H */
