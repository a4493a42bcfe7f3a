/* SPDX-License-Identifier: GPL-2.0 */
/* Results, and pairs of connected sockets, for the programs of this test */
#ifndef RDS_RSOCKET_TEST_CHECK_H
#define RDS_RSOCKET_TEST_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../rdsocket.h"

/* Print a result, and after a failure the line and errno. */
#define ok(good, ...) check_result((good), __LINE__, __VA_ARGS__)

/* The call must return -1 and set errno to @error. */
#define fails(call, error, ...) do {					\
	long _ret;							\
									\
	errno = 0;							\
	_ret = (call);							\
	ok(_ret == -1 && errno == (error), __VA_ARGS__);		\
} while (0)

void check_result(bool good, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int check_end(void);

/* Every line begins with this text, if it is set. */
extern const char *check_prefix;

struct pair {
	int	listener;
	int	client;
	int	server;
};

socklen_t check_name(int family, struct sockaddr_storage *name, int port);
int check_port(int fd);
int check_listen(int family, struct sockaddr_storage *name, socklen_t *len);
bool check_pair(int family, struct pair *pair);
void check_close(struct pair *pair);

void check_fill(char *buffer, size_t len, unsigned int seed);
bool check_filled(const char *buffer, size_t len, unsigned int seed);
bool check_exchange(int from, int to);
int64_t check_msec(void);
pid_t check_fork(void);

#endif /* RDS_RSOCKET_TEST_CHECK_H */
