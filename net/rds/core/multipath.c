// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paths of a connection: how many there are, the identity of the peer, and
 * what happens when the peer turns out to have restarted.
 *
 * Peers exchange handshake frames: probes and replies (handshake.c). If the
 * peer is known to run our implementation, the frames are unnumbered, are sent
 * on every path, and go ahead of all messages. For any other peer they are
 * numbered like messages and sent on path 0, where the very first message of a
 * connection is a probe. Barrier probes, see below, are always numbered.
 * Delivery records the content of a frame (rds_mp_receive()). The path's work
 * item then acts on it under c_mp_lock (rds_mp_work()):
 *
 * - Another generation number: the peer has restarted and has forgotten us.
 *   Messages that are queued for its former incarnation are dropped, and so are
 *   connections to that incarnation. Until that is done, the transport does not
 *   read on from the connection that brought the frame. Otherwise responses to
 *   the new incarnation could be among the messages that are dropped. Our
 *   sequence numbers go on; gaps are legal.
 * - Another epoch alone: the peer has only forgotten a connection that none of
 *   its sockets used. It has received nothing on that connection, so no message
 *   is dropped. In both cases the peer's own sequence numbers start at 1 again.
 * - More paths: core creates the paths, and the lower address dials them. Until
 *   now all messages took one path. From now on they spread over all paths.
 *   Messages on the other paths wait (gate.c) until the peer has replied to a
 *   barrier probe, which is queued behind the last message of the one path. It
 *   is not enough that TCP has acknowledged the messages before the probe, as
 *   they need not have been delivered. The reply carries the barrier's tag. If
 *   there is no reply, perhaps because the peer has forgotten us meanwhile,
 *   another probe asks for it. Other implementations send no tag (legacy.c).
 * - More paths in use: each end keeps the paths that the other end uses,
 *   whatever number it would offer itself. Our implementation announces the
 *   number in each handshake frame, so a peer that has forgotten the connection
 *   learns it again. Once an end spreads its messages over more than one path,
 *   it continues to spread them over that number of paths.
 * - The number of a path: the peer's source ports may name its paths, which we
 *   learn only from its handshake frame. The first connection that we accepted
 *   then gets the path number that its port names.
 *
 * The first probe usually offers one path, because the peer is not known yet.
 * Two peers that recognize each other by such probes both send another probe,
 * which offers more (rds_mp_offer_again()).
 */
#include <linux/log2.h>

#include "compat.h"
#include "cong.h"
#include "conn_table.h"
#include "legacy.h"
#include "message.h"
#include "multipath.h"
#include "send.h"

#include <trace/events/rds.h>

/* Interval at which a barrier probe without a reply is repeated, in jiffies */
#define RDS_FAN_PATIENCE	HZ

/* Delay before a failed allocation is tried again, in jiffies */
#define RDS_MP_NOMEM_DELAY	2

/* Numbered probes that may wait on a path; more would carry nothing new */
#define RDS_MAX_PROBES		2

/* Marks cp_turn as set, since 0 is a valid generation number */
#define RDS_TURN_NOTED		BIT_ULL(32)

/* Replies that may wait on a path */
#define RDS_MAX_REPLIES		16

/* Paths that are in use are not withdrawn, even if fewer are allowed now. */
static unsigned int rds_mp_offer(const struct rds_conn *conn)
{
	unsigned int n = READ_ONCE(conn->c_npaths_wanted);
	bool legacy = !READ_ONCE(conn->c_peer_hs.ours);

	if (n > 1)
		return n;
	n = conn->c_key.trans->conn->max_paths(conn->c_rn->rn_net, legacy);
	return clamp_t(unsigned int, n, 1, RDS_MAX_PATHS);
}

/* Only our implementation understands that paths are in use. */
static bool rds_mp_are_in_use(const struct rds_conn *conn)
{
	return READ_ONCE(conn->c_npaths_wanted) > 1 &&
	READ_ONCE(conn->c_peer_hs.ours);
}

static void rds_mp_write(struct rds_conn *conn, struct rds_message *msg,
			 bool reply, u8 tag)
{
	struct rds_handshake_self self = {
		.npaths = rds_mp_offer(conn),
		.in_use = rds_mp_are_in_use(conn),
		.tag = READ_ONCE(conn->c_peer_hs.ours) ? tag : 0,
		.gen = conn->c_gen,
		.epoch = conn->c_epoch,
	};
	__be16 *port = reply ? &msg->m_dport : &msg->m_sport;

	WRITE_ONCE(conn->c_npaths_offered, self.npaths);
	WRITE_ONCE(conn->c_npaths_offered_in_use, self.in_use);
	*port = cpu_to_be16(RDS_PORT_PROBE);
	rds_handshake_write(msg->m_exthdr, &self);
}

/**
 * rds_mp_write_probe() - Turn a message into a probe
 * @cp: the path that will carry it
 * @msg: the message, empty
 *
 * Context: Process context.
 */
void rds_mp_write_probe(struct rds_cpath *cp, struct rds_message *msg)
{
	rds_mp_write(cp->cp_conn, msg, false, 0);
}

/**
 * rds_mp_write_reply() - Turn a message into a reply to a probe
 * @cp: the path that will carry it
 * @msg: the message, empty
 *
 * Context: Process context.
 */
void rds_mp_write_reply(struct rds_cpath *cp, struct rds_message *msg)
{
	rds_mp_write(cp->cp_conn, msg, true, READ_ONCE(cp->cp_rx_tag));
}

/* Only a peer that runs our implementation understands unnumbered frames. */
static void rds_mp_probe_soon(struct rds_cpath *cp)
{
	if (READ_ONCE(cp->cp_conn->c_peer_hs.ours))
		set_bit(RDS_PF_PROBE_NOW, &cp->cp_flags);
	else
		set_bit(RDS_PF_PROBE, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
}

/* Merge a frame with the previous one of the same sender. A frame that the peer
 * wrote before it knew us, with a smaller offer, may arrive after a later one.
 * A number of paths in use is not an offer, so the two are not compared.
 */
static void rds_mp_add_offer(struct rds_handshake *hs,
			     const struct rds_handshake *before)
{
	if (hs->in_use == before->in_use) {
		hs->npaths = max(hs->npaths, before->npaths);
	} else if (before->in_use) {
		hs->npaths = before->npaths;
		hs->in_use = true;
	}
}

/**
 * rds_mp_verify() - Check with a probe whether the peer has the connection
 * @cp: the path, UP
 *
 * If the peer has lost the connection, its host responds with a reset.
 *
 * Context: Any.
 */
void rds_mp_verify(struct rds_cpath *cp)
{
	rds_mp_probe_soon(cp);
}

/* Record on each path that the messages queued so far are not meant for the new
 * incarnation of the peer, from which @hs comes. While the connection is being
 * shut down, messages behind the handshake frame may be delivered, and sockets
 * may respond to them, before the work item acts on the frame. These responses
 * must not be flushed.
 */
static void rds_mp_note_turn(struct rds_conn *conn,
			     const struct rds_handshake *hs)
{
	u64 turn = rds_handshake_gen(hs) | RDS_TURN_NOTED;
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp)
			continue;
		spin_lock(&cp->cp_lock);
		if (cp->cp_turn != turn) {
			cp->cp_turn = turn;
			cp->cp_turn_ticket = cp->cp_next_ticket;
		}
		spin_unlock(&cp->cp_lock);
	}
}

/* When a barrier probe arrives, all messages before it have arrived. When the
 * reply to it arrives, the sender of the barrier can rely on that.
 */
static void rds_mp_note_tag(struct rds_cpath *cp,
			    const struct rds_incoming *inc,
			    const struct rds_handshake *hs)
{
	struct rds_conn *conn = cp->cp_conn;

	if (!hs->tag)
		return;
	if (inc->i_seq && !inc->i_dport)
		WRITE_ONCE(cp->cp_rx_tag, hs->tag);
	/* A numbered reply may be meant for our former incarnation. */
	else if (!inc->i_seq && inc->i_dport &&
		 cp == READ_ONCE(conn->c_fan_path))
		WRITE_ONCE(conn->c_fan_echo, hs->tag);
}

/**
 * rds_mp_receive() - Process a probe or a reply
 * @cp: the path on which it arrived
 * @inc: the frame; remains owned by the caller
 * @turn: set to whether the peer has restarted. If so, the transport must not
 *	read on until the path's work item has acted on that and resumes it
 *
 * The check for duplicates is here, because it depends on the content of the
 * frame. A duplicate still updates what is known of the peer, but it completes
 * no probe of ours and gets no numbered reply.
 *
 * Context: Deliver context, serialized per path. Takes cp_lock.
 * Return: true if the frame is new; false if it is a duplicate.
 */
bool rds_mp_receive(struct rds_cpath *cp, struct rds_incoming *inc,
		    bool *turn)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_handshake hs;
	bool asked = false;
	bool dup = false;

	rds_handshake_read(inc->i_exthdr, &hs);
	if (cp->cp_rx_peer != hs.id) {
		cp->cp_rx_peer = hs.id;
		WRITE_ONCE(cp->cp_next_rx_seq, 1);
		WRITE_ONCE(cp->cp_rx_tag, 0);
	}
	cp->cp_strict = hs.ours;
	cp->cp_sw.so_known = hs.sw_rdma;
	if (inc->i_seq) {
		dup = inc->i_seq < cp->cp_next_rx_seq &&
		      (cp->cp_strict ||
		       (inc->i_flags & RDS_FLAG_RETRANSMITTED));
		if (!dup)
			WRITE_ONCE(cp->cp_next_rx_seq, inc->i_seq + 1);
	}
	rds_mp_note_tag(cp, inc, &hs);

	spin_lock(&cp->cp_lock);
	if (cp->cp_has_handshake && cp->cp_handshake.id == hs.id)
		rds_mp_add_offer(&hs, &cp->cp_handshake);
	cp->cp_handshake = hs;
	cp->cp_has_handshake = true;
	cp->cp_handshake_at = jiffies;
	if (inc->i_seq && inc->i_dport) {
		cp->cp_has_reply = true;
		cp->cp_reply_at = jiffies;
		/* If set, this is the reply to the restart probe: no other
		 * probe has been sent on this connection yet.
		 */
		asked = cp->cp_restart_probe_out;
		cp->cp_restart_probe_out = false;
	}
	spin_unlock(&cp->cp_lock);

	/* This must precede RDS_PF_HANDSHAKE, on which the work item acts. */
	*turn = READ_ONCE(conn->c_has_handshake) &&
		rds_handshake_gen(&hs) != READ_ONCE(conn->c_peer_hs.id) >> 32;
	if (*turn) {
		rds_mp_note_turn(conn, &hs);
		set_bit(RDS_PF_RX_TURN, &cp->cp_flags);
	}
	if (!inc->i_dport && (!inc->i_seq || hs.tag))
		set_bit(RDS_PF_REPLY_NOW, &cp->cp_flags);
	else if (inc->i_seq && !dup && inc->i_dport && !asked)
		atomic_dec_if_positive(&conn->c_probes);
	else if (inc->i_seq && !dup && !inc->i_dport)
		atomic_add_unless(&cp->cp_replies, 1, RDS_MAX_REPLIES);

	set_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
	return !dup;
}

static void rds_mp_kick_all(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp)
			rds_cpath_kick(cp, 0);
	}
}

/* Check whether a connection may lead to the former incarnation of the peer. If
 * it has not brought a handshake frame yet, the implementation decides: ours
 * will send a frame, while others may never send one.
 */
static bool rds_mp_is_stale(struct rds_cpath *cp,
			    const struct rds_handshake *hs)
{
	bool stale;

	spin_lock_bh(&cp->cp_lock);
	if (cp->cp_has_handshake)
		stale = rds_handshake_gen(&cp->cp_handshake) !=
			rds_handshake_gen(hs);
	else
		stale = !hs->ours;
	spin_unlock_bh(&cp->cp_lock);
	return stale;
}

/* Exchange the numbers of two paths. */
static void rds_mp_swap(struct rds_conn *conn, struct rds_cpath *a,
			struct rds_cpath *b)
	__must_hold(&conn->c_rn->rn_lock)
{
	lockdep_assert_held(&conn->c_rn->rn_lock);
	swap(a->cp_pub.index, b->cp_pub.index);
	/* Both pair with the acquire in rds_conn_path(). */
	smp_store_release(&conn->c_paths[a->cp_pub.index], a);
	/* As above */
	smp_store_release(&conn->c_paths[b->cp_pub.index], b);
}

/* Start over with a new incarnation of the peer: messages that are queued from
 * now on are meant for it. If its ports do not name paths, the path @by, on
 * which its handshake frame arrived, is its only one and becomes path 0.
 */
static void rds_mp_restart(struct rds_cpath *by,
			   const struct rds_handshake *hs)
	__must_hold(&by->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = by->cp_conn;
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->c_mp_lock);

	mutex_lock(&conn->c_rn->rn_lock);
	/* Do not change a connection that is being destroyed. */
	if (!hs->names_paths && by->cp_pub.index &&
	    !list_empty(&conn->c_item))
		rds_mp_swap(conn, by, conn->c_paths[0]);
	mutex_unlock(&conn->c_rn->rn_lock);
	WRITE_ONCE(conn->c_npaths_wanted, 1);
	conn->c_fan_path = rds_conn_path(conn, 0);
	WRITE_ONCE(conn->c_fan, RDS_FAN_NONE);
	WRITE_ONCE(conn->c_npaths, 1);
	WRITE_ONCE(conn->c_rx_epoch, conn->c_rx_epoch + 1);

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp)
			continue;
		/* Drop the connection first. Its shutdown returns unacked
		 * messages to the send queue, and the flush covers only that
		 * queue.
		 */
		if (cp != by && rds_mp_is_stale(cp, hs))
			rds_cpath_renew(cp, RDS_DROP_PEER_RESTARTED);
		spin_lock_bh(&cp->cp_lock);
		cp->cp_flush_ticket = cp->cp_next_ticket;
		/* Messages queued since the restart was noted are kept on the
		 * remaining path. On any other path they would be overtaken,
		 * or never be sent.
		 */
		if (cp == conn->c_fan_path &&
		    cp->cp_turn == (rds_handshake_gen(hs) | RDS_TURN_NOTED))
			cp->cp_flush_ticket = cp->cp_turn_ticket;
		cp->cp_turn = 0;
		set_bit(RDS_PF_FLUSH, &cp->cp_flags);
		spin_unlock_bh(&cp->cp_lock);
		rds_cpath_kick(cp, 0);
	}
}

/* If the peer made the connection and its ports name paths, return the path
 * number that its port names; otherwise return the present number.
 */
static unsigned int rds_mp_place(const struct rds_conn *conn,
				 const struct rds_cpath *cp,
				 unsigned int want)
{
	if (!test_bit(RDS_PF_TAKEN, &cp->cp_flags) ||
	    !conn->c_peer_hs.names_paths)
		return cp->cp_pub.index;
	return READ_ONCE(cp->cp_named) & (want - 1);
}

static bool rds_mp_make(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_rn->rn_lock)
{
	unsigned int i;

	lockdep_assert_held(&conn->c_rn->rn_lock);
	/* The connection is being destroyed. */
	if (list_empty(&conn->c_item))
		return false;
	for (i = 1; i < want; i++) {
		if (!rds_conn_add_path(conn, i))
			return false;
	}
	return true;
}

/* Return the tag for a numbered probe on @cp. While a barrier is pending, such
 * a probe is the barrier probe or comes behind it, so it carries the same tag.
 */
static u8 rds_mp_tag(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return cp == READ_ONCE(conn->c_fan_path) &&
	       READ_ONCE(conn->c_fan) == RDS_FAN_BARRIER ?
	       READ_ONCE(conn->c_fan_tag) : 0;
}

static struct rds_message *rds_mp_new_probe(struct rds_cpath *cp)
{
	struct rds_message *msg = rds_send_new_control(cp);

	if (!msg)
		return NULL;
	msg->m_kind = RDS_MSG_PROBE;
	atomic_inc(&cp->cp_nprobes);
	rds_mp_write(cp->cp_conn, msg, false, rds_mp_tag(cp));
	return msg;
}

/* Spread messages over @want paths from now on. Those that stay on the first
 * path are queued behind the barrier probe, and parked messages go before it.
 * If only the first probe has been queued so far, and the peer runs our
 * implementation, no barrier is needed. Return whether it is needed: if so, the
 * path takes @barrier over; otherwise @barrier remains owned by the caller.
 */
static bool rds_mp_spread(struct rds_conn *conn, unsigned int want,
			  struct rds_message *barrier)
	__must_hold(&conn->c_fan_path->cp_lock)
{
	struct rds_cpath *cp = conn->c_fan_path;
	/* A peer that runs our implementation handles a connection for a path
	 * that it does not expect. Other peers must first learn how many paths
	 * we have.
	 */
	bool wait = cp->cp_next_ticket > 1 || !conn->c_peer_hs.ours;

	lockdep_assert_held(&cp->cp_lock);

	WRITE_ONCE(conn->c_npaths, want);
	if (wait) {
		atomic_inc(&conn->c_probes);
		rds_park_end(cp);
		rds_send_enqueue_control(cp, barrier);
		conn->c_fan_ticket = barrier->m_ticket;
		conn->c_fan_at = jiffies;
	}
	return wait;
}

/* Publish the new number of paths. A sender may have selected a path by the old
 * number and not have queued its message yet. It checks its path again under
 * cp_lock of that path (rds_send_admit()), and then sees the new number.
 */
static bool rds_mp_publish(struct rds_conn *conn, unsigned int want,
			   unsigned int place, struct rds_message *barrier)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_cpath *other = conn->c_paths[place];
	struct rds_cpath *cp = conn->c_fan_path;
	bool wait;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	spin_lock_bh(&cp->cp_lock);
	if (other == cp) {
		wait = rds_mp_spread(conn, want, barrier);
	} else {
		spin_lock_nested(&other->cp_lock, SINGLE_DEPTH_NESTING);
		rds_mp_swap(conn, cp, other);
		wait = rds_mp_spread(conn, want, barrier);
		spin_unlock(&other->cp_lock);
	}
	spin_unlock_bh(&cp->cp_lock);

	WRITE_ONCE(conn->c_fan, wait ? RDS_FAN_BARRIER : RDS_FAN_OPEN);
	return wait;
}

/* Reconnect the paths whose number is not the one that the peer's port names.
 * We accepted their connections before we knew that the peer names its paths,
 * or from a former incarnation of the peer that did not. The messages on such a
 * connection have sequence numbers of another path.
 */
static void rds_mp_check_names(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	for (i = 0; i < want; i++) {
		cp = conn->c_paths[i];
		if (rds_mp_place(conn, cp, want) != i)
			rds_cpath_renew(cp, RDS_DROP_PROTOCOL);
	}
}

static void rds_mp_dial(struct rds_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->c_npaths_wanted; i++)
		rds_cpath_connect_soon(rds_conn_path(conn, i));
}

static bool rds_mp_grow(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_mp_lock)
{
	unsigned int place = rds_mp_place(conn, conn->c_fan_path, want);
	bool offered_use = READ_ONCE(conn->c_npaths_offered_in_use);
	u16 offered = READ_ONCE(conn->c_npaths_offered);
	struct rds_message *barrier;
	bool made, used = false;

	lockdep_assert_held(&conn->c_mp_lock);

	barrier = rds_mp_new_probe(conn->c_fan_path);
	if (!barrier)
		return false;

	mutex_lock(&conn->c_rn->rn_lock);
	made = rds_mp_make(conn, want);
	if (made) {
		WRITE_ONCE(conn->c_npaths_wanted, want);
		conn->c_fan_tag = conn->c_fan_tag % RDS_HANDSHAKE_TAGS + 1;
		rds_mp_write(conn, barrier, false, conn->c_fan_tag);
		used = rds_mp_publish(conn, want, place, barrier);
		rds_mp_check_names(conn, want);
	}
	mutex_unlock(&conn->c_rn->rn_lock);

	if (!used) {
		/* The probe is not sent, so its offer was never made. */
		rds_send_finish(barrier);
		WRITE_ONCE(conn->c_npaths_offered, offered);
		WRITE_ONCE(conn->c_npaths_offered_in_use, offered_use);
	}
	return made;
}

/* The peer uses more paths than we do. The paths on which the peer sends do not
 * affect the order of our messages, so no barrier is needed.
 */
static bool rds_mp_widen(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_mp_lock)
{
	bool made;

	lockdep_assert_held(&conn->c_mp_lock);

	mutex_lock(&conn->c_rn->rn_lock);
	made = rds_mp_make(conn, want);
	if (made)
		WRITE_ONCE(conn->c_npaths_wanted, want);
	mutex_unlock(&conn->c_rn->rn_lock);
	return made;
}

/* Return the number of paths that follows from the peer's handshake frame. The
 * paths that the peer uses count even if we offer fewer.
 */
static unsigned int rds_mp_want(const struct rds_conn *conn,
				const struct rds_handshake *hs)
{
	unsigned int n = min_t(unsigned int, hs->npaths, RDS_MAX_PATHS);

	if (!hs->in_use)
		n = min(n, rds_mp_offer(conn));
	return rounddown_pow_of_two(n);
}

/* Our messages begin to spread from one path to several only once per
 * incarnation of the peer. To spread them over yet more paths would break their
 * order, because a barrier covers only one path. Return whether the caller must
 * dial the present paths or kick their work items.
 */
static bool rds_mp_adapt(struct rds_cpath *cp,
			 const struct rds_handshake *hs)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;
	unsigned int want = rds_mp_want(conn, hs);
	bool made;

	lockdep_assert_held(&conn->c_mp_lock);

	if (want <= conn->c_npaths_wanted)
		return !cp->cp_pub.index;

	if (conn->c_npaths_wanted == 1)
		made = rds_mp_grow(conn, want);
	else
		made = rds_mp_widen(conn, want);
	if (!made) {
		set_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
		rds_cpath_kick(cp, RDS_MP_NOMEM_DELAY);
	}
	return made;
}

static void rds_mp_apply(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_handshake hs;
	bool changed;

	lockdep_assert_held(&conn->c_mp_lock);

	spin_lock_bh(&cp->cp_lock);
	hs = cp->cp_handshake;
	spin_unlock_bh(&cp->cp_lock);

	if (conn->c_has_handshake &&
	    rds_handshake_gen(&hs) != rds_handshake_gen(&conn->c_peer_hs))
		rds_mp_restart(cp, &hs);
	conn->c_peer_hs = hs;
	if (!conn->c_has_handshake) {
		/* Pairs with the acquire in rds_sw_peer_is_known(). */
		smp_store_release(&conn->c_has_handshake, true);
		wake_up_all(&conn->c_fcong->cm_waitq);
	}
	changed = rds_mp_adapt(cp, &hs);
	/* Pairs with the acquire in rds_gate_awaits_handshake(). */
	smp_store_release(&cp->cp_known, true);
	if (!changed)
		return;
	/* The peer may have lost a path that only we may dial again. */
	if (conn->c_npaths_wanted > 1 && rds_path_is_lower(&cp->cp_pub))
		rds_mp_dial(conn);
	rds_mp_kick_all(conn);
}

static void rds_mp_open(struct rds_conn *conn)
	__must_hold(&conn->c_mp_lock)
{
	lockdep_assert_held(&conn->c_mp_lock);
	WRITE_ONCE(conn->c_fan, RDS_FAN_OPEN);
	rds_mp_kick_all(conn);
}

/* If the barrier probe was acknowledged and no reply has arrived, the probe may
 * have gone to a former incarnation of the peer, or the reply may have been
 * lost with a connection. Ask once more.
 */
static void rds_mp_probe_again(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;

	lockdep_assert_held(&conn->c_mp_lock);
	if (time_before_eq(jiffies, conn->c_fan_at + RDS_FAN_PATIENCE) ||
	    !rds_send_all_acked(cp, conn->c_fan_ticket))
		return;
	rds_stat_inc(conn->c_rn, mprds_catchup_tx0_retries);
	conn->c_fan_at = jiffies;
	set_bit(RDS_PF_PROBE, &cp->cp_flags);
}

static void rds_mp_check_barrier(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;

	lockdep_assert_held(&conn->c_mp_lock);

	if (conn->c_fan != RDS_FAN_BARRIER || cp != conn->c_fan_path)
		return;
	if (conn->c_peer_hs.ours ?
	    READ_ONCE(conn->c_fan_echo) == conn->c_fan_tag :
	    rds_legacy_is_past_barrier(cp))
		rds_mp_open(conn);
	else if (conn->c_peer_hs.ours)
		rds_mp_probe_again(cp);
}

/**
 * rds_mp_wait() - Check whether a barrier must be looked at again
 * @conn: the connection
 *
 * Context: Any.
 * Return: true if a barrier is pending; false otherwise.
 */
bool rds_mp_wait(const struct rds_conn *conn)
{
	return READ_ONCE(conn->c_fan) == RDS_FAN_BARRIER;
}

static void rds_mp_queue_probe(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_message *msg;

	if (!test_and_clear_bit(RDS_PF_PROBE, &cp->cp_flags) ||
	    atomic_read(&cp->cp_nprobes) >= RDS_MAX_PROBES)
		return;

	msg = rds_mp_new_probe(cp);
	if (!msg) {
		set_bit(RDS_PF_PROBE, &cp->cp_flags);
		rds_cpath_kick(cp, RDS_MP_NOMEM_DELAY);
		return;
	}
	/* The reply may arrive before rds_send_control() returns. */
	atomic_inc(&conn->c_probes);
	if (!rds_send_control(cp, msg, conn->c_first_probe))
		atomic_dec(&conn->c_probes);
	conn->c_first_probe = false;
}

static void rds_mp_queue_replies(struct rds_cpath *cp)
{
	struct rds_message *msg;

	while (atomic_read(&cp->cp_replies)) {
		/* A peer that does not read gets no more replies. */
		if (atomic_read(&cp->cp_nreplies) >= RDS_MAX_REPLIES) {
			atomic_dec(&cp->cp_replies);
			continue;
		}
		msg = rds_send_new_control(cp);
		if (!msg) {
			rds_cpath_kick(cp, RDS_MP_NOMEM_DELAY);
			return;
		}
		atomic_dec(&cp->cp_replies);
		atomic_inc(&cp->cp_nreplies);
		msg->m_kind = RDS_MSG_REPLY;
		rds_mp_write_reply(cp, msg);
		rds_send_control(cp, msg, false);
	}
}

/* Send a probe if the last frame no longer matches what we offer. Call this
 * after the replies are queued, which may carry the present offer already.
 */
static void rds_mp_offer_again(struct rds_conn *conn)
	__must_hold(&conn->c_mp_lock)
{
	lockdep_assert_held(&conn->c_mp_lock);
	if (conn->c_has_handshake && READ_ONCE(conn->c_npaths_offered) &&
	    (conn->c_npaths_offered != rds_mp_offer(conn) ||
	     conn->c_npaths_offered_in_use != rds_mp_are_in_use(conn)))
		rds_mp_probe_soon(rds_conn_path(conn, 0));
}

static void rds_mp_learn(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	bool news, turn;

	mutex_lock(&conn->c_mp_lock);
	/* A frame counts only while its connection is UP. If the connection is
	 * being shut down, rds_mp_apply_last() handles the frame.
	 */
	news = rds_cpath_state(cp) == RDS_PATH_UP &&
	       test_and_clear_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
	/* Clear the flag first: another frame may arrive, and set it again,
	 * while this one is processed.
	 */
	turn = news && test_and_clear_bit(RDS_PF_RX_TURN, &cp->cp_flags);
	if (news)
		rds_mp_apply(cp);
	if (turn)
		set_bit(RDS_PF_RX, &cp->cp_flags);
	rds_mp_check_barrier(cp);
	rds_mp_queue_replies(cp);
	if (news && !test_bit(RDS_PF_REPLY_NOW, &cp->cp_flags))
		rds_mp_offer_again(conn);
	mutex_unlock(&conn->c_mp_lock);

	if (news && cp->cp_trans->conn->accept_again)
		cp->cp_trans->conn->accept_again(cp->cp_pub.net);
}

/**
 * rds_mp_apply_last() - Act on the last handshake frame of a connection
 * @cp: the path; its transport is shut down
 *
 * A frame that arrives while the connection is being shut down remains valid.
 * If the peer has restarted, the messages delivered behind the frame come from
 * the new incarnation, and responses to them are meant for it.
 *
 * Context: Process context, the path's work item, may sleep. Takes c_mp_lock,
 * rn_lock.
 */
void rds_mp_apply_last(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;

	if (!test_bit(RDS_PF_HANDSHAKE, &cp->cp_flags))
		return;
	mutex_lock(&conn->c_mp_lock);
	if (test_and_clear_bit(RDS_PF_HANDSHAKE, &cp->cp_flags))
		rds_mp_apply(cp);
	mutex_unlock(&conn->c_mp_lock);
}

/* Drop the messages that were meant for a former incarnation of the peer. If
 * the connection has been dropped, its shutdown comes first.
 */
static void rds_mp_flush(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) == RDS_PATH_ERROR)
		return;
	mutex_lock(&cp->cp_xmit_lock);
	rds_send_flush(cp);
	mutex_unlock(&cp->cp_xmit_lock);
}

/**
 * rds_mp_work() - Process handshakes, barriers and flushes of a path
 * @cp: the path
 *
 * Context: Process context, the path's work item, may sleep. Takes c_mp_lock,
 * rn_lock, cp_xmit_lock.
 */
void rds_mp_work(struct rds_cpath *cp)
{
	if (test_bit(RDS_PF_HANDSHAKE, &cp->cp_flags) ||
	    atomic_read(&cp->cp_replies) ||
	    READ_ONCE(cp->cp_conn->c_fan) == RDS_FAN_BARRIER)
		rds_mp_learn(cp);
	if (test_bit(RDS_PF_FLUSH, &cp->cp_flags))
		rds_mp_flush(cp);
	rds_mp_queue_probe(cp);
}
