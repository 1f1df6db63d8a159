/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between kernel releases, and nothing else.
 *
 * The code is written for the newest kernel.  This header adapts the others to
 * it; a compiler flag includes it before every file.  It tests no version
 * number, since distributions keep one for years and take in what is newer:
 * sdp_probe.c tests the headers themselves.  No other file uses the result.
 * Newest difference first, with the mainline release that brought it.
 */
#ifndef _SDP_COMPAT_H
#define _SDP_COMPAT_H

/* Before any header that prints; this one comes first in every file. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/net.h>
#include <linux/rbtree.h>
#include <linux/sched/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/sysctl.h>
#include <linux/uio.h>
#include <net/inet_hashtables.h>
#include <net/sock.h>
#include "sdp_have.h"

/* 7.0: objects are allocated by their type. */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp)	kzalloc(sizeof(obj), gfp)
#define kmalloc_obj(obj, gfp)	kmalloc(sizeof(obj), gfp)
#endif

/* 6.19: address arguments of bind() and connect() got a type of their own. */
#if SDP_HAVE_SOCKADDR_UNSIZED
typedef struct sockaddr_unsized sdp_sockaddr;
#else
typedef struct sockaddr sdp_sockaddr;
#endif

/* 6.18: the listener look-ups lost their hash table argument. */
#if SDP_HAVE_LOOKUP_WITHOUT_TABLE
#define SDP_HASHINFO(net)
#else
#define SDP_HASHINFO(net)	(net)->ipv4.tcp_death_row.hashinfo,
#endif

/* 6.17: sock_i_uid() became sk_uid(). */
#if !SDP_HAVE_SK_UID
#define sk_uid(sk)		sock_i_uid((struct sock *)(sk))
#endif

/*
 * 6.16: of the functions by which TCP's connect() shares a port by destination,
 * only the IPv6 half is exported.  An IPv4 client then has its port to itself,
 * though at one address only, and a socket that is bound to no address stays
 * hashed by that.
 */
#if SDP_HAVE_INET_HASH_CONNECT
#define SDP_SHARES_PORTS(v4)	true
#define sdp_v4_hash_connect	inet_hash_connect
#else
#define SDP_SHARES_PORTS(v4)	(!(v4))
#define sdp_v4_hash_connect(row, sk)	((void)(row), -EOPNOTSUPP)
#endif
/*
 * 6.1: bound sockets are hashed by their address too.  Before, by the port
 * alone.
 */
#define SDP_FILES_ADDRESSES	SDP_HAVE_BHASH2
#if SDP_HAVE_BHASH2_UPDATE && SDP_HAVE_BHASH2_RESET
#define SDP_MOVES_PORTS	true
#define sdp_bhash2_update_saddr	inet_bhash2_update_saddr
#define sdp_bhash2_reset_saddr	inet_bhash2_reset_saddr
#else
#define SDP_MOVES_PORTS	false
#define sdp_bhash2_update_saddr(sk, saddr, family)	(-EOPNOTSUPP)
#define sdp_bhash2_reset_saddr(sk)	do { } while (0)
#endif

/* 6.16: ib_prepare_cm_mra() takes no time; it says 4.096 us * 2^24. */
#if !SDP_HAVE_PREPARE_CM_MRA
#define ib_prepare_cm_mra(id) \
	ib_send_cm_mra(id, IB_CM_MRA_FLAG_DELAY | 24, NULL, 0)
#endif

/* 6.16: msg_zerocopy_realloc() has an argument for device memory. */
#if SDP_HAVE_ZEROCOPY_OF_DEVICE
#define sdp_zerocopy_realloc(sk, size)	msg_zerocopy_realloc(sk, size, NULL, false)
#elif SDP_HAVE_NET_ZCOPY
#define sdp_zerocopy_realloc(sk, size)	msg_zerocopy_realloc(sk, size, NULL)
#else
#define sdp_zerocopy_realloc(sk, size)	sock_zerocopy_realloc(sk, size, NULL)
#endif

/* 6.15: a socket has its own maximum for TCP's retransmission time-out. */
#if SDP_HAVE_RTO_MAX
#define sdp_csk_copy_rto_max(to, from) \
	((to)->icsk_rto_max = READ_ONCE((from)->icsk_rto_max))
#else
#define sdp_csk_copy_rto_max(to, from)	do { } while (0)
#endif

/* 6.15: __tcp_send_ack() has an argument for flags of TCP. */
#if SDP_HAVE_SEND_ACK_FLAGS
#define sdp_tcp_send_ack(sk, seq)	__tcp_send_ack(sk, seq, 0)
#else
#define sdp_tcp_send_ack(sk, seq)	__tcp_send_ack(sk, seq)
#endif

/* 6.11: sysctl handlers take a const table. */
#if SDP_HAVE_CONST_CTL_TABLE
typedef const struct ctl_table sdp_ctl_table;
#else
typedef struct ctl_table sdp_ctl_table;
#endif

/* 6.10: accept() takes a structure. */
#if SDP_HAVE_ACCEPT_ARG
#define SDP_ACCEPT_ARGS		struct proto_accept_arg *arg
#define SDP_ACCEPT_PASS		arg
#define SDP_ACCEPT_FLAGS	(arg->flags)
#else
#define SDP_ACCEPT_ARGS		int accept_flags, bool accept_kern
#define SDP_ACCEPT_PASS		accept_flags, accept_kern
#define SDP_ACCEPT_FLAGS	accept_flags
#endif

/* 6.10: __assign_str() has no argument for its source. */
#if SDP_HAVE_ASSIGN_STR
#define sdp_assign_str(dst, src)	__assign_str(dst)
#else
#define sdp_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* 6.9: a handler of sock_diag has an owner, which stays loaded for its dumps. */
#if SDP_HAVE_DIAG_OWNER
#define SDP_DIAG_OWNER		.owner = THIS_MODULE,
#else
#define SDP_DIAG_OWNER
#endif

/* 6.7: options of one bit, of both families, are bits of inet_flags. */
#if SDP_HAVE_INET_FLAGS
#define sdp_inet_copy_flags(to, from) \
	((to)->inet_flags = READ_ONCE((from)->inet_flags))
#define sdp_inet6_copy_flags(to, from)	do { } while (0)
#else
#define sdp_inet_copy_flags(to, from) do {				\
	(to)->cmsg_flags = (from)->cmsg_flags;				\
	(to)->recverr = (from)->recverr;				\
	(to)->freebind = (from)->freebind;				\
	(to)->hdrincl = (from)->hdrincl;				\
	(to)->mc_loop = (from)->mc_loop;				\
	(to)->transparent = (from)->transparent;			\
	(to)->mc_all = (from)->mc_all;					\
	(to)->nodefrag = (from)->nodefrag;				\
	(to)->bind_address_no_port = (from)->bind_address_no_port;	\
	(to)->recverr_rfc4884 = (from)->recverr_rfc4884;		\
} while (0)
#define sdp_inet6_copy_flags(to, from) do {				\
	(to)->recverr = (from)->recverr;				\
	(to)->sndflow = (from)->sndflow;				\
	(to)->repflow = (from)->repflow;				\
	(to)->dontfrag = (from)->dontfrag;				\
	(to)->autoflowlabel = (from)->autoflowlabel;			\
	(to)->autoflowlabel_set = (from)->autoflowlabel_set;		\
	(to)->mc_all = (from)->mc_all;					\
	(to)->mc_loop = (from)->mc_loop;				\
	(to)->recverr_rfc4884 = (from)->recverr_rfc4884;		\
	(to)->rtalert_isolate = (from)->rtalert_isolate;		\
} while (0)
#endif

/* 6.6: sysctl tables carry their size; no sentinel. */
#if SDP_HAVE_SYSCTL_SIZE
#define SDP_CTL_SENTINEL	0
#else
#define SDP_CTL_SENTINEL	1
#define register_net_sysctl_sz(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

/* 6.5: sendpage is gone, splice and sendfile arrive as sendmsg(). */
#if SDP_HAVE_SENDPAGE
#define sdp_ops_no_sendpage(ops)	((ops)->sendpage = sock_no_sendpage)
#else
#define sdp_ops_no_sendpage(ops)	do { } while (0)
#endif
#if SDP_HAVE_SPLICE_EOF
#define sdp_ops_set_splice_eof(ops, fn)	((ops)->splice_eof = (fn))
#define sdp_ops_call_splice_eof(ops, sock)	((ops)->splice_eof(sock))
#else
#define sdp_ops_set_splice_eof(ops, fn)	do { } while (0)
#define sdp_ops_call_splice_eof(ops, sock)	do { } while (0)
#endif
#ifdef MSG_SENDPAGE_NOTLAST
#define SDP_MSG_MORE			(MSG_MORE | MSG_SENDPAGE_NOTLAST)
#else
#define SDP_MSG_MORE			MSG_MORE
#endif
#ifdef MSG_SPLICE_PAGES
#define SDP_MSG_SPLICE_PAGES		MSG_SPLICE_PAGES
#else
#define SDP_MSG_SPLICE_PAGES		0
#endif
#if !SDP_HAVE_COPY_SPLICE_READ
#define copy_splice_read		generic_file_splice_read
#endif

/* 6.4: iter_iov() returns an iterator's segments. */
#if SDP_HAVE_ITER_IOV
#define sdp_iter_iov(iter)	iter_iov(iter)
#else
#define sdp_iter_iov(iter)	((iter)->iov)
#endif

/* 6.3: a socket's own range of local ports. */
#if SDP_HAVE_LOCAL_PORT_RANGE
#define sdp_inet_copy_port_range(to, from) \
	((to)->local_port_range = (from)->local_port_range)
#else
#define sdp_inet_copy_port_range(to, from)	do { } while (0)
#endif

/* 6.0: an iterator over one piece of user memory. */
#if !SDP_HAVE_USER_BACKED_ITER
#define user_backed_iter(iter)	iter_is_iovec(iter)
#endif

/* Where an iterator of user memory stands. */
static inline void __user *sdp_iter_addr(const struct iov_iter *iter)
{
#if SDP_HAVE_ITER_UBUF
	if (iter_is_ubuf(iter))
		return iter->ubuf + iter->iov_offset;
#endif
	return sdp_iter_iov(iter)->iov_base + iter->iov_offset;
}

/* Bytes from there to the end of the segment. */
static inline size_t sdp_iter_len(const struct iov_iter *iter)
{
#if SDP_HAVE_ITER_UBUF
	if (iter_is_ubuf(iter))
		return iov_iter_count(iter);
#endif
	return min_t(size_t, iov_iter_count(iter),
		     sdp_iter_iov(iter)->iov_len - iter->iov_offset);
}

/* 6.0: io_uring's SEND_ZC passes the ubuf_info to notify in the message. */
#if SDP_HAVE_MSG_UBUF
#define sdp_msg_ubuf(msg)	((msg)->msg_ubuf)
#else
#define sdp_msg_ubuf(msg)	((struct ubuf_info *)NULL)
#endif

/*
 * 6.0: a flag says that a socket supports SEND_ZC.  Before, only SO_ZEROCOPY is
 * checked.
 */
#if SDP_HAVE_SUPPORT_ZC
#define sdp_sock_support_zc(sock)	set_bit(SOCK_SUPPORT_ZC, &(sock)->flags)
#else
#define sdp_sock_support_zc(sock)	do { } while (0)
#endif

/*
 * 6.0: a sockmap reads packets by read_skb(); before, it bypasses these
 * operations.
 */
#if SDP_HAVE_READ_SKB
#define sdp_ops_no_read_skb(ops)	((ops)->read_skb = NULL)
#else
#define sdp_ops_no_read_skb(ops)	do { } while (0)
#endif

/* 5.19: io_uring asks how much is left to be read, and is told in the message. */
#if SDP_HAVE_MSG_GET_INQ
#define sdp_msg_wants_inq(msg)		((msg)->msg_get_inq)
#define sdp_msg_set_inq(msg, inq)	((msg)->msg_inq = (inq))
#else
#define sdp_msg_wants_inq(msg)		false
#define sdp_msg_set_inq(msg, inq)	do { } while (0)
#endif

/*
 * 5.17: whether programs of a socket's cgroup are asked about its packets, @way
 * being INGRESS or EGRESS.  Before, their list is looked at, which ends with NULL.
 * Needs <linux/bpf-cgroup.h>.
 */
#if !IS_ENABLED(CONFIG_CGROUP_BPF)
#define sdp_cgroup_asks(sk, way)	false
#elif SDP_HAVE_CGROUP_BPF_SOCK
#define sdp_cgroup_asks(sk, way) \
	(cgroup_bpf_enabled(CGROUP_INET_##way) && \
	 cgroup_bpf_sock_enabled(sk, CGROUP_INET_##way))
#else
#define sdp_cgroup_asks(sk, way) ({					\
	struct cgroup *_cgroup = sock_cgroup_ptr(&(sk)->sk_cgrp_data);	\
	bool _has;							\
									\
	rcu_read_lock();						\
	_has = rcu_dereference(_cgroup->bpf.effective[BPF_CGROUP_INET_##way])->items[0].prog; \
	rcu_read_unlock();						\
	_has;								\
})
#endif

/* 5.17: struct proto has put_port(), which gives a port back. */
#if SDP_HAVE_PUT_PORT
#define sdp_put_port(sk)	((sk)->sk_prot->put_port(sk))
#else
#define sdp_put_port(sk)	inet_put_port(sk)
#endif

/* 5.17: sk_is_tcp(). */
#if !SDP_HAVE_SK_IS_TCP
static inline bool sk_is_tcp(const struct sock *sk)
{
	return sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP;
}
#endif

/*
 * 5.16: a function has the pages come that an iterator stands at, to be written to.
 * Before, zeros are written there, which is no harm where bytes are to follow.
 */
#if SDP_HAVE_FAULT_IN_WRITEABLE
#define sdp_iter_fault_in(iter, bytes) fault_in_iov_iter_writeable(iter, bytes)
#else
static inline size_t sdp_iter_fault_in(struct iov_iter *iter, size_t bytes)
{
	size_t n = iov_iter_zero(bytes, iter);

	iov_iter_revert(iter, n);
	return bytes - n;
}
#endif

/* 5.16: folios.  Before, the head of a compound page is marked. */
#if !SDP_HAVE_FOLIO
struct folio {
	struct page page;
};

static inline struct folio *page_folio(struct page *page)
{
	return (struct folio *)compound_head(page);
}

static inline bool folio_test_dirty(struct folio *folio)
{
	return PageDirty(&folio->page);
}

static inline bool folio_trylock(struct folio *folio)
{
	return trylock_page(&folio->page);
}

static inline void folio_unlock(struct folio *folio)
{
	unlock_page(&folio->page);
}

static inline void folio_mark_dirty(struct folio *folio)
{
	set_page_dirty(&folio->page);
}
#endif

/* 5.16: nr_free_buffer_pages() is declared in another header. */
#if !SDP_HAVE_FREE_BUFFER_PAGES
#include <linux/swap.h>
#endif

/* Options that a child has from its listener and that came after 5.10. */
static inline void sdp_sock_copy_newer(struct sock *to, const struct sock *from)
{
#if SDP_HAVE_SK_TXREHASH	/* 5.18 */
	to->sk_txrehash = READ_ONCE(from->sk_txrehash);
#endif
#if SDP_HAVE_SK_BIND_PHC	/* 5.14 */
	to->sk_bind_phc = READ_ONCE(from->sk_bind_phc);
#endif
#if defined(CONFIG_NET_RX_BUSY_POLL) && SDP_HAVE_BUSY_POLL_BUDGET	/* 5.11 */
	to->sk_prefer_busy_poll = READ_ONCE(from->sk_prefer_busy_poll);
	to->sk_busy_poll_budget = READ_ONCE(from->sk_busy_poll_budget);
#endif
}

/* 5.14: sk_error_report() is a function. */
#if !SDP_HAVE_SK_ERROR_REPORT
#define sk_error_report(sk)	((sk)->sk_error_report(sk))
#endif

/* 5.14: a range of neighbouring pages is unpinned by one call. */
#if !SDP_HAVE_UNPIN_RANGE
static inline void unpin_user_page_range_dirty_lock(struct page *page,
						    unsigned long npages,
						    bool make_dirty)
{
	unsigned long i;

	for (i = 0; i < npages; i++) {
		struct page *one = pfn_to_page(page_to_pfn(page) + i);

		unpin_user_pages_dirty_lock(&one, 1, make_dirty);
	}
}
#endif

/*
 * 5.12: the memory cgroup to charge can be set in an interrupt too.  Before,
 * that half is not exported, and we set it in process context only.
 */
#if defined(CONFIG_MEMCG) && !SDP_HAVE_INT_ACTIVE_MEMCG
static inline struct mem_cgroup *sdp_set_active_memcg(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = current->active_memcg;

	WARN_ON_ONCE(in_interrupt());
	current->active_memcg = memcg;
	return old;
}
#else
#define sdp_set_active_memcg	set_active_memcg
#endif

/* 5.12: rb_add_cached() inserts into a sorted tree. */
#if !SDP_HAVE_RB_ADD_CACHED
static inline void rb_add_cached(struct rb_node *node, struct rb_root_cached *tree,
				 bool (*less)(struct rb_node *, const struct rb_node *))
{
	struct rb_node **link = &tree->rb_root.rb_node, *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (less(node, parent)) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(node, parent, link);
	rb_insert_color_cached(node, tree, leftmost);
}
#endif

/* 5.12: net_zcopy_put() and its like are named alike for all users of zero copy. */
#if !SDP_HAVE_NET_ZCOPY
#define net_zcopy_put(uarg)	sock_zerocopy_put(uarg)
#define net_zcopy_put_abort(uarg, uref)	sock_zerocopy_put_abort(uarg, uref)
#endif

#endif
