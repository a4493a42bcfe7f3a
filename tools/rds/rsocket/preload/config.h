/* SPDX-License-Identifier: GPL-2.0 */
/* Which sockets become streams */
#ifndef RDS_PRELOAD_CONFIG_H
#define RDS_PRELOAD_CONFIG_H

#include <stdbool.h>

bool config_wants(int domain);
bool config_wants_port(int domain, int port);
bool config_strict(void);
void config_report(int fd, const char *what);

#endif /* RDS_PRELOAD_CONFIG_H */
