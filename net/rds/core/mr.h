/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions: user memory that peers may read and write. */
#ifndef _RDS_CORE_MR_H
#define _RDS_CORE_MR_H

#include <linux/types.h>
#include <uapi/linux/rds.h>

struct rds_incoming;
struct rds_sock;

int rds_mr_register(struct rds_sock *rs, const struct rds_get_mr_args *args,
		    rds_rdma_cookie_t *cookie);
int rds_mr_free(struct rds_sock *rs, rds_rdma_cookie_t cookie);
bool rds_mr_has(struct rds_sock *rs, rds_rdma_cookie_t cookie);
void rds_mr_used(struct rds_sock *rs, u32 key);
void rds_mr_close(struct rds_sock *rs);

/* The lower half of a cookie is the key. The upper half is the address by which
 * peers refer to the first byte.
 */
static inline rds_rdma_cookie_t rds_mr_cookie(u32 key, u32 off)
{
	return (u64)off << 32 | key;
}

static inline u32 rds_mr_cookie_key(rds_rdma_cookie_t cookie)
{
	return lower_32_bits(cookie);
}

static inline u32 rds_mr_cookie_off(rds_rdma_cookie_t cookie)
{
	return upper_32_bits(cookie);
}

#endif /* _RDS_CORE_MR_H */
