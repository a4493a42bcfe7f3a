/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pure files of RDS use of the kernel, for user space. It is included
 * before anything else. Headers of the kernel that the files include are those
 * of its interface to user space, if there are any, and otherwise empty.
 */
#ifndef PURE_H
#define PURE_H

#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

/* Set by those who include this: the compat headers of the kernel's versions */
#define _NET_RDS_COMPAT_H
#define _RDS_CORE_COMPAT_H

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S32_MAX		INT32_MAX
#define SZ_1M		0x100000
#define SZ_1G		0x40000000

#define __packed	__attribute__((packed))
#define __force
#define __must_check	__attribute__((warn_unused_result))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define fallthrough	__attribute__((fallthrough))
#define BIT(nr)		(1UL << (nr))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#define min(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
			   _a < _b ? _a : _b; })
#define max(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
			   _a > _b ? _a : _b; })
#define min3(a, b, c)		min(min(a, b), c)
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(t, v, lo, hi)	clamp((t)(v), (t)(lo), (t)(hi))

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
/* There is one thread: no barrier. */
#define smp_load_acquire(p)	READ_ONCE(*(p))
/* The same */
#define smp_store_release(p, v)	WRITE_ONCE(*(p), v)

#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)
#define htons(x)	htobe16(x)
#define htonl(x)	htobe32(x)
#define ntohs(x)	be16toh(x)
#define ntohl(x)	be32toh(x)

#define PURE_UNALIGNED(bits)						\
static inline u##bits get_unaligned_be##bits(const void *from)		\
{									\
	u##bits value;							\
									\
	memcpy(&value, from, sizeof(value));				\
	return be##bits##toh(value);					\
}									\
									\
static inline void put_unaligned_be##bits(u##bits value, void *to)	\
{									\
	value = htobe##bits(value);					\
	memcpy(to, &value, sizeof(value));				\
}

PURE_UNALIGNED(16)
PURE_UNALIGNED(32)
PURE_UNALIGNED(64)

static inline u32 roundup_pow_of_two(u32 n)
{
	return n <= 1 ? 1 : 1U << (32 - __builtin_clz(n - 1));
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* The Internet checksum of @words words of 32 bits (RFC 1071) */
static inline __sum16 ip_fast_csum(const void *header, unsigned int words)
{
	const u8 *byte = header;
	u32 sum = 0;
	u16 folded;

	for (; words; words--, byte += 4)
		sum += get_unaligned_be16(byte) + get_unaligned_be16(byte + 2);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	folded = htobe16(~sum);
	return folded;
}

#define strscpy(to, from, size)	snprintf(to, size, "%s", from)

static inline const void *memchr_inv(const void *room, int value, size_t len)
{
	const u8 *byte = room;

	for (; len; len--, byte++)
		if (*byte != (u8)value)
			return byte;
	return NULL;
}

#include <linux/in6.h>

static inline bool ipv6_addr_equal(const struct in6_addr *a,
				   const struct in6_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static inline bool ipv6_addr_v4mapped(const struct in6_addr *a)
{
	static const u8 prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(a, prefix, sizeof(prefix));
}

static inline void ipv6_addr_set_v4mapped(__be32 addr, struct in6_addr *to)
{
	memset(to, 0, sizeof(*to));
	to->s6_addr[10] = 0xff;
	to->s6_addr[11] = 0xff;
	memcpy(&to->s6_addr[12], &addr, sizeof(addr));
}

/* Random numbers that are the same in each run: a failure can be repeated. */
static inline u64 get_random_u64(void)
{
	static u64 state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static inline u32 get_random_u32(void)
{
	return get_random_u64() >> 32;
}

static inline void get_random_bytes(void *to, size_t len)
{
	u8 *byte = to;

	while (len--)
		*byte++ = get_random_u32();
}

#endif /* PURE_H */
