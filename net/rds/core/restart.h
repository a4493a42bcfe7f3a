/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens when the peer turns out to have restarted. */
#ifndef _RDS_CORE_RESTART_H
#define _RDS_CORE_RESTART_H

struct rds_cpath;
struct rds_handshake;

void rds_restart(struct rds_cpath *by, const struct rds_handshake *hs);

#endif /* _RDS_CORE_RESTART_H */
