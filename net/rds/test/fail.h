/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Failures of single calls. RDS_FAIL=1 scripts/build has the compiler include
 * this before each file of the modules; otherwise nothing does.
 *
 * Each place where our modules call a function below is a point. A point counts
 * how often it is reached, in whatever context, and fails when fail.c is told
 * so: the function is not called, and the caller gets what it returns for want
 * of memory. fail-nth of the kernel lets only the calls of one task fail, and
 * knows no functions of the network and of devices.
 *
 * The names of all points are in the section rds_points of the modules, so that
 * those can be listed that are never reached. The functions are those of
 * Linux 6.1, the debug kernel.
 */
#ifndef _RDS_FAIL_H
#define _RDS_FAIL_H

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/inetdevice.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/rhashtable.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/sockptr.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* The number of a point in the table of fail.c; 0 until it is reached */
struct rds_fail_point {
	int id;
};

bool rds_fail(struct rds_fail_point *point, const char *name);

#define RDS_FAILS(name)							\
({									\
	static const char rds_fail_name[] __used __section("rds_points") = \
		__FILE__ ":" __stringify(__LINE__) " " #name;		\
	static struct rds_fail_point rds_fail_point;			\
									\
	rds_fail(&rds_fail_point, rds_fail_name);			\
})

#define RDS_FAIL(name, result, ...)					\
	(RDS_FAILS(name) ? (__typeof__(name(__VA_ARGS__)))(result) :	\
			   name(__VA_ARGS__))

/* The caller may ask for the first work request that is not posted. */
static inline int rds_fail_post_recv(const struct ib_recv_wr *wr,
				     const struct ib_recv_wr **bad)
{
	if (bad)
		*bad = wr;
	return -ENOMEM;
}

/* Memory */
#define kmalloc(...)		RDS_FAIL(kmalloc, NULL, __VA_ARGS__)
#define kmalloc_array(...)	RDS_FAIL(kmalloc_array, NULL, __VA_ARGS__)
#define kzalloc(...)		RDS_FAIL(kzalloc, NULL, __VA_ARGS__)
#define kcalloc(...)		RDS_FAIL(kcalloc, NULL, __VA_ARGS__)
#define kmemdup(...)		RDS_FAIL(kmemdup, NULL, __VA_ARGS__)
#define kvmalloc(...)		RDS_FAIL(kvmalloc, NULL, __VA_ARGS__)
#define kvmalloc_array(...)	RDS_FAIL(kvmalloc_array, NULL, __VA_ARGS__)
#define kvzalloc(...)		RDS_FAIL(kvzalloc, NULL, __VA_ARGS__)
#define kvcalloc(...)		RDS_FAIL(kvcalloc, NULL, __VA_ARGS__)
#define kmem_cache_alloc(...)	RDS_FAIL(kmem_cache_alloc, NULL, __VA_ARGS__)
#define kmem_cache_create(...)	RDS_FAIL(kmem_cache_create, NULL, __VA_ARGS__)
#define kmem_cache_create_usercopy(...)				\
	RDS_FAIL(kmem_cache_create_usercopy, NULL, __VA_ARGS__)
#define alloc_pages(...)	RDS_FAIL(alloc_pages, NULL, __VA_ARGS__)
#define alloc_pages_exact(...)	RDS_FAIL(alloc_pages_exact, NULL, __VA_ARGS__)
#define __alloc_percpu(...)	RDS_FAIL(__alloc_percpu, NULL, __VA_ARGS__)
#define alloc_workqueue(...)	RDS_FAIL(alloc_workqueue, NULL, __VA_ARGS__)
#define alloc_skb(...)		RDS_FAIL(alloc_skb, NULL, __VA_ARGS__)
#define sk_alloc(...)		RDS_FAIL(sk_alloc, NULL, __VA_ARGS__)
#define skb_page_frag_refill(...)				\
	RDS_FAIL(skb_page_frag_refill, false, __VA_ARGS__)
#define sg_alloc_table_from_pages_segment(...)			\
	RDS_FAIL(sg_alloc_table_from_pages_segment, -ENOMEM, __VA_ARGS__)

/* Memory of users */
#define copy_from_user(...)	RDS_FAIL(copy_from_user, 1, __VA_ARGS__)
#define copy_to_user(...)	RDS_FAIL(copy_to_user, 1, __VA_ARGS__)
#define copy_from_sockptr(...)					\
	RDS_FAIL(copy_from_sockptr, -EFAULT, __VA_ARGS__)
#define copy_from_iter(...)	RDS_FAIL(copy_from_iter, 0, __VA_ARGS__)
#define copy_from_iter_full(...)				\
	RDS_FAIL(copy_from_iter_full, false, __VA_ARGS__)
#define copy_to_iter(...)	RDS_FAIL(copy_to_iter, 0, __VA_ARGS__)
#define iov_iter_get_pages2(...)				\
	RDS_FAIL(iov_iter_get_pages2, -EFAULT, __VA_ARGS__)
#define pin_user_pages(...)	RDS_FAIL(pin_user_pages, -ENOMEM, __VA_ARGS__)
#define pin_user_pages_fast(...)				\
	RDS_FAIL(pin_user_pages_fast, -ENOMEM, __VA_ARGS__)
#define mm_account_pinned_pages(...)				\
	RDS_FAIL(mm_account_pinned_pages, -ENOBUFS, __VA_ARGS__)
#define fault_in_readable(...)	RDS_FAIL(fault_in_readable, 1, __VA_ARGS__)
#define fault_in_safe_writeable(...)				\
	RDS_FAIL(fault_in_safe_writeable, 1, __VA_ARGS__)
#define put_cmsg(...)		RDS_FAIL(put_cmsg, -EFAULT, __VA_ARGS__)

/* Tables, and what a module or a namespace registers */
#define rhashtable_init(...)	RDS_FAIL(rhashtable_init, -ENOMEM, __VA_ARGS__)
#define rhashtable_insert_fast(...)				\
	RDS_FAIL(rhashtable_insert_fast, -ENOMEM, __VA_ARGS__)
#define rhashtable_lookup_insert_fast(...)			\
	RDS_FAIL(rhashtable_lookup_insert_fast, -ENOMEM, __VA_ARGS__)
#define rhashtable_lookup_get_insert_fast(...)			\
	RDS_FAIL(rhashtable_lookup_get_insert_fast, ERR_PTR(-ENOMEM), \
		 __VA_ARGS__)
#define xa_insert_bh(...)	RDS_FAIL(xa_insert_bh, -ENOMEM, __VA_ARGS__)
#define xa_store(...)						\
	RDS_FAIL(xa_store, XA_ERROR(-ENOMEM), __VA_ARGS__)
#define proto_register(...)	RDS_FAIL(proto_register, -ENOMEM, __VA_ARGS__)
#define sock_register(...)	RDS_FAIL(sock_register, -ENOBUFS, __VA_ARGS__)
#define register_net_sysctl(...)				\
	RDS_FAIL(register_net_sysctl, NULL, __VA_ARGS__)
#define register_pernet_subsys(...)				\
	RDS_FAIL(register_pernet_subsys, -ENOMEM, __VA_ARGS__)
#define register_pernet_device(...)				\
	RDS_FAIL(register_pernet_device, -ENOMEM, __VA_ARGS__)
#define register_netdevice_notifier(...)			\
	RDS_FAIL(register_netdevice_notifier, -ENOMEM, __VA_ARGS__)
#define register_inetaddr_notifier(...)				\
	RDS_FAIL(register_inetaddr_notifier, -ENOMEM, __VA_ARGS__)
#define register_inet6addr_notifier(...)			\
	RDS_FAIL(register_inet6addr_notifier, -ENOMEM, __VA_ARGS__)

/* The network */
#define sock_create_kern(...)					\
	RDS_FAIL(sock_create_kern, -ENOBUFS, __VA_ARGS__)
#define kernel_accept(...)	RDS_FAIL(kernel_accept, -ENOMEM, __VA_ARGS__)
#define kernel_bind(...)	RDS_FAIL(kernel_bind, -ENOMEM, __VA_ARGS__)
#define kernel_connect(...)	RDS_FAIL(kernel_connect, -ENOBUFS, __VA_ARGS__)
#define kernel_listen(...)	RDS_FAIL(kernel_listen, -ENOMEM, __VA_ARGS__)
#define kernel_recvmsg(...)	RDS_FAIL(kernel_recvmsg, -EAGAIN, __VA_ARGS__)
#define tcp_sendmsg_locked(...)					\
	RDS_FAIL(tcp_sendmsg_locked, -EPIPE, __VA_ARGS__)
#define tcp_sendpage_locked(...)				\
	RDS_FAIL(tcp_sendpage_locked, -EPIPE, __VA_ARGS__)
#define ip_route_output_key(...)				\
	RDS_FAIL(ip_route_output_key, ERR_PTR(-ENOBUFS), __VA_ARGS__)
#define ip6_dst_lookup_flow(...)				\
	RDS_FAIL(ip6_dst_lookup_flow, ERR_PTR(-ENOMEM), __VA_ARGS__)

/* Devices and their connection manager. rdma_create_id() and ib_alloc_pd() are
 * macros.
 */
#define __rdma_create_kernel_id(...)				\
	RDS_FAIL(__rdma_create_kernel_id, ERR_PTR(-ENOMEM), __VA_ARGS__)
#define rdma_bind_addr(...)	RDS_FAIL(rdma_bind_addr, -ENOMEM, __VA_ARGS__)
#define rdma_resolve_addr(...)					\
	RDS_FAIL(rdma_resolve_addr, -ENOMEM, __VA_ARGS__)
#define rdma_resolve_route(...)					\
	RDS_FAIL(rdma_resolve_route, -ENOMEM, __VA_ARGS__)
#define rdma_connect_locked(...)				\
	RDS_FAIL(rdma_connect_locked, -ENOMEM, __VA_ARGS__)
#define rdma_listen(...)	RDS_FAIL(rdma_listen, -ENOMEM, __VA_ARGS__)
#define rdma_accept(...)	RDS_FAIL(rdma_accept, -ENOMEM, __VA_ARGS__)
#define rdma_notify(...)	RDS_FAIL(rdma_notify, -EINVAL, __VA_ARGS__)
#define rdma_create_qp(...)	RDS_FAIL(rdma_create_qp, -ENOMEM, __VA_ARGS__)
#define rdma_get_gid_attr(...)					\
	RDS_FAIL(rdma_get_gid_attr, ERR_PTR(-ENOENT), __VA_ARGS__)
#define ib_query_port(...)	RDS_FAIL(ib_query_port, -EINVAL, __VA_ARGS__)
#define ib_register_client(...)					\
	RDS_FAIL(ib_register_client, -ENOMEM, __VA_ARGS__)
#define __ib_alloc_pd(...)					\
	RDS_FAIL(__ib_alloc_pd, ERR_PTR(-ENOMEM), __VA_ARGS__)
#define ib_alloc_cq_any(...)					\
	RDS_FAIL(ib_alloc_cq_any, ERR_PTR(-ENOMEM), __VA_ARGS__)
#define ib_create_qp(...)					\
	RDS_FAIL(ib_create_qp, ERR_PTR(-ENOMEM), __VA_ARGS__)
#define ib_modify_qp(...)	RDS_FAIL(ib_modify_qp, -ENOMEM, __VA_ARGS__)
#define ib_alloc_mr(...)					\
	RDS_FAIL(ib_alloc_mr, ERR_PTR(-ENOMEM), __VA_ARGS__)
#define ib_map_mr_sg(...)	RDS_FAIL(ib_map_mr_sg, -ENOMEM, __VA_ARGS__)
#define ib_dma_map_sgtable_attrs(...)				\
	RDS_FAIL(ib_dma_map_sgtable_attrs, -ENOMEM, __VA_ARGS__)
#define ib_dma_mapping_error(...)				\
	RDS_FAIL(ib_dma_mapping_error, 1, __VA_ARGS__)
#define ib_post_send(...)	RDS_FAIL(ib_post_send, -ENOMEM, __VA_ARGS__)
#define ib_post_recv(qp, wr, bad)				\
	(RDS_FAILS(ib_post_recv) ? rds_fail_post_recv(wr, bad) : \
				   ib_post_recv(qp, wr, bad))

#endif /* _RDS_FAIL_H */
