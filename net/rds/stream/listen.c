// SPDX-License-Identifier: GPL-2.0-only
/*
 * listen() and accept(): the server's side of the beginning of a stream.
 *
 * A REQUEST makes a stream at once, and a RESPONSE goes out; accept() only
 * fetches the stream. The queue of a listener is as long as its user has said,
 * and net.core.somaxconn at most. If it is full, the client is told that the
 * server is busy, and asks again. So the number of streams that peers can make
 * without a task that accepts them is bounded by the listeners of this host.
 *
 * A REQUEST for a stream that exists is answered again if it has the same
 * identifier: the client has asked twice. With another one, it shows that the
 * client has forgotten the stream, which ends.
 */
#include <linux/rds.h>
#include <linux/sched/signal.h>

#include "stream.h"

static bool rds_stream_queue_is_full(const struct rds_stream *listener)
{
	return sk_acceptq_is_full(&listener->st_sk);
}

static void rds_stream_inherit(struct rds_stream *st,
			       const struct rds_stream *from)
{
	const struct sock *parent = &from->st_sk;
	struct sock *sk = &st->st_sk;

	sk->sk_sndbuf = READ_ONCE(parent->sk_sndbuf);
	sk->sk_rcvbuf = READ_ONCE(parent->sk_rcvbuf);
	sk->sk_reuseport = parent->sk_reuseport;
	sk->sk_userlocks = parent->sk_userlocks;
	sk->sk_rcvlowat = READ_ONCE(parent->sk_rcvlowat);
	sk->sk_rcvtimeo = READ_ONCE(parent->sk_rcvtimeo);
	sk->sk_sndtimeo = READ_ONCE(parent->sk_sndtimeo);
	sk->sk_lingertime = READ_ONCE(parent->sk_lingertime);
	sk->sk_priority = READ_ONCE(parent->sk_priority);
	sk->sk_mark = READ_ONCE(parent->sk_mark);
	sk->sk_uid = READ_ONCE(parent->sk_uid);
	if (sock_flag(parent, SOCK_LINGER))
		sock_set_flag(sk, SOCK_LINGER);
	if (sock_flag(parent, SOCK_KEEPOPEN))
		sock_set_flag(sk, SOCK_KEEPOPEN);
	if (sock_flag(parent, SOCK_ZEROCOPY))
		sock_set_flag(sk, SOCK_ZEROCOPY);
	memcpy(st->st_opts, from->st_opts, sizeof(st->st_opts));
}

/* Returns the new stream, in the table, or NULL. */
static struct rds_stream *rds_stream_born(struct rds_stream *listener,
					  struct rds_conn *conn,
					  const struct rds_upper_names *names,
					  const struct rds_incoming *inc,
					  const struct rds_frame *frame)
{
	struct rds_stream *st;
	bool listed;

	st = rds_stream_alloc(names->net, NULL, listener->st_sk.sk_protocol, 0,
			      GFP_ATOMIC | __GFP_NOWARN);
	if (!st)
		return NULL;
	if (!rds_upper_hold(conn)) {
		sock_put(&st->st_sk);
		return NULL;
	}

	rds_stream_inherit(st, listener);
	st->st_account = listener->st_account;
	sock_hold(st->st_account);
	if (rds_stream_maps_start(st, st->st_opts[RDS_STREAM_IOMAPS_OPT],
				  GFP_ATOMIC)) {
		rds_upper_close(conn);
		sock_put(&st->st_sk);
		return NULL;
	}
	rds_stream_name_set(&st->st_local, &names->laddr, names->ifindex,
			    inc->i_dport);
	rds_stream_name_set(&st->st_peer, &names->faddr, names->ifindex,
			    inc->i_sport);

	spin_lock_bh(&st->st_lock);
	st->st_conn = conn;
	rds_upper_peer(conn, &st->st_epoch);
	st->st_id = frame->id;
	st->st_flags = RDS_STREAM_F_SERVER | RDS_STREAM_F_WAITS;
	rds_stream_start_counting(st);
	/* Before accept() can find the stream: no frame may go ahead of it. */
	WRITE_ONCE(st->st_tx.tx_owed, BIT(RDS_FRAME_RESPONSE));
	st->st_tx.tx_buf = min_t(u32, frame->buf, RDS_STREAM_MAX_CREDIT);
	st->st_maps.sm_most = min_t(u8, frame->arg, RDS_STREAM_IOMAPS);
	rds_stream_set_state(st, RDS_STREAM_EV_ACCEPT);
	listed = rds_stream_list(st);
	spin_unlock_bh(&st->st_lock);
	if (listed)
		return st;
	sock_put(&st->st_sk);
	return NULL;
}

/* The queue takes over the caller's reference. */
static bool rds_stream_enqueue(struct rds_stream *listener,
			       struct rds_stream *st)
{
	bool room;

	spin_lock_bh(&listener->st_lock);
	room = listener->st_state == RDS_STREAM_LISTEN &&
	       !rds_stream_queue_is_full(listener);
	if (room) {
		list_add_tail(&st->st_accept_item, &listener->st_accept_queue);
		sk_acceptq_added(&listener->st_sk);
	}
	spin_unlock_bh(&listener->st_lock);
	return room;
}

static bool rds_stream_respond(struct rds_stream *listener,
			       struct rds_stream *st)
{
	struct sock *sk = &st->st_sk;

	/* The queue may give its reference to accept(), and that may close the
	 * stream, at any time.
	 */
	sock_hold(sk);
	if (rds_upper_is_gone(st->st_conn) ||
	    !rds_stream_enqueue(listener, st)) {
		rds_stream_end(st, 0, 0, RDS_STREAM_SILENT);
		sock_put(sk);
		sock_put(sk);
		return false;
	}
	spin_lock_bh(&st->st_lock);
	if (st->st_state == RDS_STREAM_OPEN) {
		rds_stream_pay(st, true);
		rds_stream_watch_credit(st);
		if (sock_flag(sk, SOCK_KEEPOPEN))
			rds_stream_arm(st, RDS_STREAM_T_KEEP,
				       st->st_opts[RDS_STREAM_KEEPIDLE] * HZ);
	}
	spin_unlock_bh(&st->st_lock);
	sock_put(sk);
	return true;
}

static void rds_stream_answer(struct rds_conn *conn,
			      const struct rds_incoming *inc,
			      const struct rds_frame *frame,
			      enum rds_frame_op op)
{
	u8 exthdr[RDS_EXTHDR_SPACE];

	if (rds_frame_answer(frame, op, RDS_STREAM_NO_LISTENER, exthdr))
		rds_stream_reply(conn, inc->i_dport, inc->i_sport, exthdr);
}

static void rds_stream_is_busy(struct rds_conn *conn,
			       const struct rds_upper_names *names,
			       const struct rds_incoming *inc,
			       const struct rds_frame *frame)
{
	rds_stream_stat_inc(rds_stream_net(names->net), stream_busy);
	rds_stream_answer(conn, inc, frame, RDS_FRAME_BUSY);
}

/**
 * rds_stream_request() - Accept a stream that a client asks for
 * @conn: the connection on which the REQUEST has arrived
 * @names: its names
 * @inc: the REQUEST; borrowed
 * @frame: its header
 *
 * Context: Deliver context.
 */
void rds_stream_request(struct rds_conn *conn,
			const struct rds_upper_names *names,
			const struct rds_incoming *inc,
			const struct rds_frame *frame)
{
	struct rds_stream *listener, *st = NULL;
	struct rds_stream_name to, from;

	rds_stream_name_set(&to, &names->laddr, names->ifindex, inc->i_dport);
	rds_stream_name_set(&from, &names->faddr, names->ifindex,
			    inc->i_sport);
	listener = rds_stream_find_listener(names->net, &to, &from);
	if (!listener) {
		rds_stream_answer(conn, inc, frame, RDS_FRAME_RST);
		return;
	}
	if (!rds_stream_queue_is_full(listener))
		st = rds_stream_born(listener, conn, names, inc, frame);
	/* Wake for each stream, not for each batch: a task that waits in
	 * accept() is woken alone.
	 */
	if (st && rds_stream_respond(listener, st))
		listener->st_sk.sk_data_ready(&listener->st_sk);
	else
		rds_stream_is_busy(conn, names, inc, frame);
	sock_put(&listener->st_sk);
}

/**
 * rds_stream_listen() - Implement listen(2)
 * @sock: the socket
 * @backlog: streams that may wait for accept()
 *
 * A peer needs a transport to reach the socket: with no other user of RDS on
 * this host, TCP may not have been loaded yet.
 *
 * Context: Process context, may sleep; may load modules. Takes the socket lock.
 * Return: 0; -EINVAL if the socket is connected or connecting; -EADDRINUSE if
 * another one listens on the same name.
 */
int rds_stream_listen(struct socket *sock, int backlog)
{
	struct rds_stream_name name;
	struct sock *sk = sock->sk;
	struct rds_stream *st = rds_stream(sk);
	int ret = 0;
	bool any;

	mutex_lock(&st->st_mutex);
	if (sock->state != SS_UNCONNECTED ||
	    (st->st_state != RDS_STREAM_IDLE &&
	     st->st_state != RDS_STREAM_LISTEN)) {
		ret = -EINVAL;
		goto out;
	}
	WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
	if (st->st_state == RDS_STREAM_LISTEN)
		goto out;
	if (!st->st_is_bound) {
		name = rds_stream_selected(st);
		name.port = 0;
		ret = rds_stream_bind_name(st, &name);
	}
	if (ret)
		goto out;
	any = rds_stream_is_any(&st->st_selected);
	rds_upper_demand(sock_net(sk), any ? NULL : &st->st_selected,
			 st->st_local.ifindex);
	ret = rds_stream_bind_listen(st);
out:
	mutex_unlock(&st->st_mutex);
	return ret;
}

static struct rds_stream *rds_stream_dequeue(struct rds_stream *listener)
{
	struct rds_stream *st;

	spin_lock_bh(&listener->st_lock);
	st = list_first_entry_or_null(&listener->st_accept_queue,
				      struct rds_stream, st_accept_item);
	if (st) {
		list_del_init(&st->st_accept_item);
		sk_acceptq_removed(&listener->st_sk);
	}
	spin_unlock_bh(&listener->st_lock);
	return st;
}

/* Each stream wakes one task. A task that is interrupted at the same moment
 * passes the wake-up on: see prepare_to_wait_event().
 */
static long rds_stream_accept_sleep(struct rds_stream *listener, long timeo)
{
	struct sock *sk = &listener->st_sk;

	return ___wait_event(*sk_sleep(sk),
			     !list_empty(&listener->st_accept_queue) ||
			     READ_ONCE(listener->st_state) !=
			     RDS_STREAM_LISTEN || !__ret,
			     TASK_INTERRUPTIBLE, 1, timeo,
			     mutex_unlock(&listener->st_mutex);
			     __ret = schedule_timeout(__ret);
			     mutex_lock(&listener->st_mutex));
}

/**
 * rds_stream_accepted() - Give a stream that was accepted its full credit
 * @st: the stream; the caller holds its socket lock. From here on it is charged
 *	to the task
 *
 * Context: Process context, may sleep.
 */
void rds_stream_accepted(struct rds_stream *st)
{
	rds_stream_change_account(st, rds_upper_account(sock_net(&st->st_sk)));
	spin_lock_bh(&st->st_lock);
	WRITE_ONCE(st->st_flags, st->st_flags & ~RDS_STREAM_F_WAITS);
	if (st->st_state == RDS_STREAM_OPEN)
		rds_stream_owe(st, RDS_FRAME_CREDIT_UPDATE, false);
	spin_unlock_bh(&st->st_lock);
	rds_stream_push(st);
}

/**
 * rds_stream_accept_wait() - Fetch the next stream from the queue of a listener
 * @sk: the listener
 * @nonblock: do not wait
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: the stream with a reference for the caller, or an error pointer:
 * -EINVAL if the socket does not listen; -EAGAIN; or the errno of a signal.
 */
struct sock *rds_stream_accept_wait(struct sock *sk, bool nonblock)
{
	struct rds_stream *listener = rds_stream(sk), *st;
	long timeo = sock_rcvtimeo(sk, nonblock);
	long left;

	mutex_lock(&listener->st_mutex);
	for (;;) {
		if (listener->st_state != RDS_STREAM_LISTEN) {
			st = ERR_PTR(-EINVAL);
			break;
		}
		st = rds_stream_dequeue(listener);
		if (st)
			break;
		if (!timeo) {
			st = ERR_PTR(-EAGAIN);
			break;
		}
		left = rds_stream_accept_sleep(listener, timeo);
		if (left < 0) {
			st = ERR_PTR(sock_intr_errno(timeo));
			break;
		}
		timeo = left;
	}
	mutex_unlock(&listener->st_mutex);
	return IS_ERR(st) ? ERR_CAST(st) : &st->st_sk;
}

/* End the streams that nobody will accept. */
static void rds_stream_drop_queue(struct rds_stream *st)
{
	struct rds_stream *child;

	while ((child = rds_stream_dequeue(st))) {
		sock_set_flag(&child->st_sk, SOCK_DEAD);
		rds_stream_end(child, 0, 0, RDS_STREAM_TELL);
		sock_put(&child->st_sk);
	}
}

/**
 * rds_stream_stop_listening() - Stop to listen
 * @st: the listener; it stays bound, and has ended
 *
 * Context: Process context, may sleep. The socket lock is held.
 */
void rds_stream_stop_listening(struct rds_stream *st)
{
	rds_stream_unbind_listen(st);
	rds_stream_drop_queue(st);
	st->st_sk.sk_state_change(&st->st_sk);
}
