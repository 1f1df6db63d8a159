// SPDX-License-Identifier: GPL-2.0
/*
 * Probes: what the headers of this kernel have.
 *
 * Distributions keep a version number for years and take in what is newer, so
 * the number says little.  This file is never linked.  Kbuild compiles it once,
 * and sdp_probe.awk makes sdp_have.h from the compiler's messages:
 * SDP_HAVE_<NAME> is 1 where the probe compiles, and 0 where it does not.  Only
 * sdp_compat.h uses the result.  The comment above each probe names the release
 * that brought what it asks for, newest first.  A macro needs #ifdef, not a
 * probe.
 *
 * A probe that is wrong is always 0: check that a new one is 1 on the newest
 * kernel.
 */
#define __SDP_PROBE(name, statement)			\
	static void __maybe_unused sdp_probe_##name(void)	\
	{						\
		statement;				\
	}
/* Whether an expression compiles. */
#define SDP_PROBE(name, expression)	__SDP_PROBE(name, (void)(expression))
/* Whether a function has this type. */
#define SDP_PROBE_TYPE(name, fn, type)	__SDP_PROBE(name, type = fn; (void)f)
/* Whether a function is exported to modules, by Module.symvers. */
#define SDP_PROBE_EXPORT(name, fn)

#include <linux/bpf-cgroup.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/pagemap.h>
#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include <linux/sock_diag.h>
#include <linux/socket.h>
#include <linux/splice.h>
#include <linux/sysctl.h>
#include <linux/uio.h>
#include <net/inet_hashtables.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/ib_cm.h>
#if __has_include("trace/stages/stage6_event_callback.h")
#include <trace/stages/stage6_event_callback.h>
#define EVENT_NULL_STR	"(null)"
#endif

/* Whether probes work at all: the first is true of any kernel, the second of none. */
SDP_PROBE(ANYTHING, sizeof(struct sock))
SDP_PROBE(NOTHING, sdp_what_no_kernel_has(NULL))

/* 6.19: address arguments of bind() and connect() got a type of their own. */
SDP_PROBE(SOCKADDR_UNSIZED, sizeof(struct sockaddr_unsized))

/* 6.18: the listener look-ups lost their hash table argument. */
SDP_PROBE(LOOKUP_WITHOUT_TABLE, __inet_lookup_listener(NULL, NULL, 0, 0, 0, 0, 0, 0, 0))

/* 6.17: sock_i_uid() became sk_uid(). */
SDP_PROBE(SK_UID, sk_uid((const struct sock *)NULL))

/* Until 6.16: TCP's choice of a port that is shared by destination, for IPv4. */
SDP_PROBE_EXPORT(INET_HASH_CONNECT, inet_hash_connect)
/* From 6.1 to 6.16: setting and clearing the address of a bound socket. */
SDP_PROBE_EXPORT(BHASH2_UPDATE, inet_bhash2_update_saddr)
SDP_PROBE_EXPORT(BHASH2_RESET, inet_bhash2_reset_saddr)
/* 6.1: bound sockets are hashed by their address too. */
SDP_PROBE(BHASH2, inet_bhash2_update_saddr(NULL, NULL, 0))

/* 6.16: ib_prepare_cm_mra() takes no time. */
SDP_PROBE(PREPARE_CM_MRA, ib_prepare_cm_mra(NULL))

/* 6.16: msg_zerocopy_realloc() has an argument for device memory. */
SDP_PROBE(ZEROCOPY_OF_DEVICE, msg_zerocopy_realloc(NULL, 0, NULL, false))

/* 6.15: a socket has its own maximum for TCP's retransmission time-out. */
SDP_PROBE(RTO_MAX, ((struct inet_connection_sock *)NULL)->icsk_rto_max)

/* 6.15: __tcp_send_ack() has an argument for flags of TCP. */
SDP_PROBE(SEND_ACK_FLAGS, __tcp_send_ack(NULL, 0, 0))

/* 6.11: handlers of sysctls take a const table. */
SDP_PROBE_TYPE(CONST_CTL_TABLE, ((struct ctl_table *)NULL)->proc_handler,
	       int (*f)(const struct ctl_table *, int, void *, size_t *, loff_t *))

/* 6.10: accept() takes a structure. */
SDP_PROBE(ACCEPT_ARG, sizeof(struct proto_accept_arg))

/* 6.10: __assign_str() has no argument for its source. */
SDP_PROBE(ASSIGN_STR, ({
	struct { u32 __data_loc_text; } *__entry = NULL;
	struct { const char *text_ptr_; } __data_offsets = {};

	__assign_str(text);
}))

/* 6.9: a handler of sock_diag has an owner, which stays loaded for its dumps. */
SDP_PROBE(DIAG_OWNER, sizeof(((struct sock_diag_handler *)NULL)->owner))

/* 6.7: options of one bit, of both families, are bits of inet_flags. */
SDP_PROBE(INET_FLAGS, ((struct inet_sock *)NULL)->inet_flags)

/* 6.6: sysctl tables carry their size, and have no sentinel. */
SDP_PROBE(SYSCTL_SIZE, register_net_sysctl_sz(NULL, NULL, NULL, 0))

/* 6.5: sendpage() is gone, splice and sendfile arrive as sendmsg(). */
SDP_PROBE(SENDPAGE, ((struct proto_ops *)NULL)->sendpage)
SDP_PROBE(SPLICE_EOF, ((struct proto_ops *)NULL)->splice_eof)
SDP_PROBE(COPY_SPLICE_READ, copy_splice_read(NULL, NULL, NULL, 0, 0))

/* 6.4: iter_iov() returns an iterator's segments. */
SDP_PROBE(ITER_IOV, iter_iov((struct iov_iter *)NULL))

/* 6.3: a socket's own range of local ports. */
SDP_PROBE(LOCAL_PORT_RANGE, &((struct inet_sock *)NULL)->local_port_range)

/* 6.0: an iterator over one piece of user memory. */
SDP_PROBE(ITER_UBUF, iter_is_ubuf((struct iov_iter *)NULL))
SDP_PROBE(USER_BACKED_ITER, user_backed_iter((struct iov_iter *)NULL))

/* 6.0: io_uring's SEND_ZC passes the ubuf_info to notify in the message. */
SDP_PROBE(MSG_UBUF, ((struct msghdr *)NULL)->msg_ubuf)
SDP_PROBE(SUPPORT_ZC, SOCK_SUPPORT_ZC)

/* 6.0: a sockmap reads packets by read_skb(). */
SDP_PROBE(READ_SKB, ((struct proto_ops *)NULL)->read_skb)

/* 5.19: io_uring asks how much is left to be read. */
SDP_PROBE(MSG_GET_INQ, ((struct msghdr *)NULL)->msg_get_inq)

/* 5.18: SO_TXREHASH, whether a connection changes a bad path by its own choice. */
SDP_PROBE(SK_TXREHASH, ((struct sock *)NULL)->sk_txrehash)

/* 5.17: whether programs of a socket's cgroup are asked about its packets. */
SDP_PROBE(CGROUP_BPF_SOCK, cgroup_bpf_sock_enabled(NULL, CGROUP_INET_INGRESS))

/* 5.17: struct proto has put_port(), which gives a port back. */
SDP_PROBE(PUT_PORT, ((struct proto *)NULL)->put_port)

/* 5.17: sk_is_tcp(). */
SDP_PROBE(SK_IS_TCP, sk_is_tcp((struct sock *)NULL))

/* 5.16: a function has the pages come that an iterator stands at. */
SDP_PROBE(FAULT_IN_WRITEABLE, fault_in_iov_iter_writeable(NULL, 0))

/* 5.16: folios. */
SDP_PROBE(FOLIO, folio_mark_dirty(page_folio((struct page *)NULL)))
SDP_PROBE(FREE_BUFFER_PAGES, nr_free_buffer_pages())

/* 5.14: the hardware clock that a socket's time stamps come from. */
SDP_PROBE(SK_BIND_PHC, ((struct sock *)NULL)->sk_bind_phc)

/* 5.14: sk_error_report() is a function. */
SDP_PROBE(SK_ERROR_REPORT, sk_error_report((struct sock *)NULL))

/* 5.14: a range of neighbouring pages is unpinned by one call. */
SDP_PROBE(UNPIN_RANGE, unpin_user_page_range_dirty_lock(NULL, 0, false))

/* 5.12: the memory cgroup to charge can be set in an interrupt too. */
SDP_PROBE_EXPORT(INT_ACTIVE_MEMCG, int_active_memcg)

/* 5.12: rb_add_cached() inserts into a sorted tree. */
SDP_PROBE(RB_ADD_CACHED, rb_add_cached(NULL, NULL, NULL))

/* 5.12: net_zcopy_put() and its like are named alike for all users of zero copy. */
SDP_PROBE(NET_ZCOPY, net_zcopy_put_abort(NULL, false))

/* 5.11: SO_PREFER_BUSY_POLL and SO_BUSY_POLL_BUDGET. */
SDP_PROBE(BUSY_POLL_BUDGET, ((struct sock *)NULL)->sk_busy_poll_budget)
