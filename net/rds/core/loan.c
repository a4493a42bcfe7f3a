// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a user that is read in place when it is sent: see loan.h. The owner
 * is a send of a datagram socket (zcopy.c), or of a socket of the user above
 * core (upper_notice.c).
 *
 * The user may write to the memory meanwhile. That must affect only the data
 * that the peer receives. So a transport lets only the device read the memory:
 * a checksum computed in software could become wrong, and all sockets share the
 * connection. If the destination is on this host, the payload is copied
 * (packets are copied when they are received). So nothing on this host reads
 * the memory after the loan has ended.
 *
 * A packet may stay in a queue of another namespace long after the socket, its
 * namespace and the connection are gone. So a loan refers to none of these, and
 * its owner must not either: a peer that reads nothing would keep them.
 */
#include <linux/module.h>
#include <net/rds/loan.h>

#include "compat.h"

static struct rds_loan *to_loan(struct ubuf_info *ubuf)
{
	return container_of(ubuf, struct rds_loan, ln_ubuf);
}

static void rds_loan_over(struct rds_loan *ln)
{
	rds_loan_uncharge(ln);
	ln->ln_end(ln);
	module_put(THIS_MODULE);
}

static void rds_loan_complete(struct sk_buff *skb, struct ubuf_info *ubuf,
			      bool success)
{
	struct rds_loan *ln = to_loan(ubuf);

	if (!success)
		rds_loan_note_copy(ln);
	if (refcount_dec_and_test(&ubuf->refcnt))
		rds_loan_over(ln);
}

static const struct ubuf_info_ops rds_loan_ubuf_ops = {
	.complete = rds_loan_complete,
};

/**
 * rds_loan_begin() - Initialize a loan
 * @ln: the loan, zeroed
 * @end: see &rds_loan.ln_end
 *
 * Context: Process context. The caller has the only reference.
 */
void rds_loan_begin(struct rds_loan *ln, void (*end)(struct rds_loan *ln))
{
	rds_ubuf_set_ops(&ln->ln_ubuf, &rds_loan_ubuf_ops);
	/* Packets are copied when they are received, but not when cloned. */
	ln->ln_ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&ln->ln_ubuf.refcnt, 1);
	__module_get(THIS_MODULE);
	ln->ln_end = end;
}

/**
 * rds_loan_charge() - Charge memory as locked by the user
 * @ln: the loan
 * @pages: pages that are about to be referenced
 *
 * Context: Process context of the user. Calls for one loan are serialized.
 * Return: 0; -ENOBUFS if the user may not lock so much more.
 */
int rds_loan_charge(struct rds_loan *ln, unsigned int pages)
{
	return mm_account_pinned_pages(&ln->ln_pin, pages * PAGE_SIZE);
}

/**
 * rds_loan_uncharge() - Undo all of rds_loan_charge()
 * @ln: the loan, of which nothing reads memory
 *
 * Context: Any context.
 */
void rds_loan_uncharge(struct rds_loan *ln)
{
	mm_unaccount_pinned_pages(&ln->ln_pin);
	memset(&ln->ln_pin, 0, sizeof(ln->ln_pin));
}
