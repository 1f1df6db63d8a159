/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The variants of a case: TCP, which is the oracle, and SDP by each way to
 * make a socket, over IPv4 and IPv6 (variants.def); and what a case wants to do
 * with a socket of the variant at hand.
 */
#ifndef _VARIANT_H
#define _VARIANT_H

#include "sdptest.h"

struct variant {
	enum via via;
	int family;
	bool joined;	/* net.sdp.local is on */
};

enum {
#define VARIANT(via, word, ip)	via##_V##ip,
#include "variants.def"
#undef VARIANT
	NR_VARIANTS
};

/* Sets of variants, for CASE_ON(). */
#define ON_TCP		(BIT(TCP_V4) | BIT(TCP_V6))
/* Who asks for SDP gets it or an error; by TCP_ULP SDP or TCP. */
#define ON_EXPLICIT	(BIT(FAMILY_V4) | BIT(PROTO_V4) | BIT(PROTO_V6))
#define ON_ULP		(BIT(ULP_V4) | BIT(ULP_V6))
#define ON_SDP		(ON_EXPLICIT | ON_ULP)
#define ON_JOIN		(BIT(JOIN_V4) | BIT(JOIN_V6))
#define ON_V6		(BIT(TCP_V6) | BIT(PROTO_V6) | BIT(ULP_V6) | BIT(JOIN_V6))

extern const struct variant *variant;
extern const char *const variant_names[NR_VARIANTS];

/* For ktap_main(); puts back what the case before has changed. */
void variant_choose(unsigned int n);
void variant_init(void);
void variant_exit(void);
/* Return: its number, or -1. */
int variant_by_name(const char *name);

/* Is a socket of the variant ours, whatever carries its stream? */
static inline bool on_ours(void)
{
	return variant->via != VIA_TCP;
}

/* Are both ends joined inside this host? */
static inline bool on_join(void)
{
	return variant->joined;
}

/* Does a connection of SDP's carry the stream?  What is joined is as TCP. */
static inline bool on_sdp(void)
{
	return on_ours() && !on_join();
}

const char *variant_name(void);

/* A socket of the variant. */
int sock_(int flags);
#define sock()		CALL(sock_(0))
#define sock_flags(f)	CALL(sock_(f))

/* This host's address; an address of its network where nobody answers. */
void here(union addr *a, int port);
void nobody(union addr *a);

int bind_to(int fd, const union addr *a);
/* Bound to this host and a free port, which is put into @a. */
int bind_here_(int fd, union addr *a);
#define bind_here(fd, a) CALL(bind_here_(fd, a))
int connect_to(int fd, const union addr *a);

/* What /proc/net/sdp_peers says of all ports (0) or of one: "tcp timeout", or NULL. */
int peer_is_(const union addr *a, int port, const char *known);
#define peer_is(...)	CALL(peer_is_(__VA_ARGS__))

/* Bound to this host and a free port, which is put into @a, and listening. */
int listener_(union addr *a, int backlog);
#define listener(a, b)	CALL(listener_(a, b))
/* The same on the wildcard address of @family; @a: how to reach it. */
int any_listener_(union addr *a, int family, int v6only);
#define any_listener(...) CALL(any_listener_(__VA_ARGS__))

/* A port of this host where nobody listens, taken for the case's length. */
void closed_port_(union addr *a);
#define closed_port(a)	({ CALL((closed_port_(a), 0)); })

/* Waits for a connection and takes it; on SDP it must be SDP. */
int accept_one_(int l);
#define accept_one(l)	CALL(accept_one_(l))

/* TCP beside it, of the variant's family. */
int tcp_sock_(void);
#define tcp_sock()	CALL(tcp_sock_())
int tcp_listener_(union addr *a);
#define tcp_listener(a)	CALL(tcp_listener_(a))

/* A listener of the variant that takes plain TCP clients too. */
int mixed_listener_(union addr *a);
#define mixed_listener(a) CALL(mixed_listener_(a))

/* Waits for a connection and takes it: SDP, or what fell back to TCP. */
int accept_any_(int l);
#define accept_any(l)	CALL(accept_any_(l))

/* Where IP_SDP_INFO is asked, and what it says: its size, or -1 with errno. */
int ip_level(void);
int ip_info(int fd, struct sdp_info *info);

/*
 * On an SDP variant the connection must go by SDP.  A client that is to be joined must
 * have its slot; accept_one() looks whether it was.
 */
int must_be_sdp_(int fd);
#define must_be_sdp(fd)	CALL(must_be_sdp_(fd))

/* A connection from c to s; l listens. */
struct pair {
	int c, s, l;
	union addr addr;	/* of l, and of s */
};

int pair_open_(struct pair *p);
#define pair_open(p)	CALL(pair_open_(p))
/* Before connecting: options on the client's and the listening socket. */
int pair_start_(struct pair *p);
#define pair_start(p)	CALL(pair_start_(p))
int pair_finish_(struct pair *p);
#define pair_finish(p)	CALL(pair_finish_(p))

/* pair_open(): the client has @sndbuf for what it sends, the server @rcvbuf for what comes. */
int pair_open_bufs_(struct pair *p, int sndbuf, int rcvbuf);
#define pair_open_bufs(...)	CALL(pair_open_bufs_(__VA_ARGS__))

/* Shut down, c first, and in each of TCP's states meanwhile. */
int pair_shut_(const struct pair *p);
#define pair_shut(p)	CALL(pair_shut_(p))

/*
 * As recv_pattern(), of a socket with SO_RCVLOWAT and less than that at the end.
 * SDP wakes who sleeps in recv() as soon as what is missing is there.  TCP does
 * not, if he took a part before he slept: then it waits for SO_RCVLOWAT anew.
 */
int recv_past_lowat_(int fd, size_t len, __u64 key, __u64 pos);
#define recv_past_lowat(...) CALL(recv_past_lowat_(__VA_ARGS__))

/* The socket has TLS from now on; skips the case where the kernel has none. */
void set_tls(int fd);
/* A key of @seed for what it sends (TLS_TX) or receives (TLS_RX). */
void tls_key(int fd, int direction, char seed);

/* Is this Linux @major.@minor, or newer? */
bool kernel_since(int major, int minor);

/*
 * Is a client's port shared by destination?  Linux from 6.16 on keeps to itself what that
 * takes by IPv4: inet_hash_connect() is no module's to call.
 */
bool shares_ports(void);

/* Sends until the socket, made non-blocking for it, takes no more. */
long long fill_(int fd, __u64 key);
#define fill(fd, key)	CALL(fill_(fd, key))

/* Counters that say that something was not copied, on SDP; 0 with TCP. */
unsigned long long count(const char *name);

/* Memory of its own that begins @off bytes behind a page. */
char *memory(size_t len, size_t off);
/*
 * Such memory, not touched yet, gets pages that do not lie together (two touched one
 * after the other would, perhaps): it is lent in more pieces.  From a page on.
 */
void scatter(char *at, size_t len);
/* Nothing is there any more, and nothing else will be. */
#define forget(at, len)							\
	CHECK(mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, \
		   -1, 0) != MAP_FAILED)
/* The same with the pattern, key 1, from position 0. */
char *pattern(size_t len, size_t off);

/* A reader who waits with room for what is sent then. */
int read_asleep_(const struct pair *p, size_t len);
#define read_asleep(...)	CALL(read_asleep_(__VA_ARGS__))
/*
 * The reader's buffer is known to the peer (SinkAvail) while he sleeps, from the
 * second long message on.  After one that crossed an offer of the peer's there is
 * a while without; after one that was filled, and no offer made, the next is
 * certain.
 */
int learn_to_ask_(const struct pair *p);
#define learn_to_ask(...)	CALL(learn_to_ask_(__VA_ARGS__))

/*
 * Waits for the next notification of MSG_ZEROCOPY, which must be of calls from
 * @next on; how many.  @copied: whether they were, if not NULL.
 */
unsigned int notified_(int fd, unsigned int next, bool *copied);
#define notified(...)	CALL(notified_(__VA_ARGS__))
/* The same of any calls, as TCP may tell of some before others; from @first on. */
unsigned int notified_any_(int fd, unsigned int *first, bool *copied);
#define notified_any(...) CALL(notified_any_(__VA_ARGS__))

/* A connect() that was begun succeeds; on SDP the connection is SDP. */
int expect_connected_(int fd);
#define expect_connected(fd) CALL(expect_connected_(fd))

/* Who connects to @a is accepted from @l, and heard there. */
int serves_(int l, const union addr *a);
#define serves(l, a)	CALL(serves_(l, a))

/* Reset by the peer, as seen by this end. */
int expect_reset_(int fd);
#define expect_reset(fd) CALL(expect_reset_(fd))

/* Sets net.sdp.WORD for the rest of the case. */
int sysctl_(const char *word, int value);
#define sysctl(w, v)	CALL(sysctl_(w, v))
/* For the case's length no socket gets another port than these, unless by bind(). */
int ports_(int low, int high);
#define only_ports(l, h)	CALL(ports_(l, h))

#endif
