/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An operation on the memory of a peer, in software over TCP
 * (net/rds/core/sw_request.c, sw_response.c, op.c, cancel.c, retrans.c,
 * send.c).
 *
 * This end is the requester. A task sends one message that has an operation,
 * and may cancel it at any moment. The owner of the memory allows the operation
 * or refuses it. The connection is lost at any moment, with all frames that are
 * on their way, and is made again. The owner may also restart, drop the
 * connection because it has no memory for the request, or do the operation and
 * then never respond on this connection. LOSSES is how often one of this
 * happens. The operation is an atomic one, whose message waits for the
 * response. With WRITE it is a write, whose message follows at once. With BARE
 * no message follows the operation. With CLOSE the task closes its socket
 * instead of the cancel. With NEXT a message without an operation follows.
 *
 * Proved, by assertions: the owner does the operation at most once. There is
 * exactly one notification, or none after a close. SUCCESS: the operation was
 * done once. REMOTE_ERROR or CANCELED: it is never done, and its message is not
 * delivered. DROPPED: it was done at most once. The message is delivered at
 * most once, never after a write that was not done. It is delivered after
 * SUCCESS, unless it was canceled or the owner has restarted. The message
 * behind it is always delivered, once, unless the owner has restarted. Local
 * memory is written only before the notification, and before a cancel returns.
 * A cancel that finds no message finds an operation that has ended. An
 * operation for one incarnation of the owner is not done by the next one. A
 * message that is freed is on no list, and its operation has ended. When
 * nothing more can happen, the operation has ended, and its message is freed.
 *
 * Modelled: rds_send_enqueue(), rds_send_step(), rds_sw_xmit(), rds_sw_begin(),
 * rds_op_begin(), rds_op_end(), rds_op_done(), rds_op_finish(), rds_op_wait(),
 * rds_op_forget(), rds_op_outlasts(), rds_op_is_lost(), rds_sw_completed(),
 * rds_sw_watch(), rds_sw_reset(), rds_path_ack_mark(), rds_send_ack_again(),
 * rds_send_reset(), rds_send_finish(), rds_send_flush(), rds_send_cancel(),
 * rds_send_abandon(), rds_sw_requested(), rds_sw_bars(), rds_deliver_admit(),
 * rds_path_shut_down().
 *
 * Assumed: if the TCP of the owner has acknowledged the message, the owner gets
 * it, unless it restarts. The owner gets no frame before it has taken the
 * connection. Left out: the kicks of the work item, more than one operation,
 * the fence, loopback, frames that are sent in part, requesters without memory,
 * peers of another implementation, and peers that break the protocol. A task
 * that sends is part of the process work, as both hold cp_xmit_lock.
 *
 * search: check clean safety
 * search: check clean safety -DWRITE
 * search: check clean safety -DBARE
 * search: soak clean safety -DLOSSES=3
 * search: soak clean safety -DLOSSES=3 -DWRITE
 * search: soak clean safety -DLOSSES=3 -DBARE
 * search: soak clean safety -DLOSSES=3 -DBARE -DWRITE
 * search: soak clean safety -DLOSSES=3 -DCLOSE
 * search: soak clean safety -DLOSSES=3 -DCLOSE -DWRITE
 * search: soak clean safety -DLOSSES=3 -DCLOSE -DBARE
 * search: soak clean safety -DLOSSES=2 -DNEXT
 * search: soak clean safety -DLOSSES=2 -DNEXT -DWRITE
 * search: soak clean safety -DLOSSES=2 -DNEXT -DBARE -DWRITE
 * search: check finds assertion safety -DFAULT_AGAIN -- an operation that had begun is sent again on the next connection
 * search: check finds assertion safety -DFAULT_BARS -DWRITE -DLOSSES=0 -- the message behind a write that failed is delivered
 * search: check finds assertion safety -DFAULT_SHUTDOWN -- the path is reset while a response is processed
 * search: check finds assertion safety -DFAULT_OUTLASTS -DWRITE -- an ack completes a message whose operation has not ended
 * search: check finds assertion safety -DFAULT_HELLO -DWRITE -- a request is sent before our handshake frame
 * search: check finds assertion safety -DFAULT_WATCH -- there is no time limit for the response
 * search: check finds assertion safety -DFAULT_TO_DO -- a message that is sent again has its operation sent again
 * search: soak finds assertion safety -DFAULT_NO_MEMORY -DWRITE -- a write for which there is no memory does not count as failed
 * search: soak finds assertion safety -DFAULT_BARS_NEXT -DNEXT -DBARE -DWRITE -- a write that failed bars the next message, whichever it is
 * search: soak finds assertion safety -DFAULT_CANCEL -- a cancel ends an operation that has begun
 * search: soak finds assertion safety -DFAULT_CURRENT -- a cancel removes the message that is being sent
 * search: soak finds assertion safety -DFAULT_STEP -- an ack that arrives before xmit() returns is lost
 * search: soak finds assertion safety -DFAULT_ACK_AGAIN -DWRITE -- a response does not apply the ack that came before it
 * search: soak finds assertion safety -DFAULT_FLUSH -- an operation goes to the next incarnation of the owner
 * search: soak finds assertion safety -DFAULT_WAIT -- a cancel does not wait for the notification
 * search: soak finds assertion safety -DFAULT_REF -- a request has no reference to its message
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
#ifdef CLOSE
#define close	true
#else
#define close	false
#endif

mtype = { HELLO, REQUEST, RESPONSE, MESSAGE, PLAIN };
mtype = { NEW, BEGUN, ENDING, DONE };
mtype = { SUCCESS, REMOTE_ERROR, CANCELED, DROPPED };
mtype = { NO_LIST, QUEUE, RETRANS };

chan to_owner = [2] of { mtype };
chan to_us = [2] of { mtype, byte };

/* The operation */
mtype op = NEW;			/* uo_state */
mtype status;			/* uo_status */
bool reports = true;		/* uo_rs */
byte notes;			/* notifications posted */
bool closed;			/* by close(), nothing more is reported */
bool left;			/* the cancel has returned */

/* Its message */
mtype list = NO_LIST;		/* of the path: m_on_path */
bool on_sock;			/* m_on_sock */
bool canceled;			/* m_canceled */
byte refs;			/* m_refs */
bool sent_here;			/* m_mark belongs to this connection */

#ifdef NEXT
/* The message behind it, without an operation */
mtype next = NO_LIST;		/* of the path */
bool next_here;			/* it was sent on this connection */
bool next_got;			/* the owner has it */
byte next_delivered;
#endif

/* The path */
byte state;			/* cp_state */
bool attached;			/* the transport calls core */
bool busy;			/* the socket lock of TCP */
bool known;			/* ph_known */
bool turn;			/* RDS_PF_FLUSH; ph_turn_ticket is ahead */
byte peer;			/* c_peer_hs */
bool current;			/* pt_msg is the message */
bool acked;			/* pt_acked */
bool marked;			/* pt_mark covers the message */
bool in_ops;			/* it is on sw_ops */
bool request, posted, passed;	/* sw_request, sw_posted, sw_passed */
bool hello_sent;		/* sw_handshake_sent */

/* The connection */
bool alive;
byte losses = LOSSES;

/* The owner */
byte gen = 1;			/* of its present incarnation */
byte meant;			/* the incarnation that we have addressed */
bool taken;			/* it has the connection */
bool in_tcp;			/* its TCP has acknowledged the message */
bool sw_known, sw_failed;
bool got;			/* next_rx_seq is above the message */
bool allows;
bool deaf;			/* it does not respond any more */
mtype answer;			/* on sw_responses; 0 for none */
byte executed;
byte delivered;

/* rds_op_outlasts() */
#ifdef FAULT_OUTLASTS
#define outlasts	false
#else
#define outlasts	(bare || op != DONE)
#endif

/* rds_op_is_lost() */
#ifdef FAULT_AGAIN
#define begun_is_lost	false
#else
#define begun_is_lost	true
#endif
#define is_lost		((op == BEGUN && begun_is_lost) || \
			 op == ENDING || \
			 (op == DONE && (bare || status != SUCCESS)))

/* rds_sw_is_to_do() */
#ifdef FAULT_TO_DO
#define is_to_do	(!posted)
#else
#define is_to_do	(!posted && op != DONE)
#endif

/* rds_sw_begin() waits for it. */
#ifdef FAULT_HELLO
#define said_hello	true
#else
#define said_hello	hello_sent
#endif

/* What rds_op_wait() waits for */
#ifdef FAULT_WAIT
#define is_over		(op == ENDING || op == DONE)
#else
#define is_over		(op == DONE)
#endif

/* rds_send_is_marked_off() */
#ifdef FAULT_STEP
#define marked_off	false
#else
#define marked_off	(marked && !outlasts)
#endif

/* path_shutdown() waits for the socket lock. */
#ifdef FAULT_SHUTDOWN
#define receives	false
#else
#define receives	busy
#endif

/* rds_path_drop(), and the end of the connection itself */
inline drop()
{
	alive = false;
	state = path_next(state, RDS_EV_DROP)
}

inline empty_to_us()
{
	do
	:: len(to_us) > 0 -> to_us ? _, _
	:: len(to_us) == 0 -> break
	od
}

inline empty_to_owner()
{
	do
	:: len(to_owner) > 0 -> to_owner ? _
	:: len(to_owner) == 0 -> break
	od
}

/* rds_message_put(). The last reference frees the operation, too. */
inline put()
{
	d_step {
		assert(refs > 0);
		refs--;
		assert(refs > 0 || (op == DONE && notes + closed == 1));
		assert(refs > 0 || (list == NO_LIST && !on_sock && !in_ops))
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
			notes = notes + reports;
			reports = false;
			assert(status != SUCCESS || executed == 1);
			assert(status == SUCCESS || status == DROPPED ||
			       executed == 0)
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
	put()
}

/* rds_op_done() with rds_send_end_bare() */
inline op_done(how)
{
	op_end(BEGUN, how);
	if
	:: d_step { bare && current ->
			acked = true }
	:: d_step { bare && !current && list != NO_LIST ->
			list = NO_LIST }
		finish()
	:: else
	fi
}

/* sendmsg(), and then RDS_CANCEL_SENT_TO, close(), or nothing more */
active proctype user()
{
	bool mine;

	d_step {
		on_sock = true;
		refs = 1;
		list = QUEUE;
#ifdef NEXT
		next = QUEUE;
#endif
		meant = peer
	}
	if
	:: goto out
	:: skip
	fi;

	/* rds_send_cancel() or rds_send_abandon(): rds_send_collect() */
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
		/* All operations that are not over are waited for. */
		assert(op == DONE);
		goto out
	/* rds_op_forget() */
	:: d_step { mine && close ->
			closed = reports;
			reports = false }
	:: else
	fi;
	/* rds_send_cancel_on_path() */
	d_step {
#ifdef FAULT_CURRENT
		mine = list != NO_LIST;
#else
		mine = list != NO_LIST && !current;
#endif
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
	:: !close && is_over ->
		assert(notes == 1);
		left = true
	:: skip
	fi;
	put();
out:	skip
}

/* The work item of the path, and all tasks that send: cp_xmit_lock */
active proctype work()
{
	bool done;

end:	do
	/* rds_path_connect() and rds_path_connect_done(). The owner sends its
	 * handshake frame at once.
	 */
	:: d_step { state == RDS_PATH_DOWN && !taken ->
			state = path_next(state, RDS_EV_CONNECT);
			state = path_next(state, RDS_EV_CONNECTED);
			attached = true;
			alive = true;
			taken = true;
			to_us ! HELLO, gen }
	/* rds_send_handshakes() */
	:: d_step { state == RDS_PATH_UP && !hello_sent &&
		    nfull(to_owner) ->
			hello_sent = true;
			to_owner ! HELLO }
	/* rds_send_flush() */
	:: d_step { state == RDS_PATH_UP && known && turn ->
			turn = false;
#ifdef NEXT
			next = (next == QUEUE -> NO_LIST : next);
#endif
			done = list == QUEUE;
			if
			:: done -> list = NO_LIST
			:: else
			fi }
		goto over
	/* rds_send_step() picks the message: rds_send_pick() */
	:: d_step { state == RDS_PATH_UP && known && !turn && !current &&
		    list == QUEUE ->
			list = RETRANS;
			current = true }
	/* rds_sw_begin() */
	:: current && !passed && !request && is_to_do && said_hello ->
		if
		:: d_step { op == NEW || op == BEGUN ->
				op = BEGUN;
#ifndef FAULT_REF
				refs++;
#endif
				in_ops = true;
				request = true }
		:: else ->
			done = true;
			goto step
		fi
	/* rds_sw_send_request() */
	:: d_step { request && (nfull(to_owner) || !alive) ->
			request = false;
			posted = true;
			if
			:: alive -> to_owner ! REQUEST
			:: else
			fi }
	/* rds_sw_xmit() */
	:: current && !passed && !request && (posted || op == DONE) &&
	   (op == DONE || bare || !fetch) ->
		if
		:: op == DONE && status != SUCCESS ->
			done = true;
			goto step
		:: else -> passed = true
		fi
	/* rds_tcp_xmit(). A message may be acknowledged before this returns. */
	:: d_step { current && passed &&
		    (bare || nfull(to_owner) || !alive) ->
			done = false;
			if
			:: bare
			:: !bare && alive ->
				to_owner ! MESSAGE;
				sent_here = true
			:: else -> sent_here = true
			fi }
step:		skip;
		/* rds_send_step() */
		d_step {
			done = done || acked || marked_off;
			if
			:: done -> list = NO_LIST
			:: else
			fi;
			current = false;
			acked = false
		}
over:		if
		:: done ->
			done = false;
			finish()
		:: else
		fi
#ifdef NEXT
	/* The same steps for the message behind it */
	:: d_step { state == RDS_PATH_UP && known && !turn && !current &&
		    list != QUEUE && next == QUEUE && nfull(to_owner) ->
			next = RETRANS;
			next_here = true;
			if
			:: alive -> to_owner ! PLAIN
			:: else
			fi }
#endif
#ifndef FAULT_WATCH
	/* rds_sw_watch() */
	:: d_step { in_ops && deaf && state == RDS_PATH_UP -> drop() }
#endif
	/* rds_path_shut_down(): path_shutdown() first */
	:: d_step { state == RDS_PATH_ERROR && !receives ->
			state = path_next(state, RDS_EV_SHUTDOWN);
			attached = false;
			empty_to_us() }
		/* rds_sw_reset() */
		d_step {
			request = false;
			posted = false;
			passed = false;
			hello_sent = false;
			done = in_ops;
			in_ops = false
		}
		if
		:: done ->
#ifndef FAULT_AGAIN
			op_done(DROPPED);
#endif
			put()
		:: else
		fi;
		/* rds_send_reset() */
		d_step {
			done = false;
			if
			:: list == RETRANS ->
				done = (current && canceled) || is_lost;
				list = (done -> NO_LIST : QUEUE)
			:: else
			fi;
#ifdef NEXT
			next = (next == RETRANS -> QUEUE : next);
			next_here = false;
#endif
			current = false;
			acked = false
		}
		/* rds_send_lose_all(): rds_sw_reset() has ended it. */
		assert(!done || op != BEGUN);
		goto over
	/* rds_cpath_forget_connection() */
	:: d_step { state == RDS_PATH_DISCONNECTING ->
			marked = false;
			sent_here = false;
			known = false;
			state = path_next(state, RDS_EV_SHUTDOWN_DONE) }
	od
}

/* What TCP passes to us, under its socket lock */
active proctype receive()
{
	byte arg;

end:	do
	/* rds_probe_receive() and rds_mp_apply() */
	:: d_step { attached && to_us ? [HELLO, _] ->
			to_us ? HELLO, arg;
#ifndef FAULT_FLUSH
			turn = turn || (peer != 0 && peer != arg);
#endif
			peer = arg;
			known = true;
			arg = 0 }
	/* rds_sw_completed() */
	:: d_step { attached && to_us ? [RESPONSE, _] ->
			busy = true;
			to_us ? RESPONSE, arg;
			/* rds_sw_request_take() */
			assert(in_ops);
			in_ops = false }
		/* rds_sw_take_result() */
		d_step {
			assert(refs > 0);
			assert(!fetch || arg != SUCCESS ||
			       (notes == 0 && !left))
		}
		op_done(arg);
		put();
		arg = 0;
#ifdef FAULT_ACK_AGAIN
		busy = false
#else
		/* rds_send_ack_again() */
		goto again
#endif
	/* rds_tcp_acked() */
	:: d_step { attached && alive && sent_here && !marked ->
			busy = true;
			in_tcp = true;
			marked = true }
		/* rds_path_ack_mark(). A message that was not sent on this
		 * connection must not be compared with the mark.
		 */
again:		assert(list != RETRANS || outlasts || current || sent_here);
		if
		:: d_step { list == RETRANS && !outlasts && !current &&
			    marked ->
				list = NO_LIST }
			finish()
		:: else
		fi;
		busy = false
#ifdef NEXT
	:: d_step { attached && alive && next_here && next == RETRANS &&
		    (marked || !sent_here) ->
			in_tcp = true;
			next = NO_LIST }
#endif
	od
}

/* The owner of the memory: the transport and its work item */
active proctype owner()
{
	if
	:: allows = true
	:: allows = false
	fi;
end:	do
	/* rds_probe_follow() */
	:: d_step { taken && to_owner ? [HELLO] ->
			to_owner ? HELLO;
			sw_known = true }
	/* rds_sw_requested(). Without sw_known it is dropped as a duplicate. */
	:: d_step { taken && to_owner ? [REQUEST] ->
			to_owner ? REQUEST;
			if
			:: !sw_known
			:: sw_known && allows ->
				assert(meant == 0 || meant == gen);
				executed++;
				assert(executed == 1);
				assert(op == BEGUN || op == ENDING ||
				       status == DROPPED);
				answer = SUCCESS
			:: sw_known && !allows ->
#ifndef FAULT_BARS
				sw_failed = !fetch;
#endif
				answer = REMOTE_ERROR
			fi }
	/* There is no memory. The message behind it is delivered still. */
	:: d_step { taken && sw_known && alive && losses > 0 &&
		    to_owner ? [REQUEST] ->
			to_owner ? REQUEST;
			losses--;
#ifndef FAULT_NO_MEMORY
			sw_failed = !fetch;
#endif
			drop() }
	/* rds_deliver_admit() */
	:: d_step { taken && to_owner ? [MESSAGE] ->
			to_owner ? MESSAGE;
			if
			:: got
			:: !got && sw_failed ->
				got = true;
				sw_failed = false
			:: !got && !sw_failed ->
				got = true;
				delivered++;
				assert(delivered == 1);
				assert(executed == 1)
			fi }
#ifdef NEXT
	:: d_step { taken && to_owner ? [PLAIN] ->
			to_owner ? PLAIN;
			got = true;
			if
			:: next_got
			/* rds_sw_bars() compares the numbers. */
#ifdef FAULT_BARS_NEXT
			:: !next_got && sw_failed ->
				next_got = true;
				sw_failed = false
			:: !next_got && !sw_failed ->
#else
			:: !next_got ->
				sw_failed = false;
#endif
				next_got = true;
				next_delivered++;
				assert(next_delivered == 1 || gen == 2)
			fi }
#endif
	/* rds_sw_respond() */
	:: d_step { answer != 0 && !deaf && nfull(to_us) ->
			if
			:: alive -> to_us ! RESPONSE, answer
			:: else
			fi;
			answer = 0 }
	:: d_step { answer != 0 && !deaf && losses > 0 ->
			losses--;
			deaf = true }
	/* The path is shut down. What TCP has acknowledged has been read. */
	:: d_step { taken && !alive && (!in_tcp || len(to_owner) == 0) ->
			empty_to_owner();
			taken = false;
			in_tcp = false;
			sw_known = false;
			sw_failed = false;
			deaf = false;
			answer = 0 }
	od
}

/* The connection is lost, or the owner restarts. */
active proctype network()
{
end:	do
	:: d_step { alive && losses > 0 ->
			losses--;
			drop() }
	:: d_step { alive && losses > 0 && gen == 1 ->
			losses--;
			drop();
			empty_to_owner();
			gen = 2;
			taken = false;
			in_tcp = false;
			sw_known = false;
			sw_failed = false;
			deaf = false;
			answer = 0;
#ifdef NEXT
			next_got = false;
#endif
			got = false }
	od
}

init {
	/* Nothing more can happen. */
	timeout;
	assert(op == DONE && notes + closed == 1);
	assert(refs == 0 && list == NO_LIST && !on_sock && !in_ops);
#ifdef NEXT
	assert(next == NO_LIST && (next_delivered == 1 || gen == 2));
#endif
	assert(status != SUCCESS || bare || canceled || gen == 2 ||
	       delivered == 1);
	assert(status == SUCCESS || status == DROPPED ||
	       (executed == 0 && delivered == 0))
}
