/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of the fake transport: which ops core has called, in which order, and
 * with which messages.
 */
#ifndef _RDS_TEST_FAKE_LOG_H
#define _RDS_TEST_FAKE_LOG_H

#include <linux/types.h>
#include <net/rds/wire.h>

struct fake;
struct rds_path;
struct task_struct;

#define FAKE_MAX_CALLS	8192

/*
 * Letters for the calls in the log, see fake_ops(). A capital letter stands for
 * calls that succeeded. In a search of the log, a small letter stands for all
 * calls of the op, whether they succeeded or failed.
 */
enum fake_op {
	FAKE_ALLOC	= 'a',
	FAKE_CONNECT	= 'c',
	FAKE_CONNECTED	= 'C',
	FAKE_MAP	= 'm',
	FAKE_MAPPED	= 'M',
	FAKE_OFFER	= 'o',
	FAKE_OFFERED	= 'O',
	FAKE_RESUME	= 'r',
	FAKE_XMIT	= 'x',
	FAKE_SENT	= 'X',
	FAKE_SHUTDOWN	= 's',
	FAKE_FLUSH	= 'u',
	FAKE_FLUSHED	= 'U',
	FAKE_FREE	= 'f',
};

/**
 * struct fake_call - a call of an op
 * @op: the op, as its small letter
 * @ret: its return value; positive and zero are success
 * @index: number of the path at the time of the call
 * @task: the calling task
 * @offer: the connection that was taken or offered; NULL if we dialed
 * @abort: the shutdown must not wait for anything
 * @seq: sequence number of the message; this and all further fields for
 *	FAKE_XMIT only
 * @sport: sending port
 * @dport: receiving port
 * @len: bytes of payload
 * @flags: of the header
 * @more: another message was to follow
 * @intact: the payload is what rig_send() had sent
 * @exthdr: the extension headers
 */
struct fake_call {
	enum fake_op		op;
	int			ret;
	u8			index;
	struct task_struct	*task;
	void			*offer;
	bool			abort;
	u64			seq;
	u16			sport;
	u16			dport;
	u32			len;
	u8			flags;
	bool			more;
	bool			intact;
	u8			exthdr[RDS_EXTHDR_SPACE];
};

void fake_log_locked(struct fake *fake, struct rds_path *path,
		     const struct fake_call *call);
void fake_log(struct fake *fake, struct rds_path *path,
	      const struct fake_call *call);
void fake_forget(struct fake *fake);
unsigned int fake_count(struct fake *fake, enum fake_op op);
const struct fake_call *fake_nth(struct fake *fake, enum fake_op op,
				 unsigned int n);
bool fake_await(struct fake *fake, enum fake_op op, unsigned int count);
const char *fake_ops(struct fake *fake, bool failed, char *buf, size_t size);
const char *fake_sent(struct fake *fake, char *buf, size_t size);
const char *fake_said(struct fake *fake, unsigned int index, char *buf,
		      size_t size);

#endif /* _RDS_TEST_FAKE_LOG_H */
