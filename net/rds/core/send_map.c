// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending our congestion map to the peer.
 *
 * A map is sent whole, from a snapshot, so that changes meanwhile do not tear
 * it. The next map is sent after the peer has acknowledged the last one, and
 * not in the jiffy in which the last snapshot was taken. All changes before
 * that go with the next map (RDS_PF_CONG_LATER). One message is sent between
 * two maps, if any may be sent. So a user who makes a port congested and free
 * again all the time does not block the messages of other users.
 *
 * A change of the map flags the paths at most once a jiffy. Changes that were
 * not flagged for that reason are found here: after each map the path's work
 * item checks, in a later jiffy, whether there is a newer one.
 */
#include <linux/slab.h>

#include "compat.h"
#include "cong.h"
#include "cong_flow.h"
#include "conn.h"
#include "send.h"

/* Delay until the path's work item checks whether the next map may be sent,
 * in jiffies
 */
#define RDS_MAP_DELAY	1

/* A path may send no map for so long that jiffies wrap. So do not compare. */
static bool rds_send_map_is_fresh(const struct rds_cpath *cp)
{
	return !(jiffies - READ_ONCE(cp->cp_map.pm_at));
}

/* Postpone the map until the last one is acknowledged. If that ack arrives just
 * now, the work item that it kicks may not see the flag yet: kick it once more.
 * Once RDS_PF_CONG_LATER is set, the work item may set RDS_PF_CONG instead,
 * which must not be cleared then. A work item that runs while neither is set
 * finds nothing to do: the kick at the end, or the ack, makes it run again.
 */
static void rds_send_put_map_off(struct rds_cpath *cp)
{
	clear_bit(RDS_PF_CONG, &cp->cp_flags);
	set_bit(RDS_PF_CONG_LATER, &cp->cp_flags);
	/* Pairs with the one in rds_path_map_acked(). */
	smp_mb__after_atomic();
	if (!READ_ONCE(cp->cp_map.pm_out))
		rds_cpath_kick(cp, RDS_MAP_DELAY);
}

static int rds_send_take_map(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_cong_map *map = cp->cp_conn->c_lcong;

	lockdep_assert_held(&cp->cp_xmit_lock);

	/* Read the version first: it must not be newer than the bits. */
	WRITE_ONCE(cp->cp_map.pm_ver, rds_cong_ver(map));
	cp->cp_map.pm_map = kmemdup(map->cm_bits, RDS_CONG_MAP_BYTES, GFP_NOFS);
	if (!cp->cp_map.pm_map) {
		set_bit(RDS_PF_CONG, &cp->cp_flags);
		return -ENOMEM;
	}
	/* Store these after the bits are read and before an ack can arrive. */
	WRITE_ONCE(cp->cp_map.pm_at, jiffies);
	WRITE_ONCE(cp->cp_map.pm_out, true);
	return 0;
}

/**
 * rds_send_cong_map() - Send our congestion map to the peer if it is due
 * @cp: the path, UP
 *
 * Context: Process context, may sleep. cp_xmit_lock is held.
 * Return: 0 if the map is sent, if none is due, or if it has to wait because of
 * the last one; otherwise as &rds_data_ops.xmit_cong_map, or -ENOMEM.
 */
int rds_send_cong_map(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_data_ops *ops = cp->cp_trans->data;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	if (!cp->cp_map.pm_map) {
		if (!test_bit(RDS_PF_CONG, &cp->cp_flags))
			return 0;
		if (READ_ONCE(cp->cp_map.pm_out) || rds_send_map_is_fresh(cp)) {
			rds_send_put_map_off(cp);
			return 0;
		}
		clear_bit(RDS_PF_CONG_LATER, &cp->cp_flags);
		if (!test_and_clear_bit(RDS_PF_CONG, &cp->cp_flags) ||
		    !ops->xmit_cong_map)
			return 0;
		ret = rds_send_take_map(cp);
		if (ret)
			return ret;
	}

	ret = ops->xmit_cong_map(&cp->cp_pub, cp->cp_map.pm_map);
	if (ret == -EAGAIN || ret == -ENOMEM)
		return ret;

	kfree(cp->cp_map.pm_map);
	cp->cp_map.pm_map = NULL;
	cp->cp_map.pm_yields = true;
	return ret < 0 ? ret : 0;
}

/**
 * rds_send_forget_map() - Discard the map of a lost connection
 * @cp: the path; its transport is shut down
 *
 * The peer will not acknowledge that map. The next connection begins with a
 * map, without delay.
 *
 * Context: Process context. cp_xmit_lock is held.
 */
void rds_send_forget_map(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	kfree(cp->cp_map.pm_map);
	cp->cp_map.pm_map = NULL;
	cp->cp_map.pm_yields = false;
	WRITE_ONCE(cp->cp_map.pm_at, jiffies - 1);
	WRITE_ONCE(cp->cp_map.pm_out, false);
}

/* Changes of the map are sent on path 0 only. */
static bool rds_send_map_is_old(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return !rds_cpath_can(cp, RDS_CAP_LOOPBACK) &&
	       cp == rds_conn_path(conn, 0) &&
	       READ_ONCE(cp->cp_map.pm_ver) != rds_cong_ver(conn->c_lcong);
}

/* Check whether there is a newer map, and RDS_PF_CONG is not set for it. */
static bool rds_send_map_was_missed(const struct rds_cpath *cp)
{
	return cp->cp_trans->data->xmit_cong_map &&
	       !test_bit(RDS_PF_CONG, &cp->cp_flags) &&
	       (test_bit(RDS_PF_CONG_LATER, &cp->cp_flags) ||
		rds_send_map_is_old(cp));
}

/**
 * rds_send_map_again() - Schedule the next map if there is one and it may go
 * @cp: the path
 *
 * Context: Process context, the path's work item, before it sends.
 */
void rds_send_map_again(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP ||
	    READ_ONCE(cp->cp_map.pm_out) || rds_send_map_is_fresh(cp))
		return;
	if (test_and_clear_bit(RDS_PF_CONG_LATER, &cp->cp_flags) ||
	    rds_send_map_is_old(cp))
		set_bit(RDS_PF_CONG, &cp->cp_flags);
}

/**
 * rds_send_map_delay() - Compute when to call rds_send_map_again() again
 * @cp: the path
 *
 * Context: Process context, the path's work item.
 * Return: the delay in jiffies; LONG_MAX if a kick comes when there is more to
 * do.
 */
long rds_send_map_delay(const struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP || READ_ONCE(cp->cp_map.pm_out))
		return LONG_MAX;
	/* The jiffy may have ended after rds_send_map_again() checked it. Then
	 * a map that it postponed is no longer fresh, but still to be sent.
	 */
	if (rds_send_map_is_fresh(cp) || rds_send_map_was_missed(cp))
		return RDS_MAP_DELAY;
	return LONG_MAX;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_send_map_delay);

/**
 * rds_path_map_acked() - Process the ack of the congestion map sent last
 * @path: the path that carried it
 *
 * May be called from within xmit_cong_map().
 *
 * Context: Any context. Locks of the transport may be held.
 */
void rds_path_map_acked(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_conn *conn = cp->cp_conn;
	u32 ver = READ_ONCE(cp->cp_map.pm_ver);

	if ((s32)(ver - READ_ONCE(conn->c_map_acked_ver)) > 0)
		WRITE_ONCE(conn->c_map_acked_ver, ver);
	WRITE_ONCE(cp->cp_map.pm_out, false);
	/* Pairs with the one in rds_send_put_map_off(). */
	smp_mb();
	rds_cpath_kick(cp, RDS_MAP_DELAY);
	rds_cong_resend_map(cp);
}
EXPORT_SYMBOL_GPL(rds_path_map_acked);
