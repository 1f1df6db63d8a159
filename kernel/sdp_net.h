/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What belongs to a network namespace: counters, tunables, limits, and the
 * list of connections that tools are shown.
 *
 * One list yields enum, name and help of every counter, another of every
 * tunable, so that kernel and tools cannot disagree.
 */
#ifndef _SDP_NET_H
#define _SDP_NET_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <linux/sdp.h>

/* X(enum, name, help) */
#define SDP_COUNTERS(X) \
	X(CONNECT,	"connect",	"connections opened from here over SDP") \
	X(ACCEPT,	"accept",	"connections that arrived over SDP and were admitted") \
	X(CONNECT_FAIL,	"connect_fail",	"attempts to open a connection over SDP that failed") \
	X(CONNECT_AGAIN, "connect_again", "requests repeated because the peer had no room") \
	X(FALLBACK,	"fallback",	"connections that TCP took over; see fallback_*") \
	X(PROBES,	"probes",	"destinations asked in the background") \
	X(REJECT_HELLO,	"reject_hello",	"requests refused: Hello not valid") \
	X(REJECT_PATH,	"reject_path",	"requests refused: addresses are not those of the path") \
	X(REJECT_LISTENER, "reject_listener", "requests refused: nobody listens") \
	X(REJECT_BACKLOG, "reject_backlog", "requests refused: backlog full, or silent then") \
	X(REJECT_LIMIT,	"reject_limit",	"requests refused: too many connections or no memory") \
	X(TCP_ACCEPT,	"tcp_accept",	"plain TCP clients accepted by an SDP listener") \
	X(TCP_RESET,	"tcp_reset",	"plain TCP clients reset by an SDP listener") \
	X(BYTES_SENT,	"bytes_sent",	"user bytes posted") \
	X(BYTES_RECEIVED, "bytes_received", "user bytes arrived") \
	X(MSGS_SENT,	"msgs_sent",	"messages posted, all kinds") \
	X(MSGS_RECEIVED, "msgs_received", "messages arrived, all kinds") \
	X(CREDIT_UPDATES, "credit_updates", "empty Data messages posted to tell of new buffers") \
	X(CREDIT_WAITS,	"credit_waits",	"times that data had to wait for credits") \
	X(SHRINKS,	"shrinks",	"idle peers asked to give receive buffers back") \
	X(URGENT_SENT,	"urgent_sent",	"urgent bytes posted") \
	X(URGENT_RECEIVED, "urgent_received", "urgent bytes arrived") \
	X(SRC_AVAIL,	"src_avail",	"SrcAvail messages arrived") \
	X(SENDSM,	"sendsm",	"SendSm messages posted") \
	X(RDMA_READS,	"rdma_reads",	"RDMA Reads posted") \
	X(FETCHED,	"bytes_fetched", "user bytes read by RDMA to be copied") \
	X(TAKEN,	"bytes_taken",	"user bytes read by RDMA where the reader wants them") \
	X(OFFERS,	"offers",	"SrcAvail messages posted") \
	X(OFFERS_REFUSED, "offers_refused", "times that the peer refused what was offered") \
	X(OFFERS_CANCELLED, "offers_cancelled", "SrcAvailCancel messages posted") \
	X(COPIED_COST,	"copied_cost",	"copied, not lent: that was cheaper lately") \
	X(COPIED_HABIT,	"copied_habit",	"copied, not lent: the peer had no use for the last ones") \
	X(COPIED_BUSY,	"copied_busy",	"copied, not lent: the socket lends already") \
	X(COPIED_LIMIT,	"copied_limit",	"copied, not lent: net.sdp.zcopy_pinned is reached") \
	X(COPIED_MEMORY, "copied_memory", "copied, not lent: no memory or registration") \
	X(COPIED_PAGES,	"copied_pages",	"copied, not lent: cannot be pinned, or is too short") \
	X(COPIED_REFUSED, "copied_refused", "copied after all: refused by the peer, or too long") \
	X(COPIED_LATE,	"copied_late",	"copied after all: the peer did not come in time") \
	X(LENT,		"bytes_lent",	"user bytes that went from where they were") \
	X(SINK_AVAIL,	"sink_avail",	"SinkAvail messages arrived") \
	X(RDMA_WRITES,	"rdma_writes",	"RDMA Writes posted") \
	X(WRITTEN,	"bytes_written", "user bytes of those written to the peer's reader") \
	X(ASKS,		"asks",		"SinkAvail messages posted") \
	X(ASKS_CANCELLED, "asks_cancelled", "SinkAvailCancel messages posted") \
	X(FILLED,	"bytes_filled",	"user bytes that the peer wrote to the reader") \
	X(KEYS_ENDED,	"keys_ended",	"keys of what is lent that the peer had forgotten") \
	X(PROTO_ERRORS,	"proto_errors",	"connections ended because the peer broke the protocol") \
	X(RESETS,	"resets",	"connections reset by the peer or lost") \
	X(ABORTS,	"aborts",	"connections reset by this side") \
	X(KEEPALIVES,	"keepalives",	"idle peers asked whether they are there") \
	X(TIMEOUTS,	"timeouts",	"connections ended because the peer did not answer") \
	X(DEVICE_GONE,	"device_gone",	"connections lost with their RDMA device") \
	X(NO_BUFFER,	"no_buffer",	"receive buffers that could not be allocated") \
	X(POLL_HIT,	"poll_hit",	"callers who polled and need not sleep then") \
	X(POLL_MISS,	"poll_miss",	"callers who polled in vain and slept then") \
	X(WAKE_CALLER,	"wake_caller",	"completion events that woke a caller who waits") \
	X(WAKE_WORKER,	"wake_worker",	"completion events that queued the worker")

enum sdp_counter {
#define SDP_COUNTER_ENUM(sym, name, help) SDP_CNT_##sym,
	SDP_COUNTERS(SDP_COUNTER_ENUM)
#undef SDP_COUNTER_ENUM
	/* FALLBACK by its reason, and TCP_ACCEPT by the one it has:
	 * fallback_<word of enum sdp_reason>.
	 */
	SDP_CNT_REASON,
	SDP_CNT_MAX = SDP_CNT_REASON + SDP_REASON_COUNT
};

enum { SDP_SPIN_MAX_USEC = 10000 };

/* X(field, default, min, max, help); the sysctl is net.sdp.<field> */
#define SDP_TUNABLES(X) \
	X(enable,	1, 0, 1, "0: no new connection goes by SDP") \
	X(fallback,	0, 0, 1, "1: sockets of family 27 and protocol 257 may use TCP") \
	X(connect_timeout, 200, 10, 600000, "ms until TCP takes an attempt over") \
	X(require_timeout, 20000, 10, 600000, \
	  "ms until an attempt fails that may not fall back") \
	X(cache_timeout, 60000, 0, 86400000, \
	  "ms that a destination without SDP is left to TCP; 0: it is always asked, " \
	  "and what is known is forgotten") \
	X(cache_max,	4096, 0, 1048576, "destinations that are remembered") \
	X(fallback_records, 1024, 0, 4096, \
	  "connections that TCP took over whose reason is kept") \
	X(learn,	0, 0, 1, \
	  "1: an unknown destination goes by TCP at once and is asked meanwhile") \
	X(ack_timeout,	500, 1, 8000, \
	  "ms until the device repeats what was not acknowledged") \
	X(ack_retries,	6, 0, 6, \
	  "times that it does; then the connection is lost (ETIMEDOUT)") \
	X(fin_timeout,	60000, 100, 600000, \
	  "ms that a closed connection waits for the peer's DisConn") \
	X(max_conns,	65536, 0, 16777216, "connections of the namespace") \
	X(max_conns_user, 65536, 0, 16777216, "connections of one user in the namespace") \
	X(rcvbuf_size,	16384, 4096, 32768, \
	  "bytes of one receive buffer, with 16 of header; whole pages") \
	X(rcvbuf_start,	4096, 4096, 32768, \
	  "the same at first, until the peer wants to send larger messages") \
	X(rcvbuf_count,	63, 4, 63, "receive buffers that a connection may grow to") \
	X(shrink_after,	10000, 0, 86400000, \
	  "ms without data until the peer gives back what it has grown; 0: never") \
	X(poll_usec,	50, 0, SDP_SPIN_MAX_USEC, \
	  "us that a caller polls before he sleeps, at most, while that pays; 0: never") \
	X(zcopy_thresh,	65536, 0, 1073741824, \
	  "bytes that a blocking send() offers instead of copying; 0: never") \
	X(zcopy_adverts, 8, 1, 8, \
	  "pieces of a send() that are offered at a time, if the peer lets us") \
	X(zcopy_write,	1, 0, 1, \
	  "1: a reader who waits has the peer write into his buffer") \
	X(zcopy_adapt,	1, 0, 1, \
	  "1: a blocking send() that may be offered is copied where that was cheaper") \
	X(zcopy_invalidate, 1, 0, 1, \
	  "1: keys of what is lent are ended by Send-with-Invalidate, if the peer can") \
	X(zcopy_wait,	250, 1, 60000, \
	  "ms without progress until what is offered goes by copy instead") \
	X(zcopy_pinned,	262144, 0, 1073741824, \
	  "KiB of user memory that may be lent to devices at a time") \
	X(sndbuf_bytes,	262144, 4096, 16777216, \
	  "bytes queued or under way, unless SO_SNDBUF says it; more if nobody reads")

struct sdp_net {
#define SDP_TUNABLE_FIELD(field, def, min, max, help) unsigned int field;
	SDP_TUNABLES(SDP_TUNABLE_FIELD)
#undef SDP_TUNABLE_FIELD
	struct net *net;
	struct ctl_table_header *ctl;	/* sdp_sysctl.c */

	u64 __percpu *counters;		/* SDP_CNT_MAX of them */

	/* Limits: how many connections, and of whom (index uid, value count). */
	atomic_long_t pinned;		/* pages */
	struct xarray users;		/* its lock guards conns too */
	unsigned int conns;

	/*
	 * For tools: all connections, and all listening sockets, each at a
	 * place of its own, the lowest that is free, from 1.  Who looks needs
	 * no lock but RCU's, and the place is where he goes on after a pause.
	 */
	struct xarray all_conns;
	struct xarray all_listeners;
};

extern unsigned int sdp_net_id;

/**
 * sdp_net() - ours of a network namespace
 * @net: the namespace, referenced
 *
 * Context: any.
 * Return: its object; lives as long as the namespace.
 */
struct sdp_net *sdp_net(const struct net *net);

/* A limit.  Who owns a namespace may set what he likes there; but it takes what is
 * the machine's, so it is no more than the first namespace has.
 */
#define sdp_net_bounded(sn, field)					\
	min(READ_ONCE((sn)->field), READ_ONCE(sdp_net(&init_net)->field))

/**
 * sdp_reason_word() - what a reason is called in counters and trace points
 * @reason: enum sdp_reason
 *
 * Context: any.
 * Return: one word.
 */
const char *sdp_reason_word(u8 reason);

/**
 * sdp_counter_name() - what /proc/net/sdpstat calls it
 * @counter: which
 *
 * Context: any.
 * Return: the name.
 */
const char *sdp_counter_name(enum sdp_counter counter);

/**
 * sdp_count() - add to a counter
 * @sn: namespace
 * @counter: which
 * @n: how much
 *
 * Context: any, also with interrupts off.
 */
static inline void sdp_count(struct sdp_net *sn, enum sdp_counter counter,
			     u64 n)
{
	this_cpu_add(sn->counters[counter], n);
}

/**
 * sdp_net_charge() - take a place under max_conns and max_conns_user
 * @sn: namespace
 * @uid: whose connection it is
 *
 * Context: any but hard interrupt.
 * Return: 0, -EUSERS when a limit is reached, -ENOMEM.
 */
int sdp_net_charge(struct sdp_net *sn, kuid_t uid);

/**
 * sdp_net_uncharge() - give the place back
 * @sn: namespace
 * @uid: as charged
 *
 * Context: any but hard interrupt.
 */
void sdp_net_uncharge(struct sdp_net *sn, kuid_t uid);

/**
 * sdp_net_init() - register the per-namespace objects and /proc/net/sdpstat
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_net_init(void);

/**
 * sdp_net_exit() - undo sdp_net_init(); no connection is left
 *
 * Context: process.
 */
void sdp_net_exit(void);

#endif
