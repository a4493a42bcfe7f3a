/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A verified message contains the number of its stream, its sequence number
 * there, and a checksum of both and of the rest. A message too short for that
 * contains as much of a hash of stream and sequence number as fits.
 */
#ifndef RDS_BENCH_PAYLOAD_H
#define RDS_BENCH_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_HEADER 16

/* Fill @size bytes with data that does not repeat. */
void payload_noise(void *bytes, size_t size, uint64_t seed);

/*
 * Make @bytes message @seq of @stream. The bytes after the header do not
 * change.
 */
void payload_seal(void *bytes, size_t size, uint32_t stream, uint32_t seq);

/*
 * Check whether this is, to the last bit, a message of @stream. Stores its
 * sequence number in @seq.
 */
bool payload_open(const void *bytes, size_t size, uint32_t stream,
		  uint32_t *seq);

/* Check whether this short message has sequence number @seq of @stream. */
bool payload_is(const void *bytes, size_t size, uint32_t stream, uint32_t seq);

/* Return a hash whose every bit depends on every bit of @value. */
uint64_t payload_hash(uint64_t value);

#endif
