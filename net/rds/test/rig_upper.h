/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fake user of connections above core, in the place of streams. It counts
 * what core tells it, and submits frames.
 */
#ifndef _RDS_TEST_RIG_UPPER_H
#define _RDS_TEST_RIG_UPPER_H

#include <net/rds/frame.h>
#include <net/rds/upper.h>

#include "rig_peer.h"

/* Identifier of the stream whose frames are submitted */
#define UPPER_ID	0x01020304

/**
 * struct upper - the user of connections
 * @ops: its ops, registered with core
 * @registered: they are
 * @conn: a connection that it has opened, or NULL
 * @done: calls of done()
 * @lost: those for frames that were lost
 * @owner: the owner in the last call
 * @delivered: calls of deliver()
 * @got: the last frame that arrived
 * @sport: the port that has sent it
 * @len: bytes of its payload
 * @events: calls of event(), by event
 * @err: the error in the last call
 */
struct upper {
	struct rds_upper	ops;
	bool			registered;
	struct rds_conn		*conn;
	unsigned int		done;
	unsigned int		lost;
	void			*owner;
	unsigned int		delivered;
	struct rds_frame	got;
	u16			sport;
	u32			len;
	unsigned int		events[RDS_UPPER_GONE + 1];
	int			err;
};

extern struct upper upper;

/* Register the ops, without a connection. Returns 0 or a negative errno. */
int upper_register(void);
int upper_init(struct kunit *test);
void upper_close(void);
void upper_unregister(void);
/* Frames of a connection that is destroyed are reported yet. */
void upper_exit(struct kunit *test);
struct rds_conn *upper_try_open(struct kunit *test);
/* Open a connection, which is not made yet. */
void upper_open(struct kunit *test);
void upper_connect(struct kunit *test, const struct rig_peer *peer);
/* Open a connection to a peer that is known. All that it was sent is
 * acknowledged, and the log is empty.
 */
void upper_up(struct kunit *test, const struct rig_peer *peer);
/* Lose the connection. The next one is to PEER. */
void upper_reconnect(struct kunit *test, const struct rig_peer *peer, u64 seq);
u32 upper_epoch(void);
enum rds_upper_peer upper_peer(void);
struct rds_message *upper_frame(struct kunit *test);
void upper_submit_for(struct kunit *test, struct rds_message *msg, u32 epoch);
/* Submit a frame for the present peer. */
void upper_submit(struct kunit *test);
/* The same, and keep a reference to the frame. */
struct rds_message *upper_submit_held(struct kunit *test);
bool upper_cancel(struct rds_message *msg);
void upper_expect(struct kunit *test, unsigned int done, unsigned int lost);
/* Number of frames of streams that the transport has taken. */
unsigned int upper_sent(struct kunit *test);
/* A frame arrives on PATH. */
void upper_receive(struct kunit *test, struct rds_path *path, u64 seq,
		   u16 dport, u32 len, const struct rds_frame *frame);
void upper_arrives(struct kunit *test, u64 seq, u16 dport, u32 len,
		   const struct rds_frame *frame);

#endif /* _RDS_TEST_RIG_UPPER_H */
