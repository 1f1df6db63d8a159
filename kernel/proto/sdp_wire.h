/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layout of SDP messages, and the only functions that read or write their
 * bytes.
 *
 * Pure: types and byte order, nothing else of the kernel.  KUnit and the
 * user-space tests compile this file as it stands.
 *
 * The protocol text, whose sections are cited here and elsewhere, is
 * docs/protocol.md: 1.2 Hello, 1.3 HelloAck, 2.1 BSDH, 2.3 extended headers.
 */
#ifndef _SDP_WIRE_H
#define _SDP_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* Message identifiers, 2.2. */
enum sdp_mid {
	SDP_MID_HELLO			= 0x00,
	SDP_MID_HELLO_ACK		= 0x01,
	SDP_MID_DISCONN			= 0x02,
	SDP_MID_ABORT_CONN		= 0x03,
	SDP_MID_SEND_SM			= 0x04,
	SDP_MID_RDMA_WR_COMPL		= 0x05,
	SDP_MID_RDMA_RD_COMPL		= 0x06,
	SDP_MID_MODE_CHANGE		= 0x07,
	SDP_MID_SRC_AVAIL_CANCEL	= 0x08,
	SDP_MID_SINK_AVAIL_CANCEL	= 0x09,
	SDP_MID_SINK_CANCEL_ACK		= 0x0a,
	SDP_MID_CH_RCV_BUF		= 0x0b,
	SDP_MID_CH_RCV_BUF_ACK		= 0x0c,
	SDP_MID_SUSP_COMM		= 0x0d,
	SDP_MID_SUSP_COMM_ACK		= 0x0e,
	SDP_MID_EXPERIMENTAL_FIRST	= 0x40,
	SDP_MID_EXPERIMENTAL_LAST	= 0x7f,
	SDP_MID_SINK_AVAIL		= 0xfd,
	SDP_MID_SRC_AVAIL		= 0xfe,
	SDP_MID_DATA			= 0xff,
};

/* BSDH flags, 2.1.  Other bits: sent 0, ignored on receipt. */
enum sdp_flags {
	SDP_FLAG_OOB_PRES	= 0x01,	/* the last payload byte is urgent */
	SDP_FLAG_OOB_PEND	= 0x02,	/* urgent data is queued behind it */
	SDP_FLAG_REQ_PIPE	= 0x04,	/* the sink would like pipelined mode */
};

/* Capabilities (1.2); a HelloAck has SDP_CAP_INVALIDATE only (1.3). */
enum sdp_hello_cap {
	SDP_CAP_INVALIDATE		= 0x1,	/* accepts Send-with-Invalidate */
	SDP_CAP_EXTENDED_MAXADVERTS	= 0x2,	/* ext_max_adverts counts */
};

enum sdp_wire_const {
	SDP_WIRE_VERSION	= 0x22,	/* major 2, minor 2 */
	SDP_WIRE_VERSION_MAJOR	= 0x2,
	/* A receive buffer must hold a BSDH, the largest extended header and
	 * some data; the annex's own minimum is not known (1.4).
	 */
	SDP_WIRE_RCVSZ_MIN	= 64,
	/* Receive buffers to post at least (3.3); sdp_flow_owes_update() relies
	 * on it.
	 */
	SDP_WIRE_CREDITS_MIN	= 4,
};

struct sdp_wire_bsdh {
	u8	mid;
	u8	flags;
	__be16	bufs;
	__be32	len;
	__be32	mseq;
	__be32	mseq_ack;
};

static_assert(sizeof(struct sdp_wire_bsdh) == 16);

struct sdp_wire_hh {
	u8	version;		/* major in bits 7:4, minor in 3:0 */
	u8	ipv_cap;		/* 4 or 6 in bits 7:4, capabilities in 3:0 */
	u8	reserved1;
	u8	max_adverts;
	__be32	des_rem_rcvsz;
	__be32	local_rcvsz;
	__be16	local_port;
	__be16	reserved2;
	u8	src_ip[16];
	u8	dst_ip[16];
	__be16	reserved3;
	__be16	ext_max_adverts;
	u8	reserved4[24];
};

static_assert(sizeof(struct sdp_wire_hh) == 76);

struct sdp_wire_hah {
	u8	version;
	u8	cap;			/* capabilities in bits 3:0; others send 0 */
	u8	reserved2;
	u8	max_adverts;
	__be32	act_rcvsz;
	u8	reserved3[172];
};

static_assert(sizeof(struct sdp_wire_hah) == 180);

struct sdp_wire_srcah {
	__be32	len;			/* of the whole buffer, inline bytes too */
	__be32	rkey;
	__be64	va;
};

static_assert(sizeof(struct sdp_wire_srcah) == 16);

struct sdp_wire_sinkah {
	__be32	len;
	__be32	rkey;
	__be64	va;
	__be32	non_discards;
} __packed;

static_assert(sizeof(struct sdp_wire_sinkah) == 20);

enum sdp_wire_len {
	SDP_LEN_BSDH		= sizeof(struct sdp_wire_bsdh),
	SDP_LEN_HELLO		= SDP_LEN_BSDH + sizeof(struct sdp_wire_hh),
	SDP_LEN_HELLO_ACK	= SDP_LEN_BSDH + sizeof(struct sdp_wire_hah),
	/* Shortest HelloAck that is accepted: up to and with ActRcvSz (1.4). */
	SDP_LEN_HELLO_ACK_MIN	= 24,
	SDP_LEN_EXT_MAX		= sizeof(struct sdp_wire_sinkah),
	SDP_LEN_HDR_MAX		= SDP_LEN_BSDH + SDP_LEN_EXT_MAX,
};

static_assert(SDP_LEN_HELLO == 92);
static_assert(SDP_LEN_HELLO_ACK == 196);

/*
 * A message in host byte order: the BSDH and, by its MID, the extended header.
 * sdp_wire_put() writes it, sdp_wire_get() reads it.
 */
struct sdp_wire_msg {
	u8	mid;
	u8	flags;
	u16	bufs;
	u32	len;		/* bytes of the whole message */
	u32	mseq;
	u32	mseq_ack;
	union {
		struct {	/* SrcAvail; SinkAvail has non_discards too */
			u32	len;
			u32	rkey;
			u64	va;
			u32	non_discards;
		} avail;
		u32	bytes;	/* RdmaRdCompl, RdmaWrCompl: bytes moved */
		u32	rcvsz;	/* ChRcvBuf, ChRcvBufAck: buffer size in bytes */
		u8	mode;	/* ModeChange: MCH byte 0 */
		u64	sid;	/* SuspComm: service id */
	} ext;
};

/* The Hello and the HelloAck in host byte order. */
struct sdp_wire_hello {
	u16	bufs;		/* receive buffers posted by its sender */
	u8	version;
	u8	ipv;		/* 4 or 6; Hello only */
	u8	cap;		/* enum sdp_hello_cap */
	u16	max_adverts;	/* 16 bits with EXTENDED_MAXADVERTS, else 8 */
	u32	des_rcvsz;	/* bytes with BSDH; Hello only */
	u32	rcvsz;		/* LocalRcvSz or ActRcvSz, bytes with BSDH */
	u16	port;		/* LocalPort, host order; Hello only */
	u8	src_ip[16];	/* IPv6, or IPv4 behind 12 zero bytes */
	u8	dst_ip[16];
};

/* Why a Hello, HelloAck or other message was refused. */
enum sdp_wire_verdict {
	SDP_WIRE_OK,
	SDP_WIRE_SHORT,		/* fewer bytes than the message needs */
	SDP_WIRE_BAD_MID,
	SDP_WIRE_BAD_LEN,	/* Len is not the byte count, or not the fixed one */
	SDP_WIRE_BAD_VERSION,
	SDP_WIRE_BAD_IPV,
	SDP_WIRE_BAD_ADVERTS,	/* MaxAdverts is 0 */
	SDP_WIRE_BAD_RCVSZ,	/* less than SDP_WIRE_RCVSZ_MIN */
	SDP_WIRE_BAD_EXT,	/* the extended header contradicts itself */
	SDP_WIRE_BAD_PORT,	/* LocalPort is 0: by sdp_session_get_hello() */
};

unsigned int sdp_wire_ext_len(u8 mid);
unsigned int sdp_wire_put(void *to, const struct sdp_wire_msg *msg);
enum sdp_wire_verdict sdp_wire_get(struct sdp_wire_msg *msg, const void *from,
				   u32 bytes);

/**
 * sdp_wire_payload() - bytes of user data in a message
 * @msg: the message; sdp_wire_get() has accepted it
 *
 * Context: any; pure.
 * Return: bytes behind the BSDH and the extended header.
 */
static inline u32 sdp_wire_payload(const struct sdp_wire_msg *msg)
{
	return msg->len - SDP_LEN_BSDH - sdp_wire_ext_len(msg->mid);
}

void sdp_wire_put_hello(void *to, const struct sdp_wire_hello *hello);
enum sdp_wire_verdict sdp_wire_get_hello(struct sdp_wire_hello *hello,
					 const void *from, u32 bytes);
bool sdp_wire_takes_offers(const struct sdp_wire_hello *peer);
void sdp_wire_put_hello_ack(void *to, const struct sdp_wire_hello *ack);
enum sdp_wire_verdict sdp_wire_get_hello_ack(struct sdp_wire_hello *ack,
					     const void *from, u32 bytes);

enum {
	SDP_WIRE_GID	= 16,	/* bytes of a GID */
	SDP_WIRE_IPOIB	= 20,	/* bytes of an IPoIB hardware address */
};

bool sdp_wire_is_port(const void *hwaddr, const void *gid);
const char *sdp_wire_verdict_name(enum sdp_wire_verdict verdict);

#endif
