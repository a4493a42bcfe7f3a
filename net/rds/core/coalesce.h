/* SPDX-License-Identifier: GPL-2.0-only */
/* Small frames of several senders that share a transmission. */
#ifndef _RDS_CORE_COALESCE_H
#define _RDS_CORE_COALESCE_H

/* Runs of the work item after which it is decided whether it was good to leave
 * frames
 */
#define RDS_COALESCE_RUNS	128

/* Frames that are sent at once if it was not */
#define RDS_COALESCE_REST	1024

struct rds_path_coalesce;

unsigned int rds_coalesce_add(struct rds_path_coalesce *pc);
void rds_coalesce_end(struct rds_path_coalesce *pc);

#endif /* _RDS_CORE_COALESCE_H */
