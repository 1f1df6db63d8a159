/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace points.  The data path reports by these, and not to the kernel's log.
 *
 * There is an event for each post, completion, credit decision and state
 * change, and one for each decision that an engineer wants to see when
 * something is slow or odd.  Each carries the connection's id, and a message its
 * MSeq, so that a post and its completion can be joined.  The id is 0 where
 * there is no connection, or none yet: devices, ports, destinations, requests
 * that are refused.
 *
 *	messages	post heard send_done recv_done post_recv credit
 *	zero copy	write read reg dereg reg_fail post_waits copied zcopy
 *			src_told src_late src_withdraw snk_told snk_cancel
 *			snk_void sendsm read_waits mode
 *	receive buffers	ring_grow ring_shrink ring_full no_mem
 *			rcvbuf_ask rcvbuf_given (the peer's)
 *			rcvbuf_asked rcvbuf_grant rcvbuf_refuse rcvbuf_promise
 *			rcvbuf_shrink (ours)
 *	sending		hold delay snd_limit
 *	timers		timer_set timer_fired timer_off keepalive timeout
 *	connections	session state fail cm refuse limit urgent busy_poll
 *	listeners	child_new child_ready child_deferred child_accepted
 *			child_put_back child_aside child_back child_evicted
 *			child_gone child_refused port
 *	destinations	fallback probe dst_use dst_learn dst_drop dst_confirm
 *			dst_forget
 *	devices		dev pool
 *
 * Sizes are in bytes, times have their unit in their name.  Where tracing is
 * off, a call on the way of the data costs a static branch and nothing more:
 * what it tells is at hand there, and jiffies become milliseconds in here.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sdp

#if !defined(_SDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SDP_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>

#define sdp_show_mid(mid)						\
	__print_symbolic(mid,						\
		{ 0x00, "Hello" }, { 0x01, "HelloAck" },		\
		{ 0x02, "DisConn" }, { 0x03, "AbortConn" },		\
		{ 0x04, "SendSm" }, { 0x05, "RdmaWrCompl" },		\
		{ 0x06, "RdmaRdCompl" }, { 0x07, "ModeChange" },	\
		{ 0x08, "SrcAvailCancel" }, { 0x09, "SinkAvailCancel" }, \
		{ 0x0a, "SinkCancelAck" }, { 0x0b, "ChRcvBuf" },	\
		{ 0x0c, "ChRcvBufAck" }, { 0x0d, "SuspComm" },		\
		{ 0x0e, "SuspCommAck" }, { 0xfd, "SinkAvail" },		\
		{ 0xfe, "SrcAvail" }, { 0xff, "Data" })

DECLARE_EVENT_CLASS(sdp_msg_class,
	TP_PROTO(u32 id, u8 mid, u8 flags, u16 bufs, u32 len, u32 mseq,
		 u32 mseq_ack),
	TP_ARGS(id, mid, flags, bufs, len, mseq, mseq_ack),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u8, mid)
		__field(u8, flags)
		__field(u16, bufs)
		__field(u32, len)
		__field(u32, mseq)
		__field(u32, mseq_ack)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->mid = mid;
		__entry->flags = flags;
		__entry->bufs = bufs;
		__entry->len = len;
		__entry->mseq = mseq;
		__entry->mseq_ack = mseq_ack;
	),
	TP_printk("conn=%u %s flags=0x%02x bufs=%u len=%u mseq=%u ack=%u",
		  __entry->id, sdp_show_mid(__entry->mid), __entry->flags,
		  __entry->bufs, __entry->len, __entry->mseq,
		  __entry->mseq_ack)
);

/* A message is handed to the transport. */
DEFINE_EVENT(sdp_msg_class, sdp_post,
	TP_PROTO(u32 id, u8 mid, u8 flags, u16 bufs, u32 len, u32 mseq,
		 u32 mseq_ack),
	TP_ARGS(id, mid, flags, bufs, len, mseq, mseq_ack));

/* A message arrived and passed its checks. */
DEFINE_EVENT(sdp_msg_class, sdp_heard,
	TP_PROTO(u32 id, u8 mid, u8 flags, u16 bufs, u32 len, u32 mseq,
		 u32 mseq_ack),
	TP_ARGS(id, mid, flags, bufs, len, mseq, mseq_ack));

/* A send completed; status is 0 or a negative errno. */
TRACE_EVENT(sdp_send_done,
	TP_PROTO(u32 id, u8 mid, u32 mseq, int status),
	TP_ARGS(id, mid, mseq, status),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u8, mid)
		__field(u32, mseq)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->mid = mid;
		__entry->mseq = mseq;
		__entry->status = status;
	),
	TP_printk("conn=%u %s mseq=%u status=%d", __entry->id,
		  sdp_show_mid(__entry->mid), __entry->mseq, __entry->status)
);

/* An RDMA Write of a sender's own memory is handed to the transport. */
TRACE_EVENT(sdp_write,
	TP_PROTO(u32 id, u32 bytes, u32 rkey),
	TP_ARGS(id, bytes, rkey),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, bytes)
		__field(u32, rkey)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		__entry->rkey = rkey;
	),
	TP_printk("conn=%u bytes=%u rkey=%08x", __entry->id, __entry->bytes,
		  __entry->rkey)
);

/* An RDMA Read is handed to the transport; direct: to a reader's own memory. */
TRACE_EVENT(sdp_read,
	TP_PROTO(u32 id, u32 bytes, u32 rkey, bool direct),
	TP_ARGS(id, bytes, rkey, direct),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, bytes)
		__field(u32, rkey)
		__field(bool, direct)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		__entry->rkey = rkey;
		__entry->direct = direct;
	),
	TP_printk("conn=%u bytes=%u rkey=%08x%s", __entry->id, __entry->bytes,
		  __entry->rkey, __entry->direct ? " direct" : "")
);

/* User memory is registered: the device may touch it from now on. */
TRACE_EVENT(sdp_reg,
	TP_PROTO(u32 id, u32 bytes, u32 npages, u32 nents, u32 key, bool read),
	TP_ARGS(id, bytes, npages, nents, key, read),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, bytes)
		__field(u32, npages)
		__field(u32, nents)
		__field(u32, key)
		__field(bool, read)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		__entry->npages = npages;
		__entry->nents = nents;
		__entry->key = key;
		__entry->read = read;
	),
	TP_printk("conn=%u bytes=%u pages=%u entries=%u rkey=%08x %s", __entry->id,
		  __entry->bytes, __entry->npages, __entry->nents, __entry->key,
		  __entry->read ? "to be read" : "to be written")
);

/* User memory is deregistered, after RDMA has moved so many bytes of it. */
TRACE_EVENT(sdp_dereg,
	TP_PROTO(u32 id, u32 bytes, u32 moved, u32 key),
	TP_ARGS(id, bytes, moved, key),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, bytes)
		__field(u32, moved)
		__field(u32, key)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		__entry->moved = moved;
		__entry->key = key;
	),
	TP_printk("conn=%u bytes=%u moved=%u rkey=%08x", __entry->id,
		  __entry->bytes, __entry->moved, __entry->key)
);

/* So many bytes, and why. */
DECLARE_EVENT_CLASS(sdp_why_class,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(size_t, bytes)
		__string(reason, reason)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		sdp_assign_str(reason, reason);
	),
	TP_printk("conn=%u bytes=%zu %s", __entry->id, __entry->bytes,
		  __get_str(reason))
);

/* Data that could be advertised is copied; the reason is a counter's name. */
DEFINE_EVENT(sdp_why_class, sdp_copied,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* A long send() begins: "zcopy" or "copy", whichever has cost less lately. */
DEFINE_EVENT(sdp_why_class, sdp_zcopy,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* User memory that is queued, and not advertised yet, goes another way. */
DEFINE_EVENT(sdp_why_class, sdp_src_withdraw,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* Memory that stays advertised after its call was not read in time. */
DEFINE_EVENT(sdp_why_class, sdp_src_late,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* The reader whose buffer is advertised, or is about to be, waits no longer. */
DEFINE_EVENT(sdp_why_class, sdp_snk_cancel,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* The reader's buffer cannot be advertised any more. */
DEFINE_EVENT(sdp_why_class, sdp_snk_void,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* The peer's SrcAvails are refused, and a SendSm is due. */
DEFINE_EVENT(sdp_why_class, sdp_sendsm,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* Advertised bytes stay with the peer until our reader has taken others. */
DEFINE_EVENT(sdp_why_class, sdp_read_waits,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* The last message, of so many payload bytes, has room and is held back. */
DEFINE_EVENT(sdp_why_class, sdp_hold,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/* A request waits until others, of so many bytes, are complete. */
DEFINE_EVENT(sdp_why_class, sdp_post_waits,
	TP_PROTO(u32 id, size_t bytes, const char *reason),
	TP_ARGS(id, bytes, reason));

/*
 * The peer reports what became of our adverts.  bytes: those that this report
 * says it moved; done: adverts that are completed; withdrawn: all others have
 * ended, and their bytes go another way.
 */
DECLARE_EVENT_CLASS(sdp_told_class,
	TP_PROTO(u32 id, u32 bytes, u8 done, bool withdrawn),
	TP_ARGS(id, bytes, done, withdrawn),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, bytes)
		__field(u8, done)
		__field(bool, withdrawn)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		__entry->done = done;
		__entry->withdrawn = withdrawn;
	),
	TP_printk("conn=%u bytes=%u done=%u%s", __entry->id, __entry->bytes,
		  __entry->done, __entry->withdrawn ? " withdrawn" : "")
);

/* Of SrcAvails, which the peer reads. */
DEFINE_EVENT(sdp_told_class, sdp_src_told,
	TP_PROTO(u32 id, u32 bytes, u8 done, bool withdrawn),
	TP_ARGS(id, bytes, done, withdrawn));

/* Of the SinkAvail, which the peer writes to; 0 bytes: it was of no use. */
DEFINE_EVENT(sdp_told_class, sdp_snk_told,
	TP_PROTO(u32 id, u32 bytes, u8 done, bool withdrawn),
	TP_ARGS(id, bytes, done, withdrawn));

/* A receive completed; status is an enum ib_wc_status for verbs. */
TRACE_EVENT(sdp_recv_done,
	TP_PROTO(u32 id, u32 bytes, int status),
	TP_ARGS(id, bytes, status),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, bytes)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		__entry->status = status;
	),
	TP_printk("conn=%u bytes=%u status=%d", __entry->id, __entry->bytes,
		  __entry->status)
);

/* Receive buffers were posted: how many, and how many there are now. */
TRACE_EVENT(sdp_post_recv,
	TP_PROTO(u32 id, u32 count, u32 posted),
	TP_ARGS(id, count, posted),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, count)
		__field(u32, posted)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->count = count;
		__entry->posted = posted;
	),
	TP_printk("conn=%u count=%u posted=%u", __entry->id, __entry->count,
		  __entry->posted)
);

/*
 * Our ring of receive buffers.  bufs: how many there were to be, and are to be
 * now; size: bytes of a new one; mem: bytes of those that there are.
 */
DECLARE_EVENT_CLASS(sdp_ring_class,
	TP_PROTO(u32 id, u32 size, u16 from, u16 to, u16 posted, u32 mem),
	TP_ARGS(id, size, from, to, posted, mem),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, size)
		__field(u16, from)
		__field(u16, to)
		__field(u16, posted)
		__field(u32, mem)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->size = size;
		__entry->from = from;
		__entry->to = to;
		__entry->posted = posted;
		__entry->mem = mem;
	),
	TP_printk("conn=%u size=%u bufs=%u->%u posted=%u mem=%u", __entry->id,
		  __entry->size, __entry->from, __entry->to, __entry->posted,
		  __entry->mem)
);

/* The peer uses the buffers up faster than they come back: more are made. */
DEFINE_EVENT(sdp_ring_class, sdp_ring_grow,
	TP_PROTO(u32 id, u32 size, u16 from, u16 to, u16 posted, u32 mem),
	TP_ARGS(id, size, from, to, posted, mem));

/* The peer is idle, or a limit was lowered: fewer are posted again. */
DEFINE_EVENT(sdp_ring_class, sdp_ring_shrink,
	TP_PROTO(u32 id, u32 size, u16 from, u16 to, u16 posted, u32 mem),
	TP_ARGS(id, size, from, to, posted, mem));

/* No more may be made: the peer sends no data before something is read. */
DEFINE_EVENT(sdp_ring_class, sdp_ring_full,
	TP_PROTO(u32 id, u32 size, u16 from, u16 to, u16 posted, u32 mem),
	TP_ARGS(id, size, from, to, posted, mem));

/*
 * ChRcvBuf and what follows from it.  had: bytes of a receive buffer so far;
 * size: bytes that are asked for, or that the answer says; bufs: how many
 * buffers there are on the side that is asked.
 */
DECLARE_EVENT_CLASS(sdp_rcvbuf_class,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, had)
		__field(u32, size)
		__field(u16, bufs)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->had = had;
		__entry->size = size;
		__entry->bufs = bufs;
	),
	TP_printk("conn=%u had=%u size=%u bufs=%u", __entry->id, __entry->had,
		  __entry->size, __entry->bufs)
);

/* The peer is to be asked for larger buffers, or for smaller ones. */
DEFINE_EVENT(sdp_rcvbuf_class, sdp_rcvbuf_ask,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs));

/* The peer has answered: had is what our messages kept to so far. */
DEFINE_EVENT(sdp_rcvbuf_class, sdp_rcvbuf_given,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs));

/* The peer asks for other buffers. */
DEFINE_EVENT(sdp_rcvbuf_class, sdp_rcvbuf_asked,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs));

/* The peer gets larger buffers: no others are posted from now on. */
DEFINE_EVENT(sdp_rcvbuf_class, sdp_rcvbuf_grant,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs));

/* The peer gets no other buffers, for lack of memory or by a limit. */
DEFINE_EVENT(sdp_rcvbuf_class, sdp_rcvbuf_refuse,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs));

/* The peer is idle: the answer promises smaller buffers. */
DEFINE_EVENT(sdp_rcvbuf_class, sdp_rcvbuf_promise,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs));

/* The peer has heard of the promise: smaller ones are posted from now on. */
DEFINE_EVENT(sdp_rcvbuf_class, sdp_rcvbuf_shrink,
	TP_PROTO(u32 id, u32 had, u32 size, u16 bufs),
	TP_ARGS(id, had, size, bufs));

/* What the sender allows to be held back, before and now. */
#define sdp_show_delay(delay)						\
	__print_flags(delay, "|",					\
		{ 0x01, "NODELAY" }, { 0x02, "CORK" }, { 0x04, "PUSH" })

TRACE_EVENT(sdp_delay,
	TP_PROTO(u32 id, u8 from, u8 to),
	TP_ARGS(id, from, to),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("conn=%u %s -> %s", __entry->id,
		  sdp_show_delay(__entry->from), sdp_show_delay(__entry->to))
);

/*
 * The limit of bytes that may be outstanding: it grows while the peer does not
 * read, and is back when nothing is outstanding, or when SO_SNDBUF was set.
 */
TRACE_EVENT(sdp_snd_limit,
	TP_PROTO(u32 id, u32 from, u32 to, u32 outstanding),
	TP_ARGS(id, from, to, outstanding),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, from)
		__field(u32, to)
		__field(u32, outstanding)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->from = from;
		__entry->to = to;
		__entry->outstanding = outstanding;
	),
	TP_printk("conn=%u bytes=%u->%u outstanding=%u", __entry->id,
		  __entry->from, __entry->to, __entry->outstanding)
);

/*
 * What Hello and HelloAck have brought: payload bytes of a message to the peer,
 * its buffers, its MaxAdverts, and what we may do: RDMA Reads, SrcAvail,
 * Send-with-Invalidate.
 */
TRACE_EVENT(sdp_session,
	TP_PROTO(u32 id, u32 snd_max, u16 bufs, u16 adverts, bool may_read,
		 bool may_advertise, bool may_invalidate),
	TP_ARGS(id, snd_max, bufs, adverts, may_read, may_advertise,
		may_invalidate),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, snd_max)
		__field(u16, bufs)
		__field(u16, adverts)
		__field(bool, may_read)
		__field(bool, may_advertise)
		__field(bool, may_invalidate)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->snd_max = snd_max;
		__entry->bufs = bufs;
		__entry->adverts = adverts;
		__entry->may_read = may_read;
		__entry->may_advertise = may_advertise;
		__entry->may_invalidate = may_invalidate;
	),
	TP_printk("conn=%u snd_max=%u bufs=%u adverts=%u%s%s%s", __entry->id,
		  __entry->snd_max, __entry->bufs, __entry->adverts,
		  __entry->may_read ? " read" : "",
		  __entry->may_advertise ? " advertise" : "",
		  __entry->may_invalidate ? " invalidate" : "")
);

/* A half-connection changes its mode: the one that we send by, or the other. */
TRACE_EVENT(sdp_mode,
	TP_PROTO(u32 id, bool send, u8 mode),
	TP_ARGS(id, send, mode),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(bool, send)
		__field(u8, mode)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->send = send;
		__entry->mode = mode;
	),
	TP_printk("conn=%u %s %s", __entry->id,
		  __entry->send ? "send" : "receive",
		  __print_symbolic(__entry->mode, { 0, "buffered" },
				   { 1, "combined" }, { 2, "pipelined" }))
);

/* What the credits allow: the message goes, or it waits. */
TRACE_EVENT(sdp_credit,
	TP_PROTO(u32 id, u8 mid, u32 credits, bool go),
	TP_ARGS(id, mid, credits, go),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u8, mid)
		__field(u32, credits)
		__field(bool, go)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->mid = mid;
		__entry->credits = credits;
		__entry->go = go;
	),
	TP_printk("conn=%u %s credits=%u %s", __entry->id,
		  sdp_show_mid(__entry->mid), __entry->credits,
		  __entry->go ? "go" : "wait")
);

TRACE_EVENT(sdp_state,
	TP_PROTO(u32 id, const char *from, const char *to, int event,
		 unsigned int actions),
	TP_ARGS(id, from, to, event, actions),
	TP_STRUCT__entry(
		__field(u32, id)
		__string(from, from)
		__string(to, to)
		__field(int, event)
		__field(unsigned int, actions)
	),
	TP_fast_assign(
		__entry->id = id;
		sdp_assign_str(from, from);
		sdp_assign_str(to, to);
		__entry->event = event;
		__entry->actions = actions;
	),
	TP_printk("conn=%u %s -> %s event=%d actions=0x%x", __entry->id,
		  __get_str(from), __get_str(to), __entry->event,
		  __entry->actions)
);

/* A connection fails: errno, and the place that found it. */
TRACE_EVENT(sdp_fail,
	TP_PROTO(u32 id, int err, const char *why),
	TP_ARGS(id, err, why),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(int, err)
		__string(why, why)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->err = err;
		sdp_assign_str(why, why);
	),
	TP_printk("conn=%u err=%d %s", __entry->id, __entry->err,
		  __get_str(why))
);

/* A word and a number, whose meaning depends on the event and the word. */
DECLARE_EVENT_CLASS(sdp_what_class,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value),
	TP_STRUCT__entry(
		__field(u32, id)
		__string(what, what)
		__field(int, value)
	),
	TP_fast_assign(
		__entry->id = id;
		sdp_assign_str(what, what);
		__entry->value = value;
	),
	TP_printk("conn=%u %s %d", __entry->id, __get_str(what),
		  __entry->value)
);

/* An event or a step of connection management. */
DEFINE_EVENT(sdp_what_class, sdp_cm,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* The transport ends an attempt to connect, of either side: the reason, and errno. */
DEFINE_EVENT(sdp_what_class, sdp_refuse,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* A connection is not made: the limit, or what there is no memory for, and -errno. */
DEFINE_EVENT(sdp_what_class, sdp_limit,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* There is no memory for this, of so many bytes. */
DEFINE_EVENT(sdp_what_class, sdp_no_mem,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* User memory cannot be registered: what it is for, and -errno. */
DEFINE_EVENT(sdp_what_class, sdp_reg_fail,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* A port is listened on by SDP, or not any more. */
DEFINE_EVENT(sdp_what_class, sdp_port,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* An urgent byte is announced: how many are; or here: bytes ahead of the reader. */
DEFINE_EVENT(sdp_what_class, sdp_urgent,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* A caller has polled before it sleeps, for so many ns at most: hit or miss. */
DEFINE_EVENT(sdp_what_class, sdp_busy_poll,
	TP_PROTO(u32 id, const char *what, int value),
	TP_ARGS(id, what, value));

/* Of a device; there is no connection.  The value is -errno, or depends. */
DECLARE_EVENT_CLASS(sdp_dev_class,
	TP_PROTO(u32 id, const char *dev, const char *what, int value),
	TP_ARGS(id, dev, what, value),
	TP_STRUCT__entry(
		__field(u32, id)
		__string(dev, dev)
		__string(what, what)
		__field(int, value)
	),
	TP_fast_assign(
		__entry->id = id;
		sdp_assign_str(dev, dev);
		sdp_assign_str(what, what);
		__entry->value = value;
	),
	TP_printk("conn=%u %s %s %d", __entry->id, __get_str(dev),
		  __get_str(what), __entry->value)
);

/* A device comes or goes, has news of its ports, or refuses a port. */
DEFINE_EVENT(sdp_dev_class, sdp_dev,
	TP_PROTO(u32 id, const char *dev, const char *what, int value),
	TP_ARGS(id, dev, what, value));

/* None is idle: a completion queue (CQ), or a registration (MR), is made. */
DEFINE_EVENT(sdp_dev_class, sdp_pool,
	TP_PROTO(u32 id, const char *dev, const char *what, int value),
	TP_ARGS(id, dev, what, value));

/*
 * The timers of a connection.  close: what a state may take, or DREQ and
 * AbortConn; uncork: the payload that waits for more; check: keepalive, user
 * timeout, memory that stays advertised, idle buffers; bounce: the time that a
 * direct reader has to come.
 */
TRACE_EVENT(sdp_timer_set,
	TP_PROTO(u32 id, const char *timer, unsigned long delay),
	TP_ARGS(id, timer, delay),
	TP_STRUCT__entry(
		__field(u32, id)
		__string(timer, timer)
		__field(unsigned int, ms)
	),
	TP_fast_assign(
		__entry->id = id;
		sdp_assign_str(timer, timer);
		__entry->ms = jiffies_to_msecs(delay);
	),
	TP_printk("conn=%u %s ms=%u", __entry->id, __get_str(timer), __entry->ms)
);

DECLARE_EVENT_CLASS(sdp_timer_class,
	TP_PROTO(u32 id, const char *timer),
	TP_ARGS(id, timer),
	TP_STRUCT__entry(
		__field(u32, id)
		__string(timer, timer)
	),
	TP_fast_assign(
		__entry->id = id;
		sdp_assign_str(timer, timer);
	),
	TP_printk("conn=%u %s", __entry->id, __get_str(timer))
);

/* The time is over. */
DEFINE_EVENT(sdp_timer_class, sdp_timer_fired,
	TP_PROTO(u32 id, const char *timer),
	TP_ARGS(id, timer));

/* The timer was set, and is not needed any more. */
DEFINE_EVENT(sdp_timer_class, sdp_timer_off,
	TP_PROTO(u32 id, const char *timer),
	TP_ARGS(id, timer));

/* What was waited for, and for how long; the caller gives jiffies. */
DECLARE_EVENT_CLASS(sdp_wait_class,
	TP_PROTO(u32 id, const char *what, unsigned long waited),
	TP_ARGS(id, what, waited),
	TP_STRUCT__entry(
		__field(u32, id)
		__string(what, what)
		__field(unsigned int, ms)
	),
	TP_fast_assign(
		__entry->id = id;
		sdp_assign_str(what, what);
		__entry->ms = jiffies_to_msecs(waited);
	),
	TP_printk("conn=%u %s ms=%u", __entry->id, __get_str(what), __entry->ms)
);

/* A keepalive is due, or was answered; the time is that of the silence. */
DEFINE_EVENT(sdp_wait_class, sdp_keepalive,
	TP_PROTO(u32 id, const char *what, unsigned long waited),
	TP_ARGS(id, what, waited));

/* The connection is given up; the time is that without progress. */
DEFINE_EVENT(sdp_wait_class, sdp_timeout,
	TP_PROTO(u32 id, const char *what, unsigned long waited),
	TP_ARGS(id, what, waited));

/*
 * A child of a listener, until accept() has it.  port: the listener's; qlen:
 * places of the backlog that are taken; aside: children without a place.
 */
DECLARE_EVENT_CLASS(sdp_child_class,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u16, port)
		__field(u32, qlen)
		__field(u32, aside)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->port = port;
		__entry->qlen = qlen;
		__entry->aside = aside;
	),
	TP_printk("conn=%u port=%u qlen=%u aside=%u", __entry->id, __entry->port,
		  __entry->qlen, __entry->aside)
);

/* A request is admitted. */
DEFINE_EVENT(sdp_child_class, sdp_child_new,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* TCP_DEFER_ACCEPT: accept() may have it when it has sent something. */
DEFINE_EVENT(sdp_child_class, sdp_child_deferred,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* accept() may have it. */
DEFINE_EVENT(sdp_child_class, sdp_child_ready,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* accept() has it. */
DEFINE_EVENT(sdp_child_class, sdp_child_accepted,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* accept() could not take it, for lack of memory or descriptors. */
DEFINE_EVENT(sdp_child_class, sdp_child_put_back,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* It is silent, and the backlog is full: another gets its place. */
DEFINE_EVENT(sdp_child_class, sdp_child_aside,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* It was set aside, and is heard of: it has a place again. */
DEFINE_EVENT(sdp_child_class, sdp_child_back,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* As many are set aside as may be: the oldest, still silent, ends. */
DEFINE_EVENT(sdp_child_class, sdp_child_evicted,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* It ended before accept() might have it. */
DEFINE_EVENT(sdp_child_class, sdp_child_gone,
	TP_PROTO(u32 id, u16 port, u32 qlen, u32 aside),
	TP_ARGS(id, port, qlen, aside));

/* A request finds no listener, or no place with it. */
TRACE_EVENT(sdp_child_refused,
	TP_PROTO(u32 id, u16 port, const char *why),
	TP_ARGS(id, port, why),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u16, port)
		__string(why, why)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->port = port;
		sdp_assign_str(why, why);
	),
	TP_printk("conn=%u port=%u %s", __entry->id, __entry->port,
		  __get_str(why))
);

/*
 * What is known of a destination.  port 0: of all ports of the host; known and
 * reason: the words of /proc/net/sdp_peers.
 */
DECLARE_EVENT_CLASS(sdp_dst_class,
	TP_PROTO(u32 id, const struct in6_addr *ip, u16 port, const char *known,
		 const char *reason),
	TP_ARGS(id, ip, port, known, reason),
	TP_STRUCT__entry(
		__field(u32, id)
		__array(u8, ip, 16)
		__field(u16, port)
		__string(known, known)
		__string(reason, reason)
	),
	TP_fast_assign(
		__entry->id = id;
		memcpy(__entry->ip, ip, 16);
		__entry->port = port;
		sdp_assign_str(known, known);
		sdp_assign_str(reason, reason);
	),
	TP_printk("conn=%u %pI6c port=%u %s %s", __entry->id, __entry->ip,
		  __entry->port, __get_str(known), __get_str(reason))
);

/* A connect() goes by what is known, and asks nobody. */
DEFINE_EVENT(sdp_dst_class, sdp_dst_use,
	TP_PROTO(u32 id, const struct in6_addr *ip, u16 port, const char *known,
		 const char *reason),
	TP_ARGS(id, ip, port, known, reason));

/* An entry is written, new or again. */
DEFINE_EVENT(sdp_dst_class, sdp_dst_learn,
	TP_PROTO(u32 id, const struct in6_addr *ip, u16 port, const char *known,
		 const char *reason),
	TP_ARGS(id, ip, port, known, reason));

/* An entry is removed: it is refuted, or makes room for another. */
DEFINE_EVENT(sdp_dst_class, sdp_dst_drop,
	TP_PROTO(u32 id, const struct in6_addr *ip, u16 port, const char *known,
		 const char *reason),
	TP_ARGS(id, ip, port, known, reason));

/* Known is tcp if TCP was not refused where SDP was; else that is unknown. */
DEFINE_EVENT(sdp_dst_class, sdp_dst_confirm,
	TP_PROTO(u32 id, const struct in6_addr *ip, u16 port, const char *known,
		 const char *reason),
	TP_ARGS(id, ip, port, known, reason));

/* A probe has its answer, or will have none. */
DEFINE_EVENT(sdp_dst_class, sdp_probe,
	TP_PROTO(u32 id, const struct in6_addr *ip, u16 port, const char *known,
		 const char *reason),
	TP_ARGS(id, ip, port, known, reason));

/*
 * Entries are out of date: all, as a device or an address has come or gone
 * (port 0), or refusals of this port, as somebody listens on it here.
 */
TRACE_EVENT(sdp_dst_forget,
	TP_PROTO(u32 id, u16 port),
	TP_ARGS(id, port),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u16, port)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->port = port;
	),
	TP_printk("conn=%u port=%u", __entry->id, __entry->port)
);

/* A socket does not get SDP: the reason, and whether TCP takes over. */
TRACE_EVENT(sdp_fallback,
	TP_PROTO(u32 id, const char *reason, bool tcp),
	TP_ARGS(id, reason, tcp),
	TP_STRUCT__entry(
		__field(u32, id)
		__string(reason, reason)
		__field(bool, tcp)
	),
	TP_fast_assign(
		__entry->id = id;
		sdp_assign_str(reason, reason);
		__entry->tcp = tcp;
	),
	TP_printk("conn=%u reason=%s %s", __entry->id, __get_str(reason),
		  __entry->tcp ? "tcp" : "error")
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sdp_trace
#include <trace/define_trace.h>
