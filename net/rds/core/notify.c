// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes: how RDMA operations have ended, to be reported to user space
 * (RDS_CMSG_RDMA_STATUS).
 *
 * A note is allocated together with its operation, so that nothing can fail
 * when the operation ends. Until then the operation owns the note. From then
 * on the socket owns it, until recvmsg() has reported it. close() discards the
 * notes that have not been reported.
 *
 * The notes of a socket are limited in number, both kinds together. If user
 * space does not read the notes, it cannot start more operations.
 */
#include <linux/error-injection.h>
#include <linux/slab.h>
#include <net/compat.h>

#include "notify.h"

/* Notes of a socket, whether their operations have ended or not */
#define RDS_NOTES_MAX	RDS_SNDBUF_MSGS

/**
 * struct rds_note - the end of an RDMA operation, as reported to user space
 * @nt_item: entry on &rds_sock.rs_notes
 * @nt_token: token by which the user identifies the operation
 * @nt_status: RDS_RDMA_SUCCESS or another RDS_RDMA_* status
 */
struct rds_note {
	struct list_head	nt_item;
	u64			nt_token;
	s32			nt_status;
};

#ifdef CONFIG_COMPAT
/* The layout in 32-bit programs; on some architectures without end padding */
struct rds_compat_notify {
	compat_u64	user_token;
	s32		status;
};
#endif

/**
 * rds_note_alloc() - Allocate the note of an RDMA operation
 * @rs: the socket
 * @token: token by which the user identifies the operation
 *
 * With the note allocated, the end of the operation can always be reported.
 *
 * Context: Process context, may sleep. Takes rs_lock.
 * Return: the note, to be passed to rds_note_post() or rds_note_free(); NULL if
 * there is no memory, or if the socket has too many notes.
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
 * rds_note_free() - Free a note that is not to be reported
 * @rs: the socket
 * @note: the note, or NULL
 *
 * Context: Any. Takes rs_lock.
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
 * rds_sock_wake_readers() - Wake all readers of a socket, as a report is due
 * @rs: the socket; the caller has a reference
 *
 * All readers are woken, because those without room for the report go back to
 * sleep.
 *
 * Context: Any.
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
 * rds_note_post() - Queue the note of an operation that has ended
 * @rs: the socket; the caller has a reference
 * @note: the note; taken over, and freed if the socket is closed
 * @status: how the operation ended, one of RDS_RDMA_*
 *
 * Context: Any. Takes rs_lock.
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

/* The structure of 32-bit programs is a prefix of the native one, so only the
 * size differs.
 */
static int rds_note_put(struct msghdr *msg, const struct rds_note *note)
{
	struct rds_rdma_notify notify;

	memset(&notify, 0, sizeof(notify));
	notify.user_token = note->nt_token;
	notify.status = note->nt_status;
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_STATUS, rds_note_size(msg),
			&notify);
}

/* Report notes as long as there is room. If this fails, the caller restores
 * those on @reported, and they are reported again: nothing is lost.
 */
static int rds_notes_report(struct rds_sock *rs, struct msghdr *msg,
			    struct list_head *reported)
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
		list_add_tail(&note->nt_item, reported);
	} while (rds_note_has_room(msg));
	return 0;
}

/* Put the notes back at the front of the list, in order. */
static void rds_notes_restore(struct rds_sock *rs, struct list_head *reported)
{
	if (list_empty(reported))
		return;
	spin_lock_bh(&rs->rs_lock);
	list_splice_init(reported, &rs->rs_notes);
	spin_unlock_bh(&rs->rs_lock);
	rds_sock_wake_readers(rs);
}

/**
 * rds_notes_put() - Report as many notes to the user as there is room for
 * @rs: the socket
 * @msg: message header of recvmsg()
 * @peek: report the notes again later
 *
 * If there is no room at all, one note is consumed all the same, and MSG_CTRUNC
 * is set. So a program that ignores notes gets to its messages in the end.
 * Callers in a hot path check rds_notes_pending() first.
 *
 * Context: Process context, may sleep. Takes rs_lock.
 * Return: 1 if there was a note; 0 if there was none; -EFAULT if the notes
 * could not be copied to the user, with nothing lost.
 */
int rds_notes_put(struct rds_sock *rs, struct msghdr *msg, bool peek)
{
	struct rds_note *note, *next;
	unsigned int nr = 0;
	LIST_HEAD(reported);
	int ret;

	ret = rds_notes_report(rs, msg, &reported);
	if (!ret && list_empty(&reported))
		return 0;
	if (ret || peek) {
		rds_notes_restore(rs, &reported);
		return ret ?: 1;
	}

	list_for_each_entry_safe(note, next, &reported, nt_item) {
		kfree(note);
		nr++;
	}
	spin_lock_bh(&rs->rs_lock);
	rs->rs_nr_notes -= nr;
	spin_unlock_bh(&rs->rs_lock);
	return 1;
}

/**
 * rds_notes_close() - Discard the notes of a socket, and those posted later
 * @rs: the socket; user space no longer uses it
 *
 * Context: Process context. Takes rs_lock.
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
