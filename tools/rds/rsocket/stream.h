/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel offers for streams of RDS */
#ifndef RDS_RSOCKET_STREAM_H
#define RDS_RSOCKET_STREAM_H

#include <stddef.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <linux/rds.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif

/* The protocols of socket(AF_RDS, SOCK_STREAM): the family of the names */
#define STREAM_INET			0
#define STREAM_INET6			1

/* An older <linux/rds.h> knows no streams. */
#ifndef RDS_STREAM_REFUSED
#define RDS_STREAM_REFUSED		20

enum rds_stream_refusal {
	RDS_STREAM_NOT_REFUSED	= 0,
	RDS_STREAM_NO_RDS	= 1,
	RDS_STREAM_NO_STREAMS	= 2,
	RDS_STREAM_NO_LISTENER	= 3,
};
#endif

/* Nor direct placement */
#ifndef SIOCRDSIOMAP
#define RDS_STREAM_IOMAP_SIZE		21
#define RDS_CMSG_STREAM_WRITE		20
#define SIOCRDSIOMAP			(SIOCPROTOPRIVATE + 2)
#define SIOCRDSIOUNMAP			(SIOCPROTOPRIVATE + 3)

struct rds_stream_iomap {
	__u64	addr;
	__u64	len;
	__s64	offset;
	__u32	prot;
	__u32	flags;
};
#endif

#endif /* RDS_RSOCKET_STREAM_H */
