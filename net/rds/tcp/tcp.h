/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDS over TCP: what the files of this folder share.
 *
 * tp_: a path's part; tn_: a namespace's; ts_: a stranger, which is a
 * connection that the peer has made and that has no path yet.
 *
 * Locks, outer before inner: the path's transmit lock (core's) > the lock of
 * the TCP socket > its sk_callback_lock, or tn_partial_lock. tn_lock > the lock
 * of a TCP socket. tp_lock is a leaf.
 */
#ifndef _RDS_TCP_TCP_H
#define _RDS_TCP_TCP_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <net/netns/generic.h>
#include <net/rds/transport.h>
#include <net/sock.h>

#include "frame.h"
#include "stats.h"

#define RDS_TCP_PORT		16385

/* Messages that are sent together */
#define RDS_TCP_BATCH		16

/* Offers that a path keeps */
#define RDS_TCP_MAX_OFFERS	4

/**
 * struct rds_tcp_sysctl - tunables of a namespace, see Documentation/sysctl.rst
 * @sndbuf: send buffer of sockets, 0 for the kernel's choice
 * @rcvbuf: the same for the receive buffer
 * @user_timeout_ms: how long the peer may be silent
 * @legacy_multipath: paths also with peers of other implementations
 * @max_paths: paths that we offer
 * @partial_max_kb: memory that messages may hold of which a part has come, 0
 *	for a part of the host's
 */
struct rds_tcp_sysctl {
	int	sndbuf;
	int	rcvbuf;
	int	user_timeout_ms;
	int	legacy_multipath;
	int	max_paths;
	int	partial_max_kb;
};

/**
 * struct rds_tcp_callbacks - what TCP sockets call by default
 * @data_ready: for &sock.sk_data_ready
 * @state_change: for &sock.sk_state_change
 * @write_space: for &sock.sk_write_space
 */
struct rds_tcp_callbacks {
	void	(*data_ready)(struct sock *sk);
	void	(*state_change)(struct sock *sk);
	void	(*write_space)(struct sock *sk);
};

/**
 * struct rds_tcp_net - what a namespace has
 * @tn_net: the namespace
 * @tn_listener: takes connections; NULL if the port is somebody else's, or the
 *	namespace goes
 * @tn_default: callbacks of sockets that we are done with
 * @tn_accept_work: all that happens to strangers
 * @tn_lock: guards @tn_pending, @tn_npending and @tn_down
 * @tn_pending: in the order in which they came
 * @tn_npending: how many
 * @tn_flags: bit 0: those that wait for a path may ask again
 * @tn_down: no more of them
 * @tn_partial_lock: guards @tn_partials and @tn_partial_bytes; a leaf but for
 *	core's cp_lock
 * @tn_partials: paths with a message of which only a part has come
 * @tn_partial_bytes: memory that those messages hold
 * @tn_stats: counters
 * @tn_sysctl: tunables
 * @tn_sysctl_hdr: their registration
 */
struct rds_tcp_net {
	struct net			*tn_net;
	struct socket			*tn_listener;
	struct rds_tcp_callbacks	tn_default;
	struct delayed_work		tn_accept_work;
	struct mutex			tn_lock;	/* strangers */
	struct list_head		tn_pending;
	unsigned int			tn_npending;
	bool				tn_down;
	unsigned long			tn_flags;
	spinlock_t			tn_partial_lock; /* partial messages */
	struct list_head		tn_partials;
	unsigned long			tn_partial_bytes;
	struct rds_tcp_stats __percpu	*tn_stats;
	struct rds_tcp_sysctl		tn_sysctl;
	struct ctl_table_header		*tn_sysctl_hdr;
};

/* Bit of &rds_tcp_pending.pa_flags */
#define RDS_TCP_PF_READY	0

/**
 * struct rds_tcp_pending - a connection made by the peer, without a path
 * @pa_item: on &rds_tcp_net.tn_pending, or &rds_tcp_path.tp_offers
 * @pa_tn: the namespace
 * @pa_sock: the socket
 * @pa_request: who it is
 * @pa_born: when it was accepted, in jiffies
 * @pa_flags: RDS_TCP_PF_READY: something has come, so look again; set by
 *	callbacks
 * @pa_valid: its first header makes sense; it waits for a path
 */
struct rds_tcp_pending {
	struct list_head	pa_item;
	struct rds_tcp_net	*pa_tn;
	struct socket		*pa_sock;
	struct rds_conn_request	pa_request;
	unsigned long		pa_born;
	unsigned long		pa_flags;
	bool			pa_valid;
};

/**
 * struct rds_tcp_batch - small messages put by, to be sent together
 * @b_nr: how many
 * @b_bytes: of headers and payloads
 * @b_sent: how much of that TCP has taken
 * @b_vec: header and payload of each
 * @b_hdr: the headers
 * @b_msg: the messages, referenced
 */
struct rds_tcp_batch {
	unsigned int		b_nr;
	u32			b_bytes;
	u32			b_sent;
	struct kvec		b_vec[2 * RDS_TCP_BATCH];
	struct rds_header	b_hdr[RDS_TCP_BATCH];
	struct rds_message	*b_msg[RDS_TCP_BATCH];
};

struct rds_tcp_incoming;

/**
 * struct rds_tcp_path - the transport's part of a path
 * @tp_path: core's
 * @tp_tn: the namespace
 * @tp_lock: guards @tp_offers, @tp_noffers, and changes of @tp_sock against
 *	those who only want to look at it
 * @tp_sock: the connection, or the attempt at one; changed by the path's work
 *	only
 * @tp_offers: strangers that the path is to take, in order
 * @tp_noffers: how many
 * @tp_group: group of source ports for the next attempt
 * @tp_dialed: we made the connection; under the socket lock, like the next
 *	twenty
 * @tp_up: it is established, and announced to core
 * @tp_dropped: core knows that it is over
 * @tp_all_acked: what TCP was given is acknowledged; what comes now is the ack
 *	of our FIN
 * @tp_ending: it is being ended in good order
 * @tp_end_at: until then at most, in jiffies
 * @tp_draining: nothing may stop the receiver any more
 * @tp_stopped: the receiver waits for rx_resume()
 * @tp_broken: the rest of the stream makes no sense
 * @tp_acks_asked: the peer says when it waits for an ack
 * @tp_quiet: packets read since TCP was last let acknowledge at once
 * @tp_frame: where the received stream stands
 * @tp_inc: message being received, or NULL
 * @tp_partial_seen: what the message being received was last counted for, or 0
 * @tp_partial: on &rds_tcp_net.tn_partials, if it is listed; under
 *	tn_partial_lock, like the next two
 * @tp_partial_bytes: what it counts for there
 * @tp_partial_since: when it was listed, in jiffies
 * @tp_map: congestion map being received, or NULL
 * @tp_una: how far the peer's acks have come
 * @tp_kick: xmit() waits for room
 * @tp_map_pending: a congestion map of ours is not yet acknowledged
 * @tp_map_mark: where that ends in the stream
 * @tp_tx_seq: where what was given us to send ends in the stream; under the
 *	path's transmit lock, like the next three
 * @tp_tx_corked: TCP was told that more would follow
 * @tp_tx_off: bytes of a large message, or of a congestion map, that TCP has
 *	taken; 0 between messages
 * @tp_batch: small messages put by
 */
struct rds_tcp_path {
	struct rds_path		*tp_path;
	struct rds_tcp_net	*tp_tn;

	spinlock_t		tp_lock;	/* offers, and tp_sock */
	struct socket		*tp_sock;
	struct list_head	tp_offers;
	unsigned int		tp_noffers;
	u32			tp_group;

	bool			tp_dialed;
	bool			tp_up;
	bool			tp_dropped;
	bool			tp_all_acked;
	bool			tp_ending;
	unsigned long		tp_end_at;
	bool			tp_draining;
	bool			tp_stopped;
	bool			tp_broken;
	bool			tp_acks_asked;
	u8			tp_quiet;
	struct rds_tcp_frame	tp_frame;
	struct rds_tcp_incoming	*tp_inc;
	u32			tp_partial_seen;
	struct list_head	tp_partial;
	u32			tp_partial_bytes;
	unsigned long		tp_partial_since;
	u8			*tp_map;
	u32			tp_una;
	bool			tp_kick;
	bool			tp_map_pending;
	u32			tp_map_mark;

	u32			tp_tx_seq;
	bool			tp_tx_corked;
	u32			tp_tx_off;
	struct rds_tcp_batch	tp_batch;
};

extern unsigned int rds_tcp_net_id;
extern struct workqueue_struct *rds_tcp_wq;
extern const struct rds_transport rds_tcp_transport;

/**
 * rds_tcp_net() - what a namespace has
 * @net: the namespace
 *
 * Context: any, until the last connection of the namespace is gone.
 * Return: never NULL.
 */
static inline struct rds_tcp_net *rds_tcp_net(const struct net *net)
{
	return net_generic(net, rds_tcp_net_id);
}

/**
 * rds_tcp_is_higher() - is it the peer who dials?
 * @path: the path
 *
 * Context: any.
 * Return: true if our address is the higher one.
 */
static inline bool rds_tcp_is_higher(const struct rds_path *path)
{
	return memcmp(&path->laddr, &path->faddr, sizeof(path->laddr)) > 0;
}

/* sock.c */
void rds_tcp_hold_net(struct sock *sk);
void rds_tcp_wait_held(void);
void rds_tcp_tune(struct rds_tcp_net *tn, struct sock *sk);
void rds_tcp_tune_buffers(struct rds_tcp_net *tn, struct sock *sk);
void rds_tcp_abort(struct socket *sock);

/* incoming.c */
int rds_tcp_incoming_caches_create(void);
void rds_tcp_incoming_caches_destroy(void);
struct rds_tcp_incoming *rds_tcp_incoming_alloc(const struct rds_header *hdr);
int rds_tcp_incoming_add(struct rds_tcp_incoming *ti, const struct sk_buff *skb,
			 u32 offset, u32 len);
u32 rds_tcp_incoming_holds(const struct rds_tcp_incoming *ti);
struct rds_incoming *rds_tcp_incoming_end(struct rds_tcp_incoming *ti);
void rds_tcp_incoming_drop(struct rds_tcp_incoming *ti);

/* partial.c */
void rds_tcp_partial(struct rds_tcp_path *tp, u32 bytes, u32 left);
void rds_tcp_partial_end(struct rds_tcp_path *tp);

/* recv.c */
int rds_tcp_recv(struct rds_tcp_path *tp, struct sock *sk);
bool rds_tcp_recv_all(struct rds_tcp_path *tp, struct sock *sk);
void rds_tcp_recv_reset(struct rds_tcp_path *tp);
void rds_tcp_data_ready(struct sock *sk);
void rds_tcp_rx_resume(struct rds_path *path);

/* send.c */
int rds_tcp_xmit(struct rds_path *path, struct rds_message *msg, bool more);
int rds_tcp_flush(struct rds_path *path);
int rds_tcp_xmit_cong_map(struct rds_path *path, const void *map);
void rds_tcp_acked(struct rds_tcp_path *tp, struct sock *sk);
void rds_tcp_send_reset(struct rds_tcp_path *tp);
void rds_tcp_write_space(struct sock *sk);
bool rds_tcp_has_all_acked(const struct sock *sk);
void rds_tcp_end_news(struct rds_tcp_path *tp, const struct sock *sk);

/* pending.c */
void rds_tcp_accept_soon(struct rds_tcp_net *tn);
void rds_tcp_pending_attach(struct rds_tcp_pending *pa);
void rds_tcp_pending_detach(struct rds_tcp_pending *pa);
void rds_tcp_pending_close(struct rds_tcp_pending *pa);

/* path.c */
int rds_tcp_path_alloc(struct rds_path *path);
void rds_tcp_path_free(struct rds_path *path);
int rds_tcp_path_offer(struct rds_path *path, void *offer);
unsigned long rds_tcp_path_shutdown(struct rds_path *path, bool abort);
void rds_tcp_attach(struct rds_tcp_path *tp, struct socket *sock, bool dialed);
bool rds_tcp_discard(struct rds_tcp_path *tp, bool late);
bool rds_tcp_established(struct rds_tcp_path *tp, struct sock *sk);
enum rds_drop_reason rds_tcp_reason(const struct sock *sk, bool was_up);

/* connect.c */
int rds_tcp_path_connect(struct rds_path *path);

/* accept.c */
void rds_tcp_accept_again(struct net *net);
void rds_tcp_accept_work(struct work_struct *work);
void rds_tcp_accept_stop(struct rds_tcp_net *tn);

/* listen.c */
int rds_tcp_listen(struct rds_tcp_net *tn);
void rds_tcp_listen_stop(struct rds_tcp_net *tn);

/* info.c */
bool rds_tcp_record(struct rds_path *path, int opt, void *record);

/* sysctl.c */
int rds_tcp_sysctl_net_init(struct rds_tcp_net *tn);
void rds_tcp_sysctl_net_exit(struct rds_tcp_net *tn);

#endif /* _RDS_TCP_TCP_H */
