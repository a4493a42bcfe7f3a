// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user of connections that stands above core: what it asks of core.
 *
 * A frame is submitted in any context: it goes to the send queue of the path
 * that its ports select, and the path's work item sends it. A task that may
 * sleep sends it itself, by rds_upper_push(). The order in which frames are
 * submitted is the order in which they are sent.
 *
 * The owner of a frame has it on a list of its own, linked by m_sock_item. As
 * for messages of sockets (send.c), the context that removes the frame from the
 * path's list completes it.
 */
#include <linux/module.h>
#include <linux/rds.h>
#include <linux/sched/stat.h>
#include <net/rds/frame.h>
#include <net/sock.h>

#include "account.h"
#include "coalesce.h"
#include "conn_get.h"
#include "incoming.h"
#include "multipath.h"
#include "payload.h"
#include "pong.h"
#include "send.h"
#include "transport.h"
#include "upper.h"

#include <trace/events/rds.h>

/* From here on, events of the connection are reported. */
static void rds_upper_watch(struct rds_conn *conn)
{
	if (!READ_ONCE(conn->c_upper))
		WRITE_ONCE(conn->c_upper, true);
	rds_conn_set_used(conn);
	/* Pairs with the barrier in rds_upper_event(). */
	smp_mb();
}

/**
 * rds_upper_open() - Get the connection between two addresses
 * @net: the namespace
 * @key: the addresses, and the user
 *
 * The connection may be down. It pins its transport until rds_upper_close().
 *
 * Context: Process context, may sleep; may load modules.
 * Return: the connection with a reference for the caller, or an error pointer:
 * -EADDRNOTAVAIL if no transport serves our address; -ENETUNREACH if its
 * transport cannot reach the peer; or an error of rds_conn_get_for_user().
 */
struct rds_conn *rds_upper_open(struct net *net,
				const struct rds_upper_key *key)
{
	const struct rds_transport *local, *trans;
	struct rds_conn_key ckey = {
		.laddr = key->laddr,
		.faddr = key->faddr,
		.ifindex = key->ifindex,
	};
	struct rds_conn *conn;

	local = rds_transport_for_laddr(net, &key->laddr, key->ifindex);
	if (IS_ERR_OR_NULL(local))
		return local ? ERR_CAST(local) : ERR_PTR(-EADDRNOTAVAIL);
	trans = rds_transport_for_faddr(local, net, &key->faddr, key->ifindex);
	rds_transport_put(local);
	if (!trans)
		return ERR_PTR(-ENETUNREACH);

	ckey.trans = trans;
	conn = rds_conn_get_for_user(rds_net(net), &ckey, key->uid);
	if (IS_ERR(conn))
		rds_transport_put(trans);
	else
		rds_upper_watch(conn);
	return conn;
}
EXPORT_SYMBOL_GPL(rds_upper_open);

/**
 * rds_upper_demand() - Load the transport by which peers reach an address
 * @net: the namespace
 * @ip: a local address, or NULL for any
 * @ifindex: its scope, or 0
 *
 * As for a datagram socket that is bound to it: nothing is loaded for the
 * address of an RDMA device in use.
 *
 * Context: Process context, may sleep; may load modules.
 */
void rds_upper_demand(struct net *net, const struct in6_addr *ip, u32 ifindex)
{
	const struct rds_transport *trans;

	trans = ip ? rds_transport_for_laddr(net, ip, ifindex) :
		     rds_transport_demand(RDS_TRANS_TCP);
	if (!IS_ERR_OR_NULL(trans))
		rds_transport_put(trans);
}
EXPORT_SYMBOL_GPL(rds_upper_demand);

/**
 * rds_upper_hold() - Use the connection on which a frame has arrived
 * @conn: the connection
 *
 * Context: Deliver context.
 * Return: true if the caller has got a reference, to be put by
 * rds_upper_close(); false if the transport is being unloaded.
 */
bool rds_upper_hold(struct rds_conn *conn)
{
	if (!try_module_get(conn->c_path.cp_trans->owner))
		return false;
	rds_conn_hold(conn);
	rds_upper_watch(conn);
	return true;
}
EXPORT_SYMBOL_GPL(rds_upper_hold);

/**
 * rds_upper_close() - Give a connection back
 * @conn: the connection, from rds_upper_open() or rds_upper_hold()
 *
 * Context: Any context.
 */
void rds_upper_close(struct rds_conn *conn)
{
	const struct rds_transport *trans = conn->c_path.cp_trans;

	rds_conn_put(conn);
	rds_transport_put(trans);
}
EXPORT_SYMBOL_GPL(rds_upper_close);

/**
 * rds_upper_dial() - Connect if a connection is down
 * @conn: the connection
 *
 * Context: Any context.
 */
void rds_upper_dial(struct rds_conn *conn)
{
	rds_cpath_connect_soon(rds_conn_path(conn, 0));
}
EXPORT_SYMBOL_GPL(rds_upper_dial);

/**
 * rds_upper_alloc() - Allocate a frame
 * @len: bytes of payload, at most RDS_MAX_MSG_SIZE
 * @gfp: allocation flags
 *
 * Context: Any context that @gfp permits; process context if @len is not 0.
 * Return: the frame with a reference for the caller; NULL if there is no
 * memory.
 */
struct rds_message *rds_upper_alloc(u32 len, gfp_t gfp)
{
	struct rds_message *msg;

	msg = len ? rds_message_alloc(len, gfp) : rds_message_alloc_empty(gfp);
	if (msg)
		msg->m_kind = RDS_MSG_STREAM;
	return msg;
}
EXPORT_SYMBOL_GPL(rds_upper_alloc);

/**
 * rds_upper_fill() - Fill the payload of a frame
 * @msg: the frame, new
 * @from: the source; at least as many bytes as the payload has
 *
 * Context: Process context, may sleep.
 * Return: 0; -EFAULT if not all bytes could be copied.
 */
int rds_upper_fill(struct rds_message *msg, struct iov_iter *from)
{
	return rds_payload_copy_in(&msg->m_payload, from);
}
EXPORT_SYMBOL_GPL(rds_upper_fill);

/**
 * rds_upper_submit() - Queue a frame
 * @conn: the connection
 * @msg: the frame, new, with ports and extension header; on success the
 *	reference is taken over
 * @owner: passed to &rds_upper.done; pins the module, unless that gives up the
 *	frame before it goes
 * @epoch: the peer's incarnation that the frame is meant for; see
 *	rds_upper_peer()
 * @how: bits of enum rds_upper_how
 *
 * Context: Any context. Takes cp_lock.
 * Return: 0; -ENOTCONN if the connection is being destroyed.
 */
int rds_upper_submit(struct rds_conn *conn, struct rds_message *msg,
		     void *owner, u32 epoch, unsigned int how)
{
	struct rds_cpath *cp;
	bool want_ack;
	int ret;

	rds_conn_hold(conn);
	msg->m_owner = owner;
	msg->m_epoch = epoch;
	do {
		cp = rds_mp_pick(conn, msg->m_sport, msg->m_dport);
		msg->m_path = &cp->cp_pub;
		want_ack = ((how & RDS_UPPER_ASK) || msg->m_loan) &&
			   !rds_cpath_can(cp, RDS_CAP_SELF_ACKED);
		ret = rds_send_enqueue(cp, msg, want_ack, false);
	} while (ret == -EAGAIN);
	if (ret) {
		msg->m_path = NULL;
		msg->m_owner = NULL;
		rds_conn_put(conn);
		return ret;
	}

	if (unlikely(rds_cpath_state(cp) != RDS_PATH_UP))
		rds_cpath_connect_soon(cp);
	else if (how & RDS_UPPER_KICK)
		rds_cpath_kick(cp, 0);
	return 0;
}
EXPORT_SYMBOL_GPL(rds_upper_submit);

/**
 * rds_upper_push() - Send frames that were submitted
 * @conn: the connection
 * @sport: their sending port
 * @dport: their receiving port
 *
 * Frames that were submitted without %RDS_UPPER_KICK wait for this call, for
 * rds_upper_kick(), or for the next frame that is sent on their path.
 *
 * Context: Process context, may sleep. No locks.
 */
void rds_upper_push(struct rds_conn *conn, __be16 sport, __be16 dport)
{
	struct rds_cpath *cp = rds_mp_pick(conn, sport, dport);

	if (rds_cpath_state(cp) == RDS_PATH_UP)
		rds_send_run(cp);
}
EXPORT_SYMBOL_GPL(rds_upper_push);

/**
 * rds_upper_kick() - Send frames that were submitted, in any context
 * @conn: the connection
 * @sport: their sending port
 * @dport: their receiving port
 *
 * As rds_upper_push(), but the path's work item sends them.
 *
 * Context: Any context.
 */
void rds_upper_kick(struct rds_conn *conn, __be16 sport, __be16 dport)
{
	rds_cpath_kick(rds_mp_pick(conn, sport, dport), 0);
}
EXPORT_SYMBOL_GPL(rds_upper_kick);

/* On an idle processor, and where frames have nothing to share, each frame is
 * sent at once.
 */
static bool rds_upper_leave(struct rds_cpath *cp)
{
	unsigned int left;

	if (!cp->cp_trans->data->flush || single_task_running())
		return false;
	left = rds_coalesce_add(&cp->cp_coalesce);
	if (!left)
		return false;
	rds_stat_inc(cp->cp_conn->c_rn, send_coalesced);
	if (left == 1)
		rds_cpath_kick(cp, 0);
	return true;
}

/**
 * rds_upper_push_small() - Send small frames that were submitted
 * @conn: the connection
 * @sport: their sending port
 * @dport: their receiving port
 *
 * As rds_upper_push(), but while other tasks wait for the processor, frames of
 * several senders may share a transmission (coalesce.c).
 *
 * Context: Process context, may sleep. No locks.
 */
void rds_upper_push_small(struct rds_conn *conn, __be16 sport, __be16 dport)
{
	struct rds_cpath *cp = rds_mp_pick(conn, sport, dport);

	if (rds_cpath_state(cp) == RDS_PATH_UP && !rds_upper_leave(cp))
		rds_send_run(cp);
}
EXPORT_SYMBOL_GPL(rds_upper_push_small);

/**
 * rds_upper_cancel() - Give up a frame
 * @msg: the frame, submitted; the caller has another reference
 *
 * A frame that a transport is sending goes on, without its owner.
 *
 * Context: Any context. Takes cp_lock.
 * Return: true if &rds_upper.done is not called for the frame any more; false
 * if it has been called, or is called now or soon.
 */
bool rds_upper_cancel(struct rds_message *msg)
{
	struct rds_cpath *cp = to_cpath(msg->m_path);
	bool on_path, queued;

	spin_lock_bh(&cp->cp_lock);
	on_path = msg->m_on_path;
	queued = on_path && msg != cp->cp_tx.pt_msg;
	if (on_path) {
		msg->m_owner = NULL;
		msg->m_canceled = true;
	}
	if (queued) {
		list_del(&msg->m_path_item);
		msg->m_on_path = false;
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_CANCELED);
	}
	spin_unlock_bh(&cp->cp_lock);

	if (queued)
		rds_send_finish(msg);
	return on_path;
}
EXPORT_SYMBOL_GPL(rds_upper_cancel);

/**
 * rds_upper_was_sent() - Check whether the peer may have received a frame
 * @msg: the frame, submitted
 *
 * Context: Any context. Takes cp_lock.
 * Return: false if core has not begun to send it.
 */
bool rds_upper_was_sent(struct rds_message *msg)
{
	struct rds_cpath *cp = to_cpath(msg->m_path);
	bool sent;

	spin_lock_bh(&cp->cp_lock);
	sent = msg->m_seq;
	spin_unlock_bh(&cp->cp_lock);
	return sent;
}
EXPORT_SYMBOL_GPL(rds_upper_was_sent);

/**
 * rds_upper_faddr() - Get the address of the peer that a frame is for
 * @msg: the frame, submitted
 *
 * Context: Any context.
 * Return: the address, which is valid as long as the frame.
 */
const struct in6_addr *rds_upper_faddr(const struct rds_message *msg)
{
	return &msg->m_path->faddr;
}
EXPORT_SYMBOL_GPL(rds_upper_faddr);

/**
 * rds_upper_reply() - Send a frame that nobody waits for
 * @conn: the connection
 * @sport: sending port
 * @dport: receiving port
 * @exthdr: RDS_EXTHDR_SPACE bytes: its extension header
 *
 * The path's work item sends it. It counts as a pong (pong.c), so the peer
 * decides how many there are only up to a limit. Beyond the limit, without
 * memory, and while the path is down, the frame is not sent.
 *
 * Context: Any context.
 */
void rds_upper_reply(struct rds_conn *conn, __be16 sport, __be16 dport,
		     const u8 *exthdr)
{
	struct rds_cpath *cp = rds_mp_pick(conn, sport, dport);
	struct rds_message *msg = rds_pong_new(cp);

	if (!msg)
		return;
	msg->m_sport = sport;
	msg->m_dport = dport;
	msg->m_kind = RDS_MSG_STREAM_REPLY;
	msg->m_epoch = READ_ONCE(conn->c_rx_epoch);
	memcpy(msg->m_exthdr, exthdr, sizeof(msg->m_exthdr));
	rds_pong_push(cp, msg);
}
EXPORT_SYMBOL_GPL(rds_upper_reply);

/**
 * rds_upper_refuse() - Refuse a stream, as this host has no streams
 * @cp: the path on which the frame has arrived
 * @inc: the frame
 *
 * Context: Deliver context.
 */
void rds_upper_refuse(struct rds_cpath *cp, const struct rds_incoming *inc)
{
	u8 exthdr[RDS_EXTHDR_SPACE];
	struct rds_frame frame;

	if (rds_frame_read(inc->i_exthdr, &frame) &&
	    rds_frame_answer(&frame, RDS_FRAME_RST, RDS_STREAM_NO_STREAMS,
			     exthdr))
		rds_upper_reply(cp->cp_conn, inc->i_dport, inc->i_sport,
				exthdr);
}

/**
 * rds_upper_incoming_put() - Put a reference to a frame that was delivered
 * @inc: the frame
 *
 * Context: Any context. Not under a lock of the socket.
 */
void rds_upper_incoming_put(struct rds_incoming *inc)
{
	rds_incoming_put(inc);
}
EXPORT_SYMBOL_GPL(rds_upper_incoming_put);

/**
 * rds_upper_account() - Allocate an account for frames that wait to be read
 * @net: the namespace; outlives the account
 *
 * Frames are charged to the memory cgroup of the calling task. Sockets may
 * share an account.
 *
 * Context: Process context, may sleep.
 * Return: the account with a reference for the caller, to be put by sock_put();
 * NULL if there is no memory.
 */
struct sock *rds_upper_account(struct net *net)
{
	return rds_account_alloc(net);
}
EXPORT_SYMBOL_GPL(rds_upper_account);

/**
 * rds_upper_charge() - Charge a frame to an account
 * @account: the account; the caller holds a reference until the frame is
 *	uncharged
 * @inc: the frame, about to be queued
 *
 * Context: Bottom halves are disabled.
 */
void rds_upper_charge(struct sock *account, struct rds_incoming *inc)
{
	spin_lock(&account->sk_lock.slock);
	rds_account_charge(account, inc);
	spin_unlock(&account->sk_lock.slock);
}
EXPORT_SYMBOL_GPL(rds_upper_charge);

/**
 * rds_upper_uncharge() - Undo rds_upper_charge()
 * @account: the account
 * @inc: the frame, about to leave the queue
 *
 * Context: Bottom halves are disabled.
 */
void rds_upper_uncharge(struct sock *account, const struct rds_incoming *inc)
{
	spin_lock(&account->sk_lock.slock);
	rds_account_uncharge(account, inc);
	spin_unlock(&account->sk_lock.slock);
}
EXPORT_SYMBOL_GPL(rds_upper_uncharge);
