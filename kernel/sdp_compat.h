/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between kernel versions, and nothing else.
 *
 * The code is written for the newest kernel; this header, included before
 * every file by a compiler flag, bends the older ones to it.  No other file
 * looks at LINUX_VERSION_CODE.  Newest difference first, with the release
 * that brought it.
 */
#ifndef _SDP_COMPAT_H
#define _SDP_COMPAT_H

/* Before any header that prints; this one comes first in every file. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/version.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/sysctl.h>
#include <linux/uio.h>
#include <net/sock.h>

#define SDP_KERNEL(a, b)	(LINUX_VERSION_CODE >= KERNEL_VERSION(a, b, 0))

/* 7.0: objects are allocated by their type. */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp)	kzalloc(sizeof(obj), gfp)
#endif

/* 6.19: address arguments of bind() and connect() got a type of their own. */
#if SDP_KERNEL(6, 19)
typedef struct sockaddr_unsized sdp_sockaddr;
#else
typedef struct sockaddr sdp_sockaddr;
#endif

/* 6.18: the listener look-ups lost their hash table argument. */
#if SDP_KERNEL(6, 18)
#define SDP_HASHINFO(net)
#else
#define SDP_HASHINFO(net)	(net)->ipv4.tcp_death_row.hashinfo,
#endif

/* 6.17: sock_i_uid() became sk_uid(). */
#if !SDP_KERNEL(6, 17)
#define sk_uid(sk)		sock_i_uid((struct sock *)(sk))
#endif

/*
 * 6.16: of what TCP's connect() calls to share a port by destination, only the IPv6 half
 * is a module's to call.  By IPv4 a port is taken for itself alone, though at one address,
 * and who is bound to no address stays filed under that.
 */
#if SDP_KERNEL(6, 16)
#define SDP_SHARES_PORTS(v4)	(!(v4))
#define SDP_MOVES_PORTS	false
#define sdp_v4_hash_connect(row, sk)	((void)(row), -EOPNOTSUPP)
#define sdp_bhash2_update_saddr(sk, saddr, family)	(-EOPNOTSUPP)
#define sdp_bhash2_reset_saddr(sk)	do { } while (0)
#else
#define SDP_SHARES_PORTS(v4)	true
#define SDP_MOVES_PORTS	true
#define sdp_v4_hash_connect	inet_hash_connect
#define sdp_bhash2_update_saddr	inet_bhash2_update_saddr
#define sdp_bhash2_reset_saddr	inet_bhash2_reset_saddr
#endif

/* 6.16: an MRA says no time of its own; 4.096 us * 2^24 is what it says since. */
#if !SDP_KERNEL(6, 16)
#define ib_prepare_cm_mra(id) \
	ib_send_cm_mra(id, IB_CM_MRA_FLAG_DELAY | 24, NULL, 0)
#endif

/* 6.16: msg_zerocopy_realloc() knows of device memory. */
#if SDP_KERNEL(6, 16)
#define sdp_zerocopy_realloc(sk, size)	msg_zerocopy_realloc(sk, size, NULL, false)
#else
#define sdp_zerocopy_realloc(sk, size)	msg_zerocopy_realloc(sk, size, NULL)
#endif

/* 6.11: sysctl handlers take a const table. */
#if SDP_KERNEL(6, 11)
typedef const struct ctl_table sdp_ctl_table;
#else
typedef struct ctl_table sdp_ctl_table;
#endif

/* 6.10: accept() takes a structure. */
#if SDP_KERNEL(6, 10)
#define SDP_ACCEPT_ARGS		struct proto_accept_arg *arg
#define SDP_ACCEPT_PASS		arg
#define SDP_ACCEPT_FLAGS	(arg->flags)
#else
#define SDP_ACCEPT_ARGS		int accept_flags, bool accept_kern
#define SDP_ACCEPT_PASS		accept_flags, accept_kern
#define SDP_ACCEPT_FLAGS	accept_flags
#endif

/* 6.10: __assign_str() knows its source. */
#if SDP_KERNEL(6, 10)
#define sdp_assign_str(dst, src)	__assign_str(dst)
#else
#define sdp_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* 6.9: a handler of sock_diag has an owner, who stays loaded for its dumps. */
#if SDP_KERNEL(6, 9)
#define SDP_DIAG_OWNER		.owner = THIS_MODULE,
#else
#define SDP_DIAG_OWNER
#endif

/* 6.7: options that are one bit, of both families, are bits of inet_flags. */
#if SDP_KERNEL(6, 7)
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
#if SDP_KERNEL(6, 6)
#define SDP_CTL_SENTINEL	0
#else
#define SDP_CTL_SENTINEL	1
#define register_net_sysctl_sz(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

/* 6.5: sendpage is gone, splice and sendfile arrive as sendmsg(). */
#if SDP_KERNEL(6, 5)
#define sdp_ops_no_sendpage(ops)	do { } while (0)
#define sdp_ops_set_splice_eof(ops, fn)	((ops)->splice_eof = (fn))
#define sdp_ops_call_splice_eof(ops, sock)	((ops)->splice_eof(sock))
#define SDP_MSG_MORE			MSG_MORE
#define SDP_MSG_SPLICE_PAGES		MSG_SPLICE_PAGES
#else
#define sdp_ops_set_splice_eof(ops, fn)	do { } while (0)
#define sdp_ops_call_splice_eof(ops, sock)	do { } while (0)
#define SDP_MSG_MORE			(MSG_MORE | MSG_SENDPAGE_NOTLAST)
#define SDP_MSG_SPLICE_PAGES		0
#define sdp_ops_no_sendpage(ops)	((ops)->sendpage = sock_no_sendpage)
#define copy_splice_read		generic_file_splice_read
#endif

/* 6.4: an iterator's segments are had by a helper. */
#if SDP_KERNEL(6, 4)
#define sdp_iter_iov(iter)	iter_iov(iter)
#else
#define sdp_iter_iov(iter)	((iter)->iov)
#endif

/* Where an iterator of user memory stands, and bytes up to its segment's end. */
static inline void __user *sdp_iter_addr(const struct iov_iter *iter)
{
	if (iter_is_ubuf(iter))
		return iter->ubuf + iter->iov_offset;
	return sdp_iter_iov(iter)->iov_base + iter->iov_offset;
}

static inline size_t sdp_iter_len(const struct iov_iter *iter)
{
	if (iter_is_ubuf(iter))
		return iov_iter_count(iter);
	return min_t(size_t, iov_iter_count(iter),
		     sdp_iter_iov(iter)->iov_len - iter->iov_offset);
}

#endif
