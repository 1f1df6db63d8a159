// SPDX-License-Identifier: GPL-2.0
/*
 * Encoding and decoding of SDP messages.
 *
 * One table of 256 entries, indexed by message identifier, has the size of the
 * extended header and whether user data may follow.  sdp_wire_get() makes the
 * checks of section 5.3 before anything else uses a number of a received
 * message.  What passes can be used without further checks: the extended
 * header is there, and sdp_wire_payload() cannot underflow.
 *
 * The functions keep no state, allocate nothing, and read no byte beyond the
 * count that they are given.  Messages of the data path (put, get) lie in
 * buffers aligned to 8 bytes and are accessed in place.  A Hello or HelloAck
 * comes out of a CM datagram with an alignment of its own and is copied first.
 */

#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "sdp_wire.h"

/* Entry of sdp_wire_kind[] for a MID; 0: the MID must not arrive. */
enum sdp_wire_kind_bits {
	KIND_EXT	= 0x1f,		/* bytes of the extended header */
	KIND_PAYLOAD	= 0x40,		/* user data may follow */
	KIND_KNOWN	= 0x80,
};

static_assert(sizeof(struct sdp_wire_sinkah) <= KIND_EXT);

static const u8 sdp_wire_kind[256] = {
	[SDP_MID_DISCONN]		= KIND_KNOWN,
	[SDP_MID_ABORT_CONN]		= KIND_KNOWN,
	[SDP_MID_SEND_SM]		= KIND_KNOWN,
	[SDP_MID_RDMA_WR_COMPL]		= KIND_KNOWN | sizeof(__be32),
	[SDP_MID_RDMA_RD_COMPL]		= KIND_KNOWN | sizeof(__be32),
	[SDP_MID_MODE_CHANGE]		= KIND_KNOWN | sizeof(__be32),
	[SDP_MID_SRC_AVAIL_CANCEL]	= KIND_KNOWN,
	[SDP_MID_SINK_AVAIL_CANCEL]	= KIND_KNOWN,
	[SDP_MID_SINK_CANCEL_ACK]	= KIND_KNOWN,
	[SDP_MID_CH_RCV_BUF]		= KIND_KNOWN | sizeof(__be32),
	[SDP_MID_CH_RCV_BUF_ACK]	= KIND_KNOWN | sizeof(__be32),
	[SDP_MID_SUSP_COMM]		= KIND_KNOWN | sizeof(__be64),
	[SDP_MID_SUSP_COMM_ACK]		= KIND_KNOWN,
	/* Their content is unknown, so any length is accepted. */
	[SDP_MID_EXPERIMENTAL_FIRST ... SDP_MID_EXPERIMENTAL_LAST] =
					  KIND_KNOWN | KIND_PAYLOAD,
	/* No payload.  By 2.3 a SinkAvail may carry data of the other half, but
	 * 4.4 does not say whether such data counts in NonDiscards.  It could
	 * not be put in order, so it is refused.
	 */
	[SDP_MID_SINK_AVAIL]		= KIND_KNOWN |
					  sizeof(struct sdp_wire_sinkah),
	[SDP_MID_SRC_AVAIL]		= KIND_KNOWN | KIND_PAYLOAD |
					  sizeof(struct sdp_wire_srcah),
	[SDP_MID_DATA]			= KIND_KNOWN | KIND_PAYLOAD,
};

/**
 * sdp_wire_ext_len() - size of the extended header that follows the BSDH
 * @mid: message identifier, from the wire
 *
 * Context: any; pure.
 * Return: bytes, at most SDP_LEN_EXT_MAX; 0 for a MID that is unknown or has no
 * extended header.  Hello and HelloAck are not covered.
 */
unsigned int sdp_wire_ext_len(u8 mid)
{
	return sdp_wire_kind[mid] & KIND_EXT;
}

static void put_ext(void *to, const struct sdp_wire_msg *msg)
{
	struct sdp_wire_sinkah *sinkah = to;
	struct sdp_wire_srcah *srcah = to;

	switch (msg->mid) {
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_RDMA_RD_COMPL:
		*(__be32 *)to = cpu_to_be32(msg->ext.bytes);
		break;
	case SDP_MID_MODE_CHANGE:
		/* The mode is byte 0; the three behind it are reserved. */
		*(__be32 *)to = cpu_to_be32((u32)msg->ext.mode << 24);
		break;
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		*(__be32 *)to = cpu_to_be32(msg->ext.rcvsz);
		break;
	case SDP_MID_SUSP_COMM:
		*(__be64 *)to = cpu_to_be64(msg->ext.sid);
		break;
	case SDP_MID_SRC_AVAIL:
		srcah->len = cpu_to_be32(msg->ext.avail.len);
		srcah->rkey = cpu_to_be32(msg->ext.avail.rkey);
		srcah->va = cpu_to_be64(msg->ext.avail.va);
		break;
	case SDP_MID_SINK_AVAIL:
		sinkah->len = cpu_to_be32(msg->ext.avail.len);
		sinkah->rkey = cpu_to_be32(msg->ext.avail.rkey);
		sinkah->va = cpu_to_be64(msg->ext.avail.va);
		sinkah->non_discards = cpu_to_be32(msg->ext.avail.non_discards);
		break;
	}
}

/**
 * sdp_wire_put() - write the BSDH and the extended header of a message
 * @to: room for at least SDP_LEN_BSDH + sdp_wire_ext_len(@msg->mid) bytes
 * @msg: what to write; @msg->len includes the payload
 *
 * Context: any; pure.
 * Return: bytes written.
 */
unsigned int sdp_wire_put(void *to, const struct sdp_wire_msg *msg)
{
	unsigned int ext_len = sdp_wire_ext_len(msg->mid);
	struct sdp_wire_bsdh *bsdh = to;

	bsdh->mid = msg->mid;
	bsdh->flags = msg->flags;
	bsdh->bufs = cpu_to_be16(msg->bufs);
	bsdh->len = cpu_to_be32(msg->len);
	bsdh->mseq = cpu_to_be32(msg->mseq);
	bsdh->mseq_ack = cpu_to_be32(msg->mseq_ack);
	if (ext_len)
		put_ext(bsdh + 1, msg);
	return SDP_LEN_BSDH + ext_len;
}

static void get_ext(struct sdp_wire_msg *msg, const void *from)
{
	const struct sdp_wire_sinkah *sinkah = from;
	const struct sdp_wire_srcah *srcah = from;

	switch (msg->mid) {
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_RDMA_RD_COMPL:
		msg->ext.bytes = be32_to_cpu(*(const __be32 *)from);
		break;
	case SDP_MID_MODE_CHANGE:
		msg->ext.mode = *(const u8 *)from;
		break;
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		msg->ext.rcvsz = be32_to_cpu(*(const __be32 *)from);
		break;
	case SDP_MID_SUSP_COMM:
		msg->ext.sid = be64_to_cpu(*(const __be64 *)from);
		break;
	case SDP_MID_SRC_AVAIL:
		msg->ext.avail.len = be32_to_cpu(srcah->len);
		msg->ext.avail.rkey = be32_to_cpu(srcah->rkey);
		msg->ext.avail.va = be64_to_cpu(srcah->va);
		msg->ext.avail.non_discards = 0;
		break;
	case SDP_MID_SINK_AVAIL:
		msg->ext.avail.len = be32_to_cpu(sinkah->len);
		msg->ext.avail.rkey = be32_to_cpu(sinkah->rkey);
		msg->ext.avail.va = be64_to_cpu(sinkah->va);
		msg->ext.avail.non_discards = be32_to_cpu(sinkah->non_discards);
		break;
	}
}

/**
 * sdp_wire_get() - read and check the BSDH and the extended header
 * @msg: filled in; valid only when the verdict is SDP_WIRE_OK
 * @from: the message as it arrived
 * @bytes: the completion's byte count
 *
 * Checks of 5.3: byte count at least 16 plus the extended header, Len equal to
 * the byte count, messages without payload exactly as long as their headers,
 * a SrcAvail's inline bytes within its Len, no Hello or HelloAck.  Reserved
 * MIDs are SDP_WIRE_BAD_MID; experimental ones (0x40..0x7f) pass.
 *
 * Context: any; pure.
 * Return: SDP_WIRE_OK, SDP_WIRE_SHORT, SDP_WIRE_BAD_MID, SDP_WIRE_BAD_LEN or
 * SDP_WIRE_BAD_EXT.
 */
enum sdp_wire_verdict sdp_wire_get(struct sdp_wire_msg *msg, const void *from,
				   u32 bytes)
{
	const struct sdp_wire_bsdh *bsdh = from;
	u32 head;
	u8 kind;

	if (bytes < SDP_LEN_BSDH)
		return SDP_WIRE_SHORT;
	kind = sdp_wire_kind[bsdh->mid];
	if (!kind)
		return SDP_WIRE_BAD_MID;
	head = SDP_LEN_BSDH + (kind & KIND_EXT);
	if (bytes < head)
		return SDP_WIRE_SHORT;

	msg->mid = bsdh->mid;
	msg->flags = bsdh->flags;
	msg->bufs = be16_to_cpu(bsdh->bufs);
	msg->len = be32_to_cpu(bsdh->len);
	msg->mseq = be32_to_cpu(bsdh->mseq);
	msg->mseq_ack = be32_to_cpu(bsdh->mseq_ack);
	if (msg->len != bytes)
		return SDP_WIRE_BAD_LEN;
	if (bytes != head && !(kind & KIND_PAYLOAD))
		return SDP_WIRE_BAD_LEN;
	if (kind & KIND_EXT) {
		get_ext(msg, bsdh + 1);
		if (msg->mid == SDP_MID_SRC_AVAIL &&
		    msg->ext.avail.len < bytes - head)
			return SDP_WIRE_BAD_EXT;
	}
	return SDP_WIRE_OK;
}

/* In Hello and HelloAck MSeq and MSeqAck are 0: the numbers start there. */
static void put_hello_bsdh(struct sdp_wire_bsdh *bsdh, u8 mid, u16 bufs, u32 len)
{
	bsdh->mid = mid;
	bsdh->bufs = cpu_to_be16(bufs);
	bsdh->len = cpu_to_be32(len);
}

/* MaxAdverts is one byte: a larger 16-bit value becomes 255. */
static u8 max_adverts_byte(u16 max_adverts)
{
	return max_adverts < 0xff ? max_adverts : 0xff;
}

/**
 * sdp_wire_put_hello() - write a Hello, 92 bytes
 * @to: at least SDP_LEN_HELLO bytes
 * @hello: its fields; the version is written as given
 *
 * Context: any; pure.
 */
void sdp_wire_put_hello(void *to, const struct sdp_wire_hello *hello)
{
	struct sdp_wire_bsdh bsdh = {};
	struct sdp_wire_hh hh = {};

	put_hello_bsdh(&bsdh, SDP_MID_HELLO, hello->bufs, SDP_LEN_HELLO);
	hh.version = hello->version;
	hh.ipv_cap = (u8)(hello->ipv << 4) | (hello->cap & 0x0f);
	hh.max_adverts = max_adverts_byte(hello->max_adverts);
	hh.des_rem_rcvsz = cpu_to_be32(hello->des_rcvsz);
	hh.local_rcvsz = cpu_to_be32(hello->rcvsz);
	hh.local_port = cpu_to_be16(hello->port);
	memcpy(hh.src_ip, hello->src_ip, sizeof(hh.src_ip));
	memcpy(hh.dst_ip, hello->dst_ip, sizeof(hh.dst_ip));
	if (hello->cap & SDP_CAP_EXTENDED_MAXADVERTS)
		hh.ext_max_adverts = cpu_to_be16(hello->max_adverts);

	memcpy(to, &bsdh, sizeof(bsdh));
	memcpy((u8 *)to + sizeof(bsdh), &hh, sizeof(hh));
}

/**
 * sdp_wire_get_hello() - read and check a Hello as section 1.4 says
 * @hello: filled in; valid only when the verdict is SDP_WIRE_OK
 * @from: the CM REQ's private data
 * @bytes: size of the private data; 92 or more (the CM hands up all it has)
 *
 * Context: any; pure.
 * Return: SDP_WIRE_OK, or what is wrong.  Whether the addresses are those of
 * the path is not checked here.
 */
enum sdp_wire_verdict sdp_wire_get_hello(struct sdp_wire_hello *hello,
					 const void *from, u32 bytes)
{
	struct sdp_wire_bsdh bsdh;
	struct sdp_wire_hh hh;

	if (bytes < SDP_LEN_HELLO)
		return SDP_WIRE_SHORT;
	memcpy(&bsdh, from, sizeof(bsdh));
	memcpy(&hh, (const u8 *)from + sizeof(bsdh), sizeof(hh));

	hello->bufs = be16_to_cpu(bsdh.bufs);
	hello->version = hh.version;
	hello->ipv = hh.ipv_cap >> 4;
	hello->cap = hh.ipv_cap & 0x0f;
	hello->max_adverts = hh.max_adverts;
	if (hello->cap & SDP_CAP_EXTENDED_MAXADVERTS)
		hello->max_adverts = be16_to_cpu(hh.ext_max_adverts);
	hello->des_rcvsz = be32_to_cpu(hh.des_rem_rcvsz);
	hello->rcvsz = be32_to_cpu(hh.local_rcvsz);
	hello->port = be16_to_cpu(hh.local_port);
	memcpy(hello->src_ip, hh.src_ip, sizeof(hello->src_ip));
	memcpy(hello->dst_ip, hh.dst_ip, sizeof(hello->dst_ip));

	if (bsdh.mid != SDP_MID_HELLO)
		return SDP_WIRE_BAD_MID;
	if (be32_to_cpu(bsdh.len) != SDP_LEN_HELLO)
		return SDP_WIRE_BAD_LEN;
	if (hello->version >> 4 != SDP_WIRE_VERSION_MAJOR)
		return SDP_WIRE_BAD_VERSION;
	if (hello->ipv != 4 && hello->ipv != 6)
		return SDP_WIRE_BAD_IPV;
	/* The byte must not be 0 even where the 16 bits replace it (1.2). */
	if (!hh.max_adverts || !hello->max_adverts)
		return SDP_WIRE_BAD_ADVERTS;
	if (hello->rcvsz < SDP_WIRE_RCVSZ_MIN)
		return SDP_WIRE_BAD_RCVSZ;
	return SDP_WIRE_OK;
}

/**
 * sdp_wire_takes_offers() - whether a peer understands SrcAvail
 * @peer: its Hello or HelloAck
 *
 * No bit says so, and some implementations deliver the header of a SrcAvail as
 * data (section 7).  Those announce MaxAdverts 1, and a buffer size that is
 * never the size announced by an implementation that understands SrcAvail.
 *
 * Context: any; pure.
 * Return: true if a SrcAvail may be sent to it.
 */
bool sdp_wire_takes_offers(const struct sdp_wire_hello *peer)
{
	return peer->max_adverts > 1 || peer->rcvsz % 4096 == SDP_LEN_BSDH;
}

/**
 * sdp_wire_put_hello_ack() - write a HelloAck, 196 bytes
 * @to: at least SDP_LEN_HELLO_ACK bytes
 * @ack: uses bufs, version, cap, max_adverts (at most 255) and rcvsz
 *
 * Context: any; pure.
 */
void sdp_wire_put_hello_ack(void *to, const struct sdp_wire_hello *ack)
{
	struct sdp_wire_bsdh bsdh = {};
	struct sdp_wire_hah hah = {};

	put_hello_bsdh(&bsdh, SDP_MID_HELLO_ACK, ack->bufs, SDP_LEN_HELLO_ACK);
	hah.version = ack->version;
	hah.cap = ack->cap & SDP_CAP_INVALIDATE;
	hah.max_adverts = max_adverts_byte(ack->max_adverts);
	hah.act_rcvsz = cpu_to_be32(ack->rcvsz);

	memcpy(to, &bsdh, sizeof(bsdh));
	memcpy((u8 *)to + sizeof(bsdh), &hah, sizeof(hah));
}

/**
 * sdp_wire_get_hello_ack() - read and check a HelloAck
 * @ack: filled in; a MaxAdverts of 0 is taken for 1 (1.3)
 * @from: the CM REP's private data
 * @bytes: size of the private data; Len may be any value from 24 to @bytes, or
 *	the misprinted 204, though the CM cuts that at 196
 *
 * Context: any; pure.
 * Return: SDP_WIRE_OK, or what is wrong.
 */
enum sdp_wire_verdict sdp_wire_get_hello_ack(struct sdp_wire_hello *ack,
					     const void *from, u32 bytes)
{
	/* What the annex once printed: 8 bytes more than a CM REP can hold. */
	const u32 misprinted = SDP_LEN_HELLO_ACK + 8;
	struct sdp_wire_bsdh bsdh;
	struct sdp_wire_hah hah;
	u32 len;

	if (bytes < SDP_LEN_HELLO_ACK_MIN)
		return SDP_WIRE_SHORT;
	memcpy(&bsdh, from, sizeof(bsdh));
	memcpy(&hah, (const u8 *)from + sizeof(bsdh),
	       SDP_LEN_HELLO_ACK_MIN - sizeof(bsdh));
	len = be32_to_cpu(bsdh.len);

	memset(ack, 0, sizeof(*ack));
	ack->bufs = be16_to_cpu(bsdh.bufs);
	ack->version = hah.version;
	ack->cap = hah.cap & SDP_CAP_INVALIDATE;
	ack->max_adverts = hah.max_adverts ? hah.max_adverts : 1;
	ack->rcvsz = be32_to_cpu(hah.act_rcvsz);

	if (bsdh.mid != SDP_MID_HELLO_ACK)
		return SDP_WIRE_BAD_MID;
	if (len < SDP_LEN_HELLO_ACK_MIN || (len > bytes && len != misprinted))
		return SDP_WIRE_BAD_LEN;
	if (ack->version >> 4 != SDP_WIRE_VERSION_MAJOR)
		return SDP_WIRE_BAD_VERSION;
	if (ack->rcvsz < SDP_WIRE_RCVSZ_MIN)
		return SDP_WIRE_BAD_RCVSZ;
	return SDP_WIRE_OK;
}

/**
 * sdp_wire_is_port() - whether an IPoIB hardware address is that of a port
 * @hwaddr: hardware address of IP over InfiniBand, SDP_WIRE_IPOIB bytes: flags,
 *	queue pair number (three bytes), and the GID of a port (RFC 4391, 9.1.1)
 * @gid: GID of the port, SDP_WIRE_GID bytes: the prefix of the subnet and the
 *	unique number of the port
 *
 * A port has its GID with the default prefix, fe80::/64, and with the prefix of
 * its subnet.  An address that was learnt before a subnet manager assigned the
 * latter means the same port, so a default prefix matches any other.  Net
 * devices of one port differ in flags or queue pair number only, or have a GID
 * of their own.
 *
 * Context: any; pure.
 * Return: true if it is.
 */
bool sdp_wire_is_port(const void *hwaddr, const void *gid)
{
	static const u8 came_with[8] = { 0xfe, 0x80 };
	static const u8 none[8];
	const u8 *its = (const u8 *)hwaddr + SDP_WIRE_IPOIB - SDP_WIRE_GID;
	const u8 *this = gid;

	return !memcmp(its + 8, this + 8, 8) && memcmp(this + 8, none, 8) &&
	       (!memcmp(its, this, 8) || !memcmp(its, came_with, 8) ||
		!memcmp(this, came_with, 8));
}

/**
 * sdp_wire_verdict_name() - a verdict in words, for traces
 * @verdict: any value
 *
 * Context: any; pure.
 * Return: a constant string.
 */
const char *sdp_wire_verdict_name(enum sdp_wire_verdict verdict)
{
	static const char * const names[] = {
		[SDP_WIRE_OK]		= "ok",
		[SDP_WIRE_SHORT]	= "short",
		[SDP_WIRE_BAD_MID]	= "bad MID",
		[SDP_WIRE_BAD_LEN]	= "bad Len",
		[SDP_WIRE_BAD_VERSION]	= "bad version",
		[SDP_WIRE_BAD_IPV]	= "bad IPV",
		[SDP_WIRE_BAD_ADVERTS]	= "bad MaxAdverts",
		[SDP_WIRE_BAD_RCVSZ]	= "bad buffer size",
		[SDP_WIRE_BAD_EXT]	= "bad extended header",
		[SDP_WIRE_BAD_PORT]	= "bad port",
	};

	if ((unsigned int)verdict > SDP_WIRE_BAD_PORT)
		return "?";
	return names[verdict];
}
