// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <linux/tls.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <netinet/tcp.h>
#include <sys/utsname.h>

#include "variant.h"

#ifndef SOL_TLS
#define SOL_TLS 282
#endif

static const struct variant variants[NR_VARIANTS] = {
#define VARIANT(via, word, ip)						\
	{ VIA_##via, (ip) == 6 ? AF_INET6 : AF_INET, via##_V##ip >= JOIN_V4 },
#include "variants.def"
#undef VARIANT
};

const struct variant *variant;

const char *const variant_names[NR_VARIANTS] = {
#define VARIANT(via, word, ip)	#word "-v" #ip,
#include "variants.def"
#undef VARIANT
};

int variant_by_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_VARIANTS; i++)
		if (!strcmp(variant_names[i], name))
			return i;
	return -1;
}

const char *variant_name(void)
{
	return variant_names[variant - variants];
}

int sock_(int flags)
{
	int fd = via_socket(variant->via, variant->family, flags);

	if (fd < 0)
		FAIL("no %s socket: %s%s", variant_name(), ktap_errno(errno),
		     on_ours() ? " (is af_sdp loaded?)" : "");
	return fd;
}

int peer_is_(const union addr *a, int port, const char *known)
{
	const char *is = peer_known(a, port);

	if (!known != !is || (is && strcmp(is, known)))
		FAIL("sdp_peers, port %d: expected \"%s\", got \"%s\"", port,
		     known ?: "nothing", is ?: "nothing");
	return 0;
}

void here(union addr *a, int port)
{
	addr_set(a, variant->family, host_addr(variant->family, NULL), port);
}

void nobody(union addr *a)
{
	nobody_addr(a, variant->family);
}

int bind_to(int fd, const union addr *a)
{
	return bind(fd, &a->sa, addr_len(a));
}

int bind_here_(int fd, union addr *a)
{
	here(a, 0);
	OK(bind_to(fd, a));
	OK(name_of(fd, a));
	return 0;
}

int connect_to(int fd, const union addr *a)
{
	return connect(fd, &a->sa, addr_len(a));
}

int listener_(union addr *a, int backlog)
{
	int l = sock();

	here(a, 0);
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, a));
	OK(listen(l, backlog));
	OK(name_of(l, a));
	return l;
}

int any_listener_(union addr *a, int family, int v6only)
{
	int l = OK(via_socket(variant->via, family, 0));

	addr_any(a, family, 0);
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	if (family == AF_INET6)
		OK(set_int(l, SOL_IPV6, IPV6_V6ONLY, v6only));
	OK(bind_to(l, a));
	OK(listen(l, 16));
	OK(name_of(l, a));
	here(a, addr_port(a));
	return l;
}

void closed_port_(union addr *a)
{
	int fd = OK(socket(variant->family, SOCK_STREAM, 0));

	here(a, 0);
	OK(bind_to(fd, a));
	OK(name_of(fd, a));
}

int ip_level(void)
{
	return variant->family == AF_INET6 ? SOL_IPV6 : SOL_IP;
}

int ip_info(int fd, struct sdp_info *info)
{
	socklen_t len = sizeof(*info);

	memset(info, 0xee, sizeof(*info));
	if (getsockopt(fd, ip_level(), IP_SDP_INFO, info, &len))
		return -1;
	return len;
}

int must_be_sdp_(int fd)
{
	struct sdp_info info;

	if (!on_ours())
		return 0;
	if (sdp_info(fd, &info) < 0) {
		int err = errno;

		if (ip_info(fd, &info) > 0)
			FAIL("this connection goes by TCP, for reason %u",
			     info.sdpi_reason);
		FAIL("SDP_INFO: %s: this connection goes by TCP",
		     ktap_errno(err));
	}
	if (!info_is_sdp(&info) && !on_join())
		FAIL("SDP_INFO: transport %u, state %u, reason %u: not SDP",
		     info.sdpi_transport, info.sdpi_state, info.sdpi_reason);
	return 0;
}

int tcp_sock_(void)
{
	return OK(socket(variant->family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

int tcp_listener_(union addr *a)
{
	int l = tcp_sock();

	here(a, 0);
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, a));
	OK(listen(l, 64));
	OK(name_of(l, a));
	return l;
}

int mixed_listener_(union addr *a)
{
	int l = sock();

	here(a, 0);
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(set_int(l, SOL_SDP, SDP_FALLBACK, 1));
	OK(bind_to(l, a));
	OK(listen(l, 4));
	OK(name_of(l, a));
	return l;
}

int accept_any_(int l)
{
	await(l, POLLIN);
	return OK(accept(l, NULL, NULL));
}

int accept_one_(int l)
{
	int s = accept_any(l);

	must_be_sdp(s);
	if (on_join())
		EQ(SDP_TRANSPORT_LOCAL, transport(s));
	return s;
}

int pair_start_(struct pair *p)
{
	p->l = listener(&p->addr, 8);
	p->c = sock();
	return 0;
}

int pair_finish_(struct pair *p)
{
	OK(connect_to(p->c, &p->addr));
	must_be_sdp(p->c);
	p->s = accept_one(p->l);
	return 0;
}

int pair_open_(struct pair *p)
{
	pair_start(p);
	return pair_finish(p);
}

int pair_open_bufs_(struct pair *p, int sndbuf, int rcvbuf)
{
	pair_start(p);
	OK(set_int(p->c, SOL_SOCKET, SO_SNDBUF, sndbuf));
	OK(set_int(p->l, SOL_SOCKET, SO_RCVBUF, rcvbuf));
	return pair_finish(p);
}

int pair_shut_(const struct pair *p)
{
	enum { FIN_WAIT2 = 5, CLOSED = 7, CLOSE_WAIT = 8 };

	OK(shutdown(p->c, SHUT_WR));
	expect_eof(p->s);
	EQ(CLOSE_WAIT, tcp_state(p->s));
	EVENTUALLY(FIN_WAIT2, tcp_state(p->c));
	OK(shutdown(p->s, SHUT_WR));
	expect_eof(p->c);
	EVENTUALLY(CLOSED, tcp_state(p->s));
	EVENTUALLY(CLOSED, tcp_state(p->c));
	return 0;
}

int recv_past_lowat_(int fd, size_t len, __u64 key, __u64 pos)
{
	if (!on_sdp())
		OK(set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 1));
	return recv_pattern_(fd, len, key, pos);
}

/* Of SDP: the peer's device has all that was sent. */
static bool nothing_under_way(int fd)
{
	int waits, all;

	OK(ioctl(fd, SIOCOUTQNSD, &waits));
	OK(ioctl(fd, SIOCOUTQ, &all));
	return all == waits;
}

long long fill_(int fd, __u64 key)
{
	static char buf[16384];
	bool waited = false;
	long long sum = 0;
	ssize_t n;

	nonblock(fd, true);
	for (;;) {
		pattern_fill(buf, sizeof(buf), key, sum);
		n = send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
		if (n >= 0) {
			waited = false;
			sum += n;
			if (sum > 256 << 20)
				FAIL("256 MiB sent, and nobody reads");
			continue;
		}
		if (errno != EAGAIN)
			FAIL("send after %lld bytes: %s", sum, ktap_errno(errno));
		if (waited)
			return sum;
		/*
		 * What is on its way may make room once more, though less than
		 * POLLOUT tells of.  TCP keeps what is longer than the rest of
		 * its peer's window until a timer says to send the part that
		 * fits, and that may take any time.
		 */
		waited = !poll_one(fd, POLLOUT, 100) &&
			 (on_join() || (on_sdp() ? nothing_under_way(fd) :
					tcp_window_used_up(fd)));
	}
}

bool kernel_since(int major, int minor)
{
	struct utsname name;
	int this[2];

	OK(uname(&name));
	EQ(2, sscanf(name.release, "%d.%d", &this[0], &this[1]));
	return this[0] > major || (this[0] == major && this[1] >= minor);
}

void set_tls(int fd)
{
	if (setsockopt(fd, SOL_TCP, TCP_ULP, "tls", 3)) {
		EQ(ENOENT, errno);
		ktap_skip("this kernel has no TLS");
	}
}

void tls_key(int fd, int direction, char seed)
{
	struct tls12_crypto_info_aes_gcm_128 key = {
		.info.version = TLS_1_2_VERSION,
		.info.cipher_type = TLS_CIPHER_AES_GCM_128,
	};

	memset(key.iv, seed + 1, sizeof(key.iv));
	memset(key.key, seed + 2, sizeof(key.key));
	memset(key.salt, seed + 3, sizeof(key.salt));
	memset(key.rec_seq, 0, sizeof(key.rec_seq));
	OK(setsockopt(fd, SOL_TLS, direction, &key, sizeof(key)));
}

bool shares_ports(void)
{
	return !on_sdp() || variant->family == AF_INET6 || !kernel_since(6, 16);
}

unsigned long long count(const char *name)
{
	return on_sdp() ? counter(name) : 0;
}

char *memory(size_t len, size_t off)
{
	char *at = mmap(NULL, len + off + 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at + off;
}

void scatter(char *at, size_t len)
{
	size_t i, first;

	madvise(at, len, MADV_NOHUGEPAGE);
	for (first = 0; first <= 4096; first += 4096)
		for (i = first; i < len; i += 2 * 4096)
			at[i] = 1;
}

char *pattern(size_t len, size_t off)
{
	char *at = memory(len, off);

	pattern_fill(at, len, 1, 0);
	return at;
}

int read_asleep_(const struct pair *p, size_t len)
{
	struct task t = { .run = task_recv, .fd = p->s, .len = len,
			  .buf = memory(len, 0), .flags = MSG_WAITALL };
	char *from = pattern(len, 0);

	task_start(&t);
	EQ(len, send(p->c, from, len, 0));
	EQ(len, task_join(&t));
	EQ(-1, pattern_check(t.buf, len, 1, 0));
	munmap(t.buf, len + 4096);
	munmap(from, len + 4096);
	return 0;
}

int learn_to_ask_(const struct pair *p)
{
	unsigned long long filled, offers;

	do {
		filled = count("bytes_filled");
		offers = count("offers");
		read_asleep(p, 65536);
	} while (on_sdp() && (count("bytes_filled") != filled + 65536 ||
			      count("offers") != offers));
	return 0;
}

unsigned int notified_any_(int fd, unsigned int *first, bool *copied)
{
	bool v4 = variant->family == AF_INET;
	struct sock_extended_err *e;
	char control[200];
	struct msghdr msg = {
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	await(fd, POLLERR);
	OK(recvmsg(fd, &msg, MSG_ERRQUEUE));
	c = CMSG_FIRSTHDR(&msg);
	CHECK(c);
	EQ(v4 ? SOL_IP : SOL_IPV6, c->cmsg_level);
	EQ(v4 ? IP_RECVERR : IPV6_RECVERR, c->cmsg_type);
	e = (struct sock_extended_err *)CMSG_DATA(c);
	EQ(0, e->ee_errno);
	EQ(SO_EE_ORIGIN_ZEROCOPY, e->ee_origin);
	CHECK(e->ee_data >= e->ee_info);
	*first = e->ee_info;
	if (copied)
		*copied = e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	return e->ee_data - e->ee_info + 1;
}

unsigned int notified_(int fd, unsigned int next, bool *copied)
{
	unsigned int first, n = notified_any(fd, &first, copied);

	/* TCP tells out of turn when a packet was sent again, or is late. */
	if (is_sdp(fd))
		EQ(next, first);
	return n;
}

int expect_connected_(int fd)
{
	EQ_HEX(POLLOUT, await(fd, POLLOUT));
	EQ(0, get_int(fd, SOL_SOCKET, SO_ERROR));
	must_be_sdp(fd);
	return 0;
}

int serves_(int l, const union addr *a)
{
	int c = sock(), s;

	OK(connect_to(c, a));
	s = accept_one(l);
	send_text(c, "hi");
	recv_text(s, "hi");
	return 0;
}

int expect_reset_(int fd)
{
	char c;

	await(fd, POLLERR | POLLHUP);
	FAILS(ECONNRESET, recv(fd, &c, 1, 0));
	return 0;
}

/*
 * Tunables of the module that cases change.  What a case has left changed, by
 * failing perhaps, is put back before the next one and at the end.
 */
static struct {
	const char *word;
	int value;
} tunables[] = {
	{ "local", -1 }, { "enable", -1 }, { "fallback", -1 }, { "connect_timeout", -1 },
	{ "max_conns", -1 }, { "max_conns_user", -1 }, { "learn", -1 },
	{ "cache_timeout", -1 }, { "cache_max", -1 }, { "require_timeout", -1 },
	{ "mem_pressure", -1 }, { "mem_max", -1 }, { "shrink_after", -1 },
	{ "rcvbuf_start", -1 }, { "fin_timeout", -1 }, { "ack_timeout", -1 },
	{ "poll_usec", -1 }, { "fallback_records", -1 },
	{ "zcopy_thresh", -1 }, { "zcopy_wait", -1 }, { "zcopy_pinned", -1 },
	{ "zcopy_adverts", -1 }, { "zcopy_write", -1 },
	{ "zcopy_invalidate", -1 }, { "zcopy_adapt", -1 },
};

static int tunable(const char *word, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/sdp/%s", word);
	return open(path, flags | O_CLOEXEC);
}

static int get_tunable(const char *word)
{
	int fd = tunable(word, O_RDONLY);
	char text[16];
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? atoi(text) : -1;
}

int sysctl_(const char *word, int value)
{
	int fd = OK(tunable(word, O_WRONLY)), n;
	unsigned int i;
	char text[16];

	for (i = 0; i < ARRAY_SIZE(tunables); i++)
		if (!strcmp(tunables[i].word, word))
			break;
	if (i == ARRAY_SIZE(tunables))
		FAIL("%s is not given back after a case: see tunables[]", word);
	n = snprintf(text, sizeof(text), "%d", value);
	EQ(n, write(fd, text, n));
	close(fd);
	return 0;
}

/* The ports that a socket without bind() may get; "LOW\tHIGH\n". */
static char ports[32];

static int port_range(int flags)
{
	return open("/proc/sys/net/ipv4/ip_local_port_range", flags | O_CLOEXEC);
}

static void get_ports(char text[static sizeof(ports)])
{
	int fd = port_range(O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(ports) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
}

static int set_ports(const char *text)
{
	int fd = OK(port_range(O_WRONLY));

	EQ((ssize_t)strlen(text), write(fd, text, strlen(text)));
	close(fd);
	return 0;
}

int ports_(int low, int high)
{
	char text[sizeof(ports)];

	snprintf(text, sizeof(text), "%d\t%d\n", low, high);
	return set_ports(text);
}

void variant_init(void)
{
	unsigned int i;

	get_ports(ports);
	for (i = 0; i < ARRAY_SIZE(tunables); i++)
		tunables[i].value = get_tunable(tunables[i].word);
}

void variant_exit(void)
{
	char now[sizeof(ports)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tunables); i++)
		if (tunables[i].value >= 0 &&
		    get_tunable(tunables[i].word) != tunables[i].value)
			sysctl(tunables[i].word, tunables[i].value);
	get_ports(now);
	if (ports[0] && strcmp(now, ports))
		CALL(set_ports(ports));
}

void variant_choose(unsigned int n)
{
	variant = &variants[n];
	variant_exit();
	if (get_tunable("local") >= 0)
		sysctl("local", on_join());
	/* Many cases count what is lent; those of it, and the storm, set it. */
	if (get_tunable("zcopy_adapt") > 0)
		sysctl("zcopy_adapt", 0);
}
