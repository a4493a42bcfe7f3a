/* SPDX-License-Identifier: GPL-2.0-only */
/* Outgoing messages. */
#ifndef _RDS_CORE_MESSAGE_H
#define _RDS_CORE_MESSAGE_H

#include <net/rds/transport.h>

/**
 * enum rds_msg_kind - kind of an outgoing message, for &rds_message.m_kind
 * @RDS_MSG_DATA: a message of a socket, or an unnumbered frame of core
 * @RDS_MSG_PONG: a pong, in reply to a ping
 * @RDS_MSG_PROBE: a numbered probe
 * @RDS_MSG_REPLY: a reply to a numbered probe
 */
enum rds_msg_kind {
	RDS_MSG_DATA,
	RDS_MSG_PONG,
	RDS_MSG_PROBE,
	RDS_MSG_REPLY,
};

int rds_message_caches_create(void);
void rds_message_caches_destroy(void);
struct rds_message *rds_message_alloc(u32 len);
struct rds_message *rds_message_alloc_user(unsigned int pieces);
struct rds_message *rds_message_alloc_empty(gfp_t gfp);

#endif /* _RDS_CORE_MESSAGE_H */
