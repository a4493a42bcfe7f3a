// SPDX-License-Identifier: GPL-2.0-only
/* The fake user of connections above core, declared in rig_upper.h */
#include <net/ipv6.h>

#include "rig_upper.h"

struct upper upper;

static int upper_create(struct net *net, struct socket *sock, int protocol,
			int kern)
{
	return -EXDEV;
}

static void upper_deliver(struct rds_conn *conn, struct rds_incoming *inc,
			  struct rds_rx_batch *batch)
{
	if (conn == upper.conn && rds_frame_read(inc->i_exthdr, &upper.got))
		upper.delivered++;
	upper.sport = ntohs(inc->i_sport);
	upper.len = inc->i_len;
	rds_upper_incoming_put(inc);
}

static void upper_done(struct rds_message *msg, void *owner, bool lost)
{
	upper.done++;
	upper.lost += lost;
	upper.owner = owner;
}

static void upper_event(struct rds_conn *conn, enum rds_upper_event event,
			int err)
{
	if (conn != upper.conn)
		return;
	upper.events[event]++;
	upper.err = err;
}

int upper_register(void)
{
	int ret;

	memset(&upper, 0, sizeof(upper));
	upper.ops.owner = THIS_MODULE;
	upper.ops.create = upper_create;
	upper.ops.deliver = upper_deliver;
	upper.ops.done = upper_done;
	upper.ops.event = upper_event;
	ret = rds_upper_register(&upper.ops);
	upper.registered = !ret;
	return ret;
}

int upper_init(struct kunit *test)
{
	int ret = rig_init_one_path(test);

	return ret ?: upper_register();
}

void upper_close(void)
{
	if (upper.conn)
		rds_upper_close(upper.conn);
	upper.conn = NULL;
}

void upper_unregister(void)
{
	if (upper.registered)
		rds_upper_unregister(&upper.ops);
	upper.registered = false;
}

void upper_exit(struct kunit *test)
{
	upper_close();
	rig_exit(test);
	upper_unregister();
}

struct rds_conn *upper_try_open(struct kunit *test)
{
	struct rds_upper_key key = {
		.laddr	= fake_laddr,
		.uid	= GLOBAL_ROOT_UID,
	};

	ipv6_addr_set_v4mapped(htonl(rig_of(test)->peer), &key.faddr);
	return rds_upper_open(&init_net, &key);
}

void upper_open(struct kunit *test)
{
	struct rds_conn *conn = upper_try_open(test);

	KUNIT_ASSERT_FALSE(test, IS_ERR(conn));
	upper.conn = conn;
}

void upper_connect(struct kunit *test, const struct rig_peer *peer)
{
	rds_upper_dial(upper.conn);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_await(test, FAKE_SENT, 1);
	rig_reply(test, 0, 1, peer);
}

void upper_up(struct kunit *test, const struct rig_peer *peer)
{
	upper_open(test);
	upper_connect(test, peer);
	rds_path_ack(rig_path(test), 1);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));
}

void upper_reconnect(struct kunit *test, const struct rig_peer *peer, u64 seq)
{
	fake_forget(rig_fake(test));
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_probe(test, 0, seq, peer);
}

u32 upper_epoch(void)
{
	u32 epoch;

	rds_upper_peer(upper.conn, &epoch);
	return epoch;
}

enum rds_upper_peer upper_peer(void)
{
	u32 epoch;

	return rds_upper_peer(upper.conn, &epoch);
}

struct rds_message *upper_frame(struct kunit *test)
{
	struct rds_frame frame = {
		.op = RDS_FRAME_CREDIT_UPDATE,
		.id = UPPER_ID,
	};
	struct rds_message *msg = rds_upper_alloc(0, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, msg);
	msg->m_sport = htons(RIG_PORT);
	msg->m_dport = htons(RIG_PEER_PORT);
	rds_frame_write(msg->m_exthdr, &frame);
	return msg;
}

void upper_submit_for(struct kunit *test, struct rds_message *msg, u32 epoch)
{
	KUNIT_ASSERT_EQ(test, 0, rds_upper_submit(upper.conn, msg, msg, epoch,
						  RDS_UPPER_KICK |
						  RDS_UPPER_ASK));
}

void upper_submit(struct kunit *test)
{
	upper_submit_for(test, upper_frame(test), upper_epoch());
	fake_settle(rig_fake(test));
}

struct rds_message *upper_submit_held(struct kunit *test)
{
	struct rds_message *msg = rds_message_get(upper_frame(test));

	upper_submit_for(test, msg, upper_epoch());
	fake_settle(rig_fake(test));
	return msg;
}

bool upper_cancel(struct rds_message *msg)
{
	bool ret = rds_upper_cancel(msg);

	rds_message_put(msg);
	return ret;
}

void upper_expect(struct kunit *test, unsigned int done, unsigned int lost)
{
	KUNIT_EXPECT_EQ(test, upper.done, done);
	KUNIT_EXPECT_EQ(test, upper.lost, lost);
}

unsigned int upper_sent(struct kunit *test)
{
	const struct fake_call *call;
	unsigned int i, sent = 0;

	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++)
		sent += call->exthdr[0] == RDS_EXTHDR_STREAM;
	return sent;
}

void upper_receive(struct kunit *test, struct rds_path *path, u64 seq,
		   u16 dport, u32 len, const struct rds_frame *frame)
{
	struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(seq),
		.h_len		= htonl(len),
		.h_sport	= htons(RIG_PEER_PORT),
		.h_dport	= htons(dport),
	};

	rds_frame_write(hdr.h_exthdr, frame);
	rig_receive(test, path, &hdr);
}

void upper_arrives(struct kunit *test, u64 seq, u16 dport, u32 len,
		   const struct rds_frame *frame)
{
	upper_receive(test, rig_path(test), seq, dport, len, frame);
	fake_settle(rig_fake(test));
}
