// SPDX-License-Identifier: GPL-2.0
/*
 * sdpstat: what runs over SDP here, and how much.
 *
 * Sockets come from the kernel by NETLINK_SOCK_DIAG, family AF_INET_SDP (see
 * uapi/linux/sdp.h); the processes that hold them are found by the socket's
 * inode in /proc/PID/fd, as far as the caller may look there.  Counters come
 * from /proc/net/sdpstat and need no knowledge here: a line is name, value,
 * help.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sdp.h>

#define COUNTERS "/proc/net/sdpstat"
#define NOT_LOADED "the kernel module af_sdp is not loaded (modprobe af_sdp)"

static const char usage[] =
"Usage: sdpstat [-l | -a | -f] [-n] [--json]\n"
"       sdpstat -s [--json]\n"
"       sdpstat -i SECONDS [COUNT] [--json]\n"
"List the SDP sockets of this network namespace, or its SDP counters.\n"
"\n"
"  -l, --listening   listening sockets only\n"
"  -a, --all         listening sockets too\n"
"  -f, --fallback    connections that TCP took over, and why; no process holds\n"
"                    one that is closed\n"
"  -n, --numeric     numbers, no names: always so, accepted for habit's sake\n"
"  -s, --statistics  counters since the module was loaded\n"
"  -i, --interval    every SECONDS what the counters gained or lost, COUNT times\n"
"                    or for ever; what did not change is left out\n"
"      --json        one JSON value for each answer\n"
"      --help        this text\n"
"      --version     the version\n"
"\n"
"Columns: In-Q are bytes arrived and not yet read (of a listener: connections\n"
"not yet accepted), Out-Q bytes accepted and not yet acknowledged (of a\n"
"listener: its backlog), Mode the flow-control modes of the sending and the\n"
"receiving half, or local of what is joined inside this host, Reason why a\n"
"connection is not SDP, Credits the messages that may be sent now.\n";

static const char *const state_name[] = {
#define STATE_NAME(state) #state,
	SDP_STATES(STATE_NAME)
};

static const char *const reason_name[] = {
#define REASON_NAME(name, word, help) word,
	SDP_REASONS(REASON_NAME)
};

static const char *const transport_name[] = { "none", "ib", "tcp", "local" };
static const char *const mode_name[] = { "buffered", "combined", "pipelined" };

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define NAME(table, n) ((n) < ARRAY_SIZE(table) ? (table)[n] : "?")

/* A process that holds a socket. */
struct user {
	struct user *next;
	long pid;
	char name[64];		/* anything at all, as the process pleases */
};

struct entry {
	struct sdp_diag_msg m;
	struct user *users, *last_user;		/* NULL if unknown */
};

static struct entry *entries;
static size_t nr_entries;

static void __attribute__((format(printf, 1, 2), noreturn))
die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("sdpstat: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* What could not be written was not said: 1 and no success. */
static int written(void)
{
	if (fflush(stdout) || ferror(stdout))
		die("cannot write to standard output: %s", strerror(errno));
	return 0;
}

static void *need(void *p)
{
	if (!p)
		die("out of memory");
	return p;
}

/* ------------------------------------------------------------ from the kernel */

static void add_entry(const void *data, size_t len)
{
	struct entry *e;

	entries = need(realloc(entries, (nr_entries + 1) * sizeof(*entries)));
	e = &entries[nr_entries++];
	/* A newer kernel's message is longer, an older one's shorter. */
	memset(e, 0, sizeof(*e));
	memcpy(&e->m, data, len < sizeof(e->m) ? len : sizeof(e->m));
	e->m.sdm_info.sdpi_device[sizeof(e->m.sdm_info.sdpi_device) - 1] = '\0';
}

/* One answer; true if it was the last. */
static bool take(const struct nlmsghdr *nlh, size_t len)
{
	const struct nlmsgerr *err;

	for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
		if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
			fputs("sdpstat: note: sockets came or went meanwhile, the list may lack some\n",
			      stderr);
		switch (nlh->nlmsg_type) {
		case NLMSG_DONE:
			return true;
		case NLMSG_ERROR:
			err = NLMSG_DATA(nlh);
			if (err->error == -ENOENT)
				die(NOT_LOADED);
			die("sock_diag: %s", strerror(-err->error));
		case SOCK_DIAG_BY_FAMILY:
			add_entry(NLMSG_DATA(nlh), NLMSG_PAYLOAD(nlh, 0));
			break;
		}
	}
	return false;
}

static void dump(__u16 what, __u32 states)
{
	struct {
		struct nlmsghdr nlh;
		struct sdp_diag_req req;
	} msg = {
		.nlh = {
			.nlmsg_len = sizeof(msg),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			.nlmsg_seq = 1,
		},
		.req = {
			.sdiag_family = AF_INET_SDP,
			.sdr_what = what,
			.sdr_states = states,
		},
	};
	static union {
		struct nlmsghdr nlh;
		char bytes[32768];
	} buf;
	ssize_t n;
	int fd;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		die("this kernel has no sock_diag: %s", strerror(errno));
	if (send(fd, &msg, sizeof(msg), 0) != sizeof(msg))
		die("sock_diag: %s", strerror(errno));
	for (;;) {
		n = recv(fd, &buf, sizeof(buf), MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("sock_diag: %s", strerror(errno));
		if ((size_t)n > sizeof(buf))
			die("sock_diag: an answer of %zd bytes", n);
		if (take(&buf.nlh, n))
			break;
	}
	close(fd);
}

/* ------------------------------------------------------------------ processes */

static int by_inode(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->m.sdm_inode < y->m.sdm_inode ? -1 :
	       x->m.sdm_inode > y->m.sdm_inode;
}

static void add_user(struct entry *e, long pid)
{
	struct user *user = need(calloc(1, sizeof(*user)));
	char path[PATH_MAX], *nl;
	FILE *f;

	strcpy(user->name, "?");
	user->pid = pid;
	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	f = fopen(path, "re");
	if (f) {
		if (fgets(user->name, sizeof(user->name), f)) {
			nl = strchr(user->name, '\n');
			if (nl)
				*nl = '\0';
		}
		fclose(f);
	}
	if (e->users)
		e->last_user->next = user;
	else
		e->users = user;
	e->last_user = user;
}

/* The process holds the socket @link, which is "socket:[inode]". */
static void match(const char *link, long pid)
{
	struct entry *e, *end = entries + nr_entries, key = { };
	unsigned long long inode;

	if (sscanf(link, "socket:[%llu]", &inode) != 1 || !inode)
		return;
	key.m.sdm_inode = inode;
	e = bsearch(&key, entries, nr_entries, sizeof(*entries), by_inode);
	if (!e || e >= end)
		return;
	/* A process may hold it by several descriptors: these come in a row. */
	if (!e->users || e->last_user->pid != pid)
		add_user(e, pid);
}

static void find_users(void)
{
	char path[PATH_MAX], link[64];
	struct dirent *p, *d;
	DIR *proc, *fds;
	ssize_t n;

	qsort(entries, nr_entries, sizeof(*entries), by_inode);
	proc = opendir("/proc");
	if (!proc)
		return;
	while ((p = readdir(proc))) {
		if (!isdigit((unsigned char)p->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fd", p->d_name);
		fds = opendir(path);
		if (!fds)
			continue;
		while ((d = readdir(fds))) {
			n = readlinkat(dirfd(fds), d->d_name, link,
				       sizeof(link) - 1);
			if (n < 0)
				continue;
			link[n] = '\0';
			match(link, atol(p->d_name));
		}
		closedir(fds);
	}
	closedir(proc);
}

/* -------------------------------------------------------------------- sockets */

static bool is_mapped(const __u8 addr[16])
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(addr, mapped, sizeof(mapped));
}

static const char *address(const struct sdp_diag_msg *m, const __u8 addr[16],
			   char text[INET6_ADDRSTRLEN])
{
	bool v4 = m->sdm_family == AF_INET && is_mapped(addr);

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? addr + 12 : addr, text,
		  INET6_ADDRSTRLEN);
	return text;
}

static const char *endpoint(const struct sdp_diag_msg *m,
			    const __u8 addr[16], __u16 port,
			    char text[INET6_ADDRSTRLEN + 8])
{
	char a[INET6_ADDRSTRLEN], p[8];

	address(m, addr, a);
	snprintf(p, sizeof(p), "%u", ntohs(port));
	snprintf(text, INET6_ADDRSTRLEN + 8, strchr(a, ':') ? "[%s]:%s" :
		 "%s:%s", a, port ? p : "*");
	return text;
}

static const char *state(const struct sdp_diag_msg *m)
{
	return m->sdm_state == SDP_DIAG_LISTEN ? "LISTEN" :
	       m->sdm_state == SDP_DIAG_FALLBACK ? "TCP" :
	       NAME(state_name, m->sdm_state);
}

static const char *age(const struct sdp_diag_msg *m, char text[32])
{
	snprintf(text, 32, "%u s ago", m->sdm_age);
	return text;
}

static int by_state_and_port(const void *a, const void *b)
{
	const struct sdp_diag_msg *x = &((const struct entry *)a)->m;
	const struct sdp_diag_msg *y = &((const struct entry *)b)->m;

	if (x->sdm_state != y->sdm_state)
		return y->sdm_state - x->sdm_state;
	if (x->sdm_sport != y->sdm_sport)
		return ntohs(x->sdm_sport) - ntohs(y->sdm_sport);
	return ntohs(x->sdm_dport) - ntohs(y->sdm_dport);
}

/*
 * How many bytes the character at @s has in UTF-8; 0 if it is none, as in the name of
 * a process, which may be anything and is cut after 15 bytes.
 */
static size_t utf8_length(const char *s)
{
	const unsigned char *b = (const unsigned char *)s;
	size_t i, n;

	if (b[0] < 0x80)
		return 1;
	n = b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
	for (i = 1; i < n; i++)
		if ((b[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than it needs to be, half of a pair, beyond the last. */
	if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] >= 0xa0) ||
	    (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] >= 0x90))
		return 0;
	return n;
}

/* Whether the character would tell a terminal to do something. */
static bool is_control(const char *s)
{
	unsigned char first = s[0], next = s[1];

	return first < 0x20 || first == 0x7f || (first == 0xc2 && next < 0xa0);
}

static void print_name(const char *s)
{
	size_t n;

	for (; *s; s += n ?: 1) {
		n = utf8_length(s);
		if (!n || is_control(s))
			putchar('?');
		else
			fwrite(s, n, 1, stdout);
	}
}

static void print_users(const struct user *user)
{
	if (!user)
		putchar('-');
	for (; user; user = user->next) {
		print_name(user->name);
		printf("/%ld%s", user->pid, user->next ? "," : "");
	}
	putchar('\n');
}

static void print_sockets(void)
{
	char local[INET6_ADDRSTRLEN + 8], peer[INET6_ADDRSTRLEN + 8];
	const struct sdp_diag_msg *m;
	const struct sdp_info *info;
	char modes[32];
	bool listens;
	size_t i;

	printf("%-12s %8s %8s %-24s %-24s %-19s %-10s %7s %-8s %s\n", "State",
	       "In-Q", "Out-Q", "Local", "Peer", "Mode", "Reason", "Credits",
	       "Device", "Process");
	for (i = 0; i < nr_entries; i++) {
		m = &entries[i].m;
		info = &m->sdm_info;
		listens = m->sdm_state == SDP_DIAG_LISTEN;
		snprintf(modes, sizeof(modes), "%s/%s",
			 NAME(mode_name, info->sdpi_mode_send),
			 NAME(mode_name, info->sdpi_mode_recv));
		printf("%-12s %8u %8u %-24s %-24s ", state(m),
		       listens ? m->sdm_acceptq : info->sdpi_inq,
		       listens ? m->sdm_backlog : info->sdpi_outq,
		       endpoint(m, m->sdm_saddr, m->sdm_sport, local),
		       listens ? "*" :
		       endpoint(m, m->sdm_daddr, m->sdm_dport, peer));
		if (listens)
			printf("%-19s %-10s %7s %-8s ", "-", "-", "-", "-");
		else if (m->sdm_state == SDP_DIAG_FALLBACK)
			printf("%-19s %-10s %7s %-8s ", age(m, modes),
			       NAME(reason_name, info->sdpi_reason), "-", "-");
		else if (info->sdpi_transport == SDP_TRANSPORT_LOCAL)
			printf("%-19s %-10s %7s %-8s ", "local", "-", "-", "-");
		else
			printf("%-19s %-10s %7u %-8s ", modes,
			       NAME(reason_name, info->sdpi_reason),
			       info->sdpi_credits,
			       info->sdpi_device[0] ? info->sdpi_device : "-");
		print_users(entries[i].users);
	}
}

static void json_string(const char *s)
{
	size_t n;

	putchar('"');
	for (; *s; s += n ?: 1) {
		n = utf8_length(s);
		if (!n)
			fputs("\\ufffd", stdout);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (is_control(s))
			printf("\\u%04x", (unsigned char)s[n - 1]);
		else
			fwrite(s, n, 1, stdout);
	}
	putchar('"');
}

static void json_users(const struct user *user)
{
	fputs(",\"processes\":[", stdout);
	for (; user; user = user->next) {
		fputs("{\"name\":", stdout);
		json_string(user->name);
		printf(",\"pid\":%ld}%s", user->pid, user->next ? "," : "");
	}
	putchar(']');
}

static void json_socket(const struct entry *e)
{
	const struct sdp_diag_msg *m = &e->m;
	const struct sdp_info *info = &m->sdm_info;
	char a[INET6_ADDRSTRLEN];

	printf("{\"state\":\"%s\",\"family\":\"%s\",\"local\":\"%s\",\"local_port\":%u",
	       state(m), m->sdm_family == AF_INET ? "ipv4" : "ipv6",
	       address(m, m->sdm_saddr, a), ntohs(m->sdm_sport));
	printf(",\"door3\":%s,\"uid\":%u,\"inode\":%llu",
	       m->sdm_ulp ? "true" : "false", m->sdm_uid,
	       (unsigned long long)m->sdm_inode);
	json_users(e->users);
	if (m->sdm_state == SDP_DIAG_LISTEN) {
		printf(",\"backlog\":%u,\"acceptq\":%u}", m->sdm_backlog,
		       m->sdm_acceptq);
		return;
	}
	printf(",\"peer\":\"%s\",\"peer_port\":%u",
	       address(m, m->sdm_daddr, a), ntohs(m->sdm_dport));
	printf(",\"transport\":\"%s\",\"reason\":\"%s\",\"mode_send\":\"%s\",\"mode_recv\":\"%s\"",
	       NAME(transport_name, info->sdpi_transport),
	       NAME(reason_name, info->sdpi_reason),
	       NAME(mode_name, info->sdpi_mode_send),
	       NAME(mode_name, info->sdpi_mode_recv));
	if (m->sdm_state == SDP_DIAG_FALLBACK) {
		printf(",\"age\":%u}", m->sdm_age);
		return;
	}
	fputs(",\"device\":", stdout);
	json_string(info->sdpi_device);
	printf(",\"port_num\":%u,\"credits\":%u,\"id\":%u,\"snd_size\":%u,\"rcv_size\":%u,\"posted\":%u,\"peer_bufs\":%u",
	       info->sdpi_port_num, info->sdpi_credits, info->sdpi_id,
	       info->sdpi_snd_size, info->sdpi_rcv_size, info->sdpi_posted,
	       info->sdpi_peer_bufs);
	printf(",\"qp_num\":%u,\"peer_qp_num\":%u,\"inq\":%u,\"outq\":%u",
	       info->sdpi_qp_num, info->sdpi_peer_qp_num, info->sdpi_inq,
	       info->sdpi_outq);
	printf(",\"bytes_sent\":%llu,\"bytes_received\":%llu,\"msgs_sent\":%llu,\"msgs_received\":%llu,\"mem\":%llu",
	       (unsigned long long)info->sdpi_bytes_sent,
	       (unsigned long long)info->sdpi_bytes_received,
	       (unsigned long long)info->sdpi_msgs_sent,
	       (unsigned long long)info->sdpi_msgs_received,
	       (unsigned long long)info->sdpi_mem);
	printf(",\"bytes_lent\":%llu,\"bytes_fetched\":%llu,\"bytes_taken\":%llu,\"bytes_written\":%llu,\"bytes_filled\":%llu,\"adverts_out\":%u,\"adverts_held\":%u}",
	       (unsigned long long)info->sdpi_bytes_lent,
	       (unsigned long long)info->sdpi_bytes_fetched,
	       (unsigned long long)info->sdpi_bytes_taken,
	       (unsigned long long)info->sdpi_bytes_written,
	       (unsigned long long)info->sdpi_bytes_filled,
	       info->sdpi_adverts_out, info->sdpi_adverts_held);
}

static void sockets(__u16 what, __u32 states, bool json)
{
	size_t i;

	dump(what, states);
	find_users();
	qsort(entries, nr_entries, sizeof(*entries), by_state_and_port);
	if (!json) {
		print_sockets();
		return;
	}
	putchar('[');
	for (i = 0; i < nr_entries; i++) {
		if (i)
			fputs(",\n ", stdout);
		json_socket(&entries[i]);
	}
	puts("]");
}

/* ------------------------------------------------------------------- counters */

struct counter {
	char name[32];
	unsigned long long value;
	char help[128];
};

struct counters {
	struct counter c[256];
	size_t n;
};

static void read_counters(struct counters *all)
{
	FILE *f = fopen(COUNTERS, "re");
	char line[256];

	if (!f && errno == ENOENT)
		die(NOT_LOADED);
	if (!f)
		die(COUNTERS ": %s", strerror(errno));
	all->n = 0;
	while (all->n < ARRAY_SIZE(all->c) &&
	       fgets(line, sizeof(line), f)) {
		struct counter *c = &all->c[all->n];

		c->help[0] = '\0';
		if (sscanf(line, "%31s %llu %127[^\n]", c->name, &c->value,
			   c->help) >= 2)
			all->n++;
	}
	fclose(f);
}

static void print_counters(const struct counters *all, bool json)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		const struct counter *c = &all->c[i];

		if (json)
			printf("%s\"%s\":%llu", i ? "," : "{", c->name, c->value);
		else
			printf("%-20s %20llu  %s\n", c->name, c->value, c->help);
	}
	if (json)
		puts(all->n ? "}" : "{}");
}

static unsigned long long value_of(const struct counters *all, size_t guess,
				   const char *name)
{
	size_t i;

	if (guess < all->n && !strcmp(all->c[guess].name, name))
		return all->c[guess].value;
	for (i = 0; i < all->n; i++)
		if (!strcmp(all->c[i].name, name))
			return all->c[i].value;
	return 0;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Some are gauges, which fall, and all fall when the module is loaded anew. */
static void print_difference(const struct counters *old,
			     const struct counters *new, double seconds,
			     bool json)
{
	bool any = false;
	size_t i;

	if (json)
		printf("{\"seconds\":%.3f", seconds);
	else
		printf("in %.1f s:\n", seconds);
	for (i = 0; i < new->n; i++) {
		const struct counter *c = &new->c[i];
		long long d = c->value - value_of(old, i, c->name);

		if (json)
			printf(",\"%s\":%lld", c->name, d);
		else if (d)
			printf("  %-20s %16lld %14.1f/s  %s\n", c->name, d,
			       d / seconds, c->help);
		any |= d != 0;
	}
	if (json)
		puts("}");
	else if (!any)
		puts("  nothing");
}

static void watch(double seconds, unsigned long count, bool json)
{
	static struct counters look[2];
	struct timespec ts = {
		.tv_sec = seconds,
		.tv_nsec = (seconds - (time_t)seconds) * 1e9,
	};
	unsigned long i;
	double then, t;

	read_counters(&look[0]);
	then = now();
	for (i = 1; !count || i <= count; i++) {
		nanosleep(&ts, NULL);
		read_counters(&look[i % 2]);
		t = now();
		print_difference(&look[(i - 1) % 2], &look[i % 2], t - then,
				 json);
		written();
		then = t;
	}
}

/* ----------------------------------------------------------------------- main */

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "listening", no_argument, NULL, 'l' },
		{ "all", no_argument, NULL, 'a' },
		{ "fallback", no_argument, NULL, 'f' },
		{ "numeric", no_argument, NULL, 'n' },
		{ "statistics", no_argument, NULL, 's' },
		{ "interval", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	const __u32 listening = 1U << 31;
	static struct counters all;
	__u16 what = SDP_DIAG_SOCKETS;
	__u32 states = ~listening;
	bool stat = false, json = false;
	unsigned long count = 0;
	double seconds = 0;
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "lafnsi:hV", options, NULL)) != -1) {
		switch (c) {
		case 'l':
			states = listening;
			break;
		case 'a':
			states = 0;
			break;
		case 'f':
			what = SDP_DIAG_FALLBACKS;
			break;
		case 'n':
			break;
		case 's':
			stat = true;
			break;
		case 'i':
			seconds = strtod(optarg, &end);
			if (*end || !(seconds >= 0.01 && seconds <= 1e6))
				die("-i %s: not a number of seconds", optarg);
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return written();
		case 'V':
			puts("sdpstat (AF_SDP) " SDP_VERSION);
			return written();
		default:
			fputs("Try 'sdpstat --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc && seconds) {
		count = strtoul(argv[optind], &end, 10);
		if (*end || !count)
			die("%s: not a count", argv[optind]);
		optind++;
	}
	if (optind < argc) {
		fprintf(stderr, "sdpstat: %s: too much\nTry 'sdpstat --help'.\n",
			argv[optind]);
		return 2;
	}

	if (seconds) {
		watch(seconds, count, json);
	} else if (stat) {
		read_counters(&all);
		print_counters(&all, json);
	} else {
		sockets(what, states, json);
	}
	return written();
}
