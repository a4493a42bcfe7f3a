/* SPDX-License-Identifier: GPL-2.0 */
/* Busy polling, and waiting in slices */
#ifndef RDS_RSOCKET_WAIT_H
#define RDS_RSOCKET_WAIT_H

void wait_for_data(int fd, int flags);

#endif /* RDS_RSOCKET_WAIT_H */
