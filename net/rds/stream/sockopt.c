// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options of streams.
 *
 * Programs that were written for TCP set options of TCP, IPv4 and IPv6. Those
 * that make sense here have their effect. Those that tune what does not exist
 * here are accepted and given back. Others are refused, as by a kernel that
 * does not know them. Options of SOL_SOCKET are the kernel's own, but for
 * SO_REUSEPORT, which it refuses for families other than IP. It does not ask
 * this module before Linux 6.7, so there the option stays refused.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/rds.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/inet_ecn.h>

#include "stream.h"

/**
 * struct rds_stream_option - an option of a number
 * @level: its level
 * @name: its name at that level
 * @least: smallest value
 * @most: largest value; 1 if it is a switch, which any value but 0 turns on
 * @initial: value of a new socket
 */
struct rds_stream_option {
	int	level;
	int	name;
	int	least;
	int	most;
	int	initial;
};

/* The first ones have an effect; see enum rds_stream_opt. The others are only
 * kept. The limits are those of TCP.
 */
static const struct rds_stream_option rds_stream_options[] = {
	[RDS_STREAM_KEEPIDLE]	= { SOL_TCP, TCP_KEEPIDLE, 1, 32767, 7200 },
	[RDS_STREAM_KEEPINTVL]	= { SOL_TCP, TCP_KEEPINTVL, 1, 32767, 75 },
	[RDS_STREAM_KEEPCNT]	= { SOL_TCP, TCP_KEEPCNT, 1, 127, 9 },
	[RDS_STREAM_USERTIME]	= { SOL_TCP, TCP_USER_TIMEOUT, 0, INT_MAX, 0 },
	[RDS_STREAM_V6ONLY]	= { SOL_IPV6, IPV6_V6ONLY, 0, 1, 0 },
	[RDS_STREAM_IOMAPS_OPT]	= { SOL_RDS, RDS_STREAM_IOMAP_SIZE, 0,
				    RDS_STREAM_IOMAPS, 0 },
	[RDS_STREAM_NODELAY]	= { SOL_TCP, TCP_NODELAY, 0, 1, 0 },
	[RDS_STREAM_CORK]	= { SOL_TCP, TCP_CORK, 0, 1, 0 },
	[RDS_STREAM_KEPT]	= { SOL_TCP, TCP_MAXSEG, 88, 32767, 32767 },
	{ SOL_TCP, TCP_QUICKACK, 0, 1, 1 },
	{ SOL_TCP, TCP_DEFER_ACCEPT, 0, INT_MAX, 0 },
	{ SOL_TCP, TCP_LINGER2, -1, INT_MAX, 0 },
	{ SOL_TCP, TCP_SYNCNT, 1, 127, 6 },
	{ SOL_TCP, TCP_WINDOW_CLAMP, 0, INT_MAX, 0 },
	{ SOL_TCP, TCP_NOTSENT_LOWAT, INT_MIN, INT_MAX, 0 },
	{ SOL_IP, IP_TOS, 0, 255, 0 },
	{ SOL_IP, IP_TTL, 1, 255, 64 },
	{ SOL_IP, IP_RECVERR, 0, 1, 0 },
	{ SOL_IP, IP_MTU_DISCOVER, 0, 5, 1 },
	{ SOL_IP, IP_FREEBIND, 0, 1, 0 },
	{ SOL_IP, IP_BIND_ADDRESS_NO_PORT, 0, 1, 0 },
	{ SOL_IPV6, IPV6_TCLASS, -1, 255, 0 },
	{ SOL_IPV6, IPV6_RECVERR, 0, 1, 0 },
	{ SOL_IPV6, IPV6_UNICAST_HOPS, -1, 255, 64 },
	{ SOL_IPV6, IPV6_MTU_DISCOVER, 0, 5, 1 },
};

static_assert(ARRAY_SIZE(rds_stream_options) == RDS_STREAM_NR_OPTS);

/**
 * rds_stream_init_options() - Give a new stream its options
 * @st: the stream
 *
 * Context: Any context.
 */
void rds_stream_init_options(struct rds_stream *st)
{
	unsigned int i;

	for (i = 0; i < RDS_STREAM_NR_OPTS; i++)
		st->st_opts[i] = rds_stream_options[i].initial;
}

/* Returns the place of an option, or -ENOPROTOOPT. */
static int rds_stream_find_option(const struct rds_stream *st, int level,
				  int name)
{
	unsigned int i;

	if (level == SOL_IPV6 && !st->st_v6)
		return -ENOPROTOOPT;
	for (i = 0; i < RDS_STREAM_NR_OPTS; i++) {
		if (rds_stream_options[i].level == level &&
		    rds_stream_options[i].name == name)
			return i;
	}
	return -ENOPROTOOPT;
}

static void rds_stream_user_timeout_changed(struct rds_stream *st)
{
	spin_lock_bh(&st->st_lock);
	rds_stream_watch_peer(st);
	spin_unlock_bh(&st->st_lock);
}

/* Return the value that TCP or IP would keep for one of these options. */
static int rds_stream_normalize(const struct rds_stream_option *opt, int val)
{
	if (opt->least == 0 && opt->most == 1)
		return !!val;
	switch (opt->level) {
	case SOL_TCP:
		return opt->name == TCP_MAXSEG && !val ? opt->initial : val;
	case SOL_IP:
		/* The lowest bits are for congestion, which TCP marks. */
		if (opt->name == IP_TOS)
			return (u8)val & ~INET_ECN_MASK;
		return opt->name == IP_TTL && val == -1 ? opt->initial : val;
	case SOL_IPV6:
		if (opt->name == IPV6_TCLASS && val >= 0)
			return val & ~INET_ECN_MASK;
		return opt->least == -1 && val == -1 ? opt->initial : val;
	default:
		return val;
	}
}

static int rds_stream_set_option(struct rds_stream *st, int level, int name,
				 int val)
{
	int i = rds_stream_find_option(st, level, name);
	const struct rds_stream_option *opt;

	if (i < 0)
		return i;
	opt = &rds_stream_options[i];
	val = rds_stream_normalize(opt, val);
	if (val < opt->least || val > opt->most ||
	    (i == RDS_STREAM_V6ONLY && st->st_is_bound))
		return -EINVAL;
	WRITE_ONCE(st->st_opts[i], val);
	if (i == RDS_STREAM_USERTIME)
		rds_stream_user_timeout_changed(st);
	else if (i == RDS_STREAM_KEEPIDLE &&
		 sock_flag(&st->st_sk, SOCK_KEEPOPEN))
		rds_stream_keepalive(&st->st_sk, 1);
	else if (i == RDS_STREAM_NODELAY || i == RDS_STREAM_CORK)
		rds_stream_uncork(st);
	return 0;
}

static int rds_stream_set_generic(struct socket *sock, int optname,
				  sockptr_t optval, unsigned int optlen)
{
	int ret = sock_setsockopt(sock, SOL_SOCKET, optname, optval, optlen);
	int val;

	if (optname != SO_REUSEPORT || ret != -EOPNOTSUPP)
		return ret;
	if (copy_from_sockptr(&val, optval, sizeof(val)))
		return -EFAULT;
	/* Options of the kernel have bits in the same word. */
	lock_sock(sock->sk);
	sock->sk->sk_reuseport = !!val;
	release_sock(sock->sk);
	return 0;
}

/* Read a number. Options of IPv4 may also be given as one byte. */
static int rds_stream_copy_int(int level, sockptr_t optval, unsigned int optlen,
			       int *val)
{
	u8 byte;

	if (level == SOL_IP && optlen && optlen < sizeof(*val)) {
		if (copy_from_sockptr(&byte, optval, sizeof(byte)))
			return -EFAULT;
		*val = byte;
		return 0;
	}
	if (optlen < sizeof(*val))
		return -EINVAL;
	return copy_from_sockptr(val, optval, sizeof(*val)) ? -EFAULT : 0;
}

/**
 * rds_stream_setsockopt() - Implement setsockopt(2)
 * @sock: the socket
 * @level: the level
 * @optname: the option
 * @optval: its value
 * @optlen: the length of the value in bytes
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: 0; -ENOPROTOOPT for an option that is not known; -EINVAL for a value
 * that is not valid; -EFAULT.
 */
int rds_stream_setsockopt(struct socket *sock, int level, int optname,
			  sockptr_t optval, unsigned int optlen)
{
	struct rds_stream *st = rds_stream(sock->sk);
	int val, ret;

	if (level == SOL_SOCKET)
		return rds_stream_set_generic(sock, optname, optval, optlen);
	/* A name of an algorithm: there is nothing to select. */
	if (level == SOL_TCP && optname == TCP_CONGESTION)
		return 0;
	ret = rds_stream_copy_int(level, optval, optlen, &val);
	if (ret)
		return ret;

	mutex_lock(&st->st_mutex);
	ret = rds_stream_set_option(st, level, optname, val);
	mutex_unlock(&st->st_mutex);
	return ret;
}

static int rds_stream_get_int(const struct rds_stream *st, int level,
			      int name, int *val)
{
	int i;

	if (level == SOL_RDS && name == RDS_STREAM_REFUSED) {
		*val = READ_ONCE(st->st_refused);
		return 0;
	}
	i = rds_stream_find_option(st, level, name);
	if (i < 0)
		return i;
	*val = st->st_opts[i];
	return 0;
}

/* Copy a number to user space, options of IPv4 as one byte if there is no room
 * for more. Returns the number of bytes.
 */
static int rds_stream_put_int(int level, char __user *optval, int len, int val)
{
	u8 byte = val;

	if (level == SOL_IP && len && len < sizeof(val) && val == byte)
		return put_user(byte, (u8 __user *)optval) ? -EFAULT : 1;
	len = min_t(int, len, sizeof(val));
	return copy_to_user(optval, &val, len) ? -EFAULT : len;
}

/* Copy an option of any type to user space. Returns the number of bytes. */
static int rds_stream_get_option(struct rds_stream *st, int level, int optname,
				 char __user *optval, int len)
{
	static const char algorithm[] = "rds";
	int val, ret;

	if (level == SOL_TCP && optname == TCP_INFO)
		return rds_stream_get_tcp_info(st, optval, len);
	if (level == SOL_TCP && optname == TCP_CONGESTION) {
		len = min_t(int, len, sizeof(algorithm));
		return copy_to_user(optval, algorithm, len) ? -EFAULT : len;
	}
	ret = rds_stream_get_int(st, level, optname, &val);
	if (ret)
		return ret;
	return rds_stream_put_int(level, optval, len, val);
}

/**
 * rds_stream_getsockopt() - Implement getsockopt(2)
 * @sock: the socket
 * @level: the level, not SOL_SOCKET
 * @optname: the option
 * @optval: where its value goes
 * @optlen: the room there, and set to the length of the value, in bytes
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: 0; -ENOPROTOOPT for an option that is not known; -EINVAL; -EFAULT.
 */
int rds_stream_getsockopt(struct socket *sock, int level, int optname,
			  char __user *optval, int __user *optlen)
{
	struct rds_stream *st = rds_stream(sock->sk);
	int len, ret;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;

	mutex_lock(&st->st_mutex);
	ret = rds_stream_get_option(st, level, optname, optval, len);
	mutex_unlock(&st->st_mutex);
	if (ret < 0)
		return ret;
	return put_user(ret, optlen) ? -EFAULT : 0;
}
