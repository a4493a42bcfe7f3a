/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a verified message contains: which stream it belongs to, its number
 * there, and a checksum over both and the rest. A message too short for
 * that holds as much as fits of a hash of stream and number.
 */
#ifndef RDS_BENCH_PAYLOAD_H
#define RDS_BENCH_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_HEADER 16

/* Fill @size bytes with something that does not repeat. */
void payload_noise(void *bytes, size_t size, uint64_t seed);

/* Make @bytes message @seq of @stream; what lies behind the header stays. */
void payload_seal(void *bytes, size_t size, uint32_t stream, uint32_t seq);

/* Is this, to the last bit, a message of @stream? Then which one? */
bool payload_open(const void *bytes, size_t size, uint32_t stream,
		  uint32_t *seq);

/* Is this short message number @seq of @stream? */
bool payload_is(const void *bytes, size_t size, uint32_t stream, uint32_t seq);

/* A hash whose every bit depends on every bit of @value. */
uint64_t payload_hash(uint64_t value);

#endif
