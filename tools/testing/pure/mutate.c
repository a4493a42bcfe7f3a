// SPDX-License-Identifier: GPL-2.0
/*
 * mutate SECONDS: give the parsers input for some time, without a fuzzer that
 * watches what they do: sound headers with random changes, and noise.
 */
#include <time.h>
#include <net/rds/wire.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static size_t make_input(u8 *room, size_t most)
{
	size_t size = 1 + get_random_u32() % most, at;
	unsigned int changes;
	/* Some messages have several fragments. */
	u32 len = get_random_u32() % 100 << (get_random_u32() % 4 ? 0 : 10);
	struct rds_header hdr = {
		.h_len = cpu_to_be32(len),
		.h_sport = cpu_to_be16(1),
		.h_exthdr = { RDS_EXTHDR_NPATHS, 0, 8, RDS_EXTHDR_GEN_NUM },
	};

	if (get_random_u32() % 4 == 0) {
		get_random_bytes(room, size);
		return size;
	}
	/* Some changes before, some after the checksum is computed */
	for (changes = get_random_u32() % 3; changes; changes--)
		((u8 *)&hdr)[get_random_u32() % sizeof(hdr)] =
			get_random_u32();
	rds_header_set_csum(&hdr);
	memset(room, 0, size);
	room[0] = get_random_u32();
	for (at = 1 + get_random_u32() % 8; at + sizeof(hdr) <= size;
	     at += sizeof(hdr) + get_random_u32() % 100)
		memcpy(room + at, &hdr, sizeof(hdr));
	for (changes = get_random_u32() % 8; changes; changes--)
		room[get_random_u32() % size] = get_random_u32();
	return size;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[1]);
	static u8 room[4096];
	unsigned long count = 0;
	u8 *exact;
	size_t size;

	for (; (count & 0xff) || time(NULL) < end; count++) {
		size = make_input(room, count % 8 ? 256 : sizeof(room));
		/* So that the sanitizer sees an access beyond it */
		exact = malloc(size);
		assert(exact);
		memcpy(exact, room, size);
		LLVMFuzzerTestOneInput(exact, size);
		free(exact);
	}
	printf("# %lu inputs in %s s\n", count, argv[1]);
	return 0;
}
