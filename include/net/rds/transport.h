/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the RDS core and its transports, and nothing else.
 *
 * Core owns sockets, connections, paths, messages and their sequence. A
 * transport owns what it hangs on &rds_path.data and how bytes move. The
 * transport calls the functions declared here; it writes no field of a core
 * object. The same facts, as a table: Documentation/transport-contract.rst.
 *
 * Deliver context, a term used below: softirq, or process with bottom halves
 * off; the transport's own socket lock may be held. Nothing called there
 * sleeps or transmits.
 */
#ifndef _NET_RDS_TRANSPORT_H
#define _NET_RDS_TRANSPORT_H

#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <net/rds/wire.h>

struct iov_iter;
struct module;
struct net;
struct page;
struct rds_sock;
struct ubuf_info;

/**
 * enum rds_drop_reason - why a path was dropped
 * @RDS_DROP_NONE: it never was
 * @RDS_DROP_XMIT_FAILED: the transport refused a message for good
 * @RDS_DROP_PEER_CLOSED: the peer ended the connection in good order
 * @RDS_DROP_PEER_RESET: the peer reset the connection
 * @RDS_DROP_TIMEOUT: nothing was heard from the peer for too long
 * @RDS_DROP_UNREACHABLE: the network has no way to the peer
 * @RDS_DROP_LOCAL_ABORT: an administrator of this host ended it
 * @RDS_DROP_CONNECT_FAILED: the attempt to connect failed
 * @RDS_DROP_YIELD: the peer is the one who dials, and knows now
 * @RDS_DROP_RACED: the peer's connection was taken instead
 * @RDS_DROP_PEER_RESTARTED: the peer is another incarnation than before
 * @RDS_DROP_TUNED: to have new buffer sizes take effect
 * @RDS_DROP_PROTOCOL: the peer broke the protocol
 * @RDS_DROP_OVERSIZED: the peer announced a message longer than allowed
 * @RDS_DROP_IDLE: nobody uses it, and room is needed for others
 * @RDS_DROP_UNREGISTER: the transport is being unloaded
 * @RDS_DROP_NET_EXIT: the network namespace is going away
 * @RDS_DROP_NO_MEMORY: there is no memory for what the peer asked for
 */
enum rds_drop_reason {
	RDS_DROP_NONE,
	RDS_DROP_XMIT_FAILED,
	RDS_DROP_PEER_CLOSED,
	RDS_DROP_PEER_RESET,
	RDS_DROP_TIMEOUT,
	RDS_DROP_UNREACHABLE,
	RDS_DROP_LOCAL_ABORT,
	RDS_DROP_CONNECT_FAILED,
	RDS_DROP_YIELD,
	RDS_DROP_RACED,
	RDS_DROP_PEER_RESTARTED,
	RDS_DROP_TUNED,
	RDS_DROP_PROTOCOL,
	RDS_DROP_OVERSIZED,
	RDS_DROP_IDLE,
	RDS_DROP_UNREGISTER,
	RDS_DROP_NET_EXIT,
	RDS_DROP_NO_MEMORY,
};

/**
 * enum rds_msg_fate - why a message ended otherwise than by its delivery
 * @RDS_MSG_CANCELED: RDS_CANCEL_SENT_TO or close()
 * @RDS_MSG_CONN_GONE: its connection was destroyed
 * @RDS_MSG_PEER_RESTARTED: it was meant for an incarnation of the peer that
 *	is no more
 * @RDS_MSG_OLD_SEQ: received before
 * @RDS_MSG_NO_SOCK: nobody has bound the port
 * @RDS_MSG_DEAD_SOCK: the socket was being closed
 * @RDS_MSG_PING_OFF: a ping while net.rds.ping_enable is off
 * @RDS_MSG_OP_FAILED: what was to be written before it could not be
 * @RDS_MSG_PING_LIMIT: too many pongs wait on the path already
 */
enum rds_msg_fate {
	RDS_MSG_CANCELED,
	RDS_MSG_CONN_GONE,
	RDS_MSG_PEER_RESTARTED,
	RDS_MSG_OLD_SEQ,
	RDS_MSG_NO_SOCK,
	RDS_MSG_DEAD_SOCK,
	RDS_MSG_PING_OFF,
	RDS_MSG_OP_FAILED,
	RDS_MSG_PING_LIMIT,
};

/**
 * struct rds_path - what a transport sees of a path of a connection
 * @net: the namespace; outlives the path
 * @laddr: our address; IPv4 in its mapped form, as everywhere
 * @faddr: the peer's
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service; part of the connection's key
 * @index: number of the path, from 0. A path that the peer opened before it
 *	said that its ports name paths may be given its number later, while it
 *	is UP.
 * @passive: the accepting end of a connection to itself. It never dials:
 *	path_connect() takes an offer, or returns -EAGAIN.
 * @epoch: random; the numbers of our messages go on counting as long as it is
 *	the same
 * @data: the transport's own; set by its path_alloc()
 *
 * Valid from path_alloc() until path_free() returns. All but @data is
 * read-only for the transport.
 */
struct rds_path {
	struct net	*net;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	int		ifindex;
	u8		tos;
	u8		index;
	bool		passive;
	u32		epoch;
	void		*data;
};

/**
 * enum rds_payload_kind - whose memory a bag holds
 * @RDS_PAYLOAD_EMPTY: none
 * @RDS_PAYLOAD_INLINE: bytes inside the owner's own allocation
 * @RDS_PAYLOAD_KERNEL: pages of the page allocator
 * @RDS_PAYLOAD_USER: the sender's own pages, which it may write to at any time;
 *	only for transports with %RDS_CAP_ZEROCOPY or %RDS_CAP_ZEROCOPY_STRETCH
 */
enum rds_payload_kind {
	RDS_PAYLOAD_EMPTY,
	RDS_PAYLOAD_INLINE,
	RDS_PAYLOAD_KERNEL,
	RDS_PAYLOAD_USER,
};

/**
 * struct rds_payload - payload of a message
 * @kind: how to give it back
 * @nr: entries of @bvec in use
 * @len: bytes in all
 * @data: the bytes (%RDS_PAYLOAD_INLINE); slab memory, so copy, never splice
 * @bvec: the pages (%RDS_PAYLOAD_KERNEL); may be compound, and are whole but
 *	for the last. Or pieces of pages, of any size (%RDS_PAYLOAD_USER)
 */
struct rds_payload {
	enum rds_payload_kind	kind;
	unsigned int		nr;
	u32			len;
	union {
		u8		*data;
		struct bio_vec	*bvec;
	};
};

struct rds_incoming;

/**
 * struct rds_incoming_ops - how to read and free a received message
 */
struct rds_incoming_ops {
	/**
	 * @owner: module of the two functions; pinned while a message is
	 * queued; NULL for the core itself
	 */
	struct module	*owner;

	/**
	 * @copy: Required. Copy the first @len bytes of the payload into an
	 * iterator.
	 *
	 * Context: process, may sleep, if @to is user memory; otherwise any. No
	 * locks. Does not consume the message.
	 * Return: 0, or -EFAULT if not all @len bytes could be copied; the
	 * message stays readable.
	 */
	int (*copy)(struct rds_incoming *inc, u32 len, struct iov_iter *to);

	/**
	 * @free: Required. Release the message; the last reference is gone.
	 *
	 * Context: any, including softirq. No locks of the core are held.
	 */
	void (*free)(struct rds_incoming *inc);
};

/* Receive path time stamps, see SO_RDS_MSG_RXPATH_LATENCY in rds(7) */
enum rds_rx_stamp {
	RDS_RX_STAMP_HDR,	/* header seen */
	RDS_RX_STAMP_START,	/* first payload */
	RDS_RX_STAMP_END,	/* message complete */
	RDS_RX_STAMP_DELIVERED,	/* recvmsg() took it */
	RDS_RX_STAMPS
};

/**
 * struct rds_incoming - a received message
 * @i_ops: how to read and free it
 * @i_seq: its number on the path
 * @i_len: bytes of payload
 * @i_truesize: bytes of memory that it keeps from being freed
 * @i_sport: sending port
 * @i_dport: receiving port
 * @i_flags: bits of enum rds_wire_flag
 * @i_exthdr: extension headers
 * @i_stamps: local_clock() at each enum rds_rx_stamp, if anybody wants to know
 *
 * A transport embeds it in its own, fills the above by rds_incoming_init()
 * and hands its reference to rds_deliver().
 */
struct rds_incoming {
	const struct rds_incoming_ops *i_ops;
	u64			i_seq;
	u32			i_len;
	u32			i_truesize;
	__be16			i_sport;
	__be16			i_dport;
	u8			i_flags;
	u8			i_exthdr[RDS_EXTHDR_SPACE];
	u64			i_stamps[RDS_RX_STAMPS];
	/* private: the core's */
	struct rds_path		*i_path;
	u8			i_tos;
	bool			i_charged;
	int			i_ifindex;
	refcount_t		i_refs;
	struct list_head	i_item;
	struct in6_addr		i_saddr;
	ktime_t			i_tstamp;
};

/**
 * enum rds_op_kind - what an operation on a peer's memory does
 * @RDS_OP_READ: copies it to ours
 * @RDS_OP_WRITE: copies ours to it
 * @RDS_OP_FADD: adds to eight bytes of it, and fetches what was there
 * @RDS_OP_CSWP: exchanges those if they are what was expected, and fetches
 * @RDS_OP_MASKED_FADD: as %RDS_OP_FADD, by parts between which nothing carries
 * @RDS_OP_MASKED_CSWP: as %RDS_OP_CSWP, of some bits by some bits
 */
enum rds_op_kind {
	RDS_OP_READ,
	RDS_OP_WRITE,
	RDS_OP_FADD,
	RDS_OP_CSWP,
	RDS_OP_MASKED_FADD,
	RDS_OP_MASKED_CSWP,
};

/**
 * struct rds_op - an operation on a peer's memory
 * @op_kind: which
 * @op_fence: not before all that went before on the path have been done
 * @op_bare: no message follows
 * @op_key: the peer's key
 * @op_addr: where in what the key is for, by the peer's count
 * @op_bytes: how much
 * @op_nr: in so many pieces of our memory
 * @op_bvec: those, pinned; may be larger than a page
 * @op_add: what to add, or to put there
 * @op_compare: what is expected
 * @op_add_mask: bits that nothing carries out of, or those to be exchanged
 * @op_compare_mask: bits that are compared
 * @op_error: the transport's own: why it is about to fail, or 0; what the user
 *	is told if it comes to no end otherwise
 *
 * Part of a message, and as long as that the transport's to use. It is never
 * done twice: the transport calls rds_op_begin() before the device hears of it,
 * and rds_op_done() once the device has done with our memory, or gave up. What
 * has begun, and is not done when path_shutdown() returns, is lost. If
 * rds_op_outlook() says that it is given up so is the message, by
 * %RDS_XMIT_DELIVERED.
 */
struct rds_op {
	enum rds_op_kind	op_kind;
	bool			op_fence;
	bool			op_bare;
	u32			op_key;
	u64			op_addr;
	u32			op_bytes;
	unsigned int		op_nr;
	struct bio_vec		*op_bvec;
	u64			op_add;
	u64			op_compare;
	u64			op_add_mask;
	u64			op_compare_mask;
	int			op_error;
};

/**
 * enum rds_op_outlook - what is to be done about the operation of a message
 * @RDS_OP_NOTHING: it is done, or there is none: send the message
 * @RDS_OP_TO_DO: do it
 * @RDS_OP_GIVE_UP: it was cancelled, or has failed
 */
enum rds_op_outlook {
	RDS_OP_NOTHING,
	RDS_OP_TO_DO,
	RDS_OP_GIVE_UP,
};

/**
 * struct rds_message - an outgoing message, as far as a transport reads it
 * @m_seq: its number on the path; 0 until it is picked to be sent
 * @m_sport: sending port
 * @m_dport: receiving port
 * @m_flags: bits of enum rds_wire_flag; stable while the message is being sent
 * @m_exthdr: extension headers
 * @m_payload: the payload
 * @m_ubuf: keeps the sender from being told that its pages are its own again
 *	(%RDS_PAYLOAD_USER); see net_zcopy_get()
 * @m_op: what is to be done before the message is sent, see rds_op_outlook();
 *	the core's own for transports without &rds_rdma_ops
 * @m_mark: the transport's own: where the message ends in a stream of bytes
 *	whose acks are passed on by rds_path_ack_mark(); to be set before its
 *	last byte can be acknowledged
 *
 * The transport borrows it during data_ops.xmit(). The payload stays as it is
 * until rds_path_ack() covers @m_seq, unless the sender cancels the message;
 * whoever needs it for certain, or longer, takes a reference by
 * rds_message_get(), or on its pages; if those are the sender's, on @m_ubuf
 * too, and shows them to nobody on this host but as a copy.
 */
struct rds_message {
	u64			m_seq;
	__be16			m_sport;
	__be16			m_dport;
	u8			m_flags;
	u8			m_exthdr[RDS_EXTHDR_SPACE];
	struct rds_payload	m_payload;
	struct ubuf_info	*m_ubuf;
	struct rds_op		*m_op;
	u32			m_mark;
	/* private: the core's */
	refcount_t		m_refs;
	u64			m_ticket;
	bool			m_on_path;
	bool			m_on_sock;
	bool			m_canceled;
	u8			m_kind;
	bool			m_want_ack;
	union {
		struct list_head	m_path_item;
		struct llist_node	m_pong;
	};
	struct list_head	m_sock_item;
	struct rds_sock		*m_rs;
	struct rds_path		*m_path;
	struct rds_incoming	m_inc;
};

/**
 * struct rds_rx_batch - deliveries that share their wake-ups
 * @rs: private: the socket to be woken next, referenced
 */
struct rds_rx_batch {
	struct rds_sock *rs;
};

/**
 * enum rds_xmit_result - what data_ops.xmit() did with a message
 * @RDS_XMIT_SENT: all of it is in the transport's hands; an ack will come
 * @RDS_XMIT_DELIVERED: the peer has it; it needs no ack
 */
enum rds_xmit_result {
	RDS_XMIT_SENT,
	RDS_XMIT_DELIVERED,
};

/**
 * struct rds_conn_ops - addresses and connecting
 */
struct rds_conn_ops {
	/**
	 * @laddr_check: Required. Does the transport serve this local address?
	 * @ifindex is the scope of a link-local @addr, else 0.
	 *
	 * Context: process, may sleep. No locks.
	 * Return: 0 if it does, -EADDRNOTAVAIL if not, another errno if the
	 * transport cannot serve @net at all.
	 */
	int (*laddr_check)(struct net *net, const struct in6_addr *addr,
			   int ifindex);

	/**
	 * @max_paths: Required if %RDS_CAP_MULTIPATH. How many paths to offer.
	 * @legacy says that the peer has not shown itself to be of this
	 * implementation.
	 *
	 * Context: any; locks of the core may be held.
	 * Return: 1 to RDS_MAX_PATHS.
	 */
	unsigned int (*max_paths)(struct net *net, bool legacy);

	/**
	 * @path_alloc: Optional. Set up &rds_path.data for a new path.
	 *
	 * Context: process, may sleep; the namespace's connection mutex is
	 * held, so it must not create connections. First op ever called on a
	 * path.
	 * Return: 0; -ENETUNREACH if @path.faddr cannot be reached this way;
	 * -ENOMEM.
	 */
	int (*path_alloc)(struct rds_path *path);

	/**
	 * @path_free: Optional. Undo path_alloc().
	 *
	 * Context: process, may sleep. No locks. Last op called on a path,
	 * after path_shutdown(); no other op runs or will.
	 */
	void (*path_free)(struct rds_path *path);

	/**
	 * @path_offer: Required for rds_path_accept(), which calls it: keep
	 * @offer, a connection that the peer has made, until path_connect() is
	 * called. Without %RDS_CAP_MULTIPATH it may come at any time, takes the
	 * place of one that is kept already, and is announced by
	 * rds_path_offered() under the lock that guards it; when it is not kept
	 * any more, under the same lock, rds_path_taken(),
	 * rds_path_offer_gone() or rds_path_dialed() is called.
	 *
	 * Context: process; the namespace's connection mutex is held. May run
	 * beside any other op of the path but path_alloc() and path_free().
	 * Return: 0 if @offer was kept; it belongs to the path now, and what is
	 * still kept at path_free() is closed there. An errno if it was not.
	 */
	int (*path_offer)(struct rds_path *path, void *offer);

	/**
	 * @path_connect: Required. Begin to connect: take the connection that
	 * path_offer() kept, and call rds_path_taken() first; or dial.
	 *
	 * Context: process, the path's work item, may sleep. No locks. The path
	 * is CONNECTING. Never concurrent with itself, path_shutdown() or
	 * xmit() of the same path until success is announced by
	 * rds_path_connect_done(), from here or later. Those may begin at that
	 * moment: from here it must be the last thing done.
	 * Return: 0; -EAGAIN if it is the peer who has to; any other errno
	 * counts as a failed attempt. After an error nothing is left to be shut
	 * down. An attempt that fails later ends in rds_path_drop().
	 */
	int (*path_connect)(struct rds_path *path);

	/**
	 * @path_shutdown: Required. Disconnect, and forget how far a message
	 * was sent. In good order: what the peer has sent and we have
	 * acknowledged is delivered, and acks that are on their way are waited
	 * for, for a bounded time; with @abort at once. The peer is not waited
	 * for in here: others need the thread. While the end takes its time
	 * the path stays DISCONNECTING, and this is called again when
	 * rds_path_kick() says so, or the time returned is over. When it
	 * returns 0, the transport calls no core function for this connection
	 * any more. Must tolerate half-built state, and to be called again.
	 * What path_offer() keeps stays.
	 *
	 * Context: process, the path's work item or rds_conn_destroy(), may
	 * sleep. The path's transmit lock is held: no xmit() runs.
	 * Return: 0 when it is done; otherwise how many jiffies there are to
	 * wait, at most, until it is called again. With @abort always 0.
	 */
	unsigned long (*path_shutdown)(struct rds_path *path, bool abort);

	/**
	 * @accept_again: Optional. A path may have become free, or known: whom
	 * rds_path_accept() told -EAGAIN may ask again. A transport without it
	 * takes that for a refusal.
	 *
	 * Context: process, the work item of a path. No locks. May be called
	 * often: it only schedules.
	 */
	void (*accept_again)(struct net *net);
};

/**
 * struct rds_data_ops - moving messages
 */
struct rds_data_ops {
	/**
	 * @xmit: Required. Send a message, or go on with one: after -EAGAIN or
	 * -ENOMEM it is called with the same message until it is through,
	 * unless path_shutdown() comes between. @more says that another message
	 * follows at once.
	 *
	 * Context: process, may sleep; the path's transmit lock is held. The
	 * path is UP. @msg is borrowed.
	 * Return: a value of enum rds_xmit_result; -EAGAIN to wait for
	 * rds_path_kick(); -ENOMEM to be called again soon; any other errno
	 * drops the path.
	 */
	int (*xmit)(struct rds_path *path, struct rds_message *msg, bool more);

	/**
	 * @flush: Optional. Pass on what xmit() has taken and put by, to be
	 * sent together. Called when no other message follows at once, and
	 * again after -EAGAIN or -ENOMEM.
	 *
	 * Context and return as @xmit, with 0 when all is passed on.
	 */
	int (*flush)(struct rds_path *path);

	/**
	 * @xmit_cong_map: Required unless %RDS_CAP_LOOPBACK. Send a congestion
	 * map: @map is RDS_CONG_MAP_BYTES in wire order. Called between
	 * messages; first thing after the path came UP, and on path 0 also
	 * when the map has changed. When the peer's end has acknowledged it,
	 * the transport calls rds_path_map_acked(); until then there is no
	 * other.
	 *
	 * Context and return as @xmit; @map is borrowed and stays the same over
	 * repeated calls.
	 */
	int (*xmit_cong_map)(struct rds_path *path, const void *map);

	/**
	 * @rx_resume: Required unless %RDS_CAP_LOOPBACK. Read on: after
	 * rds_deliver() returned false, or rds_path_rx_retry() or
	 * rds_path_rx_more() was called.
	 *
	 * Context: process, the path's work item, may sleep. No locks. Never
	 * concurrent with path_connect() or path_shutdown(); the path may be in
	 * any state.
	 */
	void (*rx_resume)(struct rds_path *path);
};

/**
 * struct rds_mr_memory - memory that peers are to reach
 * @pages: its pages, pinned
 * @nr: how many
 * @off: where in the first of them it begins
 * @base: where in what peers count; for a device that is @off
 * @len: bytes
 * @writable: peers may write, too
 */
struct rds_mr_memory {
	struct page	**pages;
	unsigned int	nr;
	u32		off;
	u32		base;
	u32		len;
	bool		writable;
};

/**
 * struct rds_rdma_ops - peers reach memory of this host, and we theirs
 *
 * Who has them does the operations of messages, too, as part of xmit(). For
 * transports without them core does both, in software.
 */
struct rds_rdma_ops {
	/**
	 * @atomic_check: Required. Can an atomic operation be done from a local
	 * address?
	 *
	 * Context: process, may sleep. No locks.
	 * Return: 0 if it can; -EOPNOTSUPP if the device cannot do that;
	 * -EADDRNOTAVAIL if the address is not served any more; -ENOMEM.
	 */
	int (*atomic_check)(struct net *net, const struct in6_addr *laddr,
			    int ifindex, enum rds_op_kind kind);

	/**
	 * @mr_map: Required. Let peers that are connected to a local address
	 * reach memory, by a key, at addresses from &rds_mr_memory.off. @mem
	 * stays as it is until mr_unmap().
	 *
	 * Context: process, may sleep. No locks.
	 * Return: a handle for mr_unmap(), with @key set; or an errno as a
	 * pointer: -EOPNOTSUPP if it cannot be done on that device, -EMSGSIZE
	 * if it is too much for it, -EADDRNOTAVAIL if the address is not served
	 * any more, -ENETDOWN, -ENOMEM, -EINTR, -EIO.
	 */
	void *(*mr_map)(struct net *net, const struct in6_addr *laddr,
			int ifindex, const struct rds_mr_memory *mem, u32 *key);

	/**
	 * @mr_alive: Required. Do peers reach the memory still? They do not
	 * when the device is gone; then another may give the same key again.
	 *
	 * Context: any; a lock of the core's is held.
	 * Return: true if they do.
	 */
	bool (*mr_alive)(const void *handle);

	/**
	 * @mr_unmap: Required. When it returns no peer reaches the memory, and
	 * the handle is gone.
	 *
	 * Context: process, may sleep. No locks.
	 */
	void (*mr_unmap)(void *handle);
};

/**
 * struct rds_info_ops - what a transport tells users
 */
struct rds_info_ops {
	/**
	 * @tos_map: Optional. Map the type of service that a user asks for to
	 * the one that connections have. Without it, setting one is refused
	 * (ENOTTY).
	 *
	 * Context: process, socket lock held.
	 * Return: the type of service.
	 */
	u8 (*tos_map)(u8 tos);

	/** @nr_stats: number of the transport's own counters */
	unsigned int nr_stats;

	/** @stat_names: their names, in the order of RDS_INFO_COUNTERS */
	const char * const *stat_names;

	/**
	 * @stats: Required if @nr_stats. Sum up the counters of a namespace.
	 *
	 * Context: process. No locks. @sums has room for @nr_stats values.
	 */
	void (*stats)(struct net *net, u64 *sums);

	/**
	 * @record: Optional. Describe a path: fill in a zeroed record of the
	 * RDS_INFO list @opt, whose struct fixes its size.
	 *
	 * Context: process, may sleep; the namespace's connection mutex is
	 * held. May run beside any other op of the path but path_alloc() and
	 * path_free().
	 * Return: true if the list is one of this transport's, and the path
	 * belongs on it.
	 */
	bool (*record)(struct rds_path *path, int opt, void *record);
};

/**
 * enum rds_caps - properties of a transport
 * @RDS_CAP_LOOPBACK: reaches addresses of this host only, has no wire
 * @RDS_CAP_PREFERS_LOOPBACK: leaves destinations on this host to the loopback
 *	transport
 * @RDS_CAP_NETNS: works in every network namespace, not just the first
 * @RDS_CAP_LOWER_DIALS: of two peers the one with the lower address redials
 * @RDS_CAP_MULTIPATH: peers agree on the number of paths by a handshake
 * @RDS_CAP_SELF_ACKED: acks come by themselves; messages do not ask for them
 * @RDS_CAP_ZEROCOPY: payloads may be in pages of the sender's
 * @RDS_CAP_ZEROCOPY_STRETCH: they may if those are whole but for the first and
 *	the last
 */
enum rds_caps {
	RDS_CAP_LOOPBACK		= BIT(0),
	RDS_CAP_PREFERS_LOOPBACK	= BIT(1),
	RDS_CAP_NETNS			= BIT(2),
	RDS_CAP_LOWER_DIALS		= BIT(3),
	RDS_CAP_MULTIPATH		= BIT(4),
	RDS_CAP_SELF_ACKED		= BIT(5),
	RDS_CAP_ZEROCOPY		= BIT(6),
	RDS_CAP_ZEROCOPY_STRETCH	= BIT(7),
};

/**
 * struct rds_transport - a transport
 * @name: as RDS_INFO_CONNECTIONS shows it
 * @owner: its module, pinned by every bound socket
 * @type: its slot, and its number in SO_RDS_TRANSPORT
 * @caps: bits of enum rds_caps
 * @conn: addresses and connecting
 * @data: moving messages
 * @rdma: optional: reaching memory by means of the transport's own
 * @info: optional
 */
struct rds_transport {
	char				name[TRANSNAMSIZ];
	struct module			*owner;
	unsigned int			type;
	unsigned int			caps;
	const struct rds_conn_ops	*conn;
	const struct rds_data_ops	*data;
	const struct rds_rdma_ops	*rdma;
	const struct rds_info_ops	*info;
};

#define RDS_TRANS_SLOTS			(RDS_TRANS_LOOP + 1)

/* Paths of a connection */
#define RDS_MAX_PATHS			8

/**
 * struct rds_conn_request - who is at the other end of a connection made by the
 * peer
 * @laddr: our address; IPv4 in its mapped form
 * @faddr: the peer's
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service
 * @index: the path that the peer's port names, if its ports name paths
 * @since: when the peer made it, in jiffies
 * @spoken: its first header is here, and makes sense
 * @knows_duels: it knows whose connection is kept when both dial; of no concern
 *	with RDS_CAP_LOWER_DIALS
 */
struct rds_conn_request {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	int		ifindex;
	u8		tos;
	u8		index;
	unsigned long	since;
	bool		spoken;
	bool		knows_duels;
};

/* transport.c */
int rds_transport_register(const struct rds_transport *trans);
void rds_transport_unregister(const struct rds_transport *trans);

/* conn.c */
struct rds_path *rds_path_get_reverse(struct rds_path *path);
void rds_path_put(struct rds_path *path);
void rds_paths_drop(struct net *net, const struct rds_transport *trans,
		    enum rds_drop_reason reason);

/* accept.c */
int rds_path_accept(struct net *net, const struct rds_transport *trans,
		    const struct rds_conn_request *peer, void *offer);
int rds_path_knock(struct net *net, const struct rds_transport *trans,
		   const struct rds_conn_request *peer);

/* path.c */
void rds_path_connect_done(struct rds_path *path);
void rds_path_drop(struct rds_path *path, enum rds_drop_reason reason);
void rds_path_kick(struct rds_path *path);
void rds_path_offered(struct rds_path *path);
void rds_path_taken(struct rds_path *path);
void rds_path_offer_gone(struct rds_path *path);
bool rds_path_dialed(struct rds_path *path);
bool rds_path_offer_is_late(struct rds_path *path, unsigned long since);
bool rds_path_wins_duel(struct rds_path *path);
bool rds_path_is_used(const struct rds_path *path);
void rds_path_rx_retry(struct rds_path *path);
void rds_path_rx_more(struct rds_path *path);
void rds_path_restart_rx(struct rds_path *path);
u64 rds_path_received(const struct rds_path *path);

/* send.c */
bool rds_path_ack(struct rds_path *path, u64 seq);
void rds_path_ack_resent(struct rds_path *path, u64 seq);
void rds_path_lose_ops(struct rds_path *path);
void rds_path_ack_mark(struct rds_path *path, u32 mark);
void rds_path_map_acked(struct rds_path *path);

/* message.c */
void rds_message_header(const struct rds_message *msg, u64 ack,
			struct rds_header *hdr);
struct rds_message *rds_message_get(struct rds_message *msg);
void rds_message_put(struct rds_message *msg);
enum rds_op_outlook rds_op_outlook(const struct rds_message *msg);
bool rds_op_begin(struct rds_message *msg);
void rds_op_done(struct rds_message *msg, int status);
struct rds_incoming *rds_message_to_incoming(struct rds_message *msg);

/* incoming.c */
void rds_incoming_init(struct rds_incoming *inc,
		       const struct rds_incoming_ops *ops,
		       const struct rds_header *hdr, u32 truesize);

/* deliver.c */
void rds_rx_batch_begin(struct rds_rx_batch *batch);
void rds_rx_batch_end(struct rds_rx_batch *batch);
bool rds_deliver(struct rds_path *path, struct rds_incoming *inc,
		 struct rds_rx_batch *batch);

/* cong_flow.c */
void rds_deliver_cong_map(struct rds_path *path, const void *map, u32 len);

#endif /* _NET_RDS_TRANSPORT_H */
