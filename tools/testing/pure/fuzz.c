// SPDX-License-Identifier: GPL-2.0
/*
 * Parsers of what peers send, for a fuzzer. (That of software RDMA is tested in
 * the kernel only.) The first byte of an input says
 * which parser gets the rest. Each parser gets memory of exactly the size that
 * it may use, and what it has read is checked by assertions.
 */
#include <net/rds/wire.h>
#include <net/rds/frame.h>

#include "../../../net/rds/core/handshake.h"
#include "../../../net/rds/ib/credits.h"
#include "../../../net/rds/ib/frag.h"
#include "../../../net/rds/ib/privdata.h"
#include "../../../net/rds/tcp/frame.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

struct input {
	const u8 *next;
	size_t left;
};

/* Take up to @size bytes, and the rest as zeros, into memory of that size. */
static void *take(struct input *in, size_t size)
{
	size_t some = min(size, in->left);
	u8 *room = calloc(1, size ?: 1);

	assert(room);
	memcpy(room, in->next, some);
	in->next += some;
	in->left -= some;
	return room;
}

static u32 take_number(struct input *in)
{
	u32 *room = take(in, sizeof(*room)), number = *room;

	free(room);
	return number;
}

static void exthdrs(struct input *in)
{
	u8 *area = take(in, RDS_EXTHDR_SPACE), copy[RDS_EXTHDR_SPACE] = {};
	unsigned int pos = 0, end = 0, found = 0;
	const u8 *payload;
	u8 type;

	while ((type = rds_exthdr_next(area, &pos, &payload))) {
		assert(payload + rds_exthdr_size(type) == area + pos);
		assert(pos <= RDS_EXTHDR_SPACE && ++found <= RDS_EXTHDR_SPACE);
		assert(rds_exthdr_add(copy, &end, type, payload));
	}
	assert(end == pos && !memcmp(copy, area, pos));
	free(area);
}

/* What was read is what would be written, as far as that is ours. */
static void handshake(struct input *in)
{
	u8 *area = take(in, RDS_EXTHDR_SPACE), written[RDS_EXTHDR_SPACE];
	struct rds_handshake first, second;
	struct rds_handshake_self self;

	rds_handshake_read(area, &first);
	assert(first.npaths);
	assert(first.ours || (!first.sw_rdma && !first.streams &&
			      !first.in_use && !first.tag));
	assert(first.tag <= RDS_HANDSHAKE_TAGS);
	self = (struct rds_handshake_self){
		.npaths = first.npaths,
		.in_use = first.in_use,
		.tag = first.tag,
		.gen = rds_handshake_gen(&first),
		.epoch = first.id >> 8 & 0xffffff,
	};
	rds_handshake_write(written, &self);
	rds_handshake_read(written, &second);
	assert(second.ours && second.in_use == first.in_use);
	assert(second.tag == first.tag);
	assert(second.npaths == min_t(u16, first.npaths, 0xff));
	assert(rds_handshake_gen(&second) == rds_handshake_gen(&first));
	free(area);
}

/* A stream of any bytes, cut anywhere */
static void tcp_stream(struct input *in)
{
	u32 bytes, behind = 0, cut = take_number(in);
	struct rds_tcp_frame *fr = malloc(sizeof(*fr));
	bool end;

	assert(fr);
	rds_tcp_frame_init(fr);
	while (in->left && fr->fr_phase != RDS_TCP_OVERSIZED) {
		assert(fr->fr_left);
		bytes = min_t(u32, in->left, fr->fr_left);
		bytes = min(bytes, 1 + cut % 61);
		if (fr->fr_phase == RDS_TCP_HEADER)
			memcpy(rds_tcp_frame_room(fr), in->next, bytes);
		else
			behind += bytes;
		in->next += bytes;
		in->left -= bytes;
		end = rds_tcp_frame_advance(fr, bytes);
		assert(!end || be32_to_cpu(fr->fr_hdr.h_len) == behind);
		assert(behind <= RDS_MAX_MSG_SIZE);
		if (end)
			behind = 0;
		cut = cut * 1103515245 + 12345;
	}
	free(fr);
}

/* Bytes of a SEND: mostly what may come next, as nothing else is of use */
static u32 ib_bytes(u32 choice, const struct rds_ib_reasm *ra,
		    const struct rds_header *hdr, bool wide)
{
	u32 len = be32_to_cpu(hdr->h_len), left = len - min(ra->ra_got, len);
	u32 next = min(left, rds_ib_frag_size(len, wide));

	switch (choice % 8) {
	case 0:
		return choice % (RDS_IB_WIDE_BYTES + 2);
	case 1:
		return next - 1;
	case 2:
		return next + 1;
	default:
		return next;
	}
}

static void ib_sends(struct input *in)
{
	struct rds_ib_reasm ra = {};
	struct rds_header *hdr;
	enum rds_ib_frag frag;
	u32 bytes, choice;
	bool wide;

	wide = take_number(in) & 1;
	while (in->left) {
		choice = take_number(in);
		hdr = take(in, sizeof(*hdr));
		bytes = ib_bytes(choice, &ra, hdr, wide);
		if (!rds_ib_frag_has_header(hdr, sizeof(*hdr) + bytes)) {
			free(hdr);
			continue;
		}
		frag = rds_ib_frag_judge(&ra, hdr, bytes, wide);
		if (frag == RDS_IB_FRAG_PART || frag == RDS_IB_FRAG_LAST) {
			if (!ra.ra_got)
				ra.ra_hdr = *hdr;
			assert(bytes <= (wide && !rds_header_is_cong_map(hdr) ?
					 RDS_IB_WIDE_BYTES : RDS_FRAG_SIZE));
			assert(ra.ra_got + bytes <= RDS_MAX_MSG_SIZE);
			assert(ra.ra_got + bytes <=
			       be32_to_cpu(ra.ra_hdr.h_len));
			rds_ib_reasm_add(&ra, bytes, frag);
		}
		free(hdr);
	}
}

static void ib_private_data(struct input *in)
{
	size_t len = take_number(in) % (RDS_IB_PRIV_MAX + 2);
	struct rds_ib_priv priv = {}, again = {};
	u8 buf[RDS_IB_PRIV_MAX];
	void *data = take(in, len);
	unsigned int v6;

	for (v6 = 0; v6 < 2; v6++) {
		if (!rds_ib_priv_decode(data, len, v6, &priv))
			continue;
		assert(len >= (v6 ? 56 : 32));
		rds_ib_priv_encode(buf, &priv, v6);
		assert(rds_ib_priv_decode(buf, sizeof(buf), v6, &again));
		assert(again.version == priv.version &&
		       again.credits == priv.credits &&
		       again.epoch == priv.epoch && again.ours == priv.ours &&
		       again.streams == priv.streams &&
		       again.numbers == priv.numbers &&
		       again.wide == priv.wide);
		rds_ib_priv_is_honest(&priv, v6, &priv.daddr, &priv.saddr);
		rds_ib_version_accept(priv.version, priv.minors);
	}
	free(data);
}

static void stream_frame(struct input *in)
{
	u8 *area = take(in, RDS_EXTHDR_SPACE), written[RDS_EXTHDR_SPACE];
	u8 *bytes = take(in, RDS_FRAME_MAP_BYTES);
	u8 map_written[RDS_FRAME_MAP_BYTES];
	struct rds_frame frame, answer;
	struct rds_frame_map map;

	rds_frame_map_read(bytes, &map);
	rds_frame_map_write(map_written, &map);
	assert(!memcmp(map_written, bytes, sizeof(map_written)));
	if (rds_frame_read(area, &frame)) {
		rds_frame_write(written, &frame);
		assert(!memcmp(written, area, sizeof(written)));
		if (rds_frame_answer(&frame, RDS_FRAME_RST, 0, written)) {
			assert(rds_frame_read(written, &answer));
			assert(!rds_frame_answer(&answer, RDS_FRAME_RST, 0,
						 written));
		}
	}
	free(area);
	free(bytes);
}

/* No order of events makes credits out of nothing. */
static void ib_credits(struct input *in)
{
	struct rds_ib_credits cr = {};
	u64 granted = 0, taken = 0;
	u32 number;
	u8 news;

	rds_ib_credits_offered(&cr, take_number(in) % 3, take_number(in) & 1);
	granted = cr.cr_send;
	rds_ib_credits_start(&cr, take_number(in) % 3);
	while (in->left) {
		number = take_number(in);
		switch (number & 3) {
		case 0:
			rds_ib_credits_grant(&cr, number >> 2);
			granted += number >> 2;
			break;
		case 1:
			rds_ib_credits_posted(&cr, number >> 2 & 0xfff);
			break;
		default:
			if (!rds_ib_credits_take(&cr, &news))
				break;
			if (number & 4)
				rds_ib_credits_back(&cr, news);
			else
				taken += cr.cr_limited;
		}
		assert(cr.cr_send <= RDS_IB_CREDITS_MAX);
		assert(cr.cr_pending <= RDS_IB_CREDITS_MAX);
		assert(taken <= granted);
	}
}

static void (*const parsers[])(struct input *) = {
	exthdrs, handshake, tcp_stream, ib_sends, ib_private_data,
	stream_frame, ib_credits,
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data + 1, size - 1 };

	if (size)
		parsers[data[0] % ARRAY_SIZE(parsers)](&in);
	return 0;
}
