/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a user that is read in place when it is sent (MSG_ZEROCOPY).
 *
 * A loan has one reference of the send that began it, which may become that of
 * its only message; one of each other message that sends from the memory; and
 * one of each packet that TCP has made of such a message. When the last one is
 * put, nothing reads the memory any more: it no longer counts as locked, and
 * the owner is told.
 */
#ifndef _NET_RDS_LOAN_H
#define _NET_RDS_LOAN_H

#include <linux/skbuff.h>

/**
 * struct rds_loan - memory of a user that is read in place
 * @ln_ubuf: has the references. Packets know nothing else of the loan
 * @ln_pin: the charge against the user's limit of locked memory
 * @ln_end: Required. Take notice that the memory is not read any more, and free
 *	the loan. Context: any context; locks of the transport may be held
 * @ln_copied: some of the memory was copied after all
 */
struct rds_loan {
	struct ubuf_info	ln_ubuf;
	struct mmpin		ln_pin;
	void			(*ln_end)(struct rds_loan *ln);
	bool			ln_copied;
};

/* loan.c of net/rds/core */
void rds_loan_begin(struct rds_loan *ln, void (*end)(struct rds_loan *ln));
int rds_loan_charge(struct rds_loan *ln, unsigned int pages);
void rds_loan_uncharge(struct rds_loan *ln);

/**
 * rds_loan_get() - Take a reference to a loan
 * @ln: the loan
 *
 * Context: Any context.
 * Return: the loan.
 */
static inline struct rds_loan *rds_loan_get(struct rds_loan *ln)
{
	net_zcopy_get(&ln->ln_ubuf);
	return ln;
}

/**
 * rds_loan_note_copy() - Note that some of the memory was copied after all
 * @ln: the loan
 *
 * Context: Any context. The caller has a reference.
 */
static inline void rds_loan_note_copy(struct rds_loan *ln)
{
	WRITE_ONCE(ln->ln_copied, true);
}

/**
 * rds_loan_put() - Put a reference to a loan
 * @ln: the loan
 *
 * Context: Any context.
 */
static inline void rds_loan_put(struct rds_loan *ln)
{
	net_zcopy_put(&ln->ln_ubuf);
}

#endif /* _NET_RDS_LOAN_H */
