/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the socket tests share: the three ways to an SDP socket and TCP beside
 * them, addresses, calls that block in a thread, a byte pattern that is known
 * at every position.
 *
 * Helpers end the case when they fail; the macros make them name their caller.
 */
#ifndef _SDPTEST_H
#define _SDPTEST_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <linux/sdp.h>

#include "is_sdp.h"
#include "ktap.h"

union addr;

/* ------------------------------------------------------------------- sockets */

/* How a socket is made: the words of variants.def. */
enum via {
	VIA_TCP,
	VIA_FAMILY,	/* socket(27) */
	VIA_PROTO,	/* socket(AF_INET, SOCK_STREAM, 257) */
	VIA_ULP,	/* TCP_ULP */
	VIA_JOIN = VIA_ULP, /* what is to be joined is made so */
};

/* Return: enum via, or -1. */
int via_by_name(const char *name);
/* Return: a descriptor, or -1 with errno. */
int via_socket(enum via via, int family, int flags);
/* Does SDP carry what @fd sends?  Not if it is not connected, nor if it fell back. */
bool is_sdp(int fd);
/* Return: SDP_TRANSPORT_*, or -1 with errno; ENOPROTOOPT on a TCP socket. */
int transport(int fd);
/* Return: the size of SDP_INFO, or -1 with errno. */
int sdp_info(int fd, struct sdp_info *info);
/* Messages posted by SDP, of whatever kind; segments with data by TCP. */
long long messages_sent(int fd);
/* Of TCP: the peer took what it takes, and no more is sent until that is read. */
bool tcp_window_used_up(int fd);
/* One of /proc/net/sdpstat. */
unsigned long long counter(const char *name);
/*
 * Of /proc/net/sdp_peers: what it takes, and why ("tcp timeout"), or NULL if nothing is
 * written there of this address with this port (0: all of them).
 */
const char *peer_known(const union addr *a, int port);
/*
 * A socket that sock_diag answers from, @what and @states as in struct sdp_diag_req; -1
 * with errno.
 */
int diag_ask(int what, __u32 states);
/* How many connections and listeners sock_diag shows in these states, as in
 * struct sdp_diag_req; -1 with errno.
 */
int sockets_shown(__u32 states);

void nonblock(int fd, bool on);
int get_int(int fd, int level, int option);
int set_int(int fd, int level, int option, int value);
/* SO_SNDBUF and SO_RCVBUF. */
int set_bufs(int fd, int size);
int set_ms(int fd, int option, int ms);
int tcp_state(int fd);
/*
 * TCP's connections that a listener has for accept(): each counts when the last
 * packet of its handshake is there, which may be after its connect().
 */
int waiting(int l);
/* SIOCINQ, SIOCOUTQ; -1 with errno */
int inq(int fd);
int outq(int fd);
/* Data of a test is on the other side when FIONREAD says so. */
#define arrived(fd, n) EVENTUALLY(n, inq(fd))

/* ----------------------------------------------------------------- addresses */

union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage ss;
};

void addr_set(union addr *a, int family, const char *text, int port);
void addr_any(union addr *a, int family, int port);
socklen_t addr_len(const union addr *a);
int addr_port(const union addr *a);
void addr_set_port(union addr *a, int port);
bool addr_equal(const union addr *a, const union addr *b);
const char *addr_text(const union addr *a);
int name_of(int fd, union addr *a);
int peer_of(int fd, union addr *a);

/*
 * Of host "h1" or "h2", NULL for this one ($SDP_HOST): from the environment,
 * SDP_ADDR4 and SDP_ADDR6 for this host, or the rig's.
 */
const char *host_addr(int family, const char *host);

/* An address of this host's network where nobody answers: SDP_NOBODY4 or 6. */
void nobody_addr(union addr *a, int family);

/* ------------------------------------------------------------------- pattern */

void pattern_fill(void *buf, size_t len, __u64 key, __u64 pos);
/* Return: where it differs first, or -1. */
ssize_t pattern_check(const void *buf, size_t len, __u64 key, __u64 pos);

/* Sends all; @pos is the position in the stream. */
int send_pattern_(int fd, size_t len, __u64 key, __u64 pos);
/* Receives exactly @len bytes and compares. */
int recv_pattern_(int fd, size_t len, __u64 key, __u64 pos);
/* Receives until EOF; returns how many bytes came. */
long long drain_(int fd, __u64 key, __u64 pos);
/* Receives a word of up to 255 bytes that must be @text. */
int recv_text_(int fd, const char *text);
int send_text_(int fd, const char *text);
int expect_eof_(int fd);

#define send_pattern(...)	CALL(send_pattern_(__VA_ARGS__))
#define recv_pattern(...)	CALL(recv_pattern_(__VA_ARGS__))
#define drain(...)		CALL(drain_(__VA_ARGS__))
#define recv_text(...)		CALL(recv_text_(__VA_ARGS__))
#define send_text(...)		CALL(send_text_(__VA_ARGS__))
#define expect_eof(...)		CALL(expect_eof_(__VA_ARGS__))

/* ------------------------------------------------------------------- waiting */

/* poll() of one descriptor; @ms is made longer on slow machines, -1: for ever. */
int poll_one(int fd, int events, int ms);
/* Waits ten seconds for any of @events; what came. */
int await_(int fd, int events);
#define await(...)		CALL(await_(__VA_ARGS__))
/*
 * Until it is over: POLLHUP.  TCP sets the error of a refused connection first
 * and the rest after, and whoever looks in between sees POLLERR alone.
 */
int await_end_(int fd, int events);
#define await_end(...)		CALL(await_end_(__VA_ARGS__))

/* A moment in which nothing should happen. */
void settle(void);
void sleep_ms(int ms);

/*
 * A call that is to block, in a thread.  task_start() returns when the thread
 * sleeps (or has ended), task_join() when the call has returned: its value,
 * with errno set.
 */
struct task {
	void (*run)(struct task *t);
	int fd;
	int other;		/* a pipe, a file */
	void *buf;
	size_t len;
	int flags;
	int events;
	const union addr *addr;

	long long ret;
	int err;
	long long ms;		/* how long the call took */
	pthread_t thread;
	atomic_int tid;
	atomic_bool done;
};

void task_recv(struct task *t);
void task_send(struct task *t);		/* once */
void task_send_all(struct task *t);	/* all of the pattern, key 1 */
void task_drain(struct task *t);	/* all of the pattern up to EOF */
void task_accept(struct task *t);
void task_connect(struct task *t);
void task_poll(struct task *t);
void task_close(struct task *t);
void task_splice(struct task *t);	/* up to len bytes from fd to the other */

int task_start_(struct task *t);
long long task_join_(struct task *t);
/* The call, with this descriptor, must block. */
int task_blocks_(struct task *t, int fd);
#define task_start(t)		CALL(task_start_(t))
#define task_blocks(t, fd)	CALL(task_blocks_(t, fd))
#define task_join(t)		CALL(task_join_(t))

/* SIGUSR1 is caught, with these flags of sigaction(), and counted. */
extern atomic_int signals;
int catch_(int flags);
#define catch(flags)		CALL(catch_(flags))
/* A call that must sleep, and the signal it gets. */
int start_and_signal_(struct task *t);
#define start_and_signal(t)	CALL(start_and_signal_(t))
/* It goes on after the handler. */
int still_waits_(struct task *t);
#define still_waits(t)		CALL(still_waits_(t))
/*
 * A signal ends it with EINTR if its handler is without SA_RESTART, or with one but under a
 * time limit, which is @timeo of t->fd.  SA_RESTART stays, and there is no limit any more.
 */
int expect_eintr_(struct task *t, int timeo);
#define expect_eintr(t, timeo)	CALL(expect_eintr_(t, timeo))

/* Returns when thread @tid sleeps in the kernel; gives up after a second. */
void wait_asleep(pid_t pid, pid_t tid);

#endif
