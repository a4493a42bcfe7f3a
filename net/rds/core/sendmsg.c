// SPDX-License-Identifier: GPL-2.0-only
/*
 * sendmsg() on RDS sockets.
 *
 * The steps are: resolve the destination; check the limits; build the message;
 * find or create the connection; carry out the control messages (cmsg.c); wait
 * while the port is congested; wait for room in the send buffer; queue the
 * message; and send, unless another task is sending on the path.
 *
 * Once the message is queued, it is on its way and the call succeeds. If the
 * connection is down, core dials it again for as long as it takes (rds(7),
 * "Guarantees"). If the call fails before that, it leaves nothing behind, and
 * nothing is reported for it later.
 */
#include <linux/sched/signal.h>
#include <net/ipv6.h>

#include "addr_watch.h"
#include "cmsg.h"
#include "cong.h"
#include "cong_flow.h"
#include "conn_get.h"
#include "legacy.h"
#include "message.h"
#include "mr.h"
#include "multipath.h"
#include "op.h"
#include "payload.h"
#include "send.h"
#include "sock_ops.h"
#include "transport.h"
#include "zcopy.h"

/* MSG_NOSIGNAL and MSG_EOR have no effect, but libraries and io_uring set
 * them. sendmmsg() sets MSG_BATCH on all messages but the last.
 */
#define RDS_SENDMSG_FLAGS	(MSG_DONTWAIT | MSG_CMSG_COMPAT |	\
				 MSG_ZEROCOPY | MSG_NOSIGNAL | MSG_EOR | \
				 MSG_BATCH)

static int rds_sendmsg_peer(struct rds_sock *rs, struct rds_addr *dest)
{
	rds_sock_read_peer(rs, dest);
	return ipv6_addr_any(&dest->ip) ? -ENOTCONN : 0;
}

static int rds_sendmsg_resolve(struct rds_sock *rs, const struct msghdr *msg,
			       struct rds_addr *dest)
{
	int ret = 0;

	if (msg->msg_namelen &&
	    rds_addr_parse(msg->msg_name, msg->msg_namelen, dest))
		return -EINVAL;

	if (!rds_sock_is_bound(rs))
		return -ENOTCONN;
	if (!msg->msg_namelen)
		ret = rds_sendmsg_peer(rs, dest);
	if (ret)
		return ret;

	if (ipv6_addr_v4mapped(&dest->ip) !=
	    ipv6_addr_v4mapped(&rs->rs_bound.ip))
		return -EOPNOTSUPP;
	if (dest->ifindex && rs->rs_bound.ifindex &&
	    dest->ifindex != rs->rs_bound.ifindex)
		return -EINVAL;
	return 0;
}

static int rds_sendmsg_limits(struct rds_sock *rs, const struct msghdr *msg,
			      size_t len, const struct rds_send_cmsgs *cmsgs)
{
	if (cmsgs->args_err)
		return cmsgs->args_err;
	if (len > RDS_MAX_MSG_SIZE ||
	    cmsgs->args.remote_vec.bytes > RDS_MAX_MSG_SIZE)
		return -EMSGSIZE;
	if (len > rds_sndbuf(rs))
		return -EMSGSIZE;
	if (cmsgs->err)
		return cmsgs->err;
	if (unlikely(msg->msg_flags & MSG_ZEROCOPY) &&
	    (!len || !sock_flag(&rs->rs_sk, SOCK_ZEROCOPY)))
		return -EINVAL;
	return 0;
}

static struct rds_message *rds_sendmsg_copy(struct rds_sock *rs,
					    struct msghdr *msg, size_t len)
{
	struct rds_message *rm;

	rm = rds_message_alloc(len, GFP_KERNEL);
	if (!rm)
		return ERR_PTR(-ENOMEM);

	if (len && rds_payload_copy_in(&rm->m_payload, &msg->msg_iter)) {
		rds_message_put(rm);
		return ERR_PTR(-EFAULT);
	}
	rds_stat_add(rs->rs_rn, copy_from_user, len);
	return rm;
}

static struct rds_message *
rds_sendmsg_build(struct rds_sock *rs, struct msghdr *msg, size_t len,
		  const struct rds_send_cmsgs *cmsgs, __be16 dport)
{
	struct rds_message *rm;

	if (unlikely(msg->msg_flags & MSG_ZEROCOPY))
		rm = rds_zcopy_message(rs, msg, len, cmsgs->cookie);
	else
		rm = rds_sendmsg_copy(rs, msg, len);
	if (IS_ERR(rm))
		return rm;
	rm->m_sport = rs->rs_bound.port;
	rm->m_dport = dport;
	return rm;
}

/* A link-local address at either end gives the connection its scope. */
static u32 rds_sendmsg_scope(const struct rds_sock *rs,
			     const struct rds_addr *dest)
{
	return dest->ifindex ?: rs->rs_bound.ifindex;
}

static bool rds_sendmsg_fits(const struct rds_sock *rs,
			     const struct rds_conn *conn,
			     const struct rds_addr *dest)
{
	return ipv6_addr_equal(&conn->c_key.faddr, &dest->ip) &&
	       conn->c_key.ifindex == rds_sendmsg_scope(rs, dest) &&
	       conn->c_key.tos == READ_ONCE(rs->rs_tos) &&
	       !READ_ONCE(conn->c_path.cp_dead);
}

static struct rds_conn *rds_sendmsg_cached_conn(struct rds_sock *rs,
						const struct rds_addr *dest)
{
	struct rds_conn *conn;

	/* Pairs with the release in rds_sendmsg_keep_conn(). */
	if (unlikely(smp_load_acquire(&rs->rs_conn_as_of) !=
		     rds_addr_state(rs->rs_rn)))
		return NULL;

	rcu_read_lock();
	conn = rcu_dereference(rs->rs_conn);
	if (conn && (!rds_sendmsg_fits(rs, conn, dest) ||
		     !refcount_inc_not_zero(&conn->c_refs)))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

/* Cache the connection for the next message of the socket, unless another
 * thread has cached the result of a later lookup. The caller's reference is not
 * taken over.
 */
static void rds_sendmsg_keep_conn(struct rds_sock *rs, struct rds_conn *conn,
				  int as_of)
{
	struct rds_conn *old = NULL;

	spin_lock_bh(&rs->rs_lock);
	if (!rcu_access_pointer(rs->rs_conn) ||
	    as_of - rs->rs_conn_as_of >= 0) {
		rds_conn_hold(conn);
		old = rcu_replace_pointer(rs->rs_conn, conn,
					  lockdep_is_held(&rs->rs_lock));
		/* Pairs with the acquire in rds_sendmsg_cached_conn(): a sender
		 * that reads this value finds the connection stored with it, or
		 * a newer one.
		 */
		smp_store_release(&rs->rs_conn_as_of, as_of);
	}
	spin_unlock_bh(&rs->rs_lock);
	rds_conn_put(old);
}

static struct rds_conn *rds_sendmsg_find_conn(struct rds_sock *rs,
					      const struct rds_addr *dest)
{
	struct rds_conn_key key = {
		.laddr = rs->rs_bound.ip,
		.faddr = dest->ip,
		.ifindex = rds_sendmsg_scope(rs, dest),
		.tos = READ_ONCE(rs->rs_tos),
	};
	const struct rds_transport *trans;
	struct rds_conn *conn;
	int as_of = rds_addr_state(rs->rs_rn);

	trans = rds_transport_for_faddr(rs->rs_trans, sock_net(&rs->rs_sk),
					&dest->ip, dest->ifindex);
	if (!trans)
		return ERR_PTR(-ENETDOWN);

	key.trans = trans;
	conn = rds_conn_get_for_user(rs->rs_rn, &key,
				     READ_ONCE(rs->rs_sk.sk_uid));
	rds_transport_put(trans);
	if (IS_ERR(conn))
		return conn;

	rds_sendmsg_keep_conn(rs, conn, as_of);
	return conn;
}

/* Returns the connection with a reference for the caller, or an errno as a
 * pointer.
 */
static struct rds_conn *rds_sendmsg_conn(struct rds_sock *rs,
					 const struct rds_addr *dest)
{
	struct rds_conn *conn = rds_sendmsg_cached_conn(rs, dest);

	return conn ?: rds_sendmsg_find_conn(rs, dest);
}

static int rds_sendmsg_wait_cong(struct rds_sock *rs, struct rds_conn *conn,
				 __be16 port, long *timeo)
{
	struct rds_cong_map *map = conn->c_fcong;
	struct rds_net *rn = rs->rs_rn;
	long left, patience;

	rds_cong_acts(rs);
	if (likely(!rds_cong_test(map, port)))
		return 0;

	if (!*timeo) {
		if (!rds_cong_wait_begin(rs, map, port))
			return 0;
		rds_stat_inc(rn, cong_send_error);
		return -ENOBUFS;
	}

	rds_stat_inc(rn, cong_send_blocked);
	patience = min(*timeo, rds_legacy_cong_patience(conn));
	left = wait_event_interruptible_timeout(map->cm_waitq,
						!rds_cong_test(map, port),
						patience);
	if (left < 0)
		return sock_intr_errno(*timeo);
	if (!left && patience == *timeo)
		return -ETIMEDOUT;
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= patience - left;
	return 0;
}

static int rds_sendmsg_wait_room(struct rds_sock *rs, struct rds_message *rm,
				 long *timeo)
{
	struct sock *sk = &rs->rs_sk;
	long left;

	while (!rds_send_account(rs, rm)) {
		rds_stat_inc(rs->rs_rn, send_queue_full);
		if (!*timeo)
			return -EAGAIN;
		left = wait_event_interruptible_timeout(*sk_sleep(sk),
							rds_sock_writeable(rs),
							*timeo);
		if (left < 0)
			return sock_intr_errno(*timeo);
		if (!left)
			return -ETIMEDOUT;
		*timeo = left;
	}
	return 0;
}

/* Move the message to another path. Returns false if it has been canceled. */
static bool rds_sendmsg_move(struct rds_sock *rs, struct rds_message *rm,
			     struct rds_cpath *cp)
{
	struct rds_path *old = rm->m_path;
	bool live;

	spin_lock_bh(&rs->rs_lock);
	live = rm->m_on_sock;
	if (live) {
		rds_conn_hold(cp->cp_conn);
		rm->m_path = &cp->cp_pub;
	}
	spin_unlock_bh(&rs->rs_lock);

	if (live)
		rds_path_put(old);
	return live;
}

/* A path without a wire comes up at once, so wait for it. Then every message to
 * this host, including the first, has arrived when its sendmsg() returns.
 */
static void rds_sendmsg_connect(struct rds_cpath *cp)
{
	if (likely(rds_cpath_state(cp) == RDS_PATH_UP))
		return;
	rds_cpath_connect_soon(cp);
	if (rds_cpath_can(cp, RDS_CAP_LOOPBACK))
		flush_delayed_work(&cp->cp_work);
}

/* If the transport cannot send the payload from user memory, copy it. */
static int rds_sendmsg_suit(struct rds_message *rm, const struct rds_conn *conn)
{
	if (likely(rm->m_payload.kind != RDS_PAYLOAD_USER) ||
	    rds_payload_can_stay(&rm->m_payload, conn->c_path.cp_caps))
		return 0;
	rds_stat_add(conn->c_rn, copy_from_user, rm->m_payload.len);
	return rds_zcopy_copy(rm);
}

/* An operation is not checked against the new connection (rds_cmsg_run()), as
 * nothing may change for it. With a device, both connections are over the
 * socket's transport, which leaves no address to loopback. Otherwise the path
 * checks the peer before it sends a request (rds_sw_check_peer()), because the
 * peer may be replaced at any time, and loopback does every operation. So the
 * check at first only lets sendmsg() fail early.
 */
static int rds_sendmsg_renew_conn(struct rds_sock *rs, struct rds_message *rm,
				  const struct rds_addr *dest,
				  struct rds_conn **conn)
{
	struct rds_conn *next = rds_sendmsg_conn(rs, dest);

	if (IS_ERR(next))
		return PTR_ERR(next);
	rds_conn_put(*conn);
	*conn = next;
	return rds_sendmsg_suit(rm, next);
}

/* Queue the message on its path. If more paths have just come into use, choose
 * the path again. If the connection has died, find another one. Returns
 * -ECANCELED if the message has been canceled meanwhile.
 */
static int rds_sendmsg_submit(struct rds_sock *rs, struct rds_message *rm,
			      const struct rds_addr *dest,
			      struct rds_conn **conn)
{
	bool want_ack = 2 * READ_ONCE(rs->rs_snd_bytes) >= rds_sndbuf(rs) ||
			rm->m_loan || rm->m_op;
	struct rds_cpath *cp = to_cpath(rm->m_path);
	int ret;

	while ((ret = rds_send_submit(cp, rm, want_ack))) {
		if (ret == -ENOTCONN)
			ret = rds_sendmsg_renew_conn(rs, rm, dest, conn);
		else if (ret == -EAGAIN)
			ret = 0;
		if (ret)
			return ret;

		cp = rds_mp_pick(*conn, rm->m_sport, rm->m_dport);
		if (!rds_sendmsg_move(rs, rm, cp))
			return -ECANCELED;
	}
	rds_stat_inc(rs->rs_rn, send_queued);
	rds_sendmsg_connect(cp);
	return 0;
}

/* The message is not sent, so nothing is to be reported for it: neither a
 * completion nor a note.
 */
static void rds_sendmsg_forget(struct rds_message *rm)
{
	rds_zcopy_forget(rm);
	if (unlikely(rm->m_op))
		rds_op_forget(rm);
}

/* Takes over the references to the message and to the connection. */
static int rds_sendmsg_send(struct rds_sock *rs, struct rds_message *rm,
			    const struct rds_addr *dest, struct rds_conn *conn,
			    long timeo)
{
	struct rds_cpath *cp;
	int ret;

	cp = rds_mp_pick(conn, rm->m_sport, rm->m_dport);
	rm->m_path = &cp->cp_pub;
	rds_conn_hold(conn);

	ret = rds_sendmsg_wait_cong(rs, conn, dest->port, &timeo);
	if (!ret)
		ret = rds_sendmsg_wait_room(rs, rm, &timeo);
	if (ret) {
		rds_sendmsg_forget(rm);
		rds_message_put(rm);
		goto out;
	}

	ret = rds_sendmsg_submit(rs, rm, dest, &conn);
	if (ret) {
		ret = ret == -ECANCELED ? 0 : ret;
		if (ret)
			rds_sendmsg_forget(rm);
		rds_send_finish(rm);
	}
out:
	rds_conn_put(conn);
	return ret;
}

static int rds_sendmsg_message(struct socket *sock, struct msghdr *msg,
			       size_t len, const struct rds_send_cmsgs *cmsgs)
{
	long timeo = sock_sndtimeo(sock->sk, msg->msg_flags & MSG_DONTWAIT);
	struct rds_sock *rs = rds_sk(sock->sk);
	rds_rdma_cookie_t mapped;
	struct rds_message *rm;
	struct rds_addr dest;
	struct rds_conn *conn;
	int ret;

	if (msg->msg_flags & ~RDS_SENDMSG_FLAGS)
		return -EOPNOTSUPP;

	ret = rds_sendmsg_resolve(rs, msg, &dest);
	if (ret)
		return ret;

	ret = rds_sendmsg_limits(rs, msg, len, cmsgs);
	if (ret)
		return ret;

	rm = rds_sendmsg_build(rs, msg, len, cmsgs, dest.port);
	if (IS_ERR(rm))
		return PTR_ERR(rm);

	conn = rds_sendmsg_conn(rs, &dest);
	if (IS_ERR(conn)) {
		ret = PTR_ERR(conn);
		goto err_message;
	}

	ret = rds_cmsg_run(cmsgs, rs, conn, rm, &mapped, &timeo);
	if (ret)
		goto err_conn;
	ret = rds_sendmsg_suit(rm, conn);
	if (ret)
		goto err_mapped;

	ret = rds_sendmsg_send(rs, rm, &dest, conn, timeo);
	if (ret && mapped)
		rds_mr_free(rs, mapped);
	return ret ?: len;

err_mapped:
	if (mapped)
		rds_mr_free(rs, mapped);
err_conn:
	rds_conn_put(conn);
err_message:
	rds_sendmsg_forget(rm);
	rds_message_put(rm);
	return ret;
}

/* Most messages have no control messages and need not have @cmsgs on the
 * stack.
 */
static noinline int rds_sendmsg_controlled(struct socket *sock,
					   struct msghdr *msg, size_t len)
{
	struct rds_send_cmsgs cmsgs = { };

	rds_cmsg_read(msg, &cmsgs);
	return rds_sendmsg_message(sock, msg, len, &cmsgs);
}

/**
 * rds_sock_sendmsg() - Send a message (sendmsg(2))
 * @sock: the socket
 * @msg: destination, payload, control messages and flags
 * @len: bytes of payload
 *
 * Context: Process context, may sleep; may load modules.
 * Return: @len; or an errno, see rds(7), "Errors".
 */
int rds_sock_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	static const struct rds_send_cmsgs none;

	if (unlikely(rds_cmsg_expected(msg)))
		return rds_sendmsg_controlled(sock, msg, len);
	return rds_sendmsg_message(sock, msg, len, &none);
}
