// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDS_INFO_*: lists of the objects in the caller's namespace.
 *
 * A list is written twice: first without a buffer, to learn its size, and then
 * to a kernel buffer, both under the locks that the list needs. The copy to
 * user space comes after that, without locks. Records are zeroed before they
 * are filled.
 *
 * A list may grow between the two. The buffer has some room for that; if the
 * list grows by more, it is written again. If the user's buffer is too small,
 * the result is ENOSPC and the size that is needed now. Lists whose records are
 * not counted before (&rds_info_list.partial) return as many as fit even so.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>

#include "conn.h"
#include "info.h"
#include "send.h"
#include "sock_ops.h"
#include "transport.h"
#include "upper.h"

/* How many times to write a list that keeps growing */
#define RDS_INFO_TRIES		8

/* Records by which the buffer is larger than the list, besides a quarter of the
 * list: room for records that are added while it is written
 */
#define RDS_INFO_SPARE		16

static void rds_info_counter(const char *name, u64 value,
			     struct rds_info_iter *iter)
{
	struct rds_info_counter record;

	memset(&record, 0, sizeof(record));
	strscpy(record.name, name, sizeof(record.name));
	record.value = value;
	rds_info_add(iter, &record, sizeof(record));
}

static void rds_info_counters_of(struct rds_net *rn,
				 const struct rds_info_ops *info,
				 struct rds_info_iter *iter)
{
	u64 sums[RDS_TRANS_STATS_MAX] = {};
	unsigned int i;

	if (!info || !info->nr_stats)
		return;
	info->stats(rn->rn_net, sums);
	for (i = 0; i < info->nr_stats; i++)
		rds_info_counter(info->stat_names[i], sums[i], iter);
}

static void rds_info_transport_counters(struct rds_net *rn, unsigned int type,
					struct rds_info_iter *iter)
{
	const struct rds_transport *trans = rds_transport_get(type);

	if (trans)
		rds_info_counters_of(rn, trans->info, iter);
	rds_transport_put(trans);
}

static void rds_info_upper_counters(struct rds_net *rn,
				    struct rds_info_iter *iter)
{
	const struct rds_upper *upper = rds_upper_get();

	if (!upper)
		return;
	rds_info_counters_of(rn, upper->info, iter);
	module_put(upper->owner);
}

static void rds_info_counters(struct rds_net *rn,
			      const struct rds_info_list *list,
			      struct rds_info_iter *iter)
{
	u64 sums[RDS_STAT_COUNT];
	unsigned int i;

	rds_sum_counters((const u64 __percpu *)rn->rn_stats, RDS_STAT_COUNT,
			 sums);
	for (i = 0; i < RDS_STAT_COUNT; i++)
		rds_info_counter(rds_stat_name(i), sums[i], iter);
	for (i = 0; i < RDS_TRANS_SLOTS; i++)
		rds_info_transport_counters(rn, i, iter);
	rds_info_upper_counters(rn, iter);
}

static void rds_info_path(struct rds_cpath *cp, struct rds_info_iter *iter)
{
	struct rds6_info_path record;

	memset(&record, 0, sizeof(record));
	record.laddr = cp->cp_pub.laddr;
	record.faddr = cp->cp_pub.faddr;
	memcpy(record.transport, cp->cp_trans->name, sizeof(record.transport));
	record.index = cp->cp_pub.index;
	record.npaths = READ_ONCE(cp->cp_conn->c_npaths);
	record.tos = cp->cp_pub.tos;

	spin_lock_bh(&cp->cp_lock);
	/* In stock RDS, 4 is the state RESETTING, so ERROR is 5 for users. */
	record.state = cp->cp_state == RDS_PATH_ERROR ? 5 : cp->cp_state;
	record.drop_reason = cp->cp_dial.pd_drop_reason;
	record.since_ms = jiffies_to_msecs(jiffies - cp->cp_dial.pd_since);
	record.attempts = cp->cp_dial.pd_attempts;
	record.established = cp->cp_dial.pd_established;
	record.resets = cp->cp_dial.pd_resets;
	record.next_tx_seq = cp->cp_tx.pt_next_seq;
	spin_unlock_bh(&cp->cp_lock);

	record.next_rx_seq = atomic64_read(&cp->cp_pub.next_rx_seq);
	record.rx_held = atomic_long_read(&cp->cp_conn->c_rx_held);
	rds_info_add(iter, &record, sizeof(record));
}

static u64 rds_info_next_tx_seq(struct rds_cpath *cp)
{
	u64 seq;

	spin_lock_bh(&cp->cp_lock);
	seq = cp->cp_tx.pt_next_seq;
	spin_unlock_bh(&cp->cp_lock);
	return seq;
}

static u8 rds_info_conn_flags(struct rds_cpath *cp)
{
	u8 flags = 0;

	if (mutex_is_locked(&cp->cp_xmit_lock))
		flags |= RDS_INFO_CONNECTION_FLAG_SENDING;
	if (rds_cpath_state(cp) == RDS_PATH_CONNECTING)
		flags |= RDS_INFO_CONNECTION_FLAG_CONNECTING;
	if (rds_cpath_state(cp) == RDS_PATH_UP)
		flags |= RDS_INFO_CONNECTION_FLAG_CONNECTED;
	return flags;
}

static void rds_info_conn_v4(struct rds_conn *conn, struct rds_info_iter *iter)
{
	struct rds_cpath *cp = rds_conn_path(conn, 0);
	struct rds_info_connection record = {
		.next_tx_seq = rds_info_next_tx_seq(cp),
		.next_rx_seq = atomic64_read(&cp->cp_pub.next_rx_seq),
		.laddr = conn->c_key.laddr.s6_addr32[3],
		.faddr = conn->c_key.faddr.s6_addr32[3],
		.flags = rds_info_conn_flags(cp),
		.tos = conn->c_key.tos,
	};

	memcpy(record.transport, conn->c_key.trans->name,
	       sizeof(record.transport));
	rds_info_add(iter, &record, sizeof(record));
}

static void rds_info_conn_v6(struct rds_conn *conn, struct rds_info_iter *iter)
{
	struct rds_cpath *cp = rds_conn_path(conn, 0);
	struct rds6_info_connection record = {
		.next_tx_seq = rds_info_next_tx_seq(cp),
		.next_rx_seq = atomic64_read(&cp->cp_pub.next_rx_seq),
		.laddr = conn->c_key.laddr,
		.faddr = conn->c_key.faddr,
		.flags = rds_info_conn_flags(cp),
	};

	memcpy(record.transport, conn->c_key.trans->name,
	       sizeof(record.transport));
	rds_info_add(iter, &record, sizeof(record));
}

static void rds_info_conns(struct rds_net *rn,
			   const struct rds_info_list *list,
			   struct rds_info_iter *iter)
{
	struct rds_conn *conn;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (list->v6)
			rds_info_conn_v6(conn, iter);
		else if (ipv6_addr_v4mapped(&conn->c_key.laddr))
			rds_info_conn_v4(conn, iter);
	}
	mutex_unlock(&rn->rn_lock);
}

static void rds_info_sock_v4(const struct rds_sock *rs,
			     struct rds_info_iter *iter)
{
	struct rds_info_socket record = {
		.sndbuf = rds_sndbuf(rs),
		.rcvbuf = rds_rcvbuf(rs),
		.bound_addr = rs->rs_bound.ip.s6_addr32[3],
		.bound_port = rs->rs_bound.port,
		.connected_addr = rs->rs_peer.ip.s6_addr32[3],
		.connected_port = rs->rs_peer.port,
		.inum = sock_i_ino((struct sock *)&rs->rs_sk),
	};

	rds_info_add(iter, &record, sizeof(record));
}

static void rds_info_sock_v6(const struct rds_sock *rs,
			     struct rds_info_iter *iter)
{
	struct rds6_info_socket record = {
		.sndbuf = rds_sndbuf(rs),
		.rcvbuf = rds_rcvbuf(rs),
		.connected_addr = rs->rs_peer.ip,
		.connected_port = rs->rs_peer.port,
		.inum = sock_i_ino((struct sock *)&rs->rs_sk),
	};

	if (rds_sock_is_bound(rs)) {
		record.bound_addr = rs->rs_bound.ip;
		record.bound_port = rs->rs_bound.port;
	}
	rds_info_add(iter, &record, sizeof(record));
}

static bool rds_info_sock_is_v4(const struct rds_sock *rs)
{
	return rds_sock_is_bound(rs) && ipv6_addr_v4mapped(&rs->rs_bound.ip);
}

static void rds_info_socks(struct rds_net *rn,
			   const struct rds_info_list *list,
			   struct rds_info_iter *iter)
{
	struct rds_sock *rs;

	mutex_lock(&rn->rn_sock_lock);
	list_for_each_entry(rs, &rn->rn_socks, rs_item) {
		spin_lock_bh(&rs->rs_lock);
		if (list->v6)
			rds_info_sock_v6(rs, iter);
		else if (rds_info_sock_is_v4(rs))
			rds_info_sock_v4(rs, iter);
		spin_unlock_bh(&rs->rs_lock);
		cond_resched();
	}
	mutex_unlock(&rn->rn_sock_lock);
}

/* List the records of paths that only their transport can fill. */
static void rds_info_transport(struct rds_net *rn,
			       const struct rds_info_list *list,
			       struct rds_info_iter *iter)
{
	const struct rds_info_ops *ops;
	struct rds_cpath *cp = NULL;
	union {
		struct rds_info_tcp_socket	tcp;
		struct rds6_info_tcp_socket	tcp6;
		struct rds_info_rdma_connection	ib;
		struct rds6_info_rdma_connection ib6;
	} record;

	mutex_lock(&rn->rn_lock);
	while ((cp = rds_info_next_path(rn, cp))) {
		ops = cp->cp_trans->info;
		if (cp->cp_trans->type != list->trans || !ops || !ops->record)
			continue;
		memset(&record, 0, sizeof(record));
		if (ops->record(&cp->cp_pub, list->opt, &record))
			rds_info_add(iter, &record, list->size);
	}
	mutex_unlock(&rn->rn_lock);
}

static void rds_info_paths(struct rds_net *rn,
			   const struct rds_info_list *list,
			   struct rds_info_iter *iter)
{
	struct rds_cpath *cp = NULL;

	mutex_lock(&rn->rn_lock);
	while ((cp = rds_info_next_path(rn, cp)))
		rds_info_path(cp, iter);
	mutex_unlock(&rn->rn_lock);
}

static void rds_info_add_stream(void *list, const void *record, size_t size)
{
	rds_info_add(list, record, size);
}

static void rds_info_streams(struct rds_net *rn,
			     const struct rds_info_list *list,
			     struct rds_info_iter *iter)
{
	const struct rds_upper *upper = rds_upper_get();

	if (!upper)
		return;
	if (upper->info && upper->info->list)
		upper->info->list(rn->rn_net, rds_info_add_stream, iter);
	module_put(upper->owner);
}

#define RDS_INFO_LIST(_opt, _fill, _record, _v6, _partial)	\
	[(_opt) - RDS_INFO_FIRST] = {				\
		.fill = _fill, .size = sizeof(struct _record),	\
		.v6 = _v6, .partial = _partial,			\
		.opt = _opt, .trans = RDS_TRANS_SLOTS,		\
	}

#define RDS_INFO_OF_TRANSPORT(_opt, _trans, _record)		\
	[(_opt) - RDS_INFO_FIRST] = {				\
		.fill = rds_info_transport,			\
		.size = sizeof(struct _record),			\
		.opt = _opt, .trans = _trans,			\
	}

static const struct rds_info_list
rds_info_lists[RDS_INFO_LAST - RDS_INFO_FIRST + 1] = {
	RDS_INFO_LIST(RDS_INFO_COUNTERS, rds_info_counters,
		      rds_info_counter, false, false),
	RDS_INFO_LIST(RDS_INFO_CONNECTIONS, rds_info_conns,
		      rds_info_connection, false, true),
	RDS_INFO_LIST(RDS_INFO_SEND_MESSAGES, rds_info_send,
		      rds_info_message, false, true),
	RDS_INFO_LIST(RDS_INFO_RETRANS_MESSAGES, rds_info_retrans,
		      rds_info_message, false, true),
	RDS_INFO_LIST(RDS_INFO_RECV_MESSAGES, rds_info_recv,
		      rds_info_message, false, true),
	RDS_INFO_LIST(RDS_INFO_SOCKETS, rds_info_socks,
		      rds_info_socket, false, false),
	RDS_INFO_LIST(RDS6_INFO_CONNECTIONS, rds_info_conns,
		      rds6_info_connection, true, true),
	RDS_INFO_LIST(RDS6_INFO_SEND_MESSAGES, rds_info_send,
		      rds6_info_message, true, true),
	RDS_INFO_LIST(RDS6_INFO_RETRANS_MESSAGES, rds_info_retrans,
		      rds6_info_message, true, true),
	RDS_INFO_LIST(RDS6_INFO_RECV_MESSAGES, rds_info_recv,
		      rds6_info_message, true, true),
	RDS_INFO_LIST(RDS6_INFO_SOCKETS, rds_info_socks,
		      rds6_info_socket, true, false),
	RDS_INFO_OF_TRANSPORT(RDS_INFO_TCP_SOCKETS, RDS_TRANS_TCP,
			      rds_info_tcp_socket),
	RDS_INFO_OF_TRANSPORT(RDS6_INFO_TCP_SOCKETS, RDS_TRANS_TCP,
			      rds6_info_tcp_socket),
	RDS_INFO_OF_TRANSPORT(RDS_INFO_IB_CONNECTIONS, RDS_TRANS_IB,
			      rds_info_rdma_connection),
	RDS_INFO_OF_TRANSPORT(RDS6_INFO_IB_CONNECTIONS, RDS_TRANS_IB,
			      rds6_info_rdma_connection),
};

static const struct rds_info_list rds_info_path_list = {
	.fill	= rds_info_paths,
	.size	= sizeof(struct rds6_info_path),
	.opt	= RDS6_INFO_PATHS,
	.trans	= RDS_TRANS_SLOTS,
	.v6	= true,
	.partial = true,
};

static const struct rds_info_list rds_info_stream_list = {
	.fill	= rds_info_streams,
	.size	= sizeof(struct rds6_info_stream),
	.opt	= RDS6_INFO_STREAMS,
	.trans	= RDS_TRANS_SLOTS,
	.v6	= true,
	.partial = true,
};

/* The list of a transport exists only while the transport is registered, and
 * that of streams while a user above core is.
 */
static const struct rds_info_list *rds_info_find(int opt)
{
	const struct rds_info_list *list;
	const struct rds_transport *trans;

	if (opt == RDS6_INFO_PATHS)
		return &rds_info_path_list;
	if (opt == RDS6_INFO_STREAMS)
		return rds_upper_is_registered() ? &rds_info_stream_list : NULL;

	list = &rds_info_lists[opt - RDS_INFO_FIRST];
	if (!list->fill)
		return NULL;
	if (list->trans == RDS_TRANS_SLOTS)
		return list;

	trans = rds_transport_get(list->trans);
	rds_transport_put(trans);
	return trans ? list : NULL;
}

/* Allocate a buffer, no larger than the user's. */
static int rds_info_make_room(const struct rds_info_list *list,
			      struct rds_info_iter *iter, size_t len)
{
	size_t want = iter->need + iter->need / 4;

	kvfree(iter->buf);
	memset(iter, 0, sizeof(*iter));
	iter->room = min(len, want + RDS_INFO_SPARE * list->size);
	if (!iter->room)
		return 0;
	iter->buf = kvmalloc(iter->room, GFP_KERNEL_ACCOUNT);
	return iter->buf ? 0 : -ENOMEM;
}

static int rds_info_write(struct rds_net *rn, const struct rds_info_list *list,
			  struct rds_info_iter *iter, size_t len)
{
	unsigned int tries = RDS_INFO_TRIES;
	int ret;

	list->fill(rn, list, iter);
	do {
		ret = rds_info_make_room(list, iter, len);
		if (ret)
			return ret;
		list->fill(rn, list, iter);
	} while (iter->need > iter->room && iter->room < len && --tries);
	return 0;
}

static int rds_info_copy(const struct rds_info_list *list,
			 const struct rds_info_iter *iter,
			 char __user *optval, int __user *optlen)
{
	bool whole = iter->need <= iter->room;

	if ((whole || list->partial) &&
	    copy_to_user(optval, iter->buf, iter->used))
		return -EFAULT;
	if (put_user((int)iter->need, optlen))
		return -EFAULT;
	return whole ? (int)list->size : -ENOSPC;
}

/**
 * rds_info_getsockopt() - Copy a list to user space for getsockopt(2)
 * @sock: a socket of the namespace
 * @optname: the list
 * @optval: the user's buffer
 * @optlen: size of the buffer; set to the size of the whole list
 *
 * Context: Process context, may sleep.
 * Return: the size of a record; -ENOSPC if the list does not fit; -ENOPROTOOPT
 * if there is no such list; -EINVAL if the size is negative; -EFAULT if the
 * user's memory is not accessible; -ENOMEM.
 */
int rds_info_getsockopt(struct socket *sock, int optname,
			char __user *optval, int __user *optlen)
{
	const struct rds_info_list *list;
	struct rds_info_iter iter = {};
	struct rds_net *rn;
	int len, ret;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;

	list = rds_info_find(optname);
	if (!list)
		return -ENOPROTOOPT;

	rn = rds_net(sock_net(sock->sk));
	ret = rds_info_write(rn, list, &iter, len);
	if (!ret)
		ret = rds_info_copy(list, &iter, optval, optlen);
	kvfree(iter.buf);
	return ret;
}
