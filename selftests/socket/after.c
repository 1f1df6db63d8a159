// SPDX-License-Identifier: GPL-2.0
/*
 * After falling back a socket is TCP's alone: whatever TCP can do, it can.
 *
 * The listener is a plain TCP socket.  Where the variant is TCP, so is the
 * client: each body is what TCP does.
 */
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/time.h>

#include <linux/tls.h>
#include <netinet/tcp.h>

#include "lib/variant.h"

enum { ESTABLISHED = 1, FIN_WAIT2 = 5, CLOSED = 7, CLOSE_WAIT = 8 };

/* Also of one that asked for SDP, a client that may fall back. */
static int start_(struct pair *p)
{
	p->l = OK(socket(variant->family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	here(&p->addr, 0);
	OK(bind_to(p->l, &p->addr));
	OK(listen(p->l, 8));
	OK(name_of(p->l, &p->addr));
	p->c = sock();
	if (on_sdp())
		OK(set_int(p->c, SOL_SDP, SDP_FALLBACK, 1));
	return 0;
}

static int finish_(struct pair *p)
{
	unsigned long long refused = on_sdp() ? counter("fallback_refused") : 0;

	OK(connect_to(p->c, &p->addr));
	await(p->l, POLLIN);
	p->s = OK(accept(p->l, NULL, NULL));
	EQ(-1, transport(p->c));
	/* It did try. */
	if (on_sdp())
		EQ(refused + 1, counter("fallback_refused"));
	return 0;
}

static int open_(struct pair *p)
{
	start_(p);
	return finish_(p);
}

#define after_start(p)	CALL(start_(p))
#define after_finish(p)	CALL(finish_(p))
#define after_open(p)	CALL(open_(p))

/* --------------------------------------------------------------- what it says */

CASE(after_tcp_info)
{
	struct tcp_info info = { };
	socklen_t len = sizeof(info);
	char name[16] = "";
	struct pair p;

	after_open(&p);
	EQ(variant->family, get_int(p.c, SOL_SOCKET, SO_DOMAIN));
	EQ(SOCK_STREAM, get_int(p.c, SOL_SOCKET, SO_TYPE));
	EQ(IPPROTO_TCP, get_int(p.c, SOL_SOCKET, SO_PROTOCOL));
	send_pattern(p.c, 30000, 5, 0);
	recv_pattern(p.s, 30000, 5, 0);
	EVENTUALLY(0, outq(p.c));
	OK(getsockopt(p.c, SOL_TCP, TCP_INFO, &info, &len));
	EQ(ESTABLISHED, info.tcpi_state);
	IN_RANGE(500, 65535, info.tcpi_snd_mss);
	CHECK(info.tcpi_rto && info.tcpi_snd_cwnd);
	EQ(ESTABLISHED, tcp_state(p.s));
	len = sizeof(name);
	OK(getsockopt(p.c, SOL_TCP, TCP_ULP, name, &len));
	if (len && name[0])
		FAIL("TCP_ULP: expected none, got %s", name);
	pair_shut(&p);
}

/* Tools that list the kernel's TCP sockets list it, with its keepalive timer. */
CASE(after_ss)
{
	char command[128], text[2048];
	union addr name;
	struct pair p;
	size_t n;
	FILE *f;

	after_start(&p);
	OK(set_int(p.c, SOL_SOCKET, SO_KEEPALIVE, 1));
	OK(set_int(p.c, SOL_TCP, TCP_KEEPIDLE, 4000));
	after_finish(&p);
	OK(name_of(p.c, &name));
	snprintf(command, sizeof(command), "ss -Htano 'sport = :%d and dport = :%d'",
		 addr_port(&name), addr_port(&p.addr));
	f = popen(command, "r");
	CHECK(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	EQ(0, pclose(f));
	/* One line, that is the client's end. */
	if (strncmp(text, "ESTAB", 5) || strchr(text, '\n') != text + n - 1)
		FAIL("%s: %s", command, n ? text : "nothing");
	snprintf(command, sizeof(command), ":%d ", addr_port(&name));
	CHECK(strstr(text, command));
	snprintf(command, sizeof(command), ":%d ", addr_port(&p.addr));
	CHECK(strstr(text, command));
	/* Of what was said before connect(), the timer runs. */
	if (!strstr(text, "timer:(keepalive,"))
		FAIL("no keepalive timer: %s", text);
}

/* -------------------------------------------------------------------- options */

struct option {
	const char *name;
	int level, option, value;
};

static const struct option kept[] = {
	{ "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1 },
	{ "SO_OOBINLINE", SOL_SOCKET, SO_OOBINLINE, 1 },
	{ "SO_PRIORITY", SOL_SOCKET, SO_PRIORITY, 3 },
	{ "SO_MARK", SOL_SOCKET, SO_MARK, 77 },
	{ "SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT, 3 },
	{ "SO_ZEROCOPY", SOL_SOCKET, SO_ZEROCOPY, 1 },
	{ "SO_TIMESTAMP", SOL_SOCKET, SO_TIMESTAMP, 1 },
	{ "SO_MAX_PACING_RATE", SOL_SOCKET, SO_MAX_PACING_RATE, 50000000 },
	{ "IP_BIND_ADDRESS_NO_PORT", SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1 },
	{ "TCP_NODELAY", SOL_TCP, TCP_NODELAY, 1 },
	{ "TCP_CORK", SOL_TCP, TCP_CORK, 1 },
	{ "TCP_KEEPIDLE", SOL_TCP, TCP_KEEPIDLE, 100 },
	{ "TCP_KEEPINTVL", SOL_TCP, TCP_KEEPINTVL, 33 },
	{ "TCP_KEEPCNT", SOL_TCP, TCP_KEEPCNT, 5 },
	{ "TCP_USER_TIMEOUT", SOL_TCP, TCP_USER_TIMEOUT, 40000 },
	{ "TCP_SYNCNT", SOL_TCP, TCP_SYNCNT, 4 },
	{ "TCP_LINGER2", SOL_TCP, TCP_LINGER2, 20 },
	{ "TCP_NOTSENT_LOWAT", SOL_TCP, TCP_NOTSENT_LOWAT, 20000 },
};

static long long timeout_of(int fd, int option)
{
	struct timeval tv = { };
	socklen_t len = sizeof(tv);

	OK(getsockopt(fd, SOL_SOCKET, option, &tv, &len));
	return tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

/* The device that has this host's address. */
static int here_device_(char name[static IF_NAMESIZE])
{
	struct ifaddrs *all, *i;
	union addr a;

	here(&a, 0);
	OK(getifaddrs(&all));
	for (i = all; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == a.sa.sa_family &&
		    addr_equal(&a, (union addr *)i->ifa_addr))
			break;
	CHECK(i);
	strcpy(name, i->ifa_name);
	freeifaddrs(all);
	return 0;
}

#define here_device(name)	CALL(here_device_(name))

/* What was set while it was to be SDP's is TCP's, and does something. */
CASE(after_options_set_before)
{
	bool v4 = variant->family == AF_INET;
	int level = v4 ? SOL_IP : SOL_IPV6, tos = v4 ? IP_TOS : IPV6_TCLASS;
	int ttl = v4 ? IP_TTL : IPV6_UNICAST_HOPS;
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };
	socklen_t len = sizeof(linger);
	struct timespec none = { };
	struct ktap_watch start;
	char word[16] = "";
	unsigned int i;
	char device[IF_NAMESIZE];
	sigset_t usr1;
	struct pair p;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	here_device(device);
	/* It may come in the middle of connect(). */
	EQ(0, pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	after_start(&p);
	/* The priority comes with it, and is said anew. */
	OK(set_int(p.c, level, tos, 0x20));
	OK(set_int(p.c, level, ttl, 33));
	for (i = 0; i < ARRAY_SIZE(kept); i++)
		if (set_int(p.c, kept[i].level, kept[i].option, kept[i].value))
			FAIL("set %s: %s", kept[i].name, ktap_errno(errno));
	OK(set_int(p.c, SOL_SOCKET, SO_RCVBUF, 70000));
	OK(set_int(p.c, SOL_SOCKET, SO_SNDBUF, 80000));
	OK(set_ms(p.c, SO_RCVTIMEO, 200));
	OK(set_ms(p.c, SO_SNDTIMEO, 30000));
	OK(setsockopt(p.c, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	OK(set_int(p.c, SOL_TCP, TCP_MAXSEG, 1000));
	OK(setsockopt(p.c, SOL_TCP, TCP_CONGESTION, "reno", 4));
	OK(setsockopt(p.c, SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device)));
	OK(fcntl(p.c, F_SETOWN, getpid()));
	OK(fcntl(p.c, F_SETSIG, SIGUSR1));
	OK(fcntl(p.c, F_SETFL, O_ASYNC));
	after_finish(&p);

	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		int got = get_int(p.c, kept[i].level, kept[i].option);

		if (got != kept[i].value)
			FAIL("%s: set %d before, got %d after", kept[i].name,
			     kept[i].value, got);
	}
	EQ(0x20, get_int(p.c, level, tos));
	EQ(33, get_int(p.c, level, ttl));
	EQ(140000, get_int(p.c, SOL_SOCKET, SO_RCVBUF));
	EQ(160000, get_int(p.c, SOL_SOCKET, SO_SNDBUF));
	EQ(200, timeout_of(p.c, SO_RCVTIMEO));
	EQ(30000, timeout_of(p.c, SO_SNDTIMEO));
	memset(&linger, 0xee, sizeof(linger));
	OK(getsockopt(p.c, SOL_SOCKET, SO_LINGER, &linger, &len));
	EQ(1, linger.l_onoff);
	EQ(0, linger.l_linger);
	len = sizeof(word);
	OK(getsockopt(p.c, SOL_TCP, TCP_CONGESTION, word, &len));
	if (strcmp(word, "reno"))
		FAIL("TCP_CONGESTION: set reno before, got %s after", word);
	memset(word, 0, sizeof(word));
	len = sizeof(word);
	OK(getsockopt(p.c, SOL_SOCKET, SO_BINDTODEVICE, word, &len));
	if (strcmp(word, device))
		FAIL("SO_BINDTODEVICE: set %s before, got %s after", device, word);
	EQ(getpid(), fcntl(p.c, F_GETOWN));
	EQ(SIGUSR1, fcntl(p.c, F_GETSIG));
	EQ(O_ASYNC, fcntl(p.c, F_GETFL) & O_ASYNC);
	/* Of connect(), and of what can be read. */
	EVENTUALLY(SIGUSR1, sigtimedwait(&usr1, NULL, &none));
	send_text(p.s, "news");
	EVENTUALLY(SIGUSR1, sigtimedwait(&usr1, NULL, &none));
	recv_text(p.c, "news");
	/* The SYN said it: the peer's segments are no larger. */
	IN_RANGE(900, 1000, get_int(p.c, SOL_TCP, TCP_MAXSEG));
	IN_RANGE(900, 1000, get_int(p.s, SOL_TCP, TCP_MAXSEG));

	start = ktap_watch();
	FAILS(EAGAIN, recv(p.c, word, 1, 0));
	WAITED(200, ktap_ms(2000), start);
	send_text(p.c, "there");
	recv_text(p.s, "there");
	OK(close(p.c));
	expect_reset(p.s);
}
BY_CLOCK(after_options_set_before);

CASE(after_options_set_after)
{
	char word[16] = "";
	socklen_t len = sizeof(word);
	unsigned int i;
	struct pair p;

	after_open(&p);
	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		int got;

		if (set_int(p.c, kept[i].level, kept[i].option, kept[i].value))
			FAIL("set %s: %s", kept[i].name, ktap_errno(errno));
		got = get_int(p.c, kept[i].level, kept[i].option);
		if (got != kept[i].value)
			FAIL("%s: set %d, got %d", kept[i].name, kept[i].value, got);
	}
	OK(setsockopt(p.c, SOL_TCP, TCP_CONGESTION, "reno", 4));
	OK(getsockopt(p.c, SOL_TCP, TCP_CONGESTION, word, &len));
	if (strcmp(word, "reno"))
		FAIL("TCP_CONGESTION: set reno, got %s", word);
	/* Of the moment: connect() would have set it anew. */
	OK(set_int(p.c, SOL_TCP, TCP_QUICKACK, 0));
	EQ(0, get_int(p.c, SOL_TCP, TCP_QUICKACK));
	/* Nothing is SDP's any more. */
	FAILS(ENOPROTOOPT, set_int(p.c, SOL_SDP, SDP_FALLBACK, 0));
	FAILS(EOPNOTSUPP, setsockopt(p.c, SOL_TCP, TCP_ULP, "sdp", 3));
	send_text(p.c, "there");
	recv_text(p.s, "there");
}

/* ------------------------------------------------------------------ zero copy */

static void zerocopy(bool before)
{
	enum { CALLS = 4, LEN = 40000 };
	unsigned int told = 0, i;
	struct pair p;
	char *buf, c;

	buf = mmap(NULL, CALLS * LEN, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(buf != MAP_FAILED);
	pattern_fill(buf, CALLS * LEN, 5, 0);
	after_start(&p);
	if (before)
		OK(set_int(p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
	after_finish(&p);
	if (!before)
		OK(set_int(p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
	for (i = 0; i < CALLS; i++) {
		EQ(LEN, send(p.c, buf + i * LEN, LEN, MSG_ZEROCOPY));
		recv_pattern(p.s, LEN, 5, i * LEN);
	}
	while (told < CALLS)
		told += notified(p.c, told, NULL);
	EQ(CALLS, told);
	FAILS(EAGAIN, recv(p.c, &c, 1, MSG_ERRQUEUE));
	EQ_HEX(POLLOUT, poll_one(p.c, POLLIN | POLLOUT, 0));
}

CASE(after_zerocopy)
{
	zerocopy(false);
	zerocopy(true);
}

/* What TCP maps for TCP_ZEROCOPY_RECEIVE. */
CASE(after_mmap)
{
	struct tcp_zerocopy_receive zc = { };
	socklen_t len = sizeof(zc);
	struct pair p;
	void *m;

	after_open(&p);
	m = mmap(NULL, 65536, PROT_READ, MAP_SHARED, p.c, 0);
	CHECK(m != MAP_FAILED);
	zc.address = (unsigned long)m;
	zc.length = 65536;
	OK(getsockopt(p.c, SOL_TCP, TCP_ZEROCOPY_RECEIVE, &zc, &len));
	EQ(0, zc.length);
	send_text(p.s, "unmapped");
	recv_text(p.c, "unmapped");
}

/* ----------------------------------------------------------------------- kTLS */

/* The slot that SDP had is kTLS's: records go both ways. */
CASE(after_ktls)
{
	struct task t = { .run = task_send_all, .len = 300000 };
	unsigned char record[5];
	char name[16] = "";
	socklen_t len = sizeof(name);
	struct pair p;

	after_open(&p);
	set_tls(p.c);
	set_tls(p.s);
	OK(getsockopt(p.c, SOL_TCP, TCP_ULP, name, &len));
	if (strcmp(name, "tls"))
		FAIL("TCP_ULP: expected tls, got %s", name);
	FAILS(EEXIST, setsockopt(p.c, SOL_TCP, TCP_ULP, "sdp", 3));
	tls_key(p.c, TLS_TX, 'c');
	send_text(p.c, "secret");
	/* Without the key it is a record: application data, TLS 1.2. */
	EQ(5, recv(p.s, record, sizeof(record), MSG_PEEK | MSG_WAITALL));
	EQ(23, record[0]);
	EQ(3, record[1]);
	EQ(3, record[2]);
	/* An explicit nonce, the bytes, a tag. */
	EQ(8 + 6 + 16, record[3] << 8 | record[4]);
	tls_key(p.s, TLS_RX, 'c');
	recv_text(p.s, "secret");
	tls_key(p.s, TLS_TX, 's');
	tls_key(p.c, TLS_RX, 's');
	send_text(p.s, "answer");
	recv_text(p.c, "answer");
	t.fd = p.c;
	task_start(&t);
	recv_pattern(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));
	t.fd = p.s;
	task_start(&t);
	recv_pattern(p.c, t.len, 1, 0);
	EQ(t.len, task_join(&t));
	OK(shutdown(p.c, SHUT_WR));
	expect_eof(p.s);
}

/* ---------------------------------------------------------------------- splice */

/* From one connection through a pipe into another, and a file behind it. */
CASE(after_splice)
{
	struct task t[2] = {
		{ .run = task_send_all, .len = 1000000 }, { .run = task_drain },
	};
	size_t sum = 0, len = 1500000;
	off_t off = t[0].len;
	struct pair p, q;
	int fds[2], file;
	ssize_t n;
	char *m;

	after_open(&p);
	after_open(&q);
	OK(pipe(fds));
	t[0].fd = p.s;
	t[1].fd = q.s;
	task_start(&t[0]);
	task_start(&t[1]);
	/* Both client sockets, that is those which fell back. */
	while (sum < t[0].len) {
		n = OK(splice(p.c, NULL, fds[1], NULL, 65536, SPLICE_F_MOVE));
		CHECK(n > 0);
		sum += n;
		while (n > 0)
			n -= OK(splice(fds[0], NULL, q.c, NULL, n,
				       SPLICE_F_MOVE | SPLICE_F_MORE));
	}
	EQ(t[0].len, sum);
	task_join(&t[0]);
	nonblock(p.c, true);
	FAILS(EAGAIN, splice(p.c, NULL, fds[1], NULL, 1, 0));
	file = OK(memfd_create("pattern", 0));
	OK(ftruncate(file, len));
	m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(m != MAP_FAILED);
	pattern_fill(m, len, 1, 0);
	while (off < (off_t)len)
		CHECK(OK(sendfile(q.c, file, &off, len - off)) > 0);
	OK(shutdown(q.c, SHUT_WR));
	EQ(len, task_join(&t[1]));
}

/* -------------------------------------------------------------------- fast open */

/* TCP connects when something is sent, and says 0 at once. */
static void fast_open_later(bool blocks)
{
	struct pair p;

	after_start(&p);
	OK(set_int(p.c, SOL_TCP, TCP_FASTOPEN_CONNECT, 1));
	OK(set_int(p.c, SOL_TCP, TCP_FASTOPEN_NO_COOKIE, 1));
	nonblock(p.c, !blocks);
	OK(connect_to(p.c, &p.addr));
	EQ(-1, transport(p.c));
	EQ_HEX(0, poll_one(p.l, POLLIN, 30));
	nonblock(p.c, false);
	send_text(p.c, "with the SYN");
	p.s = accept_any(p.l);
	recv_text(p.s, "with the SYN");
	send_text(p.s, "answer");
	recv_text(p.c, "answer");
	pair_shut(&p);
}

CASE(after_fastopen)
{
	struct pair p;

	fast_open_later(true);
	fast_open_later(false);

	/* connect() and send() in one. */
	after_start(&p);
	EQ(5, sendto(p.c, "hello", 5, MSG_FASTOPEN | MSG_NOSIGNAL, &p.addr.sa,
		     addr_len(&p.addr)));
	EQ(-1, transport(p.c));
	p.s = accept_any(p.l);
	recv_text(p.s, "hello");
	/* The slot is free. */
	set_tls(p.c);
}

/* Who asked for SDP, and nothing else, does not get TCP by it. */
CASE_ON(fastopen_must_be_sdp, ON_SDP)
{
	struct pair p;

	after_start(&p);
	OK(set_int(p.c, SOL_SDP, SDP_FALLBACK, 0));
	FAILS(EOPNOTSUPP, sendto(p.c, "hello", 5, MSG_FASTOPEN | MSG_NOSIGNAL,
				 &p.addr.sa, addr_len(&p.addr)));
	OK(set_int(p.c, SOL_TCP, TCP_FASTOPEN_CONNECT, 1));
	FAILS(ENETUNREACH, connect_to(p.c, &p.addr));
	EQ_HEX(0, poll_one(p.l, POLLIN, 0));
}

/* ---------------------------------------------------------------- another life */

/* connect() to AF_UNSPEC makes a TCP socket that can be SDP's again. */
CASE(after_unspec)
{
	union addr x = { .sa.sa_family = AF_UNSPEC }, a;
	struct pair p;
	int l, s;

	after_open(&p);
	OK(connect(p.c, &x.sa, sizeof(x.in)));
	expect_reset(p.s);
	FAILS(ENOTCONN, peer_of(p.c, &x));
	close(p.s);
	/* As it is, it is TCP's. */
	OK(connect_to(p.c, &p.addr));
	EQ(-1, transport(p.c));
	s = OK(accept(p.l, NULL, NULL));
	send_text(p.c, "second life");
	recv_text(s, "second life");
	if (!on_sdp())
		return;
	x.sa.sa_family = AF_UNSPEC;
	OK(connect(p.c, &x.sa, sizeof(x.in)));
	OK(setsockopt(p.c, SOL_TCP, TCP_ULP, "sdp", 3));
	l = listener(&a, 4);
	OK(connect_to(p.c, &a));
	must_be_sdp(p.c);
	s = accept_one(l);
	send_text(p.c, "third");
	recv_text(s, "third");
}
