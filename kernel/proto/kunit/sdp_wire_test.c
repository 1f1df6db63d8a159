// SPDX-License-Identifier: GPL-2.0
/*
 * Does sdp_wire.c write and read exactly the bytes of the protocol text, and
 * refuse everything else?
 *
 * The same source runs as KUnit and, by selftests/unit, in user space.  What is
 * parsed lies in an allocation of exactly its own size, so that KASAN or ASan
 * sees a read behind it.
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_wire.c"
#include "sdp_golden.h"

/* The MIDs that may arrive on a connection, with their extended headers. */
static const struct {
	u8 mid;
	u8 ext_len;
	bool payload;
} mids[] = {
	{ 0x02, 0, false }, { 0x03, 0, false }, { 0x04, 0, false },
	{ 0x05, 4, false }, { 0x06, 4, false }, { 0x07, 4, false },
	{ 0x08, 0, false }, { 0x09, 0, false }, { 0x0a, 0, false },
	{ 0x0b, 4, false }, { 0x0c, 4, false }, { 0x0d, 8, false },
	{ 0x0e, 0, false }, { 0xfd, 20, false }, { 0xfe, 16, true },
	{ 0xff, 0, true },
};

/* A copy of @bytes bytes with not one byte more behind them. */
static u8 *exact_copy(struct kunit *test, const void *from, u32 bytes)
{
	u8 *copy = kunit_kmalloc(test, bytes ? bytes : 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, from, bytes);
	return copy;
}

static void set_len(u8 *bytes, u32 len)
{
	bytes[4] = len >> 24;
	bytes[5] = len >> 16;
	bytes[6] = len >> 8;
	bytes[7] = len;
}

static void expect_same_msg(struct kunit *test, const char *name,
			    const struct sdp_wire_msg *got,
			    const struct sdp_wire_msg *want)
{
	KUNIT_EXPECT_EQ_MSG(test, got->mid, want->mid, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->flags, want->flags, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->bufs, want->bufs, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->len, want->len, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->mseq, want->mseq, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->mseq_ack, want->mseq_ack, "%s", name);

	switch (want->mid) {
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL:
		/* A SrcAvail has none: 0. */
		KUNIT_EXPECT_EQ_MSG(test, got->ext.avail.non_discards,
				    want->ext.avail.non_discards, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, got->ext.avail.len,
				    want->ext.avail.len, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, got->ext.avail.rkey,
				    want->ext.avail.rkey, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, got->ext.avail.va,
				    want->ext.avail.va, "%s", name);
		break;
	case SDP_MID_RDMA_RD_COMPL:
	case SDP_MID_RDMA_WR_COMPL:
		KUNIT_EXPECT_EQ_MSG(test, got->ext.bytes, want->ext.bytes,
				    "%s", name);
		break;
	case SDP_MID_MODE_CHANGE:
		KUNIT_EXPECT_EQ_MSG(test, got->ext.mode, want->ext.mode,
				    "%s", name);
		break;
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		KUNIT_EXPECT_EQ_MSG(test, got->ext.rcvsz, want->ext.rcvsz,
				    "%s", name);
		break;
	case SDP_MID_SUSP_COMM:
		KUNIT_EXPECT_EQ_MSG(test, got->ext.sid, want->ext.sid,
				    "%s", name);
		break;
	}
}

static void sdp_wire_ext_len__every_mid(struct kunit *test)
{
	unsigned int mid, i;

	for (mid = 0; mid < 256; mid++) {
		unsigned int want = 0;

		for (i = 0; i < ARRAY_SIZE(mids); i++)
			if (mids[i].mid == mid)
				want = mids[i].ext_len;
		KUNIT_EXPECT_EQ_MSG(test, sdp_wire_ext_len(mid), want,
				    "MID %#x", mid);
	}
}

static void sdp_wire_put__golden(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sdp_golden_msgs); i++) {
		const struct sdp_golden_msg *golden = &sdp_golden_msgs[i];
		unsigned int head = SDP_LEN_BSDH +
				    sdp_wire_ext_len(golden->msg.mid);
		/* What must be written is written over something else. */
		u64 space[SDP_LEN_HDR_MAX / sizeof(u64) + 2];
		u8 *to = (u8 *)space;
		unsigned int at;

		memset(space, 0xa5, sizeof(space));
		KUNIT_EXPECT_EQ_MSG(test, sdp_wire_put(to, &golden->msg), head,
				    "%s", golden->name);
		for (at = 0; at < head; at++)
			KUNIT_EXPECT_EQ_MSG(test, to[at], golden->bytes[at],
					    "%s: byte %u", golden->name, at);
		for (at = head; at < sizeof(space); at++)
			KUNIT_EXPECT_EQ_MSG(test, to[at], 0xa5,
					    "%s: byte %u", golden->name, at);
	}
}

static void sdp_wire_put__extremes_return(struct kunit *test)
{
	static const struct sdp_wire_msg all_ones[] = {
		{ .mid = SDP_MID_SRC_AVAIL, .ext.avail = { .len = ~0u,
		  .rkey = ~0u, .va = ~0ull } },
		{ .mid = SDP_MID_SINK_AVAIL, .ext.avail = { .len = ~0u,
		  .rkey = ~0u, .va = ~0ull, .non_discards = ~0u } },
		{ .mid = SDP_MID_RDMA_RD_COMPL, .ext.bytes = ~0u },
		{ .mid = SDP_MID_RDMA_WR_COMPL, .ext.bytes = ~0u },
		{ .mid = SDP_MID_MODE_CHANGE, .ext.mode = 0xff },
		{ .mid = SDP_MID_CH_RCV_BUF, .ext.rcvsz = ~0u },
		{ .mid = SDP_MID_CH_RCV_BUF_ACK, .ext.rcvsz = ~0u },
		{ .mid = SDP_MID_SUSP_COMM, .ext.sid = ~0ull },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all_ones); i++) {
		struct sdp_wire_msg msg = all_ones[i], got;
		u64 space[SDP_LEN_HDR_MAX / sizeof(u64) + 1];

		msg.flags = 0xff;
		msg.bufs = 0xffff;
		msg.mseq = ~0u;
		msg.mseq_ack = ~0u;
		msg.len = SDP_LEN_BSDH + sdp_wire_ext_len(msg.mid);
		sdp_wire_put(space, &msg);
		KUNIT_ASSERT_EQ(test, sdp_wire_get(&got, space, msg.len),
				SDP_WIRE_OK);
		expect_same_msg(test, "all ones", &got, &msg);
	}
}

static void sdp_wire_get__golden(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sdp_golden_msgs); i++) {
		const struct sdp_golden_msg *golden = &sdp_golden_msgs[i];
		u8 *from = exact_copy(test, golden->bytes, golden->msg.len);
		struct sdp_wire_msg msg;

		memset(&msg, 0xa5, sizeof(msg));
		KUNIT_ASSERT_EQ_MSG(test, sdp_wire_get(&msg, from, golden->msg.len),
				    SDP_WIRE_OK, "%s", golden->name);
		expect_same_msg(test, golden->name, &msg, &golden->msg);
	}
}

/* Cut anywhere, a message is refused; with a Len to match it is one with less
 * payload, if it may have any.
 */
static void sdp_wire_get__cut_short(struct kunit *test)
{
	unsigned int i;
	u32 bytes;

	for (i = 0; i < ARRAY_SIZE(sdp_golden_msgs); i++) {
		const struct sdp_golden_msg *golden = &sdp_golden_msgs[i];
		u32 head = SDP_LEN_BSDH + sdp_wire_ext_len(golden->msg.mid);

		for (bytes = 0; bytes < golden->msg.len; bytes++) {
			u8 *from = exact_copy(test, golden->bytes, bytes);
			struct sdp_wire_msg msg;

			KUNIT_EXPECT_EQ_MSG(test, sdp_wire_get(&msg, from, bytes),
					    bytes < head ? SDP_WIRE_SHORT :
							   SDP_WIRE_BAD_LEN,
					    "%s: %u", golden->name, bytes);
			if (bytes < 8)
				continue;
			set_len(from, bytes);
			KUNIT_EXPECT_EQ_MSG(test, sdp_wire_get(&msg, from, bytes),
					    bytes < head ? SDP_WIRE_SHORT :
							   SDP_WIRE_OK,
					    "%s: %u", golden->name, bytes);
		}
	}
}

/* Len is the byte count or the message is refused; 0, less and huge too. */
static void sdp_wire_get__len_lies(struct kunit *test)
{
	static const s32 off[] = { -1, 1, -16, 16, -21, S32_MIN, S32_MAX };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(sdp_golden_msgs); i++) {
		const struct sdp_golden_msg *golden = &sdp_golden_msgs[i];
		u8 *from = exact_copy(test, golden->bytes, golden->msg.len);
		struct sdp_wire_msg msg;

		for (j = 0; j < ARRAY_SIZE(off); j++) {
			set_len(from, golden->msg.len + (u32)off[j]);
			KUNIT_EXPECT_EQ_MSG(test,
					    sdp_wire_get(&msg, from, golden->msg.len),
					    SDP_WIRE_BAD_LEN, "%s by %d",
					    golden->name, off[j]);
		}
	}
}

/* Exact length, one byte more, and full buffers, for every MID there is. */
static void sdp_wire_get__every_mid(struct kunit *test)
{
	static const u32 behind[] = { 0, 1, 5, 4096 };
	unsigned int mid, i, j;

	for (mid = 0; mid < 256; mid++) {
		bool known = mid >= 0x40 && mid <= 0x7f;
		bool payload = known;
		u32 head = SDP_LEN_BSDH;

		for (i = 0; i < ARRAY_SIZE(mids); i++) {
			if (mids[i].mid != mid)
				continue;
			known = true;
			payload = mids[i].payload;
			head += mids[i].ext_len;
		}
		for (j = 0; j < ARRAY_SIZE(behind); j++) {
			enum sdp_wire_verdict want = SDP_WIRE_OK;
			u32 bytes = head + behind[j];
			u8 *from = kunit_kmalloc(test, bytes, GFP_KERNEL);
			struct sdp_wire_msg msg;

			KUNIT_ASSERT_NOT_NULL(test, from);
			memset(from, 0xff, bytes);
			from[0] = mid;
			set_len(from, bytes);
			if (!known)
				want = SDP_WIRE_BAD_MID;
			else if (behind[j] && !payload)
				want = SDP_WIRE_BAD_LEN;
			KUNIT_EXPECT_EQ_MSG(test, sdp_wire_get(&msg, from, bytes),
					    want, "MID %#x, %u behind", mid,
					    behind[j]);
			if (want == SDP_WIRE_OK)
				KUNIT_EXPECT_EQ(test, sdp_wire_payload(&msg),
						behind[j]);
		}
	}
}

/* The inline bytes are the first of the buffer: not more than it has. */
static void sdp_wire_get__src_avail_inline(struct kunit *test)
{
	static const struct {
		u32 len, inlined;
		enum sdp_wire_verdict want;
	} cases[] = {
		{ 0, 0, SDP_WIRE_OK },		/* the modes' business */
		{ 0, 1, SDP_WIRE_BAD_EXT },
		{ 7, 8, SDP_WIRE_BAD_EXT },
		{ 8, 8, SDP_WIRE_OK },		/* [OF], section 7 */
		{ 9, 8, SDP_WIRE_OK },
		{ 9, 0, SDP_WIRE_OK },
		{ ~0u, 8, SDP_WIRE_OK },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 bytes = SDP_LEN_BSDH + 16 + cases[i].inlined;
		struct sdp_wire_msg msg = {
			.mid = SDP_MID_SRC_AVAIL, .len = bytes,
			.ext.avail.len = cases[i].len,
		};
		u8 *from = kunit_kmalloc(test, bytes, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, from);
		sdp_wire_put(from, &msg);
		KUNIT_EXPECT_EQ_MSG(test, sdp_wire_get(&msg, from, bytes),
				    cases[i].want, "Len %u with %u inline",
				    cases[i].len, cases[i].inlined);
	}
}

/* Of ModeChange only byte 0 counts. */
static void sdp_wire_get__mode_change_reserved(struct kunit *test)
{
	u8 bytes[20] = { 0x07, 0, 0, 0x40, 0, 0, 0, 20, [16] = 0x20, 0xff, 0xff, 0xff };
	u8 *from = exact_copy(test, bytes, sizeof(bytes));
	struct sdp_wire_msg msg;

	KUNIT_ASSERT_EQ(test, sdp_wire_get(&msg, from, sizeof(bytes)), SDP_WIRE_OK);
	KUNIT_EXPECT_EQ(test, msg.ext.mode, 0x20);
}

static const struct sdp_wire_hello golden_hello = {
	.bufs = 64, .version = 0x22, .ipv = 4, .max_adverts = 1,
	.des_rcvsz = 32784, .rcvsz = 32784, .port = 49152,
	.src_ip = { [12] = 192, 168, 10, 1 },
	.dst_ip = { [12] = 192, 168, 10, 2 },
};

static const struct sdp_wire_hello golden_hello6 = {
	.bufs = 64, .version = 0x22, .ipv = 6, .max_adverts = 1,
	.des_rcvsz = 32784, .rcvsz = 32784, .port = 49152,
	.src_ip = { 0xfd, [15] = 1 },
	.dst_ip = { 0xfd, [15] = 2 },
};

static const struct sdp_wire_hello golden_ack = {
	.bufs = 64, .version = 0x22, .max_adverts = 1, .rcvsz = 32784,
};

static void expect_same_hello(struct kunit *test,
			      const struct sdp_wire_hello *got,
			      const struct sdp_wire_hello *want)
{
	KUNIT_EXPECT_EQ(test, got->bufs, want->bufs);
	KUNIT_EXPECT_EQ(test, got->version, want->version);
	KUNIT_EXPECT_EQ(test, got->ipv, want->ipv);
	KUNIT_EXPECT_EQ(test, got->cap, want->cap);
	KUNIT_EXPECT_EQ(test, got->max_adverts, want->max_adverts);
	KUNIT_EXPECT_EQ(test, got->des_rcvsz, want->des_rcvsz);
	KUNIT_EXPECT_EQ(test, got->rcvsz, want->rcvsz);
	KUNIT_EXPECT_EQ(test, got->port, want->port);
	KUNIT_EXPECT_EQ(test, memcmp(got->src_ip, want->src_ip, 16), 0);
	KUNIT_EXPECT_EQ(test, memcmp(got->dst_ip, want->dst_ip, 16), 0);
}

static void expect_bytes(struct kunit *test, const u8 *got, const u8 *want,
			 unsigned int bytes)
{
	unsigned int at;

	for (at = 0; at < bytes; at++)
		KUNIT_EXPECT_EQ_MSG(test, got[at], want[at], "byte %u", at);
}

static void sdp_wire_put_hello__golden(struct kunit *test)
{
	u8 *to = kunit_kmalloc(test, SDP_LEN_HELLO, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, to);
	memset(to, 0xa5, SDP_LEN_HELLO);
	sdp_wire_put_hello(to, &golden_hello);
	expect_bytes(test, to, sdp_golden_hello, SDP_LEN_HELLO);
	memset(to, 0xa5, SDP_LEN_HELLO);
	sdp_wire_put_hello(to, &golden_hello6);
	expect_bytes(test, to, sdp_golden_hello6, SDP_LEN_HELLO);
}

static void sdp_wire_put_hello__extended_adverts(struct kunit *test)
{
	struct sdp_wire_hello hello = golden_hello, got;
	u8 bytes[SDP_LEN_HELLO];

	/* Without the capability the byte says as much as it can. */
	hello.max_adverts = 0x1234;
	sdp_wire_put_hello(bytes, &hello);
	KUNIT_EXPECT_EQ(test, bytes[19], 0xff);
	KUNIT_EXPECT_EQ(test, bytes[66], 0);
	KUNIT_EXPECT_EQ(test, bytes[67], 0);

	hello.max_adverts = 0xfe;
	sdp_wire_put_hello(bytes, &hello);
	KUNIT_EXPECT_EQ(test, bytes[19], 0xfe);

	hello.max_adverts = 0x1234;
	hello.cap = SDP_CAP_EXTENDED_MAXADVERTS;
	sdp_wire_put_hello(bytes, &hello);
	KUNIT_EXPECT_EQ(test, bytes[17], 0x42);
	KUNIT_EXPECT_EQ(test, bytes[19], 0xff);
	KUNIT_EXPECT_EQ(test, bytes[66], 0x12);
	KUNIT_EXPECT_EQ(test, bytes[67], 0x34);
	KUNIT_ASSERT_EQ(test, sdp_wire_get_hello(&got, bytes, sizeof(bytes)),
			SDP_WIRE_OK);
	expect_same_hello(test, &got, &hello);
}

/* The whole nibble, also what has no name yet; and nothing beyond it. */
static void sdp_wire_put_hello__capabilities(struct kunit *test)
{
	struct sdp_wire_hello hello = golden_hello, got;
	u8 bytes[SDP_LEN_HELLO];

	for (hello.cap = 0; hello.cap < 16; hello.cap++) {
		sdp_wire_put_hello(bytes, &hello);
		KUNIT_EXPECT_EQ(test, bytes[17], 0x40 | hello.cap);
		KUNIT_ASSERT_EQ(test, sdp_wire_get_hello(&got, bytes, sizeof(bytes)),
				SDP_WIRE_OK);
		expect_same_hello(test, &got, &hello);
	}
	hello.cap = 0xf0;
	sdp_wire_put_hello(bytes, &hello);
	KUNIT_EXPECT_EQ(test, bytes[17], 0x40);
}

static void sdp_wire_get_hello__golden(struct kunit *test)
{
	u8 *from = exact_copy(test, sdp_golden_hello, SDP_LEN_HELLO);
	u8 *from6 = exact_copy(test, sdp_golden_hello6, SDP_LEN_HELLO);
	struct sdp_wire_hello hello;

	KUNIT_ASSERT_EQ(test, sdp_wire_get_hello(&hello, from, SDP_LEN_HELLO),
			SDP_WIRE_OK);
	expect_same_hello(test, &hello, &golden_hello);
	KUNIT_ASSERT_EQ(test, sdp_wire_get_hello(&hello, from6, SDP_LEN_HELLO),
			SDP_WIRE_OK);
	expect_same_hello(test, &hello, &golden_hello6);
}

static void sdp_wire_get_hello__any_alignment(struct kunit *test)
{
	u8 *space = kunit_kmalloc(test, SDP_LEN_HELLO + 8, GFP_KERNEL);
	struct sdp_wire_hello hello;
	unsigned int off;

	KUNIT_ASSERT_NOT_NULL(test, space);
	for (off = 0; off < 8; off++) {
		memcpy(space + off, sdp_golden_hello, SDP_LEN_HELLO);
		KUNIT_ASSERT_EQ(test, sdp_wire_get_hello(&hello, space + off,
							 SDP_LEN_HELLO),
				SDP_WIRE_OK);
		expect_same_hello(test, &hello, &golden_hello);
	}
}

static void sdp_wire_get_hello__byte_counts(struct kunit *test)
{
	struct sdp_wire_hello hello;
	u8 more[256] = {};
	u32 bytes;

	for (bytes = 0; bytes < SDP_LEN_HELLO; bytes++) {
		u8 *from = exact_copy(test, sdp_golden_hello, bytes);

		KUNIT_EXPECT_EQ(test, sdp_wire_get_hello(&hello, from, bytes),
				SDP_WIRE_SHORT);
	}
	/* The CM may hand up more than was sent. */
	memcpy(more, sdp_golden_hello, SDP_LEN_HELLO);
	KUNIT_EXPECT_EQ(test, sdp_wire_get_hello(&hello, more, sizeof(more)),
			SDP_WIRE_OK);
}

static const struct {
	u8 at, value;
	enum sdp_wire_verdict want;
} bad_hello[] = {
	{ 0x00, 0x01, SDP_WIRE_BAD_MID },
	{ 0x00, 0xff, SDP_WIRE_BAD_MID },
	{ 0x07, 0x5b, SDP_WIRE_BAD_LEN },
	{ 0x07, 0x5d, SDP_WIRE_BAD_LEN },
	{ 0x04, 0x80, SDP_WIRE_BAD_LEN },
	{ 0x10, 0x33, SDP_WIRE_BAD_VERSION },
	{ 0x10, 0x11, SDP_WIRE_BAD_VERSION },
	{ 0x10, 0x02, SDP_WIRE_BAD_VERSION },
	{ 0x10, 0x20, SDP_WIRE_OK },	/* the minor does not matter */
	{ 0x11, 0x50, SDP_WIRE_BAD_IPV },
	{ 0x11, 0x00, SDP_WIRE_BAD_IPV },
	{ 0x11, 0x04, SDP_WIRE_BAD_IPV },
	{ 0x11, 0xc0, SDP_WIRE_BAD_IPV },
	{ 0x11, 0x41, SDP_WIRE_OK },	/* INVALIDATE_CAP */
	{ 0x11, 0x42, SDP_WIRE_BAD_ADVERTS },	/* and ExtMaxAdverts 0 */
	{ 0x13, 0x00, SDP_WIRE_BAD_ADVERTS },
	{ 0x13, 0xff, SDP_WIRE_OK },
	{ 0x03, 0x00, SDP_WIRE_OK },	/* no buffers: credits will tell */
};

static void sdp_wire_get_hello__refuses(struct kunit *test)
{
	static const struct {
		u32 rcvsz;
		enum sdp_wire_verdict want;
	} sizes[] = {
		{ 0, SDP_WIRE_BAD_RCVSZ },
		{ 15, SDP_WIRE_BAD_RCVSZ },
		{ SDP_WIRE_RCVSZ_MIN - 1, SDP_WIRE_BAD_RCVSZ },
		{ SDP_WIRE_RCVSZ_MIN, SDP_WIRE_OK },
		{ ~0u, SDP_WIRE_OK },
	};
	struct sdp_wire_hello hello;
	u8 bytes[SDP_LEN_HELLO];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad_hello); i++) {
		memcpy(bytes, sdp_golden_hello, sizeof(bytes));
		bytes[bad_hello[i].at] = bad_hello[i].value;
		KUNIT_EXPECT_EQ_MSG(test,
				    sdp_wire_get_hello(&hello, bytes, sizeof(bytes)),
				    bad_hello[i].want, "byte %#x = %#x",
				    bad_hello[i].at, bad_hello[i].value);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct sdp_wire_hello small = golden_hello;

		small.rcvsz = sizes[i].rcvsz;
		sdp_wire_put_hello(bytes, &small);
		KUNIT_EXPECT_EQ_MSG(test,
				    sdp_wire_get_hello(&hello, bytes, sizeof(bytes)),
				    sizes[i].want, "size %u", sizes[i].rcvsz);
	}
}

/* Any byte that section 1.4 names no check for may have any value. */
static void sdp_wire_get_hello__rest_is_free(struct kunit *test)
{
	struct sdp_wire_hello hello;
	u8 bytes[SDP_LEN_HELLO];
	unsigned int at, value;

	for (at = 0; at < SDP_LEN_HELLO; at++) {
		if (at == 0 || (at >= 4 && at < 8) || at == 16 || at == 17 ||
		    at == 19 || (at >= 24 && at < 28))
			continue;
		memcpy(bytes, sdp_golden_hello, sizeof(bytes));
		for (value = 0; value < 256; value++) {
			bytes[at] = value;
			KUNIT_EXPECT_EQ_MSG(test,
					    sdp_wire_get_hello(&hello, bytes,
							       sizeof(bytes)),
					    SDP_WIRE_OK, "byte %#x = %#x", at,
					    value);
		}
	}
}

static void sdp_wire_put_hello_ack__golden(struct kunit *test)
{
	u8 *to = kunit_kmalloc(test, SDP_LEN_HELLO_ACK, GFP_KERNEL);
	struct sdp_wire_hello ack = golden_ack;

	KUNIT_ASSERT_NOT_NULL(test, to);
	memset(to, 0xa5, SDP_LEN_HELLO_ACK);
	sdp_wire_put_hello_ack(to, &ack);
	expect_bytes(test, to, sdp_golden_hello_ack, SDP_LEN_HELLO_ACK);

	ack.max_adverts = 0x100;
	/* The one capability that it can tell. */
	ack.cap = 0xff;
	sdp_wire_put_hello_ack(to, &ack);
	KUNIT_EXPECT_EQ(test, to[19], 0xff);
	KUNIT_EXPECT_EQ(test, to[17], SDP_CAP_INVALIDATE);
	KUNIT_EXPECT_EQ(test, sdp_wire_get_hello_ack(&ack, to, SDP_LEN_HELLO_ACK),
			SDP_WIRE_OK);
	KUNIT_EXPECT_EQ(test, ack.cap, SDP_CAP_INVALIDATE);
}

static void sdp_wire_get_hello_ack__golden(struct kunit *test)
{
	u8 *from = exact_copy(test, sdp_golden_hello_ack, SDP_LEN_HELLO_ACK);
	struct sdp_wire_hello ack;

	memset(&ack, 0xa5, sizeof(ack));
	KUNIT_ASSERT_EQ(test,
			sdp_wire_get_hello_ack(&ack, from, SDP_LEN_HELLO_ACK),
			SDP_WIRE_OK);
	expect_same_hello(test, &ack, &golden_ack);
}

static void sdp_wire_get_hello_ack__byte_counts(struct kunit *test)
{
	struct sdp_wire_hello ack;
	u32 bytes;

	/* Len in the golden one is 196: all that many must be there. */
	for (bytes = 0; bytes < SDP_LEN_HELLO_ACK; bytes++) {
		u8 *from = exact_copy(test, sdp_golden_hello_ack, bytes);

		KUNIT_EXPECT_EQ(test, sdp_wire_get_hello_ack(&ack, from, bytes),
				bytes < SDP_LEN_HELLO_ACK_MIN ?
				SDP_WIRE_SHORT : SDP_WIRE_BAD_LEN);
	}
	/* 24 bytes hold all that is used. */
	for (bytes = SDP_LEN_HELLO_ACK_MIN; bytes < 32; bytes++) {
		u8 *from = exact_copy(test, sdp_golden_hello_ack, bytes);

		set_len(from, bytes);
		KUNIT_EXPECT_EQ(test, sdp_wire_get_hello_ack(&ack, from, bytes),
				SDP_WIRE_OK);
	}
}

static void sdp_wire_get_hello_ack__len(struct kunit *test)
{
	static const struct {
		u32 len;
		enum sdp_wire_verdict want;
	} cases[] = {
		{ 0, SDP_WIRE_BAD_LEN },
		{ 16, SDP_WIRE_BAD_LEN },
		{ 23, SDP_WIRE_BAD_LEN },
		{ 24, SDP_WIRE_OK },
		{ 195, SDP_WIRE_OK },
		{ 196, SDP_WIRE_OK },
		{ 197, SDP_WIRE_BAD_LEN },
		{ 203, SDP_WIRE_BAD_LEN },
		{ 204, SDP_WIRE_OK },		/* the misprint of 1.3 */
		{ 205, SDP_WIRE_BAD_LEN },
		{ ~0u, SDP_WIRE_BAD_LEN },
	};
	struct sdp_wire_hello ack;
	u8 bytes[SDP_LEN_HELLO_ACK];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(bytes, sdp_golden_hello_ack, sizeof(bytes));
		set_len(bytes, cases[i].len);
		KUNIT_EXPECT_EQ_MSG(test,
				    sdp_wire_get_hello_ack(&ack, bytes, sizeof(bytes)),
				    cases[i].want, "Len %u", cases[i].len);
	}
}

static void sdp_wire_get_hello_ack__refuses(struct kunit *test)
{
	static const struct {
		u8 at, value;
		enum sdp_wire_verdict want;
	} cases[] = {
		{ 0x00, 0x00, SDP_WIRE_BAD_MID },
		{ 0x10, 0x11, SDP_WIRE_BAD_VERSION },
		{ 0x10, 0x2f, SDP_WIRE_OK },
		{ 0x11, 0xff, SDP_WIRE_OK },	/* reserved, or ipv_cap */
		{ 0x16, 0x00, SDP_WIRE_BAD_RCVSZ },	/* 32784 to 16 */
	};
	struct sdp_wire_hello ack = golden_ack;
	u8 bytes[SDP_LEN_HELLO_ACK];
	unsigned int i;

	for (ack.rcvsz = SDP_WIRE_RCVSZ_MIN - 1;
	     ack.rcvsz <= SDP_WIRE_RCVSZ_MIN + 1; ack.rcvsz++) {
		struct sdp_wire_hello got;

		sdp_wire_put_hello_ack(bytes, &ack);
		KUNIT_EXPECT_EQ_MSG(test,
				    sdp_wire_get_hello_ack(&got, bytes, sizeof(bytes)),
				    ack.rcvsz < SDP_WIRE_RCVSZ_MIN ?
				    SDP_WIRE_BAD_RCVSZ : SDP_WIRE_OK,
				    "size %u", ack.rcvsz);
	}
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(bytes, sdp_golden_hello_ack, sizeof(bytes));
		bytes[cases[i].at] = cases[i].value;
		KUNIT_EXPECT_EQ_MSG(test,
				    sdp_wire_get_hello_ack(&ack, bytes, sizeof(bytes)),
				    cases[i].want, "byte %#x = %#x",
				    cases[i].at, cases[i].value);
	}

	memcpy(bytes, sdp_golden_hello_ack, sizeof(bytes));
	bytes[0x13] = 0;
	KUNIT_ASSERT_EQ(test, sdp_wire_get_hello_ack(&ack, bytes, sizeof(bytes)),
			SDP_WIRE_OK);
	KUNIT_EXPECT_EQ(test, ack.max_adverts, 1);
}

static void sdp_wire_verdict_name__all(struct kunit *test)
{
	unsigned int verdict;

	KUNIT_EXPECT_STREQ(test, sdp_wire_verdict_name(SDP_WIRE_OK), "ok");
	KUNIT_EXPECT_STREQ(test, sdp_wire_verdict_name(SDP_WIRE_BAD_PORT + 1), "?");
	KUNIT_EXPECT_STREQ(test, sdp_wire_verdict_name(-1), "?");
	for (verdict = 0; verdict <= SDP_WIRE_BAD_PORT; verdict++) {
		KUNIT_ASSERT_NOT_NULL(test, sdp_wire_verdict_name(verdict));
		KUNIT_EXPECT_NE(test, strcmp(sdp_wire_verdict_name(verdict), "?"), 0);
	}
}

/* Peers that deliver a SrcAvail's header as data announce what these do (7). */
static void sdp_wire_takes_offers__peers(struct kunit *test)
{
	static const struct {
		u16 adverts;
		u32 rcvsz;
		bool takes;
	} peers[] = {
		{ 1, 32768, false }, { 1, 2064, false }, { 1, 16384, false },
		{ 1, 32784, true }, { 1, 4112, true },
		{ 2, 32768, true }, { 255, 4096, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		struct sdp_wire_hello peer = {
			.max_adverts = peers[i].adverts,
			.rcvsz = peers[i].rcvsz,
		};

		KUNIT_EXPECT_EQ_MSG(test, sdp_wire_takes_offers(&peer),
				    peers[i].takes, "peer %u", i);
	}
}

/* Addresses of IP over InfiniBand, and ports: the table says which is whose. */
static void sdp_wire_is_port__addresses(struct kunit *test)
{
	static const struct {
		u8 hwaddr[SDP_WIRE_IPOIB];
		u8 gid[SDP_WIRE_GID];
		bool is;
	} table[] = {
#define HEAD	0x80, 0x00, 0x02, 0x0b		/* flags: connected mode; QPN */
#define CHILD	0x00, 0x12, 0x34, 0x56		/* of another net device of the port */
#define CAME	0xfe, 0x80, 0, 0, 0, 0, 0, 0
#define SUBNET	0xfe, 0xc0, 0, 0, 0, 0, 0, 0x01
#define OTHER	0xfe, 0xc0, 0, 0, 0, 0, 0, 0x02
#define NEAR	0xfe, 0x80, 0, 0, 0, 0, 0, 0x01
#define PORT	0x00, 0x02, 0xc9, 0x03, 0x00, 0x3e, 0xb0, 0x51
#define PORT2	0x00, 0x02, 0xc9, 0x03, 0x00, 0x3e, 0xb0, 0x52
#define PORT3	0x01, 0x02, 0xc9, 0x03, 0x00, 0x3e, 0xb0, 0x51
#define NONE	0, 0, 0, 0, 0, 0, 0, 0
		{ { HEAD, CAME, PORT }, { CAME, PORT }, true },
		{ { HEAD, SUBNET, PORT }, { SUBNET, PORT }, true },
		{ { CHILD, SUBNET, PORT }, { SUBNET, PORT }, true },
		/* Learnt before, or after, the subnet had a prefix. */
		{ { HEAD, CAME, PORT }, { SUBNET, PORT }, true },
		{ { HEAD, SUBNET, PORT }, { CAME, PORT }, true },
		/* Another port of the card, another card. */
		{ { HEAD, CAME, PORT2 }, { CAME, PORT }, false },
		{ { HEAD, CAME, PORT }, { CAME, PORT2 }, false },
		{ { HEAD, SUBNET, PORT3 }, { SUBNET, PORT }, false },
		{ { HEAD, SUBNET, PORT }, { SUBNET, PORT3 }, false },
		/* Of another subnet. */
		{ { HEAD, SUBNET, PORT }, { OTHER, PORT }, false },
		{ { HEAD, NEAR, PORT }, { SUBNET, PORT }, false },
		{ { HEAD, SUBNET, PORT }, { NEAR, PORT }, false },
		/* Of a neighbour that has no address, or a path without one. */
		{ { 0, 0, 0, 0, NONE, NONE }, { CAME, PORT }, false },
		{ { HEAD, CAME, PORT }, { NONE, NONE }, false },
		{ { 0, 0, 0, 0, NONE, NONE }, { NONE, NONE }, false },
		{ { 0, 0, 0, 0, CAME, NONE }, { CAME, NONE }, false },
		/* The number of the port where the prefix is. */
		{ { HEAD, PORT, CAME }, { CAME, PORT }, false },
	};
	const void *hwaddr, *gid;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		hwaddr = exact_copy(test, table[i].hwaddr, SDP_WIRE_IPOIB);
		gid = exact_copy(test, table[i].gid, SDP_WIRE_GID);
		KUNIT_EXPECT_EQ_MSG(test, sdp_wire_is_port(hwaddr, gid),
				    table[i].is, "row %u", i);
	}
}

static struct kunit_case sdp_wire_cases[] = {
	KUNIT_CASE(sdp_wire_ext_len__every_mid),
	KUNIT_CASE(sdp_wire_put__golden),
	KUNIT_CASE(sdp_wire_put__extremes_return),
	KUNIT_CASE(sdp_wire_get__golden),
	KUNIT_CASE(sdp_wire_get__cut_short),
	KUNIT_CASE(sdp_wire_get__len_lies),
	KUNIT_CASE(sdp_wire_get__every_mid),
	KUNIT_CASE(sdp_wire_get__src_avail_inline),
	KUNIT_CASE(sdp_wire_get__mode_change_reserved),
	KUNIT_CASE(sdp_wire_put_hello__golden),
	KUNIT_CASE(sdp_wire_put_hello__extended_adverts),
	KUNIT_CASE(sdp_wire_put_hello__capabilities),
	KUNIT_CASE(sdp_wire_get_hello__golden),
	KUNIT_CASE(sdp_wire_get_hello__any_alignment),
	KUNIT_CASE(sdp_wire_get_hello__byte_counts),
	KUNIT_CASE(sdp_wire_get_hello__refuses),
	KUNIT_CASE(sdp_wire_get_hello__rest_is_free),
	KUNIT_CASE(sdp_wire_put_hello_ack__golden),
	KUNIT_CASE(sdp_wire_get_hello_ack__golden),
	KUNIT_CASE(sdp_wire_get_hello_ack__byte_counts),
	KUNIT_CASE(sdp_wire_get_hello_ack__len),
	KUNIT_CASE(sdp_wire_get_hello_ack__refuses),
	KUNIT_CASE(sdp_wire_verdict_name__all),
	KUNIT_CASE(sdp_wire_takes_offers__peers),
	KUNIT_CASE(sdp_wire_is_port__addresses),
	{}
};

static struct kunit_suite sdp_wire_suite = {
	.name = "sdp_wire",
	.test_cases = sdp_wire_cases,
};

kunit_test_suite(sdp_wire_suite);

MODULE_DESCRIPTION("KUnit suites for the pure files of AF_SDP");
MODULE_LICENSE("GPL");
