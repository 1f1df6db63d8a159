// SPDX-License-Identifier: GPL-2.0
/*
 * Socket options.
 *
 * Almost all are TCP's: they are stored in the sock and read from there.  Ours
 * are SDP_INFO, SDP_FALLBACK and SDP_ZCOPY.  A few of TCP's are refused or
 * corrected while SDP carries the stream, because sk_state is CLOSE then and
 * TCP would act on it.
 *
 * A socket that fell back calls nothing of ours, and an unknown level ends in
 * TCP.  But options that netfilter's users register at SOL_IP and SOL_IPV6 work
 * on any socket.  So SDP_INFO has a second name there (IP_SDP_INFO), for
 * sockets of which only a record is left.
 */
#include <linux/netfilter.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include "sdp_fallback_log.h"
#include "sdp_join.h"
#include "sdp_opt.h"
#include "sdp_stream.h"

static void sdp_opt_fill_info(struct sock *sk, struct sdp_sk *ssk,
			      struct sdp_info *info)
{
	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN)
		info->sdpi_state = SDP_DIAG_LISTEN;
	ssk->stream->info(ssk, info);
	info->sdpi_reason = ssk->reason;
	release_sock(sk);
}

static int sdp_opt_get_info(struct sock *sk, struct sdp_sk *ssk,
			    char __user *optval, int __user *optlen)
{
	struct sdp_info info = {};
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 8)
		return -EINVAL;
	sdp_opt_fill_info(sk, ssk, &info);
	len = min_t(int, len, sizeof(info));
	if (copy_to_user(optval, &info, len) || put_user(len, optlen))
		return -EFAULT;
	return 0;
}

static int sdp_opt_get_int(int value, char __user *optval, int __user *optlen)
{
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min_t(int, len, sizeof(value));
	if (copy_to_user(optval, &value, len) || put_user(len, optlen))
		return -EFAULT;
	return 0;
}

static int sdp_opt_set_fallback(struct sock *sk, struct sdp_sk *ssk,
				sockptr_t optval, unsigned int optlen)
{
	int value, err = 0;

	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	if (value != 0 && value != 1)
		return -EINVAL;
	lock_sock(sk);
	if (ssk->mode != SDP_SK_IDLE || sk->sk_state != TCP_CLOSE)
		err = -EISCONN;
	else
		WRITE_ONCE(ssk->fallback, value);
	release_sock(sk);
	return err;
}

static int sdp_opt_set_zcopy(struct sock *sk, struct sdp_sk *ssk,
			     sockptr_t optval, unsigned int optlen)
{
	int value;

	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	if (value < -1)
		return -EINVAL;
	lock_sock(sk);
	WRITE_ONCE(ssk->zcopy, value);
	ssk->stream->zcopy(ssk);
	release_sock(sk);
	return 0;
}

static int sdp_opt_set(struct sock *sk, struct sdp_sk *ssk, int optname,
		       sockptr_t optval, unsigned int optlen)
{
	switch (optname) {
	case SDP_FALLBACK:
		return sdp_opt_set_fallback(sk, ssk, optval, optlen);
	case SDP_ZCOPY:
		return sdp_opt_set_zcopy(sk, ssk, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}

static int sdp_opt_get(struct sock *sk, struct sdp_sk *ssk, int optname,
		       char __user *optval, int __user *optlen)
{
	switch (optname) {
	case SDP_INFO:
		return sdp_opt_get_info(sk, ssk, optval, optlen);
	case SDP_FALLBACK:
		return sdp_opt_get_int(sdp_ulp_may_fall_back(sk, ssk), optval,
				       optlen);
	case SDP_ZCOPY:
		return sdp_opt_get_int(READ_ONCE(ssk->zcopy), optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}

static bool sdp_opt_active(const struct sdp_sk *ssk)
{
	u8 mode = READ_ONCE(ssk->mode);

	return mode == SDP_SK_CONNECTING || mode == SDP_SK_CONNECTED;
}

/* Whether it is joined: TCP's state is real, but bytes go by a pipe. */
static bool sdp_opt_joined(const struct sdp_sk *ssk)
{
	return READ_ONCE(ssk->mode) == SDP_SK_JOINED;
}

/* The state that TCP would be in. */
static u8 sdp_opt_state(struct sdp_sk *ssk)
{
	switch (READ_ONCE(ssk->mode)) {
	case SDP_SK_CONNECTED:
		return ssk->stream->state(ssk);
	case SDP_SK_CONNECTING:
		return TCP_SYN_SENT;
	default:
		return TCP_CLOSE;
	}
}

/* Apply an option that TCP has stored to the stream. */
static void sdp_opt_apply(struct sock *sk, struct sdp_sk *ssk, int optname)
{
	switch (optname) {
	case TCP_NODELAY:
	case TCP_CORK:
	case TCP_KEEPIDLE:
	case TCP_USER_TIMEOUT:
	case TCP_NOTSENT_LOWAT:
		lock_sock(sk);
		if (ssk->mode == SDP_SK_CONNECTED)
			ssk->stream->option(sk, ssk, optname);
		release_sock(sk);
		break;
	default:
		break;
	}
}

/*
 * TCP judges these options by sk_state, which is CLOSE while SDP carries the
 * stream, or is about to.  Return TCP's error for a connected socket; 0: TCP
 * decides.
 */
static int sdp_opt_refuses(struct sdp_sk *ssk, int optname, sockptr_t optval,
			   unsigned int optlen)
{
	int value, err;

	switch (optname) {
	case TCP_REPAIR:
		return sdp_opt_active(ssk) ? -EOPNOTSUPP : 0;
	case TCP_FASTOPEN:
	case TCP_FASTOPEN_CONNECT:
	case TCP_FASTOPEN_NO_COOKIE:
	case TCP_QUEUE_SEQ:
	case TCP_WINDOW_CLAMP:
		err = optname == TCP_QUEUE_SEQ ? -EPERM : -EINVAL;
		break;
#ifdef CONFIG_TCP_AO
	/* The first key has to be there before the connection is. */
	case TCP_AO_ADD_KEY:
	case TCP_AO_DEL_KEY:
	case TCP_AO_INFO:
		err = -EISCONN;
		break;
#endif
	default:
		return 0;
	}
	if (!sdp_opt_active(ssk) || sdp_opt_state(ssk) == TCP_CLOSE)
		return 0;
	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	if (optname == TCP_WINDOW_CLAMP && value)
		return 0;
	return err;
}

/*
 * As sdp_opt_refuses(), for IPV6_ADDRFORM: it would put TCP's operations in the
 * place of ours where the connection is by IPv4.
 */
static int sdp_opt_refuses_v6(struct sock *sk, struct sdp_sk *ssk, int optname,
			      sockptr_t optval, unsigned int optlen)
{
	int value;

	if (optname != IPV6_ADDRFORM || sk->sk_family != AF_INET6 ||
	    !sdp_opt_active(ssk) || sdp_opt_state(ssk) != TCP_ESTABLISHED)
		return 0;
	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	if (value != PF_INET)
		return 0;
	return ipv6_only_sock(sk) || !ipv6_addr_v4mapped(&sk->sk_v6_daddr) ?
	       -EADDRNOTAVAIL : -EOPNOTSUPP;
}

/* Whether the value of an option is this one; false too if it cannot be read. */
static bool sdp_opt_is(sockptr_t optval, unsigned int optlen, int value)
{
	int set;

	return optlen >= sizeof(set) && !copy_from_sockptr(&set, optval, sizeof(set)) &&
	       set == value;
}

/* Whether TCP_ULP names another user of the slot. */
static bool sdp_opt_names_another(sockptr_t optval, unsigned int optlen)
{
	char name[TCP_ULP_NAME_MAX] = "";
	int len = min_t(unsigned int, optlen, sizeof(name) - 1);

	return len && !copy_from_sockptr(name, optval, len) && strcmp(name, SDP_ULP_NAME);
}

/*
 * These options need a connected socket as TCP's altogether.  One that is joined, or
 * may be, is given back first; the rest is TCP's to judge.  0: go on, or the
 * option's error.
 */
static int sdp_opt_give_back(struct socket *sock, struct sdp_sk *ssk, int level,
			     int optname, sockptr_t optval, unsigned int optlen)
{
	struct sock *sk = sock->sk;
	bool repair = level == SOL_TCP && optname == TCP_REPAIR;
	int err;

	if (READ_ONCE(sk->sk_state) != TCP_ESTABLISHED)
		return 0;
	if (level == SOL_TCP && optname == TCP_ULP) {
		if (!sdp_opt_names_another(optval, optlen))
			return 0;
	} else if (repair) {
		if (!sdp_opt_is(optval, optlen, TCP_REPAIR_ON) ||
		    !ns_capable(sock_net(sk)->user_ns, CAP_NET_ADMIN))
			return 0;
	} else if (level != SOL_IPV6 || optname != IPV6_ADDRFORM ||
		   sk->sk_family != AF_INET6 || ipv6_only_sock(sk) ||
		   !ipv6_addr_v4mapped(&sk->sk_v6_daddr) ||
		   !sdp_opt_is(optval, optlen, PF_INET)) {
		return 0;
	}
	/* Who repairs reads what the peer has not got yet from TCP's queue. */
	err = sdp_join_give_back(sock, ssk, repair);
	if (err != -EBUSY)
		return err;
	return repair ? -EPERM : level == SOL_TCP ? -EEXIST : -EBUSY;
}

/**
 * sdp_setsockopt() - proto_ops.setsockopt
 * @sock: the socket
 * @level: SOL_SDP is ours, the rest TCP's
 * @optname: option
 * @optval: value
 * @optlen: its size in bytes
 *
 * Context: process.
 * Return: 0 or a negative errno; see uapi/linux/sdp.h.
 */
int sdp_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err = 0;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && level == SOL_SDP) {
		err = sdp_opt_set(sk, ssk, optname, optval, optlen);
		goto out;
	}
	if (ssk && level == SOL_TCP && optname == SDP_ZCOPY_THRESH) {
		err = sdp_opt_set(sk, ssk, SDP_ZCOPY, optval, optlen);
		goto out;
	}
	if (ssk)
		err = sdp_opt_give_back(sock, ssk, level, optname, optval, optlen);
	if (err)
		goto out;
	if (ssk && level == SOL_TCP)
		err = sdp_opt_refuses(ssk, optname, optval, optlen);
	else if (ssk && level == SOL_IPV6)
		err = sdp_opt_refuses_v6(sk, ssk, optname, optval, optlen);
	if (!err)
		err = sdp_ulp_tcp(sk)->setsockopt(sock, level, optname, optval,
						  optlen);
	if (!err && ssk && level == SOL_TCP)
		sdp_opt_apply(sk, ssk, optname);
out:
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

static int sdp_opt_get_tcp_info(struct sock *sk, struct sdp_sk *ssk,
				char __user *optval, int __user *optlen)
{
	struct tcp_info info;
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	tcp_get_info(sk, &info);
	if (!(READ_ONCE(ssk->mode) == SDP_SK_CONNECTED || sdp_opt_joined(ssk)) ||
	    !ssk->stream->tcp_info(ssk, &info))
		info.tcpi_state = sdp_opt_state(ssk);
	len = min_t(int, len, sizeof(info));
	if (put_user(len, optlen) || copy_to_user(optval, &info, len))
		return -EFAULT;
	return 0;
}

/*
 * Get an option that TCP would answer by sk_state, or by what it keeps of a
 * connection.  -ENOIOCTLCMD: TCP answers.
 */
static int sdp_opt_get_tcp(struct sock *sk, struct sdp_sk *ssk, int optname,
			   char __user *optval, int __user *optlen)
{
	u32 mss;

	if (optname == SDP_ZCOPY_THRESH)
		return sdp_opt_get(sk, ssk, SDP_ZCOPY, optval, optlen);
	if (sdp_opt_joined(ssk) && optname == TCP_ZEROCOPY_RECEIVE)
		return -EOPNOTSUPP;
	if (sdp_opt_joined(ssk) && optname == TCP_INFO)
		return sdp_opt_get_tcp_info(sk, ssk, optval, optlen);
	if (!sdp_opt_active(ssk))
		return -ENOIOCTLCMD;
	switch (optname) {
	case TCP_ZEROCOPY_RECEIVE:
		return -EOPNOTSUPP;
	case TCP_INFO:
		return sdp_opt_get_tcp_info(sk, ssk, optval, optlen);
	case TCP_MAXSEG:
		mss = ssk->stream->mss(ssk);
		if (mss)
			return sdp_opt_get_int(mss, optval, optlen);
		fallthrough;
	default:
		return -ENOIOCTLCMD;
	}
}

/**
 * sdp_getsockopt() - proto_ops.getsockopt
 * @sock: the socket
 * @level: SOL_SDP is ours, the rest TCP's
 * @optname: option
 * @optval: where to put the value
 * @optlen: size in bytes, in and out
 *
 * Context: process.
 * Return: 0 or a negative errno; see uapi/linux/sdp.h.
 */
int sdp_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && level == SOL_SDP) {
		err = sdp_opt_get(sk, ssk, optname, optval, optlen);
		goto out;
	}
	if (ssk && level == SOL_TCP) {
		err = sdp_opt_get_tcp(sk, ssk, optname, optval, optlen);
		if (err != -ENOIOCTLCMD)
			goto out;
	}
	if (ssk && level == SOL_IPV6 && optname == IPV6_ADDRFORM &&
	    sk->sk_family == AF_INET6 && sdp_opt_active(ssk) &&
	    sdp_opt_state(ssk) == TCP_ESTABLISHED) {
		err = sdp_opt_get_int(AF_INET6, optval, optlen);
		goto out;
	}
	err = sdp_ulp_tcp(sk)->getsockopt(sock, level, optname, optval, optlen);
out:
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

#if IS_ENABLED(CONFIG_NETFILTER)
/* SDP_INFO of a socket that is TCP's now, from its record. */
static int sdp_opt_recorded(struct sock *sk, struct sdp_info *info)
{
	struct sdp_fallback_entry record;

	if (!sdp_fallback_log_find(sk, &record))
		return -ENOPROTOOPT;
	info->sdpi_transport = SDP_TRANSPORT_TCP;
	info->sdpi_reason = record.reason;
	info->sdpi_state = sdp_ulp_state(sk);
	return 0;
}

static int sdp_opt_ip_get(struct sock *sk, int optname, void __user *optval,
			  int *optlen)
{
	struct sdp_info info = {};
	struct sdp_sk *ssk;
	int err = 0;

	if (!sk_is_tcp(sk))
		return -ENOPROTOOPT;
	if (*optlen < 8)
		return -EINVAL;
	ssk = sdp_ulp_get(sk);
	if (ssk)
		sdp_opt_fill_info(sk, ssk, &info);
	/* It may have fallen back while we waited for its lock. */
	if (!ssk || READ_ONCE(ssk->mode) == SDP_SK_DETACHED)
		err = sdp_opt_recorded(sk, &info);
	sdp_ulp_put(ssk);
	if (err)
		return err;
	*optlen = min_t(int, *optlen, sizeof(info));
	return copy_to_user(optval, &info, *optlen) ? -EFAULT : 0;
}

static struct nf_sockopt_ops sdp_opt_ip[] = {
	{
		.pf		= PF_INET,
		.get_optmin	= IP_SDP_INFO,
		.get_optmax	= IP_SDP_INFO + 1,
		.get		= sdp_opt_ip_get,
		.owner		= THIS_MODULE,
	}, {
		.pf		= PF_INET6,
		.get_optmin	= IP_SDP_INFO,
		.get_optmax	= IP_SDP_INFO + 1,
		.get		= sdp_opt_ip_get,
		.owner		= THIS_MODULE,
	},
};

/**
 * sdp_opt_init() - answer IP_SDP_INFO on every TCP socket
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_opt_init(void)
{
	int err;

	err = nf_register_sockopt(&sdp_opt_ip[0]);
	if (err)
		return err;
	err = nf_register_sockopt(&sdp_opt_ip[1]);
	if (err)
		nf_unregister_sockopt(&sdp_opt_ip[0]);
	return err;
}

/**
 * sdp_opt_exit() - undo sdp_opt_init()
 *
 * Context: process.
 */
void sdp_opt_exit(void)
{
	nf_unregister_sockopt(&sdp_opt_ip[1]);
	nf_unregister_sockopt(&sdp_opt_ip[0]);
}
#else
int __init sdp_opt_init(void)
{
	return 0;
}

void sdp_opt_exit(void)
{
}
#endif
