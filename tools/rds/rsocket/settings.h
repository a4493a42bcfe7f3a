/* SPDX-License-Identifier: GPL-2.0 */
/* What an administrator or a user set for all sockets */
#ifndef RDS_RSOCKET_SETTINGS_H
#define RDS_RSOCKET_SETTINGS_H

/* A size that is not set is 0. */
struct settings {
	int	mem;			/* bytes of the receive buffer */
	int	wmem;			/* bytes of the send buffer */
	int	sqsize;			/* entries of the send queue */
	int	rqsize;			/* entries of the receive queue */
	int	inline_size;
	int	iomap_size;
	int	polling_time;		/* microseconds */
	int	wake_up_interval;	/* milliseconds */
};

/* One entry of a send queue or a receive queue stands for so many bytes. */
#define QUEUE_ENTRY	4096
#define QUEUE_MAX	65535
#define IOMAP_MAX	128

const struct settings *settings(void);
void settings_apply(int fd);

#endif /* RDS_RSOCKET_SETTINGS_H */
