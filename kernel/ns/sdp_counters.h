/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters of a network namespace: name and meaning of each.
 *
 * The kernel makes an enum of this list (sdp_net.h), and the lines of
 * /proc/net/sdpstat (sdp_net.c).  A program of the tests makes the list in
 * sdpstat(8) of it (selftests/tree/man_lists.c), so it needs no kernel header.  A
 * name is a promise to scripts and does not change.  A help text has at most
 * 127 bytes, which is what sdpstat reads of it.
 */
#ifndef _SDP_COUNTERS_H
#define _SDP_COUNTERS_H

/* X(enum, name, help) */
#define SDP_COUNTERS(X) \
	X(CONNECT,	"connect",	"connections that this host opened over SDP") \
	X(ACCEPT,	"accept",	"connection requests by SDP that a listener admitted") \
	X(CONNECT_FAIL,	"connect_fail",	"attempts to open a connection over SDP that failed") \
	X(CONNECT_AGAIN, "connect_again", \
	  "connection requests repeated because the peer had no room") \
	X(FALLBACK,	"fallback", \
	  "connections of this host that TCP took over; see fallback_*") \
	X(JOINS,	"local_joins", \
	  "connections inside this host whose bytes go by memory (net.sdp.local)") \
	X(JOIN_SENT,	"local_bytes_sent",	"bytes sent by them") \
	X(JOIN_LENT,	"local_bytes_lent", \
	  "of these: copied once, from the memory of a sender that waits") \
	X(JOIN_LEAVES,	"local_leaves", \
	  "times that one direction of them returned to TCP for good; see local_leaves_*") \
	X(JOIN_LEAVES_URGENT, "local_leaves_urgent",	"of these: for urgent data") \
	X(JOIN_LEAVES_CLOSED, "local_leaves_closed", \
	  "of these: data was sent to an end that was closed") \
	X(JOIN_LEAVES_STAMPS, "local_leaves_stamps", \
	  "of these: the sender asked for time stamps of its packets") \
	X(JOIN_LEAVES_MEMORY, "local_leaves_memory",	"of these: there was no memory") \
	X(JOIN_LEAVES_WATCHED, "local_leaves_watched", \
	  "of these: a packet socket (tcpdump) watches the device") \
	X(JOIN_LEAVES_OPTION, "local_leaves_option", \
	  "of these: kTLS, TCP_REPAIR or IPV6_ADDRFORM needs the socket as TCP's") \
	X(PROBES,	"probes",	"destinations asked in the background (net.sdp.learn)") \
	X(REJECT_HELLO,	"reject_hello",	"connection requests refused: the Hello is not valid") \
	X(REJECT_PATH,	"reject_path", \
	  "connection requests refused: addresses are not those of the path") \
	X(REJECT_LISTENER, "reject_listener", \
	  "connection requests refused: nobody listens by SDP") \
	X(REJECT_BACKLOG, "reject_backlog", "connection requests refused: the backlog is full") \
	X(REJECT_LIMIT,	"reject_limit", \
	  "connection requests refused: too many connections or no memory") \
	X(TCP_ACCEPT,	"tcp_accept",	"plain TCP clients accepted by an SDP listener") \
	X(TCP_RESET,	"tcp_reset",	"plain TCP clients reset by an SDP listener") \
	X(BYTES_SENT,	"bytes_sent",	"bytes of user data sent, copied or not") \
	X(BYTES_RECEIVED, "bytes_received", "bytes of user data that arrived, copied or not") \
	X(MSGS_SENT,	"msgs_sent",	"SDP messages sent, of all kinds") \
	X(MSGS_RECEIVED, "msgs_received", "SDP messages that arrived, of all kinds") \
	X(CREDIT_UPDATES, "credit_updates", \
	  "empty Data messages sent, to tell the peer of new receive buffers") \
	X(CREDIT_WAITS,	"credit_waits", \
	  "times that data waited for credits: the peer had no receive buffer") \
	X(SHRINKS,	"shrinks", \
	  "times that the peer of an idle connection was asked to shrink its buffers") \
	X(URGENT_SENT,	"urgent_sent",	"urgent bytes sent") \
	X(URGENT_RECEIVED, "urgent_received", "urgent bytes that arrived") \
	X(SRC_AVAIL,	"src_avail", \
	  "SrcAvail messages that arrived: the peer advertised data to be read") \
	X(SENDSM,	"sendsm", \
	  "SendSm messages sent: the peer is to copy what it advertised") \
	X(RDMA_READS,	"rdma_reads",	"RDMA Reads posted") \
	X(FETCHED,	"bytes_fetched", \
	  "bytes that an RDMA Read put into a kernel buffer, to be copied from there") \
	X(TAKEN,	"bytes_taken",	"bytes that an RDMA Read put into the reader's buffer") \
	X(OFFERS,	"offers",	"SrcAvail messages sent: data advertised to the peer") \
	X(OFFERS_REFUSED, "offers_refused", \
	  "times that the peer refused to read what was advertised (SendSm)") \
	X(OFFERS_CANCELLED, "offers_cancelled", "SrcAvailCancel messages sent") \
	X(COPIED_COST,	"copied_cost", \
	  "sends copied: that was cheaper lately (net.sdp.zcopy_adapt)") \
	X(COPIED_HABIT,	"copied_habit", \
	  "sends copied: the peer did not read what was advertised last") \
	X(COPIED_BUSY,	"copied_busy", \
	  "sends copied: the connection advertises other memory already") \
	X(COPIED_LIMIT,	"copied_limit",	"sends copied: net.sdp.zcopy_pinned is reached") \
	X(COPIED_MEMORY, "copied_memory", "sends copied: no memory, or no memory registration") \
	X(COPIED_PAGES,	"copied_pages", \
	  "sends copied: their pages cannot be pinned, or are too few") \
	X(COPIED_REFUSED, "copied_refused", \
	  "advertised data copied after all: the peer refused, or had too little room") \
	X(COPIED_LATE,	"copied_late", \
	  "advertised data copied after all: not read within net.sdp.zcopy_wait") \
	X(LENT,		"bytes_lent",	"bytes sent without a copy on this host") \
	X(SINK_AVAIL,	"sink_avail", \
	  "SinkAvail messages that arrived: the peer advertised a reader's buffer") \
	X(RDMA_WRITES,	"rdma_writes",	"RDMA Writes posted") \
	X(WRITTEN,	"bytes_written", \
	  "those of bytes_lent that an RDMA Write put into a reader's buffer") \
	X(ASKS,		"asks", \
	  "SinkAvail messages sent: a reader's buffer advertised to the peer") \
	X(ASKS_CANCELLED, "asks_cancelled", "SinkAvailCancel messages sent") \
	X(FILLED,	"bytes_filled",	"bytes that the peer wrote into a reader's buffer") \
	X(KEYS_ENDED,	"keys_ended",	"memory keys that the peer ended by Send-with-Invalidate") \
	X(PROTO_ERRORS,	"proto_errors",	"connections ended because the peer broke the protocol") \
	X(RESETS,	"resets",	"connections reset by the peer, or lost") \
	X(ABORTS,	"aborts",	"connections reset by this side") \
	X(KEEPALIVES,	"keepalives",	"times that a silent peer was asked whether it is there") \
	X(TIMEOUTS,	"timeouts",	"connections ended because the peer did not answer") \
	X(DEVICE_GONE,	"device_gone",	"connections lost with their RDMA device") \
	X(NO_BUFFER,	"no_buffer",	"receive buffers that could not be allocated") \
	X(POLL_HIT,	"poll_hit",	"waits that ended while the caller polled, without sleep") \
	X(POLL_MISS,	"poll_miss", \
	  "waits in which the caller polled in vain, and slept then") \
	X(WAKE_CALLER,	"wake_caller",	"completion events that woke a waiting caller") \
	X(WAKE_WORKER,	"wake_worker",	"completion events that queued the connection's worker")

#endif
