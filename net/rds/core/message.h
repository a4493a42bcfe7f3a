/* SPDX-License-Identifier: GPL-2.0-only */
/* Outgoing messages. */
#ifndef _RDS_CORE_MESSAGE_H
#define _RDS_CORE_MESSAGE_H

#include <net/rds/transport.h>

/**
 * enum rds_msg_kind - kind of an outgoing message, for &rds_message.m_kind
 * @RDS_MSG_DATA: a message of a socket, or an unnumbered frame of core
 * @RDS_MSG_STREAM: a frame of a stream
 * @RDS_MSG_STREAM_REPLY: a reply to a frame of a stream, which belongs to none
 * @RDS_MSG_PONG: a pong, in reply to a ping
 * @RDS_MSG_PROBE: a numbered probe
 * @RDS_MSG_REPLY: a reply to a numbered probe
 */
enum rds_msg_kind {
	RDS_MSG_DATA,
	RDS_MSG_STREAM,
	RDS_MSG_STREAM_REPLY,
	RDS_MSG_PONG,
	RDS_MSG_PROBE,
	RDS_MSG_REPLY,
};

/**
 * rds_message_is_frame() - Check whether a message is a frame of a stream
 * @msg: the message
 *
 * Context: Any context.
 * Return: true if it is.
 */
static inline bool rds_message_is_frame(const struct rds_message *msg)
{
	return msg->m_kind == RDS_MSG_STREAM ||
	       msg->m_kind == RDS_MSG_STREAM_REPLY;
}

/**
 * rds_message_is_control() - Check whether core itself sends a message
 * @msg: the message
 *
 * Context: Any context.
 * Return: true for probes, replies and pongs.
 */
static inline bool rds_message_is_control(const struct rds_message *msg)
{
	return msg->m_kind >= RDS_MSG_PONG;
}

int rds_message_caches_create(void);
void rds_message_caches_destroy(void);
struct rds_message *rds_message_alloc(u32 len, gfp_t gfp);
struct rds_message *rds_message_alloc_user(unsigned int pieces);
struct rds_message *rds_message_alloc_empty(gfp_t gfp);

#endif /* _RDS_CORE_MESSAGE_H */
