/* SPDX-License-Identifier: GPL-2.0-only */
/* How many SGEs the work requests to a device have. */
#ifndef _RDS_IB_SGE_H
#define _RDS_IB_SGE_H

#include "device.h"
#include "rx.h"
#include "tx.h"

/**
 * rds_ib_device_is_wide() - Check whether a device can have wide fragments
 * @d: the device
 *
 * Context: Any context.
 * Return: true if its work requests have room for the pieces of one.
 */
static inline bool rds_ib_device_is_wide(const struct rds_ib_device *d)
{
	const struct ib_device_attr *attrs = &d->dv_dev->attrs;

	return attrs->max_send_sge >= RDS_IB_SEND_SGE &&
	       attrs->max_recv_sge >= RDS_IB_RECV_SGE;
}

/**
 * rds_ib_send_sge() - Get the number of SGEs of a send work request
 * @d: the device
 *
 * Context: Any context.
 * Return: the most that a work request of RDS to this device has.
 */
static inline u32 rds_ib_send_sge(const struct rds_ib_device *d)
{
	return rds_ib_device_is_wide(d) ? RDS_IB_SEND_SGE :
					  RDS_IB_SEND_SGE_MIN;
}

/**
 * rds_ib_recv_sge() - Get the number of SGEs of a receive work request
 * @d: the device
 *
 * Context: Any context.
 * Return: the most that a work request of RDS to this device has.
 */
static inline u32 rds_ib_recv_sge(const struct rds_ib_device *d)
{
	return rds_ib_device_is_wide(d) ? RDS_IB_RECV_SGE :
					  RDS_IB_RECV_SGE_MIN;
}

#endif /* _RDS_IB_SGE_H */
