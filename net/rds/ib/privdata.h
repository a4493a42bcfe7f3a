/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private data: what the two ends of a connection exchange while they connect.
 *
 * REQ and REP carry the same struct, in one form for IPv4 and one for IPv6,
 * big-endian (RDS Wire Specification 3.1, "Connection establishment"). The
 * functions that encode it, decode it and choose a version work on bytes and
 * numbers alone.
 *
 * Two fields that other implementations leave zero are in use between peers
 * that both run this implementation: a mark in the reserved byte, and, in the
 * last four bytes, capabilities and the epoch of the sender's sequence numbers.
 * When the epoch of a peer has changed, its sequence numbers start again. The
 * capabilities are in the upper byte, which is 0 in epochs. We ignore those
 * that we do not know. Older builds take them for a part of the epoch, which
 * does no harm, as they do not change.
 */
#ifndef _RDS_IB_PRIVDATA_H
#define _RDS_IB_PRIVDATA_H

#include <linux/build_bug.h>
#include <linux/in6.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <net/ipv6.h>
#include <asm/byteorder.h>

#define RDS_IB_VERSION(major, minor)	((major) << 8 | (minor))
#define RDS_IB_VERSION_3_1		RDS_IB_VERSION(3, 1)
#define RDS_IB_VERSION_4_1		RDS_IB_VERSION(4, 1)

/* Minor versions on offer: bit n stands for x.n. All implementations send this
 * value.
 */
#define RDS_IB_MINORS			0x0003

/* Of major version 4, only 4.1 is supported. */
#define RDS_IB_MINORS_4			BIT(1)

/* In the reserved byte: the sender runs this implementation */
#define RDS_IB_MARK_OURS		0xa1

/* In the word of the epoch: the epoch itself */
#define RDS_IB_EPOCH			0x00ffffff

/* The same: the sender knows frames of streams */
#define RDS_IB_EPOCH_STREAMS		BIT(24)

/* The same: the sender numbers its SENDs to a peer that also sets this bit */
#define RDS_IB_EPOCH_NUMBERS		BIT(25)

/* The same: the fragments of a large message are wide, if the peer also sets
 * this bit. Bit 26 had a meaning in older builds.
 */
#define RDS_IB_EPOCH_WIDE		BIT(27)

/* Reason of a reject: the only one that other implementations know. A peer that
 * receives it tries again after a while.
 */
#define RDS_IB_REJECT_INCOMPAT		1

/* The part that both forms have in common, behind the addresses */
struct rds_ib_priv_tail {
	u8	major;
	u8	minor;
	__be16	minors;
	u8	tos;
	u8	mark;
	__be16	frag_size;
	__be64	ack_seq;
	__be32	credits;
	__be32	epoch;
} __packed;

struct rds_ib_priv_v4 {
	__be32			saddr;
	__be32			daddr;
	struct rds_ib_priv_tail	tail;
} __packed;

struct rds_ib_priv_v6 {
	struct in6_addr		saddr;
	struct in6_addr		daddr;
	struct rds_ib_priv_tail	tail;
} __packed;

static_assert(sizeof(struct rds_ib_priv_v4) == 32);
static_assert(offsetof(struct rds_ib_priv_v4, tail.major) == 8);
static_assert(offsetof(struct rds_ib_priv_v4, tail.minors) == 10);
static_assert(offsetof(struct rds_ib_priv_v4, tail.tos) == 12);
static_assert(offsetof(struct rds_ib_priv_v4, tail.frag_size) == 14);
static_assert(offsetof(struct rds_ib_priv_v4, tail.ack_seq) == 16);
static_assert(offsetof(struct rds_ib_priv_v4, tail.credits) == 24);
static_assert(sizeof(struct rds_ib_priv_v6) == 56);
static_assert(offsetof(struct rds_ib_priv_v6, tail.major) == 32);
static_assert(offsetof(struct rds_ib_priv_v6, tail.ack_seq) == 40);
static_assert(offsetof(struct rds_ib_priv_v6, tail.credits) == 48);

#define RDS_IB_PRIV_MAX		sizeof(struct rds_ib_priv_v6)

/**
 * struct rds_ib_priv - private data in decoded form, in host byte order
 * @saddr: the sender's address; IPv4 in its mapped form
 * @daddr: the receiver's address, in the same form
 * @version: major version in the upper byte, minor version in the lower byte
 * @minors: minor versions that the sender supports, one bit each
 * @tos: type of service
 * @ours: the sender runs this implementation
 * @frag_size: bytes of payload in a fragment; 0 if the sender does not state it
 * @ack_seq: sequence number of the last message that the sender has received;
 *	0 if there is none
 * @credits: receive buffers that the sender offers; 0 if it does not count them
 * @epoch: epoch of the sender's sequence numbers if @ours, otherwise 0
 * @streams: the sender knows frames of streams
 * @numbers: the sender numbers its SENDs, see frag.h
 * @wide: the fragments of its large messages are wide, see frag.h
 */
struct rds_ib_priv {
	struct in6_addr	saddr;
	struct in6_addr	daddr;
	u16		version;
	u16		minors;
	u8		tos;
	bool		ours;
	u16		frag_size;
	u64		ack_seq;
	u32		credits;
	u32		epoch;
	bool		streams;
	bool		numbers;
	bool		wide;
};

static inline u32 rds_ib_priv_word(const struct rds_ib_priv *priv)
{
	u32 word = priv->epoch & RDS_IB_EPOCH;

	if (!priv->ours)
		return 0;
	if (priv->streams)
		word |= RDS_IB_EPOCH_STREAMS;
	if (priv->numbers)
		word |= RDS_IB_EPOCH_NUMBERS;
	if (priv->wide)
		word |= RDS_IB_EPOCH_WIDE;
	return word;
}

static inline void rds_ib_priv_put_tail(struct rds_ib_priv_tail *tail,
					const struct rds_ib_priv *priv)
{
	tail->major = priv->version >> 8;
	tail->minor = priv->version & 0xff;
	tail->minors = cpu_to_be16(priv->minors);
	tail->tos = priv->tos;
	tail->mark = priv->ours ? RDS_IB_MARK_OURS : 0;
	tail->frag_size = cpu_to_be16(priv->frag_size);
	tail->ack_seq = cpu_to_be64(priv->ack_seq);
	tail->credits = cpu_to_be32(priv->credits);
	tail->epoch = cpu_to_be32(rds_ib_priv_word(priv));
}

static inline void rds_ib_priv_get_tail(const struct rds_ib_priv_tail *tail,
					struct rds_ib_priv *priv)
{
	u32 word;

	priv->version = RDS_IB_VERSION(tail->major, tail->minor);
	priv->minors = be16_to_cpu(tail->minors);
	priv->tos = tail->tos;
	priv->ours = tail->mark == RDS_IB_MARK_OURS;
	word = priv->ours ? be32_to_cpu(tail->epoch) : 0;
	priv->frag_size = be16_to_cpu(tail->frag_size);
	priv->ack_seq = be64_to_cpu(tail->ack_seq);
	priv->credits = be32_to_cpu(tail->credits);
	priv->epoch = word & RDS_IB_EPOCH;
	priv->streams = word & RDS_IB_EPOCH_STREAMS;
	priv->numbers = word & RDS_IB_EPOCH_NUMBERS;
	priv->wide = word & RDS_IB_EPOCH_WIDE;
}

static inline void rds_ib_priv_map(struct in6_addr *to, __be32 from)
{
	memset(to, 0, sizeof(*to));
	to->s6_addr[10] = 0xff;
	to->s6_addr[11] = 0xff;
	memcpy(&to->s6_addr[12], &from, sizeof(from));
}

/**
 * rds_ib_priv_encode() - Encode private data
 * @buf: the buffer, of RDS_IB_PRIV_MAX bytes
 * @priv: the values to encode
 * @v6: use the form for IPv6; if false, the addresses in @priv are mapped IPv4
 *	addresses
 *
 * Context: Any context.
 * Return: the length of the private data in bytes.
 */
static inline unsigned int rds_ib_priv_encode(void *buf,
					      const struct rds_ib_priv *priv,
					      bool v6)
{
	struct rds_ib_priv_v4 *p4 = buf;
	struct rds_ib_priv_v6 *p6 = buf;

	if (v6) {
		p6->saddr = priv->saddr;
		p6->daddr = priv->daddr;
		rds_ib_priv_put_tail(&p6->tail, priv);
		return sizeof(*p6);
	}
	memcpy(&p4->saddr, &priv->saddr.s6_addr[12], sizeof(p4->saddr));
	memcpy(&p4->daddr, &priv->daddr.s6_addr[12], sizeof(p4->daddr));
	rds_ib_priv_put_tail(&p4->tail, priv);
	return sizeof(*p4);
}

/**
 * rds_ib_priv_decode() - Decode private data
 * @buf: the private data received; may be NULL if @len is 0
 * @len: its length in bytes; the connection manager of IB pads it with zeros
 * @v6: expect the form for IPv6
 * @priv: filled in
 *
 * Context: Any context.
 * Return: true; false if @len is too short, and then @priv is not filled in.
 */
static inline bool rds_ib_priv_decode(const void *buf, unsigned int len,
				      bool v6, struct rds_ib_priv *priv)
{
	const struct rds_ib_priv_v4 *p4 = buf;
	const struct rds_ib_priv_v6 *p6 = buf;

	if (!buf || len < (v6 ? sizeof(*p6) : sizeof(*p4)))
		return false;

	if (v6) {
		priv->saddr = p6->saddr;
		priv->daddr = p6->daddr;
		rds_ib_priv_get_tail(&p6->tail, priv);
	} else {
		rds_ib_priv_map(&priv->saddr, p4->saddr);
		rds_ib_priv_map(&priv->daddr, p4->daddr);
		rds_ib_priv_get_tail(&p4->tail, priv);
	}
	return true;
}

/**
 * rds_ib_priv_is_honest() - Check the addresses in a peer's private data
 * @priv: the peer's private data
 * @v6: the request is an IPv6 request
 * @laddr: our address, as in the request
 * @faddr: the peer's address, as in the request
 *
 * A mapped IPv4 address in an IPv6 request is refused, too: it would turn the
 * connection into an IPv4 one, which has another form of private data and
 * another listener.
 *
 * Context: Any context.
 * Return: true if @priv carries the addresses of the request, and both are of
 * its family; false otherwise.
 */
static inline bool rds_ib_priv_is_honest(const struct rds_ib_priv *priv,
					 bool v6,
					 const struct in6_addr *laddr,
					 const struct in6_addr *faddr)
{
	if (ipv6_addr_v4mapped(laddr) == v6 || ipv6_addr_v4mapped(faddr) == v6)
		return false;
	return ipv6_addr_equal(laddr, &priv->daddr) &&
	       ipv6_addr_equal(faddr, &priv->saddr);
}

/**
 * rds_ib_version_accept() - Choose the version for a connection of a peer
 * @proposed: the version that the peer proposes
 * @minors: the minor versions that the peer supports
 *
 * Context: Any context.
 * Return: the version; 0 if there is none in common.
 */
static inline u16 rds_ib_version_accept(u16 proposed, u16 minors)
{
	if (proposed == RDS_IB_VERSION_3_1)
		return RDS_IB_VERSION_3_1;
	if (proposed >> 8 == 4 && (minors & RDS_IB_MINORS_4))
		return RDS_IB_VERSION_4_1;
	return 0;
}

/**
 * rds_ib_version_is_known() - Check whether we support the peer's choice
 * @version: the version that the peer's reply carries
 *
 * Context: Any context.
 * Return: true if it is supported; false otherwise.
 */
static inline bool rds_ib_version_is_known(u16 version)
{
	return version == RDS_IB_VERSION_3_1 || version == RDS_IB_VERSION_4_1;
}

#endif /* _RDS_IB_PRIVDATA_H */
