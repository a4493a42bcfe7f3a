/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDS over TCP: declarations that the files of this directory share.
 *
 * Prefixes of fields: tp_ for a path; tt_, tr_ and te_ for the parts of a path
 * that send, receive and shut down; tn_ for a namespace; pa_ for a pending
 * connection. A pending connection is one that the peer has made and that no
 * path has taken yet. When core has found a path for it, it becomes an offer:
 * it waits on the list of that path.
 *
 * Locks, outer before inner: the path's transmit lock (core's) > the TCP socket
 * lock > its sk_callback_lock, or tn_partial_lock. tn_lock > core's rn_lock >
 * the TCP socket lock. tp_lock > core's cp_lock.
 */
#ifndef _RDS_TCP_TCP_H
#define _RDS_TCP_TCP_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/netns/generic.h>
#include <net/rds/transport.h>
#include <net/sock.h>

#include "end.h"
#include "path_parts.h"
#include "stats.h"

#define RDS_TCP_PORT		16385

/* Offers that a path holds, at most */
#define RDS_TCP_MAX_OFFERS	4

/**
 * struct rds_tcp_sysctl - tunables of a namespace, see Documentation/sysctl.rst
 * @sndbuf: send buffer size of the TCP sockets, 0 for the kernel's choice
 * @rcvbuf: receive buffer size of the TCP sockets, 0 for the kernel's choice
 * @user_timeout_ms: how long the peer may be silent
 * @legacy_multipath: offer several paths also to peers of other implementations
 * @max_paths: number of paths that we offer
 * @partial_max_kb: limit of the memory that incomplete messages hold, 0 for a
 *	fixed part of the host's memory
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
 * struct rds_tcp_callbacks - default callbacks of a TCP socket
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
 * struct rds_tcp_net - the TCP transport's part of a namespace
 * @tn_net: the namespace
 * @tn_listener: the listening socket; NULL if another program has the port, or
 *	while the namespace is going away
 * @tn_default: callbacks to restore when a path, a pending connection or the
 *	listener releases its socket
 * @tn_accept_work: accepts connections and handles the pending ones
 * @tn_lock: guards @tn_pending, @tn_npending and @tn_down
 * @tn_pending: pending connections, oldest first
 * @tn_npending: length of @tn_pending
 * @tn_flags: bit 0: pending connections that wait for a path may try again
 * @tn_down: no more pending connections are accepted
 * @tn_partial_lock: guards @tn_partials and @tn_partial_bytes; the only lock
 *	taken under it is core's cp_lock
 * @tn_partials: paths on which an incomplete message holds memory
 * @tn_partial_bytes: memory that those messages hold
 * @tn_stats: counters
 * @tn_sysctl: tunables
 * @tn_sysctl_hdr: registration of the tunables
 */
struct rds_tcp_net {
	struct net			*tn_net;
	struct socket			*tn_listener;
	struct rds_tcp_callbacks	tn_default;
	struct delayed_work		tn_accept_work;
	struct mutex			tn_lock;	/* pending list */
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
 * struct rds_tcp_pending - a connection that no path has taken yet
 * @pa_item: on &rds_tcp_net.tn_pending, or &rds_tcp_path.tp_offers
 * @pa_tn: the namespace
 * @pa_sock: the socket
 * @pa_request: the addresses and the path, for core
 * @pa_born: when it was accepted, in jiffies
 * @pa_flags: RDS_TCP_PF_READY: data has arrived or the state has changed, so
 *	the work item must look again; set by socket callbacks
 * @pa_valid: its first header has arrived and is valid; it waits for a path
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

struct rds_tcp_incoming;

/**
 * struct rds_tcp_path - the TCP transport's part of a path
 * @tp_path: core's part
 * @tp_tn: the namespace
 * @tp_lock: guards @tp_offers and @tp_noffers; held while @tp_sock changes, so
 *	that other contexts may read @tp_sock under it
 * @tp_sock: socket of the connection, or of the attempt to connect, or NULL;
 *	changed only by path_connect() and path_shutdown(), which never run at
 *	the same time
 * @tp_offers: connections made by the peer that the path is to take, in order
 * @tp_noffers: length of @tp_offers
 * @tp_group: group of source ports for the next attempt to connect
 * @tp_dialed: we dialed this connection; guarded by the TCP socket lock, as are
 *	the next two
 * @tp_up: the connection is established; core is notified, unless @tp_dropped
 * @tp_dropped: core is aware that the connection ends, so do not report it
 * @tp_end: its orderly shutdown
 * @tp_rx: what it receives
 * @tp_tx: what it sends
 * @tp_partial: on &rds_tcp_net.tn_partials, if listed; guarded by
 *	tn_partial_lock, as are the next two
 * @tp_partial_bytes: bytes counted for the path on that list
 * @tp_partial_since: when the path was listed, in jiffies
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
	struct rds_tcp_path_end	tp_end;
	struct rds_tcp_path_rx	tp_rx;
	struct rds_tcp_path_tx	tp_tx;

	struct list_head	tp_partial;
	u32			tp_partial_bytes;
	unsigned long		tp_partial_since;
};

extern unsigned int rds_tcp_net_id;
extern struct workqueue_struct *rds_tcp_wq;
extern const struct rds_transport rds_tcp_transport;

/**
 * rds_tcp_net() - Get the TCP transport's part of a namespace
 * @net: the namespace
 *
 * Context: Any context, until the last connection of the namespace is
 * destroyed.
 * Return: the TCP transport's part, never NULL.
 */
static inline struct rds_tcp_net *rds_tcp_net(const struct net *net)
{
	return net_generic(net, rds_tcp_net_id);
}

/**
 * rds_tcp_is_higher() - Check whether our address is the higher one
 * @path: the path
 *
 * The end with the lower address dials.
 *
 * Context: Any context.
 * Return: true if our address is the higher one, so that the peer dials.
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
void rds_tcp_addrs(const struct sock *sk, struct in6_addr *laddr,
		   struct in6_addr *faddr);
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
void rds_tcp_partial_count(struct rds_tcp_path *tp, u32 bytes, u32 left);
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
void rds_tcp_end_progress(struct rds_tcp_path *tp, const struct sock *sk);

/* pending.c */
void rds_tcp_accept_soon(struct rds_tcp_net *tn);
void rds_tcp_pending_attach(struct rds_tcp_pending *pa);
void rds_tcp_pending_detach(struct rds_tcp_pending *pa);
void rds_tcp_pending_close(struct rds_tcp_pending *pa, enum rds_tcp_end reason,
			   int err);

/* path.c */
int rds_tcp_path_alloc(struct rds_path *path);
void rds_tcp_path_free(struct rds_path *path);
int rds_tcp_path_offer(struct rds_path *path, void *offer);
unsigned long rds_tcp_path_shutdown(struct rds_path *path, bool abort);
void rds_tcp_attach(struct rds_tcp_path *tp, struct socket *sock, bool dialed);
bool rds_tcp_discard(struct rds_tcp_path *tp, bool abort);
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
