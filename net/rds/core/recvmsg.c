// SPDX-License-Identifier: GPL-2.0-only
/*
 * recvmsg() on RDS sockets.
 *
 * A call returns the first of the following that is available:
 *
 * 1. Notes about RDMA operations that have ended (notify.c), as control
 *    messages alone.
 * 2. A congestion change that the socket monitors, as a control message alone.
 * 3. The next message. If there is room, completions of sends from user memory
 *    (zcopy.c) are reported with it.
 * 4. These completions alone, if there is room.
 *
 * A reader takes the message off the queue, so that many threads can read at
 * the same time. If the user's buffers turn out to be bad, the reader puts the
 * message back.
 */
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <net/compat.h>

#include "compat.h"
#include "cong_flow.h"
#include "incoming.h"
#include "mr.h"
#include "notify.h"
#include "recv_queue.h"
#include "sock_ops.h"
#include "zcopy.h"

static size_t rds_recv_zcopy_size(const struct msghdr *msg)
{
	const size_t size = sizeof(struct rds_zcopy_cookies);

#ifdef CONFIG_COMPAT
	if (msg->msg_flags & MSG_CMSG_COMPAT)
		return sizeof(struct compat_cmsghdr) + size;
#endif
	return CMSG_SPACE(size);
}

/* Completions that do not fit would be truncated and lost, so they are not
 * reported.
 */
static bool rds_recv_may_report_zcopy(const struct rds_sock *rs,
				      const struct msghdr *msg)
{
	return rds_zcopy_pending(rs) && msg->msg_control &&
	       msg->msg_controllen >= rds_recv_zcopy_size(msg);
}

static bool rds_recv_ready(const struct rds_sock *rs, const struct msghdr *msg)
{
	return !list_empty(&rs->rs_recv_queue) ||
	       READ_ONCE(rs->rs_cong.sg_notify) || rds_notes_pending(rs) ||
	       rds_recv_may_report_zcopy(rs, msg);
}

/* Readers are woken one at a time. Room to write must not use up the wakeup of
 * a reader.
 */
static int rds_recv_wake(struct wait_queue_entry *wait, unsigned int mode,
			 int sync, void *key)
{
	if (key && !(key_to_poll(key) & (EPOLLIN | EPOLLERR)))
		return 0;
	return autoremove_wake_function(wait, mode, sync, key);
}

static int rds_recv_wait(struct rds_sock *rs, const struct msghdr *msg,
			 long *timeo)
{
	wait_queue_head_t *waitq = sk_sleep(&rs->rs_sk);
	DEFINE_WAIT_FUNC(wait, rds_recv_wake);
	int ret = 0;

	prepare_to_wait_exclusive(waitq, &wait, TASK_INTERRUPTIBLE);
	if (!rds_recv_ready(rs, msg)) {
		if (signal_pending(current))
			ret = sock_intr_errno(*timeo);
		else
			*timeo = schedule_timeout(*timeo);
	}
	finish_wait(waitq, &wait);

	/* A wakeup wakes one reader only. If there is something to read, that
	 * reader must not return an error.
	 */
	if (rds_recv_ready(rs, msg))
		return 0;
	return ret ?: *timeo ? 0 : -ETIMEDOUT;
}

/* One wakeup may stand for many messages, so wake the next reader. */
static void rds_recv_wake_next(struct rds_sock *rs)
{
	wait_queue_head_t *waitq = sk_sleep(&rs->rs_sk);

	if (!list_empty(&rs->rs_recv_queue) && wq_has_sleeper(waitq))
		wake_up_interruptible_poll(waitq, EPOLLIN | EPOLLRDNORM);
}

static u64 rds_recv_take_cong(struct rds_sock *rs, bool peek)
{
	struct rds_net *rn = rs->rs_rn;
	u64 notify;

	if (likely(!READ_ONCE(rs->rs_cong.sg_notify)))
		return 0;

	spin_lock_bh(&rn->rn_cong_lock);
	notify = rs->rs_cong.sg_notify;
	if (!peek)
		WRITE_ONCE(rs->rs_cong.sg_notify, 0);
	spin_unlock_bh(&rn->rn_cong_lock);
	return notify;
}

static int rds_recv_put_cong(struct rds_sock *rs, struct msghdr *msg,
			     u64 notify)
{
	struct rds_net *rn = rs->rs_rn;
	int ret;

	msg->msg_namelen = 0;
	ret = put_cmsg(msg, SOL_RDS, RDS_CMSG_CONG_UPDATE, sizeof(notify),
		       &notify);
	if (ret) {
		spin_lock_bh(&rn->rn_cong_lock);
		WRITE_ONCE(rs->rs_cong.sg_notify,
			   rs->rs_cong.sg_notify | notify);
		spin_unlock_bh(&rn->rn_cong_lock);
	}
	return ret;
}

/* SO_TIMESTAMPNS: in nanoseconds */
static int rds_recv_put_tstamp_ns(struct sock *sk, struct msghdr *msg,
				  const struct timespec64 *ts)
{
	struct __kernel_timespec kts = { ts->tv_sec, ts->tv_nsec };
	struct __kernel_old_timespec old = { ts->tv_sec, ts->tv_nsec };

	if (sock_flag(sk, SOCK_TSTAMP_NEW))
		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMPNS_NEW,
				sizeof(kts), &kts);
	return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMPNS_OLD, sizeof(old),
			&old);
}

static int rds_recv_put_tstamp(struct sock *sk, struct msghdr *msg,
			       ktime_t tstamp)
{
	struct __kernel_sock_timeval stv;
	struct __kernel_old_timeval tv;
	struct timespec64 ts;

	ts = ktime_to_timespec64(tstamp);
	if (sock_flag(sk, SOCK_RCVTSTAMPNS))
		return rds_recv_put_tstamp_ns(sk, msg, &ts);
	if (sock_flag(sk, SOCK_TSTAMP_NEW)) {
		stv.tv_sec = ts.tv_sec;
		stv.tv_usec = ts.tv_nsec / NSEC_PER_USEC;
		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_NEW,
				sizeof(stv), &stv);
	}
	tv.tv_sec = ts.tv_sec;
	tv.tv_usec = ts.tv_nsec / NSEC_PER_USEC;
	return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_OLD, sizeof(tv), &tv);
}

#ifdef CONFIG_COMPAT
/* The layout in 32-bit programs; on some architectures without padding before
 * rx_trace
 */
struct rds_compat_cmsg_rx_trace {
	u8		rx_traces;
	u8		rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	compat_u64	rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

static int rds_recv_put_compat_trace(struct msghdr *msg,
				     const struct rds_cmsg_rx_trace *trace)
{
	struct rds_compat_cmsg_rx_trace compat;

	memset(&compat, 0, sizeof(compat));
	compat.rx_traces = trace->rx_traces;
	memcpy(compat.rx_trace_pos, trace->rx_trace_pos,
	       sizeof(compat.rx_trace_pos));
	memcpy(compat.rx_trace, trace->rx_trace, sizeof(compat.rx_trace));
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(compat),
			&compat);
}
#endif

static int rds_recv_put_latency(struct rds_sock *rs, struct msghdr *msg,
				struct rds_incoming *inc)
{
	u64 stamps[RDS_RX_STAMPS];
	struct rds_cmsg_rx_trace trace;
	unsigned int i, pos;

	memset(&trace, 0, sizeof(trace));
	memcpy(stamps, inc->i_stamps, sizeof(stamps));
	stamps[RDS_RX_STAMP_DELIVERED] = local_clock();
	trace.rx_traces = READ_ONCE(rs->rs_rx_traces);
	for (i = 0; i < trace.rx_traces; i++) {
		pos = READ_ONCE(rs->rs_rx_trace[i]);
		trace.rx_trace_pos[i] = pos;
		trace.rx_trace[i] = stamps[pos + 1] - stamps[pos];
	}
#ifdef CONFIG_COMPAT
	if (msg->msg_flags & MSG_CMSG_COMPAT)
		return rds_recv_put_compat_trace(msg, &trace);
#endif
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(trace),
			&trace);
}

/* Completions are rare, so this stays out of the path of ordinary messages.
 * Returns 1 if a completion was reported, 0 if there was none, or an errno.
 */
static noinline int rds_recv_report_zcopy(struct rds_sock *rs,
					  struct msghdr *msg, bool peek)
{
	struct rds_zcopy_told told;
	int ret;

	if (!rds_zcopy_take(rs, &told, peek))
		return 0;

	ret = put_cmsg(msg, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION,
		       sizeof(told.cookies), &told.cookies);
	if (ret) {
		rds_zcopy_put_back(rs, &told);
		return ret;
	}
	rds_zcopy_done(rs, &told);
	return 1;
}

/* Returns 1 if a completion was reported, 0 if not, or an errno. */
static int rds_recv_put_zcopy(struct rds_sock *rs, struct msghdr *msg,
			      bool peek)
{
	if (likely(!rds_recv_may_report_zcopy(rs, msg)))
		return 0;
	return rds_recv_report_zcopy(rs, msg, peek);
}

/* If the message carries the cookie of an MR of the peer, report the cookie. */
static int rds_recv_put_dest(struct msghdr *msg,
			     const struct rds_incoming *inc)
{
	rds_rdma_cookie_t cookie;
	unsigned int pos = 0;
	const u8 *payload;
	u8 type;

	while ((type = rds_exthdr_next(inc->i_exthdr, &pos, &payload))) {
		if (type != RDS_EXTHDR_RDMA_DEST)
			continue;
		cookie = rds_mr_cookie(get_unaligned_be32(payload),
				       get_unaligned_be32(payload + 4));
		return put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_DEST,
				sizeof(cookie), &cookie);
	}
	return 0;
}

static int rds_recv_put_cmsgs(struct rds_sock *rs, struct msghdr *msg,
			      int flags, struct rds_incoming *inc)
{
	struct sock *sk = &rs->rs_sk;
	int ret = 0;

	if (inc->i_exthdr[0])
		ret = rds_recv_put_dest(msg, inc);
	if (!ret && inc->i_tstamp && sock_flag(sk, SOCK_RCVTSTAMP))
		ret = rds_recv_put_tstamp(sk, msg, inc->i_tstamp);
	if (!ret && rs->rs_rx_traces && inc->i_stamps[RDS_RX_STAMP_HDR])
		ret = rds_recv_put_latency(rs, msg, inc);
	if (!ret && !(flags & MSG_PEEK))
		ret = rds_recv_put_zcopy(rs, msg, false);
	return min(ret, 0);
}

static void rds_recv_put_name(struct msghdr *msg,
			      const struct rds_incoming *inc)
{
	struct rds_addr from;

	if (!msg->msg_name)
		return;

	from.ip = inc->i_saddr;
	from.ifindex = rds_addr_scope(&inc->i_saddr, inc->i_ifindex);
	from.port = inc->i_sport;
	msg->msg_namelen = rds_addr_format(&from, msg->msg_name);
}

static int rds_recv_copy(struct rds_sock *rs, struct msghdr *msg, size_t size,
			 int flags, struct rds_incoming *inc)
{
	u32 len = min_t(size_t, size, inc->i_len);
	int ret;

	if (len) {
		ret = inc->i_ops->copy(inc, 0, len, &msg->msg_iter);
		if (ret)
			return ret;
	}
	ret = rds_recv_put_cmsgs(rs, msg, flags, inc);
	if (ret)
		return ret;

	rds_recv_put_name(msg, inc);
	rds_stat_add(rs->rs_rn, copy_to_user, len);
	if (len == inc->i_len)
		return len;

	msg->msg_flags |= MSG_TRUNC;
	return flags & MSG_TRUNC ? inc->i_len : len;
}

static int rds_recv_message(struct rds_sock *rs, struct msghdr *msg,
			    size_t size, int flags, struct rds_incoming *inc)
{
	struct rds_net *rn = rs->rs_rn;
	bool peek = flags & MSG_PEEK;
	int ret;

	ret = rds_recv_copy(rs, msg, size, flags, inc);
	if (ret < 0 && !peek) {
		rds_recv_put_back(rs, inc);
		return ret;
	}
	if (!peek) {
		rds_stat_inc(rn, recv_delivered);
		rds_stat_add(rn, recv_bytes_freed_fromsock, inc->i_len);
	}
	rds_incoming_put(inc);
	rds_recv_wake_next(rs);
	return ret;
}

/**
 * rds_sock_recvmsg() - Receive a message or a notification (recvmsg(2))
 * @sock: the socket
 * @msg: where to put the sender, payload, control messages and flags
 * @size: room for payload, in bytes
 * @flags: MSG_* flags of the call
 *
 * Context: Process context, may sleep.
 * Return: number of payload bytes copied, or with MSG_TRUNC the length of the
 * whole message; 0 also for control messages alone, and for MSG_OOB; -EAGAIN,
 * -ETIMEDOUT, -EINTR, -ERESTARTSYS or -EFAULT, with nothing lost. With
 * MSG_ERRQUEUE, as sock_recv_errqueue().
 */
int rds_sock_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
		     int flags)
{
	long timeo = sock_rcvtimeo(sock->sk, flags & MSG_DONTWAIT);
	struct rds_sock *rs = rds_sk(sock->sk);
	bool peek = flags & MSG_PEEK;
	struct rds_incoming *inc;
	bool nonblock = !timeo;
	u64 notify;
	int ret;

	if (flags & MSG_OOB)
		return 0;
	if (flags & MSG_ERRQUEUE)
		return sock_recv_errqueue(sock->sk, msg, size, SOL_IP,
					  IP_RECVERR);

	for (;;) {
		ret = rds_notes_pending(rs) ? rds_notes_put(rs, msg, peek) : 0;
		if (ret) {
			msg->msg_namelen = 0;
			return min(ret, 0);
		}

		notify = rds_recv_take_cong(rs, peek);
		if (notify)
			return rds_recv_put_cong(rs, msg, notify);

		inc = rds_recv_first(rs, peek);
		if (inc)
			return rds_recv_message(rs, msg, size, flags, inc);

		ret = rds_recv_put_zcopy(rs, msg, peek);
		if (ret) {
			msg->msg_namelen = 0;
			return min(ret, 0);
		}

		rds_cong_acts(rs);
		if (nonblock)
			return -EAGAIN;
		ret = rds_recv_wait(rs, msg, &timeo);
		if (ret)
			return ret;
	}
}
