// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA operations of the kernel, to a peer that is lost, or that another peer
 * has replaced
 */
#include "test.h"

#define PAGE	4096

/* An operation of the kernel while the peer is not connected */
FIXTURE(lost) {
	struct site site;
	unsigned char bytes[PAGE];
};

FIXTURE_SETUP(lost)
{
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
	ASSERT_TRUE(site_send(&self->site, 0, 1));
	ASSERT_TRUE(site_accept(&self->site, 0, false));
	ASSERT_TRUE(site_hear_all(&self->site, 0, 1));
}

FIXTURE_TEARDOWN(lost)
{
	site_tear_down(&self->site);
}

static ssize_t send_read(struct site *site, void *bytes, uint64_t token)
{
	struct rds_iovec vec = { (uintptr_t)bytes, PAGE };
	struct rds_rdma_args args = {
		.cookie = 1234,
		.remote_vec = { 0, PAGE },
		.local_vec_addr = (uintptr_t)&vec,
		.nr_local = 1,
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = token,
	};
	struct rds_msg msg;

	rds_msg_init(&msg, bytes, 5);
	rds_msg_to(&msg, &site->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	return sendmsg(site->fd, &msg.hdr, 0);
}

/* Return the status of the operation of send_read(), or -1. */
static int await_status(struct site *site, uint64_t token)
{
	struct rds_rdma_notify notify;
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	char none;

	if (rds_msg_recv(site->fd, &msg, &none, 1, 0))
		return -1;
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_STATUS);
	if (!cmsg)
		return -1;
	memcpy(&notify, CMSG_DATA(cmsg), sizeof(notify));
	return notify.user_token == token ? notify.status : -1;
}

/* It may or may not have been done, so it is dropped, with its message. The
 * messages sent before and after it are not dropped.
 */
TEST_F(lost, operation_is_dropped_and_not_repeated)
{
	struct site *site = &self->site;

	peer_vanish(&site->peer);
	ASSERT_EQ(5, send_read(site, self->bytes, 77));
	ASSERT_TRUE(site_send(site, 1, 1));
	EXPECT_EQ(RDS_RDMA_DROPPED, await_status(site, 77));
	peer_free(&site->peer);

	ASSERT_TRUE(site_accept(site, 0, false));
	EXPECT_TRUE(site_hear_all(site, 0, 2));
	EXPECT_TRUE(rds_silent(site->fd));
	EXPECT_TRUE(site_honest(site));
}

/*
 * Messages for a peer that has lost the connection go to the next peer at that
 * address. An operation does not if that is another peer, for which the key may
 * denote other memory.
 */
FIXTURE(next) {
	struct site site;
	unsigned char bytes[PAGE];
};

/* Epochs; 0: of another implementation, which has none */
FIXTURE_VARIANT(next) {
	uint32_t before;
	uint32_t after;
	/* The status of an operation with a key that no peer has given */
	int status;
};

FIXTURE_VARIANT_ADD(next, peer_is_the_same) { 7, 7, RDS_RDMA_REMOTE_ERROR };
FIXTURE_VARIANT_ADD(next, peer_has_no_epoch) { 0, 0, RDS_RDMA_REMOTE_ERROR };
FIXTURE_VARIANT_ADD(next, peer_has_restarted) { 7, 8, RDS_RDMA_DROPPED };
FIXTURE_VARIANT_ADD(next, peer_has_no_epoch_now) { 7, 0, RDS_RDMA_DROPPED };
FIXTURE_VARIANT_ADD(next, peer_has_an_epoch_now) { 0, 7, RDS_RDMA_DROPPED };

static bool accept_as(struct site *site, uint32_t epoch)
{
	struct handshake6 handshake = handshake6_honest(site->address,
							SITE_NEAR6);

	handshake.tail.reserved = epoch ? HANDSHAKE_OURS : 0;
	handshake.tail.last = htonl(epoch);
	return peer_await_request(&site->listener, &site->peer) &&
	       peer_accept(&site->peer, &handshake, sizeof(handshake), false,
			   false) == PEER_UP;
}

FIXTURE_SETUP(next)
{
	struct site *site = &self->site;

	ASSERT_EQ(0, site_set_up_listening(site, true));
	ASSERT_TRUE(site_send(site, 0, 1));
	ASSERT_TRUE(accept_as(site, variant->before));
	ASSERT_TRUE(site_hear_all(site, 0, 1));
	peer_free(&site->peer);
	ASSERT_TRUE(site_await_none(site));
}

FIXTURE_TEARDOWN(next)
{
	site_tear_down(&self->site);
}

TEST_F(next, receives_operations_if_it_is_the_same)
{
	struct site *site = &self->site;

	ASSERT_EQ(5, send_read(site, self->bytes, 77));
	ASSERT_TRUE(site_send(site, 1, 1));
	ASSERT_TRUE(accept_as(site, variant->after));
	EXPECT_EQ(variant->status, await_status(site, 77));
	/* An operation that fails ends the connection. */
	if (variant->status == RDS_RDMA_DROPPED)
		EXPECT_TRUE(site_hear_all(site, 0, 2));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
