// SPDX-License-Identifier: GPL-2.0
/*
 * Integrity: streams of bytes known at every position, sent and received in
 * pieces of random sizes by random calls, every byte compared, the end of the
 * stream checked.  Reports bytes and MB/s.
 *
 *	h2: sdp_stream --server [OPTION...]
 *	h1: sdp_stream --client [OPTION...]
 *	    sdp_stream --self [OPTION...]	both, in one host
 *
 * Both sides take the same options.  --conns connections are made, --threads
 * of them at a time (default: all); each carries --bytes from client to server
 * and, with --both, as many back at the same time.  Whoever has received all
 * of its stream up to the EOF answers with a trailer over the half that is
 * still open, so that half close is part of it.  All randomness comes from
 * --seed, which a failure prints.
 *
 * On --via family, proto or ulp the connections must go by SDP, unless
 * --allow-tcp is given.
 */
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <linux/errqueue.h>

#include "lib/sdptest.h"

static const char usage[] =
"Usage: sdp_stream --server|--client|--self [OPTION]...\n"
"  --via WAY     tcp, family, proto or ulp (default: tcp)\n"
"  -6            IPv6\n"
"  --host H      address of the server, or h1 or h2 (default: --client h2, else this)\n"
"  --port N      default 9800\n"
"  --bytes N     for each connection and direction, with k, m, g (default: 16m)\n"
"  --conns N     connections (default: 1)\n"
"  --threads N   connections at a time (default: all)\n"
"  --both        both directions at once\n"
"  --seed N      of all random choices (default: 1)\n"
"  --max N       largest single send or receive, with k, m (default: 256k)\n"
"  --limit N     seconds until it is given up (default: 600, times SDP_TIME_FACTOR)\n"
"  --storm       signals into all calls, urgent bytes, which are read in line, and\n"
"                sends by MSG_ZEROCOPY\n"
"  --allow-tcp   do not insist on SDP\n";

static struct {
	enum via via;
	int family;
	const char *host;
	int port;
	__u64 bytes;
	unsigned int conns, threads;
	bool both, storm, allow_tcp;
	__u64 seed;
	size_t max;
	int limit;
} opt = {
	.family = AF_INET, .port = 9800, .bytes = 16 << 20, .conns = 1,
	.seed = 1, .max = 256 << 10, .limit = 600,
};

struct header {
	char magic[8];
	__u64 seed;
	__u64 bytes;
	__u32 conn;
	__u32 both;
};

struct trailer {
	char magic[8];
	__u64 bytes;
};

static const char header_magic[8] = "sdpstrm", trailer_magic[8] = "all good";

/* ----------------------------------------------------------------- randomness */

struct dice {
	__u64 state;
};

static __u64 roll(struct dice *d)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return d->state;
}

static struct dice dice(unsigned int conn, unsigned int who)
{
	struct dice d = {
		(opt.seed * 8191 + conn * 8 + who + 1) * 0x9e3779b97f4a7c15ull | 1,
	};

	roll(&d);
	return d;
}

/* Small, middle and large ones, each a third of the calls. */
static size_t piece(struct dice *d, __u64 left)
{
	static const size_t classes[] = { 64, 8192, 0 };
	size_t max = classes[roll(d) % 3];

	if (!max || max > opt.max)
		max = opt.max;
	max = 1 + roll(d) % max;
	return max < left ? max : left;
}

/* Key of the pattern: one for each connection and direction. */
static __u64 key_of(unsigned int conn, bool to_server)
{
	return opt.seed * 65537 + conn * 2 + to_server;
}

/* ---------------------------------------------------------------------- storm */

/* Threads that are in a stream: each is hit now and then. */
static struct target {
	struct target *next;
	pthread_t thread;
} *targets;

static pthread_mutex_t targets_lock = PTHREAD_MUTEX_INITIALIZER;

static void target_add(struct target *t)
{
	t->thread = pthread_self();
	pthread_mutex_lock(&targets_lock);
	t->next = targets;
	targets = t;
	pthread_mutex_unlock(&targets_lock);
}

static void target_remove(struct target *t)
{
	struct target **at = &targets;

	pthread_mutex_lock(&targets_lock);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_mutex_unlock(&targets_lock);
}

static void *thunder(void *arg)
{
	struct dice d = dice(0, 7);
	struct target *t;

	for (;;) {
		usleep(roll(&d) % 4000);
		pthread_mutex_lock(&targets_lock);
		for (t = targets; t; t = t->next)
			if (roll(&d) % 4 == 0)
				pthread_kill(t->thread, SIGUSR1);
		pthread_mutex_unlock(&targets_lock);
	}
	return arg;
}

static void nothing(int sig)
{
	(void)sig;
}

static void storm_begins(void)
{
	struct sigaction sa = { .sa_handler = nothing };
	pthread_t thread;

	OK(sigaction(SIGUSR1, &sa, NULL));
	EQ(0, pthread_create(&thread, NULL, thunder, NULL));
}

static bool was_hit(ssize_t n)
{
	return n < 0 && opt.storm && errno == EINTR;
}

static bool ready(int fd, int events)
{
	long long end = ktap_now() + opt.limit * 1000LL;
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&p, 1, opt.limit * 1000);
	while (was_hit(n) && ktap_now() < end);
	return n > 0;
}

/* -------------------------------------------------------------------- sending */

static unsigned int split(struct iovec *iov, unsigned int max, char *buf,
			  size_t len, struct dice *d)
{
	unsigned int n = 1 + roll(d) % max, i;
	size_t l;

	for (i = 0; i < n; i++) {
		l = i == n - 1 ? len : roll(d) % (len + 1);
		iov[i].iov_base = buf;
		iov[i].iov_len = l;
		buf += l;
		len -= l;
	}
	return n;
}

static void wait_writable(int fd)
{
	if (!ready(fd, POLLOUT))
		FAIL("no room to send for %d s", opt.limit);
}

/* Calls by MSG_ZEROCOPY, and those of which it was told that they are over. */
struct lending {
	unsigned int calls, told;
};

static void wait_told(int fd, struct lending *l)
{
	long long end = ktap_now() + opt.limit * 1000LL;
	const struct sock_extended_err *e;
	char control[200];
	struct msghdr msg = { .msg_control = control };

	while (l->told != l->calls) {
		msg.msg_controllen = sizeof(control);
		if (recvmsg(fd, &msg, MSG_ERRQUEUE) < 0) {
			if (!ready(fd, 0) || ktap_now() > end)
				FAIL("of %u calls by MSG_ZEROCOPY %u are over after %d s",
				     l->calls, l->told, opt.limit);
			continue;
		}
		if (!CMSG_FIRSTHDR(&msg))
			FAIL("a notification without its header");
		e = (const struct sock_extended_err *)CMSG_DATA(CMSG_FIRSTHDR(&msg));
		EQ(SO_EE_ORIGIN_ZEROCOPY, e->ee_origin);
		l->told += e->ee_data - e->ee_info + 1;
	}
}

/* The bytes stay as they are until the kernel has told. */
static ssize_t lend_some(int fd, char *buf, size_t len, struct lending *l)
{
	ssize_t n = send(fd, buf, len, MSG_ZEROCOPY);

	if (n >= 0) {
		l->calls++;
		return n;
	}
	/* Too many notifications that nobody has fetched. */
	if (errno != ENOBUFS)
		return n;
	wait_told(fd, l);
	return 0;
}

/* One call, at random; how much went. */
static ssize_t send_some(int fd, char *buf, size_t len, bool last,
			 struct dice *d, struct lending *l)
{
	struct iovec iov[8];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	if (opt.storm && roll(d) % 32 == 0)
		return send(fd, buf, 1, MSG_OOB);
	if (opt.storm && roll(d) % 6 == 0)
		return lend_some(fd, buf, len, l);
	switch (roll(d) % 6) {
	case 0:
		return write(fd, buf, len);
	case 1:
		return send(fd, buf, len, last ? 0 : MSG_MORE);
	case 2:
		return writev(fd, iov, split(iov, 8, buf, len, d));
	case 3:
		msg.msg_iovlen = split(iov, 8, buf, len, d);
		return sendmsg(fd, &msg, roll(d) & 1 && !last ? MSG_MORE : 0);
	case 4:
		n = send(fd, buf, len, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN)
			return n;
		wait_writable(fd);
		return 0;
	default:
		return send(fd, buf, len, MSG_NOSIGNAL);
	}
}

static void send_stream(int fd, unsigned int conn, bool to_server)
{
	struct dice d = dice(conn, to_server);
	__u64 pos = 0, key = key_of(conn, to_server);
	char *buf = malloc(opt.max);
	struct lending lending = {};
	struct target self;
	unsigned int calls;
	size_t len, done;
	ssize_t n;

	OK(set_int(fd, SOL_SOCKET, SO_ZEROCOPY, opt.storm));
	target_add(&self);
	while (pos < opt.bytes) {
		len = piece(&d, opt.bytes - pos);
		pattern_fill(buf, len, key, pos);
		for (done = 0; done < len; done += n) {
			calls = lending.calls;
			n = send_some(fd, buf + done, len - done,
				      pos + len == opt.bytes, &d, &lending);
			if (was_hit(n))
				n = 0;
			if (n < 0)
				FAIL("seed %llu, connection %u, sending to %s at offset %llu: %s",
				     opt.seed, conn, to_server ? "server" : "client",
				     pos + done, ktap_errno(errno));
			/* What is no longer needed may be overwritten. */
			if (calls == lending.calls)
				memset(buf + done, 0xdb, n);
		}
		wait_told(fd, &lending);
		pos += len;
	}
	target_remove(&self);
	free(buf);
}

/* ------------------------------------------------------------------ receiving */

static void compare(const char *buf, size_t len, unsigned int conn,
		    bool to_server, __u64 pos, const char *call)
{
	ssize_t bad = pattern_check(buf, len, key_of(conn, to_server), pos);
	unsigned char want, more[8];
	__u64 off;
	size_t i;

	if (bad < 0)
		return;
	off = pos + bad;
	pattern_fill(&want, 1, key_of(conn, to_server), off);
	for (i = 0; i < sizeof(more); i++)
		more[i] = bad + i < len ? buf[bad + i] : 0;
	FAIL("seed %llu, connection %u, towards the %s, offset %llu (%#llx), byte %zd of %zu by %s: expected %#04x, got %02x %02x %02x %02x %02x %02x %02x %02x",
	     opt.seed, conn, to_server ? "server" : "client", off, off, bad, len,
	     call, want, more[0], more[1], more[2], more[3], more[4], more[5],
	     more[6], more[7]);
}

static ssize_t receive_some(int fd, char *buf, size_t len, unsigned int conn,
			    bool to_server, __u64 pos, struct dice *d,
			    const char **call)
{
	struct iovec iov[8];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	switch (roll(d) % 7) {
	case 0:
		*call = "read";
		return read(fd, buf, len);
	case 1:
		*call = "readv";
		return readv(fd, iov, split(iov, 8, buf, len, d));
	case 2:
		*call = "recvmsg";
		msg.msg_iovlen = split(iov, 8, buf, len, d);
		return recvmsg(fd, &msg, 0);
	case 3:
		*call = "recv MSG_PEEK";
		n = recv(fd, buf, len, MSG_PEEK);
		if (n > 0)
			compare(buf, n, conn, to_server, pos, *call);
		*call = "recv after MSG_PEEK";
		return n < 0 ? n : recv(fd, buf, len, 0);
	case 4:
		*call = "recv MSG_WAITALL";
		n = recv(fd, buf, len, MSG_WAITALL);
		/* A signal or an urgent byte cuts it short. */
		if (n > 0 && (size_t)n < len && pos + n != opt.bytes && !opt.storm)
			FAIL("seed %llu, connection %u: MSG_WAITALL of %zu bytes gave %zd in the middle of the stream",
			     opt.seed, conn, len, n);
		return n;
	case 5:
		*call = "recv MSG_DONTWAIT";
		n = recv(fd, buf, len, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN)
			return n;
		if (!ready(fd, POLLIN))
			FAIL("seed %llu, connection %u: nothing came for %d s at offset %llu",
			     opt.seed, conn, opt.limit, pos);
		return -2;
	default:
		*call = "recv";
		return recv(fd, buf, len, 0);
	}
}

static void receive_stream(int fd, unsigned int conn, bool to_server)
{
	struct dice d = dice(conn, 2 + to_server);
	const char *call = "";
	__u64 pos = 0;
	char *buf = malloc(opt.max);
	struct target self;
	size_t len;
	ssize_t n;

	target_add(&self);
	/* One byte more than there should be, once all of it is here. */
	for (;;) {
		len = piece(&d, opt.bytes - pos + 1);
		n = receive_some(fd, buf, len, conn, to_server, pos, &d, &call);
		if (n == -2 || was_hit(n))
			continue;
		if (n < 0)
			FAIL("seed %llu, connection %u, %s at offset %llu of %llu: %s",
			     opt.seed, conn, call, pos, opt.bytes, ktap_errno(errno));
		if (!n)
			break;
		if (pos + n > opt.bytes)
			FAIL("seed %llu, connection %u: %llu bytes came, %llu were sent",
			     opt.seed, conn, pos + n, opt.bytes);
		compare(buf, n, conn, to_server, pos, call);
		pos += n;
	}
	target_remove(&self);
	if (pos != opt.bytes)
		FAIL("seed %llu, connection %u, towards the %s: end of stream at offset %llu of %llu",
		     opt.seed, conn, to_server ? "server" : "client", pos, opt.bytes);
	free(buf);
}

/* ---------------------------------------------------------------- connections */

/*
 * A side sends its stream and shuts that half.  Only one stream: the receiver
 * then sends the trailer the other way.  Both: there is no half left for a
 * trailer; each side's exit status tells.
 */
struct side {
	int fd;
	unsigned int conn;
	bool server;
	pthread_t thread;
};

static void *sender(void *arg)
{
	struct side *s = arg;

	send_stream(s->fd, s->conn, !s->server);
	OK(shutdown(s->fd, SHUT_WR));
	return NULL;
}

/* Whether sockets of this host are joined (net.sdp.local). */
static bool joins(void)
{
	FILE *f = fopen("/proc/sys/net/sdp/local", "re");
	int on = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	return on == '1';
}

static void check_transport(int fd, unsigned int conn, bool client)
{
	struct sdp_info info = { };

	if (opt.via == VIA_TCP || opt.allow_tcp)
		return;
	/* A client that is gone before it was accepted is left to TCP. */
	if (!client && tcp_state(fd) == TCP_CLOSE && joins())
		return;
	if (sdp_info(fd, &info) < 0)
		FAIL("connection %u goes by TCP (SDP_INFO: %s)", conn,
		     ktap_errno(errno));
	/* A client that is to be joined is TCP's until it is accepted. */
	if (!info_is_sdp(&info) &&
	    !(client && info.sdpi_transport == SDP_TRANSPORT_TCP && joins()))
		FAIL("connection %u does not go by SDP (transport %u, reason %u)",
		     conn, info.sdpi_transport, info.sdpi_reason);
}

static void run_side(struct side *s)
{
	struct trailer t = { .bytes = opt.bytes };

	check_transport(s->fd, s->conn, !s->server);
	if (opt.both) {
		EQ(0, pthread_create(&s->thread, NULL, sender, s));
		receive_stream(s->fd, s->conn, s->server);
		pthread_join(s->thread, NULL);
	} else if (s->server) {
		receive_stream(s->fd, s->conn, true);
		memcpy(t.magic, trailer_magic, sizeof(t.magic));
		EQ(sizeof(t), send(s->fd, &t, sizeof(t), MSG_NOSIGNAL));
	} else {
		sender(s);
		EQ(sizeof(t), recv(s->fd, &t, sizeof(t), MSG_WAITALL));
		if (memcmp(t.magic, trailer_magic, sizeof(t.magic)) || t.bytes != opt.bytes)
			FAIL("seed %llu, connection %u: wrong trailer", opt.seed, s->conn);
		expect_eof(s->fd);
	}
	close(s->fd);
}

static void server_address(union addr *a)
{
	const char *host = opt.host;

	if (!host || !strcmp(host, "h1") || !strcmp(host, "h2"))
		host = host_addr(opt.family, host);
	addr_set(a, opt.family, host, opt.port);
}

static int client_connect(void)
{
	long long end = ktap_now() + ktap_ms(20000);
	union addr a;
	int fd;

	server_address(&a);
	for (;;) {
		fd = via_socket(opt.via, opt.family, SOCK_CLOEXEC);
		if (fd < 0)
			FAIL("socket: %s (is af_sdp loaded?)", ktap_errno(errno));
		OK(set_int(fd, SOL_SOCKET, SO_OOBINLINE, opt.storm));
		/*
		 * A server that begins to listen between the attempts by SDP
		 * and by TCP would be reached by TCP.
		 */
		if (opt.via == VIA_ULP && !opt.allow_tcp)
			OK(set_int(fd, SOL_SDP, SDP_FALLBACK, 0));
		if (!connect(fd, &a.sa, addr_len(&a)))
			return fd;
		/* The server may not be there yet, or its backlog be full. */
		if (errno != ECONNREFUSED || ktap_now() > end)
			FAIL("connect to %s: %s", addr_text(&a), ktap_errno(errno));
		close(fd);
		usleep(10000);
	}
}

static atomic_uint next_conn;

static void *client_thread(void *arg)
{
	struct header h;
	struct side s;

	memcpy(h.magic, header_magic, sizeof(h.magic));
	h.seed = opt.seed;
	h.bytes = opt.bytes;
	h.both = opt.both;
	while ((s.conn = next_conn++) < opt.conns) {
		s.fd = client_connect();
		s.server = false;
		h.conn = s.conn;
		EQ(sizeof(h), send(s.fd, &h, sizeof(h), MSG_NOSIGNAL));
		run_side(&s);
	}
	return arg;
}

static void *server_thread(void *arg)
{
	struct side s = *(struct side *)arg;
	struct header h;

	free(arg);
	EQ(sizeof(h), recv(s.fd, &h, sizeof(h), MSG_WAITALL));
	if (memcmp(h.magic, header_magic, sizeof(h.magic)))
		FAIL("a connection began with other bytes than expected");
	if (h.seed != opt.seed || h.bytes != opt.bytes || h.both != opt.both)
		FAIL("the client runs with other options");
	s.conn = h.conn;
	run_side(&s);
	return NULL;
}

static void run_server(void)
{
	pthread_t *threads = calloc(opt.conns, sizeof(*threads));
	unsigned int i;
	union addr a;
	struct side *s;
	int l, fd;

	l = OK(via_socket(opt.via, opt.family, SOCK_CLOEXEC));
	server_address(&a);
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(set_int(l, SOL_SOCKET, SO_OOBINLINE, opt.storm));
	OK(bind(l, &a.sa, addr_len(&a)));
	OK(listen(l, 64));
	for (i = 0; i < opt.conns; i++) {
		fd = OK(accept4(l, NULL, NULL, SOCK_CLOEXEC));
		s = malloc(sizeof(*s));
		s->fd = fd;
		s->server = true;
		EQ(0, pthread_create(&threads[i], NULL, server_thread, s));
	}
	for (i = 0; i < opt.conns; i++)
		pthread_join(threads[i], NULL);
}

static void run_client(void)
{
	pthread_t *threads = calloc(opt.threads, sizeof(*threads));
	long long start = ktap_now(), ms;
	unsigned int i;
	__u64 sum;

	for (i = 0; i < opt.threads; i++)
		EQ(0, pthread_create(&threads[i], NULL, client_thread, NULL));
	for (i = 0; i < opt.threads; i++)
		pthread_join(threads[i], NULL);
	ms = ktap_now() - start;
	sum = opt.bytes * opt.conns * (opt.both ? 2 : 1);
	printf("# %llu bytes on %u connection%s in %lld ms, %.1f MB/s, every byte compared (seed %llu)\n",
	       sum, opt.conns, opt.conns == 1 ? "" : "s", ms,
	       sum / 1000.0 / (ms ?: 1), opt.seed);
}

static __u64 number(const char *s)
{
	static const char units[] = "kmg";
	const char *unit;
	char *end;
	__u64 n = strtoull(s, &end, 0);

	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		n <<= 10 * (unit - units + 1);
		end++;
	}
	if (*end || end == s) {
		fprintf(stderr, "sdp_stream: %s is not a size\n", s);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "server", no_argument, NULL, 'S' },
		{ "client", no_argument, NULL, 'C' },
		{ "self", no_argument, NULL, 'X' },
		{ "via", required_argument, NULL, 'v' },
		{ "host", required_argument, NULL, 'h' },
		{ "port", required_argument, NULL, 'P' },
		{ "bytes", required_argument, NULL, 'n' },
		{ "conns", required_argument, NULL, 'c' },
		{ "threads", required_argument, NULL, 't' },
		{ "both", no_argument, NULL, 'b' },
		{ "seed", required_argument, NULL, 's' },
		{ "max", required_argument, NULL, 'm' },
		{ "limit", required_argument, NULL, 'l' },
		{ "storm", no_argument, NULL, 'w' },
		{ "allow-tcp", no_argument, NULL, 'a' },
		{ }
	};
	int c, role = 0, status;
	pid_t pid;

	while ((c = getopt_long(argc, argv, "6", options, NULL)) != -1) {
		switch (c) {
		case 'S':
		case 'C':
		case 'X':
			role = c;
			break;
		case 'v':
			status = via_by_name(optarg);
			if (status < 0) {
				fprintf(stderr, "sdp_stream: %s: no such way\n", optarg);
				return 2;
			}
			opt.via = status;
			break;
		case 'h':
			opt.host = optarg;
			break;
		case 'P':
			opt.port = number(optarg);
			break;
		case 'n':
			opt.bytes = number(optarg);
			break;
		case 'c':
			opt.conns = number(optarg);
			break;
		case 't':
			opt.threads = number(optarg);
			break;
		case 'b':
			opt.both = true;
			break;
		case 's':
			opt.seed = number(optarg);
			break;
		case 'm':
			opt.max = number(optarg);
			break;
		case 'l':
			opt.limit = number(optarg);
			break;
		case 'w':
			opt.storm = true;
			break;
		case 'a':
			opt.allow_tcp = true;
			break;
		case '6':
			opt.family = AF_INET6;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!role || optind < argc || !opt.conns || !opt.max) {
		fputs(usage, stderr);
		return 2;
	}
	if (!opt.threads || opt.threads > opt.conns)
		opt.threads = opt.conns;
	if (!opt.host && role == 'C')
		opt.host = "h2";
	opt.limit = ktap_ms(opt.limit);
	alarm(opt.limit);
	if (role == 'X') {
		pid = OK(fork());
		if (!pid) {
			alarm(opt.limit);
			if (opt.storm)
				storm_begins();
			run_server();
			_exit(0);
		}
		if (opt.storm)
			storm_begins();
		run_client();
		CHILD_OK(pid);
		return 0;
	}
	if (opt.storm)
		storm_begins();
	if (role == 'S') {
		run_server();
	} else {
		run_client();
	}
	return 0;
}
