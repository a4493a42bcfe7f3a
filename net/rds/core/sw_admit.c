// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software RDMA: whether an operation may be sent over a connection. That
 * depends on what the peer's handshake announces, so sendmsg() waits for the
 * handshake, for a limited time.
 */
#include <linux/wait.h>
#include <net/sock.h>

#include "compat.h"
#include "cong.h"
#include "conn.h"
#include "delay.h"
#include "sw_admit.h"

static bool rds_sw_peer_is_known(const struct rds_conn *conn)
{
	/* Pairs with the release in rds_mp_apply(). */
	return smp_load_acquire(&conn->c_has_handshake);
}

/* Wait for an absent peer once per connection, not once per message: the time
 * starts with the first message that waits.
 */
static long rds_sw_patience(struct rds_conn *conn)
{
	unsigned long at = READ_ONCE(conn->c_handshake_wait_at);

	if (!at) {
		at = jiffies | 1;
		WRITE_ONCE(conn->c_handshake_wait_at, at);
	}
	/* @at may be the next jiffy, as 0 stands for none. */
	return rds_delay_left(at + RDS_SW_PATIENCE, RDS_SW_PATIENCE + 1);
}

static int rds_sw_await_handshake(struct rds_conn *conn, long *timeo)
{
	long wait, left;

	if (likely(rds_sw_peer_is_known(conn)))
		return 0;
	rds_cpath_connect_soon(&conn->c_path);
	if (!*timeo)
		return 0;
	wait = min(*timeo, rds_sw_patience(conn));
	if (!wait)
		return 0;
	left = wait_event_interruptible_timeout(conn->c_fcong->cm_waitq,
						rds_sw_peer_is_known(conn),
						wait);
	if (left < 0)
		return sock_intr_errno(*timeo);
	/* Leave at least 1, because 0 means that the caller must not block. */
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo = max(*timeo - (wait - left), 1L);
	return 0;
}

/**
 * rds_sw_admit() - Check whether a connection supports software RDMA
 * @conn: the connection
 * @timeo: how long to wait for the peer's handshake frame, in jiffies; the time
 *	spent is subtracted
 *
 * If no handshake frame of the peer arrives in this time, or the caller does
 * not wait, assume that the peer supports software RDMA.
 *
 * Context: Process context, may sleep.
 * Return: 0 if it does; -EOPNOTSUPP if it does not; -EINTR or -ERESTARTSYS if a
 * signal has ended the wait.
 */
int rds_sw_admit(struct rds_conn *conn, long *timeo)
{
	int ret;

	if (conn->c_path.cp_device)
		return -EOPNOTSUPP;
	if (rds_conn_loops(conn))
		return 0;
	if (!rds_cpath_can(&conn->c_path, RDS_CAP_HANDSHAKE))
		return -EOPNOTSUPP;
	ret = rds_sw_await_handshake(conn, timeo);
	if (ret)
		return ret;
	if (rds_sw_peer_is_known(conn) && !READ_ONCE(conn->c_peer_hs.sw_rdma))
		return -EOPNOTSUPP;
	return 0;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_sw_admit);
