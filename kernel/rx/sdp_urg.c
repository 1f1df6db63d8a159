// SPDX-License-Identifier: GPL-2.0
/*
 * Urgent data on the receiving side (protocol text, 4.7).
 *
 * The semantics are TCP's, to the letter, since programs that use urgent data
 * know nothing else.  There is one urgent byte at a time; a newer one replaces
 * it.  Out of line it is read by MSG_OOB, once, and a read of the stream stops
 * before it, once, and then leaves it out.  With SO_OOBINLINE a read stops
 * before it too, and the byte is part of the stream.  An urgent byte that was
 * replaced is part of the stream again, unless the reader stood right before
 * it: then it is a hole.
 *
 * SDP tells the place of the urgent byte only with the byte itself (OOB_PRES),
 * where TCP's header points ahead.  So OOB_PEND, which comes before, raises
 * SIGURG and does nothing more; an older urgent byte stays until the newer one
 * is there.
 *
 * The mark is kept twice.  rx.urg.seq is its place, counted as rx.read is,
 * under rx.lock: it answers questions.  And a buffer whose last byte is urgent
 * carries the mark's name, and nothing is appended to it: a reader that copies
 * without a lock while more arrives cannot run over the mark.
 */
#include "sdp_buf.h"
#include "sdp_trace.h"
#include "sdp_urg.h"

enum {
	SDP_URG_VALID	= 0x100,	/* the low byte is the urgent one */
	SDP_URG_READ	= 0x200,	/* it was read, and not yet passed */
};

/**
 * sdp_urg_announced() - account an OOB_PEND or OOB_PRES that came
 * @conn: the connection, rx.lock held
 * @pend: the message says that urgent data is under way
 * @pres: the message ends with urgent data
 *
 * Context: process or softirq.
 * Return: true if the socket's owner is to be signalled: once for each urgent
 * byte, when it is announced, or when it comes unannounced.
 */
bool sdp_urg_announced(struct sdp_conn *conn, bool pend, bool pres)
{
	bool signal = pend;

	lockdep_assert_held(&conn->rx.lock);
	if (pend && conn->rx.urg.pending < U16_MAX)
		conn->rx.urg.pending++;
	if (pres) {
		if (conn->rx.urg.pending)
			conn->rx.urg.pending--;
		else
			signal = true;
	}
	if (signal)
		trace_sdp_urgent(conn->id, "announced", conn->rx.urg.pending);
	return signal;
}

/* Where the next read begins: holes are no part of the stream. */
static u32 sdp_urg_begin(const struct sdp_conn *conn, bool inlined)
{
	u32 read = conn->rx.read;

	lockdep_assert_held(&conn->rx.lock);
	if (!inlined && conn->rx.urg.holes && conn->rx.urg.hole == read)
		read += conn->rx.urg.holes;
	return read;
}

/**
 * sdp_urg_arrived() - record an urgent byte that goes to the end of rx.queue
 * @conn: the connection, rx.lock held
 * @seq: its place in the stream
 * @byte: the byte
 *
 * Context: process or softirq.
 * Return: the name of the mark, for sdp_buf.mark.
 */
u32 sdp_urg_arrived(struct sdp_conn *conn, u32 seq, u8 byte)
{
	u32 begin = sdp_urg_begin(conn, false);

	if (conn->rx.urg.data && conn->rx.urg.seq == begin) {
		conn->rx.urg.hole = conn->rx.read;
		WRITE_ONCE(conn->rx.urg.holes, begin - conn->rx.read + 1);
	}
	trace_sdp_urgent(conn->id, "here", seq - begin);
	conn->rx.urg.seq = seq;
	if (!++conn->rx.urg.mark)	/* 0 means that a buffer has no mark */
		conn->rx.urg.mark++;
	WRITE_ONCE(conn->rx.urg.data, SDP_URG_VALID | byte);
	return conn->rx.urg.mark;
}

/**
 * sdp_urg_stops() - whether a read ends before the last byte of a buffer
 * @conn: the connection
 * @buf: a buffer that the reader has taken over, with its mark set
 *
 * Context: any.
 * Return: true if that byte is still the urgent one.
 */
bool sdp_urg_stops(const struct sdp_conn *conn, const struct sdp_buf *buf)
{
	return buf->mark == READ_ONCE(conn->rx.urg.mark) &&
	       READ_ONCE(conn->rx.urg.data);
}

/**
 * sdp_urg_passed() - drop the mark and the holes that the reader has passed
 * @conn: the connection, rx.lock held; the reader has moved rx.read
 *
 * Context: process.
 */
void sdp_urg_passed(struct sdp_conn *conn)
{
	u32 read = conn->rx.read;
	u32 gone = read - conn->rx.urg.hole;

	lockdep_assert_held(&conn->rx.lock);
	if (conn->rx.urg.data && (s32)(read - conn->rx.urg.seq) > 0)
		WRITE_ONCE(conn->rx.urg.data, 0);
	if (conn->rx.urg.holes) {
		gone = min(gone, conn->rx.urg.holes);
		conn->rx.urg.hole = read;
		WRITE_ONCE(conn->rx.urg.holes, conn->rx.urg.holes - gone);
	}
}

/**
 * sdp_urg_place() - what stands at a place of the stream
 * @conn: the connection
 * @ahead: bytes from rx.read to the place, which were peeked at
 *
 * Context: process or softirq.
 * Return: enum sdp_urg_place.
 */
enum sdp_urg_place sdp_urg_place(struct sdp_conn *conn, u32 ahead)
{
	enum sdp_urg_place place = SDP_URG_NOTHING;
	u32 at;

	spin_lock_bh(&conn->rx.lock);
	at = conn->rx.read + ahead;
	if (at - conn->rx.urg.hole < conn->rx.urg.holes)
		place = SDP_URG_HOLE;
	else if (conn->rx.urg.data && conn->rx.urg.seq == at)
		place = SDP_URG_MARK;
	spin_unlock_bh(&conn->rx.lock);
	return place;
}

/**
 * sdp_urg_at_mark() - whether the reader stands at the urgent byte (SIOCATMARK)
 * @conn: the connection
 * @inlined: SO_OOBINLINE is set
 *
 * Context: process or softirq.
 * Return: true if the next byte of the stream is the urgent one.
 */
bool sdp_urg_at_mark(struct sdp_conn *conn, bool inlined)
{
	bool at;

	spin_lock_bh(&conn->rx.lock);
	at = conn->rx.urg.data &&
	     conn->rx.urg.seq == sdp_urg_begin(conn, inlined);
	spin_unlock_bh(&conn->rx.lock);
	return at;
}

/**
 * sdp_urg_take() - read the urgent byte (MSG_OOB)
 * @conn: the connection
 * @peek: leave it there
 * @byte: set to the urgent byte
 *
 * Context: process.
 * Return: 0; -EINVAL if there is none, or it was read; -EAGAIN if it was
 * announced and is not here yet.
 */
int sdp_urg_take(struct sdp_conn *conn, bool peek, u8 *byte)
{
	int err = 0;

	spin_lock_bh(&conn->rx.lock);
	if (conn->rx.urg.data & SDP_URG_VALID) {
		*byte = conn->rx.urg.data;
		if (!peek)
			WRITE_ONCE(conn->rx.urg.data, SDP_URG_READ);
	} else {
		err = conn->rx.urg.pending ? -EAGAIN : -EINVAL;
	}
	spin_unlock_bh(&conn->rx.lock);
	return err;
}

/**
 * sdp_urg_is_valid() - whether recv(MSG_OOB) would return an urgent byte
 * @conn: the connection
 *
 * Context: any.
 * Return: true as long as poll() says POLLPRI.
 */
bool sdp_urg_is_valid(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->rx.urg.data) & SDP_URG_VALID;
}

/**
 * sdp_urg_readable() - bytes that a read would return, as poll() counts them
 * @conn: the connection
 * @inlined: SO_OOBINLINE is set
 *
 * Context: process or softirq.
 * Return: bytes; the urgent byte is left out if the reader stands at it.
 */
u32 sdp_urg_readable(struct sdp_conn *conn, bool inlined)
{
	u32 bytes = READ_ONCE(conn->rx.inq), begin;

	if (!sdp_urg_any(conn) || inlined)
		return bytes;
	spin_lock_bh(&conn->rx.lock);
	begin = sdp_urg_begin(conn, false);
	bytes = conn->rx.inq - (begin - conn->rx.read);
	if (conn->rx.urg.data && conn->rx.urg.seq == begin)
		bytes--;
	spin_unlock_bh(&conn->rx.lock);
	return bytes;
}

/**
 * sdp_urg_inq() - bytes up to the mark, as SIOCINQ counts them
 * @conn: the connection
 * @inlined: SO_OOBINLINE is set
 *
 * Context: process or softirq.
 * Return: bytes; all that arrived if there is no mark, or @inlined.
 */
u32 sdp_urg_inq(struct sdp_conn *conn, bool inlined)
{
	u32 bytes = READ_ONCE(conn->rx.inq), end;

	if (!sdp_urg_any(conn) || inlined)
		return bytes;
	spin_lock_bh(&conn->rx.lock);
	end = conn->rx.read + conn->rx.inq;
	if (conn->rx.urg.data)
		end = conn->rx.urg.seq;
	bytes = end - sdp_urg_begin(conn, false);
	spin_unlock_bh(&conn->rx.lock);
	return bytes;
}
