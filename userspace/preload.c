// SPDX-License-Identifier: LGPL-2.1
/*
 * libsdp_preload.so: lets an unmodified program speak SDP.
 *
 * An AF_SDP socket is a TCP socket with our object in its upper-layer-protocol
 * slot, so a program's own socket can be turned into one at the last moment: in
 * connect(), when the destination is known, and in listen(), when the local
 * address is.  These are the two functions replaced here; bind() need not be,
 * since listen() learns from getsockname() what it did, and an address that is
 * bound without listening decides nothing.  Each fills the slot with
 * setsockopt(TCP_ULP) and then calls the function it replaces; the descriptor,
 * its options and its bind stay the program's.  There is no second socket, no
 * table of descriptors and nothing to follow through dup(), fork() or exec().
 *
 * What decides, in this order:
 *
 *   1. What is not TCP, and sockets that are connected or connecting or have
 *	another upper-layer protocol: never touched.
 *   2. SDP_PRELOAD=off in the environment: nothing is touched, no rule is read.
 *   3. The first rule of sdp.conf(5) that matches (rules.h).  "both" fills the
 *	slot: where that fails the socket stays TCP, and so does, by the module's
 *	doing, a connection that cannot go by SDP.  "sdp" fills it and clears
 *	SDP_FALLBACK, so that what would be TCP is an error: connect() fails
 *	(ENETUNREACH if the module is not there), listen() too (EOPNOTSUPP), and
 *	a listener resets plain TCP clients.  "tcp" leaves the socket alone.
 *	If no rule matches, or there are no rules, it is "both".
 *   4. SDP_PRELOAD=require makes "sdp" of every "both".  "tcp" stays: what is
 *	written down as an exception is one.
 *
 * 127.0.0.0/8 and ::1, and as destinations 0.0.0.0 and ::, which lead there, are as
 * other addresses.  No RDMA device reaches them, and the module joins the two sockets
 * inside this host instead, if net.sdp.local is 1.  If it is not there is nothing that
 * "sdp" could insist on, and "sdp" is as "both" for them: they are TCP's.
 *
 * A slot that is filled already (a program that did so itself, or one that uses
 * its socket for another destination after a connect() by "sdp" that failed) stays
 * filled; "both" does not take an SDP_FALLBACK of 0 back, "tcp" does not empty the
 * slot.  A connect() by "both" that failed was TCP's in the end and left the slot
 * empty: the rules are asked anew.
 *
 * connect() and listen() are async-signal-safe and are called between vfork()
 * and exec(), so nothing here locks or allocates once the constructor has run:
 * that reads the rules and looks their host names up, once for the life of the
 * process and its forks; exec() reads them anew.  The look-ups call connect()
 * themselves: until the rules are there, every socket is left alone.
 *
 * A library that is loaded with RTLD_DEEPBIND, as each extension of PHP is, would have
 * its calls bound to the C library's, past those here.  So dlopen() is replaced too,
 * and takes that flag away.  What dlmopen() loads into a namespace of its own, has a C
 * library of its own, and stays TCP.
 *
 * Programs that gained privileges do not listen to the environment.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "preload_log.h"
#include "rules.h"

/*
 * The two replacements go by names of their own in C, since the C library
 * declares connect() in ways that differ with the compiler.
 */
int preload_connect(int fd, const struct sockaddr *addr, socklen_t len)
	__asm__("connect") __attribute__((visibility("default")));
int preload_listen(int fd, int backlog)
	__asm__("listen") __attribute__((visibility("default")));
void *preload_dlopen(const char *file, int mode)
	__asm__("dlopen") __attribute__((visibility("default")));

/* The kernel takes an IPv6 address without its scope id (RFC 2133). */
#define SIN6_LEN_MIN	offsetof(struct sockaddr_in6, sin6_scope_id)

enum outcome {
	FOREIGN,	/* not TCP: none of our business */
	UNTOUCHED,	/* TCP will do */
	ATTACHED,
	ALREADY,	/* was attached before */
	MISSING,	/* SDP or an error, and the module is not there */
	IMPOSSIBLE,	/* SDP or an error, and the socket cannot have it */
};

typedef int (*connect_fn)(int fd, const struct sockaddr *addr, socklen_t len);
typedef int (*listen_fn)(int fd, int backlog);
typedef void *(*dlopen_fn)(const char *file, int mode);

static _Atomic connect_fn next_connect;
static _Atomic listen_fn next_listen;
static _Atomic dlopen_fn next_dlopen;

/* Written by start() alone, read once the phase is READY. */
static struct {
	bool off, require;
	struct rules *rules;		/* or NULL */
	const char *path;		/* of the rules */
	const char *program;		/* name without path */
	struct message problem;		/* why the file is not read, or empty */
} self;

enum { NEW, BUSY, READY };

static atomic_int phase = NEW;

/*
 * The next definition after this library: the C library's, or that of another
 * preloaded library.  Two threads that look at once find the same.
 */
static connect_fn real_connect(void)
{
	connect_fn fn = atomic_load(&next_connect);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "connect");
		atomic_store(&next_connect, fn);
	}
	return fn;
}

static listen_fn real_listen(void)
{
	listen_fn fn = atomic_load(&next_listen);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "listen");
		atomic_store(&next_listen, fn);
	}
	return fn;
}

static dlopen_fn real_dlopen(void)
{
	dlopen_fn fn = atomic_load(&next_dlopen);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "dlopen");
		atomic_store(&next_dlopen, fn);
	}
	return fn;
}

static void read_rules(void)
{
	struct message *m = &self.problem;
	const char *variable, *path = rules_path(&variable);
	int err;

	/* The program may change its environment. */
	self.path = strdup(path);
	if (!self.path)
		self.path = "sdp.conf";
	err = rules_read(path, &self.rules);
	if (!err) {
		log_init(&self.rules->log, self.program);
		if (!rules_resolve(self.rules, self.program))
			err = -ENOMEM;
	}
	/* The usual file need not be there. */
	if (!err || (!variable && (err == -ENOENT || err == -ENOTDIR)))
		return;
	if (variable) {
		log_str(m, variable);
		log_str(m, "=");
	}
	log_str(m, self.path);
	log_str(m, ": ");
	log_str(m, err == -EINVAL ? "not a regular file" : strerror(-err));
	log_str(m, self.rules ? ": host names are left out" :
				": going on without rules");
}

/*
 * Called by the constructor; by connect() or listen() if another library's
 * constructor is earlier.  Whoever comes while it is at work finds BUSY.
 */
static __attribute__((constructor)) void start(void)
{
	const char *word;
	int err = errno;
	int old = NEW;

	if (!atomic_compare_exchange_strong(&phase, &old, BUSY))
		return;
	real_connect();
	real_listen();
	word = secure_getenv("SDP_PRELOAD");
	self.off = word && !strcmp(word, "off");
	self.require = word && !strcmp(word, "require");
	if (!self.off) {
		self.program = strdup(program_invocation_short_name);
		if (!self.program)
			self.program = "";
		log_init(&(struct rules_log){ .min_level = RULES_LEVEL_ERROR },
			 self.program);
		read_rules();
	}
	atomic_store(&phase, READY);
	errno = err;
}

/* Whether sockets are to be looked at. */
static bool awake(void)
{
	if (atomic_load(&phase) == NEW)
		start();
	return atomic_load(&phase) == READY && !self.off;
}

/*
 * The program's address may point nowhere, which the kernel answers by EFAULT
 * and we would by a crash.  rt_sigprocmask() reads eight bytes before it finds
 * that the first argument makes no sense.
 */
static bool readable(const void *p)
{
	return p && !(syscall(SYS_rt_sigprocmask, -1, p, NULL, 8) < 0 &&
		      errno == EFAULT);
}

/* Whether @size bytes lie in one page, of the smallest ones there are. */
static bool in_one_page(const void *p, size_t size)
{
	return ((uintptr_t)p ^ ((uintptr_t)p + size - 1)) < 4096;
}

/* Whether @addr can be read, and is of the Internet; it becomes @end. */
static bool is_internet(struct rules_end *end, const struct sockaddr *addr,
			socklen_t len)
{
	if (len < sizeof(struct sockaddr_in) ||
	    len > sizeof(struct sockaddr_storage) || !readable(addr))
		return false;
	if (addr->sa_family == AF_INET6 &&
	    (len < SIN6_LEN_MIN ||
	     (!in_one_page(addr, SIN6_LEN_MIN) &&
	      !readable((const char *)addr + SIN6_LEN_MIN - 8))))
		return false;
	return rules_end(end, addr);
}

/* Whether @fd has an address of the Internet, which becomes @end. */
static bool is_bound(struct rules_end *end, int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return !getsockname(fd, (struct sockaddr *)&ss, &len) &&
	       rules_end(end, (struct sockaddr *)&ss);
}

static bool is_tcp(int fd)
{
	int proto;
	socklen_t len = sizeof(proto);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &proto, &len) &&
	       proto == IPPROTO_TCP;
}

/* Whether our name stands in the slot of @fd. */
static bool is_sdp(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name) - 1;

	return !getsockopt(fd, SOL_TCP, TCP_ULP, name, &len) &&
	       !strcmp(name, SDP_ULP_NAME);
}

/* Whether @fd is neither connected nor connecting nor listening. */
static bool is_fresh(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return !getsockopt(fd, SOL_TCP, TCP_INFO, &info, &len) &&
	       info.tcpi_state == TCP_CLOSE;
}

static int set_ulp(int fd)
{
	return setsockopt(fd, SOL_TCP, TCP_ULP, SDP_ULP_NAME,
			  strlen(SDP_ULP_NAME)) ? errno : 0;
}

/* Seconds of a clock that begins with 1. */
static long seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + 1;
}

/* Seconds until the kernel is asked again for a module that was not there. */
#define ASK_AGAIN	5

/*
 * Fills the slot.  Return: 0 or an errno.
 *
 * Where the module is not loaded, opening a socket of protocol IPPROTO_SDP loads it
 * for any user, which TCP_ULP does for privileged ones only.  Either has the kernel
 * run modprobe, in vain where there is no module, and so neither is asked again for
 * a while: not by this process, nor by those it forks, which know what it knew.
 * Threads that find it missing at once each ask, since who did not wait for the
 * answer would go by TCP.
 */
static int fill_slot(int fd)
{
	/* When it was found missing; 0: never. */
	static atomic_long missing;
	long last = atomic_load(&missing);
	int err, asked;

	if (last && seconds() - last < ASK_AGAIN)
		return ENOENT;
	err = set_ulp(fd);
	if (err != ENOENT)
		return err;
	asked = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SDP);
	if (asked >= 0)
		close(asked);
	/* Without a descriptor to spare it may be loaded all the same. */
	if (asked >= 0 || (errno != EPROTONOSUPPORT && errno != ESOCKTNOSUPPORT))
		err = set_ulp(fd);
	if (err == ENOENT)
		atomic_store(&missing, seconds());
	return err;
}

/* Whether TCP is all that there is for @end, and so no error either. */
static bool is_tcp_only(enum rules_role role, const struct rules_end *end)
{
	return rules_is_loopback(role, &end->addr) && !rules_host_joins();
}

/*
 * @must: SDP or an error, where there is SDP.
 *
 * A socket that is connected, connecting or listening is asked as well: the module
 * refuses, and leaves it as it was.
 *
 * Of all that has an Internet address only TCP has such a slot, so what takes our
 * protocol is TCP, and need not be asked.  What does not may be anything: MPTCP and SMC
 * answer for the TCP that they are made of.
 */
static enum outcome attach(int fd, bool must, enum rules_role role,
			   const struct rules_end *end)
{
	int err = fill_slot(fd);
	int no = 0;

	if (err && !is_tcp(fd))
		return FOREIGN;
	/* Asked when the module has been loaded, if it can be. */
	must = must && !is_tcp_only(role, end);
	if (!err || (err == EEXIST && is_sdp(fd))) {
		/* EISCONN: connecting already, and not for the first time */
		if (must &&
		    setsockopt(fd, SOL_SDP, SDP_FALLBACK, &no, sizeof(no)) &&
		    errno != EISCONN)
			return IMPOSSIBLE;
		return err ? ALREADY : ATTACHED;
	}
	if (!must)
		return UNTOUCHED;

	switch (err) {
	case EOPNOTSUPP:	/* another thread connected it, or made it listen */
	case EISCONN:
	case EEXIST:		/* another protocol in the slot, or busy as TCP */
		return UNTOUCHED;
	case ENOENT:
	case ENOPROTOOPT:	/* a kernel without TCP_ULP */
		return is_fresh(fd) ? MISSING : UNTOUCHED;
	default:
		return is_fresh(fd) ? IMPOSSIBLE : UNTOUCHED;
	}
}

/* ------------------------------------------------------------------- messages */

/* More errors than this are for sdp_run --check-config. */
#define ERRORS_SAID	10

static void log_place(struct message *m, unsigned int line)
{
	log_str(m, self.path);
	log_str(m, ":");
	log_number(m, line);
}

static void say_note(const struct rules_note *note)
{
	struct message m = { };

	log_place(&m, note->line);
	log_str(&m, ":");
	log_number(&m, note->column);
	log_str(&m, ": ");
	log_str(&m, note->text);
	log_send(note->error ? RULES_LEVEL_ERROR : RULES_LEVEL_WARNING, &m);
}

/*
 * What is wrong with the rules, once, and when they matter for the first time:
 * programs that open no connection have nothing to say.
 */
static void say_problems(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	const struct rules *rules = self.rules;
	size_t i, errors = 0;
	struct message m;

	if (atomic_flag_test_and_set(&said))
		return;
	m = self.problem;
	if (m.len)
		log_send(RULES_LEVEL_ERROR, &m);
	for (i = 0; rules && i < rules->nr_notes; i++) {
		if (rules->note[i].error && errors++ >= ERRORS_SAID)
			continue;
		say_note(&rules->note[i]);
	}
	if (errors <= ERRORS_SAID)
		return;
	m.len = 0;
	log_str(&m, self.path);
	log_str(&m, ": more errors, ");
	log_number(&m, errors);
	log_str(&m, " in all: sdp_run --check-config shows them");
	log_send(RULES_LEVEL_ERROR, &m);
}

static void log_call(struct message *m, enum rules_role role,
		     const struct rules_end *end)
{
	log_str(m, role == RULES_CLIENT ? "connect " : "listen ");
	log_end(m, end);
	log_str(m, ": ");
}

/* For who debugs his rules: each one that was asked. */
static void say_search(enum rules_role role, const struct rules_end *end)
{
	enum rules_miss miss;
	struct message m;
	size_t i;

	for (i = 0; self.rules && i < self.rules->nr_rules; i++) {
		const struct rule *rule = &self.rules->rule[i];

		miss = rules_miss(rule, role, self.program, end);
		m.len = 0;
		log_call(&m, role, end);
		log_place(&m, rule->line);
		log_str(&m, ": ");
		log_str(&m, rules_miss_why(miss));
		log_str(&m, ": ");
		log_str(&m, rule->text);
		log_send(miss ? RULES_LEVEL_MISS : RULES_LEVEL_HIT, &m);
		if (!miss)
			break;
	}
}

static void say_use(enum rules_role role, const struct rules_end *end,
		    enum rules_use use, const struct rule *rule,
		    enum outcome out)
{
	struct message m = { };

	log_call(&m, role, end);
	log_str(&m, rules_use_word(use));
	if (use != RULES_TCP && out == UNTOUCHED)
		log_str(&m, ", and it is tcp: the module is not loaded or the socket not suitable");
	else if (use != RULES_TCP && is_tcp_only(role, end))
		log_str(&m, ", and it is tcp: inside this host, and net.sdp.local is 0");
	if (rule) {
		log_str(&m, ", by ");
		log_place(&m, rule->line);
	} else {
		log_str(&m, ", by no rule");
	}
	log_send(RULES_LEVEL_USE, &m);
}

/* Once: a program may try for hours. */
static void say_failure(const struct rule *rule, enum outcome out)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	struct message m = { };

	if (atomic_flag_test_and_set(&said))
		return;
	if (rule && rule->use == RULES_SDP) {
		log_place(&m, rule->line);
		log_str(&m, ": ");
		log_str(&m, rule->text);
	} else {
		log_str(&m, "SDP_PRELOAD=require");
	}
	log_str(&m, out == MISSING ?
		", but the kernel module af_sdp is not loaded (modprobe af_sdp)" :
		", but a socket of this program cannot be an SDP socket");
	log_send(RULES_LEVEL_ERROR, &m);
}

/* ------------------------------------------------------------------ the calls */

static bool decide(int fd, enum rules_role role, const struct rules_end *end)
{
	enum outcome out = UNTOUCHED;
	const struct rule *rule;
	enum rules_use use;

	use = rules_decide(self.rules, self.require, role, self.program, end,
			   &rule);
	if (use != RULES_TCP)
		out = attach(fd, use == RULES_SDP, role, end);
	else if (!is_tcp(fd))
		out = FOREIGN;
	if (out == FOREIGN)
		return true;
	say_problems();
	if (log_wants(RULES_LEVEL_USE) && out != ALREADY &&
	    (out != UNTOUCHED || is_fresh(fd))) {
		if (log_wants(RULES_LEVEL_HIT))
			say_search(role, end);
		say_use(role, end, use, rule, out);
	}
	if (out != MISSING && out != IMPOSSIBLE)
		return true;
	say_failure(rule, out);
	return false;
}

/*
 * True if the function replaced may be called; else errno is @fail.
 *
 * What this calls may end a thread that pthread_cancel() was called for, with
 * descriptors open; and listen() is no such place at all.  For glibc and musl both the
 * state is a word of the thread's own, so that handlers of signals may come here.
 */
static bool prepare(int fd, enum rules_role role, const struct rules_end *end,
		    int fail)
{
	int state;
	bool ok;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ok = decide(fd, role, end);
	pthread_setcancelstate(state, NULL);
	if (!ok)
		errno = fail;
	return ok;
}

int preload_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	connect_fn real = real_connect();
	struct rules_end end;
	int err = errno;

	if (awake()) {
		if (is_internet(&end, addr, len) &&
		    !prepare(fd, RULES_CLIENT, &end, ENETUNREACH))
			return -1;
		errno = err;
	}
	if (!real)
		return syscall(SYS_connect, fd, addr, len);
	return real(fd, addr, len);
}

int preload_listen(int fd, int backlog)
{
	listen_fn real = real_listen();
	struct rules_end end;
	int err = errno;

	if (awake()) {
		if (is_bound(&end, fd) &&
		    !prepare(fd, RULES_SERVER, &end, EOPNOTSUPP))
			return -1;
		errno = err;
	}
	if (!real)
		return syscall(SYS_listen, fd, backlog);
	return real(fd, backlog);
}

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND	0
#endif

/*
 * By whose file it is called the function replaced sees by the address it returns to,
 * and searches that one's DT_RUNPATH.  So it is jumped to and not called, also where
 * nothing else is optimised.
 */
__attribute__((optimize("O2")))
void *preload_dlopen(const char *file, int mode)
{
	dlopen_fn real = real_dlopen();

	return real(file, awake() ? mode & ~RTLD_DEEPBIND : mode);
}
