/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fake transport. It does what a test tells it to do, and logs the calls of
 * core. It takes the slot of TCP, serves 192.0.2.1, and reaches any peer. A
 * test uses one peer, and hence one connection, at a time, unless it only
 * counts paths. Tests of paths give the transport the capability flags of TCP.
 */
#ifndef _RDS_TEST_FAKE_H
#define _RDS_TEST_FAKE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/rds/transport.h>

#include "fake_log.h"
#include "fake_payload.h"

#define FAKE_FOR_EVER	(-1)

/**
 * struct fake_plan - planned failures of an op
 * @err: the errno to return
 * @times: number of calls that fail, or FAKE_FOR_EVER
 */
struct fake_plan {
	int	err;
	int	times;
};

/**
 * struct fake - the transport
 * @trans: the transport as registered with core
 * @conn_ops: its ops; a test may change them before fake_register()
 * @data_ops: likewise
 * @registered: @trans is registered
 * @path: the path that was created first; NULL after its path_free(), until
 *	another path is created
 * @alloc: planned failures of path_alloc()
 * @connect: planned failures of path_connect()
 * @xmit: planned failures of xmit()
 * @map: planned failures of xmit_cong_map()
 * @offer: planned failures of path_offer()
 * @end: plan for path_shutdown(), which does not fail: its errno is the time in
 *	jiffies after which core is to call the op again
 * @flush: planned failures of flush(), if fake_batches() was called
 * @max_paths: number of paths offered to a peer that runs our implementation
 * @legacy_paths: number of paths offered to any other peer
 * @peer_dials: without an offer, path_connect() leaves it to the peer to dial
 * @mark: position in the byte stream; moves on with each message
 * @truesize: bytes of memory that each received message claims to hold; 0 for
 *	the bytes that it really holds
 * @hold_gate: time alone opens no gate and drops no silent connection
 * @keep_map_acks: the test acknowledges congestion maps; otherwise each map is
 *	acknowledged at once
 * @connect_later: the test calls rds_path_connect_done() instead of
 *	path_connect()
 * @offered_by: the peer's request for the next offer; freed when path_offer()
 *	keeps the offer
 * @in_connect: called once, in the next path_connect(), before that takes an
 *	offer
 * @after_connect: likewise, after the return value is decided
 * @in_xmit: called once, in the next xmit()
 * @in_map: called in each xmit_cong_map()
 * @in_shutdown: called once, in the next path_shutdown()
 * @last_map: the map sent last
 * @backoff_ms: ceilings of the back-off at the first calls of path_connect()
 * @nr_backoff: number of entries of @backoff_ms in use
 * @lock: guards the plans, @path, the offers of the paths, and the fields from
 *	@calls to @live_paths
 * @wait: woken by each call
 * @calls: log of the calls since fake_forget()
 * @nr_calls: number of calls in the log
 * @paths: the paths that are allocated and not freed
 * @live_paths: number of these
 * @again_calls: number of calls of accept_again()
 * @again_empty: those of them while there was no connection
 * @broken: why the test must fail whatever else it checks, or NULL
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
	atomic_t		again_empty;
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
void fake_settle(struct fake *fake);

#endif /* _RDS_TEST_FAKE_H */
