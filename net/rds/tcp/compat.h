/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel versions, wrapped by feature. The other files of
 * this directory are written for the newest kernel only.
 */
#ifndef _RDS_TCP_COMPAT_H
#define _RDS_TCP_COMPAT_H

#include <linux/bvec.h>
#include <linux/kobject_ns.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/* Since 6.14, and in some earlier stable kernels, the kernel makes each kernel
 * socket hold the memory of its namespace. Holding it twice does no harm.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define RDS_TCP_SOCK_KEEPS_NET	1

static inline void rds_tcp_net_keep(struct net *net)
{
}

static inline void rds_tcp_net_drop(struct net *net)
{
}
#else
#define RDS_TCP_SOCK_KEEPS_NET	0

static inline void rds_tcp_net_keep(struct net *net)
{
	refcount_inc(&net->passive);
}

static inline void rds_tcp_net_drop(struct net *net)
{
	net_ns_type_operations.drop_ns(net);
}
#endif

/* Since 6.12, the data of a packet may be in device memory. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define rds_tcp_skb_readable(skb)	skb_frags_readable(skb)
#else
#define rds_tcp_skb_readable(skb)	true
#endif

/* Since 6.5, one call splices all pages. Before, each page takes one call. That
 * call can be told that another page follows: TCP then does not look for
 * packets to send. This works for bytes before the pages, too, if they are in a
 * page.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
static inline int rds_tcp_splice(struct sock *sk, const struct bio_vec *bvec,
				 unsigned int nr, size_t skip, size_t len,
				 int flags)
{
	struct msghdr mh = { .msg_flags = flags | MSG_SPLICE_PAGES };

	iov_iter_bvec(&mh.msg_iter, ITER_SOURCE, bvec, nr, skip + len);
	iov_iter_advance(&mh.msg_iter, skip);
	return tcp_sendmsg_locked(sk, &mh, len);
}

/* Send bytes that pages will follow. Returns how many TCP has taken, or an
 * errno: -EAGAIN also if there is no memory for them.
 */
static inline int rds_tcp_copy_before(struct sock *sk, void *data, size_t len,
				      int flags)
{
	struct msghdr mh = { .msg_flags = flags | MSG_MORE };
	struct kvec vec = { .iov_base = data, .iov_len = len };

	iov_iter_kvec(&mh.msg_iter, ITER_SOURCE, &vec, 1, len);
	return tcp_sendmsg_locked(sk, &mh, len);
}
#else
static inline int rds_tcp_splice(struct sock *sk, const struct bio_vec *bvec,
				 unsigned int nr, size_t skip, size_t len,
				 int flags)
{
	size_t sent = 0, bytes;
	int part, ret = 0;

	for (; nr && sent < len; bvec++, nr--) {
		if (skip >= bvec->bv_len) {
			skip -= bvec->bv_len;
			continue;
		}
		bytes = min_t(size_t, bvec->bv_len - skip, len - sent);
		part = flags;
		if (sent + bytes < len)
			part |= MSG_MORE | MSG_SENDPAGE_NOTLAST;
		ret = tcp_sendpage_locked(sk, bvec->bv_page,
					  bvec->bv_offset + skip, bytes, part);
		if (ret < 0)
			break;
		sent += ret;
		if (ret < bytes)
			break;
		skip = 0;
	}
	return sent ? sent : ret;
}

static inline int rds_tcp_copy_before(struct sock *sk, void *data, size_t len,
				      int flags)
{
	struct page_frag *frag = sk_page_frag(sk);
	int ret;

	if (!skb_page_frag_refill(len, frag, sk->sk_allocation))
		return -EAGAIN;
	memcpy(page_address(frag->page) + frag->offset, data, len);
	ret = tcp_sendpage_locked(sk, frag->page, frag->offset, len,
				  flags | MSG_MORE | MSG_SENDPAGE_NOTLAST);
	if (ret > 0)
		frag->offset += ret;
	return ret;
}
#endif

#endif /* _RDS_TCP_COMPAT_H */
