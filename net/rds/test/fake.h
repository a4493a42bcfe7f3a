/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A transport that does what a test tells it to and records what core asks of
 * it. It sits in the slot of TCP, serves 192.0.2.1, and reaches any peer; a
 * test uses one peer, hence one connection, at a time, if it does not count
 * paths only. Tests of paths give it the capabilities of TCP.
 */
#ifndef _RDS_TEST_FAKE_H
#define _RDS_TEST_FAKE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/rds/transport.h>

#define FAKE_MAX_CALLS	8192
#define FAKE_FOR_EVER	(-1)

/*
 * What the log has of a call, see fake_ops(). Capitals are calls that
 * succeeded; whoever counts small letters counts both.
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
 * @op: which, in small letters
 * @ret: what it returned; positive and zero are success
 * @index: number that the path had then
 * @task: who called
 * @offer: the connection taken, or offered; NULL if we dialled
 * @abort: a shutdown that does not wait for anything
 * @seq: of the message (FAKE_XMIT only), as all that follows
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

/**
 * struct fake_plan - how an op is to fail
 * @err: by this errno
 * @times: so often; or FAKE_FOR_EVER
 */
struct fake_plan {
	int	err;
	int	times;
};

/**
 * struct fake - the transport
 * @trans: what is registered
 * @conn_ops: its ops, open to change before fake_register()
 * @data_ops: likewise
 * @registered: it is
 * @path: the path that was made first, until path_free()
 * @alloc: plan for path_alloc()
 * @connect: plan for path_connect()
 * @xmit: plan for xmit()
 * @map: plan for xmit_cong_map()
 * @offer: plan for path_offer()
 * @end: plan for path_shutdown(), which does not fail: jiffies until it is to
 *	be called again
 * @flush: plan for flush(), if fake_batches() was called
 * @max_paths: paths offered to a peer of this implementation
 * @legacy_paths: paths offered to others
 * @peer_dials: without an offer, path_connect() leaves it to the peer
 * @mark: where the stream of bytes is; moves with each message
 * @truesize: what messages received say that they hold; 0 for what they do
 * @hold_gate: gates do not open, and nothing is given up, because time passes
 * @keep_map_acks: the test acknowledges congestion maps; otherwise each is
 *	acknowledged at once
 * @connect_later: path_connect() leaves it to the test to say that it is done
 * @offered_by: the peer of the next offer, freed when path_offer() keeps that
 * @in_connect: called once, in the next path_connect(), before it looks
 * @after_connect: likewise, when it has decided
 * @in_xmit: called once, in the next xmit()
 * @in_map: called in each xmit_cong_map()
 * @in_shutdown: called once, in the next path_shutdown()
 * @last_map: the map sent last
 * @backoff_ms: ceiling of the back-off at each connect, the first few
 * @nr_backoff: how many of those
 * @lock: guards what follows
 * @wait: woken by each call
 * @calls: the calls so far, forgotten by fake_forget()
 * @nr_calls: how many
 * @paths: those allocated and not freed
 * @live_paths: how many
 * @again_calls: calls of accept_again()
 * @broken: what a test should fail for in any case, or NULL
 */
struct fake {
	struct rds_transport	trans;
	struct rds_conn_ops	conn_ops;
	struct rds_data_ops	data_ops;
	bool			registered;
	struct rds_path		*path;

	struct fake_plan	alloc;
	struct fake_plan	connect;
	struct fake_plan	xmit;
	struct fake_plan	map;
	struct fake_plan	offer;
	struct fake_plan	end;
	struct fake_plan	flush;
	unsigned int		max_paths;
	unsigned int		legacy_paths;
	bool			peer_dials;
	u32			mark;
	u32			truesize;
	bool			hold_gate;
	bool			keep_map_acks;
	bool			connect_later;
	struct rds_conn_request	*offered_by;
	void (*in_connect)(struct rds_path *path);
	void (*after_connect)(struct rds_path *path);
	void (*in_xmit)(struct rds_path *path, struct rds_message *msg);
	void (*in_map)(struct rds_path *path);
	void (*in_shutdown)(struct rds_path *path);

	u8			last_map[RDS_CONG_MAP_BYTES];
	u32			backoff_ms[16];
	unsigned int		nr_backoff;

	spinlock_t		lock;
	wait_queue_head_t	wait;
	struct fake_call	calls[FAKE_MAX_CALLS];
	unsigned int		nr_calls;
	struct list_head	paths;
	int			live_paths;
	atomic_t		again_calls;
	const char		*broken;
};

extern const struct in6_addr fake_laddr;

void fake_init(struct fake *fake);
void fake_batches(struct fake *fake);
int fake_register(struct fake *fake);
void fake_unregister(struct fake *fake);

bool fake_withdraw(struct rds_path *path);
bool fake_dialed(struct rds_path *path);
void fake_fail(struct fake_plan *plan, int err, int times);
void fake_unblock(struct fake *fake);
void fake_forget(struct fake *fake);

unsigned int fake_count(struct fake *fake, enum fake_op op);
const struct fake_call *fake_nth(struct fake *fake, enum fake_op op,
				 unsigned int n);
bool fake_await(struct fake *fake, enum fake_op op, unsigned int count);
void fake_settle(struct fake *fake);
const char *fake_ops(struct fake *fake, bool failed, char *buf, size_t size);
const char *fake_sent(struct fake *fake, char *buf, size_t size);
const char *fake_said(struct fake *fake, unsigned int index, char *buf,
		      size_t size);

u8 fake_pattern(u32 offset);
int fake_deliver(struct rds_path *path, const struct rds_header *hdr);
int fake_incomings(void);

#endif /* _RDS_TEST_FAKE_H */
