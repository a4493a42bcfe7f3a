/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Streams: sockets of type SOCK_STREAM on top of RDS connections.
 *
 * A stream is one object, struct rds_stream, which is also the socket. Its
 * frames travel on a connection of core (net/rds/upper.h), which keeps their
 * order and retransmits them. What is left for this module is to set up and
 * take down streams, and to limit by credits what a peer may send.
 *
 * References to a stream are held by its socket; by the table of streams, from
 * connect() or the REQUEST until the stream ends; by the queue of a listener,
 * until accept(); by each of its frames, until core has finished with it; and
 * by its timer.
 *
 * Locks, in this order:
 *
 * - the socket lock (st_mutex): serializes the system calls of one socket. Only
 *   tasks of the user take it, since its holder may copy user memory, which can
 *   take forever. It is not lock_sock(), whose backlog is for softirqs: these
 *   take st_lock instead;
 * - sn_lock: guards the table of bound sockets;
 * - sn_listen_lock: guards the table of listeners;
 * - st_lock: guards what deliveries, timers and completions change. It is never
 *   held together with the st_lock of another stream;
 * - rds_stream_table_lock, rds_stream_reset_lock, and cp_lock of core.
 *
 * Files: state.c has the states, name.c the names, table.c and bind.c the
 * tables, timer.c the timers, frame.c what is sent, reset.c what is sent when a
 * stream is no more, queue.c what waits to be read, maps.c direct placement,
 * end.c how a stream ends, wait.c and ready.h what a system call waits for,
 * stream.c the object. connect.c, listen.c, deliver.c and event.c have what
 * happens to a stream; send.c, recv.c, poll.c, sockopt.c, close.c and the like
 * have the system calls.
 */
#ifndef _RDS_STREAM_STREAM_H
#define _RDS_STREAM_STREAM_H

#include <linux/mutex.h>
#include <net/rds/frame.h>
#include <net/rds/upper.h>
#include <net/sock.h>

#include "maps.h"
#include "name.h"
#include "net.h"
#include "parts.h"
#include "state.h"

/* Send and receive buffers that a new socket has, in bytes */
#define RDS_STREAM_BUFFER	SZ_1M

/* Credit beyond this is not used, so that differences of 32 bits stay valid */
#define RDS_STREAM_MAX_CREDIT	SZ_1G

/* First interval at which a writer without credit asks for it, in jiffies */
#define RDS_STREAM_CREDIT_FIRST	(HZ)

/* Largest payload of a frame */
#define RDS_STREAM_CHUNK	SZ_128K

/**
 * struct rds_stream - a stream, and its socket
 * @st_sk: the socket
 * @st_mutex: the socket lock
 * @st_v6: names are of struct sockaddr_in6
 * @st_local: our name. The socket lock guards it until the stream is in the
 *	table, where it does not change
 * @st_peer: the peer's name; likewise
 * @st_bind: in the table of bound sockets
 * @st_listen: in the table of listeners
 * @st_is_bound: the stream is in that table; the socket lock guards it
 * @st_selected: the local address that the user has selected, unspecified if
 *	none; likewise
 * @st_own_port: the user has selected the local port; likewise, but bind.c
 *	reads this and @st_peer of others
 * @st_notices: notifications of writes with MSG_ZEROCOPY; NULL if there was no
 *	such write; likewise
 * @st_opts: options, by enum rds_stream_opt; stored under the socket lock
 * @st_node: in the table of streams, by connection and ports
 * @st_conn_node: in the table of streams, by connection
 * @st_lock: guards all that follows
 * @st_state: the state
 * @st_flags: enum rds_stream_flag
 * @st_conn: the connection, from connect() or the REQUEST until the object is
 *	freed or connected again
 * @st_epoch: the incarnation of the peer that the stream belongs to
 * @st_id: identifier, drawn by the client
 * @st_refused: enum rds_stream_refusal: why the last connect() was refused
 * @st_tx: the sending half
 * @st_rx: the receiving half
 * @st_maps: direct placement
 * @st_account: what the frames in its queue are charged to; a stream that waits
 *	for accept() shares that of its listener
 * @st_due: when each timer is due, in jiffies
 * @st_armed: bits of enum rds_stream_timer: timers that run
 * @st_again: how often the server was asked again
 * @st_accept_queue: streams that wait for accept()
 * @st_accept_item: on that queue
 */
struct rds_stream {
	struct sock		st_sk;
	struct mutex		st_mutex;	/* the socket lock */
	bool			st_v6;
	struct rds_stream_name	st_local;
	struct rds_stream_name	st_peer;
	struct hlist_node	st_bind;
	struct hlist_node	st_listen;
	bool			st_is_bound;
	struct in6_addr		st_selected;
	bool			st_own_port;
	struct rds_upper_notices *st_notices;
	int			st_opts[RDS_STREAM_NR_OPTS];
	struct hlist_node	st_node;
	struct hlist_node	st_conn_node;

	spinlock_t		st_lock;	/* guards what follows */
	enum rds_stream_state	st_state;
	u32			st_flags;
	struct rds_conn		*st_conn;
	u32			st_epoch;
	u32			st_id;
	int			st_refused;
	struct rds_stream_tx	st_tx;
	struct rds_stream_rx	st_rx;
	struct rds_stream_maps	st_maps;
	struct sock		*st_account;
	unsigned long		st_due[RDS_STREAM_TIMERS];
	unsigned long		st_armed;
	u8			st_again;
	struct list_head	st_accept_queue;
	struct list_head	st_accept_item;
};

static inline struct rds_stream *rds_stream(const struct sock *sk)
{
	return (struct rds_stream *)sk;
}

/**
 * enum rds_stream_tell - whether the peer is told that a stream ends
 * @RDS_STREAM_SILENT: no; it knows, or is gone
 * @RDS_STREAM_ANSWER: yes, as it has broken the rules
 * @RDS_STREAM_TELL: yes, as a user or a timer of this host has ended it
 */
enum rds_stream_tell {
	RDS_STREAM_SILENT,
	RDS_STREAM_ANSWER,
	RDS_STREAM_TELL,
};

/* Adds a record of a stream to a list by @add. Does not sleep. */
typedef void rds_stream_lister(struct rds_stream *st, rds_info_add_t *add,
			       void *list);

/* Checks whether a stream is ready for something; see rds_stream_wait(). */
typedef bool rds_stream_ready(struct rds_stream *st, size_t arg);

/* sysctl.c */
int rds_stream_sysctl_net_init(struct net *net);
void rds_stream_sysctl_net_exit(struct net *net);

/* table.c */
bool rds_stream_list(struct rds_stream *st);
void rds_stream_unlist(struct rds_stream *st);
struct rds_stream *rds_stream_find(const struct rds_conn *conn, __be16 lport,
				   __be16 fport, bool server);
void rds_stream_for_conn(const struct rds_conn *conn,
			 void (*fn)(struct rds_stream *st, int arg), int arg);
void rds_stream_for_net(const struct net *net, rds_stream_lister *fn,
			rds_info_add_t *add, void *list);

/* bind.c */
int rds_stream_bind_name(struct rds_stream *st,
			 const struct rds_stream_name *name);
struct rds_stream_name rds_stream_selected(const struct rds_stream *st);
void rds_stream_rename(struct rds_stream *st,
		       const struct rds_stream_name *name);
int rds_stream_share_port(struct rds_stream *st,
			  const struct rds_stream_name *local,
			  const struct rds_stream_name *server);
void rds_stream_unbind(struct rds_stream *st);
void rds_stream_forget_port(struct rds_stream *st);
int rds_stream_bind_listen(struct rds_stream *st);
void rds_stream_unbind_listen(struct rds_stream *st);
struct rds_stream *rds_stream_find_listener(struct net *net,
					    const struct rds_stream_name *to,
					    const struct rds_stream_name *from);

void rds_stream_for_binds(const struct net *net, rds_stream_lister *fn,
			  rds_info_add_t *add, void *list);

/* info.c */
extern const struct rds_info_ops rds_stream_info_ops;

/* timer.c */
void rds_stream_arm(struct rds_stream *st, enum rds_stream_timer which,
		    unsigned long delay);
void rds_stream_disarm(struct rds_stream *st, enum rds_stream_timer which);
void rds_stream_disarm_all(struct rds_stream *st);
unsigned long rds_stream_take_due(struct rds_stream *st);
unsigned long rds_stream_user_timeout(const struct rds_stream *st);
long rds_stream_patience(const struct rds_stream *st);
void rds_stream_watch_peer(struct rds_stream *st);
void rds_stream_starve(struct rds_stream *st);
void rds_stream_watch_credit(struct rds_stream *st);
void rds_stream_keepalive(struct sock *sk, int on);

/* reset.c */
bool rds_stream_reset_send(const struct rds_stream *st, const u8 *exthdr);
void rds_stream_reset_done(struct rds_message *msg, struct rds_stream_net *sn);
void rds_stream_reset_net_init(struct rds_stream_net *sn);
void rds_stream_reset_net_exit(struct rds_stream_net *sn);
void rds_stream_reset_exit(void);

/* frame.c */
int rds_stream_submit(struct rds_stream *st, struct rds_message *msg,
		      enum rds_frame_op op, bool kick);
int rds_stream_submit_put(struct rds_stream *st, struct rds_message *msg,
			  u32 key, u32 at);
void rds_stream_pay(struct rds_stream *st, bool kick);
void rds_stream_owe(struct rds_stream *st, enum rds_frame_op op, bool kick);
void rds_stream_push(struct rds_stream *st);
void rds_stream_push_small(struct rds_stream *st);
void rds_stream_kick(struct rds_stream *st);
void rds_stream_uncork(struct rds_stream *st);
void rds_stream_reply(struct rds_conn *conn, __be16 sport, __be16 dport,
		      const u8 *exthdr);
void rds_stream_tell_reset(const struct rds_stream *st,
			   enum rds_stream_tell tell);
void rds_stream_start_counting(struct rds_stream *st);
bool rds_stream_uncount(struct rds_stream *st, struct rds_message *msg);
void rds_stream_cancel_request(struct rds_stream *st);

/* queue.c */
void rds_stream_queue_frame(struct rds_stream *st, struct rds_incoming *inc);
void rds_stream_unqueue_frame(struct rds_stream *st, struct rds_incoming *inc);
void rds_stream_purge(struct rds_stream *st);
void rds_stream_change_account(struct rds_stream *st, struct sock *account);

/* end.c */
void rds_stream_set_state(struct rds_stream *st, enum rds_stream_event event);
void rds_stream_end(struct rds_stream *st, int err, int refused,
		    enum rds_stream_tell tell);
void rds_stream_fail_connect(struct rds_stream *st, int err, int refused);
void rds_stream_finish(struct rds_stream *st);
void rds_stream_write_space(struct sock *sk);
void rds_stream_wake_all(struct rds_stream *st);
bool rds_stream_is_over(const struct rds_stream *st);
bool rds_stream_has_told_all(const struct rds_stream *st);

/* wait.c */
int rds_stream_wait(struct rds_stream *st, rds_stream_ready *ready, size_t arg,
		    long *timeo, int late);

/* stream.c */
extern struct proto rds_stream_proto;
struct rds_stream *rds_stream_alloc(struct net *net, struct socket *sock,
				    int protocol, int kern, gfp_t gfp);

/* source.c */
int rds_stream_source(struct rds_stream *st, struct rds_stream_name *local,
		      const struct rds_stream_name *peer);

/* connect.c */
int rds_stream_connect(struct socket *sock, struct rds_sockaddr *sa, int len,
		       int flags);
void rds_stream_ask(struct rds_stream *st);
void rds_stream_again(struct rds_stream *st);
bool rds_stream_repeat(struct rds_stream *st);
void rds_stream_busy(struct rds_stream *st);
bool rds_stream_has_connected(struct rds_stream *st, size_t arg);
void rds_stream_forget_failure(struct rds_stream *st);

/* listen.c */
int rds_stream_listen(struct socket *sock, int backlog);
void rds_stream_accepted(struct rds_stream *st);
struct sock *rds_stream_accept_wait(struct sock *sk, bool nonblock);
void rds_stream_request(struct rds_conn *conn,
			const struct rds_upper_names *names,
			const struct rds_incoming *inc,
			const struct rds_frame *frame);
void rds_stream_stop_listening(struct rds_stream *st);

/* deliver.c */
void rds_stream_deliver(struct rds_conn *conn, struct rds_incoming *inc,
			struct rds_rx_batch *batch);

/* event.c */
void rds_stream_frame_done(struct rds_message *msg, void *owner, bool lost);
void rds_stream_conn_event(struct rds_conn *conn, enum rds_upper_event event,
			   int err);
void rds_stream_timer(struct timer_list *timer);

/* send.c */
int rds_stream_wait_write(struct rds_stream *st, bool places, long *timeo);
int rds_stream_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
void rds_stream_splice_eof(struct socket *sock);

/* recv.c */
int rds_stream_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
		       int flags);

/* poll.c */
__poll_t rds_stream_poll(struct file *file, struct socket *sock,
			 struct poll_table_struct *wait);
int rds_stream_set_rcvlowat(struct sock *sk, int val);

/* tcp_info.c */
int rds_stream_get_tcp_info(struct rds_stream *st, char __user *optval,
			    int len);

/* sockopt.c */
void rds_stream_init_options(struct rds_stream *st);
int rds_stream_setsockopt(struct socket *sock, int level, int optname,
			  sockptr_t optval, unsigned int optlen);
int rds_stream_getsockopt(struct socket *sock, int level, int optname,
			  char __user *optval, int __user *optlen);

/* ioctl.c */
int rds_stream_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int rds_stream_compat_ioctl(struct socket *sock, unsigned int cmd,
			    unsigned long arg);

/* close.c */
int rds_stream_shutdown(struct socket *sock, int how);
int rds_stream_disconnect(struct socket *sock);
int rds_stream_release(struct socket *sock);

/* sock.c */
int rds_stream_create(struct net *net, struct socket *sock, int protocol,
		      int kern);

#endif /* _RDS_STREAM_STREAM_H */
