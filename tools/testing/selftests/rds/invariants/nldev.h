/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA devices in software, by netlink: rdma(8) takes a second to start in a
 * debug kernel.
 */
#ifndef RDS_NLDEV_H
#define RDS_NLDEV_H

#include <stdbool.h>

/* Objects of a device, whatever their owner */
struct nldev_objects {
	long pd;
	long cq;
	long qp;
	long cm_id;
	long mr;
};

/* Add a device of a type, "rxe" or "siw", on an interface; return 0 or an
 * errno.
 */
int nldev_add(const char *name, const char *type, const char *netdev);
int nldev_del(const char *name);
bool nldev_exists(const char *name);
int nldev_objects(const char *name, struct nldev_objects *objects);
/* Wait some seconds until there are no more objects than @before. */
bool nldev_objects_fall_to(const char *name,
			   const struct nldev_objects *before);

#endif /* RDS_NLDEV_H */
