/* SPDX-License-Identifier: GPL-2.0-only */
/* Outgoing messages. */
#ifndef _RDS_CORE_MESSAGE_H
#define _RDS_CORE_MESSAGE_H

#include <net/rds/transport.h>

struct rds_message *rds_message_alloc(u32 len);
struct rds_message *rds_message_alloc_empty(gfp_t gfp);

#endif /* _RDS_CORE_MESSAGE_H */
