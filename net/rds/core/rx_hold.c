// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limit on memory that unread messages hold.
 *
 * The receive queue of a socket never refuses a message. If it becomes too
 * long, the port is marked congested instead (recv_queue.c), and the peer is to
 * send no more. Messages that arrive for a congested port all the same count in
 * c_rx_held of their connection until they are freed. If they hold more than
 * net.rds.rx_held_max, or a multiple of that for some peers, the transport
 * stops reading the path. When the messages hold less than half of
 * net.rds.rx_held_max, all paths of the connection that were stopped are read
 * again.
 *
 * No lock: c_rx_held and RDS_PF_RX_STOPPED are atomic. The context that clears
 * the flag resumes the path.
 */
#include "conn.h"
#include "rx_hold.h"
#include "sock.h"
#include "sysctl.h"

/* The multiple of rds_rx_held_max() that unread messages may hold if the peer
 * has not been notified that the port is congested. Such a peer may exceed the
 * limit for a while, but not forever.
 */
#define RDS_RX_UNTOLD_FACTOR	4

/* The same for a notified peer that runs this implementation. It parks messages
 * for a port as soon as it learns that the port is congested. The messages that
 * its paths have in hand by then still arrive: by default up to 4 MiB per path.
 */
#define RDS_RX_OURS_FACTOR	3

/**
 * rds_rx_hold_charge() - Count a message as held for a slow reader
 * @cp: the path that the message arrived on; its connection is referenced until
 *	the message is freed
 * @inc: the message
 *
 * Context: Deliver context.
 * Return: bytes of memory that the counted messages of all paths of the
 * connection hold now.
 */
long rds_rx_hold_charge(struct rds_cpath *cp, struct rds_incoming *inc)
{
	inc->i_path = &cp->cp_pub;
	rds_conn_hold(cp->cp_conn);
	return atomic_long_add_return(inc->i_truesize,
				      &cp->cp_conn->c_rx_held);
}

/**
 * rds_rx_hold_uncharge() - Undo rds_rx_hold_charge()
 * @inc: the message, about to be freed
 *
 * Context: Any context.
 */
void rds_rx_hold_uncharge(struct rds_incoming *inc)
{
	struct rds_conn *conn = to_cpath(inc->i_path)->cp_conn;
	struct rds_cpath *cp;
	unsigned int i;
	long held;

	held = atomic_long_sub_return(inc->i_truesize, &conn->c_rx_held);
	if (held >= rds_rx_held_max(conn->c_rn) / 2)
		goto out;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp || !test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags) ||
		    !test_and_clear_bit(RDS_PF_RX_STOPPED, &cp->cp_flags))
			continue;
		set_bit(RDS_PF_RX, &cp->cp_flags);
		rds_cpath_kick(cp, 0);
	}
out:
	rds_conn_put(conn);
}

/* Stop reading a path. A reader that freed memory before the flag was set did
 * not see the flag and will not resume the path, so check the limit again here.
 */
static bool rds_rx_hold_stop(struct rds_cpath *cp)
{
	struct rds_net *rn = cp->cp_conn->c_rn;

	set_bit(RDS_PF_RX_STOPPED, &cp->cp_flags);
	/* Pairs with the order in rds_rx_hold_uncharge(). */
	smp_mb__after_atomic();
	/* After the flag is set: see rds_sw_unpause(). */
	rds_cpath_pause_rx(cp);
	if (atomic_long_read(&cp->cp_conn->c_rx_held) <
	    rds_rx_held_max(rn) / 2 &&
	    test_and_clear_bit(RDS_PF_RX_STOPPED, &cp->cp_flags)) {
		/* The work item may have seen the flags: run it again. */
		clear_bit(RDS_PF_RX_PAUSED, &cp->cp_flags);
		rds_cpath_kick(cp, 0);
		return false;
	}

	rds_stat_inc(rn, recv_path_stopped);
	net_warn_ratelimited("rds: %pI6c -> %pI6c: too many unread messages; not reading on\n",
			     &cp->cp_pub.faddr, &cp->cp_pub.laddr);
	return true;
}

/* Return the multiple of rds_rx_held_max() that unread messages may hold. It is
 * 1 if a peer of another implementation has been notified.
 */
static long rds_rx_hold_factor(const struct rds_conn *conn,
			       const struct rds_sock *rs)
{
	if ((s32)(READ_ONCE(conn->c_map_acked_ver) -
		  READ_ONCE(rs->rs_map_ver)) < 0)
		return RDS_RX_UNTOLD_FACTOR;
	return READ_ONCE(conn->c_peer_hs.ours) ? RDS_RX_OURS_FACTOR : 1;
}

/**
 * rds_rx_hold_stops() - Stop reading a path if unread messages hold too much
 * @cp: the path
 * @rs: the congested socket that the last message arrived for
 * @held: what rds_rx_hold_charge() returned for that message
 *
 * Context: Deliver context.
 * Return: true if the transport must stop reading the path.
 */
bool rds_rx_hold_stops(struct rds_cpath *cp, const struct rds_sock *rs,
		       long held)
{
	const struct rds_conn *conn = cp->cp_conn;
	long max = rds_rx_held_max(conn->c_rn);

	if (held <= max || held / rds_rx_hold_factor(conn, rs) <= max)
		return false;
	return rds_rx_hold_stop(cp);
}
