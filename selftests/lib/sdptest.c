// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <linux/sockios.h>

#include "sdptest.h"

/* ------------------------------------------------------------------- sockets */

int via_by_name(const char *name)
{
	static const struct {
		const char *name;
		enum via via;
	} variants[] = {
#define VARIANT(via, word, ip)	{ #word, VIA_##via },
#include "variants.def"
#undef VARIANT
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(variants); i++)
		if (!strcmp(name, variants[i].name))
			return variants[i].via;
	return -1;
}

int via_socket(enum via via, int family, int flags)
{
	int fd, err;

	switch (via) {
	case VIA_FAMILY:
		return socket(AF_INET_SDP, SOCK_STREAM | flags, 0);
	case VIA_PROTO:
		return socket(family, SOCK_STREAM | flags, IPPROTO_SDP);
	default:
		break;
	}
	fd = socket(family, SOCK_STREAM | flags, 0);
	if (fd < 0 || via == VIA_TCP)
		return fd;
	if (setsockopt(fd, SOL_TCP, TCP_ULP, SDP_ULP_NAME,
		       strlen(SDP_ULP_NAME))) {
		err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

int sdp_info(int fd, struct sdp_info *info)
{
	socklen_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (getsockopt(fd, SOL_SDP, SDP_INFO, info, &len))
		return -1;
	return len;
}

bool is_sdp(int fd)
{
	struct sdp_info info;

	return sdp_info(fd, &info) >= 0 && info_is_sdp(&info);
}

int transport(int fd)
{
	struct sdp_info info;

	return sdp_info(fd, &info) < 0 ? -1 : info.sdpi_transport;
}

unsigned long long counter(const char *name)
{
	char line[256], word[64];
	unsigned long long value;
	FILE *f = fopen("/proc/net/sdpstat", "re");

	if (!f)
		FAIL("/proc/net/sdpstat: %s", ktap_errno(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %llu", word, &value) == 2 && !strcmp(word, name)) {
			fclose(f);
			return value;
		}
	}
	FAIL("/proc/net/sdpstat has no %s", name);
}

const char *peer_known(const union addr *a, int port)
{
	char line[256], ip[64], takes[16], reason[16];
	struct in6_addr wanted = a->in6.sin6_addr, is;
	static char known[40];
	const char *found = NULL;
	FILE *f = fopen("/proc/net/sdp_peers", "re");
	int is_port, ifindex;

	if (!f)
		FAIL("/proc/net/sdp_peers: %s", ktap_errno(errno));
	if (a->sa.sa_family == AF_INET)
		wanted = (struct in6_addr){ .s6_addr32 = {
			0, 0, htonl(0xffff), a->in.sin_addr.s_addr } };
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %d %d %15s %15s", ip, &is_port, &ifindex, takes,
			   reason) != 5 || inet_pton(AF_INET6, ip, &is) != 1)
			continue;	/* the heading */
		if (IN6_ARE_ADDR_EQUAL(&is, &wanted) && is_port == port && !ifindex) {
			snprintf(known, sizeof(known), "%s %s", takes, reason);
			found = known;
		}
	}
	fclose(f);
	return found;
}

int diag_ask(int what, __u32 states)
{
	struct {
		struct nlmsghdr nlh;
		struct sdp_diag_req req;
	} msg = {
		.nlh = {
			.nlmsg_len = sizeof(msg),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.req = {
			.sdiag_family = AF_INET_SDP, .sdr_what = what, .sdr_states = states,
		},
	};
	int fd = OK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	int err;

	if (send(fd, &msg, sizeof(msg), 0) == sizeof(msg))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

int sockets_shown(__u32 states)
{
	static union {
		struct nlmsghdr nlh;
		char bytes[32768];
	} buf;
	int fd = diag_ask(0, states), n, len, seen = 0, err = 0;
	struct nlmsghdr *h;

	if (fd < 0)
		return -1;
	for (n = 1; !err && n; ) {
		len = recv(fd, &buf, sizeof(buf), 0);
		if (len < 0)
			err = errno;
		for (h = &buf.nlh; !err && NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY)
				seen++;
			else if (h->nlmsg_type == NLMSG_ERROR)
				err = -((struct nlmsgerr *)NLMSG_DATA(h))->error;
			else if (h->nlmsg_type == NLMSG_DONE)
				n = 0;
		}
	}
	close(fd);
	errno = err;
	return err ? -1 : seen;
}

void nonblock(int fd, bool on)
{
	int flags = OK(fcntl(fd, F_GETFL));

	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	OK(fcntl(fd, F_SETFL, flags));
}

int get_int(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, option, &value, &len) ? -1 : value;
}

int set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

int set_bufs(int fd, int size)
{
	return set_int(fd, SOL_SOCKET, SO_SNDBUF, size) ?:
	       set_int(fd, SOL_SOCKET, SO_RCVBUF, size);
}

int set_ms(int fd, int option, int ms)
{
	struct timeval tv = {
		.tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000,
	};

	return setsockopt(fd, SOL_SOCKET, option, &tv, sizeof(tv));
}

int tcp_state(int fd)
{
	struct tcp_info info = { };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_TCP, TCP_INFO, &info, &len))
		return -1;
	return info.tcpi_state;
}

int waiting(int l)
{
	struct tcp_info info = { };
	socklen_t len = sizeof(info);

	OK(getsockopt(l, SOL_TCP, TCP_INFO, &info, &len));
	return info.tcpi_unacked;
}

int inq(int fd)
{
	int n;

	return ioctl(fd, SIOCINQ, &n) ? -1 : n;
}

int outq(int fd)
{
	int n;

	return ioctl(fd, SIOCOUTQ, &n) ? -1 : n;
}

/* ----------------------------------------------------------------- addresses */

void addr_set(union addr *a, int family, const char *text, int port)
{
	void *ip = family == AF_INET ? (void *)&a->in.sin_addr :
				       (void *)&a->in6.sin6_addr;

	memset(a, 0, sizeof(*a));
	a->sa.sa_family = family;
	if (inet_pton(family, text, ip) != 1)
		FAIL("not an address: %s", text);
	addr_set_port(a, port);
}

void addr_any(union addr *a, int family, int port)
{
	addr_set(a, family, family == AF_INET ? "0.0.0.0" : "::", port);
}

socklen_t addr_len(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
}

int addr_port(const union addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port :
						   a->in.sin_port);
}

void addr_set_port(union addr *a, int port)
{
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = htons(port);
	else
		a->in.sin_port = htons(port);
}

bool addr_equal(const union addr *a, const union addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family || addr_port(a) != addr_port(b))
		return false;
	if (a->sa.sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr);
	return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

/* Good for two in one line. */
const char *addr_text(const union addr *a)
{
	static __thread char text[2][INET6_ADDRSTRLEN + 32];
	static __thread unsigned int turn;
	char *t = text[turn++ % 2], ip[INET6_ADDRSTRLEN];
	const void *p = a->sa.sa_family == AF_INET6 ?
		(const void *)&a->in6.sin6_addr : (const void *)&a->in.sin_addr;

	if (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6) {
		snprintf(t, sizeof(text[0]), "family %u", a->sa.sa_family);
		return t;
	}
	inet_ntop(a->sa.sa_family, p, ip, sizeof(ip));
	snprintf(t, sizeof(text[0]), "%s port %d", ip, addr_port(a));
	return t;
}

int name_of(int fd, union addr *a)
{
	socklen_t len = sizeof(*a);

	return getsockname(fd, &a->sa, &len);
}

int peer_of(int fd, union addr *a)
{
	socklen_t len = sizeof(*a);

	return getpeername(fd, &a->sa, &len);
}

const char *host_addr(int family, const char *host)
{
	const char *own = getenv("SDP_HOST"), *env;
	bool v4 = family == AF_INET;

	if (!own)
		own = "h1";
	if (!host || !strcmp(host, own)) {
		host = own;
		env = getenv(v4 ? "SDP_ADDR4" : "SDP_ADDR6");
		if (env)
			return env;
	}
	if (!strcmp(host, "h2"))
		return v4 ? "10.9.0.2" : "fd09::2";
	return v4 ? "10.9.0.1" : "fd09::1";
}

/*
 * One of each case's own: the kernel gives a neighbour up 3 s after it was
 * first asked for, and a second connection to it ends with the first's wait.
 */
void nobody_addr(union addr *a, int family)
{
	bool v4 = family == AF_INET;
	const char *env = getenv(v4 ? "SDP_NOBODY4" : "SDP_NOBODY6");
	char text[INET6_ADDRSTRLEN];

	if (v4)
		snprintf(text, sizeof(text), "10.9.0.%d", 80 + getpid() % 160);
	else
		snprintf(text, sizeof(text), "fd09::77:%x", getpid() & 0xffff);
	addr_set(a, family, env ?: text, 9);
}

/* ------------------------------------------------------------------- pattern */

/* splitmix64: a word of the stream from its number alone. */
static inline __u64 word_at(__u64 key, __u64 n)
{
	__u64 z = (key << 40) + (n + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline __u8 byte_at(__u64 key, __u64 pos)
{
	return word_at(key, pos / 8) >> pos % 8 * 8;
}

void pattern_fill(void *buf, size_t len, __u64 key, __u64 pos)
{
	__u8 *p = buf, *end = p + len;
	__u64 w;

	for (; p < end && pos % 8; pos++)
		*p++ = byte_at(key, pos);
	for (; p + 8 <= end; p += 8, pos += 8) {
		w = htole64(word_at(key, pos / 8));
		memcpy(p, &w, 8);
	}
	for (; p < end; pos++)
		*p++ = byte_at(key, pos);
}

ssize_t pattern_check(const void *buf, size_t len, __u64 key, __u64 pos)
{
	const __u8 *p = buf, *end = p + len;
	__u64 w, is;

	for (; p < end; p++, pos++) {
		if (!(pos % 8)) {
			for (; p + 8 <= end; p += 8, pos += 8) {
				w = htole64(word_at(key, pos / 8));
				memcpy(&is, p, 8);
				if (is != w)
					break;
			}
			if (p == end)
				break;
		}
		if (*p != byte_at(key, pos))
			return p - (const __u8 *)buf;
	}
	return -1;
}

int send_pattern_(int fd, size_t len, __u64 key, __u64 pos)
{
	static __thread char buf[65536];
	size_t n, i;

	while (len) {
		n = len < sizeof(buf) ? len : sizeof(buf);
		pattern_fill(buf, n, key, pos);
		for (i = 0; i < n; )
			i += OK(send(fd, buf + i, n - i, MSG_NOSIGNAL));
		len -= n;
		pos += n;
	}
	return 0;
}

static void compare(const __u8 *buf, size_t len, __u64 key, __u64 pos)
{
	ssize_t bad = pattern_check(buf, len, key, pos);

	if (bad >= 0)
		FAIL("wrong byte at offset %llu of the stream (byte %zd of %zu just read): expected %#x, got %#x",
		     (unsigned long long)pos + bad, bad, len,
		     byte_at(key, pos + bad), buf[bad]);
}

int recv_pattern_(int fd, size_t len, __u64 key, __u64 pos)
{
	static __thread __u8 buf[65536];
	ssize_t n;

	while (len) {
		n = OK(recv(fd, buf, len < sizeof(buf) ? len : sizeof(buf), 0));
		if (!n)
			FAIL("end of stream at offset %llu, %zu bytes too early",
			     (unsigned long long)pos, len);
		compare(buf, n, key, pos);
		len -= n;
		pos += n;
	}
	return 0;
}

long long drain_(int fd, __u64 key, __u64 pos)
{
	static __thread __u8 buf[65536];
	__u64 start = pos;
	ssize_t n;

	while ((n = OK(recv(fd, buf, sizeof(buf), 0)))) {
		compare(buf, n, key, pos);
		pos += n;
	}
	return pos - start;
}

int recv_text_(int fd, const char *text)
{
	size_t len = strlen(text), got = 0;
	char buf[256];
	ssize_t n;

	while (got < len) {
		n = OK(recv(fd, buf + got, len - got, 0));
		if (!n)
			FAIL("end of stream after %zu bytes, expected \"%s\"",
			     got, text);
		got += n;
	}
	if (memcmp(buf, text, len))
		FAIL("expected \"%s\", got \"%.*s\"", text, (int)len, buf);
	return 0;
}

int send_text_(int fd, const char *text)
{
	EQ(strlen(text), send(fd, text, strlen(text), MSG_NOSIGNAL));
	return 0;
}

int expect_eof_(int fd)
{
	char c;

	EQ(0, recv(fd, &c, 1, 0));
	return 0;
}

/* ------------------------------------------------------------------- waiting */

int poll_one(int fd, int events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	OK(poll(&p, 1, ms > 0 ? ktap_ms(ms) : ms));
	return p.revents;
}

int await_(int fd, int events)
{
	int got = poll_one(fd, events, 10000);

	if (!(got & events))
		FAIL("poll: events %#x, none of %#x (TCP state %d, SO_ERROR %s, transport %d)",
		     got, events, tcp_state(fd),
		     ktap_errno(get_int(fd, SOL_SOCKET, SO_ERROR)), transport(fd));
	return got;
}

int await_end_(int fd, int events)
{
	long long end = ktap_now() + ktap_ms(10000);
	int got;

	while (!((got = poll_one(fd, events, 10000)) & POLLHUP)) {
		if (got & ~POLLERR || ktap_now() > end)
			FAIL("poll: %#x, not an end (TCP state %d, SO_ERROR %s, transport %d)",
			     got, tcp_state(fd),
			     ktap_errno(get_int(fd, SOL_SOCKET, SO_ERROR)),
			     transport(fd));
		sleep_ms(1);
	}
	return got;
}

void sleep_ms(int ms)
{
	usleep(ms * 1000);
}

void settle(void)
{
	sleep_ms(30);
}

void wait_asleep(pid_t pid, pid_t tid)
{
	long long end = ktap_now() + ktap_ms(1000);
	char path[64], line[256];
	int asleep = 0, looks = 0;
	char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	/* When we stood still ourselves that was one look. */
	while (asleep < 3 && (ktap_now() < end || looks++ < 200)) {
		f = fopen(path, "re");
		if (!f)
			return;		/* it has ended */
		state = fgets(line, sizeof(line), f);
		fclose(f);
		state = state ? strrchr(line, ')') : NULL;
		asleep = state && state[2] == 'S' ? asleep + 1 : 0;
		usleep(1000);
	}
}

void task_splice(struct task *t)
{
	t->ret = splice(t->fd, NULL, t->other, NULL, t->len, t->flags);
}

atomic_int signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

int catch_(int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	OK(sigaction(SIGUSR1, &sa, NULL));
	return 0;
}

int start_and_signal_(struct task *t)
{
	int before = signals;

	task_start_(t);
	if (t->done)
		FAIL("it did not wait: returned %lld %s", t->ret,
		     t->ret < 0 ? ktap_errno(t->err) : "");
	pthread_kill(t->thread, SIGUSR1);
	EVENTUALLY(before + 1, signals);
	return 0;
}

int still_waits_(struct task *t)
{
	wait_asleep(getpid(), t->tid);
	if (t->done)
		FAIL("it was not restarted: returned %lld %s", t->ret,
		     t->ret < 0 ? ktap_errno(t->err) : "");
	return 0;
}

int expect_eintr_(struct task *t, int timeo)
{
	catch(0);
	start_and_signal(t);
	FAILS(EINTR, task_join(t));
	catch(SA_RESTART);
	OK(set_ms(t->fd, timeo, 60000));
	start_and_signal(t);
	FAILS(EINTR, task_join(t));
	OK(set_ms(t->fd, timeo, 0));
	return 0;
}

static void *task_thread(void *arg)
{
	struct task *t = arg;
	long long start = ktap_now();

	t->tid = gettid();
	errno = 0;
	t->run(t);
	t->err = errno;
	t->ms = ktap_now() - start;
	t->done = true;
	return NULL;
}

int task_start_(struct task *t)
{
	int err;

	t->tid = 0;
	t->done = false;
	err = pthread_create(&t->thread, NULL, task_thread, t);
	if (err)
		FAIL("pthread_create: %s", ktap_errno(err));
	while (!t->tid)
		usleep(100);
	if (!t->done)
		wait_asleep(getpid(), t->tid);
	return 0;
}

int task_blocks_(struct task *t, int fd)
{
	t->fd = fd;
	task_start(t);
	CHECK(!t->done);
	return 0;
}

long long task_join_(struct task *t)
{
	pthread_join(t->thread, NULL);
	errno = t->err;
	return t->ret;
}

void task_recv(struct task *t)
{
	t->ret = recv(t->fd, t->buf, t->len, t->flags);
}

void task_send(struct task *t)
{
	t->ret = send(t->fd, t->buf, t->len, t->flags | MSG_NOSIGNAL);
}

void task_send_all(struct task *t)
{
	send_pattern(t->fd, t->len, 1, 0);
	t->ret = t->len;
}

void task_drain(struct task *t)
{
	t->ret = drain(t->fd, 1, 0);
}

void task_accept(struct task *t)
{
	t->ret = accept(t->fd, NULL, NULL);
}

void task_connect(struct task *t)
{
	t->ret = connect(t->fd, &t->addr->sa, addr_len(t->addr));
}

void task_poll(struct task *t)
{
	struct pollfd p = { .fd = t->fd, .events = t->events };

	t->ret = poll(&p, 1, -1);
	if (t->ret > 0)
		t->ret = p.revents;
}

void task_close(struct task *t)
{
	t->ret = close(t->fd);
}
