/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the RDS core and its transports, and nothing else.
 *
 * Core owns sockets, connections, paths, messages and their sequence numbers.
 * A transport owns the object that it attaches to &rds_path.data, and decides
 * how bytes move. Core calls the operations of &struct rds_transport. The
 * transport calls the functions declared at the end of this file. It writes
 * no field of a core object, except those marked as the transport's own.
 * Documentation/transport-contract.rst has the same facts as tables.
 *
 * Terms used below:
 * - Deliver context: softirq, or process context with bottom halves off; the
 *   transport's own socket lock may be held. No function that runs in deliver
 *   context sleeps or transmits.
 * - Offer: a connection that the peer has made and that waits for a path.
 * - Our implementation: the RDS that this file belongs to. Peers may run
 *   another one.
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
 * @RDS_DROP_NONE: the path has never been dropped
 * @RDS_DROP_XMIT_FAILED: the transport refused a message for good
 * @RDS_DROP_PEER_CLOSED: the peer closed the connection in good order
 * @RDS_DROP_PEER_RESET: the peer reset the connection, or has lost it and made
 *	another one
 * @RDS_DROP_TIMEOUT: the peer was silent for too long, left a software RDMA
 *	request without a response, or took too long to complete a message
 * @RDS_DROP_UNREACHABLE: the network has no way to the peer
 * @RDS_DROP_LOCAL_ABORT: an administrator of this host ended the connection,
 *	or its device was removed
 * @RDS_DROP_CONNECT_FAILED: the attempt to connect failed
 * @RDS_DROP_YIELD: the peer is the end that dials, and our attempt has served
 *	its purpose: the peer knows that we want a connection
 * @RDS_DROP_RACED: a connection or a knock of the peer overtook our attempt,
 *	or the path no longer waited for the connection when it came up
 * @RDS_DROP_PEER_RESTARTED: the peer is another incarnation than before
 * @RDS_DROP_TUNED: new buffer sizes are to take effect
 * @RDS_DROP_PROTOCOL: the peer broke the protocol, or named another path for
 *	this connection than the one that took it
 * @RDS_DROP_OVERSIZED: the peer announced a message longer than allowed
 * @RDS_DROP_IDLE: no socket uses the connection, and it was disconnected, or
 *	room is needed for others
 * @RDS_DROP_UNREGISTER: the transport is being unloaded
 * @RDS_DROP_NET_EXIT: the network namespace is going away
 * @RDS_DROP_NO_MEMORY: there is no memory for a request of the peer
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
 * enum rds_msg_fate - why a message was dropped instead of delivered
 * @RDS_MSG_CANCELED: its socket gave it up: RDS_CANCEL_SENT_TO or close()
 * @RDS_MSG_CONN_GONE: its connection was destroyed
 * @RDS_MSG_PEER_RESTARTED: it was meant for an earlier incarnation of the peer
 * @RDS_MSG_OLD_SEQ: it is a duplicate
 * @RDS_MSG_NO_SOCK: no socket is bound to its destination port
 * @RDS_MSG_DEAD_SOCK: the receiving socket was being closed
 * @RDS_MSG_PING_OFF: it is a ping, and net.rds.ping_enable is off
 * @RDS_MSG_OP_FAILED: the software RDMA write that precedes it failed
 * @RDS_MSG_PING_LIMIT: it is a ping, and too many pongs wait on the path
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
 * struct rds_path - a path of a connection, as the transport sees it
 * @net: the namespace; outlives the path
 * @laddr: our address; IPv4 in its mapped form, as everywhere
 * @faddr: the peer's address, in the same form
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service; part of the connection's key
 * @index: number of the path, from 0. It may change while the path is UP: if
 *	the peer opened the path before it announced that its ports name paths,
 *	core assigns the right number later.
 * @passive: this is the accepting end of a connection of an address with
 *	itself. The path never dials: path_connect() takes an offer, or returns
 *	-EAGAIN.
 * @epoch: random; while it stays the same, the sequence numbers of our messages
 *	continue
 * @data: the transport's own; set by its path_alloc()
 *
 * Valid from path_alloc() until path_free() returns. The transport may write
 * @data only.
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
 * enum rds_payload_kind - type of memory that holds a payload
 * @RDS_PAYLOAD_EMPTY: no memory
 * @RDS_PAYLOAD_INLINE: bytes inside the allocation of the payload's owner
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
 * @kind: type of its memory, which decides how core releases it
 * @nr: entries of @bvec in use
 * @len: length in bytes
 * @data: the bytes (%RDS_PAYLOAD_INLINE). This is slab memory: copy it, never
 *	splice it.
 * @bvec: the memory. %RDS_PAYLOAD_KERNEL: pages, which may be compound; all but
 *	the last are full. %RDS_PAYLOAD_USER: pieces of pages, of any size.
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
	 * @owner: module of the two functions, or NULL for core itself. Core
	 * pins it while a message is queued.
	 */
	struct module	*owner;

	/**
	 * @copy: Required. Copy the first @len bytes of the payload into @to.
	 * Do not consume the message.
	 *
	 * Context: Process context, may sleep, if @to is user memory; any
	 * context otherwise. No locks.
	 * Return: 0 if all @len bytes were copied; -EFAULT otherwise, and the
	 * message stays readable.
	 */
	int (*copy)(struct rds_incoming *inc, u32 len, struct iov_iter *to);

	/**
	 * @free: Required. Free the message. The last reference is gone.
	 *
	 * Context: Any context, including softirq. No locks of core are held.
	 */
	void (*free)(struct rds_incoming *inc);
};

/* Receive path time stamps, see SO_RDS_MSG_RXPATH_LATENCY in rds(7). */
enum rds_rx_stamp {
	RDS_RX_STAMP_HDR,	/* header received */
	RDS_RX_STAMP_START,	/* first payload received */
	RDS_RX_STAMP_END,	/* message complete */
	RDS_RX_STAMP_DELIVERED,	/* taken by recvmsg() */
	RDS_RX_STAMPS
};

/**
 * struct rds_incoming - a received message
 * @i_ops: how to read and free it
 * @i_seq: its sequence number on the path
 * @i_len: bytes of payload
 * @i_truesize: bytes of memory that the message keeps allocated
 * @i_sport: sending port
 * @i_dport: receiving port
 * @i_flags: bits of enum rds_wire_flag
 * @i_exthdr: extension headers
 * @i_stamps: local_clock() at each enum rds_rx_stamp. If the transport leaves
 *	the first at 0, core stamps the message when it is delivered, provided
 *	that a socket has asked for latencies.
 *
 * A transport embeds this structure in its own, initializes it by
 * rds_incoming_init(), and passes its reference to rds_deliver().
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
	/* private: core's own */
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
 * enum rds_op_kind - operations on a peer's memory
 * @RDS_OP_READ: copy the peer's memory to local memory
 * @RDS_OP_WRITE: copy local memory to the peer's memory
 * @RDS_OP_FADD: fetch and add: fetch an eight-byte value, and add to it
 * @RDS_OP_CSWP: compare and swap: fetch an eight-byte value, and replace it if
 *	it equals the expected one
 * @RDS_OP_MASKED_FADD: as %RDS_OP_FADD, but the value consists of fields, and
 *	no carry leaves a field
 * @RDS_OP_MASKED_CSWP: as %RDS_OP_CSWP, but compares and replaces only those
 *	bits that are set in the masks
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
 * @op_kind: type of the operation
 * @op_fence: do not start before all earlier reads and atomic operations of the
 *	path are done
 * @op_bare: no message follows the operation
 * @op_key: the rkey that the peer has given out for its memory
 * @op_addr: start address, as the peer counts: see &rds_mr_memory.base
 * @op_bytes: length in bytes
 * @op_nr: entries of @op_bvec in use
 * @op_bvec: local memory, pinned; an entry may be larger than a page
 * @op_add: value to add, or the new value of a compare and swap
 * @op_compare: expected value of a compare and swap
 * @op_add_mask: bits that no carry leaves, or bits to replace
 * @op_compare_mask: bits to compare
 * @op_error: the transport's own: RDS_RDMA_* status that explains why the
 *	operation is about to fail, or 0. If the operation is lost with the
 *	connection, core reports this status to the user, or RDS_RDMA_DROPPED if
 *	it is 0.
 *
 * Part of a message; the transport may use it for as long as the message lives.
 *
 * An operation is never done twice. The transport calls rds_op_begin() before
 * it passes any part of the operation to the device. It calls rds_op_done()
 * when the device has finished with the local memory, or has given the
 * operation up. If an operation has begun and is not done when path_shutdown()
 * returns, it is lost.
 *
 * If @op_bare is set, xmit() returns %RDS_XMIT_SENT once the device has the
 * operation, and rds_op_done() completes the message.
 *
 * If rds_op_outlook() returns %RDS_OP_GIVE_UP, the transport gives the message
 * up as well: xmit() returns %RDS_XMIT_DELIVERED.
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
 * enum rds_op_outlook - what xmit() has to do about the operation of a message
 * @RDS_OP_NOTHING: there is none, or it is done: send the message
 * @RDS_OP_TO_DO: do the operation, or go on with it
 * @RDS_OP_GIVE_UP: the operation was canceled or has failed: give the message
 *	up
 */
enum rds_op_outlook {
	RDS_OP_NOTHING,
	RDS_OP_TO_DO,
	RDS_OP_GIVE_UP,
};

/**
 * struct rds_message - an outgoing message, as far as a transport reads it
 * @m_seq: its sequence number on the path; 0 until core picks it to be sent
 * @m_sport: sending port
 * @m_dport: receiving port
 * @m_flags: bits of enum rds_wire_flag; stable while the message is being sent
 * @m_exthdr: extension headers
 * @m_payload: the payload
 * @m_ubuf: while it is referenced, core does not notify the sender that its
 *	pages are free again (%RDS_PAYLOAD_USER); see net_zcopy_get()
 * @m_op: operation to do before the message is sent, see rds_op_outlook(). If
 *	the transport has no &rds_rdma_ops, core does the operation, and the
 *	transport ignores this field.
 * @m_mark: the transport's own, if it passes acks on by rds_path_ack_mark():
 *	position in the byte stream where the message ends. It must be set
 *	before the last byte of the message can be acknowledged.
 *
 * The transport borrows the message during data_ops.xmit(). The payload stays
 * unchanged until rds_path_ack() covers @m_seq, unless the sender cancels the
 * message. If the transport must rely on the payload after xmit() returns, or
 * needs it for longer, it takes a reference: by rds_message_get(), or on the
 * pages. If the pages are the sender's (%RDS_PAYLOAD_USER), a reference on them
 * is not enough: the transport takes one on @m_ubuf, too. It must not give such
 * pages to a reader on this host, only a copy of them.
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
	/* private: core's own */
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
 * @rs: private: the socket to wake next; the batch holds a reference
 */
struct rds_rx_batch {
	struct rds_sock *rs;
};

/**
 * enum rds_xmit_result - what data_ops.xmit() did with a message
 * @RDS_XMIT_SENT: the transport has taken all of it; an ack will follow, or
 *	rds_op_done() if &rds_op.op_bare is set
 * @RDS_XMIT_DELIVERED: core is to complete the message without an ack: the peer
 *	has it, or it was given up with its operation
 */
enum rds_xmit_result {
	RDS_XMIT_SENT,
	RDS_XMIT_DELIVERED,
};

/**
 * struct rds_conn_ops - addresses and connections
 */
struct rds_conn_ops {
	/**
	 * @laddr_check: Required. Check whether the transport serves a local
	 * address. @ifindex is the scope of a link-local @addr, otherwise 0.
	 *
	 * Context: Process context, may sleep. No locks.
	 * Return: 0 if it serves @addr; -EADDRNOTAVAIL if it does not; another
	 * errno if it cannot serve @net at all.
	 */
	int (*laddr_check)(struct net *net, const struct in6_addr *addr,
			   int ifindex);

	/**
	 * @max_paths: Required if %RDS_CAP_MULTIPATH. Return how many paths to
	 * offer to the peer. @legacy is true until the peer has shown that it
	 * runs our implementation.
	 *
	 * Context: Any context; must not sleep. Core may hold locks.
	 * Return: 1 to RDS_MAX_PATHS.
	 */
	unsigned int (*max_paths)(struct net *net, bool legacy);

	/**
	 * @path_alloc: Optional. Set up &rds_path.data for a new path. This is
	 * the first op that core calls on a path.
	 *
	 * Context: Process context, may sleep. The namespace's connection mutex
	 * is held, so this op must not create connections.
	 * Return: 0; -ENETUNREACH if the transport cannot reach @path.faddr;
	 * -ENOMEM.
	 */
	int (*path_alloc)(struct rds_path *path);

	/**
	 * @path_free: Optional. Undo path_alloc(), and close an offer that the
	 * path still keeps. This is the last op that core calls on a path: no
	 * other op runs on it now or later. path_shutdown() has been called
	 * before, unless core could not complete the new connection.
	 *
	 * Context: Process context, may sleep. No locks, except that the
	 * namespace's connection mutex is held if core could not complete the
	 * new connection.
	 */
	void (*path_free)(struct rds_path *path);

	/**
	 * @path_offer: Required if the transport calls rds_path_accept(), which
	 * calls this op. Keep @offer, a connection that the peer has made,
	 * until path_connect() takes it.
	 *
	 * Without %RDS_CAP_MULTIPATH, an offer may arrive at any time and
	 * replaces the one that is kept already. The transport guards the kept
	 * offer by a lock of its own. When it keeps an offer, it calls
	 * rds_path_offered() under that lock. When it no longer keeps it, it
	 * calls rds_path_taken(), rds_path_offer_gone() or rds_path_dialed()
	 * under the same lock. With %RDS_CAP_MULTIPATH, core calls
	 * rds_path_offered() itself.
	 *
	 * Context: Process context. The namespace's connection mutex is held.
	 * May run concurrently with any other op of the path except
	 * path_alloc() and path_free().
	 * Return: 0 if the path keeps @offer and owns it from now on; an errno
	 * if it does not keep it.
	 */
	int (*path_offer)(struct rds_path *path, void *offer);

	/**
	 * @path_connect: Required. Begin to connect. If path_offer() has kept a
	 * connection, call rds_path_taken() and then take it. Otherwise dial.
	 *
	 * When the connection works, the transport calls
	 * rds_path_connect_done(), from this op or later. Core may call
	 * path_shutdown() and xmit() from that moment on, so the call must be
	 * the last thing that this op does.
	 *
	 * Context: Process context (the path's work item), may sleep. No locks.
	 * The path is CONNECTING. Until rds_path_connect_done() is called, this
	 * op never runs concurrently with itself, path_shutdown() or xmit() of
	 * the same path.
	 * Return: 0 if an attempt has begun; if it fails later, the transport
	 * calls rds_path_drop(). -EAGAIN if the peer has to connect. Any other
	 * errno if the attempt failed. After an error, nothing is left to shut
	 * down.
	 */
	int (*path_connect)(struct rds_path *path);

	/**
	 * @path_shutdown: Required. Disconnect, and forget how much of a
	 * message has been sent. An offer that path_offer() keeps stays kept.
	 * The op must cope with a half-built connection, and with being called
	 * again.
	 *
	 * Without @abort, shut down in good order: deliver the data that the
	 * peer has sent and we have acknowledged, and wait for acks that are
	 * under way, for a bounded time. With @abort, shut down at once.
	 *
	 * Do not sleep until the peer has done its part: other paths need the
	 * thread. Return how long to wait instead. The path then stays
	 * DISCONNECTING, and core calls this op again when the time has passed
	 * or the transport calls rds_path_kick(), whichever comes first.
	 *
	 * After it has returned 0, the transport calls no core function for
	 * this connection any more.
	 *
	 * Context: Process context, may sleep. The path's transmit lock is
	 * held, so no xmit() runs. Called by the path's work item, or by
	 * rds_conn_destroy(). On an idle path of a loopback transport, also by
	 * a task that needs room for another connection; the namespace's
	 * connection mutex is held then, too.
	 * Return: 0 when the shutdown is done; otherwise the time in jiffies
	 * after which core calls the op again at the latest. Always 0 with
	 * @abort.
	 */
	unsigned long (*path_shutdown)(struct rds_path *path, bool abort);

	/**
	 * @accept_again: Optional. Retry offers for which rds_path_accept() has
	 * returned -EAGAIN: a path may be free now, or core may have learned
	 * which path an offer belongs to. A transport without this op treats
	 * -EAGAIN as a refusal.
	 *
	 * Context: Process context: the work item of a path, or the one that
	 * frees unused connections. No locks. Core may call it often, so it
	 * only schedules work.
	 */
	void (*accept_again)(struct net *net);
};

/**
 * struct rds_data_ops - sending and receiving messages
 */
struct rds_data_ops {
	/**
	 * @xmit: Required. Send a message, or continue to send it. After
	 * -EAGAIN or -ENOMEM, core calls the op with the same message until the
	 * transport has taken all of it, unless path_shutdown() comes first.
	 * If @more is true, another message follows at once.
	 *
	 * Context: Process context, may sleep. The path's transmit lock is
	 * held. The path is UP. @msg is borrowed for the call.
	 * Return: a value of enum rds_xmit_result; -EAGAIN to be called again
	 * after rds_path_kick(); -ENOMEM to be called again soon; any other
	 * errno drops the path.
	 */
	int (*xmit)(struct rds_path *path, struct rds_message *msg, bool more);

	/**
	 * @flush: Optional. Send the messages that xmit() has taken and
	 * batched. Core calls the op when no other message follows at once, and
	 * again after -EAGAIN or -ENOMEM.
	 *
	 * Context and return as @xmit, but 0 when all is sent.
	 */
	int (*flush)(struct rds_path *path);

	/**
	 * @xmit_cong_map: Required unless %RDS_CAP_LOOPBACK. Send our
	 * congestion map: @map is RDS_CONG_MAP_BYTES long, in wire order. Core
	 * calls the op between messages. On each path the map is the first
	 * thing to be sent after the path came UP. On path 0 core sends it also
	 * when it has changed.
	 *
	 * When the peer has acknowledged the map, the transport calls
	 * rds_path_map_acked(). Until then core sends no other map on the path.
	 *
	 * Context and return as @xmit, but 0 when all of the map is taken. @map
	 * is borrowed. After -EAGAIN or -ENOMEM, core passes the same map,
	 * unchanged.
	 */
	int (*xmit_cong_map)(struct rds_path *path, const void *map);

	/**
	 * @rx_resume: Required unless %RDS_CAP_LOOPBACK. Resume reading, after
	 * rds_deliver() has returned false or the transport has called
	 * rds_path_rx_retry() or rds_path_rx_more().
	 *
	 * Context: Process context (the path's work item), may sleep. No locks.
	 * Never runs concurrently with path_connect() or path_shutdown(). The
	 * path may be in any state.
	 */
	void (*rx_resume)(struct rds_path *path);
};

/**
 * struct rds_mr_memory - local memory that peers may reach
 * @pages: its pages, pinned
 * @nr: number of pages
 * @off: offset of the memory in the first page
 * @base: address of its first byte, as peers count; equals @off for a device
 * @len: length in bytes
 * @writable: peers may also write
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
 * struct rds_rdma_ops - RDMA by a device: access to memory of both ends
 *
 * A transport that has this table also does the operations of messages, as part
 * of xmit(). For a transport without it, core does both in software.
 */
struct rds_rdma_ops {
	/**
	 * @atomic_check: Required. Check whether the device of a local address
	 * supports an atomic operation.
	 *
	 * Context: Process context, may sleep. No locks.
	 * Return: 0 if it does; -EOPNOTSUPP if the device does not;
	 * -EADDRNOTAVAIL if the transport no longer serves the address;
	 * -ENOMEM.
	 */
	int (*atomic_check)(struct net *net, const struct in6_addr *laddr,
			    int ifindex, enum rds_op_kind kind);

	/**
	 * @mr_map: Required. Register memory. Peers that are connected to the
	 * local address can then reach it by a key, at addresses from
	 * &rds_mr_memory.off. @mem stays unchanged until mr_unmap().
	 *
	 * Context: Process context, may sleep. No locks.
	 * Return: a handle for mr_unmap(), with @key set. Otherwise an errno as
	 * a pointer: -EOPNOTSUPP if the device does not support it; -EMSGSIZE
	 * if the memory is too large for the device; -EADDRNOTAVAIL if the
	 * transport no longer serves the address; -ENETDOWN; -ENOMEM; -EINTR;
	 * -EIO.
	 */
	void *(*mr_map)(struct net *net, const struct in6_addr *laddr,
			int ifindex, const struct rds_mr_memory *mem, u32 *key);

	/**
	 * @mr_alive: Required. Check whether peers can still reach the memory.
	 * Once the device is gone they cannot, and another device may give out
	 * the same key.
	 *
	 * Context: Any context; must not sleep. A spin lock of core is held.
	 * Return: true if peers can still reach the memory.
	 */
	bool (*mr_alive)(const void *handle);

	/**
	 * @mr_unmap: Required. Deregister memory. When this returns, no peer
	 * can reach the memory, and the handle is freed.
	 *
	 * Context: Process context, may sleep. No locks.
	 */
	void (*mr_unmap)(void *handle);
};

/**
 * struct rds_info_ops - types of service, counters, and lists for user space
 */
struct rds_info_ops {
	/**
	 * @tos_map: Optional. Map the type of service that a user has requested
	 * to the one that the connections of its socket get. Without this op,
	 * setting a type of service fails with ENOTTY.
	 *
	 * Context: Process context. The socket lock is held.
	 * Return: the type of service.
	 */
	u8 (*tos_map)(u8 tos);

	/** @nr_stats: number of counters that the transport has */
	unsigned int nr_stats;

	/** @stat_names: their names, in the order of RDS_INFO_COUNTERS */
	const char * const *stat_names;

	/**
	 * @stats: Required if @nr_stats. Sum up the counters of a namespace.
	 * @sums has room for @nr_stats values.
	 *
	 * Context: Process context. No locks.
	 */
	void (*stats)(struct net *net, u64 *sums);

	/**
	 * @record: Optional. Describe a path: fill in @record, a zeroed record
	 * of the RDS_INFO list @opt. The structure of that list fixes its size.
	 *
	 * Context: Process context, may sleep. The namespace's connection mutex
	 * is held. May run concurrently with any other op of the path except
	 * path_alloc() and path_free().
	 * Return: true if the list belongs to this transport and contains the
	 * path.
	 */
	bool (*record)(struct rds_path *path, int opt, void *record);
};

/**
 * enum rds_caps - capability flags of a transport
 * @RDS_CAP_LOOPBACK: reaches addresses of this host only, and has no wire
 * @RDS_CAP_PREFERS_LOOPBACK: leaves destinations on this host to the loopback
 *	transport
 * @RDS_CAP_NETNS: works in every network namespace, not just in the first
 * @RDS_CAP_LOWER_DIALS: of two peers, the one with the lower address redials
 * @RDS_CAP_MULTIPATH: peers agree on the number of paths by a handshake
 * @RDS_CAP_SELF_ACKED: acks come without being requested, so messages do not
 *	ask for them
 * @RDS_CAP_ZEROCOPY: payloads may be in the sender's own pages
 * @RDS_CAP_ZEROCOPY_STRETCH: payloads may be in the sender's own pages if all
 *	of these but the first and the last are full
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
 * @name: name that RDS_INFO_CONNECTIONS shows
 * @owner: its module; every bound socket pins it
 * @type: its slot, and its number in SO_RDS_TRANSPORT
 * @caps: bits of enum rds_caps
 * @conn: required: addresses and connections
 * @data: required: sending and receiving messages
 * @rdma: optional: RDMA by a device
 * @info: optional: types of service, counters, and lists for user space
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

/* Most paths that a connection may have */
#define RDS_MAX_PATHS			8

/**
 * struct rds_conn_request - description of a connection made by the peer
 * @laddr: our address; IPv4 in its mapped form
 * @faddr: the peer's address, in the same form
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service
 * @index: path that the peer's port names, if the peer's ports name paths
 * @since: when the peer made the connection, in jiffies
 * @spoken: the peer's first header has arrived and is valid
 * @knows_duels: the peer knows which connection is kept when both ends dial;
 *	irrelevant with RDS_CAP_LOWER_DIALS
 *
 * The transport passes it to rds_path_accept() or rds_path_knock().
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

/*
 * Functions that core exports. Each is documented where it is defined, in the
 * file of net/rds/core that is named here.
 */

/* transport.c */
int rds_transport_register(const struct rds_transport *trans);
void rds_transport_unregister(const struct rds_transport *trans);

/* conn_get.c */
struct rds_path *rds_path_get_reverse(struct rds_path *path);

/* path.c */
void rds_path_put(struct rds_path *path);

/* conn_table.c */
void rds_paths_drop(struct net *net, const struct rds_transport *trans,
		    enum rds_drop_reason reason);

/* accept.c */
int rds_path_accept(struct net *net, const struct rds_transport *trans,
		    const struct rds_conn_request *peer, void *offer);
int rds_path_knock(struct net *net, const struct rds_transport *trans,
		   const struct rds_conn_request *peer);

/* path_connect.c */
void rds_path_connect_done(struct rds_path *path);

/* path.c */
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

/* retrans.c */
bool rds_path_ack(struct rds_path *path, u64 seq);
void rds_path_ack_resent(struct rds_path *path, u64 seq);
void rds_path_lose_ops(struct rds_path *path);
void rds_path_ack_mark(struct rds_path *path, u32 mark);

/* send_map.c */
void rds_path_map_acked(struct rds_path *path);

/* message.c */
void rds_message_header(const struct rds_message *msg, u64 ack,
			struct rds_header *hdr);
struct rds_message *rds_message_get(struct rds_message *msg);
void rds_message_put(struct rds_message *msg);

/* op.c */
enum rds_op_outlook rds_op_outlook(const struct rds_message *msg);
bool rds_op_begin(struct rds_message *msg);

/* retrans.c */
void rds_op_done(struct rds_message *msg, int status);

/* message.c */
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
