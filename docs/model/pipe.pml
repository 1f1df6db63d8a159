/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wake-ups of a pipe inside one host (kernel/local/sdp_pipe.h): one
 * producer, one consumer, no lock between them.
 *
 * What the model shows: nobody sleeps for ever.  Spin reports a state that
 * nobody leaves, and the end of the stream is the only one that is meant.
 *
 * Processors delay what they store.  So each process has a queue of its stores,
 * which reach the memory one by one at any time later; a full barrier waits
 * until the queue is empty (x86 and s390 are so; on others loads and stores are
 * delayed in more ways, and the code has acquire and release for these).  A lock
 * of a wait queue is such a barrier too.
 *
 * BUG, when defined, seeds one error; check-model wants each of them found:
 *  1  the consumer does not look again when it stops
 *  2  it looks then, but without the barrier
 *  3  the producer looks without the barrier after it has said what it waits for
 *  4  it says so before it is on the wait queue
 *  5  the consumer takes note after the wake-up instead of before
 *  6  the consumer decides by what was unread before it read
 *  7  the producer reads without a barrier how much the consumer needs
 *  8  the consumer waits for more than the pipe takes
 *  9  it waits until the pipe is full then, though the producer may be asleep
 * 10  it does not look when it leaves, for long or for ever
 */

#ifndef TOTAL
#define TOTAL	6	/* bytes of the stream */
#endif
#ifndef BUG
#define BUG	0
#endif
#define LIMIT	3	/* bytes that the pipe takes */
#define LOW	1	/* a producer that waits is woken at so many */

#define WRITTEN	0
#define READ	1
#define WANT	2
#define NEED	3

#define PRODUCER 0
#define CONSUMER 1

byte mem[4];			/* what everybody sees */
chan stores_p = [4] of { byte, byte };
chan stores_c = [4] of { byte, byte };
bool queued[2];			/* is on its wait queue */
bool woken[2];
bool gone;			/* the consumer does not come back */

hidden byte var, val;

/* What was stored reaches the memory. */
active proctype flush_p()
{
	end: do
	:: atomic { stores_p?var, val -> mem[var] = val }
	od
}

active proctype flush_c()
{
	end: do
	:: atomic { stores_c?var, val -> mem[var] = val }
	od
}

/* autoremove_wake_function(); its caller has had a full barrier. */
inline wake(who)
{
	atomic {
		if
		:: queued[who] -> queued[who] = false; woken[who] = true
		:: else
		fi
	}
}

/* prepare_to_wait() */
inline prepare(who, stores)
{
	atomic { queued[who] = true; woken[who] = false };
	empty(stores)
}

inline finish(who)
{
	atomic { queued[who] = false; woken[who] = false }
}

active proctype producer()
{
	byte written = 0, n;

	mem[NEED] = 1;
	do
	:: written == TOTAL -> break
	:: written < TOTAL && written - mem[READ] < LIMIT ->
		written++;
		stores_p!WRITTEN, written;
		/* sdp_pipe_is_enough() */
		n = mem[NEED];
		if
		:: n > 1 ->
			if
			:: BUG != 7 -> empty(stores_p); n = mem[NEED]
			:: else
			fi
		:: else
		fi;
		if
		:: written - mem[READ] >= n ->
			empty(stores_p);	/* skwq_has_sleeper() */
			wake(CONSUMER)
		:: else
		fi
	:: written < TOTAL && written - mem[READ] >= LIMIT ->
		/* Who cannot go on wakes the consumer in any case. */
		empty(stores_p);
		wake(CONSUMER);
		if
		:: BUG == 4 -> stores_p!WANT, 1; prepare(PRODUCER, stores_p)
		:: else -> prepare(PRODUCER, stores_p); stores_p!WANT, 1
		fi;
		if
		:: BUG != 3 -> empty(stores_p)
		:: else
		fi;
		if
		:: written - mem[READ] <= LOW
		:: else ->
			if	/* asleep */
			:: woken[PRODUCER]
			/* For good reason, since nobody reads. */
			:: gone && written - mem[READ] > LOW -> break
			fi
		fi;
		finish(PRODUCER)
	od
}

inline tell()
{
	if
	:: BUG != 5 -> stores_c!WANT, 0; empty(stores_c); wake(PRODUCER)
	:: else -> empty(stores_c); wake(PRODUCER); stores_c!WANT, 0
	fi
}

active proctype consumer()
{
	byte read = 0, n, before, need;

	do
	:: read == TOTAL -> break
	:: read > 0 && read < TOTAL && !gone ->
		if
		:: BUG != 10 -> empty(stores_c)
		:: else
		fi;
		if
		:: BUG != 10 && mem[WANT] && mem[WRITTEN] - read <= LOW -> tell()
		:: else
		fi;
		gone = true;
		break
	:: read < TOTAL && mem[WRITTEN] > read ->
		before = mem[WRITTEN] - read;
		select (n : 1 .. before);
		read = read + n;
		stores_c!READ, read;
		if
		:: mem[WANT] && (BUG == 6 -> before >= LIMIT :
				 mem[WRITTEN] - read <= LOW) -> tell()
		:: else
		fi
	:: read < TOTAL && mem[WRITTEN] == read ->
		/* sdp_pipe_stop() */
		if
		:: BUG != 2 -> empty(stores_c)
		:: else
		fi;
		if
		:: BUG != 1 && BUG != 6 && mem[WANT] && mem[WRITTEN] - read <= LOW ->
			tell()
		:: else
		fi;
		/* sdp_pipe_need() */
		if
		:: need = 1
		:: TOTAL - read > 1 -> need = 2
		:: TOTAL - read > LIMIT -> need = LIMIT + 1
		fi;
		prepare(CONSUMER, stores_c);
		stores_c!NEED, need;
		empty(stores_c);
		if
		:: mem[WRITTEN] - read >= need
		:: mem[WRITTEN] - read > LOW && BUG != 8 && BUG != 9
		:: mem[WRITTEN] - read >= LIMIT && BUG == 9
		:: else -> woken[CONSUMER]	/* asleep */
		fi;
		finish(CONSUMER);
		stores_c!NEED, 1
	od
}
