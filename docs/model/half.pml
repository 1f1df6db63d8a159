/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One half of an SDP connection: a source, whose stream flows, and its sink
 * (protocol text, sections 4.1 to 4.6).  make check-model explores every order
 * in which messages can cross.
 *
 * The stream is BLOCKS blocks, each known by its number.  What the model shows:
 *  - the sink gets each block once and in order, whichever way it goes: copied
 *    (Data), read by the sink (SrcAvail, RdmaRdCompl), written by the source
 *    (SinkAvail, RdmaWrCompl);
 *  - no memory is touched by the other side after it was taken back;
 *  - neither side receives what is an error in the state that it is in;
 *  - nothing gets stuck: from everywhere the stream can come to its end.
 *
 * Left out, because other parts answer for it: credits (sdp_flow.c), the other
 * half, which shares nothing with this one but the sequence numbers, and what
 * bytes mean.  A channel holds few messages and whoever finds it full waits,
 * but still receives: so what is an answer is owed first and sent later, as
 * sdp_tx.c has it.
 *
 * BUG, when defined, seeds one error; check-model wants each of them found:
 *  1  Data behind a ModeChange is counted against SinkAvails before it
 *  2  the sink believes a SrcAvail that its SendSm has ended already
 *  3  memory is taken back when the cancel is sent, not when it is resolved
 *  4  Data over a SinkAvail that is partly written, without its RdmaWrCompl
 *  5  a sink forgets that a cancel came while it was reading
 */

#ifndef BLOCKS
#define BLOCKS	3
#endif
#ifndef ADVERTS
#define ADVERTS	2	/* MaxAdverts of both sides */
#endif
#ifndef DEPTH
#define DEPTH	3	/* messages under way, each direction */
#endif
#ifndef CANCELS
#define CANCELS	1	/* of each kind, SendSm without need among them */
#endif
#ifndef BUG
#define BUG	0
#endif
#define BUFFER	2	/* blocks that a SinkAvail has room for */

mtype = {
	Data, SrcAvail, SrcAvailCancel, ModeChange, RdmaWrite, RdmaWrCompl,
	SinkCancelAck, DisConn,
	SendSm, RdmaRdCompl, SinkAvail, SinkAvailCancel
};

#define COMBINED	0
#define PIPELINED	1

/* kind, MSeq, MSeqAck, and what it says */
chan down = [DEPTH] of { mtype, byte, byte, byte, byte };
chan up = [DEPTH] of { mtype, byte, byte, byte };

/* Memory that the other side may touch: the source's blocks, the sink's buffers. */
bool lent[BLOCKS];
bool open_[ADVERTS];

bool source_done, sink_done;
bool gone;		/* the reader does not come back: no more reads */

/* Of one step; no part of what a state is. */
hidden byte x, y, i, got_ack;
hidden byte valid;

/* --------------------------------------------------------------------- source */

proctype source()
{
	byte mode = COMBINED, mode_seq = 0, modes = 0;
	byte next = 0;			/* block to send or to offer next */
	byte seq = 0, ack = 0;		/* MSeq of the last sent, and heard */
	byte n = 0;			/* SrcAvails outstanding */
	byte first[ADVERTS], left[ADVERTS], at[ADVERTS];
	bool cancel = false;		/* SrcAvailCancel not resolved */
	byte cancels = 0;
	byte held = 0, wrote = 0;	/* SinkAvails; blocks in the oldest */
	byte buf[ADVERTS];
	byte ns = 0;			/* NonDiscards as we count it */
	byte since = 0;			/* part of it: since mode_seq */
	bool owe_wr = false, owe_ack = false;

	do
	/* Copy. */
	:: atomic { nfull(down) && next < BLOCKS && n == 0 && !cancel &&
		    !owe_wr && !owe_ack && (BUG == 4 || wrote == 0) ->
		seq++;
		down!Data(seq, ack, next, 0);
		next++;
		if
		:: held > 0 ->		/* it kills the oldest */
			held--; wrote = 0;
			buf[0] = buf[1]; buf[1] = 0
		:: else -> ns++; since++
		fi }
	/* Offer, one block inline in combined mode. */
	:: atomic { nfull(down) && next < BLOCKS && !cancel && held == 0 && !gone &&
		    !owe_wr && !owe_ack &&
		    ((mode == COMBINED && n == 0 && next + 2 <= BLOCKS) ||
		     (mode == PIPELINED && n < ADVERTS)) ->
		x = (mode == COMBINED -> 2 : 1);
		if
		:: next + x < BLOCKS -> x++
		:: true
		fi;
		seq++;
		down!SrcAvail(seq, ack, next, x);
		if
		:: mode == COMBINED -> next++; x--; ns++; since++
		:: else
		fi;
		first[n] = next; left[n] = x; at[n] = seq;
		n++;
		do
		:: x > 0 -> lent[next] = true; next++; x--
		:: else -> break
		od }
	/* Withdraw what is offered. */
	:: atomic { nfull(down) && n > 0 && !cancel && (gone || cancels < CANCELS) ->
		seq++;
		down!SrcAvailCancel(seq, ack, 0, 0);
		cancels++;
		cancel = true;
#if BUG == 3
		for (i : 0 .. BLOCKS - 1) { lent[i] = false }
#endif
		}
	/* Write into what the sink offers. */
	:: atomic { nfull(down) && next < BLOCKS && held > 0 && wrote < BUFFER &&
		    !owe_wr && !owe_ack ->
		down!RdmaWrite(0, 0, next, buf[0]);
		next++;
		wrote++ }
	:: atomic { nfull(down) && (owe_wr || (held > 0 && wrote > 0)) ->
		seq++;
		down!RdmaWrCompl(seq, ack, wrote, 0);
		wrote = 0;
		if
		:: owe_wr -> owe_wr = false
		:: else -> held--; buf[0] = buf[1]; buf[1] = 0
		fi }
	:: atomic { nfull(down) && owe_ack && !owe_wr ->
		seq++;
		down!SinkCancelAck(seq, ack, 0, 0);
		owe_ack = false }
	/* Change the mode, there and back. */
	:: atomic { nfull(down) && mode == COMBINED && modes < 3 && !cancel &&
		    !source_done ->
		seq++;
		down!ModeChange(seq, ack, PIPELINED, 0);
		mode = PIPELINED; modes++ }
	:: atomic { nfull(down) && mode == PIPELINED && modes < 3 && n == 0 &&
		    held == 0 && !cancel && !owe_wr && !owe_ack && !source_done ->
		seq++;
		down!ModeChange(seq, ack, COMBINED, 0);
		mode = COMBINED; mode_seq = seq; since = 0; modes++ }
	/* The end. */
	:: atomic { nfull(down) && next == BLOCKS && n == 0 && !cancel &&
		    wrote == 0 && !owe_wr && !owe_ack && !source_done ->
		seq++;
		down!DisConn(seq, ack, 0, 0);
		held = 0; buf[0] = 0; buf[1] = 0;	/* the sink will know */
		source_done = true }

	:: atomic { up?RdmaRdCompl(ack, got_ack, x) ->
		/* Always of the oldest, and never more than it had left. */
		assert(n > 0 && got_ack >= at[0] && x <= left[0]);
		do
		:: x > 0 -> lent[first[0]] = false; first[0]++; left[0]--; x--
		:: else -> break
		od;
		if
		:: left[0] == 0 ->
			first[0] = first[1]; left[0] = left[1]; at[0] = at[1];
			first[1] = 0; left[1] = 0; at[1] = 0;
			n--
		:: else
		fi;
		if
		:: n == 0 -> cancel = false
		:: else
		fi }
	:: atomic { up?SendSm(ack, got_ack, _) ->
		if
		:: n > 0 && got_ack >= at[0] ->
			next = first[0];
			n = 0; cancel = false;
			for (i : 0 .. BLOCKS - 1) { lent[i] = false }
			for (i : 0 .. ADVERTS - 1) { first[i] = 0; left[i] = 0; at[i] = 0 }
		:: else		/* it ended what is over */
		fi }
	:: atomic { up?SinkAvail(ack, got_ack, x) ->
		y = x % ADVERTS;	/* which buffer */
		x = x / ADVERTS;	/* NonDiscards */
		/* What went after a change of mode cannot have killed what was
		 * offered before it: the sink had taken that back.
		 */
		valid = (x == ns - (BUG != 1 && got_ack < mode_seq -> since : 0));
		if
		:: !valid -> assert(ns > x); ns--
		:: else
		fi;
		if
		:: source_done -> skip
		:: !source_done && valid && mode == COMBINED ->
			/* It crossed, and the sink takes it back by itself. */
			assert(got_ack < mode_seq)
		:: !source_done && valid && mode == PIPELINED && got_ack < mode_seq ->
			skip	/* it crossed a change away and back */
		:: !source_done && valid && mode == PIPELINED && got_ack >= mode_seq ->
			assert(held < ADVERTS);
			if
			:: n > 0 ->
				next = first[0];
				n = 0; cancel = false;
				for (i : 0 .. BLOCKS - 1) { lent[i] = false }
				for (i : 0 .. ADVERTS - 1) { first[i] = 0; left[i] = 0; at[i] = 0 }
			:: else
			fi;
			buf[held] = y;
			held++
		:: else
		fi }
	:: atomic { up?SinkAvailCancel(ack, got_ack, _) ->
		if
		:: held > 0 ->
			if
			:: wrote > 0 -> owe_wr = true; held--
			:: else
			fi;
			owe_ack = (held > 0);
			held = 0; buf[0] = 0; buf[1] = 0
		:: else
		fi }
	:: atomic { source_done && sink_done && empty(up) && empty(down) -> break }
	od
}

/* ----------------------------------------------------------------------- sink */

proctype sink()
{
	byte mode = COMBINED;
	byte got = 0;			/* blocks of the stream that have come */
	bool unread = false;		/* some of them wait for the reader */
	byte seq = 0, ack = 0;
	byte n = 0;			/* SrcAvails waiting, the oldest being read */
	byte first[ADVERTS], left[ADVERTS];
	byte reading = 0;		/* blocks of an RDMA Read under way */
	byte owe_rd = 0;		/* blocks read, RdmaRdCompl not sent */
	bool cancelled = false;		/* SrcAvailCancel being answered */
	byte sm_seq = 0, sms = 0;	/* MSeq of the last SendSm */
	bool owe_sm = false;
	byte mine = 0;			/* SinkAvails outstanding */
	byte buf[ADVERTS], in[ADVERTS];
	byte filled = 0, from = 0;	/* of the oldest: blocks, and the first */
	byte nr = 0;
	bool cancel = false;		/* SinkAvailCancel not resolved */
	byte cancels = 0;

	do
	:: atomic { unread && !gone -> unread = false }
	:: atomic { !gone && !sink_done -> gone = true }
	/* Read what the source offers. */
	:: atomic { n > 0 && reading == 0 && owe_rd == 0 && !owe_sm && !cancelled &&
		    !gone ->
		if
		:: left[0] > 1 -> reading = 1
		:: true -> reading = left[0]
		fi }
	:: atomic { reading > 0 ->
		do
		:: reading > 0 ->
			assert(lent[first[0]]);		/* it is still there */
			assert(first[0] == got);
			got++; first[0]++; left[0]--; reading--; owe_rd++
		:: else -> break
		od;
		unread = true }
	:: atomic { nfull(up) && owe_rd > 0 ->
		seq++;
		up!RdmaRdCompl(seq, (cancelled -> ack - 1 : ack), owe_rd);
		owe_rd = 0;
		if
		:: left[0] == 0 ->
			n--;
			first[0] = first[1]; left[0] = left[1];
			first[1] = 0; left[1] = 0
		:: else
		fi;
		if
		:: cancelled -> owe_sm = (n > 0); cancelled = false
		:: else
		fi }
	/* Refuse, owed or because we like to. */
	:: atomic { nfull(up) && reading == 0 && owe_rd == 0 &&
		    (owe_sm || (n > 0 && sms < CANCELS && !cancelled)) ->
		if
		:: !owe_sm -> sms++
		:: else
		fi;
		seq++;
		up!SendSm(seq, ack, 0);
		sm_seq = seq;
		owe_sm = false;
		n = 0;
		for (i : 0 .. ADVERTS - 1) { first[i] = 0; left[i] = 0 } }
	/* Offer a buffer; some blocks of the stream may already be on their way. */
	:: atomic { nfull(up) && mode == PIPELINED && !unread && n == 0 && !cancel &&
		    !owe_sm && mine < ADVERTS && got < BLOCKS && !source_done ->
		/* One that is not out. */
		y = (open_[0] -> 1 : 0);
		assert(!open_[y]);
		open_[y] = true;
		buf[mine] = y;
		mine++;
		seq++;
		up!SinkAvail(seq, ack, nr * ADVERTS + y) }
	:: atomic { nfull(up) && mine > 0 && !cancel && cancels < CANCELS ->
		seq++;
		up!SinkAvailCancel(seq, ack, 0);
		cancels++;
		cancel = true;
#if BUG == 3
		open_[0] = false; open_[1] = false
#endif
		}

	:: atomic { down?Data(ack, got_ack, x, _) ->
		assert(n == 0 || sm_seq > 0 && got_ack >= sm_seq);
		assert(x == got);
		got++;
		unread = true;
		nr++;
		if
		:: mine > 0 ->
			assert(filled == 0);
			open_[buf[0]] = false;
			buf[0] = buf[1]; buf[1] = 0;
			mine--; nr--;
			if
			:: mine == 0 -> cancel = false
			:: else
			fi
		:: else
		fi }
	:: atomic { down?SrcAvail(ack, got_ack, x, y) ->
		assert(!cancelled && n < ADVERTS);
		if
		:: mode == COMBINED ->
			assert(n == 0 && mine == 0 && x == got && y > 1);
			got++; unread = true; nr++;
			first[n] = x + 1; left[n] = y - 1; n++
		:: mode == PIPELINED && mine > 0 ->
			skip		/* our SinkAvail ends it at the source */
		:: mode == PIPELINED && mine == 0 && BUG != 2 && got_ack < sm_seq ->
			skip		/* our SendSm has ended it */
		:: else ->
			first[n] = x; left[n] = y; n++
		fi }
	:: atomic { down?SrcAvailCancel(ack, got_ack, _, _) ->
		if
		:: n == 0 || cancelled
		:: n > 0 && !cancelled && (reading > 0 || owe_rd > 0) ->
#if BUG != 5
			cancelled = true
#else
			skip
#endif
		:: else -> owe_sm = true
		fi }
	:: atomic { down?ModeChange(ack, got_ack, x, _) ->
		assert(mode != x);
		mode = x;
		if
		:: x == COMBINED ->
			assert(filled == 0 && n == 0);
			for (i : 0 .. ADVERTS - 1) { buf[i] = 0; open_[i] = false }
			mine = 0; cancel = false
		:: else
		fi }
	:: atomic { down?RdmaWrite(_, _, x, y) ->
		assert(mine > 0 && buf[0] == y && open_[y]);
		assert(filled < BUFFER && x == got + filled);
		filled++ }
	:: atomic { down?RdmaWrCompl(ack, got_ack, x, _) ->
		assert(mine > 0 && x == filled);
		got = got + filled;
		filled = 0;
		unread = true;
		open_[buf[0]] = false;
		buf[0] = buf[1]; buf[1] = 0;
		mine--;
		if
		:: mine == 0 -> cancel = false
		:: else
		fi }
	:: atomic { down?SinkCancelAck(ack, got_ack, _, _) ->
		assert(cancel && filled == 0);
		for (i : 0 .. ADVERTS - 1) { buf[i] = 0; open_[i] = false }
		mine = 0;
		cancel = false }
	:: atomic { down?DisConn(ack, got_ack, _, _) ->
		assert(got == BLOCKS && n == 0 && filled == 0);
		for (i : 0 .. ADVERTS - 1) { buf[i] = 0; open_[i] = false }
		mine = 0; cancel = false;
		sink_done = true }
	:: atomic { source_done && sink_done && (gone || !unread) &&
		    empty(up) && empty(down) -> break }
	od
}

init { atomic { run source(); run sink() } }
