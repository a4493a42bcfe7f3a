// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDS_INFO_*: the lists of messages. Each queue is listed under its own lock,
 * cp_lock or rs_recv_lock, so a list shows each queue as it was at one moment,
 * but not all of them at the same one.
 */
#include <net/ipv6.h>

#include "conn.h"
#include "info.h"
#include "message.h"
#include "sock.h"

/* A message, sent or received, with the fields of both kinds of record */
struct rds_info_msg {
	u64			seq;
	u32			len;
	const struct in6_addr	*laddr;
	const struct in6_addr	*faddr;
	__be16			lport;
	__be16			fport;
	u8			tos;
};

static void rds_info_add_msg(const struct rds_info_list *list,
			     const struct rds_info_msg *msg,
			     struct rds_info_iter *iter)
{
	struct rds6_info_message v6 = {
		.seq = msg->seq, .len = msg->len,
		.laddr = *msg->laddr, .faddr = *msg->faddr,
		.lport = msg->lport, .fport = msg->fport, .tos = msg->tos,
	};
	struct rds_info_message v4 = {
		.seq = msg->seq, .len = msg->len,
		.laddr = msg->laddr->s6_addr32[3],
		.faddr = msg->faddr->s6_addr32[3],
		.lport = msg->lport, .fport = msg->fport, .tos = msg->tos,
	};

	if (list->v6)
		rds_info_add(iter, &v6, sizeof(v6));
	else if (ipv6_addr_v4mapped(msg->laddr))
		rds_info_add(iter, &v4, sizeof(v4));
}

/* A message without a sequence number is listed with the one that it would get
 * if it were sent now. @next is that number, and is incremented.
 */
static void rds_info_path_queue(struct rds_cpath *cp, struct list_head *queue,
				u64 *next, const struct rds_info_list *list,
				struct rds_info_iter *iter)
	__must_hold(&cp->cp_lock)
{
	struct rds_message *msg;

	lockdep_assert_held(&cp->cp_lock);
	list_for_each_entry(msg, queue, m_path_item) {
		struct rds_info_msg record = {
			.seq = msg->m_seq ?: (*next)++,
			.len = msg->m_payload.len,
			.laddr = &cp->cp_pub.laddr, .faddr = &cp->cp_pub.faddr,
			.lport = msg->m_sport, .fport = msg->m_dport,
			.tos = cp->cp_pub.tos,
		};

		rds_info_add_msg(list, &record, iter);
	}
}

/* List queued messages, and then parked ones. */
static void rds_info_path_send(struct rds_cpath *cp,
			       const struct rds_info_list *list,
			       struct rds_info_iter *iter)
{
	struct rds_parked *pd;
	unsigned long port;
	u64 next;

	spin_lock_bh(&cp->cp_lock);
	next = cp->cp_tx.pt_next_seq;
	rds_info_path_queue(cp, &cp->cp_tx.pt_queue, &next, list, iter);
	xa_for_each(&cp->cp_park.pk_ports, port, pd)
		rds_info_path_queue(cp, &pd->pd_msgs, &next, list, iter);
	spin_unlock_bh(&cp->cp_lock);
}

static void rds_info_path_retrans(struct rds_cpath *cp,
				  const struct rds_info_list *list,
				  struct rds_info_iter *iter)
{
	u64 next = 0;

	spin_lock_bh(&cp->cp_lock);
	rds_info_path_queue(cp, &cp->cp_tx.pt_retrans, &next, list, iter);
	spin_unlock_bh(&cp->cp_lock);
}

/**
 * rds_info_next_path() - Walk over all paths of a namespace
 * @rn: the namespace
 * @cp: the path that the walk has come to; NULL to begin
 *
 * Context: Process context. rn_lock is held.
 * Return: the next path, or NULL at the end.
 */
struct rds_cpath *rds_info_next_path(struct rds_net *rn,
				     struct rds_cpath *cp)
	__must_hold(&rn->rn_lock)
{
	unsigned int i = cp ? cp->cp_pub.index + 1 : 0;
	struct rds_conn *conn;

	lockdep_assert_held(&rn->rn_lock);

	conn = cp ? cp->cp_conn :
		    list_first_entry(&rn->rn_conn_list, struct rds_conn,
				     c_item);
	list_for_each_entry_from(conn, &rn->rn_conn_list, c_item) {
		for (; i < RDS_MAX_PATHS; i++) {
			if (conn->c_paths[i])
				return conn->c_paths[i];
		}
		i = 0;
	}
	return NULL;
}

/**
 * rds_info_send() - List the messages that are queued or parked
 * @rn: the namespace
 * @list: the list
 * @iter: destination
 *
 * Context: Process context, may sleep. Takes rn_lock, cp_lock.
 */
void rds_info_send(struct rds_net *rn, const struct rds_info_list *list,
		   struct rds_info_iter *iter)
{
	struct rds_cpath *cp = NULL;

	mutex_lock(&rn->rn_lock);
	while ((cp = rds_info_next_path(rn, cp)))
		rds_info_path_send(cp, list, iter);
	mutex_unlock(&rn->rn_lock);
}

/**
 * rds_info_retrans() - List the messages that are sent and not acknowledged
 * @rn: the namespace
 * @list: the list
 * @iter: destination
 *
 * Context: Process context, may sleep. Takes rn_lock, cp_lock.
 */
void rds_info_retrans(struct rds_net *rn,
		      const struct rds_info_list *list,
		      struct rds_info_iter *iter)
{
	struct rds_cpath *cp = NULL;

	mutex_lock(&rn->rn_lock);
	while ((cp = rds_info_next_path(rn, cp)))
		rds_info_path_retrans(cp, list, iter);
	mutex_unlock(&rn->rn_lock);
}

static void rds_info_sock_queue(struct rds_sock *rs,
				const struct rds_info_list *list,
				struct rds_info_iter *iter)
{
	struct rds_incoming *inc;

	spin_lock_bh(&rs->rs_recv_lock);
	list_for_each_entry(inc, &rs->rs_recv_queue, i_item) {
		struct rds_info_msg record = {
			.seq = inc->i_seq, .len = inc->i_len,
			.laddr = &rs->rs_bound.ip, .faddr = &inc->i_saddr,
			.lport = inc->i_dport, .fport = inc->i_sport,
			.tos = inc->i_tos,
		};

		rds_info_add_msg(list, &record, iter);
	}
	spin_unlock_bh(&rs->rs_recv_lock);
}

/**
 * rds_info_recv() - List the messages that are received and not read
 * @rn: the namespace
 * @list: the list
 * @iter: destination
 *
 * Context: Process context, may sleep. Takes rn_sock_lock, rs_recv_lock.
 */
void rds_info_recv(struct rds_net *rn, const struct rds_info_list *list,
		   struct rds_info_iter *iter)
{
	struct rds_sock *rs;

	mutex_lock(&rn->rn_sock_lock);
	list_for_each_entry(rs, &rn->rn_socks, rs_item) {
		rds_info_sock_queue(rs, list, iter);
		cond_resched();
	}
	mutex_unlock(&rn->rn_sock_lock);
}
