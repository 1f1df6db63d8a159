// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile bytes for sdp_wire.c, and hostile numbers too: each sdp_wire_get_*()
 * reads any bytes, each sdp_wire_put_*() writes any struct.
 *
 * What may be taken and what each field is stands here once more, as offsets
 * and sizes from the tables of the protocol text (1.2, 1.3, 2.1 to 2.3, 5.3).
 * A verdict must be the one of that second reading, what is taken must have its
 * numbers, and written again it must be the same bytes.  Inputs lie in
 * allocations of just their size, a Hello at an odd address as well.
 *
 * The first byte of an input says what it is for, the rest are the bytes of
 * the message or of the struct.
 */
#include <asm/byteorder.h>

#include "../../kernel/proto/sdp_wire.h"
#include "../../kernel/proto/kunit/sdp_golden.h"
#include "../unit/chance.h"
#include "fuzz.h"

enum what {
	GET, GET_HELLO, GET_HELLO_ACK, PUT, PUT_HELLO, PUT_HELLO_ACK, WHATS
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Section 2.2. */
static const struct shape {
	u8 first, last;			/* message identifiers */
	u32 ext;			/* bytes of the extended header */
	bool payload;
} shapes[] = {
	{ 0x02, 0x04, 0, false },	/* DisConn, AbortConn, SendSm */
	{ 0x05, 0x07, 4, false },	/* RdmaWrCompl, RdmaRdCompl, ModeChange */
	{ 0x08, 0x0a, 0, false },	/* cancels and the answer */
	{ 0x0b, 0x0c, 4, false },	/* ChRcvBuf, ChRcvBufAck */
	{ 0x0d, 0x0d, 8, false },	/* SuspComm */
	{ 0x0e, 0x0e, 0, false },	/* SuspCommAck */
	{ 0x40, 0x7f, 0, true },	/* experimental: any length */
	{ 0xfd, 0xfd, 20, false },	/* SinkAvail */
	{ 0xfe, 0xfe, 16, true },	/* SrcAvail */
	{ 0xff, 0xff, 0, true },	/* Data */
};

static const struct shape *shape_of(u8 mid)
{
	size_t i;

	for (i = 0; i < COUNT(shapes); i++)
		if (mid >= shapes[i].first && mid <= shapes[i].last)
			return &shapes[i];
	return NULL;
}

/* A field: big-endian, at an offset. */
static u64 field(const u8 *bytes, size_t at, size_t size)
{
	u64 value = 0;

	while (size--)
		value = value << 8 | bytes[at++];
	return value;
}

static void check_verdict(enum sdp_wire_verdict verdict, bool right)
{
	CHECK((unsigned int)verdict <= SDP_WIRE_BAD_EXT);
	CHECK(strcmp(sdp_wire_verdict_name(verdict), "?"));
	CHECK((verdict == SDP_WIRE_OK) == right);
}

/* Section 5.3. */
static bool message_is_right(const u8 *bytes, size_t size)
{
	const struct shape *shape = size >= 16 ? shape_of(bytes[0]) : NULL;

	if (!shape || size < 16 + shape->ext || field(bytes, 4, 4) != size)
		return false;
	if (!shape->payload && size != 16 + shape->ext)
		return false;
	return bytes[0] != 0xfe || field(bytes, 16, 4) >= size - 32;
}

static void check_fields(const struct sdp_wire_msg *msg, const u8 *bytes)
{
	CHECK(msg->mid == bytes[0]);
	CHECK(msg->flags == bytes[1]);
	CHECK(msg->bufs == field(bytes, 2, 2));
	CHECK(msg->len == field(bytes, 4, 4));
	CHECK(msg->mseq == field(bytes, 8, 4));
	CHECK(msg->mseq_ack == field(bytes, 12, 4));
	switch (bytes[0]) {
	case 0x05:
	case 0x06:
		CHECK(msg->ext.bytes == field(bytes, 16, 4));
		break;
	case 0x07:
		CHECK(msg->ext.mode == bytes[16]);
		break;
	case 0x0b:
	case 0x0c:
		CHECK(msg->ext.rcvsz == field(bytes, 16, 4));
		break;
	case 0x0d:
		CHECK(msg->ext.sid == field(bytes, 16, 8));
		break;
	case 0xfd:
		CHECK(msg->ext.avail.non_discards == field(bytes, 32, 4));
		/* fall through */
	case 0xfe:
		CHECK(msg->ext.avail.len == field(bytes, 16, 4));
		CHECK(msg->ext.avail.rkey == field(bytes, 20, 4));
		CHECK(msg->ext.avail.va == field(bytes, 24, 8));
		break;
	}
}

static void get(const u8 *data, size_t size)
{
	u8 *from = exact_copy(data, size), *again;
	struct sdp_wire_msg msg;
	u32 head;

	check_verdict(sdp_wire_get(&msg, from, size),
		      message_is_right(from, size));
	if (!message_is_right(from, size)) {
		free(from);
		return;
	}
	check_fields(&msg, from);
	head = 16 + shape_of(from[0])->ext;
	CHECK(sdp_wire_ext_len(msg.mid) == head - 16);
	CHECK(sdp_wire_payload(&msg) == size - head);
	again = malloc(head);
	CHECK(again && sdp_wire_put(again, &msg) == head);
	if (from[0] == 0x07)
		memset(from + 17, 0, 3);	/* reserved */
	CHECK(!memcmp(again, from, head));
	free(again);
	free(from);
}

static void put(const u8 *data, size_t size)
{
	struct sdp_wire_msg msg, again;
	u32 head, payload;
	u8 *to;

	if (size < sizeof(msg))
		return;
	memcpy(&msg, data, sizeof(msg));
	head = 16 + sdp_wire_ext_len(msg.mid);
	CHECK(head <= SDP_LEN_HDR_MAX);
	payload = size - sizeof(msg);
	if (payload > 256)
		payload = 256;
	/* Mostly a true Len, or little would come back. */
	if (!(msg.len & 7))
		msg.len = head + payload;
	to = malloc(head + payload);
	CHECK(to);
	memset(to, 0xa5, head + payload);
	CHECK(sdp_wire_put(to, &msg) == head);
	CHECK(!payload || (to[head] == 0xa5 && to[head + payload - 1] == 0xa5));
	check_fields(&msg, to);
	check_verdict(sdp_wire_get(&again, to, head + payload),
		      message_is_right(to, head + payload));
	if (message_is_right(to, head + payload))
		check_fields(&again, to);
	free(to);
}

/* Section 1.4. */
static bool hello_is_right(const u8 *bytes, size_t size)
{
	u32 ipv;

	if (size < 92 || bytes[0] != 0 || field(bytes, 4, 4) != 92)
		return false;
	ipv = bytes[17] >> 4;
	if (bytes[16] >> 4 != 2 || (ipv != 4 && ipv != 6) || !bytes[19])
		return false;
	if (bytes[17] & 2 && !field(bytes, 66, 2))
		return false;
	return field(bytes, 24, 4) >= 64;
}

static void check_hello(const struct sdp_wire_hello *hello, const u8 *bytes)
{
	CHECK(hello->bufs == field(bytes, 2, 2));
	CHECK(hello->version == bytes[16]);
	CHECK(hello->ipv == bytes[17] >> 4);
	CHECK(hello->cap == (bytes[17] & 0x0f));
	if (bytes[17] & 2)
		CHECK(hello->max_adverts == field(bytes, 66, 2));
	else
		CHECK(hello->max_adverts == bytes[19]);
	CHECK(hello->des_rcvsz == field(bytes, 20, 4));
	CHECK(hello->rcvsz == field(bytes, 24, 4));
	CHECK(hello->port == field(bytes, 28, 2));
	CHECK(!memcmp(hello->src_ip, bytes + 32, 16));
	CHECK(!memcmp(hello->dst_ip, bytes + 48, 16));
}

static void get_hello(const u8 *data, size_t size)
{
	u8 *space = malloc(size + 1), *from = space + 1, back[92];
	struct sdp_wire_hello hello;

	CHECK(space);
	memcpy(from, data, size);
	check_verdict(sdp_wire_get_hello(&hello, from, size),
		      hello_is_right(from, size));
	if (!hello_is_right(from, size)) {
		free(space);
		return;
	}
	check_hello(&hello, from);
	/* All but what is reserved, or 0 by definition, comes back. */
	sdp_wire_put_hello(back, &hello);
	from[1] = 0;
	memset(from + 8, 0, 8);
	from[18] = 0;
	memset(from + 30, 0, 2);
	memset(from + 64, 0, 2);
	memset(from + 68, 0, 24);
	if (hello.cap & 2) {
		/* The byte has no room for it. */
		CHECK(back[19] == (hello.max_adverts < 255 ?
				   hello.max_adverts : 255));
		from[19] = back[19];
	} else {
		memset(from + 66, 0, 2);
	}
	CHECK(!memcmp(back, from, sizeof(back)));
	free(space);
}

static void put_hello(const u8 *data, size_t size)
{
	struct sdp_wire_hello hello, again;
	u8 *to = malloc(92);

	CHECK(to);
	if (size >= sizeof(hello)) {
		memcpy(&hello, data, sizeof(hello));
		hello.ipv &= 0x0f;
		hello.cap &= 0x0f;
		if (!(hello.cap & 2))
			hello.max_adverts &= 0xff;
		sdp_wire_put_hello(to, &hello);
		check_hello(&hello, to);
		check_verdict(sdp_wire_get_hello(&again, to, 92),
			      hello_is_right(to, 92));
		if (hello_is_right(to, 92))
			check_hello(&again, to);
	}
	free(to);
}

/* Section 1.3; a Len of 204 is the annex's own misprint. */
static bool hello_ack_is_right(const u8 *bytes, size_t size)
{
	u64 len;

	if (size < 24 || bytes[0] != 1 || bytes[16] >> 4 != 2)
		return false;
	len = field(bytes, 4, 4);
	return len >= 24 && (len <= size || len == 204) &&
	       field(bytes, 20, 4) >= 64;
}

static void check_hello_ack(const struct sdp_wire_hello *ack, const u8 *bytes)
{
	CHECK(ack->bufs == field(bytes, 2, 2));
	CHECK(ack->version == bytes[16]);
	CHECK(ack->max_adverts == (bytes[19] ? bytes[19] : 1));
	CHECK(ack->rcvsz == field(bytes, 20, 4));
}

static void get_hello_ack(const u8 *data, size_t size)
{
	u8 *space = malloc(size + 1), *from = space + 1, back[196];
	struct sdp_wire_hello ack, again;

	CHECK(space);
	memcpy(from, data, size);
	check_verdict(sdp_wire_get_hello_ack(&ack, from, size),
		      hello_ack_is_right(from, size));
	if (hello_ack_is_right(from, size)) {
		check_hello_ack(&ack, from);
		sdp_wire_put_hello_ack(back, &ack);
		CHECK(hello_ack_is_right(back, sizeof(back)));
		check_hello_ack(&ack, back);
		CHECK(sdp_wire_get_hello_ack(&again, back, sizeof(back)) ==
		      SDP_WIRE_OK);
		CHECK(!memcmp(&again, &ack, sizeof(ack)));
	}
	free(space);
}

static void put_hello_ack(const u8 *data, size_t size)
{
	struct sdp_wire_hello ack, again;
	u8 *to = malloc(196);

	CHECK(to);
	if (size >= sizeof(ack)) {
		memcpy(&ack, data, sizeof(ack));
		ack.max_adverts = 1 + ack.max_adverts % 255;
		sdp_wire_put_hello_ack(to, &ack);
		check_hello_ack(&ack, to);
		check_verdict(sdp_wire_get_hello_ack(&again, to, 196),
			      hello_ack_is_right(to, 196));
	}
	free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const run[])(const u8 *data, size_t size) = {
		[GET] = get,
		[GET_HELLO] = get_hello,
		[GET_HELLO_ACK] = get_hello_ack,
		[PUT] = put,
		[PUT_HELLO] = put_hello,
		[PUT_HELLO_ACK] = put_hello_ack,
	};

	if (size)
		run[data[0] % WHATS](data + 1, size - 1);
	return 0;
}

/* ---- inputs by chance ---- */

static size_t put_bytes(u8 *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return size;
}

static size_t make_hello_struct(u8 *to, const u8 *golden, size_t size)
{
	struct sdp_wire_hello hello = { };

	if (golden[0] == SDP_MID_HELLO)
		sdp_wire_get_hello(&hello, golden, size);
	else
		sdp_wire_get_hello_ack(&hello, golden, size);
	return put_bytes(to, &hello, sizeof(hello));
}

static size_t make_golden(u8 *to, enum what what)
{
	const struct sdp_golden_msg *golden =
		&sdp_golden_msgs[below(COUNT(sdp_golden_msgs))];
	const u8 *hello = below(2) ? sdp_golden_hello : sdp_golden_hello6;
	size_t size;

	switch (what) {
	case GET:
		return put_bytes(to, golden->bytes, golden->msg.len);
	case GET_HELLO:
		size = put_bytes(to, hello, 92);
		/* ExtMaxAdverts takes two bytes to be right. */
		if (below(2)) {
			to[17] |= SDP_CAP_EXTENDED_MAXADVERTS;
			to[67] = rnd();
		}
		if (!below(8)) {
			memset(to + 24, 0, 3);	/* a small LocalRcvSz */
			to[27] = below(2) ? rnd() : 62 + below(4);
		}
		return size;
	case GET_HELLO_ACK:
		return put_bytes(to, sdp_golden_hello_ack, 196);
	case PUT:
		size = put_bytes(to, &golden->msg, sizeof(golden->msg));
		return size + below(64);
	case PUT_HELLO:
		return make_hello_struct(to, hello, 92);
	default:
		return make_hello_struct(to, sdp_golden_hello_ack, 196);
	}
}

/* A Len that fits gets further. */
static void fix_len(u8 *input, size_t size)
{
	if (input[0] % WHATS != GET || size < 17 || !below(3))
		return;
	input[1 + 4] = 0;
	input[1 + 5] = 0;
	input[1 + 6] = (size - 1) >> 8;
	input[1 + 7] = size - 1;
}

size_t fuzz_make(uint8_t *to, size_t room)
{
	size_t size;

	memset(to, 0, 512);
	to[0] = below(4) ? GET : below(WHATS);
	size = 1 + make_golden(to + 1, to[0]);
	while (below(3))
		size = 1 + bend(to + 1, size - 1, room - 1);
	fix_len(to, size);
	return size;
}

size_t fuzz_change(uint8_t *input, size_t size, size_t room)
{
	if (!size || !below(8))
		return fuzz_make(input, room);
	size = 1 + bend(input + 1, size - 1, room - 1);
	fix_len(input, size);
	return size;
}
