// SPDX-License-Identifier: GPL-2.0-only
/* The ioctls of streams. */
#include <linux/compat.h>
#include <linux/rds.h>
#include <linux/sockios.h>
#include <linux/uaccess.h>
#include <asm/ioctls.h>

#include "stream.h"

/* Returns a number that an ioctl asks for. */
static int rds_stream_ioctl_value(const struct rds_stream *st,
				  unsigned int cmd)
{
	switch (cmd) {
	case SIOCINQ:
		return READ_ONCE(st->st_rx.rx_bytes);
	case SIOCOUTQ:
		return READ_ONCE(st->st_tx.tx_bytes);
	default:
		return 0;
	}
}

/**
 * rds_stream_ioctl() - Implement ioctl(2)
 * @sock: the socket
 * @cmd: the request
 * @arg: its argument
 *
 * Context: Process context, may sleep. May take the socket lock.
 * Return: 0; -EINVAL on a socket that listens; -ENOIOCTLCMD; -EFAULT; or an
 * errno of rds_stream_map() or rds_stream_unmap().
 */
int rds_stream_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct rds_stream *st = rds_stream(sock->sk);
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case SIOCRDSIOMAP:
		return rds_stream_map(sock, argp);
	case SIOCRDSIOUNMAP:
		return rds_stream_unmap(sock, argp);
	case SIOCINQ:
	case SIOCOUTQ:
	case SIOCATMARK:
		if (READ_ONCE(st->st_state) == RDS_STREAM_LISTEN)
			return -EINVAL;
		return put_user(rds_stream_ioctl_value(st, cmd),
				(int __user *)argp);
	default:
		return -ENOIOCTLCMD;
	}
}

#ifdef CONFIG_COMPAT
/**
 * rds_stream_compat_ioctl() - Implement ioctl(2) for 32-bit programs
 * @sock: the socket
 * @cmd: the request
 * @arg: its argument
 *
 * Only requests of this family arrive here; their argument has one form.
 *
 * Context: Process context, may sleep. May take the socket lock.
 * Return: as rds_stream_ioctl().
 */
int rds_stream_compat_ioctl(struct socket *sock, unsigned int cmd,
			    unsigned long arg)
{
	return rds_stream_ioctl(sock, cmd, (unsigned long)compat_ptr(arg));
}
#endif
