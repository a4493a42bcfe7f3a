/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An operation on the memory of a peer, over InfiniBand (net/rds/ib/op.c,
 * send.c, tx_ring.c, conn.c, net/rds/core/op.c, retrans.c, cancel.c, send.c).
 *
 * A task sends one message that has an operation, and may cancel it at any
 * moment; a signal may end its wait. The operation is a work request that asks
 * for no completion. The message is another one behind it. Its completion
 * covers both. The device does them in order. The owner of the memory allows
 * the operation or refuses it, and our device may refuse to take it. The
 * connection is lost at any moment. What has arrived by then arrives: the
 * operation, its answer, the message, the acknowledgment of the owner's device,
 * and the ack of the message, each without the ones after it. Our device may
 * also forget the completions. Core may drop the connection. The path is then
 * connected again. The owner may restart. LOSSES is how often one of this
 * happens. The operation is an atomic one, with WRITE a write. With BARE no
 * message follows, and the operation asks for a completion.
 *
 * Proved, by assertions: the owner does the operation at most once. There is
 * exactly one notification. SUCCESS: the operation was done once. CANCELED,
 * REMOTE_ERROR or OTHER_ERROR: it is never done, and its message is not
 * delivered. DROPPED: it was done at most once. The message is delivered only
 * after the operation was done, and at most once by an incarnation. It is
 * delivered after SUCCESS, unless it was canceled or the owner has restarted.
 * The device accesses local memory only before the notification, before a
 * cancel returns, and while a slot has a reference to the message. An operation
 * for one incarnation of the owner is not done by the next one. A message that
 * is freed is on no list, and its operation has ended. When nothing more can
 * happen, the operation has ended, and its message is freed. An operation is
 * not reported as DROPPED after the ack of its message has arrived. A cancel
 * that finds no message finds an operation that has ended.
 *
 * Modelled: rds_ib_xmit_op(), rds_ib_op_step(), rds_ib_op_refused(),
 * rds_ib_tx_hold(), rds_ib_send_done(), rds_ib_tx_put(), rds_ib_tx_put_msg(),
 * rds_ib_tx_release(), rds_ib_drain(), rds_ib_conn_free(), rds_op_begin(),
 * rds_op_end(), rds_op_done(), rds_op_finish(), rds_op_wait(),
 * rds_op_is_lost(), rds_path_ack(), rds_send_ack_resent(), rds_path_resume(),
 * rds_path_lose_ops(), rds_send_step(), rds_send_reset(), rds_send_lose_all(),
 * rds_send_finish(), rds_send_cancel().
 *
 * Assumed: there is one completion queue, and its entries are processed one at
 * a time. A fence holds the message until the answer of a fetch has arrived.
 * Left out: credits, batches, an operation of several work requests, more than
 * one operation, close(), and peers of another implementation. A task that
 * sends is part of the process work, as both hold cp_xmit_lock.
 *
 * search: check clean safety
 * search: check clean safety -DWRITE
 * search: soak clean safety -DBARE
 * search: soak clean safety -DBARE -DWRITE
 * search: soak clean safety -DLOSSES=3
 * search: soak clean safety -DLOSSES=3 -DWRITE
 * search: soak clean safety -DLOSSES=3 -DBARE
 * search: check finds assertion safety -DWRITE -DFAULT_STATUS -- an operation is reported as dropped after the ack of its message
 * search: check finds assertion safety -DWRITE -DFAULT_ACK_ENDS -- a cancel does not wait for an operation whose message is acknowledged
 * search: check finds assertion safety -DFAULT_EPOCH -- an operation goes to the next incarnation of the owner
 * search: check finds assertion safety -DFAULT_RELEASE -- slots are released while the device may use them
 * search: check finds assertion safety -DFAULT_AGAIN -- an operation that had begun is posted again on the next connection
 * search: check finds assertion safety -DFAULT_ARRIVED -- a flushed work request counts as done
 * search: soak finds assertion safety -DFAULT_CANCEL -- a cancel ends an operation that has begun
 * search: soak finds assertion safety -DFAULT_REF -DBARE -- a slot of an operation has no reference to its message
 */
#include "tables.pml"

#ifndef LOSSES
#define LOSSES	1
#endif

#ifdef WRITE
#define fetch	false
#else
#define fetch	true
#endif
#ifdef BARE
#define bare	true
#else
#define bare	false
#endif

mtype = { NEW, BEGUN, ENDING, DONE };
mtype = { SUCCESS, REMOTE_ERROR, CANCELED, DROPPED, OTHER_ERROR };
mtype = { NO_LIST, QUEUE, RETRANS };
/* A work request: it is posted, the owner has done it, its answer is here. */
mtype = { NO_WR, POSTED, ARRIVED, ANSWERED };
/* Completions: all is done, all or the operation is flushed, the operation is
 * refused, the ack of the message has arrived
 */
mtype = { GOOD, FLUSHED, OP_FLUSHED, REFUSED, ACK };

chan cq = [4] of { mtype };

/* The operation */
mtype op = NEW;			/* uo_state */
mtype status;			/* uo_status */
mtype error;			/* op_error; 0 for none */
byte notes;			/* notifications posted */
bool left;			/* the cancel has returned */

/* Its message */
mtype list = NO_LIST;		/* of the path: m_on_path */
bool on_sock;			/* m_on_sock */
bool canceled;			/* m_canceled */
bool resent;			/* RDS_FLAG_RETRANSMITTED */
bool m_acked;			/* pt_acked_seq covers it */
byte refs;			/* m_refs */

/* The path */
byte state;			/* cp_state */
bool current;			/* pt_msg is the message */
bool acked;			/* pt_acked */
byte peer;			/* the epoch of the peer */

/* The connection */
bool alive;			/* the QP is ready, and the peer is there */
bool qp;			/* it exists */
bool busy;			/* a completion is processed */
bool posted;			/* tx_op_piece: all of the operation */
bool slot_op, slot_msg;		/* slots in use, each with a reference */
bool ends_op;			/* ts_op of slot_msg is RDS_IB_OP_MSG */
mtype wr_op = NO_WR, wr_msg = NO_WR;
byte losses = LOSSES;

/* The owner */
byte gen = 1;
byte meant;			/* the incarnation that was addressed */
bool allows;
bool got;			/* it has the message */
bool ack_due;
byte executed;
byte delivered;

/* rds_op_is_lost() */
#ifdef FAULT_AGAIN
#define begun_is_lost	false
#else
#define begun_is_lost	true
#endif
#define is_lost		((op == BEGUN && begun_is_lost) || \
			 op == ENDING || \
			 (op == DONE && (bare || status != SUCCESS)))

/* Whether the end of the operation, or the ack, completes the message */
#ifdef FAULT_ACK_ENDS
#define ends_msg	bare
#define ack_ends	true
#else
#define ends_msg	(bare || m_acked)
#define ack_ends	(op == DONE)
#endif

/* rds_ib_tx_is_acked() */
#ifdef FAULT_STATUS
#define is_acked	false
#else
#define is_acked	m_acked
#endif

#ifdef FAULT_ARRIVED
#define counts		true
#else
#define counts		false
#endif

#define reason		(error != 0 -> error : DROPPED)

/* rds_path_drop() */
inline drop()
{
	state = path_next(state, RDS_EV_DROP)
}

/* rds_message_put(). The last reference frees the operation, too. */
inline put(n)
{
	d_step {
		assert(refs >= n);
		refs = refs - n;
		assert(refs > 0 || (op == DONE && notes == 1));
		assert(refs > 0 || (list == NO_LIST && !on_sock))
	}
}

/* rds_op_end() with rds_op_notify() */
inline op_end(from, how)
{
	if
	:: d_step { op == from ->
			op = ENDING };
		d_step {
			status = how;
			notes++;
			assert(status != SUCCESS || executed == 1);
			assert(status == SUCCESS || status == DROPPED ||
			       executed == 0);
			assert(status != DROPPED || !m_acked)
		}
		op = DONE
	:: else
	fi
}

/* rds_send_finish() */
inline finish()
{
	op_end(NEW, (canceled -> CANCELED : DROPPED));
	on_sock = false;
	put(1)
}

/* rds_op_done() with rds_send_end_op() */
inline op_done(how)
{
	op_end(BEGUN, how);
	if
	:: d_step { ends_msg && current ->
			acked = true }
	:: d_step { ends_msg && !current && list != NO_LIST ->
			list = NO_LIST }
		finish()
	:: else
	fi
}

/* rds_ib_tx_put() and rds_ib_tx_put_msg(), for one slot or both */
inline tx_put(arrived, both)
{
	d_step {
		nr = slot_op + (both && slot_msg);
#ifdef FAULT_REF
		nr = nr - slot_op;
#endif
		verdict = 0;
		if
		:: (slot_op && bare) || (both && slot_msg && ends_op) ->
			verdict = (arrived || is_acked -> SUCCESS : reason)
		:: else
		fi;
		slot_op = false;
		slot_msg = slot_msg && !both;
		ends_op = ends_op && !both
	}
	if
	:: verdict != 0 ->
		op_done(verdict);
		verdict = 0
	:: else
	fi;
	if
	:: nr > 0 ->
		put(nr);
		nr = 0
	:: else
	fi
}

/* The device completes all work requests of a QP that is in error. */
inline flush()
{
	if
	:: wr_msg != NO_WR -> cq ! FLUSHED
	:: wr_msg == NO_WR && wr_op != NO_WR -> cq ! OP_FLUSHED
	:: else
	fi;
	wr_op = NO_WR;
	wr_msg = NO_WR
}

/* sendmsg(), and then RDS_CANCEL_SENT_TO or nothing more */
active proctype user()
{
	bool mine;

	d_step {
		on_sock = true;
		refs = 1;
		list = QUEUE;
		meant = peer
	}
	if
	:: goto out
	:: skip
	fi;

	/* rds_send_collect() */
	d_step {
		mine = on_sock;
		if
		:: mine ->
			on_sock = false;
			refs++
		:: else
		fi
	}
	if
	:: !mine ->
		assert(op == DONE);
		goto out
	:: else
	fi;
	/* rds_send_cancel_on_path() */
	d_step {
		mine = list != NO_LIST && !current;
		canceled = true;
		if
		:: mine -> list = NO_LIST
		:: else
		fi
	}
	if
	:: mine ->
		mine = false;
		finish()
#ifdef FAULT_CANCEL
	:: else -> op_end(op, CANCELED)
#else
	:: else -> op_end(NEW, CANCELED)
#endif
	fi;
	/* rds_op_wait(). A signal may end the wait. */
	if
	:: op == DONE ->
		assert(notes == 1);
		left = true
	:: skip
	fi;
	put(1);
out:	skip
}

/* The work item of the path, and all tasks that send: cp_xmit_lock */
active proctype work()
{
	bool done;
	mtype verdict;
	byte nr;

end:	do
	/* rds_ib_path_connect() and rds_path_resume(): the peer tells its
	 * epoch and what it has. rds_path_lose_ops(), rds_send_ack_resent().
	 */
	:: d_step { state == RDS_PATH_DOWN ->
			state = path_next(state, RDS_EV_CONNECT);
			done = resent && got;
#ifndef FAULT_EPOCH
			done = done || (op == NEW && peer != 0 && peer != gen);
#endif
			done = done && list == QUEUE;
			if
			:: done -> list = NO_LIST
			:: else
			fi;
			peer = gen }
		goto over
	/* rds_path_connect_done(). The peer may have restarted again. */
	:: d_step { state == RDS_PATH_CONNECTING ->
			alive = (peer == gen);
			ack_due = got;
			qp = true;
			state = path_next(state, RDS_EV_CONNECTED) }
	/* rds_send_step() picks the message: rds_send_pick() */
	:: d_step { state == RDS_PATH_UP && !current && list == QUEUE ->
			list = RETRANS;
			current = true }
	/* rds_op_begin(). Memory may be short before the next step. */
	:: d_step { current && op == NEW ->
			op = BEGUN }
	/* rds_ib_op_step() */
	:: d_step { current && op == BEGUN && !posted && nfull(cq) ->
			posted = true;
#ifndef FAULT_REF
			refs++;
#endif
			slot_op = true;
			wr_op = POSTED;
			if
			:: !alive -> flush()
			:: else
			fi }
		if
		:: bare -> goto step
		:: else
		fi
	/* rds_ib_op_refused() */
	:: current && op == BEGUN && !posted ->
		op_end(BEGUN, OTHER_ERROR);
		done = true;
		goto step
	/* rds_ib_xmit_op(): rds_op_outlook() */
	:: current && !posted &&
	   (op == ENDING || (op == DONE && status != SUCCESS)) ->
		done = true;
		goto step
	/* rds_ib_tx_hold() and rds_ib_tx_post(). A message may be acknowledged
	 * before rds_ib_xmit() returns.
	 */
	:: d_step { current && !bare && nfull(cq) &&
		    (posted || (op == DONE && status == SUCCESS)) ->
			refs++;
			slot_msg = true;
			ends_op = op == BEGUN;
			wr_msg = POSTED;
			if
			:: !alive -> flush()
			:: else
			fi }
step:		skip;
		/* rds_send_step() */
		d_step {
			done = done || (acked && ack_ends);
			if
			:: done -> list = NO_LIST
			:: else
			fi;
			current = false;
			posted = false;
			acked = false
		}
over:		if
		:: done ->
			done = false;
			finish()
		:: else
		fi
	/* rds_path_shut_down(): rds_ib_conn_free(), rds_ib_drain() */
	:: d_step { state == RDS_PATH_ERROR && nfull(cq) ->
			state = path_next(state, RDS_EV_SHUTDOWN);
#ifndef FAULT_RELEASE
			alive = false;
			ack_due = false;
			flush()
#endif
		}
		len(cq) == 0 && !busy;
#ifndef FAULT_RELEASE
		qp = false;
#endif
		/* rds_ib_tx_release() */
		tx_put(false, true);
		/* rds_send_reset() */
		d_step {
			alive = false;
			ack_due = false;
			qp = false;
			wr_op = NO_WR;
			wr_msg = NO_WR;
			if
			:: list == RETRANS ->
				done = (current && canceled) || is_lost;
				resent = true;
				list = (done -> NO_LIST : QUEUE)
			:: else
			fi;
			current = false;
			posted = false;
			acked = false
		}
		/* rds_send_lose_all() */
		if
		:: done ->
			verdict = reason;
			op_end(BEGUN, verdict);
			verdict = 0
		:: else
		fi;
		goto over
	/* rds_cpath_forget_connection() */
	:: d_step { state == RDS_PATH_DISCONNECTING ->
			state = path_next(state, RDS_EV_SHUTDOWN_DONE) }
	od
}

/* Completions */
active proctype complete()
{
	mtype kind, verdict;
	byte nr;

end:	do
	:: d_step { qp && len(cq) > 0 ->
			cq ? kind;
			busy = true }
		if
		/* rds_path_ack() and rds_send_ack_resent() */
		:: kind == ACK ->
			if
			:: d_step { list == RETRANS && current ->
					acked = true;
					m_acked = true }
			:: d_step { (list == RETRANS && !current && ack_ends) ||
				    (list == QUEUE && resent) ->
					m_acked = true;
					list = NO_LIST }
				finish()
			:: d_step { list == RETRANS && !current && !ack_ends ->
					m_acked = true }
			:: else
			fi
		/* rds_ib_send_done() with rds_ib_op_failed() */
		:: kind != ACK ->
			if
			:: kind != GOOD && error == 0 && (slot_op || ends_op) ->
				error = (kind == REFUSED -> REMOTE_ERROR :
							    DROPPED)
			:: else
			fi;
			tx_put((kind == GOOD || counts),
			       (kind == GOOD || kind == FLUSHED));
			if
			:: kind != GOOD && state == RDS_PATH_UP -> drop()
			:: else
			fi
		fi;
		d_step {
			kind = 0;
			busy = false
		}
	od
}

/* The two devices, and the owner of the memory */
active proctype devices()
{
	if
	:: allows = true
	:: allows = false
	fi;
end:	do
	:: d_step { alive && wr_op == POSTED && nfull(cq) ->
			assert(refs > 0 && slot_op);
			if
			:: allows ->
				assert(meant == 0 || meant == gen);
				executed++;
				assert(executed == 1);
				wr_op = ARRIVED
			:: else ->
				alive = false;
				wr_op = NO_WR;
				cq ! REFUSED;
				flush()
			fi }
	/* The answer of a fetch is stored. */
	:: d_step { alive && fetch && wr_op == ARRIVED ->
			assert(refs > 0 && slot_op && notes == 0 && !left);
			wr_op = ANSWERED }
	:: d_step { alive && wr_msg == POSTED &&
		    (wr_op == NO_WR || wr_op == ANSWERED ||
		     (wr_op == ARRIVED && !fetch)) ->
			wr_msg = ARRIVED;
			ack_due = true;
			if
			:: !got ->
				got = true;
				delivered++;
				assert(delivered == 1 || gen == 2);
				assert(executed == 1)
			:: else
			fi }
	/* The acknowledgment of the device */
	:: d_step { alive && nfull(cq) &&
		    (wr_msg == ARRIVED || (bare &&
		     wr_op == (fetch -> ANSWERED : ARRIVED))) ->
			wr_op = NO_WR;
			wr_msg = NO_WR;
			cq ! GOOD }
	/* rds_ib_ack_post() of the peer */
	:: d_step { alive && ack_due && nfull(cq) ->
			ack_due = false;
			cq ! ACK }
	od
}

/* The connection is lost, the device forgets its work requests, or the owner
 * restarts.
 */
active proctype network()
{
end:	do
	:: d_step { alive && losses > 0 && nfull(cq) ->
			losses--;
			alive = false;
			flush() }
	/* rds_ib_watchdog_up() */
	:: d_step { alive && losses > 0 ->
			losses--;
			alive = false;
			wr_op = NO_WR;
			wr_msg = NO_WR;
			drop() }
	:: d_step { losses > 0 && gen == 1 && nfull(cq) ->
			losses--;
			gen = 2;
			got = false;
			if
			:: alive ->
				alive = false;
				flush()
			:: else
			fi }
	/* Core drops the connection. */
	:: d_step { losses > 0 && state == RDS_PATH_UP ->
			losses--;
			drop() }
	/* The connection manager reports the end. */
	:: d_step { qp && !alive && state == RDS_PATH_UP -> drop() }
	od
}

init {
	/* Nothing more can happen. */
	timeout;
	assert(op == DONE && notes == 1);
	assert(refs == 0 && list == NO_LIST && !on_sock);
	assert(status != SUCCESS || bare || canceled || gen == 2 ||
	       delivered == 1);
	assert(status == SUCCESS || status == DROPPED ||
	       (executed == 0 && delivered == 0))
}
