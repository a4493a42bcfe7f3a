// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog of a connection.
 *
 * The watchdog drops an attempt to connect that takes too long.
 *
 * On a connection that is UP, the device should complete every posted WR in the
 * end: it retransmits until it gives up. But some devices forget a WR if
 * packets are lost at the wrong moment. So while completions are outstanding,
 * the watchdog checks whether any arrive. If none is outstanding, but WRs have
 * been posted since its last check, some of these may not have requested one:
 * the watchdog sends an ack. The completion of the ack covers these WRs, and
 * releases the messages that they hold.
 *
 * A peer may also be gone while no WR is posted: its device has received all,
 * but the peer owes acks of messages, or it has advertised no more buffers for
 * them. Then nothing would be posted any more. So the watchdog continues to
 * send acks until no message waits for the peer. If there is no credit to send
 * one, the peer has given none since the last check, and that counts as a
 * missing completion does. On a connection where nothing is sent, and nothing
 * waits, the watchdog does not run.
 *
 * A peer that does not read for so long is treated as gone, too. No message is
 * lost: the peer accepts no other connection before it reads again.
 */
#include "ib.h"

/* Checks in a row without any completion until the connection is dropped. So
 * many checks take longer than all retransmissions of the device.
 */
#define RDS_IB_WATCHDOG_STALLS	3

static void rds_ib_watchdog_count(struct rds_ib_conn *ic, bool moves)
{
	struct rds_ib_watchdog *w = &ic->ic_watch;

	if (moves)
		w->w_stalls = 0;
	else if (++w->w_stalls >= RDS_IB_WATCHDOG_STALLS)
		rds_ib_drop(ic, RDS_DROP_TIMEOUT);
}

/* Check whether messages wait for the peer. */
static bool rds_ib_watchdog_waits(const struct rds_ib_conn *ic)
{
	return test_bit(0, &ic->ic_tx.tx_stalled) ||
	       rds_path_awaits_ack(ic->ic_ip->ip_path);
}

/* No completion is outstanding; there were @seen so far. Returns true if the
 * watchdog is to run again.
 */
static bool rds_ib_watchdog_ask(struct rds_ib_conn *ic, int seen)
{
	u32 posted = READ_ONCE(ic->ic_tx.tx_posted);
	struct rds_ib_watchdog *w = &ic->ic_watch;
	bool moves = w->w_posted != posted;

	w->w_posted = posted;
	if (!moves && !rds_ib_watchdog_waits(ic)) {
		w->w_stalls = 0;
		return false;
	}
	rds_ib_ack_wanted(ic);
	moves |= atomic_read(&ic->ic_signaled) != seen;
	rds_ib_watchdog_count(ic, moves);
	return true;
}

/* Returns true if the watchdog is to run again. */
static bool rds_ib_watchdog_up(struct rds_ib_conn *ic)
{
	struct rds_ib_watchdog *w = &ic->ic_watch;
	int seen = atomic_read(&ic->ic_completed);

	if (atomic_read(&ic->ic_signaled) == seen)
		return rds_ib_watchdog_ask(ic, seen);
	rds_ib_watchdog_count(ic, seen != w->w_seen);
	w->w_seen = seen;
	return true;
}

/**
 * rds_ib_watchdog_work() - Check the progress of a connection
 * @work: &rds_ib_conn.ic_watchdog
 *
 * Context: Process context. Takes the handler mutex.
 */
void rds_ib_watchdog_work(struct work_struct *work)
{
	struct rds_ib_conn *ic = container_of(to_delayed_work(work),
					      struct rds_ib_conn, ic_watchdog);
	bool again = false;

	rds_ib_conn_lock(ic);
	if (ic->ic_state == RDS_IB_DIALING || ic->ic_state == RDS_IB_ACCEPTING)
		rds_ib_drop(ic, RDS_DROP_TIMEOUT);
	else if (ic->ic_state == RDS_IB_UP)
		again = rds_ib_watchdog_up(ic);
	rds_ib_conn_unlock(ic);
	if (again)
		rds_ib_watchdog_start(ic);
}
