// SPDX-License-Identifier: GPL-2.0-only
/* Common parts of the tests of paths; see paths.h. */
#include <linux/delay.h>
#include <linux/iopoll.h>

#include "../core/multipath.h"
#include "paths.h"

char paths_offers[RDS_MAX_PATHS];

/* Offer a connection, and retry as long as core returns -EAGAIN. */
static int offer_at_last(struct kunit *test, u8 named)
{
	unsigned int tries;
	int ret;

	for (tries = 0; tries < 500; tries++) {
		ret = paths_offer(test, named);
		if (ret != -EAGAIN)
			break;
		msleep(20);
	}
	return ret;
}

/**
 * paths_accepted() - Let a peer dial that sends no handshake frame
 * @test: the test
 * @named: the path that the peer's port names
 *
 * This is rig_dialed(), except that the peer has dialed.
 *
 * Return: a socket at RIG_PORT.
 */
struct socket *paths_accepted(struct kunit *test, u8 named)
{
	struct socket *sock;

	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	sock = rig_socket(test, RIG_PORT);
	rig_send(test, sock, 1);
	KUNIT_ASSERT_EQ(test, 0, offer_at_last(test, named));
	rig_await(test, FAKE_SENT, 2);
	rig_expect_said(test, 0, "M 1p 2");
	rds_path_ack(rig_path(test), 2);
	fake_forget(rig_fake(test));
	return sock;
}

/**
 * paths_expect_handshake() - Check a handshake frame that was sent
 * @test: the test
 * @n: number of the message in the log, from 0
 * @npaths: number of paths that the frame must announce
 * @in_use: the frame must announce them as in use
 */
void paths_expect_handshake(struct kunit *test, unsigned int n, u16 npaths,
			    bool in_use)
{
	const struct fake_call *call = fake_nth(rig_fake(test), FAKE_SENT, n);
	struct rds_handshake hs;

	KUNIT_ASSERT_NOT_NULL(test, call);
	rds_handshake_read(call->exthdr, &hs);
	KUNIT_EXPECT_EQ(test, hs.npaths, npaths);
	KUNIT_EXPECT_EQ(test, hs.in_use, in_use);
	KUNIT_EXPECT_TRUE(test, hs.names_paths);
	KUNIT_EXPECT_TRUE(test, hs.ours);
	KUNIT_EXPECT_EQ(test, (u32)(hs.id >> 32),
			rds_net(&init_net)->rn_gen);
}

/**
 * paths_port() - Find a port of the peer to which messages take a path
 * @test: the test
 * @index: number of the path
 *
 * The messages are those of RIG_PORT.
 *
 * Return: the port.
 */
u16 paths_port(struct kunit *test, unsigned int index)
{
	const struct rds_cpath *want = rig_nth_cpath(test, index);
	u16 port;

	for (port = RIG_PEER_PORT; port < RIG_PEER_PORT + 1000; port++) {
		if (rds_mp_pick(rig_conn(test), htons(RIG_PORT),
				htons(port)) == want)
			return port;
	}
	KUNIT_ASSERT_TRUE_MSG(test, false, "no port takes path %u", index);
	return 0;
}

/**
 * paths_send() - Send a message that takes a path
 * @test: the test
 * @sock: a socket at RIG_PORT
 * @index: number of the path
 */
void paths_send(struct kunit *test, struct socket *sock, unsigned int index)
{
	u16 port = paths_port(test, index);

	KUNIT_ASSERT_EQ(test, 5, rig_try_send(test, sock, port, 5,
					      MSG_DONTWAIT));
	fake_settle(rig_fake(test));
}

/**
 * paths_receive() - Deliver a message of ten bytes on a path
 * @test: the test
 * @index: number of the path
 * @seq: sequence number of the message
 *
 * Return: true if the transport may read on.
 */
bool paths_receive(struct kunit *test, unsigned int index, u64 seq)
{
	const struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(seq),
		.h_len		= htonl(10),
		.h_sport	= htons(RIG_PEER_PORT),
		.h_dport	= htons(RIG_PORT),
	};

	return rig_receive(test, &rig_nth_cpath(test, index)->cp_pub, &hdr);
}

/**
 * paths_handshake() - Deliver a handshake frame on each path that is UP
 * @test: the test
 * @peer: content of the frame
 *
 * All paths but the one that carries the barrier probe still wait for the reply
 * to that probe.
 */
void paths_handshake(struct kunit *test, const struct rig_peer *peer)
{
	unsigned int i;

	for (i = 0; i < paths_nr(test); i++) {
		if (rds_cpath_state(rig_nth_cpath(test, i)) == RDS_PATH_UP)
			rig_probe(test, i, 0, peer);
	}
}

/**
 * paths_eight() - Dial a peer, and have messages spread over eight paths
 * @test: the test
 *
 * Return: a socket at RIG_PORT.
 */
struct socket *paths_eight(struct kunit *test)
{
	struct socket *sock = rig_dialed(test);

	rig_reply(test, 0, 1, &rig_ours_8);
	rig_await(test, FAKE_CONNECTED, 7);
	paths_handshake(test, &rig_ours_8);
	rig_reply(test, 0, 2, &rig_ours_8);
	KUNIT_ASSERT_EQ(test, paths_nr(test), 8U);
	KUNIT_ASSERT_EQ(test, rig_conn(test)->c_fan, RDS_FAN_OPEN);
	rds_path_ack(rig_path(test), 3);
	fake_forget(rig_fake(test));
	return sock;
}

/**
 * paths_eight_accepted() - Do the same as paths_eight(), but the peer dials
 * @test: the test
 *
 * Return: a socket at RIG_PORT.
 */
struct socket *paths_eight_accepted(struct kunit *test)
{
	struct socket *sock = paths_accepted(test, 0);
	unsigned int i;

	rig_reply(test, 0, 1, &rig_ours_8);
	for (i = 1; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, paths_offer(test, i));
	paths_handshake(test, &rig_ours_8);
	rig_reply(test, 0, 2, &rig_ours_8);
	return sock;
}

/**
 * paths_eight_legacy() - Dial another implementation, and use eight paths
 * @test: the test
 * @peer: the peer, of another kind than %RIG_OURS
 *
 * Return: a socket at RIG_PORT.
 */
struct socket *paths_eight_legacy(struct kunit *test,
				  const struct rig_peer *peer)
{
	struct socket *sock;

	rig_fake(test)->legacy_paths = 8;
	sock = rig_dialed(test);
	rig_reply(test, 0, 1, peer);
	rig_reply(test, 0, 2, peer);
	rig_await(test, FAKE_CONNECTED, 7);
	return sock;
}

/**
 * paths_reconnect() - Let the peer reset the first path, which comes UP again
 * @test: the test
 * @maps: number of congestion maps in the log when it is UP
 */
void paths_reconnect(struct kunit *test, unsigned int maps)
{
	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_MAPPED, maps);
}

/**
 * paths_drop_all() - Let the peer reset all paths
 * @test: the test
 *
 * A frame that arrived in the same jiffy would count as one that arrived after
 * the paths were lost.
 */
void paths_drop_all(struct kunit *test)
{
	unsigned int i;

	msleep(20);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (rig_nth_cpath(test, i))
			rds_path_drop(&rig_nth_cpath(test, i)->cp_pub,
				      RDS_DROP_PEER_RESET);
	}
	fake_settle(rig_fake(test));
}

/**
 * paths_data_sent() - Count the messages of the socket at RIG_PORT in the log
 * @test: the test
 *
 * Return: the number of messages.
 */
unsigned int paths_data_sent(struct kunit *test)
{
	const struct fake_call *call;
	unsigned int i, n = 0;

	for (i = 0; (call = fake_nth(rig_fake(test), FAKE_SENT, i)); i++)
		n += call->sport == RIG_PORT;
	return n;
}

/**
 * paths_init_accept() - Set up the fixture of rig_init_paths(); the peer dials
 * @test: the test; its priv is the rig afterwards
 *
 * Return: 0 or an errno.
 */
int paths_init_accept(struct kunit *test)
{
	int ret = rig_init_paths(test);

	if (ret)
		return ret;
	rig_of(test)->peer = RIG_LOWER;
	rig_fake(test)->peer_dials = true;
	return 0;
}

/**
 * paths_use() - Let a local socket use the connection, so that it stays
 * @test: the test
 *
 * Return: the socket, at RIG_PORT.
 */
struct socket *paths_use(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_send(test, sock, 1);
	fake_settle(rig_fake(test));
	return sock;
}

/**
 * paths_live() - Count the paths of all connections
 * @test: the test
 *
 * Return: the number of paths.
 */
int paths_live(struct kunit *test)
{
	return READ_ONCE(rig_fake(test)->live_paths);
}

/**
 * paths_become() - Wait for the number of paths of all connections
 * @test: the test
 * @want: the number
 *
 * Return: true if there are @want paths; false if it took too long.
 */
bool paths_become(struct kunit *test, int want)
{
	int n;

	return !read_poll_timeout(paths_live, n, n == want, 10000,
				  120 * USEC_PER_SEC, false, test);
}

/**
 * paths_expect_taken() - Check which connection a path has taken
 * @test: the test
 * @n: number of the successful path_connect() in the log, from 0
 * @index: number of the path
 * @offer: stands for the connection of the peer; NULL if this end dialed
 */
void paths_expect_taken(struct kunit *test, unsigned int n, unsigned int index,
			void *offer)
{
	const struct fake_call *call = fake_nth(rig_fake(test), FAKE_CONNECTED,
						n);

	KUNIT_ASSERT_NOT_NULL(test, call);
	KUNIT_EXPECT_EQ(test, call->index, index);
	KUNIT_EXPECT_PTR_EQ(test, call->offer, offer);
}
