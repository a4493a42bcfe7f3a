/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private data: what two ends tell each other while they connect.
 *
 * REQ and REP carry the same struct, in one form for IPv4 and one for IPv6,
 * big-endian (RDS Wire Specification 3.1, "Connection establishment"). Writing
 * it, reading it, and the choice of a version take bytes and numbers alone.
 *
 * Two fields that others leave zero are used between peers of this
 * implementation: a mark in the reserved byte, and in the last four bytes the
 * epoch of the sender's sequence numbers. A peer with another epoch than before
 * begins to count anew.
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

/* Minor versions on offer, as everybody sends them: bit n is x.n */
#define RDS_IB_MINORS			0x0003

/* Of major version 4 we speak 4.1 only. */
#define RDS_IB_MINORS_4			BIT(1)

/* In the reserved byte: a peer of this implementation */
#define RDS_IB_MARK_OURS		0xa1

/* Why a connection is refused: the one reason that others know. A peer that is
 * told of it tries again after a while.
 */
#define RDS_IB_REJECT_INCOMPAT		1

/* What is common to the two forms, behind the addresses */
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
 * struct rds_ib_priv - private data in the host's terms
 * @saddr: the sender's address; IPv4 in its mapped form
 * @daddr: the receiver's
 * @version: major version in the upper byte, minor in the lower
 * @minors: minor versions that the sender knows
 * @tos: type of service
 * @ours: the sender is of this implementation
 * @frag_size: bytes of payload in a fragment; 0 if the sender does not say
 * @ack_seq: number of the last message that the sender has received; 0 for none
 * @credits: receive buffers that the sender offers; 0: it does not count them
 * @epoch: of the sender's sequence numbers, if it is @ours
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
};

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
	tail->epoch = cpu_to_be32(priv->ours ? priv->epoch : 0);
}

static inline void rds_ib_priv_get_tail(const struct rds_ib_priv_tail *tail,
					struct rds_ib_priv *priv)
{
	priv->version = RDS_IB_VERSION(tail->major, tail->minor);
	priv->minors = be16_to_cpu(tail->minors);
	priv->tos = tail->tos;
	priv->ours = tail->mark == RDS_IB_MARK_OURS;
	priv->frag_size = be16_to_cpu(tail->frag_size);
	priv->ack_seq = be64_to_cpu(tail->ack_seq);
	priv->credits = be32_to_cpu(tail->credits);
	priv->epoch = priv->ours ? be32_to_cpu(tail->epoch) : 0;
}

static inline void rds_ib_priv_map(struct in6_addr *to, __be32 from)
{
	memset(to, 0, sizeof(*to));
	to->s6_addr[10] = 0xff;
	to->s6_addr[11] = 0xff;
	memcpy(&to->s6_addr[12], &from, sizeof(from));
}

/**
 * rds_ib_priv_encode() - write private data
 * @buf: RDS_IB_PRIV_MAX bytes
 * @priv: what to say
 * @v6: in the form for IPv6; otherwise the addresses are mapped ones
 *
 * Context: any.
 * Return: how many bytes it takes.
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
 * rds_ib_priv_decode() - read private data
 * @buf: what came; may be NULL if @len is 0
 * @len: its length; the connection manager of IB fills up with zeros
 * @v6: the form is that for IPv6
 * @priv: filled in
 *
 * Context: any.
 * Return: false if there is not enough of it; @priv is not filled in then.
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
 * rds_ib_priv_is_honest() - does a peer say of the addresses what is true?
 * @priv: what it says
 * @v6: its request is one of IPv6
 * @laddr: our address, as the request has it
 * @faddr: the peer's, likewise
 *
 * An IPv4 address in a request of IPv6 would make it one of another family,
 * which has other private data, and another listener.
 *
 * Context: any.
 * Return: true if it does.
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
 * rds_ib_version_accept() - the version to speak with a peer that connects
 * @proposed: what it proposes
 * @minors: the minor versions that it knows
 *
 * Context: any.
 * Return: the version, or 0 if there is none in common.
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
 * rds_ib_version_is_known() - can we speak what the peer has chosen?
 * @version: what its answer says
 *
 * Context: any.
 * Return: true if we can.
 */
static inline bool rds_ib_version_is_known(u16 version)
{
	return version == RDS_IB_VERSION_3_1 || version == RDS_IB_VERSION_4_1;
}

#endif /* _RDS_IB_PRIVDATA_H */
