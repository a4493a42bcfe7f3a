/* SPDX-License-Identifier: GPL-2.0 */
/* Options that the kernel does not have: the library keeps their values. */
#ifndef RDS_RSOCKET_MEMORY_H
#define RDS_RSOCKET_MEMORY_H

#include <sys/socket.h>

/* The size of one record of RDMA_ROUTE, struct ibv_path_data, and the most that
 * are kept
 */
#define ROUTE_SIZE	72
#define ROUTES_MAX	4

int memory_set_inline(int fd, int value);
int memory_get_inline(int fd, int otherwise);
int memory_set_route(int fd, const void *route, socklen_t len);
socklen_t memory_get_route(int fd, void *route, socklen_t room);
void memory_copy(int from, int to);
void memory_forget(int fd);

#endif /* RDS_RSOCKET_MEMORY_H */
