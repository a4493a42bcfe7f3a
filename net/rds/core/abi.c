// SPDX-License-Identifier: GPL-2.0-only
/*
 * Assertions on the sizes and offsets that user space was compiled against. If
 * a structure changes, the ABI changes, and the build fails.
 */
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <uapi/linux/rds.h>

/* Some architectures, such as 32-bit x86, align a __u64 in a structure to fewer
 * than 8 bytes, which shortens two structures. A 64-bit kernel translates them
 * for 32-bit programs: see struct rds_compat_cmsg_rx_trace and struct
 * rds_compat_notify.
 */
struct rds_abi_u64 {
	__u8	before;
	__u64	value;
};

#define RDS_ABI_ALIGN(x)	ALIGN(x, offsetof(struct rds_abi_u64, value))

static_assert(sizeof(struct rds_info_counter) == 40);
static_assert(sizeof(struct rds_info_connection) == 42);
static_assert(sizeof(struct rds6_info_connection) == 65);
static_assert(sizeof(struct rds_info_message) == 26);
static_assert(sizeof(struct rds6_info_message) == 50);
static_assert(sizeof(struct rds_info_socket) == 28);
static_assert(sizeof(struct rds6_info_socket) == 52);
static_assert(sizeof(struct rds_info_tcp_socket) == 41);
static_assert(sizeof(struct rds6_info_tcp_socket) == 64);
static_assert(sizeof(struct rds6_info_path) == 100);
static_assert(sizeof(struct rds6_info_stream) == 66);
static_assert(sizeof(struct rds_info_rdma_connection) == 68);
static_assert(sizeof(struct rds6_info_rdma_connection) == 92);
static_assert(sizeof(struct rds_rx_trace_so) == 4);
static_assert(sizeof(struct rds_cmsg_rx_trace) == RDS_ABI_ALIGN(4) + 24);
static_assert(sizeof(struct rds_iovec) == 16);
static_assert(sizeof(struct rds_get_mr_args) == 32);
static_assert(sizeof(struct rds_get_mr_for_dest_args) == 160);
static_assert(sizeof(struct rds_free_mr_args) == 16);
static_assert(sizeof(struct rds_rdma_args) == 56);
static_assert(sizeof(struct rds_atomic_args) == 72);
static_assert(sizeof(struct rds_rdma_notify) == RDS_ABI_ALIGN(12));
static_assert(sizeof(struct rds_zcopy_cookies) == 36);
static_assert(offsetof(struct rds_info_connection, transport) == 24);
static_assert(offsetof(struct rds_info_socket, inum) == 20);
static_assert(offsetof(struct rds_cmsg_rx_trace, rx_trace) == RDS_ABI_ALIGN(4));
