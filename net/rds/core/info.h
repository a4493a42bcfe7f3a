/* SPDX-License-Identifier: GPL-2.0-only */
/* RDS_INFO_*: what the lists share. */
#ifndef _RDS_CORE_INFO_H
#define _RDS_CORE_INFO_H

#include <linux/string.h>

#include "path.h"
#include "rds_net.h"

/**
 * struct rds_info_iter - destination of a list
 * @buf: buffer for records, or NULL
 * @room: size of @buf, in bytes
 * @used: bytes written
 * @need: bytes that all records take
 */
struct rds_info_iter {
	void	*buf;
	size_t	room;
	size_t	used;
	size_t	need;
};

/**
 * struct rds_info_list - one of the lists
 * @fill: writes the list
 * @size: bytes of a record
 * @opt: the socket option
 * @trans: the transport that has the list; RDS_TRANS_SLOTS if it is core's
 * @v6: records have IPv6 addresses; otherwise only IPv4 is listed
 * @partial: if the user's buffer is too small, return the records that fit;
 *	otherwise none
 */
struct rds_info_list {
	void (*fill)(struct rds_net *rn, const struct rds_info_list *list,
		     struct rds_info_iter *iter);
	size_t	size;
	int	opt;
	u8	trans;
	bool	v6;
	bool	partial;
};

/**
 * rds_info_add() - Add a record to a list
 * @iter: destination
 * @record: the record
 * @size: bytes of it
 *
 * Context: Any context.
 */
static inline void rds_info_add(struct rds_info_iter *iter, const void *record,
				size_t size)
{
	iter->need += size;
	if (iter->need > iter->room)
		return;
	memcpy(iter->buf + iter->used, record, size);
	iter->used += size;
}

struct rds_cpath *rds_info_next_path(struct rds_net *rn, struct rds_cpath *cp);
void rds_info_send(struct rds_net *rn, const struct rds_info_list *list,
		   struct rds_info_iter *iter);
void rds_info_retrans(struct rds_net *rn, const struct rds_info_list *list,
		      struct rds_info_iter *iter);
void rds_info_recv(struct rds_net *rn, const struct rds_info_list *list,
		   struct rds_info_iter *iter);

#endif /* _RDS_CORE_INFO_H */
