/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * AF_SDP: stream sockets over RDMA (Sockets Direct Protocol).
 *
 * This header is the manual of the programming interface.
 *
 * Three ways to a socket; all give the same object, a TCP socket that carries
 * its bytes over SDP where it can:
 *
 *   socket(AF_INET_SDP, SOCK_STREAM, 0 or IPPROTO_TCP)
 *	The historic family number.  Addresses are struct sockaddr_in; 27 is
 *	accepted in sin_family and never returned.  Security modules do not
 *	know it there: Landlock's rules for ports are not asked about such an
 *	address.  Module parameter family_addr=0 refuses it (EAFNOSUPPORT), as
 *	the other two ways always do.
 *   socket(AF_INET or AF_INET6, SOCK_STREAM, IPPROTO_SDP)
 *	For programs inside filters that allow only AF_INET and AF_INET6.
 *   setsockopt(fd, SOL_TCP, TCP_ULP, "sdp", 3)
 *	On a TCP socket that is neither connected nor listening: EOPNOTSUPP
 *	otherwise, ENOENT if the module is not loaded.
 *
 * Through the first two a program asked for SDP and gets SDP or an error:
 * connect() fails with ENETUNREACH where no RDMA device reaches the address,
 * a listener resets plain TCP clients (net.sdp.fallback changes both).
 * Through the third it asked for TCP: what cannot go by SDP goes by TCP, and
 * SDP_INFO tells why.
 */
#ifndef _UAPI_LINUX_SDP_H
#define _UAPI_LINUX_SDP_H

#include <linux/types.h>

#ifndef AF_INET_SDP
#define AF_INET_SDP	27
#endif
#ifndef IPPROTO_SDP
#define IPPROTO_SDP	257
#endif
/* Name for TCP_ULP, without its closing zero byte. */
#define SDP_ULP_NAME	"sdp"

/* Level for getsockopt() and setsockopt(). */
#ifndef SOL_SDP
#define SOL_SDP		1025
#endif

/*
 * Options at SOL_SDP.
 *
 * SDP_INFO (get): struct sdp_info.  Copies as much as the caller has room for
 *	and returns that size; the structure grows at its end only.  EINVAL if
 *	there is room for less than 8 bytes.  A socket that has fallen back is
 *	TCP's, which answers this level by EOPNOTSUPP, with IPv6 ENOPROTOOPT:
 *	ask such a one by IP_SDP_INFO.
 * SDP_FALLBACK (get, set): int, 1 if connect() may go by TCP and plain TCP
 *	clients are accepted, 0 if not.  Default: net.sdp.fallback for the
 *	first two ways to a socket, 1 for the third.  EINVAL for other values,
 *	EISCONN once connecting or listening.
 * SDP_ZCOPY (get, set): int, bytes.  A blocking send() of so many is offered to
 *	the peer to be read where it is, and a blocking recv() with room for so
 *	many read into, instead of being copied.  So is a send with MSG_ZEROCOPY
 *	(or io_uring's SEND_ZC, or pages by sendfile() and splice()), whether it
 *	blocks or not: it returns before the peer has read, four times SO_SNDBUF
 *	may be lent so, and what the peer has not come for within
 *	net.sdp.zcopy_wait is copied.  0: never, and what the peer
 *	offers is refused.  -1, the default: net.sdp.zcopy_thresh (65536).  At any
 *	time; accepted sockets have their listener's.  EINVAL for less than -1.
 */
enum {
	SDP_INFO	= 1,
	SDP_FALLBACK	= 2,
	SDP_ZCOPY	= 3,
};

/* SDP_ZCOPY of SOL_SDP by its historic name, at SOL_TCP. */
#define SDP_ZCOPY_THRESH	80

/*
 * IP_SDP_INFO (get), at SOL_IP on IPv4 sockets and SOL_IPV6 on IPv6 sockets:
 *	SDP_INFO of any TCP socket, ours or not: "does SDP carry this, and if
 *	not, why?"  Of one that has fallen back, and of a plain TCP client that
 *	a listener of ours has accepted, sdpi_transport is SDP_TRANSPORT_TCP,
 *	sdpi_reason says why, sdpi_state is TCP's, and the rest is 0.
 *	ENOPROTOOPT where SDP was never tried, or so long ago that
 *	net.sdp.fallback_records (1024) others have fallen back since; and if
 *	the module is not loaded.
 */
#define IP_SDP_INFO	0x5d50

/* sdp_info.sdpi_transport: what carries the bytes. */
enum {
	SDP_TRANSPORT_NONE	= 0,	/* not connected */
	SDP_TRANSPORT_IB	= 1,	/* RDMA verbs: InfiniBand, RoCE, soft-RoCE */
	SDP_TRANSPORT_TCP	= 2,	/* fallen back */
	SDP_TRANSPORT_LOCAL	= 3,	/* the other end is on this host: by memory */
};

/* Why a connection is not SDP: sdp_info.sdpi_reason, counters, trace points. */
#define SDP_REASONS(X) \
	X(NONE,		"none",		"it is SDP, or nothing was tried yet") \
	X(NO_DEVICE,	"no_device",	"no RDMA device reaches the address") \
	X(NO_ROUTE,	"no_route",	"the address or its route could not be resolved") \
	X(REFUSED,	"refused",	"the peer rejected: no SDP listener") \
	X(TIMEOUT,	"timeout",	"the peer did not answer in time") \
	X(PROTOCOL,	"protocol",	"the peer's answer was not valid SDP") \
	X(LIMIT,	"limit", \
	  "net.sdp.max_conns or max_conns_user reached, no memory, or no port") \
	X(LOOPBACK,	"loopback",	"127.0.0.0/8 and ::1 have no RDMA device") \
	X(OPTION,	"option",	"an option of the socket cannot be kept over SDP") \
	X(FORCED,	"forced",	"net.sdp.enable is 0") \
	X(TCP_CLIENT,	"tcp_client",	"a plain TCP client of an SDP listener") \
	X(CACHED,	"cached", \
	  "it did not take SDP a short time ago (net.sdp.cache_timeout)") \
	X(LEARNING,	"learning", \
	  "nothing is known of it yet, it is being asked (net.sdp.learn)") \
	X(BUSY,		"busy", \
	  "the peer rejected for now: its backlog is full, or a limit reached") \
	X(DEVICE,	"device",	"the RDMA device gave up the queue pair") \
	X(LOCAL,	"local",	"it is on this host, and nobody listens by SDP")

enum sdp_reason {
#define SDP_REASON_ENUM(name, word, help) SDP_REASON_##name,
	SDP_REASONS(SDP_REASON_ENUM)
#undef SDP_REASON_ENUM
	SDP_REASON_COUNT
};

/* States, sdp_info.sdpi_state and sdp_diag_msg.sdm_state. */
#define SDP_STATES(X) \
	X(CLOSED) X(SYN_SENT) X(SYN_RECV) X(ESTABLISHED) X(FIN_WAIT_1) \
	X(FIN_WAIT_2) X(CLOSING) X(CLOSE_WAIT) X(LAST_ACK) X(TIME_WAIT_1) \
	X(TIME_WAIT_2)

/* Modes of a half-connection. */
enum {
	SDP_MODE_INFO_BUFFERED	= 0,
	SDP_MODE_INFO_COMBINED	= 1,
	SDP_MODE_INFO_PIPELINED	= 2,
};

/*
 * What SDP_INFO returns and sock_diag shows.  Sizes in bytes, counts since the
 * connection was made.
 */
struct sdp_info {
	__u8	sdpi_transport;		/* SDP_TRANSPORT_* */
	__u8	sdpi_state;		/* index into SDP_STATES; LISTEN is 255 */
	__u8	sdpi_reason;		/* enum sdp_reason */
	__u8	sdpi_mode_send;		/* SDP_MODE_INFO_* */
	__u8	sdpi_mode_recv;
	__u8	sdpi_port_num;		/* of the RDMA device */
	__u16	sdpi_credits;		/* messages that may be sent now */
	__u32	sdpi_id;		/* names the connection in trace points */
	__u32	sdpi_snd_size;		/* largest payload of one message to the peer */
	__u32	sdpi_rcv_size;		/* largest payload of one message to us */
	__u16	sdpi_posted;		/* receive buffers posted now */
	__u16	sdpi_peer_bufs;		/* Bufs of the peer's newest message */
	__u32	sdpi_qp_num;		/* own queue pair */
	__u32	sdpi_peer_qp_num;
	__u32	sdpi_inq;		/* bytes arrived and not read */
	__u32	sdpi_outq;		/* bytes accepted and not yet acknowledged,
					 * those lent by MSG_ZEROCOPY too
					 */
	__u64	sdpi_bytes_sent;	/* user bytes posted */
	__u64	sdpi_bytes_received;	/* user bytes arrived */
	__u64	sdpi_msgs_sent;		/* messages of all kinds */
	__u64	sdpi_msgs_received;
	__u64	sdpi_mem;		/* memory in our buffers and rings */
	char	sdpi_device[16];	/* name of the RDMA device, may be cut */
	/* Without a copy on the side that is named (net.sdp.zcopy_thresh): */
	__u64	sdpi_bytes_lent;	/* sent: read from where they were */
	__u64	sdpi_bytes_fetched;	/* received: read from where they were, and
					 * copied to the reader
					 */
	__u64	sdpi_bytes_taken;	/* received: read to where they were wanted */
	__u8	sdpi_adverts_out;	/* SrcAvails of ours that are not read yet */
	__u8	sdpi_adverts_held;	/* of the peer's */
	__u16	sdpi_reserved1;
	__u32	sdpi_reserved2;
	__u64	sdpi_bytes_written;	/* of those lent: written by us to where the
					 * peer's reader wants them
					 */
	__u64	sdpi_bytes_filled;	/* received: written there by the peer */
};

/*
 * sock_diag, NETLINK_SOCK_DIAG with sdiag_family 27: a dump gives one
 * struct sdp_diag_msg in a SOCK_DIAG_BY_FAMILY message for each socket of the
 * caller's network namespace: listening, connecting or connected by SDP, or
 * joined inside this host (those are in the dumps of AF_INET and AF_INET6 too,
 * and when they are closed there alone); or else for each connection that TCP
 * took over, as long as there is a record of it (net.sdp.fallback_records): it
 * may have been closed since.
 * Other requests than a dump: EOPNOTSUPP; for something else: EINVAL.
 */
struct sdp_diag_req {
	__u8	sdiag_family;		/* AF_INET_SDP */
	__u8	sdiag_protocol;		/* 0 */
	__u16	sdr_what;		/* SDP_DIAG_SOCKETS or _FALLBACKS */
	/* Bit n: state n of SDP_STATES; bit 31: LISTEN.  0 stands for all. */
	__u32	sdr_states;
};

enum {
	SDP_DIAG_SOCKETS	= 0,
	SDP_DIAG_FALLBACKS	= 1,
};

struct sdp_diag_msg {
	__u8	sdm_family;		/* AF_INET or AF_INET6 of the socket */
	__u8	sdm_state;		/* as sdpi_state; or SDP_DIAG_FALLBACK */
	__u8	sdm_ulp;		/* 1 if opened by TCP_ULP (fallback is silent) */
	__u8	sdm_reserved;
	__be16	sdm_sport;
	__be16	sdm_dport;
	__u8	sdm_saddr[16];		/* IPv6, or v4-mapped */
	__u8	sdm_daddr[16];
	__u32	sdm_uid;
	__u32	sdm_backlog;		/* LISTEN: limit of the queue */
	__u64	sdm_inode;		/* 0 before accept() and after close() (not
					 * of a record)
					 */
	__u32	sdm_acceptq;		/* LISTEN: SDP connections not yet accepted */
	__u32	sdm_age;		/* of a record: seconds since TCP took over */
	struct sdp_info sdm_info;	/* zero for LISTEN */
};

#define SDP_DIAG_LISTEN		255
#define SDP_DIAG_FALLBACK	254

#endif
