/* SPDX-License-Identifier: GPL-2.0-only */
/* Notes: how RDMA operations have ended, to be reported to user space. */
#ifndef _RDS_CORE_NOTIFY_H
#define _RDS_CORE_NOTIFY_H

#include "sock.h"

struct msghdr;
struct rds_note;

struct rds_note *rds_note_alloc(struct rds_sock *rs, u64 token);
void rds_note_free(struct rds_sock *rs, struct rds_note *note);
void rds_note_post(struct rds_sock *rs, struct rds_note *note, s32 status);
int rds_notes_put(struct rds_sock *rs, struct msghdr *msg, bool peek);
void rds_notes_close(struct rds_sock *rs);
void rds_sock_wake_readers(struct rds_sock *rs);

/**
 * rds_notes_pending() - Check whether a socket has notes to report
 * @rs: the socket
 *
 * Context: Any.
 * Return: true if it has.
 */
static inline bool rds_notes_pending(const struct rds_sock *rs)
{
	return !list_empty(&rs->rs_notes);
}

#endif /* _RDS_CORE_NOTIFY_H */
