/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of the library that stands for the kernel in tests */
#ifndef RDS_RSOCKET_TEST_SHIM_H
#define RDS_RSOCKET_TEST_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../stream.h"

struct shim_calls {
	int (*socket)(int domain, int type, int protocol);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*accept)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*getsockopt)(int fd, int level, int name, void *value,
			  socklen_t *len);
	int (*setsockopt)(int fd, int level, int name, const void *value,
			  socklen_t len);
	int (*ioctl)(int fd, unsigned long request, ...);
	ssize_t (*sendmsg)(int fd, const struct msghdr *msg, int flags);
};

const struct shim_calls *shim_real(void);

/* What is kept in a socket that stands for a stream */
struct shim_mark {
	uint8_t	refusal;	/* told once the socket is closed */
	uint8_t	iomap_size;
};

bool shim_marked(int fd, struct shim_mark *mark);
int shim_mark(int fd, struct shim_mark mark);

/* Mappings, in a file that all processes share */
void shim_map_announce(int fd, int iomap_size);
int shim_map(int fd, struct rds_stream_iomap *map);
int shim_unmap(int fd, const struct rds_stream_iomap *map);
ssize_t shim_map_write(int fd, const struct msghdr *msg, uint64_t offset);

#endif /* RDS_RSOCKET_TEST_SHIM_H */
