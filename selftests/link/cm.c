// SPDX-License-Identifier: GPL-2.0
/*
 * Two hosts, and one kind of message of the CM that does not get through, or late:
 * all the same there is one accept() for each connect(), by SDP where there is time,
 * and nothing is left of a connection that has been closed.
 *
 * A message is lost for the whole of an attempt ("lost"), for less than that, so that
 * it comes when it is repeated ("brief"), or comes when the attempt is over ("late")
 * or nearly so ("slow").
 * TCP, beside it, sends none of these.
 *
 * Needs a link that nothing else impairs ($SDP_NETDEV), tc, and the queues that
 * pair/pair.sh makes.
 */
#include <poll.h>
#include <stdio.h>

#include "lib/sweep.h"
#include "cm.h"

enum {
	CONNECTIONS	= 8,
	ATTEMPT		= 200,		/* ms: one that is to fail, */
	LONG_ATTEMPT	= 5000,		/* and one that is to get its answer */
};

/*
 * A CM's message is a datagram of RoCE (opcode 0x64, UD SEND only) with a MAD of
 * class 7: such of @msg go through a queue of their own.
 */
pid_t trouble_for_(enum cm_message msg, enum cm_trouble kind, int ms)
{
	char begin[2048], netem[64] = "loss 100%";

	if (kind == LATE)
		snprintf(netem, sizeof(netem), "delay %dms", HOW_LATE);
	else if (kind == SLOW)
		snprintf(netem, sizeof(netem), "delay %dms", ktap_ms(HOW_SLOW));
	snprintf(begin, sizeof(begin),
		 "set -e; d=${SDP_NETDEV:-eth0}\n"
		 "tc qdisc change dev $d parent 1:1 handle 11: netem limit 100000 %s\n"
		 "tc filter add dev $d parent 1: protocol ip prio 1 u32 "
			"match ip protocol 17 0xff match u16 4791 0xffff at 22 "
			"match u8 0x64 0xff at 28 match u8 7 0xff at 49 "
			"match u16 %#x 0xffff at 64 flowid 1:1\n"
		 "tc filter add dev $d parent 1: protocol ipv6 prio 2 u32 "
			"match ip6 protocol 17 0xff match u16 4791 0xffff at 42 "
			"match u8 0x64 0xff at 48 match u8 7 0xff at 69 "
			"match u16 %#x 0xffff at 84 flowid 1:1\n",
		 netem, msg, msg);
	return meanwhile(begin, "tc filter del dev ${SDP_NETDEV:-eth0} parent 1:", ms);
}

pid_t trouble_(enum cm_message msg, enum cm_trouble kind)
{
	return trouble_for(msg, kind, kind == BRIEF ? SHORT :
				      kind == SLOW ? ktap_ms(SLOW_ATTEMPT) : LASTS);
}

/* Of messages that end a connection, not of those that begin one. */
static bool is_of_end(enum cm_message msg)
{
	return msg == CM_DREQ || msg == CM_DREP;
}

/* How many of the connections go by SDP. */
static int expected(enum cm_message msg, enum cm_trouble kind)
{
	if (!on_sdp() || msg == CM_REJ)
		return 0;
	if (msg == CM_REQ || msg == CM_REP)
		return kind == BRIEF || kind == SLOW ? CONNECTIONS : 0;
	return CONNECTIONS;
}

/* Is each of the attempts to be answered, by whatever answer? */
static bool is_answered(enum cm_message msg, enum cm_trouble kind)
{
	return expected(msg, kind) || kind == BRIEF;
}

/* Why the others do not, as its counter has it. */
static const char *reason(enum cm_message msg, enum cm_trouble kind)
{
	return msg == CM_REJ && kind == BRIEF ? "fallback_refused" :
						"fallback_timeout";
}

/* A word there and back over each. */
static int ask_(const int *c)
{
	uint32_t id, echo;

	for (id = 0; id < CONNECTIONS; id++)
		EQ(4, send(c[id], &id, 4, MSG_NOSIGNAL));
	for (id = 0; id < CONNECTIONS; id++) {
		EQ(4, recv(c[id], &echo, 4, MSG_WAITALL));
		EQ(id, echo);
	}
	return 0;
}

#define ask(c) CALL(ask_(c))

static void cm_client(enum cm_message msg, enum cm_trouble kind)
{
	int c[CONNECTIONS], i, sdp = 0;
	unsigned long long fell = 0;
	union addr a;
	pid_t pid = 0;

	if (on_sdp()) {
		fell = counter(reason(msg, kind));
		sysctl("connect_timeout",
		       kind == SLOW ? ktap_ms(SLOW_ATTEMPT) :
		       is_answered(msg, kind) ? ktap_ms(LONG_ATTEMPT) : ATTEMPT);
		sysctl("cache_timeout", 0);
	}
	server_addr(&a);
	if (!is_of_end(msg))
		pid = trouble(msg, kind);
	meet("in trouble");
	for (i = 0; i < CONNECTIONS; i++) {
		c[i] = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
	}
	for (i = 0; i < CONNECTIONS; i++) {
		await(c[i], POLLOUT);
		EQ(0, get_int(c[i], SOL_SOCKET, SO_ERROR));
		sdp += is_sdp(c[i]);
		nonblock(c[i], false);
	}
	EQ(expected(msg, kind), sdp);
	if (on_sdp())
		EQ(fell + CONNECTIONS - sdp, counter(reason(msg, kind)));
	ask(c);
	/* They stay what they are when what is late comes, and its repetitions. */
	sleep_ms(2 * HOW_LATE);
	ask(c);
	if (is_of_end(msg))
		pid = trouble(msg, kind);
	meet("closing");
	for (i = 0; i < CONNECTIONS; i++)
		OK(shutdown(c[i], SHUT_WR));
	for (i = 0; i < CONNECTIONS; i++) {
		expect_eof(c[i]);
		OK(close(c[i]));
	}
	if (on_sdp())
		EVENTUALLY(0, counter("conns"));
	CHILD_OK(pid);
	meet("ended");
}

static void cm_server(enum cm_message msg, enum cm_trouble kind)
{
	int l, s[CONNECTIONS], i;
	uint32_t id[CONNECTIONS];
	bool seen[CONNECTIONS] = { };
	union addr a;
	pid_t pid = 0;

	if (msg == CM_REJ) {
		l = tcp_listener(&a);
		tell_number(addr_port(&a));
	} else {
		l = serve_port(CONNECTIONS);
	}
	if (!is_of_end(msg))
		pid = trouble(msg, kind);
	meet("in trouble");
	for (i = 0; i < CONNECTIONS; i++) {
		await(l, POLLIN);
		s[i] = OK(accept(l, NULL, NULL));
		EQ(4, recv(s[i], &id[i], 4, MSG_WAITALL));
		CHECK(id[i] < CONNECTIONS && !seen[id[i]]);
		seen[id[i]] = true;
		EQ(4, send(s[i], &id[i], 4, MSG_NOSIGNAL));
	}
	for (i = 0; i < CONNECTIONS; i++) {
		EQ(4, recv(s[i], &id[i], 4, MSG_WAITALL));
		EQ(4, send(s[i], &id[i], 4, MSG_NOSIGNAL));
	}
	if (is_of_end(msg))
		pid = trouble(msg, kind);
	meet("closing");
	for (i = 0; i < CONNECTIONS; i++) {
		expect_eof(s[i]);
		OK(close(s[i]));
	}
	/* No ghost of an attempt that was given up. */
	EQ_HEX(0, poll_one(l, POLLIN, 2 * HOW_LATE));
	OK(close(l));
	if (on_sdp())
		EVENTUALLY(0, counter("conns"));
	CHILD_OK(pid);
	meet("ended");
}

#define ON_CM	(BIT(TCP_V4) | BIT(ULP_V4) | BIT(ULP_V6))

#define CM_CASE(name, message, kind)					\
PAIR_CASE_LIMIT(name, ON_CM, 60)						\
									\
static void name##_client(void)						\
{									\
	cm_client(message, kind);					\
}									\
									\
static void name##_server(void)						\
{									\
	cm_server(message, kind);					\
}

CM_CASE(cm_req_lost, CM_REQ, LOST)
CM_CASE(cm_req_brief, CM_REQ, BRIEF)
CM_CASE(cm_req_late, CM_REQ, LATE)
CM_CASE(cm_rep_lost, CM_REP, LOST)
CM_CASE(cm_rep_brief, CM_REP, BRIEF)
CM_CASE(cm_rep_late, CM_REP, LATE)
CM_CASE(cm_rep_slow, CM_REP, SLOW)
CM_CASE(cm_rtu_lost, CM_RTU, LOST)
CM_CASE(cm_rtu_brief, CM_RTU, BRIEF)
CM_CASE(cm_rtu_late, CM_RTU, LATE)
CM_CASE(cm_rej_lost, CM_REJ, LOST)
CM_CASE(cm_rej_brief, CM_REJ, BRIEF)
CM_CASE(cm_rej_late, CM_REJ, LATE)
CM_CASE(cm_dreq_lost, CM_DREQ, LOST)
CM_CASE(cm_dreq_brief, CM_DREQ, BRIEF)
CM_CASE(cm_dreq_late, CM_DREQ, LATE)
CM_CASE(cm_drep_lost, CM_DREP, LOST)
CM_CASE(cm_drep_brief, CM_DREP, BRIEF)
CM_CASE(cm_drep_late, CM_DREP, LATE)

/*
 * Every call on a socket whose request is under way: a queue pair is there, nobody has
 * answered, and nobody will before the calls are over.  By TCP it is connected soon.
 */
PAIR_CASE_LIMIT(cm_req_lost_and_asked, ON_CM, 60)

static void cm_req_lost_and_asked_client(void)
{
	int c = sock_flags(SOCK_NONBLOCK);
	struct sdp_info info;
	union addr a;
	pid_t pid;

	server_addr(&a);
	if (on_sdp())
		sysctl("connect_timeout", 60000);
	pid = trouble(CM_REQ, LOST);
	FAILS(EINPROGRESS, connect_to(c, &a));
	if (on_sdp())
		EVENTUALLY(true, sdp_info(c, &info) > 0 && info.sdpi_qp_num);
	sweep(c, sock(), SWEEP_SURVIVES);
	OK(close(c));
	CHILD_OK(pid);
	if (on_sdp())
		EVENTUALLY(0, counter("conns"));
	meet("ended");
}

static void cm_req_lost_and_asked_server(void)
{
	int l = serve_port(CONNECTIONS);

	meet("ended");
	OK(close(l));
}
