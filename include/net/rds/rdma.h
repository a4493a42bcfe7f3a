/* SPDX-License-Identifier: GPL-2.0-only */
/* The contract, continued: operations on memory of peers. */
#ifndef _NET_RDS_RDMA_H
#define _NET_RDS_RDMA_H

#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct page;
struct rds_message;

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

/* Each is documented where it is defined, in the file of net/rds/core that is
 * named here.
 */

/* op.c */
enum rds_op_outlook rds_op_outlook(const struct rds_message *msg);
bool rds_op_begin(struct rds_message *msg);

/* retrans.c */
void rds_op_done(struct rds_message *msg, int status);

#endif /* _NET_RDS_RDMA_H */
