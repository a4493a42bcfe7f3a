// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RST of a stream that a user or a timer of this host has ended. A peer
 * that only reads has no other way to learn of the end, so the frame waits for
 * the peer, even if that cannot be reached now.
 *
 * Such a frame has no stream any more. It belongs to its namespace: it is on
 * sn_resets, and later on sn_old_resets, until core has finished with it. It
 * keeps neither the namespace nor the transport nor this module, which take it
 * along when they go. The peer learns of that when it is connected to this host
 * again.
 *
 * The frames are bounded in number, by closed_max, of which each peer has a
 * share (quota.h), and in time: in each interval of close_stall_ms, the work
 * item gives up those that have waited through all of the one before. If there
 * are too many, or there is no memory, the RST is sent like a reply, which may
 * be lost.
 *
 * Locks: rds_stream_reset_lock, within st_lock, guards the lists and counts of
 * all namespaces, and m_on_sock of the frames. While a frame is on a list, its
 * namespace exists. When it was given up, core may finish with it later.
 */
#include <linux/rtnetlink.h>
#include <linux/wait_bit.h>

#include "stream.h"
#include "trace.h"

/* Frames that are taken off a list without releasing the lock */
#define RDS_STREAM_RESET_BATCH	64

static DEFINE_SPINLOCK(rds_stream_reset_lock);

/* Frames for which core may still call this module */
static atomic_t rds_stream_resets;

static void rds_stream_reset_over(void)
{
	if (atomic_dec_and_test(&rds_stream_resets))
		wake_up_var(&rds_stream_resets);
}

static void rds_stream_reset_later(struct rds_stream_net *sn)
	__must_hold(&rds_stream_reset_lock)
{
	unsigned long delay;

	lockdep_assert_held(&rds_stream_reset_lock);
	delay = msecs_to_jiffies(READ_ONCE(sn->sn_sysctl.close_stall_ms));
	queue_delayed_work(system_unbound_wq, &sn->sn_reset_work, delay);
}

static void rds_stream_reset_add(struct rds_stream_net *sn,
				 struct rds_message *msg,
				 const struct in6_addr *peer)
	__must_hold(&rds_stream_reset_lock)
{
	lockdep_assert_held(&rds_stream_reset_lock);
	atomic_inc(&rds_stream_resets);
	msg->m_on_sock = true;
	list_add_tail(&msg->m_sock_item, &sn->sn_resets);
	rds_stream_quota_add(&sn->sn_nr_resets, peer);
	rds_stream_reset_later(sn);
}

static void rds_stream_reset_remove(struct rds_stream_net *sn,
				    struct rds_message *msg,
				    const struct in6_addr *peer)
	__must_hold(&rds_stream_reset_lock)
{
	lockdep_assert_held(&rds_stream_reset_lock);
	list_del(&msg->m_sock_item);
	msg->m_on_sock = false;
	rds_stream_quota_sub(&sn->sn_nr_resets, peer);
}

static bool rds_stream_reset_submit(const struct rds_stream *st,
				    struct rds_message *msg)
	__must_hold(&rds_stream_reset_lock)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));
	const struct in6_addr *peer = &st->st_peer.ip;

	lockdep_assert_held(&rds_stream_reset_lock);
	if (!rds_stream_quota_has_room(&sn->sn_nr_resets, peer,
				       rds_stream_closed_max(sn)))
		return false;
	rds_stream_reset_add(sn, msg, peer);
	/* Core may finish with it as soon as the lock is released. */
	if (!rds_upper_submit(st->st_conn, msg, sn, st->st_epoch,
			      RDS_UPPER_KICK | RDS_UPPER_ASK))
		return true;
	rds_stream_reset_remove(sn, msg, peer);
	rds_stream_reset_over();
	return false;
}

/**
 * rds_stream_reset_send() - Send the RST of a stream that ends
 * @st: the stream, connected
 * @exthdr: RDS_EXTHDR_SPACE bytes: the extension header of the frame
 *
 * Context: Any context. st_lock is held.
 * Return: true; false if the frame cannot wait.
 */
bool rds_stream_reset_send(const struct rds_stream *st, const u8 *exthdr)
	__must_hold(&st->st_lock)
{
	struct rds_message *msg;
	bool sent;

	lockdep_assert_held(&st->st_lock);

	msg = rds_upper_alloc(0, GFP_ATOMIC | __GFP_NOWARN);
	if (!msg)
		return false;
	msg->m_sport = st->st_local.port;
	msg->m_dport = st->st_peer.port;
	memcpy(msg->m_exthdr, exthdr, sizeof(msg->m_exthdr));

	spin_lock_bh(&rds_stream_reset_lock);
	sent = rds_stream_reset_submit(st, msg);
	spin_unlock_bh(&rds_stream_reset_lock);
	if (sent)
		trace_rds_stream_frame_out(st->st_conn, st->st_local.port,
					   st->st_peer.port, exthdr, 0);
	else
		rds_message_put(msg);
	return sent;
}

/**
 * rds_stream_reset_done() - Finish with an RST that core has finished with
 * @msg: the frame
 * @sn: its namespace, which may be no more if the frame was given up
 *
 * Context: Any context; locks of the transport may be held. Under the RCU read
 * lock, which keeps the module until the caller has returned.
 */
void rds_stream_reset_done(struct rds_message *msg, struct rds_stream_net *sn)
{
	spin_lock_bh(&rds_stream_reset_lock);
	if (msg->m_on_sock)
		rds_stream_reset_remove(sn, msg, rds_upper_faddr(msg));
	spin_unlock_bh(&rds_stream_reset_lock);
	rds_stream_reset_over();
}

/* Take some frames of a list out of their namespace, each with a reference. */
static void rds_stream_reset_take(struct rds_stream_net *sn,
				  struct list_head *from, struct list_head *to)
	__must_hold(&rds_stream_reset_lock)
{
	unsigned int left = RDS_STREAM_RESET_BATCH;
	struct rds_message *msg, *next;

	lockdep_assert_held(&rds_stream_reset_lock);
	list_for_each_entry_safe(msg, next, from, m_sock_item) {
		if (!left--)
			return;
		rds_message_get(msg);
		rds_stream_reset_remove(sn, msg, rds_upper_faddr(msg));
		list_add_tail(&msg->m_sock_item, to);
		rds_stream_stat_inc(sn, stream_untold);
	}
}

static void rds_stream_reset_cancel(struct list_head *frames)
{
	struct rds_message *msg, *next;

	list_for_each_entry_safe(msg, next, frames, m_sock_item) {
		list_del(&msg->m_sock_item);
		if (rds_upper_cancel(msg))
			rds_stream_reset_over();
		rds_message_put(msg);
	}
}

/* Give up all frames of a list, to which none is added. */
static void rds_stream_reset_give_up(struct rds_stream_net *sn,
				     struct list_head *from)
{
	LIST_HEAD(frames);
	bool more;

	do {
		spin_lock_bh(&rds_stream_reset_lock);
		rds_stream_reset_take(sn, from, &frames);
		more = !list_empty(from);
		spin_unlock_bh(&rds_stream_reset_lock);
		rds_stream_reset_cancel(&frames);
		cond_resched();
	} while (more);
}

static void rds_stream_reset_work(struct work_struct *work)
{
	struct rds_stream_net *sn = container_of(to_delayed_work(work),
						 struct rds_stream_net,
						 sn_reset_work);

	rds_stream_reset_give_up(sn, &sn->sn_old_resets);
	spin_lock_bh(&rds_stream_reset_lock);
	list_splice_init(&sn->sn_resets, &sn->sn_old_resets);
	if (!list_empty(&sn->sn_old_resets))
		rds_stream_reset_later(sn);
	spin_unlock_bh(&rds_stream_reset_lock);
}

/**
 * rds_stream_reset_net_init() - Initialize the lists of a namespace
 * @sn: the namespace
 *
 * Context: Process context.
 */
void rds_stream_reset_net_init(struct rds_stream_net *sn)
{
	INIT_LIST_HEAD(&sn->sn_resets);
	INIT_LIST_HEAD(&sn->sn_old_resets);
	INIT_DELAYED_WORK(&sn->sn_reset_work, rds_stream_reset_work);
}

/**
 * rds_stream_reset_net_exit() - Give up all frames of a namespace
 * @sn: the namespace, which has no stream any more
 *
 * Context: Process context, may sleep.
 */
void rds_stream_reset_net_exit(struct rds_stream_net *sn)
{
	cancel_delayed_work_sync(&sn->sn_reset_work);
	rds_stream_reset_give_up(sn, &sn->sn_old_resets);
	rds_stream_reset_give_up(sn, &sn->sn_resets);
}

/**
 * rds_stream_reset_exit() - Give up the frames of all namespaces
 *
 * When this returns, core calls rds_stream_reset_done() no more, or is about to
 * return from it under the RCU read lock.
 *
 * Context: Process context, may sleep: the exit of the module, when there is no
 * stream any more.
 */
void rds_stream_reset_exit(void)
{
	struct net *net;

	down_read(&net_rwsem);
	for_each_net(net)
		rds_stream_reset_net_exit(rds_stream_net(net));
	up_read(&net_rwsem);
	wait_var_event(&rds_stream_resets, !atomic_read(&rds_stream_resets));
}
