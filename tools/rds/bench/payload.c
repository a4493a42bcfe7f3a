// SPDX-License-Identifier: GPL-2.0
/* The contents of a verified message */
#include <string.h>

#include "bench/payload.h"

#define MULTIPLIER 0x9e3779b97f4a7c15ULL

struct header {
	uint32_t	stream;
	uint32_t	seq;
	uint64_t	checksum;
};

_Static_assert(sizeof(struct header) == PAYLOAD_HEADER, "payload header");

uint64_t payload_hash(uint64_t value)
{
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

static uint64_t identity(uint32_t stream, uint32_t seq)
{
	return payload_hash(((uint64_t)stream << 32 | seq) + MULTIPLIER);
}

/* Each step is invertible, so every change of a single word is detected. */
static uint64_t checksum(uint64_t sum, const unsigned char *bytes, size_t size)
{
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		sum = (sum ^ word) * MULTIPLIER;
		sum ^= sum >> 29;
		bytes += sizeof(word);
	}
	word = size;
	memcpy(&word, bytes, size);
	return payload_hash((sum ^ word) * MULTIPLIER + size);
}

void payload_noise(void *bytes, size_t size, uint64_t seed)
{
	unsigned char *at = bytes;
	uint64_t word;
	size_t part;

	while (size) {
		word = payload_hash(seed += MULTIPLIER);
		part = size < sizeof(word) ? size : sizeof(word);
		memcpy(at, &word, part);
		at += part;
		size -= part;
	}
}

void payload_seal(void *bytes, size_t size, uint32_t stream, uint32_t seq)
{
	struct header header = { stream, seq, identity(stream, seq) };

	if (size < sizeof(header)) {
		memcpy(bytes, &header.checksum,
		       size < sizeof(header.checksum) ?
		       size : sizeof(header.checksum));
		if (size > sizeof(header.checksum))
			memset((char *)bytes + sizeof(header.checksum), seq,
			       size - sizeof(header.checksum));
		return;
	}
	header.checksum = checksum(header.checksum,
				   (unsigned char *)bytes + sizeof(header),
				   size - sizeof(header));
	memcpy(bytes, &header, sizeof(header));
}

bool payload_open(const void *bytes, size_t size, uint32_t stream,
		  uint32_t *seq)
{
	struct header header;

	memcpy(&header, bytes, sizeof(header));
	*seq = header.seq;
	return header.stream == stream &&
	       header.checksum == checksum(identity(stream, header.seq),
					   (const unsigned char *)bytes +
					   sizeof(header),
					   size - sizeof(header));
}

bool payload_is(const void *bytes, size_t size, uint32_t stream, uint32_t seq)
{
	unsigned char expected[PAYLOAD_HEADER];

	payload_seal(expected, size, stream, seq);
	return !memcmp(bytes, expected, size);
}
