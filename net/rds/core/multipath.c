// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paths of a connection: how many there are, who the peer is, and what
 * follows when it turns out to be another than before.
 *
 * Peers greet each other with probes and answers (handshake.c). To a peer that
 * is known to be of this implementation they go unnumbered, ahead of
 * everything, on every path; to others numbered like messages, on path 0, where
 * the very first message of a connection is one. Delivery takes a greeting down
 * (rds_mp_receive()) and the path's work draws the consequences, under
 * c_mp_lock:
 *
 * - Another generation: the peer has forgotten us. What was queued for its
 *   former self is given up, and connections to that one are dropped. Nothing
 *   is read until that is done, lest an answer to the new one be among it.
 *   Numbers go on; gaps are legal. Another epoch alone: it has only forgotten a
 *   connection that nobody there used, and has received nothing by it, so
 *   nothing is given up. Its own numbers begin anew in both cases.
 * - More paths: they are made, and the lower address dials them. All messages
 *   took one path so far; from here on they spread, but wait on their paths
 *   (gate.c) until a probe behind the last of them is answered: what TCP has
 *   acknowledged need not have been delivered. The answer says which one it is
 *   the answer to. If there is none, perhaps because the peer has forgotten us
 *   meanwhile, it is asked again. Other kinds do not say that (legacy.c).
 * - More paths in use: what either end uses the other keeps, whatever it would
 *   offer itself. One of ours says so in each greeting, and so its peer learns
 *   it again after it has forgotten the connection. Those over which it spreads
 *   its own messages remain as many as they are, once there is more than one.
 * - A path's number: the peer's ports may name its paths, which we learn only
 *   now. The first connection we accepted is then given its number.
 *
 * Two who learn of each other's paths by a probe that still offered one send
 * another.
 */
#include <linux/log2.h>

#include "compat.h"
#include "cong.h"
#include "conn_table.h"
#include "multipath.h"
#include "legacy.h"
#include "message.h"
#include "send.h"

#include <trace/events/rds.h>

/* Until a barrier without an answer is followed by another */
#define RDS_FAN_PATIENCE	HZ

/* Until what lacked memory is tried again */
#define RDS_MP_NOMEM_DELAY	2

/* Numbered probes that may wait on a path; more would say the same */
#define RDS_MAX_PROBES		2

/* In cp_turn, for there is a generation 0 */
#define RDS_TURN_NOTED		BIT_ULL(32)

/* Answers to probes that may wait on a path */
#define RDS_MAX_REPLIES		16

/* What is in use is not taken back. */
static unsigned int rds_mp_offer(const struct rds_conn *conn)
{
	unsigned int n = READ_ONCE(conn->c_npaths_wanted);
	bool legacy = !READ_ONCE(conn->c_peer_hs.ours);

	if (n > 1)
		return n;
	n = conn->c_key.trans->conn->max_paths(conn->c_rn->rn_net, legacy);
	return clamp_t(unsigned int, n, 1, RDS_MAX_PATHS);
}

/* Others would not understand it. */
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
 * rds_mp_write_probe() - make a message a probe
 * @cp: the path that it is to go by
 * @msg: the message, empty
 *
 * Context: process.
 */
void rds_mp_write_probe(struct rds_cpath *cp, struct rds_message *msg)
{
	rds_mp_write(cp->cp_conn, msg, false, 0);
}

/**
 * rds_mp_write_reply() - make a message an answer to a probe
 * @cp: the path that it is to go by
 * @msg: the message, empty
 *
 * Context: process.
 */
void rds_mp_write_reply(struct rds_cpath *cp, struct rds_message *msg)
{
	rds_mp_write(cp->cp_conn, msg, true, READ_ONCE(cp->cp_rx_tag));
}

/* Unnumbered frames are for those who understand them. */
static void rds_mp_probe_soon(struct rds_cpath *cp)
{
	if (READ_ONCE(cp->cp_conn->c_peer_hs.ours))
		set_bit(RDS_PF_PROBE_NOW, &cp->cp_flags);
	else
		set_bit(RDS_PF_PROBE, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
}

/* What was written before they knew us may come later. How many they have in
 * use is no offer.
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
 * rds_mp_verify() - does the peer still know of a connection?
 * @cp: the path, UP
 *
 * If it does not, what is sent now will be answered by a reset.
 *
 * Context: any.
 */
void rds_mp_verify(struct rds_cpath *cp)
{
	rds_mp_probe_soon(cp);
}

/* What is queued up to here, on any path, is not for the one who greets. While
 * the connection is shut down, what follows the greeting may be delivered, and
 * answered, before that is acted on.
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

/* Where the probe of a barrier is, all that was before it has arrived; where
 * the answer is, that is known.
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
	/* Numbered ones may have been meant for another life of ours. */
	else if (!inc->i_seq && inc->i_dport &&
		 cp == READ_ONCE(conn->c_fan_path))
		WRITE_ONCE(conn->c_fan_echo, hs->tag);
}

/**
 * rds_mp_receive() - a probe or an answer has arrived
 * @cp: the path that it came by
 * @inc: the frame; stays the caller's
 * @turn: set to whether the peer is another than before: then nothing may be
 *	read until the path's work has heeded that, and has the transport read
 *	on
 *
 * Whether it is a duplicate is judged here, for the judgement depends on what
 * it says.
 *
 * Context: deliver context, serial per path.
 * Return: true if it was processed; false if it is a duplicate.
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
		/* No other probe went by this connection yet. */
		asked = cp->cp_restart_probe_out;
		cp->cp_restart_probe_out = false;
	}
	spin_unlock(&cp->cp_lock);

	/* Before the work can see the news */
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

/* A connection to what the peer was before? One of ours that has not greeted
 * yet will tell; those of others never may.
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

/* Two paths exchange their numbers. */
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

/* Messages that are queued from here on are for the new one. If it names no
 * paths, the path that it came by is the only one it has.
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
	/* One that is being destroyed is left as it is. */
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
		/* First, for what its work flushes has to be all there is. */
		if (cp != by && rds_mp_is_stale(cp, hs))
			rds_cpath_renew(cp, RDS_DROP_PEER_RESTARTED);
		spin_lock_bh(&cp->cp_lock);
		cp->cp_flush_ticket = cp->cp_next_ticket;
		/* What stays on another path is overtaken, or never sent. */
		if (cp == conn->c_fan_path &&
		    cp->cp_turn == (rds_handshake_gen(hs) | RDS_TURN_NOTED))
			cp->cp_flush_ticket = cp->cp_turn_ticket;
		cp->cp_turn = 0;
		set_bit(RDS_PF_FLUSH, &cp->cp_flags);
		spin_unlock_bh(&cp->cp_lock);
		rds_cpath_kick(cp, 0);
	}
}

/* The number that the peer's port gives to the path that it came by first. */
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
	/* It is being destroyed. */
	if (list_empty(&conn->c_item))
		return false;
	for (i = 1; i < want; i++) {
		if (!rds_conn_add_path(conn, i))
			return false;
	}
	return true;
}

/* What a numbered probe by a path asks: it is behind the barrier's, if not that
 * one itself.
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

/* From here on messages spread; those of one path are behind the barrier. It
 * is not needed, and stays the caller's, if nothing but the first probe has
 * been queued for one of ours; otherwise it is taken over. What is parked goes
 * before it.
 */
static bool rds_mp_spread(struct rds_conn *conn, unsigned int want,
			  struct rds_message *barrier)
	__must_hold(&conn->c_fan_path->cp_lock)
{
	struct rds_cpath *cp = conn->c_fan_path;
	/* One of ours takes what it does not expect; others are to know first
	 * how many paths we have.
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

/* Whoever has chosen a path by the old rule, and has not queued his message,
 * will see the new one: he looks again under the lock of that path.
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

/* Paths that were accepted when it was not known that the peer names them, or
 * of a former self that did not. What is on them has numbers of another path.
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
		/* Nobody will hear what it says. */
		rds_send_finish(barrier);
		WRITE_ONCE(conn->c_npaths_offered, offered);
		WRITE_ONCE(conn->c_npaths_offered_in_use, offered_use);
	}
	return made;
}

/* The peer uses more than we do. That it sends by them is nothing to the order
 * of what we send.
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

/* How many paths follow from what the peer says? */
static unsigned int rds_mp_want(const struct rds_conn *conn,
				const struct rds_handshake *hs)
{
	unsigned int n = min_t(unsigned int, hs->npaths, RDS_MAX_PATHS);

	if (!hs->in_use)
		n = min(n, rds_mp_offer(conn));
	return rounddown_pow_of_two(n);
}

/* From one to many, once in a life of the peer: a pair of sockets that has more
 * than one path to come from has no order to keep. Returns whether there is
 * anything to be done with the paths that there are now.
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
	/* It may have lost one that it is not ours to dial. */
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

/* What was acknowledged and is not answered may have gone to another life of
 * the peer, or the answer with a connection.
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
 * rds_mp_wait() - does a barrier want to be looked at again?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if it does.
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
	/* The answer may be here before this returns. */
	atomic_inc(&conn->c_probes);
	if (!rds_send_control(cp, msg, conn->c_first_probe))
		atomic_dec(&conn->c_probes);
	conn->c_first_probe = false;
}

static void rds_mp_queue_replies(struct rds_cpath *cp)
{
	struct rds_message *msg;

	while (atomic_read(&cp->cp_replies)) {
		/* A peer that does not read gets no more of them. */
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

/* Not before the answers, which may have said it already. */
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
	/* Only of the connection that it came by, while that lasts. */
	news = rds_cpath_state(cp) == RDS_PATH_UP &&
	       test_and_clear_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
	/* Before the greeting is looked at: another may come while it is. */
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
 * rds_mp_apply_last() - act on what the peer said last on a connection
 * @cp: the path; its transport is shut down
 *
 * What is said while a connection is shut down is as true as ever: if the peer
 * is another, what was delivered behind that is its own, and so are answers.
 *
 * Context: process, the path's work item, may sleep. Takes c_mp_lock,
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

/* What was for the peer's former self. A connection that has been dropped is
 * shut down first.
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
 * rds_mp_work() - the paths' part in the work of a path
 * @cp: the path
 *
 * Context: process, the path's work item, may sleep. Takes c_mp_lock,
 * rn_lock, the transmit lock.
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
