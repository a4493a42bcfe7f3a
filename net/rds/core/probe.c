// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handshake frames: probes and replies, how they are written, queued and
 * received. multipath.c acts on the content of a frame; handshake.c has the
 * format.
 *
 * Delivery records the content of a frame in the path under cp_lock, sets
 * RDS_PF_HANDSHAKE and kicks the path's work item. A peer that sends frames
 * faster than replies can be sent gets no more than RDS_MAX_REPLIES of them.
 */
#include "compat.h"
#include "conn.h"
#include "message.h"
#include "probe.h"
#include "send.h"

/* Numbered probes that may wait on a path; more would carry nothing new */
#define RDS_MAX_PROBES		2

/* Replies that may wait on a path */
#define RDS_MAX_REPLIES		16

/**
 * rds_probe_offer() - Return the number of paths that we offer
 * @conn: the connection
 *
 * Paths that are in use are not withdrawn, even if fewer are allowed now.
 *
 * Context: Any context.
 * Return: from 1 to RDS_MAX_PATHS.
 */
unsigned int rds_probe_offer(const struct rds_conn *conn)
{
	unsigned int n = READ_ONCE(conn->c_npaths_wanted);
	bool legacy = !READ_ONCE(conn->c_peer_hs.ours);

	if (n > 1 || !(conn->c_path.cp_caps & RDS_CAP_MULTIPATH))
		return n;
	n = conn->c_key.trans->conn->max_paths(conn->c_rn->rn_net, legacy);
	return clamp_t(unsigned int, n, 1, RDS_MAX_PATHS);
}

/* Only our implementation understands that paths are in use. */
static bool rds_probe_in_use(const struct rds_conn *conn)
{
	return READ_ONCE(conn->c_npaths_wanted) > 1 &&
	       READ_ONCE(conn->c_peer_hs.ours);
}

/**
 * rds_probe_write_frame() - Write a handshake into a message
 * @conn: the connection
 * @msg: the message, empty
 * @reply: write a reply, not a probe
 * @tag: the tag of a barrier; 0 if there is none
 *
 * Context: Process context.
 */
void rds_probe_write_frame(struct rds_conn *conn, struct rds_message *msg,
			   bool reply, u8 tag)
{
	struct rds_handshake_self self = {
		.npaths = rds_probe_offer(conn),
		.in_use = rds_probe_in_use(conn),
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
 * rds_probe_write() - Turn a message into a probe
 * @cp: the path that will carry it
 * @msg: the message, empty
 *
 * Context: Process context.
 */
void rds_probe_write(struct rds_cpath *cp, struct rds_message *msg)
{
	rds_probe_write_frame(cp->cp_conn, msg, false, 0);
}

/**
 * rds_probe_write_reply() - Turn a message into a reply to a probe
 * @cp: the path that will carry it
 * @msg: the message, empty
 *
 * Context: Process context.
 */
void rds_probe_write_reply(struct rds_cpath *cp, struct rds_message *msg)
{
	rds_probe_write_frame(cp->cp_conn, msg, true,
			      READ_ONCE(cp->cp_rx.pr_tag));
}

/**
 * rds_probe_soon() - Schedule a probe
 * @cp: the path, UP
 *
 * Only a peer that runs our implementation understands unnumbered frames, so
 * any other peer gets a numbered probe. Either kind also tests the connection:
 * if the peer has lost it, the peer's host responds with a reset.
 *
 * Context: Any context.
 */
void rds_probe_soon(struct rds_cpath *cp)
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
static void rds_probe_add_offer(struct rds_handshake *hs,
				const struct rds_handshake *before)
{
	if (hs->in_use == before->in_use) {
		hs->npaths = max(hs->npaths, before->npaths);
	} else if (before->in_use) {
		hs->npaths = before->npaths;
		hs->in_use = true;
	}
}

/* Record on each path that the messages queued so far are not meant for the new
 * incarnation of the peer, which has sent @hs. While the connection is being
 * shut down, messages behind the handshake frame may be delivered before the
 * work item acts on the frame. Sockets may respond to them at once, and these
 * responses must not be flushed.
 */
static void rds_probe_note_turn(struct rds_conn *conn,
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
		if (cp->cp_hs.ph_turn != turn) {
			cp->cp_hs.ph_turn = turn;
			cp->cp_hs.ph_turn_ticket = cp->cp_tx.pt_next_ticket;
		}
		spin_unlock(&cp->cp_lock);
	}
}

/* When a barrier probe arrives, all messages before it have arrived. When the
 * reply to it arrives, the sender of the barrier can rely on that.
 */
static void rds_probe_note_tag(struct rds_cpath *cp,
			       const struct rds_incoming *inc,
			       const struct rds_handshake *hs)
{
	struct rds_conn *conn = cp->cp_conn;

	if (!hs->tag)
		return;
	if (inc->i_seq && !inc->i_dport)
		WRITE_ONCE(cp->cp_rx.pr_tag, hs->tag);
	/* A numbered reply may be meant for our former incarnation. */
	else if (!inc->i_seq && inc->i_dport &&
		 cp == READ_ONCE(conn->c_fan_path))
		WRITE_ONCE(conn->c_fan_echo, hs->tag);
}

/* Apply a frame to what deliveries on the path expect. Returns true if the
 * frame is a duplicate.
 */
static bool rds_probe_follow(struct rds_cpath *cp,
			     const struct rds_incoming *inc,
			     const struct rds_handshake *hs)
{
	if (cp->cp_rx.pr_peer != hs->id) {
		cp->cp_rx.pr_peer = hs->id;
		atomic64_set(&cp->cp_pub.next_rx_seq, 1);
		WRITE_ONCE(cp->cp_rx.pr_tag, 0);
	}
	cp->cp_rx.pr_strict = hs->ours;
	WRITE_ONCE(cp->cp_rx.pr_streams, hs->streams);
	cp->cp_sw.sw_known = hs->sw_rdma;
	if (!inc->i_seq)
		return false;
	if (inc->i_seq < atomic64_read(&cp->cp_pub.next_rx_seq) &&
	    (hs->ours || (inc->i_flags & RDS_FLAG_RETRANSMITTED)))
		return true;
	atomic64_set(&cp->cp_pub.next_rx_seq, inc->i_seq + 1);
	return false;
}

/* Store a frame for the path's work item. Returns true if it is the reply to
 * the restart probe: no other probe has been sent on this connection yet.
 */
static bool rds_probe_store(struct rds_cpath *cp,
			    const struct rds_incoming *inc,
			    struct rds_handshake *hs)
{
	struct rds_path_hs *ph = &cp->cp_hs;
	bool asked = false;

	spin_lock(&cp->cp_lock);
	if (ph->ph_has_frame && ph->ph_frame.id == hs->id)
		rds_probe_add_offer(hs, &ph->ph_frame);
	ph->ph_frame = *hs;
	ph->ph_has_frame = true;
	ph->ph_at = jiffies;
	if (inc->i_seq && inc->i_dport) {
		ph->ph_has_reply = true;
		ph->ph_reply_at = jiffies;
		asked = ph->ph_restart_out;
		ph->ph_restart_out = false;
	}
	spin_unlock(&cp->cp_lock);
	return asked;
}

/**
 * rds_probe_is_former() - Check whether a frame comes from a former incarnation
 * @cp: the path on which the frame has arrived
 * @hs: the frame
 *
 * A connection of the incarnation that the present one has replaced may be read
 * late.
 *
 * Context: Any context.
 * Return: true if the peer has restarted since it made the connection.
 */
bool rds_probe_is_former(const struct rds_cpath *cp,
			 const struct rds_handshake *hs)
{
	return atomic64_read(&cp->cp_hs.ph_former) ==
	       (rds_handshake_gen(hs) | RDS_TURN_NOTED);
}

/* Check whether the peer has restarted since its last frame on any path. */
static bool rds_probe_is_turn(struct rds_cpath *cp,
			      const struct rds_handshake *hs)
{
	const struct rds_conn *conn = cp->cp_conn;
	u32 gen = rds_handshake_gen(hs);

	if (!READ_ONCE(conn->c_has_handshake) ||
	    gen == READ_ONCE(conn->c_peer_hs.id) >> 32)
		return false;
	/* If another path has just met the incarnation that is known now, see
	 * what it noted before. Pairs with the barrier in rds_restart_leave().
	 */
	smp_rmb();
	return !rds_probe_is_former(cp, hs);
}

/**
 * rds_probe_receive() - Process a probe or a reply
 * @cp: the path on which it arrived
 * @inc: the frame; remains owned by the caller
 * @turn: set to whether the peer has restarted. If so, the transport must not
 *	read on until the path's work item has acted on that and resumes it
 *
 * The check for duplicates is here, because it depends on the content of the
 * frame. A duplicate still updates the state of the peer, but it completes no
 * probe of ours and gets no numbered reply.
 *
 * Context: Deliver context, serialized per path. Takes cp_lock.
 * Return: true if the frame is new; false if it is a duplicate.
 */
bool rds_probe_receive(struct rds_cpath *cp, struct rds_incoming *inc,
		       bool *turn)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_handshake hs;
	bool asked, dup;

	rds_handshake_read(inc->i_exthdr, &hs);
	dup = rds_probe_follow(cp, inc, &hs);
	rds_probe_note_tag(cp, inc, &hs);
	asked = rds_probe_store(cp, inc, &hs);

	/* This must precede RDS_PF_HANDSHAKE, on which the work item acts. */
	*turn = rds_probe_is_turn(cp, &hs);
	if (rds_probe_is_former(cp, &hs))
		WRITE_ONCE(cp->cp_rx.pr_former, true);
	if (*turn) {
		rds_probe_note_turn(conn, &hs);
		rds_cpath_pause_rx(cp);
		set_bit(RDS_PF_RX_TURN, &cp->cp_flags);
	}
	if (!inc->i_dport && (!inc->i_seq || hs.tag))
		set_bit(RDS_PF_REPLY_NOW, &cp->cp_flags);
	else if (inc->i_seq && !dup && inc->i_dport && !asked)
		atomic_dec_if_positive(&conn->c_probes);
	else if (inc->i_seq && !dup && !inc->i_dport)
		atomic_add_unless(&cp->cp_hs.ph_replies, 1, RDS_MAX_REPLIES);

	set_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
	return !dup;
}

/* Return the tag for a numbered probe on @cp. While a barrier is pending, such
 * a probe is the barrier probe or comes behind it, so it carries the same tag.
 */
static u8 rds_probe_tag(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return cp == READ_ONCE(conn->c_fan_path) &&
	       READ_ONCE(conn->c_fan) == RDS_FAN_BARRIER ?
	       READ_ONCE(conn->c_fan_tag) : 0;
}

/**
 * rds_probe_new() - Allocate a numbered probe
 * @cp: the path that is to carry it
 *
 * Context: Process context.
 * Return: the probe, counted in cp_hs.ph_nprobes, for rds_send_control() or
 * rds_send_enqueue_control(); NULL without memory.
 */
struct rds_message *rds_probe_new(struct rds_cpath *cp)
{
	struct rds_message *msg = rds_send_new_control(cp);

	if (!msg)
		return NULL;
	msg->m_kind = RDS_MSG_PROBE;
	atomic_inc(&cp->cp_hs.ph_nprobes);
	rds_probe_write_frame(cp->cp_conn, msg, false, rds_probe_tag(cp));
	return msg;
}

/**
 * rds_probe_queue() - Queue the probe that is due, if any
 * @cp: the path
 *
 * Context: Process context, the path's work item. Takes cp_lock.
 */
void rds_probe_queue(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_message *msg;

	if (!test_and_clear_bit(RDS_PF_PROBE, &cp->cp_flags) ||
	    atomic_read(&cp->cp_hs.ph_nprobes) >= RDS_MAX_PROBES)
		return;

	msg = rds_probe_new(cp);
	if (!msg) {
		set_bit(RDS_PF_PROBE, &cp->cp_flags);
		rds_cpath_kick(cp, RDS_PROBE_NOMEM_DELAY);
		return;
	}
	/* The reply may arrive before rds_send_control() returns. */
	atomic_inc(&conn->c_probes);
	if (!rds_send_control(cp, msg, conn->c_first_probe)) {
		atomic_dec(&conn->c_probes);
		/* If the connection is not reaped after all, the path's work
		 * item runs again.
		 */
		set_bit(RDS_PF_PROBE, &cp->cp_flags);
		return;
	}
	conn->c_first_probe = false;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_probe_queue);

/**
 * rds_probe_queue_replies() - Queue the replies to the numbered probes received
 * @cp: the path
 *
 * Context: Process context, the path's work item. Takes cp_lock.
 */
void rds_probe_queue_replies(struct rds_cpath *cp)
{
	struct rds_message *msg;

	while (atomic_read(&cp->cp_hs.ph_replies)) {
		/* A peer that does not read gets no more replies. */
		if (atomic_read(&cp->cp_hs.ph_nreplies) >= RDS_MAX_REPLIES) {
			atomic_dec(&cp->cp_hs.ph_replies);
			continue;
		}
		msg = rds_send_new_control(cp);
		if (!msg) {
			rds_cpath_kick(cp, RDS_PROBE_NOMEM_DELAY);
			return;
		}
		atomic_dec(&cp->cp_hs.ph_replies);
		atomic_inc(&cp->cp_hs.ph_nreplies);
		msg->m_kind = RDS_MSG_REPLY;
		rds_probe_write_reply(cp, msg);
		rds_send_control(cp, msg, false);
	}
}

/**
 * rds_probe_offer_again() - Send a probe if our offer has changed
 * @conn: the connection
 *
 * To be called after the replies are queued, which may carry the present offer
 * already.
 *
 * Context: Process context. c_mp_lock is held.
 */
void rds_probe_offer_again(struct rds_conn *conn)
	__must_hold(&conn->c_mp_lock)
{
	bool in_use = READ_ONCE(conn->c_npaths_offered_in_use);
	u16 offered = READ_ONCE(conn->c_npaths_offered);

	lockdep_assert_held(&conn->c_mp_lock);
	if (conn->c_has_handshake && offered &&
	    (offered != rds_probe_offer(conn) ||
	     in_use != rds_probe_in_use(conn)))
		rds_probe_soon(rds_conn_path(conn, 0));
}
