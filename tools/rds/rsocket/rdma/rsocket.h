/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs that include <rdma/rsocket.h>: the directory above comes first
 * in their search path.
 */
#include <rdsocket.h>
