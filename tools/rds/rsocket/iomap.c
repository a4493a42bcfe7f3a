// SPDX-License-Identifier: GPL-2.0
/* Direct placement of data in the memory of the peer */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include "rdsocket.h"
#include "stream.h"

/* A socket that is no stream of RDS does not have these requests. */
static int request(int fd, unsigned long what, struct rds_stream_iomap *map)
{
	int ret = ioctl(fd, what, map);

	if (ret && errno == ENOTTY)
		errno = EOPNOTSUPP;
	return ret;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags,
	     off_t offset)
{
	struct rds_stream_iomap map = {
		.addr = (uintptr_t)buf,
		.len = len,
		.offset = offset,
		.prot = prot,
		.flags = flags,
	};

	if (request(socket, SIOCRDSIOMAP, &map))
		return -1;
	return map.offset;
}

int riounmap(int socket, void *buf, size_t len)
{
	struct rds_stream_iomap map = {
		.addr = (uintptr_t)buf,
		.len = len,
	};

	return request(socket, SIOCRDSIOUNMAP, &map);
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset,
		int flags)
{
	union {
		char		room[CMSG_SPACE(sizeof(uint64_t))];
		struct cmsghdr	align;
	} control;
	struct iovec iov = { (void *)buf, count };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	uint64_t where = offset;

	memset(&control, 0, sizeof(control));
	cmsg->cmsg_level = SOL_RDS;
	cmsg->cmsg_type = RDS_CMSG_STREAM_WRITE;
	cmsg->cmsg_len = CMSG_LEN(sizeof(where));
	memcpy(CMSG_DATA(cmsg), &where, sizeof(where));
	return sendmsg(socket, &msg, flags);
}
