/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The input of fuzz_conn: a little program, which conn.c runs and
 * talk.c makes.
 *
 * Four bytes say how the connection begins.  Then come records: an operation
 * byte, whose low 3 bits say what and the rest how; behind OP_HEAR the length of
 * a message in units of two bytes, and its bytes; behind OP_ACT one byte, mostly
 * for how much; behind OP_SLICE eight bytes.
 */
#ifndef _FUZZ_CONN_H
#define _FUZZ_CONN_H

#include <linux/types.h>

enum op {
	OP_HEAR,		/* arguments: FIX_* */
	OP_SEND, OP_POSTED, OP_REFUSE, OP_EVENT, OP_SHUT_RD, OP_SLICE,
	OP_ACT,			/* argument: ACT_* */
};

/* What of a message is put right before it is heard. */
enum fix {
	FIX_LEN		= 0x08,
	FIX_MSEQ	= 0x10,
	FIX_ACK		= 0x20,	/* and Bufs; it may be late */
	FIX_EXT		= 0x40,	/* to what is out, and how much of it */
	FIX_RULES	= 0x80,	/* what is not allowed now is not said */
};

/* What we do with the adverts of both halves. */
enum act {
	ACT_READ, ACT_READ_DONE, ACT_TELL_READ, ACT_DECLINE,
	ACT_ASK, ACT_ASK_CANCEL,
	ACT_OFFER, ACT_OFFER_CANCEL, ACT_CHANGE,
	ACT_WRITE, ACT_TELL_WRITTEN, ACT_TELL_DROPPED,
	ACT_RCVBUF,
	ACTS,
};

/* The size of the record there, of which no more than @left bytes are. */
u32 fuzz_record(const u8 *at, u32 left);

#endif
