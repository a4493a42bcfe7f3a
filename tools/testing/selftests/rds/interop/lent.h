/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory from which RDS sends without a copy (MSG_ZEROCOPY). It is overwritten
 * as soon as RDS reports that the send is complete.
 */
#ifndef LENT_H
#define LENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rds_test.h"

/* The maximum number of such sends of a flow at a time */
#define LENT_MAX 16

struct lent {
	struct {
		unsigned char *memory;
		uint32_t len;
	} part[LENT_MAX];
};

/* Prepare a socket for it; return false if the socket cannot do it. */
bool lent_enable(int fd);

/*
 * Send @iov, two parts, from memory that is lent. Return what sendmsg()
 * returns, or -1 with EBUSY if too much memory is lent already.
 */
ssize_t lent_send(struct lent *lent, int fd, const struct iovec iov[2],
		  const struct rds_name *to);

/* Take back the memory of the completions in @msg. Return false if one of them
 * is for memory that was not lent.
 */
bool lent_take_back(struct lent *lent, struct msghdr *msg);

#endif /* LENT_H */
