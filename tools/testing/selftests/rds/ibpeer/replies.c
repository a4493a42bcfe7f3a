// SPDX-License-Identifier: GPL-2.0
/*
 * A peer to which the kernel connects, and which sends an invalid reply. The
 * kernel tries again, and as soon as the peer replies correctly, it receives
 * every message once. The kernel obeys the fields of a valid reply.
 */
#include "requested.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

FIXTURE(reply) {
	struct site site;
	struct handshake6 handshake;
};

/* The change to a valid reply, and its outcome */
FIXTURE_VARIANT(reply) {
	/* Instead of the valid version, if not 0; 0xff stands for 0 */
	uint8_t major;
	uint8_t minor;
	bool no_minors;
	bool empty;
	bool addresses_swapped;
	uint64_t ack;
	uint32_t credits;
	uint8_t tos;
	uint8_t reserved;
	uint16_t reserved_too;
	uint32_t last;
	/* The kernel accepts it. */
	bool accepted;
};

FIXTURE_VARIANT_ADD(reply, honest) { .accepted = true };
FIXTURE_VARIANT_ADD(reply, empty) { .empty = true };
FIXTURE_VARIANT_ADD(reply, of_version_0_0) { .major = 0xff, .minor = 0xff };
FIXTURE_VARIANT_ADD(reply, of_version_2_1) { .major = 2 };
FIXTURE_VARIANT_ADD(reply, of_version_3_0) { .minor = 0xff };
FIXTURE_VARIANT_ADD(reply, of_version_3_2) { .minor = 2 };
FIXTURE_VARIANT_ADD(reply, of_version_5_1) { .major = 5 };
FIXTURE_VARIANT_ADD(reply, of_version_254_254) { .major = 254, .minor = 254 };
FIXTURE_VARIANT_ADD(reply, of_version_4_1) { .major = 4, .accepted = true };
FIXTURE_VARIANT_ADD(reply, without_minors) {
	.no_minors = true, .accepted = true,
};

/* The connection identifies the peer, not these addresses. */
FIXTURE_VARIANT_ADD(reply, with_its_addresses_swapped) {
	.addresses_swapped = true, .accepted = true,
};

FIXTURE_VARIANT_ADD(reply, with_many_credits) {
	.credits = 65535, .accepted = true,
};

FIXTURE_VARIANT_ADD(reply, with_credits_without_end) {
	.credits = -1, .accepted = true,
};

FIXTURE_VARIANT_ADD(reply, with_another_tos) { .tos = 7, .accepted = true };
FIXTURE_VARIANT_ADD(reply, with_all_that_is_reserved) {
	.reserved = 0xff, .reserved_too = 0xffff, .last = -1, .accepted = true,
};

FIXTURE_VARIANT_ADD(reply, with_a_false_epoch) {
	.reserved = 0xa1, .last = 0x345678 | HANDSHAKE_UNKNOWN,
	.accepted = true,
};

FIXTURE_VARIANT_ADD(reply, with_an_ack_of_the_near_future) {
	.ack = WAITING + 1, .accepted = true,
};

FIXTURE_VARIANT_ADD(reply, with_an_ack_of_the_far_future) {
	.ack = -1, .accepted = true,
};

static uint8_t changed(uint8_t honest, uint8_t change)
{
	if (!change)
		return honest;
	return change == 0xff ? 0 : change;
}

FIXTURE_SETUP(reply)
{
	struct handshake_tail *tail = &self->handshake.tail;
	struct site *site = &self->site;

	ASSERT_EQ(0, site_set_up_listening(site, true));
	if (variant->empty)
		return;
	if (variant->addresses_swapped)
		self->handshake = handshake6_honest(SITE_NEAR6, site->address);
	else
		self->handshake = handshake6_honest(site->address, SITE_NEAR6);
	tail->major = changed(tail->major, variant->major);
	tail->minor = changed(tail->minor, variant->minor);
	if (variant->no_minors)
		tail->minors = 0;
	tail->ack = htobe64(variant->ack);
	tail->credits = htonl(variant->credits);
	tail->tos = variant->tos;
	tail->reserved = variant->reserved;
	tail->reserved_too = htons(variant->reserved_too);
	tail->last = htonl(variant->last);
}

FIXTURE_TEARDOWN(reply)
{
	site_tear_down(&self->site);
}

/* Check the kernel's request. */
static void check_request(struct __test_metadata *_metadata, struct site *site)
{
	struct handshake6 want = handshake6_honest(SITE_NEAR6, site->address);
	struct handshake6 got;

	memcpy(&got, site->peer.private_data, sizeof(got));
	EXPECT_LE(sizeof(got), site->peer.private_len);
	EXPECT_EQ(0, memcmp(&want.saddr, &got.saddr, sizeof(got.saddr)));
	EXPECT_EQ(0, memcmp(&want.daddr, &got.daddr, sizeof(got.daddr)));
	EXPECT_EQ(3, got.tail.major);
	EXPECT_EQ(1, got.tail.minor);
	EXPECT_EQ(want.tail.minors, got.tail.minors);
	EXPECT_EQ(0, got.tail.tos);
	EXPECT_EQ(0, got.tail.reserved_too);
	EXPECT_EQ(0, got.tail.ack);
	EXPECT_EQ(0, got.tail.credits);
}

TEST_F(reply, is_checked)
{
	struct site *site = &self->site;
	enum peer_fate fate;

	ASSERT_TRUE(site_send(site, 0, WAITING));
	ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
	check_request(_metadata, site);
	fate = peer_accept(&site->peer, &self->handshake,
			   sizeof(self->handshake), false, false);
	if (variant->accepted || fate != PEER_ENDED)
		ASSERT_EQ(PEER_UP, fate);
	if (!variant->accepted) {
		EXPECT_TRUE(peer_await_end(&site->peer));
		EXPECT_FALSE(site_is_up(site));
		EXPECT_TRUE(site_honest(site));
		peer_free(&site->peer);
		ASSERT_TRUE(site_accept(site, 0, false));
	}
	EXPECT_SERVED(0);
}

/* Few credits in the reply, and no more of them */
FIXTURE(credit) {
	struct site site;
};

/* @counts: the kernel announces credits, too */
FIXTURE_VARIANT(credit) {
	unsigned int count;
	bool counts;
};

FIXTURE_VARIANT_ADD(credit, of_1) { .count = 1, .counts = true };
FIXTURE_VARIANT_ADD(credit, of_5) { .count = 5, .counts = true };
FIXTURE_VARIANT_ADD(credit, of_a_peer_that_is_offered_none) { .count = 1 };

FIXTURE_SETUP(credit)
{
	if (!variant->counts && site_is_iwarp())
		SKIP(return, "over iWARP the kernel always offers some");
	ASSERT_EQ(0, rds_sysctl_set("ib/flow_control",
				    variant->counts ? "1" : "0"));
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
}

FIXTURE_TEARDOWN(credit)
{
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
	site_tear_down(&self->site);
}

TEST_F(credit, is_not_exceeded)
{
	struct site *site = &self->site;
	struct handshake6 handshake = handshake6_honest(site->address,
							SITE_NEAR6);
	struct frame more = { .credit = 8 }, heard;
	unsigned char payload[PEER_SLOT];
	unsigned int i, frames = 0, next = 0;

	handshake.tail.credits = htonl(variant->count);
	ASSERT_TRUE(site_send(site, 0, WAITING));
	ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
	ASSERT_EQ(PEER_UP,
		  peer_accept(&site->peer, &handshake, sizeof(handshake),
			      false, false));
	for (i = 0; i < 4; i++) {
		while (peer_hear(&site->peer, &heard, payload, 500) >= 0) {
			frames++;
			if (heard.dport == htons(SITE_PEER_PORT))
				next += rds_check(payload, SITE_LEN, next);
		}
		EXPECT_FALSE(site->peer.over);
		if (variant->counts) {
			EXPECT_GE(variant->count + 8 * i, frames);
		} else {
			EXPECT_EQ(WAITING, next);
		}
		frame_seal(&more);
		ASSERT_TRUE(peer_send(&site->peer, &more, NULL, 0));
	}
	EXPECT_EQ(WAITING, next);
	EXPECT_TRUE(site_honest(site));
}

/* The buffers that the kernel has from the beginning, as it announces them to a
 * peer that uses credits. They are for wide fragments: that the peer has none
 * is known later.
 */
FIXTURE(buffers) {
	struct site site;
};

FIXTURE_VARIANT(buffers) {
	const char *least;
	unsigned int told;
};

FIXTURE_VARIANT_ADD(buffers, by_default) { .least = "32", .told = 16 };
FIXTURE_VARIANT_ADD(buffers, few) { .least = "4", .told = 4 };
FIXTURE_VARIANT_ADD(buffers, many) { .least = "200", .told = 100 };

FIXTURE_SETUP(buffers)
{
	ASSERT_EQ(0, rds_sysctl_set("ib/flow_control", "1"));
	ASSERT_EQ(0, rds_sysctl_set("ib/min_recv_wr", variant->least));
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
}

FIXTURE_TEARDOWN(buffers)
{
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
	EXPECT_EQ(0, rds_sysctl_set("ib/min_recv_wr", "32"));
	site_tear_down(&self->site);
}

TEST_F(buffers, are_there_when_it_connects)
{
	struct site *site = &self->site;
	struct handshake6 got;

	ASSERT_TRUE(site_send(site, 0, 1));
	ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
	memcpy(&got, site->peer.private_data, sizeof(got));
	EXPECT_EQ(variant->told, ntohl(got.tail.credits));
}

/* A type of service, which has a connection of its own */
FIXTURE(service) {
	struct site site;
};

/* @usual: the administrator's default type */
FIXTURE_VARIANT(service) {
	uint8_t tos;
	uint8_t usual;
	uint8_t seen;
};

FIXTURE_VARIANT_ADD(service, of_type_0) { .tos = 0, .seen = 0 };
FIXTURE_VARIANT_ADD(service, of_type_5) { .tos = 5, .seen = 5 };
FIXTURE_VARIANT_ADD(service, of_the_usual_type) { .usual = 32, .seen = 32 };
FIXTURE_VARIANT_ADD(service, of_an_unusual_type) {
	.tos = 5, .usual = 32, .seen = 5,
};

#define CONFIGFS "/sys/kernel/config"
#define CM_CONFIG CONFIGFS "/rdma_cm/rxe0"

/* RoCE has a default type, which is set in configfs. */
static bool has_usual_type(void)
{
	return !site_is_iwarp() && !access(CONFIGFS, F_OK);
}

static bool set_usual_type(unsigned int type)
{
	FILE *file;
	bool ok;

	mount("none", CONFIGFS, "configfs", 0, NULL);
	if (mkdir(CM_CONFIG, 0755) && errno != EEXIST)
		return false;
	file = fopen(CM_CONFIG "/ports/1/default_roce_tos", "w");
	if (!file)
		return false;
	ok = fprintf(file, "%u", type) > 0;
	return !fclose(file) && ok;
}

FIXTURE_SETUP(service)
{
	if (variant->usual && has_usual_type())
		ASSERT_TRUE(set_usual_type(variant->usual));
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
	ASSERT_EQ(0, ioctl(self->site.fd, SIOCRDSSETTOS, &variant->tos));
}

FIXTURE_TEARDOWN(service)
{
	if (variant->usual && has_usual_type()) {
		EXPECT_TRUE(set_usual_type(0));
		rmdir(CM_CONFIG);
	}
	site_tear_down(&self->site);
}

TEST_F(service, is_requested_from_the_network)
{
	struct site *site = &self->site;
	struct handshake6 handshake = handshake6_honest(site->address,
							SITE_NEAR6);
	struct handshake6 got;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (variant->usual && !has_usual_type())
		SKIP(return, "iWARP, or a kernel without configfs");
	handshake.tail.tos = variant->tos;
	ASSERT_TRUE(site_send(site, 0, WAITING));
	ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
	memcpy(&got, site->peer.private_data, sizeof(got));
	EXPECT_EQ(variant->tos, got.tail.tos);
	ASSERT_EQ(PEER_UP,
		  peer_accept(&site->peer, &handshake, sizeof(handshake),
			      false, false));
	EXPECT_TRUE(site_hear_all(site, 0, WAITING));
	if (site_is_iwarp())
		return;
	/* The packets between the two carry what the kernel has requested. */
	ASSERT_EQ(0, ibv_query_qp(site->peer.qp, &attr, IBV_QP_AV, &init));
	EXPECT_EQ(variant->seen, attr.ah_attr.grh.traffic_class);
}

TEST_HARNESS_MAIN
