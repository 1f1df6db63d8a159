/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an administrator may set: default, range and meaning of each sysctl of a
 * network namespace.
 *
 * The kernel makes of this list the fields of struct sdp_net (sdp_net.h) and the files
 * in /proc/sys/net/sdp (sdp_sysctl.c), and a program of the tests the list in af_sdp(7)
 * (selftests/tree/man_lists.c): so the list needs nothing of the kernel's.  A name is a
 * promise to administrators and does not change.  The limits of the whole machine's
 * memory are in sdp_mem.h.
 */
#ifndef _SDP_TUNABLES_H
#define _SDP_TUNABLES_H

/* Nobody polls for longer, whatever poll_usec or SO_BUSY_POLL says. */
enum { SDP_BUSY_POLL_MAX_USEC = 10000 };

/* X(field, default, min, max, help); the sysctl is net.sdp.<field> */
#define SDP_TUNABLES(X) \
	X(enable,	1, 0, 1, \
	  "With 0 no new connection uses SDP; those that exist go on.") \
	X(fallback,	0, 0, 1, \
	  "What SDP_FALLBACK is for sockets of family 27 or protocol 257 that have not set it: " \
	  "with 1 they may use TCP.") \
	X(local,	1, 0, 1, \
	  "With 1 two SDP sockets of this host that are connected to each other pass their bytes " \
	  "by memory; TCP makes the connection.") \
	X(connect_timeout, 200, 10, 600000, \
	  "Milliseconds that an attempt over SDP may take before TCP takes over, where it may.") \
	X(require_timeout, 20000, 10, 600000, \
	  "Milliseconds that an attempt over SDP may take where TCP may not take over. " \
	  "A listener waits as long for a client that it has answered.") \
	X(cache_timeout, 60000, 0, 86400000, \
	  "Milliseconds that a destination found without SDP is left to TCP. " \
	  "One that did not answer, had no room or was not found is asked again sooner at first. " \
	  "With 0 none is left to it; writing 0 forgets all destinations.") \
	X(cache_max,	4096, 0, 1048576, \
	  "Destinations that are remembered; a new one takes the place of the oldest. " \
	  "With 0 nothing is remembered.") \
	X(fallback_records, 1024, 0, 4096, \
	  "Connections taken over by TCP whose reason is kept, the newest ones.") \
	X(learn,	0, 0, 1, \
	  "With 1 a connection to an unknown destination uses TCP at once, " \
	  "and the destination is asked in the background whether it takes SDP.") \
	X(ack_timeout,	500, 1, 8000, \
	  "Milliseconds after which the RDMA device repeats a packet that is not acknowledged. " \
	  "Devices know powers of two, and the next higher one is taken.") \
	X(ack_retries,	6, 0, 6, \
	  "Times that the device repeats a packet before the connection is lost (ETIMEDOUT).") \
	X(fin_timeout,	60000, 100, 600000, \
	  "Milliseconds that a closed connection waits for a peer that takes no more data, " \
	  "and then for the peer to close its side.") \
	X(max_conns,	65536, 0, 16777216, \
	  "Connections that the namespace may have. Those not accepted yet and those " \
	  "being closed count.") \
	X(max_conns_user, 65536, 0, 16777216, \
	  "Connections that one user may have in the namespace. " \
	  "Those that arrive count for the owner of the listener.") \
	X(rcvbuf_size,	16384, 4096, 32768, \
	  "Bytes of one receive buffer, 16 of them for the message header. " \
	  "Whole pages are taken.") \
	X(rcvbuf_start,	4096, 4096, 32768, \
	  "Bytes of one receive buffer of a new connection, until the peer asks for larger ones.") \
	X(rcvbuf_count,	63, 4, 63, \
	  "Receive buffers that a connection may have.") \
	X(shrink_after,	10000, 0, 86400000, \
	  "Milliseconds without sent data after which the peer is asked to shrink its receive " \
	  "buffers. With 0 it is not.") \
	X(poll_usec,	50, 0, SDP_BUSY_POLL_MAX_USEC, \
	  "Microseconds, at most, that a waiting caller polls the device before it sleeps, " \
	  "while that pays. With 0, or with one processor, none does. " \
	  "SO_BUSY_POLL overrides it for one socket.") \
	X(zcopy_thresh,	65536, 0, 1073741824, \
	  "Bytes from which a blocking send(), or one with MSG_ZEROCOPY, is advertised to the " \
	  "peer instead of being copied, and a blocking recv() read or written in place. " \
	  "With 0 nothing is, and what the peer advertises is refused. " \
	  "SDP_ZCOPY overrides it for one socket.") \
	X(zcopy_adverts, 8, 1, 8, \
	  "SrcAvail advertisements that a connection may have outstanding, " \
	  "if the peer takes so many.") \
	X(zcopy_write,	1, 0, 1, \
	  "With 1 a reader that waits in a long recv() advertises its buffer (SinkAvail), " \
	  "and the peer writes the data there.") \
	X(zcopy_adapt,	1, 0, 1, \
	  "With 1 a blocking send() that could be advertised is copied where that took less time " \
	  "lately.") \
	X(zcopy_invalidate, 1, 0, 1, \
	  "With 1 memory keys are ended by Send-with-Invalidate, if the peer is able to; " \
	  "with 0 always by a request of their owner.") \
	X(zcopy_wait,	250, 1, 60000, \
	  "Milliseconds without progress after which advertised memory is taken back; " \
	  "what was to be sent from it is copied.") \
	X(zcopy_pinned,	262144, 0, 1073741824, \
	  "KiB of user memory that may be pinned for RDMA devices at a time; " \
	  "what is beyond is copied.") \
	X(sndbuf_bytes,	262144, 4096, 16777216, \
	  "Bytes that a connection may have queued or unacknowledged, unless SO_SNDBUF is set. " \
	  "To a peer that does not read it is up to the last of net.ipv4.tcp_wmem.")

#endif
