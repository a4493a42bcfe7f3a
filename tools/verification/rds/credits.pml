/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credits of RDS over InfiniBand, when both ends are down to their last ones.
 *
 * Modelled are two ends of a connection that is UP. Each has few receive
 * buffers. Each SEND, of a fragment or of an ack, uses one of the peer. The
 * functions are those of net/rds/ib: rds_ib_credits_*(), rds_ib_ack_try(),
 * rds_ib_ack_wanted(), rds_ib_ack_take(), rds_ib_ack_done(), rds_ib_tx_room(),
 * rds_ib_tx_unstall(), rds_ib_recv_done(), rds_ib_rx_refill() and
 * rds_ib_rx_advertise(). What the code does under ic_tx_lock is one step.
 *
 * Proved: no more SENDs are in flight than the peer has buffers posted
 * (assertion), and the ends do not wait for each other for good (there is no
 * end state, since the first end always has a fragment to send). With ONE_WAY,
 * the second end has none to send, only acks. With NO_ASK, no message requires
 * an ack, so that acks carry new buffers only.
 *
 * Left out: the timers (delayed ack, watchdog), which must not be needed; slots
 * of the transmit ring; batches of work requests; errors and the end of the
 * connection; a backlog of received fragments; changes of rx_target; weak
 * memory order. That one end alone waits for good is not excluded.
 *
 * search: check clean safety -DONE_WAY depth=200000
 * search: check finds end-state safety -DFAULT_RX_MAX -DONE_WAY -- threshold of news from rx_max, not from the buffers posted
 * search: check finds end-state safety -DFAULT_LAST -DNO_ASK -- last credit used for a SEND that advertises nothing
 * search: check finds end-state safety -DFAULT_STALL -DONE_WAY -- no second check after the stall bit is set
 * search: check finds end-state safety -DFAULT_ACK_DONE -DONE_WAY -- completion of an ack does not try the next one
 * search: check finds end-state safety -DFAULT_REFILL -DONE_WAY -DNO_ASK -- refill does not try to advertise
 * search: check finds assertion safety -DFAULT_EARLY -DONE_WAY -- buffers are counted as new before they are posted
 * search: soak clean safety -DNO_ASK depth=2000000
 */
#ifndef RING
#define RING	4
#endif
#ifdef FAULT_RX_MAX
#define NEWS	4	/* a quarter of 16 */
#else
#define NEWS	2	/* RDS_IB_CREDITS_NEWS_MIN */
#endif

#define PEER	(1 - me)

chan wire[2] = [RING] of { byte };	/* SENDs to an end: h_credit */
byte send[2] = RING;		/* cr_send */
byte pending[2];		/* cr_pending */
byte posted[2] = RING;		/* rx_posted, and not yet used by a SEND */
bool busy[2], due[2];		/* ak_busy, ak_due */
bool stalled[2];		/* tx_stalled */
bool kicked[2];			/* the path's work item is queued */

/* rds_ib_credits_take() */
#ifdef FAULT_LAST
#define MAY_TAKE(e)	(send[e] > 0)
#else
#define MAY_TAKE(e)	(send[e] > 1 || (send[e] == 1 && pending[e] > 0))
#endif

/* The device has to find a buffer posted for each SEND. A SEND is posted in the
 * step that takes the credit. In the code, a fragment is posted later, with its
 * batch, and an ack may be posted in between.
 */
inline take_and_send()
{
	assert(len(wire[PEER]) < posted[PEER]);
	wire[PEER]!pending[me];
	send[me]--;
	pending[me] = 0;
	due[me] = false
}

/* rds_ib_ack_try(): under ic_tx_lock */
inline ack_try()
{
	if
	:: (due[me] || pending[me] >= NEWS) && !busy[me] && MAY_TAKE(me) ->
		take_and_send();
		busy[me] = true
	:: else
	fi
}

/* rds_ib_tx_unstall() */
inline go_on()
{
	if
	:: stalled[me] ->
		stalled[me] = false;
		kicked[me] = true
	:: else
	fi
}

/* The path's work item: rds_ib_tx_room() for each fragment, then its SEND */
proctype transmit(bit me)
{
	do
	:: atomic { kicked[me] -> kicked[me] = false };
		do
		:: d_step { MAY_TAKE(me) -> take_and_send() }
		:: atomic { !MAY_TAKE(me) -> skip };
			stalled[me] = true;
#ifdef FAULT_STALL
			break
#else
			if
			:: d_step {
				MAY_TAKE(me) ->
				take_and_send();
				stalled[me] = false
			   }
			:: atomic { !MAY_TAKE(me) -> break }
			fi
#endif
		od
	od
}

/* rds_ib_ack_done(). The device may complete an ack as soon as it has used a
 * buffer of the peer.
 */
proctype ack_done(bit me)
{
	do
	:: d_step {
		busy[me] -> busy[me] = false;
#ifndef FAULT_ACK_DONE
		ack_try()
#endif
	   }
	od
}

/* rds_ib_recv_done(), under ic_rx_lock. A grant and the check of the stall bit
 * are separate steps, so that transmit() may run between them.
 */
proctype receive(bit me)
{
	byte news;

	do
	:: d_step {
		/* rds_ib_rx_count(), rds_ib_recv_header() */
		wire[me]?news ->
		posted[me]--;
		send[me] = send[me] + news
	   };
		if
		:: d_step {
			news > 0 ->
			news = 0;
			go_on();
			ack_try()
		   }
		:: atomic { news == 0 -> skip }
		fi;
		/* rds_ib_ack_wanted(), if the message requires an ack. An ack
		 * requires none, but it does no harm here if it may.
		 */
		if
		#ifndef NO_ASK
		:: d_step { due[me] = true; ack_try() }
#endif
		:: skip
		fi;
		/* rds_ib_rx_refill(): a batch is one buffer */
#ifdef FAULT_EARLY
		pending[me]++;
		posted[me]++;
#else
		/* The peer sees the buffer only after it is counted. */
		d_step {
			posted[me]++;
			pending[me]++
		};
#endif
		/* rds_ib_rx_advertise() */
		d_step {
			if
			:: send[me] == 1 -> go_on()
			:: else
			fi;
#ifndef FAULT_REFILL
			ack_try()
#endif
		}
	od
}

init {
	atomic {
		kicked[0] = true;
#ifndef ONE_WAY
		kicked[1] = true;
#endif
		run transmit(0);
		run transmit(1);
		run ack_done(0);
		run ack_done(1);
		run receive(0);
		run receive(1)
	}
}
