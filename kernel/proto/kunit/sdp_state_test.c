// SPDX-License-Identifier: GPL-2.0
/*
 * Is the table that of section 6.2, is nothing else in it, and does every
 * connection end?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_state.c"

/* Written once more, line by line as the protocol text has it, so that a slip
 * in one of the two shows.  What is not here must do nothing.
 */
static const struct {
	enum sdp_state state;
	enum sdp_event event;
	enum sdp_state next;
	unsigned int todo;
} rows[] = {
	{ SDP_CLOSED, SDP_EV_CONNECT, SDP_SYN_SENT, 0 },
	{ SDP_CLOSED, SDP_EV_ACCEPT, SDP_SYN_RECV, 0 },

	{ SDP_SYN_SENT, SDP_EV_ESTABLISHED, SDP_ESTABLISHED, SDP_DO_WAKE },
	{ SDP_SYN_SENT, SDP_EV_SHUTDOWN, SDP_CLOSED, SDP_DO_FREE },
	{ SDP_SYN_SENT, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_FREE },
	{ SDP_SYN_SENT, SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE },
	{ SDP_SYN_SENT, SDP_EV_ABORT, SDP_CLOSED, SDP_DO_FREE | SDP_DO_RESET },
	{ SDP_SYN_SENT, SDP_EV_LOST, SDP_CLOSED, SDP_DO_FREE | SDP_DO_RESET },

	{ SDP_SYN_RECV, SDP_EV_ESTABLISHED, SDP_ESTABLISHED, SDP_DO_WAKE },
	{ SDP_SYN_RECV, SDP_EV_SHUTDOWN, SDP_FIN_WAIT_1, SDP_DO_DISCONN },
	{ SDP_SYN_RECV, SDP_EV_ABORT, SDP_CLOSED, SDP_DO_FREE | SDP_DO_RESET },
	{ SDP_SYN_RECV, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK | SDP_DO_RESET },
	{ SDP_SYN_RECV, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },

	{ SDP_ESTABLISHED, SDP_EV_SHUTDOWN, SDP_FIN_WAIT_1, SDP_DO_DISCONN },
	{ SDP_ESTABLISHED, SDP_EV_FIN_HEARD, SDP_CLOSE_WAIT, SDP_DO_EOF },
	{ SDP_ESTABLISHED, SDP_EV_ABORT, SDP_TIME_WAIT_1, SDP_DO_END | SDP_DO_RESET },
	{ SDP_ESTABLISHED, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK | SDP_DO_RESET },
	{ SDP_ESTABLISHED, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },

	{ SDP_FIN_WAIT_1, SDP_EV_ESTABLISHED, SDP_FIN_WAIT_1, SDP_DO_WAKE },
	{ SDP_FIN_WAIT_1, SDP_EV_FIN_SENT, SDP_FIN_WAIT_2, 0 },
	{ SDP_FIN_WAIT_1, SDP_EV_FIN_HEARD, SDP_CLOSING, SDP_DO_EOF },
	{ SDP_FIN_WAIT_1, SDP_EV_ABORT, SDP_TIME_WAIT_1,
	  SDP_DO_ABORTCONN | SDP_DO_END | SDP_DO_RESET },
	{ SDP_FIN_WAIT_1, SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_1,
	  SDP_DO_ABORTCONN | SDP_DO_END },
	{ SDP_FIN_WAIT_1, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK | SDP_DO_RESET },
	{ SDP_FIN_WAIT_1, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },

	{ SDP_FIN_WAIT_2, SDP_EV_FIN_HEARD, SDP_TIME_WAIT_1, SDP_DO_EOF | SDP_DO_END },
	{ SDP_FIN_WAIT_2, SDP_EV_ABORT, SDP_TIME_WAIT_1,
	  SDP_DO_ABORTCONN | SDP_DO_END | SDP_DO_RESET },
	{ SDP_FIN_WAIT_2, SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_1,
	  SDP_DO_ABORTCONN | SDP_DO_END },
	{ SDP_FIN_WAIT_2, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK | SDP_DO_RESET },
	{ SDP_FIN_WAIT_2, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },

	{ SDP_CLOSING, SDP_EV_FIN_SENT, SDP_TIME_WAIT_1, SDP_DO_END },
	{ SDP_CLOSING, SDP_EV_ABORT, SDP_TIME_WAIT_1,
	  SDP_DO_ABORTCONN | SDP_DO_END | SDP_DO_RESET },
	{ SDP_CLOSING, SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_1,
	  SDP_DO_ABORTCONN | SDP_DO_END },
	{ SDP_CLOSING, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK },
	{ SDP_CLOSING, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_FREE },

	{ SDP_CLOSE_WAIT, SDP_EV_SHUTDOWN, SDP_LAST_ACK, SDP_DO_DISCONN },
	{ SDP_CLOSE_WAIT, SDP_EV_ABORT, SDP_TIME_WAIT_1, SDP_DO_END | SDP_DO_RESET },
	{ SDP_CLOSE_WAIT, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK | SDP_DO_RESET },
	{ SDP_CLOSE_WAIT, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },

	{ SDP_LAST_ACK, SDP_EV_FIN_SENT, SDP_LAST_ACK, SDP_DO_TIMER },
	{ SDP_LAST_ACK, SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_1, SDP_DO_END },
	{ SDP_LAST_ACK, SDP_EV_ABORT, SDP_TIME_WAIT_1,
	  SDP_DO_ABORTCONN | SDP_DO_END | SDP_DO_RESET },
	{ SDP_LAST_ACK, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK },
	{ SDP_LAST_ACK, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_FREE },

	{ SDP_TIME_WAIT_1, SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK },
	{ SDP_TIME_WAIT_1, SDP_EV_REFUSED, SDP_CLOSED, SDP_DO_FREE },
	{ SDP_TIME_WAIT_1, SDP_EV_END_DONE, SDP_TIME_WAIT_2, 0 },
	{ SDP_TIME_WAIT_1, SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_1, SDP_DO_END },
	{ SDP_TIME_WAIT_1, SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE },
	{ SDP_TIME_WAIT_1, SDP_EV_LOST, SDP_CLOSED, SDP_DO_FREE },

	{ SDP_TIME_WAIT_2, SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE },
	{ SDP_TIME_WAIT_2, SDP_EV_LOST, SDP_CLOSED, SDP_DO_FREE },
};

/* These hold in every state that has, or may have, a connection to lose. */
static const struct {
	enum sdp_event event;
	enum sdp_state next;
	unsigned int todo;
} ends[] = {
	{ SDP_EV_LOST, SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },
	{ SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },
	{ SDP_EV_END_DONE, SDP_TIME_WAIT_2, SDP_DO_RESET },
	{ SDP_EV_ABORT_HEARD, SDP_TIME_WAIT_1, SDP_DO_RESET | SDP_DO_END },
};

static bool is_live(enum sdp_state state)
{
	return state >= SDP_SYN_RECV && state <= SDP_LAST_ACK;
}

static void check_pair(struct kunit *test, enum sdp_state state,
		       enum sdp_event event)
{
	enum sdp_state want = state, got = state;
	unsigned int todo = 0, done, i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].state != state || rows[i].event != event)
			continue;
		want = rows[i].next;
		todo = rows[i].todo;
	}
	for (i = 0; i < ARRAY_SIZE(ends) && is_live(state); i++) {
		if (ends[i].event != event)
			continue;
		want = ends[i].next;
		todo = ends[i].todo;
	}
	done = sdp_state_next(&got, event);
	KUNIT_EXPECT_EQ_MSG(test, got, want, "%s, event %u",
			    sdp_state_name(state), event);
	KUNIT_EXPECT_EQ_MSG(test, done, todo, "%s, event %u",
			    sdp_state_name(state), event);
}

static void sdp_state_next__table(struct kunit *test)
{
	enum sdp_state state;
	enum sdp_event event;

	for (state = 0; state < SDP_STATE_COUNT; state++)
		for (event = 0; event < SDP_EVENT_COUNT; event++)
			check_pair(test, state, event);
}

/* What must hold whatever the rows say. */
static void check_properties(struct kunit *test, enum sdp_state state,
			     enum sdp_event event)
{
	enum sdp_state got = state;
	unsigned int todo = sdp_state_next(&got, event);
	const char *name = sdp_state_name(state);

	/* All that the CM and the QP hold goes exactly once. */
	KUNIT_EXPECT_EQ_MSG(test, !!(todo & SDP_DO_FREE),
			    got == SDP_CLOSED && state != SDP_CLOSED,
			    "%s, event %u", name, event);
	/* DREQ and TIME_WAIT_1 belong together, DREP goes on. */
	KUNIT_EXPECT_EQ_MSG(test, !!(todo & SDP_DO_END),
			    got == SDP_TIME_WAIT_1 &&
			    (got != state || event == SDP_EV_FIN_TIMEOUT),
			    "%s, event %u", name, event);
	KUNIT_EXPECT_EQ_MSG(test, !!(todo & SDP_DO_END_ACK),
			    event == SDP_EV_END_HEARD && got == SDP_TIME_WAIT_2 &&
			    got != state, "%s, event %u", name, event);
	/* AbortConn only after our own DisConn, and before a DREQ. */
	KUNIT_EXPECT_TRUE_MSG(test, !(todo & SDP_DO_ABORTCONN) ||
			      ((todo & SDP_DO_END) &&
			       (state == SDP_FIN_WAIT_1 || state == SDP_FIN_WAIT_2 ||
				state == SDP_CLOSING || state == SDP_LAST_ACK)),
			      "%s, event %u", name, event);
	/* A DisConn of ours is queued once, and only by a shutdown. */
	KUNIT_EXPECT_TRUE_MSG(test, !(todo & SDP_DO_DISCONN) ||
			      (event == SDP_EV_SHUTDOWN && got != state),
			      "%s, event %u", name, event);
	/* End of file comes from a DisConn, and never with a reset. */
	KUNIT_EXPECT_TRUE_MSG(test, !(todo & SDP_DO_EOF) ||
			      (event == SDP_EV_FIN_HEARD && !(todo & SDP_DO_RESET)),
			      "%s, event %u", name, event);
	/* Lost is lost. */
	if (event == SDP_EV_LOST)
		KUNIT_EXPECT_EQ_MSG(test, got, SDP_CLOSED, "%s", name);
}

static void sdp_state_next__properties(struct kunit *test)
{
	enum sdp_state state;
	enum sdp_event event;

	for (state = 0; state < SDP_STATE_COUNT; state++)
		for (event = 0; event < SDP_EVENT_COUNT; event++)
			check_properties(test, state, event);
}

/* Follow events, in the words of the table; the last state is checked. */
struct way {
	enum sdp_event event;
	enum sdp_state want;
	unsigned int todo;
};

static void walk(struct kunit *test, const char *what, const struct way *ways,
		 unsigned int count)
{
	enum sdp_state state = SDP_CLOSED;
	unsigned int i;

	for (i = 0; i < count; i++) {
		unsigned int todo = sdp_state_next(&state, ways[i].event);

		KUNIT_ASSERT_EQ_MSG(test, state, ways[i].want, "%s, step %u",
				    what, i + 1);
		KUNIT_ASSERT_EQ_MSG(test, todo, ways[i].todo, "%s, step %u",
				    what, i + 1);
	}
}

#define WALK(test, what, ...)						\
do {									\
	static const struct way __ways[] = { __VA_ARGS__ };		\
									\
	walk(test, what, __ways, ARRAY_SIZE(__ways));			\
} while (0)

static void sdp_state_next__whole_lives(struct kunit *test)
{
	WALK(test, "first closer",
	     { SDP_EV_CONNECT, SDP_SYN_SENT, 0 },
	     { SDP_EV_ESTABLISHED, SDP_ESTABLISHED, SDP_DO_WAKE },
	     { SDP_EV_SHUTDOWN, SDP_FIN_WAIT_1, SDP_DO_DISCONN },
	     { SDP_EV_SHUTDOWN, SDP_FIN_WAIT_1, 0 },
	     { SDP_EV_FIN_SENT, SDP_FIN_WAIT_2, 0 },
	     { SDP_EV_FIN_HEARD, SDP_TIME_WAIT_1, SDP_DO_EOF | SDP_DO_END },
	     { SDP_EV_END_DONE, SDP_TIME_WAIT_2, 0 },
	     { SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE },
	     { SDP_EV_LOST, SDP_CLOSED, 0 });
	WALK(test, "second closer",
	     { SDP_EV_ACCEPT, SDP_SYN_RECV, 0 },
	     { SDP_EV_ESTABLISHED, SDP_ESTABLISHED, SDP_DO_WAKE },
	     { SDP_EV_ESTABLISHED, SDP_ESTABLISHED, 0 },
	     { SDP_EV_FIN_HEARD, SDP_CLOSE_WAIT, SDP_DO_EOF },
	     { SDP_EV_SHUTDOWN, SDP_LAST_ACK, SDP_DO_DISCONN },
	     { SDP_EV_FIN_SENT, SDP_LAST_ACK, SDP_DO_TIMER },
	     { SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK },
	     { SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_2, 0 },
	     { SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE });
	WALK(test, "second closer, silent peer",
	     { SDP_EV_ACCEPT, SDP_SYN_RECV, 0 },
	     { SDP_EV_ESTABLISHED, SDP_ESTABLISHED, SDP_DO_WAKE },
	     { SDP_EV_FIN_HEARD, SDP_CLOSE_WAIT, SDP_DO_EOF },
	     { SDP_EV_SHUTDOWN, SDP_LAST_ACK, SDP_DO_DISCONN },
	     { SDP_EV_FIN_SENT, SDP_LAST_ACK, SDP_DO_TIMER },
	     { SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_1, SDP_DO_END },
	     { SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK },
	     { SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE });
	WALK(test, "both at once",
	     { SDP_EV_CONNECT, SDP_SYN_SENT, 0 },
	     { SDP_EV_ESTABLISHED, SDP_ESTABLISHED, SDP_DO_WAKE },
	     { SDP_EV_SHUTDOWN, SDP_FIN_WAIT_1, SDP_DO_DISCONN },
	     { SDP_EV_FIN_HEARD, SDP_CLOSING, SDP_DO_EOF },
	     { SDP_EV_FIN_SENT, SDP_TIME_WAIT_1, SDP_DO_END },
	     { SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK },
	     { SDP_EV_END_DONE, SDP_TIME_WAIT_2, 0 },
	     { SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE });
	WALK(test, "closed before established",
	     { SDP_EV_ACCEPT, SDP_SYN_RECV, 0 },
	     { SDP_EV_SHUTDOWN, SDP_FIN_WAIT_1, SDP_DO_DISCONN },
	     { SDP_EV_ESTABLISHED, SDP_FIN_WAIT_1, SDP_DO_WAKE },
	     { SDP_EV_FIN_SENT, SDP_FIN_WAIT_2, 0 },
	     { SDP_EV_FIN_TIMEOUT, SDP_TIME_WAIT_1, SDP_DO_ABORTCONN | SDP_DO_END },
	     { SDP_EV_TIME_WAIT_OVER, SDP_CLOSED, SDP_DO_FREE });
	WALK(test, "given up",
	     { SDP_EV_CONNECT, SDP_SYN_SENT, 0 },
	     { SDP_EV_SHUTDOWN, SDP_CLOSED, SDP_DO_FREE },
	     { SDP_EV_ESTABLISHED, SDP_CLOSED, 0 },
	     { SDP_EV_REFUSED, SDP_CLOSED, 0 });
	WALK(test, "aborted by the peer after our DisConn",
	     { SDP_EV_CONNECT, SDP_SYN_SENT, 0 },
	     { SDP_EV_ESTABLISHED, SDP_ESTABLISHED, SDP_DO_WAKE },
	     { SDP_EV_SHUTDOWN, SDP_FIN_WAIT_1, SDP_DO_DISCONN },
	     { SDP_EV_FIN_SENT, SDP_FIN_WAIT_2, 0 },
	     { SDP_EV_END_HEARD, SDP_TIME_WAIT_2, SDP_DO_END_ACK | SDP_DO_RESET },
	     { SDP_EV_FIN_HEARD, SDP_TIME_WAIT_2, 0 },
	     { SDP_EV_LOST, SDP_CLOSED, SDP_DO_FREE });
}

static void sdp_state_name__all(struct kunit *test)
{
	enum sdp_state state, other;

	for (state = 0; state < SDP_STATE_COUNT; state++) {
		KUNIT_ASSERT_NOT_NULL(test, sdp_state_name(state));
		for (other = 0; other < state; other++)
			KUNIT_EXPECT_NE(test, strcmp(sdp_state_name(state),
						     sdp_state_name(other)), 0);
	}
	KUNIT_EXPECT_STREQ(test, sdp_state_name(SDP_ESTABLISHED), "ESTABLISHED");
	KUNIT_EXPECT_STREQ(test, sdp_state_name(SDP_TIME_WAIT_2), "TIME_WAIT_2");
	KUNIT_EXPECT_STREQ(test, sdp_state_name(SDP_STATE_COUNT), "?");
	KUNIT_EXPECT_STREQ(test, sdp_state_name(-1), "?");
}

static void sdp_state_may_send__all(struct kunit *test)
{
	static const bool want[SDP_STATE_COUNT] = {
		[SDP_SYN_SENT] = true, [SDP_SYN_RECV] = true,
		[SDP_ESTABLISHED] = true, [SDP_CLOSE_WAIT] = true,
	};
	enum sdp_state state;

	for (state = 0; state < SDP_STATE_COUNT; state++)
		KUNIT_EXPECT_EQ_MSG(test, sdp_state_may_send(state), want[state],
				    "%s", sdp_state_name(state));
}

static struct kunit_case sdp_state_cases[] = {
	KUNIT_CASE(sdp_state_next__table),
	KUNIT_CASE(sdp_state_next__properties),
	KUNIT_CASE(sdp_state_next__whole_lives),
	KUNIT_CASE(sdp_state_name__all),
	KUNIT_CASE(sdp_state_may_send__all),
	{}
};

static struct kunit_suite sdp_state_suite = {
	.name = "sdp_state",
	.test_cases = sdp_state_cases,
};

kunit_test_suite(sdp_state_suite);
