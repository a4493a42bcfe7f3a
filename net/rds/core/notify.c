// SPDX-License-Identifier: GPL-2.0-only
/*
 * What has become of RDMA operations, to be told to the user (RDMA_STATUS).
 *
 * A note is allocated with the operation, so that nothing can fail when that
 * ends. It is the operation's until then, and the socket's until it is told;
 * what has not been told is forgotten by close(). A socket has a limited number
 * of both: who does not ask can have no more done.
 */
#include <linux/error-injection.h>
#include <linux/slab.h>
#include <net/compat.h>

#include "notify.h"

/* Of a socket, to be told now or later */
#define RDS_NOTES_MAX	RDS_SNDBUF_MSGS

/**
 * struct rds_note - how an operation has ended
 * @nt_item: on &rds_sock.rs_notes
 * @nt_token: what the user calls it by
 * @nt_status: one of RDS_RDMA_SUCCESS and so on
 */
struct rds_note {
	struct list_head	nt_item;
	u64			nt_token;
	s32			nt_status;
};

#ifdef CONFIG_COMPAT
/* As 32-bit programs know it: some without a gap at the end */
struct rds_compat_notify {
	compat_u64	user_token;
	s32		status;
};
#endif

/**
 * rds_note_alloc() - make sure that the user can be told
 * @rs: the socket
 * @token: what the user calls the operation by
 *
 * Context: process, may sleep. Takes rs_lock.
 * Return: the note, for rds_note_post() or rds_note_free(); NULL without
 * memory, or if there are too many.
 */
noinline struct rds_note *rds_note_alloc(struct rds_sock *rs, u64 token)
{
	struct rds_note *note;
	bool room;

	note = kmalloc(sizeof(*note), GFP_KERNEL_ACCOUNT);
	if (!note)
		return NULL;
	note->nt_token = token;

	spin_lock_bh(&rs->rs_lock);
	room = rs->rs_nr_notes < RDS_NOTES_MAX;
	if (room)
		rs->rs_nr_notes++;
	spin_unlock_bh(&rs->rs_lock);
	if (room)
		return note;
	kfree(note);
	return NULL;
}

ALLOW_ERROR_INJECTION(rds_note_alloc, NULL);

/**
 * rds_note_free() - there is nothing to be told
 * @rs: the socket
 * @note: the note, or NULL
 *
 * Context: any. Takes rs_lock.
 */
void rds_note_free(struct rds_sock *rs, struct rds_note *note)
{
	if (!note)
		return;
	spin_lock_bh(&rs->rs_lock);
	rs->rs_nr_notes--;
	spin_unlock_bh(&rs->rs_lock);
	kfree(note);
}

/**
 * rds_sock_wake_readers() - there is something to be told
 * @rs: the socket; the caller has a reference
 *
 * All readers: those that have no room for it sleep on.
 *
 * Context: any.
 */
void rds_sock_wake_readers(struct rds_sock *rs)
{
	struct sock *sk = &rs->rs_sk;
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_all(&wq->wait);
	sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	rcu_read_unlock();
}

/**
 * rds_note_post() - an operation has ended
 * @rs: the socket; the caller has a reference
 * @note: the note; taken over
 * @status: how
 *
 * Context: any. Takes rs_lock.
 */
void rds_note_post(struct rds_sock *rs, struct rds_note *note, s32 status)
{
	bool closed;

	note->nt_status = status;
	spin_lock_bh(&rs->rs_lock);
	closed = rs->rs_notes_closed;
	if (!closed)
		list_add_tail(&note->nt_item, &rs->rs_notes);
	spin_unlock_bh(&rs->rs_lock);

	if (closed)
		kfree(note);
	else
		rds_sock_wake_readers(rs);
}

static struct rds_note *rds_notes_take(struct rds_sock *rs)
{
	struct rds_note *note;

	spin_lock_bh(&rs->rs_lock);
	note = list_first_entry_or_null(&rs->rs_notes, struct rds_note,
					nt_item);
	if (note)
		list_del(&note->nt_item);
	spin_unlock_bh(&rs->rs_lock);
	return note;
}

static void rds_notes_put_back(struct rds_sock *rs, struct rds_note *note)
{
	spin_lock_bh(&rs->rs_lock);
	list_add(&note->nt_item, &rs->rs_notes);
	spin_unlock_bh(&rs->rs_lock);
	rds_sock_wake_readers(rs);
}

static size_t rds_note_size(const struct msghdr *msg)
{
#ifdef CONFIG_COMPAT
	if (msg->msg_flags & MSG_CMSG_COMPAT)
		return sizeof(struct rds_compat_notify);
#endif
	return sizeof(struct rds_rdma_notify);
}

static bool rds_note_has_room(const struct msghdr *msg)
{
	size_t head = sizeof(struct cmsghdr);

#ifdef CONFIG_COMPAT
	if (msg->msg_flags & MSG_CMSG_COMPAT)
		head = sizeof(struct compat_cmsghdr);
#endif
	return msg->msg_control &&
	       msg->msg_controllen >= head + rds_note_size(msg);
}

/* The structure that 32-bit programs know is how that of others begins. */
static int rds_note_put(struct msghdr *msg, const struct rds_note *note)
{
	struct rds_rdma_notify notify;

	memset(&notify, 0, sizeof(notify));
	notify.user_token = note->nt_token;
	notify.status = note->nt_status;
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_STATUS, rds_note_size(msg),
			&notify);
}

/* What has been told already is told again if this fails: nothing is lost. */
static int rds_notes_tell(struct rds_sock *rs, struct msghdr *msg,
			  struct list_head *told)
{
	struct rds_note *note;
	int ret;

	do {
		note = rds_notes_take(rs);
		if (!note)
			return 0;
		ret = rds_note_put(msg, note);
		if (ret) {
			rds_notes_put_back(rs, note);
			return ret;
		}
		list_add_tail(&note->nt_item, told);
	} while (rds_note_has_room(msg));
	return 0;
}

/* Back to the front, in order. */
static void rds_notes_restore(struct rds_sock *rs, struct list_head *told)
{
	if (list_empty(told))
		return;
	spin_lock_bh(&rs->rs_lock);
	list_splice_init(told, &rs->rs_notes);
	spin_unlock_bh(&rs->rs_lock);
	rds_sock_wake_readers(rs);
}

/**
 * rds_notes_put() - tell the user as much as there is room for
 * @rs: the socket
 * @msg: as recvmsg() has it
 * @peek: and tell it again later
 *
 * One if there is no room at all, which MSG_CTRUNC says: whoever does not want
 * to know gets to his messages at last. Callers in a hot path ask
 * rds_notes_pending() first.
 *
 * Context: process, may sleep. Takes rs_lock.
 * Return: 1 if there was something to tell; 0 if not; -EFAULT if the user
 * could not be told, with nothing lost.
 */
int rds_notes_put(struct rds_sock *rs, struct msghdr *msg, bool peek)
{
	struct rds_note *note, *next;
	unsigned int nr = 0;
	LIST_HEAD(told);
	int ret;

	ret = rds_notes_tell(rs, msg, &told);
	if (!ret && list_empty(&told))
		return 0;
	if (ret || peek) {
		rds_notes_restore(rs, &told);
		return ret ?: 1;
	}

	list_for_each_entry_safe(note, next, &told, nt_item) {
		kfree(note);
		nr++;
	}
	spin_lock_bh(&rs->rs_lock);
	rs->rs_nr_notes -= nr;
	spin_unlock_bh(&rs->rs_lock);
	return 1;
}

/**
 * rds_notes_close() - there is nobody to be told any more
 * @rs: the socket; nobody uses it
 *
 * Context: process.
 */
void rds_notes_close(struct rds_sock *rs)
{
	struct rds_note *note, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&rs->rs_lock);
	rs->rs_notes_closed = true;
	list_splice_init(&rs->rs_notes, &gone);
	spin_unlock_bh(&rs->rs_lock);
	list_for_each_entry_safe(note, next, &gone, nt_item)
		kfree(note);
}
