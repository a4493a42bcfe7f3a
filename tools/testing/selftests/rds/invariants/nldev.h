/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA devices in software, by netlink: rdma(8) takes a second to start in a
 * kernel with all its checks on.
 */
#ifndef RDS_NLDEV_H
#define RDS_NLDEV_H

#include <stdbool.h>

/* Objects of a device, whoever owns them */
struct nldev_objects {
	long pd;
	long cq;
	long qp;
	long cm_id;
	long mr;
};

/* A device of a type, "rxe" or "siw", on an interface; 0 or an errno */
int nldev_add(const char *name, const char *type, const char *netdev);
int nldev_del(const char *name);
bool nldev_exists(const char *name);
int nldev_objects(const char *name, struct nldev_objects *objects);
/* Waits, some seconds, until they are no more than @before */
bool nldev_objects_fall_to(const char *name,
			   const struct nldev_objects *before);

#endif /* RDS_NLDEV_H */
