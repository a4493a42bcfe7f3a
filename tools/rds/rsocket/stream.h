/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel offers for streams of RDS */
#ifndef RDS_RSOCKET_STREAM_H
#define RDS_RSOCKET_STREAM_H

#include <sys/socket.h>
#include <linux/sockios.h>
#include <linux/rds.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif

#endif /* RDS_RSOCKET_STREAM_H */
