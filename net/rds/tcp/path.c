// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transport's part of a path, and the life of its socket.
 *
 * A socket is attached before it is connected, or when it has been accepted,
 * and from then on TCP calls us; it is detached for good before it is released.
 * Both happen with the socket locked, as every call by TCP does, so after the
 * latter nobody is left in here.
 *
 * In good order a connection ends like this: the acks of all that we gave to
 * TCP; our FIN; reading on until the peer's FIN, or until it has taken too
 * long; the last bytes; and only then the end of the socket, with a reset if
 * it is not closed yet. Nobody sleeps until the peer has done its part: the
 * shutdown says that it takes its time, and TCP, or the time, has it called
 * again. Between the last bytes and the reset the lock is not let go, so TCP
 * acknowledges nothing that nobody reads. Timers of a kernel socket stop when
 * it is released: there is no lingering. A connection that no socket of this
 * host has used is reset at once.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "tcp.h"

/* How long the peer's FIN is waited for */
#define RDS_TCP_FIN_TIMEOUT	(2 * HZ)

/* How long memory is waited for after that, to read the rest, and how often it
 * is asked for
 */
#define RDS_TCP_DRAIN_TIMEOUT	HZ
#define RDS_TCP_DRAIN_DELAY	DIV_ROUND_UP(HZ, 100)

/**
 * rds_tcp_reason() - why a connection has ended
 * @sk: its socket
 * @was_up: it was established
 *
 * Context: any.
 * Return: the reason.
 */
enum rds_drop_reason rds_tcp_reason(const struct sock *sk, bool was_up)
{
	switch (sk->sk_err) {
	case ETIMEDOUT:
		return RDS_DROP_TIMEOUT;
	case EHOSTUNREACH:
	case ENETUNREACH:
		return RDS_DROP_UNREACHABLE;
	case ECONNABORTED:
		return RDS_DROP_LOCAL_ABORT;
	case 0:
		return was_up ? RDS_DROP_PEER_CLOSED : RDS_DROP_CONNECT_FAILED;
	default:
		return was_up ? RDS_DROP_PEER_RESET : RDS_DROP_CONNECT_FAILED;
	}
}

/**
 * rds_tcp_established() - prepare to use a connection
 * @tp: the path
 * @sk: its socket, locked
 *
 * Context: softirq or process.
 * Return: false if it is not to be used: the peer is the one who dials, and
 * knows now.
 */
bool rds_tcp_established(struct rds_tcp_path *tp, struct sock *sk)
{
	if (tp->tp_dialed && rds_tcp_is_higher(tp->tp_path))
		return false;

	tp->tp_tx_seq = tcp_sk(sk)->write_seq;
	tp->tp_una = tcp_sk(sk)->snd_una;
	tp->tp_up = true;
	return true;
}

static void rds_tcp_dropped(struct rds_tcp_path *tp,
			    enum rds_drop_reason reason)
{
	if (tp->tp_dropped)
		return;
	tp->tp_dropped = true;
	rds_path_drop(tp->tp_path, reason);
}

/* Whatever comes after an announcement to core is core's: it must be last. */
static void rds_tcp_state_changed(struct rds_tcp_path *tp, struct sock *sk)
{
	rds_tcp_end_news(tp, sk);

	switch (sk->sk_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		break;
	case TCP_ESTABLISHED:
		if (tp->tp_up)
			break;
		/* What comes by one that we have given up is read, too: TCP
		 * acknowledges it.
		 */
		if (!rds_tcp_established(tp, sk))
			rds_tcp_dropped(tp, RDS_DROP_YIELD);
		else if (!tp->tp_dropped)
			rds_path_connect_done(tp->tp_path);
		break;
	default:
		rds_tcp_dropped(tp, rds_tcp_reason(sk, tp->tp_up));
	}
}

static void rds_tcp_state_change(struct sock *sk)
{
	rds_tcp_state_changed(sk->sk_user_data, sk);
}

static void rds_tcp_set_sock(struct rds_tcp_path *tp, struct socket *sock)
{
	spin_lock_bh(&tp->tp_lock);
	tp->tp_sock = sock;
	spin_unlock_bh(&tp->tp_lock);
}

/**
 * rds_tcp_attach() - give a path its socket
 * @tp: the path; it has none
 * @sock: the socket, locked
 * @dialed: we make the connection
 *
 * Context: process, the path's work item.
 */
void rds_tcp_attach(struct rds_tcp_path *tp, struct socket *sock, bool dialed)
{
	struct sock *sk = sock->sk;

	rds_tcp_set_sock(tp, sock);
	tp->tp_dialed = dialed;
	tp->tp_up = false;
	tp->tp_dropped = false;
	tp->tp_all_acked = false;
	tp->tp_ending = false;
	tp->tp_tx_seq = tcp_sk(sk)->write_seq;
	tp->tp_una = tcp_sk(sk)->snd_una;
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	set_bit(SOCK_NOSPACE, &sock->flags);

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = tp;
	sk->sk_data_ready = rds_tcp_data_ready;
	sk->sk_state_change = rds_tcp_state_change;
	sk->sk_write_space = rds_tcp_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void rds_tcp_detach(struct rds_tcp_path *tp, struct sock *sk)
{
	const struct rds_tcp_callbacks *def = &tp->tp_tn->tn_default;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = def->data_ready;
	sk->sk_state_change = def->state_change;
	sk->sk_write_space = def->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rds_tcp_discard() - take a path's socket away and release it
 * @tp: the path; if it has none, nothing happens
 * @late: do so although there is no memory to read what TCP has for us
 *
 * What TCP has is read first. A connection that is still open is reset.
 *
 * Context: process, may sleep; nobody sends.
 * Return: true; false if there is no memory, and nothing has happened.
 */
bool rds_tcp_discard(struct rds_tcp_path *tp, bool late)
{
	struct socket *sock = tp->tp_sock;
	struct sock *sk;

	if (!sock)
		return true;

	sk = sock->sk;
	lock_sock(sk);
	tp->tp_dropped = true;
	if (!rds_tcp_recv_all(tp, sk) && !late) {
		release_sock(sk);
		return false;
	}
	rds_tcp_acked(tp, sk);
	rds_tcp_detach(tp, sk);
	rds_tcp_set_sock(tp, NULL);
	tp->tp_up = false;
	tp->tp_ending = false;
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, O_NONBLOCK);
	release_sock(sk);
	sock_release(sock);

	rds_tcp_recv_reset(tp);
	rds_tcp_send_reset(tp);
	return true;
}

/* Is there nothing more to wait for? A peer that has connected anew has done
 * with this connection; and with one that no socket has used nobody here has
 * anything to do.
 */
static bool rds_tcp_is_over(const struct rds_tcp_path *tp,
			    const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE || !tp->tp_up || tp->tp_broken ||
	       READ_ONCE(tp->tp_noffers) || READ_ONCE(tp->tp_tn->tn_down) ||
	       !rds_path_is_used(tp->tp_path);
}

/* The FIN counts like a byte; if TCP was given all of a message but its last,
 * the ack of the FIN looks like that of the message.
 */
static void rds_tcp_send_fin(struct rds_tcp_path *tp)
{
	struct sock *sk = tp->tp_sock->sk;

	lock_sock(sk);
	rds_tcp_acked(tp, sk);
	tp->tp_all_acked = true;
	release_sock(sk);
	kernel_sock_shutdown(tp->tp_sock, SHUT_WR);
}

/* Send our FIN, and wait for the peer's. What comes is delivered meanwhile, but
 * not beyond what core allows. The FIN waits for the acks of what is before
 * it: if those do not come, TCP is still in a state where it can reset.
 *
 * Returns how long there is to wait, at most, in jiffies.
 */
static unsigned long rds_tcp_finish(struct rds_tcp_path *tp)
{
	struct sock *sk = tp->tp_sock->sk;
	bool over, fin;
	long left;

	lock_sock(sk);
	if (!tp->tp_ending) {
		tp->tp_dropped = true;
		tp->tp_ending = true;
		tp->tp_end_at = jiffies + RDS_TCP_FIN_TIMEOUT;
	}
	over = rds_tcp_is_over(tp, sk);
	fin = !over && !tp->tp_all_acked && rds_tcp_has_all_acked(sk);
	release_sock(sk);

	if (fin)
		rds_tcp_send_fin(tp);
	left = tp->tp_end_at - jiffies;
	return over || left <= 0 ? 0 : left;
}

/* Has the memory that was not there when the time was over had its time, too?
 */
static bool rds_tcp_is_late(const struct rds_tcp_path *tp)
{
	return time_after(jiffies, tp->tp_end_at + RDS_TCP_DRAIN_TIMEOUT);
}

/**
 * rds_tcp_path_shutdown() - end the connection of a path
 * @path: the path
 * @abort: at once
 *
 * Context: process, may sleep; the path's transmit lock is held.
 * Return: see &rds_conn_ops.path_shutdown.
 */
unsigned long rds_tcp_path_shutdown(struct rds_path *path, bool abort)
{
	struct rds_tcp_path *tp = path->data;
	unsigned long delay;

	if (!tp->tp_sock)
		return 0;

	delay = abort ? 0 : rds_tcp_finish(tp);
	if (delay)
		return delay;
	if (rds_tcp_discard(tp, abort || rds_tcp_is_late(tp)))
		return 0;
	return RDS_TCP_DRAIN_DELAY;
}

/**
 * rds_tcp_path_alloc() - set up the transport's part of a path
 * @path: the path
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rds_tcp_path_alloc(struct rds_path *path)
{
	struct rds_tcp_path *tp = kzalloc(sizeof(*tp), GFP_KERNEL_ACCOUNT);

	if (!tp)
		return -ENOMEM;

	tp->tp_path = path;
	tp->tp_tn = rds_tcp_net(path->net);
	tp->tp_group = get_random_u32();
	spin_lock_init(&tp->tp_lock);
	INIT_LIST_HEAD(&tp->tp_offers);
	INIT_LIST_HEAD(&tp->tp_partial);
	rds_tcp_frame_init(&tp->tp_frame);
	path->data = tp;
	return 0;
}

/**
 * rds_tcp_path_free() - undo rds_tcp_path_alloc()
 * @path: the path, shut down
 *
 * Context: process, may sleep.
 */
void rds_tcp_path_free(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->data;
	struct rds_tcp_pending *pa, *next;

	list_for_each_entry_safe(pa, next, &tp->tp_offers, pa_item) {
		list_del(&pa->pa_item);
		rds_tcp_stat_inc(tp->tp_tn, tcp_listen_closed_stale);
		rds_tcp_pending_close(pa);
	}
	kfree(tp);
}

/**
 * rds_tcp_path_offer() - keep a connection that the peer has made
 * @path: the path
 * @offer: the stranger; the caller holds &rds_tcp_net.tn_lock
 *
 * Context: process.
 * Return: 0, and the stranger belongs to the path; -EBUSY if there are enough.
 */
int rds_tcp_path_offer(struct rds_path *path, void *offer)
{
	struct rds_tcp_path *tp = path->data;
	struct rds_tcp_pending *pa = offer;
	bool raced;

	/* Only this function adds, under tn_lock. */
	if (READ_ONCE(tp->tp_noffers) >= RDS_TCP_MAX_OFFERS)
		return -EBUSY;

	rds_tcp_pending_detach(pa);
	list_del(&pa->pa_item);
	pa->pa_tn->tn_npending--;

	spin_lock_bh(&tp->tp_lock);
	list_add_tail(&pa->pa_item, &tp->tp_offers);
	WRITE_ONCE(tp->tp_noffers, tp->tp_noffers + 1);
	raced = tp->tp_sock && tp->tp_dialed && !READ_ONCE(tp->tp_up);
	spin_unlock_bh(&tp->tp_lock);

	if (raced)
		rds_tcp_stat_inc(tp->tp_tn, tcp_connect_raced);
	return 0;
}
