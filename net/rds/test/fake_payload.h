/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Payloads of the fake transport, in both directions: all consist of the same
 * pattern. What the peer sends is delivered here.
 */
#ifndef _RDS_TEST_FAKE_PAYLOAD_H
#define _RDS_TEST_FAKE_PAYLOAD_H

#include <linux/types.h>

struct fake;
struct rds_header;
struct rds_path;
struct rds_payload;

u8 fake_pattern(u32 offset);
bool fake_payload_is_intact(const struct rds_payload *payload);
int fake_deliver(struct fake *fake, struct rds_path *path,
		 const struct rds_header *hdr);
int fake_incomings(void);

#endif /* _RDS_TEST_FAKE_PAYLOAD_H */
