// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting: SDP first, bounded in time, then TCP where the socket may fall
 * back.
 *
 * Never both at once: TCP completes its handshake without the application, and
 * the loser would be a ghost in the server's accept queue.  The attempt over
 * SDP has been given up, and its CM id's REQ cancelled or rejected, before TCP
 * sends a SYN.
 *
 * One worker decides the outcome, under the socket lock.  If the lock is taken
 * the worker is queued again when the lock is released: it does not wait, since
 * all sockets share the workers.  Nothing of ours wakes the socket's wait queue
 * when TCP takes over: TCP does that itself, and two wake-ups would be two
 * reports to an edge-triggered poller.  Our callers that wait for the outcome
 * have a queue of their own.
 *
 * The result of each attempt is kept (sdp_dst_cache.c), and an attempt that may
 * fall back looks there first.  With net.sdp.learn a connection to an unknown
 * destination goes by TCP at once, and a probe asks the destination in the
 * background.
 *
 * A failed attempt leaves the socket as TCP would: state CLOSE, sk_err set,
 * both directions shut down, sock->state still SS_CONNECTING.  TCP's own
 * connect() then reports the error and makes the socket fresh again.
 */
#include <linux/bpf-cgroup.h>
#include <linux/inetdevice.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <net/addrconf.h>
#include <net/inet_common.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <linux/sdp.h>
#include "sdp_confirm.h"
#include "sdp_conn_info.h"
#include "sdp_connect.h"
#include "sdp_dst_cache.h"
#include "sdp_fallback_log.h"
#include "sdp_join.h"
#include "sdp_listen.h"
#include "sdp_port.h"
#include "sdp_rx.h"
#include "sdp_sk_conn.h"
#include "sdp_trace.h"

/*
 * Leave the socket as a failed attempt does.  The mode is written after these
 * fields, and sdp_poll() reads it before tcp_poll() looks at the state: so no
 * poller sees an end without its error.
 */
static void sdp_connect_set_failed(struct sock *sk, struct socket *sock, int err)
{
	sock->state = SS_CONNECTING;
	WRITE_ONCE(sk->sk_err, err);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
}

static void sdp_connect_report(struct sock *sk)
{
	sk->sk_state_change(sk);
	sk_error_report(sk);
}

/*
 * TCP's connect(), as __inet_stream_connect() calls it, but without the
 * cgroup's programs: these ran before, in the caller's name, and may have
 * written another address.
 */
static int sdp_connect_by_tcp(struct sock *sk, struct socket *sock,
			      sdp_sockaddr *addr, int len)
{
	int err = sk->sk_prot->connect(sk, addr, len);

	if (!err)
		sock->state = SS_CONNECTING;
	return err;
}

/*
 * Fall back to TCP.  @key: a destination that has refused, reached by the way
 * that all sockets take; or NULL.  A caller that waits in connect() learns
 * itself what TCP is answered: sdp_connect_confirm().
 */
static void sdp_connect_fall_back(struct sock *sk, struct socket *sock,
				  struct sdp_sk *ssk,
				  const struct sdp_dst_key *key)
{
	int err;

	sdp_count(sdp_net(sock_net(sk)), SDP_CNT_FALLBACK, 1);
	sdp_count(sdp_net(sock_net(sk)), SDP_CNT_REASON + ssk->reason, 1);
	sdp_port_put(sk, ssk);
	sock->state = SS_UNCONNECTED;
	/* The socket stays ours until TCP is in SYN_SENT: TCP's poll() would
	 * take state CLOSE for an end.  TCP's answer is not processed before
	 * the socket is released.
	 */
	err = sdp_connect_by_tcp(sk, sock, (sdp_sockaddr *)&ssk->addr,
				 ssk->addr_len);
	if (err)
		sdp_connect_set_failed(sk, sock, -err);
	else if (key && !ssk->connecting)
		sdp_confirm_later(sk, key, GFP_KERNEL);
	sdp_fallback_log_add(sk, ssk->reason, ssk->by_ulp);
	sdp_ulp_detach(sk, sock, ssk);
	if (err)
		sdp_connect_report(sk);
}

static struct sdp_dst_key sdp_connect_key(const struct sdp_addr *remote,
					  int ifindex)
{
	return (struct sdp_dst_key) {
		.ip		= remote->ip,
		.ifindex	= ifindex,
		.port		= remote->port,
	};
}

static void sdp_connect_learn(const struct sdp_conn *conn, u8 reason)
{
	struct sdp_dst_key key = sdp_connect_key(&conn->remote, conn->ifindex);

	sdp_dst_cache_learn(conn->sn, &key, reason);
}

/* Whether the socket may reach the destination by another way than the others. */
static bool sdp_connect_is_special(const struct sock *sk)
{
	return sk->sk_userlocks & SOCK_BINDADDR_LOCK ||
	       READ_ONCE(sk->sk_mark);
}

static void sdp_connect_failed(struct sock *sk, struct socket *sock,
			       struct sdp_sk *ssk, int err, u8 reason)
{
	bool tcp = sdp_ulp_may_fall_back(sk, ssk);
	struct sdp_dst_key key = {};
	bool refused = false;

	ssk->reason = reason;
	if (ssk->conn && !sdp_connect_is_special(sk)) {
		refused = reason == SDP_REASON_REFUSED;
		key = sdp_connect_key(&ssk->conn->remote, ssk->conn->ifindex);
		if (!refused)
			sdp_dst_cache_learn(ssk->conn->sn, &key, reason);
	}
	/* It counts as an attempt only if something was tried. */
	if (reason != SDP_REASON_CACHED && reason != SDP_REASON_LEARNING)
		sdp_count(sdp_net(sock_net(sk)), SDP_CNT_CONNECT_FAIL, 1);
	trace_sdp_fallback(ssk->conn ? ssk->conn->id : 0,
			   sdp_reason_word(reason), tcp);
	if (ssk->conn)
		sdp_sk_conn_cut(ssk, false);
	if (tcp) {
		sdp_connect_fall_back(sk, sock, ssk, refused ? &key : NULL);
		return;
	}
	sdp_port_put(sk, ssk);
	sdp_connect_set_failed(sk, sock, err);
	smp_store_release(&ssk->mode, SDP_SK_IDLE);	/* with sdp_poll() */
	sdp_connect_report(sk);
}

/*
 * Send the signals for what came before the mode was SDP_SK_CONNECTED; pollers
 * were woken for all of it.  sdp_conn_urgent() takes up.lock, under which the
 * calls up look at the mode: whatever a call that saw the old mode reported is
 * seen here.
 */
static void sdp_connect_catch_up(struct sock *sk, struct sdp_conn *conn)
{
	sdp_conn_urgent(conn);
	if (sdp_sk_conn_is_readable(sk, conn) || sdp_conn_is_eof(conn))
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
}

/**
 * sdp_connect_decide() - decide the outcome of connect(): SDP, TCP, or an error
 * @work: struct sdp_sk.decide
 *
 * Context: process, a worker.
 */
void sdp_connect_decide(struct work_struct *work)
{
	struct sdp_sk *ssk = container_of(work, struct sdp_sk, decide);
	struct sock *sk = ssk->decide_sk;
	struct sdp_conn *conn;
	struct socket *sock;

	if (!sdp_ulp_lock_or_later(ssk))
		return;
	sock = sk->sk_socket;	/* stable: close() orphans under the lock */
	conn = ssk->conn;
	if (ssk->mode != SDP_SK_CONNECTING || !conn || !sock ||
	    sock_flag(sk, SOCK_DEAD))
		goto out;
	if (sdp_conn_was_up(conn)) {
		sdp_connect_learn(conn, SDP_REASON_NONE);
		sdp_sk_conn_set_limits(sk, conn);
		sdp_conn_set_zcopy(conn, ssk->zcopy);
		smp_wmb();	/* addresses before mode, for readers without the lock */
		WRITE_ONCE(ssk->mode, SDP_SK_CONNECTED);
		ssk->reason = SDP_REASON_NONE;
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
		sdp_connect_catch_up(sk, conn);
		sdp_sk_conn_failed(conn, ssk);
	} else if (sdp_conn_err(conn)) {
		sdp_connect_failed(sk, sock, ssk, sdp_conn_err(conn),
				   conn->reason);
	}
out:
	wake_up_all(&ssk->wq);
	release_sock(sk);
	sock_put(sk);
	sdp_ulp_put(ssk);
}

/**
 * sdp_connect_wait() - wait while the outcome of connect() is open
 * @sk: locked; released while asleep
 * @ssk: its SDP state
 * @timeo: jiffies left; updated
 *
 * Context: process.
 * Return: 0 when it is known; -EAGAIN when the time is over, -EINTR or
 * -ERESTARTSYS on signals.
 */
int sdp_connect_wait(struct sock *sk, struct sdp_sk *ssk, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	if (ssk->mode != SDP_SK_CONNECTING)
		return 0;
	add_wait_queue(&ssk->wq, &wait);
	while (ssk->mode == SDP_SK_CONNECTING) {
		if (!*timeo) {
			err = -EAGAIN;
			break;
		}
		if (signal_pending(current)) {
			err = sock_intr_errno(*timeo);
			break;
		}
		release_sock(sk);
		if (READ_ONCE(ssk->mode) == SDP_SK_CONNECTING)
			*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
		lock_sock(sk);
	}
	remove_wait_queue(&ssk->wq, &wait);
	return err;
}

/**
 * sdp_connect_wait_tcp() - wait for TCP, which has taken over meanwhile
 * @sk: not locked
 * @events: of tcp_poll() that the caller waits for; errors and ends count too
 * @timeo: jiffies left; updated
 *
 * TCP's own calls begin with the whole time-out of the socket.  A caller that
 * has used a part of it waits here, and calls TCP when TCP does not have to
 * wait.
 *
 * Context: process, in the socket's call, and guarded by sdp_ulp_hand_on().
 * Return: 0 when there is an event; -EAGAIN when the time is over, -EINTR or
 * -ERESTARTSYS on signals.
 */
int sdp_connect_wait_tcp(struct sock *sk, __poll_t events, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	events |= EPOLLERR | EPOLLHUP;
	add_wait_queue(sk_sleep(sk), &wait);
	while (!(tcp_poll(NULL, sk->sk_socket, NULL) & events)) {
		if (!*timeo) {
			err = -EAGAIN;
			break;
		}
		if (signal_pending(current)) {
			err = sock_intr_errno(*timeo);
			break;
		}
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
}

/* Whether the socket has options that SDP cannot keep: it goes by TCP. */
static bool sdp_connect_wants_tcp(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	/* A preference of source addresses (IPV6_ADDR_PREFERENCES) works in a
	 * look-up that is given the socket; ours is not.
	 */
	if (sk->sk_family == AF_INET6 && inet6_sk(sk)->srcprefs)
		return true;
#endif
	return tp->repair || tp->fastopen_connect || sdp_ulp_needs_packets(sk);
}

/* Whether there is the one device that a link-local address needs. */
static bool sdp_connect_scope_is_clear(const struct sock *sk,
				       const struct sockaddr_in6 *sin6, int len)
{
	int bound = READ_ONCE(sk->sk_bound_dev_if);

	if (len < (int)sizeof(*sin6) || !sin6->sin6_scope_id)
		return bound;
	return !bound || bound == sin6->sin6_scope_id;
}

/* Whether SDP can try this address at all.  If not TCP reports the error. */
static bool sdp_connect_understands(const struct sock *sk,
				    const struct sockaddr *addr, int len)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	if (len > sizeof(struct sockaddr_storage))
		return false;
	if (addr->sa_family == AF_INET)
		return len >= sizeof(*sin) && sk->sk_family == AF_INET &&
		       !ipv4_is_multicast(sin->sin_addr.s_addr) &&
		       !ipv4_is_lbcast(sin->sin_addr.s_addr);
	if (addr->sa_family != AF_INET6 || sk->sk_family != AF_INET6 ||
	    len < SIN6_LEN_RFC2133)
		return false;
	if (ipv6_addr_is_multicast(&sin6->sin6_addr))
		return false;
	if (ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		return sdp_connect_scope_is_clear(sk, sin6, len);
	return !ipv6_addr_v4mapped(&sin6->sin6_addr) || !ipv6_only_sock(sk);
}

/*
 * Give the socket to TCP before it connects.  TCP's own connect(), or the
 * send() in its place, has to be the first: it may end at once, or send its SYN
 * only with the first bytes.
 */
static void sdp_connect_leave(struct sock *sk, struct socket *sock,
			      struct sdp_sk *ssk)
{
	struct sdp_net *sn = sdp_net(sock_net(sk));

	ssk->reason = READ_ONCE(sn->enable) ? SDP_REASON_OPTION :
					      SDP_REASON_FORCED;
	sdp_count(sn, SDP_CNT_CONNECT_FAIL, 1);
	sdp_count(sn, SDP_CNT_FALLBACK, 1);
	sdp_count(sn, SDP_CNT_REASON + ssk->reason, 1);
	trace_sdp_fallback(0, sdp_reason_word(ssk->reason), true);
	sdp_ulp_detach(sk, sock, ssk);
}

/* Record the fallback once TCP has set the addresses. */
static void sdp_connect_left(struct sock *sk, const struct sdp_sk *ssk)
{
	lock_sock(sk);
	sdp_fallback_log_add(sk, ssk->reason, ssk->by_ulp);
	release_sock(sk);
}

/**
 * sdp_connect_by_send() - MSG_FASTOPEN on a socket that is not connected
 * @sock: the socket
 * @ssk: its SDP state
 * @msg: of sendmsg()
 * @len: its bytes
 *
 * SDP has no Fast Open.  As in connect(), TCP takes the socket over where it
 * may, so that nothing of ours stays in it.
 *
 * Context: process.
 * Return: what TCP's sendmsg() returns, or -EOPNOTSUPP.
 */
int sdp_connect_by_send(struct socket *sock, struct sdp_sk *ssk,
			struct msghdr *msg, size_t len)
{
	const struct sockaddr *addr = msg->msg_name;
	struct sock *sk = sock->sk;
	bool left = false;
	int err = 0;

	lock_sock(sk);
	if (ssk->mode == SDP_SK_IDLE && sk->sk_state == TCP_CLOSE &&
	    sock->state == SS_UNCONNECTED && addr &&
	    msg->msg_namelen >= (int)sizeof(addr->sa_family) &&
	    sdp_connect_understands(sk, addr, msg->msg_namelen)) {
		left = sdp_ulp_may_fall_back(sk, ssk);
		if (left)
			sdp_connect_leave(sk, sock, ssk);
		else
			err = -EOPNOTSUPP;
	}
	release_sock(sk);
	if (err)
		return err;
	err = SDP_TCP_CALL(sk, sendmsg, sock, msg, len);
	if (left) {
		sdp_connect_left(sk, ssk);
		sdp_listen_check(sk, ssk);	/* as sdp_connect() does */
	}
	return err;
}

/*
 * The destination of a connection, and the options of the socket that decide
 * the route.
 */
struct sdp_connect_to {
	struct sdp_addr remote;
	struct sdp_addr local;
	int ifindex;
	u32 mark;
	u8 tos;
	u8 family;
};

static void sdp_connect_set_to(const struct sock *sk,
			       const struct sockaddr *addr, int len,
			       struct sdp_connect_to *to)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	*to = (struct sdp_connect_to) {
		.ifindex	= READ_ONCE(sk->sk_bound_dev_if),
		.mark		= READ_ONCE(sk->sk_mark),
	};
	if (inet_sk(sk)->inet_num)
		to->local.port = inet_sk(sk)->inet_sport;
	if (addr->sa_family == AF_INET) {
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &to->remote.ip);
		to->remote.port = sin->sin_port;
	} else {
		to->remote.ip = sin6->sin6_addr;
		to->remote.port = sin6->sin6_port;
		if (!to->ifindex && len >= sizeof(*sin6) &&
		    ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
			to->ifindex = sin6->sin6_scope_id;
	}
	if (ipv6_addr_v4mapped(&to->remote.ip)) {
		to->family = AF_INET;
		to->tos = READ_ONCE(inet_sk(sk)->tos);
		if (inet_sk(sk)->inet_saddr)
			ipv6_addr_set_v4mapped(inet_sk(sk)->inet_saddr,
					       &to->local.ip);
	} else {
		to->family = AF_INET6;
		to->tos = READ_ONCE(inet6_sk(sk)->tclass);
		to->local.ip = inet6_sk(sk)->saddr;
	}
}

static struct sdp_conn *sdp_connect_alloc(const struct sock *sk,
					  const struct sdp_connect_to *to,
					  unsigned int limit_ms)
{
	struct sdp_conn *conn;

	conn = sdp_conn_alloc(sdp_xport_find(sock_net(sk), &to->remote,
					     to->ifindex),
			      sock_net(sk), sk_uid(sk), sdp_rx_work, GFP_KERNEL);
	if (IS_ERR(conn))
		return conn;
	sdp_conn_own(conn);
	conn->active = true;
	conn->limit_ms = limit_ms;
	conn->remote = to->remote;
	conn->local = to->local;
	conn->ifindex = to->ifindex;
	conn->mark = to->mark;
	conn->tos = to->tos;
	conn->family = to->family;
	return conn;
}

/* Milliseconds that a probe may take at most; no caller waits for it. */
enum { SDP_CONNECT_PROBE_MS = 5000 };

/*
 * Probes under way, by accept_node; the lock is a leaf.  No socket holds the
 * module for them: sdp_connect_exit() ends them.
 */
static LIST_HEAD(sdp_connect_probes);
static DEFINE_SPINLOCK(sdp_connect_probes_lock);

/* The socket that asked went by TCP, which tells what a refusal means. */
static void sdp_connect_probe_over(struct sdp_conn *conn, struct sock *sk,
				   u8 reason)
{
	struct sdp_dst_key key = sdp_connect_key(&conn->remote, conn->ifindex);

	trace_sdp_probe(conn->id, &key.ip, ntohs(key.port),
			reason == SDP_REASON_NONE ? "sdp" :
			reason == SDP_REASON_REFUSED ? "refused" : "tcp",
			sdp_reason_word(reason));
	if (reason == SDP_REASON_REFUSED)
		sdp_confirm_later(sk, &key, GFP_ATOMIC);
	else
		sdp_dst_cache_learn(conn->sn, &key, reason);
	sock_put(sk);
}

/* A probe has its answer; under conn->up.lock.  @upper: the socket that asked. */
static void sdp_connect_probed(struct sdp_conn *conn, void *upper)
{
	/* Called more than once for one answer; the reference goes once. */
	if (!sdp_conn_first_answer(conn))
		return;
	spin_lock_bh(&sdp_connect_probes_lock);
	list_del_init(&conn->accept_node);
	spin_unlock_bh(&sdp_connect_probes_lock);
	sdp_connect_probe_over(conn, upper, conn->reason);
	sdp_conn_put(conn);	/* not the last: the transport has one */
}

static void sdp_connect_no_news(struct sdp_conn *conn, void *upper)
{
}

static const struct sdp_conn_ops sdp_connect_probe_ops = {
	.data_ready	= sdp_connect_no_news,
	.write_space	= sdp_connect_no_news,
	.state_change	= sdp_connect_no_news,
	.urgent		= sdp_connect_no_news,
	.error		= sdp_connect_probed,
};

static void sdp_connect_probe(struct sock *sk,
			      const struct sdp_connect_to *to,
			      const struct sdp_dst_key *key)
{
	struct sdp_net *sn = sdp_net(sock_net(sk));
	struct sdp_connect_to any = *to;
	struct sdp_conn *conn;

	if (!sdp_dst_cache_probing(sn, key))
		return;
	/* The answer is for all sockets that connect there, by whatever way. */
	memset(&any.local, 0, sizeof(any.local));
	any.mark = 0;
	conn = sdp_connect_alloc(sk, &any,
				 min_t(unsigned int, SDP_CONNECT_PROBE_MS,
				       READ_ONCE(sn->require_timeout)));
	if (IS_ERR(conn)) {
		sdp_dst_cache_learn(sn, key, SDP_REASON_LIMIT);
		return;
	}
	conn->probe = true;
	spin_lock_bh(&sdp_connect_probes_lock);
	list_add_tail(&conn->accept_node, &sdp_connect_probes);
	spin_unlock_bh(&sdp_connect_probes_lock);
	sock_hold(sk);
	sdp_conn_attach(conn, &sdp_connect_probe_ops, sk);
	sdp_count(sn, SDP_CNT_PROBES, 1);
	if (sdp_conn_route(conn) || sdp_conn_connect(conn)) {
		spin_lock_bh(&sdp_connect_probes_lock);
		list_del_init(&conn->accept_node);
		spin_unlock_bh(&sdp_connect_probes_lock);
		sdp_connect_probe_over(conn, sk,
				       conn->reason ?: SDP_REASON_LIMIT);
		sdp_conn_put(conn);
	}
}

/**
 * sdp_connect_exit() - end the probes that are under way
 *
 * No socket is left, so no new probe begins.
 *
 * Context: process.
 */
void sdp_connect_exit(void)
{
	struct sdp_conn *conn;

	for (;;) {
		spin_lock_bh(&sdp_connect_probes_lock);
		conn = list_first_entry_or_null(&sdp_connect_probes,
						struct sdp_conn, accept_node);
		if (conn)
			sdp_conn_get(conn);
		spin_unlock_bh(&sdp_connect_probes_lock);
		if (!conn)
			return;
		sdp_conn_refuse(conn, ECONNABORTED, SDP_REASON_LIMIT);
		sdp_conn_put(conn);
	}
}

/* The reason not to try SDP; SDP_REASON_NONE: there is none. */
static u8 sdp_connect_known(struct sock *sk,
			    const struct sdp_connect_to *to)
{
	struct sdp_net *sn = sdp_net(sock_net(sk));
	struct sdp_dst_key key = sdp_connect_key(&to->remote, to->ifindex);

	switch (sdp_dst_cache_ask(sn, &key)) {
	case SDP_PEER_TAKES:
		return SDP_REASON_NONE;
	case SDP_PEER_LACKS:
		return SDP_REASON_CACHED;
	case SDP_PEER_ASKED:
		return SDP_REASON_LEARNING;
	case SDP_PEER_UNKNOWN:
		break;
	}
	/* Without a cache the answer would be lost, and SDP never tried. */
	if (!READ_ONCE(sn->learn) || !READ_ONCE(sn->cache_max))
		return SDP_REASON_NONE;
	sdp_connect_probe(sk, to, &key);
	return SDP_REASON_LEARNING;
}

/* Begin the attempt.  sdp_connect_decide() gets its outcome. */
static void sdp_connect_try(struct sock *sk, struct socket *sock,
			    struct sdp_sk *ssk, const struct sockaddr *addr,
			    int len)
{
	struct sdp_net *sn = sdp_net(sock_net(sk));
	bool tcp = sdp_ulp_may_fall_back(sk, ssk);
	struct sdp_connect_to to;
	struct sdp_conn *conn;
	u8 reason;
	int err;

	sock->state = SS_CONNECTING;
	WRITE_ONCE(ssk->mode, SDP_SK_CONNECTING);
	if (!READ_ONCE(sn->enable)) {
		sdp_connect_failed(sk, sock, ssk, ENETUNREACH,
				   SDP_REASON_FORCED);
		return;
	}
	if (sdp_connect_wants_tcp(sk)) {
		sdp_connect_failed(sk, sock, ssk, ENETUNREACH,
				   SDP_REASON_OPTION);
		return;
	}
	sdp_connect_set_to(sk, addr, len, &to);
	reason = tcp ? sdp_connect_known(sk, &to) : SDP_REASON_NONE;
	if (reason != SDP_REASON_NONE) {
		sdp_connect_failed(sk, sock, ssk, ENETUNREACH, reason);
		return;
	}
	/* As TCP does; getsockname() takes the scope from it. */
	if (ipv6_addr_type(&to.remote.ip) & IPV6_ADDR_LINKLOCAL)
		WRITE_ONCE(sk->sk_bound_dev_if, to.ifindex);
	conn = sdp_connect_alloc(sk, &to, tcp ? READ_ONCE(sn->connect_timeout) :
						READ_ONCE(sn->require_timeout));
	if (IS_ERR(conn)) {
		sdp_connect_failed(sk, sock, ssk, -PTR_ERR(conn),
				   SDP_REASON_LIMIT);
		return;
	}
	sdp_sk_conn_set_conn(ssk, conn);
	ssk->reported = false;
	sdp_conn_attach(conn, &sdp_sk_conn_ops, ssk);
	err = sdp_conn_route(conn) ?: sdp_port_take(sk, ssk, conn);
	if (!err) {
		sdp_sk_conn_set_names(sk, conn);
		err = sdp_conn_connect(conn);
	}
	if (err)
		sdp_connect_failed(sk, sock, ssk, -err,
				   conn->reason ?: SDP_REASON_LIMIT);
}

static bool sdp_connect_is_here_v4(struct net *net, int ifindex, __be32 ip)
{
	u32 table = l3mdev_fib_table_by_index(net, ifindex) ?: RT_TABLE_LOCAL;

	return inet_addr_type_table(net, ip, table) == RTN_LOCAL;
}

static bool sdp_connect_is_here_v6(struct net *net, int ifindex,
				   const struct in6_addr *ip)
{
	bool here = false;

#if IS_ENABLED(CONFIG_IPV6)
	rcu_read_lock();
	here = ipv6_chk_addr(net, ip, dev_get_by_index_rcu(net, ifindex), 0);
	rcu_read_unlock();
#endif
	return here;
}

/*
 * Whether the destination is this host, or its part in the VRF of @ifindex; as TCP,
 * the unspecified address is.
 */
static bool sdp_connect_is_here(struct net *net, int ifindex,
				struct in6_addr *ip)
{
	__be32 v4 = ip->s6_addr32[3];

	if (ipv6_addr_v4mapped(ip)) {
		if (!v4)
			ip->s6_addr32[3] = htonl(INADDR_LOOPBACK);
		return !v4 || sdp_connect_is_here_v4(net, ifindex, v4);
	}
	if (ipv6_addr_any(ip))
		*ip = in6addr_loopback;
	return ipv6_addr_loopback(ip) || sdp_connect_is_here_v6(net, ifindex, ip);
}

/*
 * Connect inside this host.  TCP does it; where a socket of ours listens, the two
 * are joined when it accepts, and until then the slot stays.  Otherwise TCP takes
 * over.  -ENOIOCTLCMD: it is another host, or may not be TCP.
 */
static int sdp_connect_here(struct sock *sk, struct socket *sock,
			    struct sdp_sk *ssk, const struct sockaddr *addr,
			    int len)
{
	struct sdp_net *sn = sdp_net(sock_net(sk));
	struct sdp_connect_to to;
	int err;

	if (!READ_ONCE(sn->local) || !READ_ONCE(sn->enable) || ssk->join)
		return -ENOIOCTLCMD;
	sdp_connect_set_to(sk, addr, len, &to);
	if (!sdp_connect_is_here(sock_net(sk), to.ifindex, &to.remote.ip))
		return -ENOIOCTLCMD;
	if (sdp_listen_is_here(sock_net(sk), to.ifindex, &to.remote)) {
		sdp_join_connects(sk, ssk);
		err = sdp_connect_by_tcp(sk, sock, (sdp_sockaddr *)addr, len);
		if (err)
			sdp_join_abandon(sk, ssk);
		return err ?: -EINPROGRESS;
	}
	if (!sdp_ulp_may_fall_back(sk, ssk))
		return -ENOIOCTLCMD;
	sock->state = SS_CONNECTING;
	WRITE_ONCE(ssk->mode, SDP_SK_CONNECTING);
	sdp_connect_failed(sk, sock, ssk, ECONNREFUSED, SDP_REASON_LOCAL);
	return -EINPROGRESS;
}

static int sdp_connect_begin(struct sock *sk, struct socket *sock,
			     struct sdp_sk *ssk, sdp_sockaddr *uaddr, int len)
{
	struct sockaddr *addr = (struct sockaddr *)uaddr;
	int err = 0;

	if (BPF_CGROUP_PRE_CONNECT_ENABLED(sk)) {
		err = sk->sk_prot->pre_connect(sk, uaddr, len);
		/* The programs wrote an address that SDP cannot try: TCP
		 * reports the error.
		 */
		if (!err && !sdp_connect_understands(sk, addr, len))
			err = sdp_connect_by_tcp(sk, sock, uaddr, len) ?:
			      -EINPROGRESS;
		if (err)
			return err;
	}
	memcpy(&ssk->addr, uaddr, len);	/* as the programs left it, for TCP */
	ssk->addr_len = len;
	/* As tcp_connect() does: clear what an earlier connection left. */
	WRITE_ONCE(sk->sk_err, 0);
	err = sdp_connect_here(sk, sock, ssk, addr, len);
	if (err != -ENOIOCTLCMD)
		return err;
	sdp_connect_try(sk, sock, ssk, addr, len);
	return -EINPROGRESS;
}

static bool family_addr = true;
module_param(family_addr, bool, 0644);
MODULE_PARM_DESC(family_addr,
		 "0: family 27 in an address is EAFNOSUPPORT, as security modules do not know it (default 1)");

/**
 * sdp_connect_plain_addr() - turn an address into one that TCP knows
 * @ssk: the socket's SDP state, or NULL
 * @uaddr: of bind() or connect(), in kernel memory; rewritten in place
 * @len: its size in bytes
 * @binding: true for bind()
 *
 * A socket of family 27 has one family number for both kinds of address.  On
 * such a socket family 27 becomes AF_INET and v4-mapped addresses become IPv4
 * ones; so does "::" in bind() (qperf's server binds so).  On other sockets 27
 * stays, and TCP refuses it: security modules that judge by the family
 * (Landlock, Smack) have seen the address as it was, and know nothing of 27.
 *
 * Context: process.
 * Return: the new size of @uaddr in bytes.
 */
int sdp_connect_plain_addr(const struct sdp_sk *ssk, sdp_sockaddr *uaddr,
			   int len, bool binding)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)uaddr;
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (len < (int)sizeof(sin6->sin6_family))
		return len;
	if (!ssk || !ssk->historic)
		return len;
	if (sin6->sin6_family == AF_INET_SDP && READ_ONCE(family_addr))
		sin6->sin6_family = AF_INET;
	if (sin6->sin6_family != AF_INET6 || len < SIN6_LEN_RFC2133)
		return len;
	if (ipv6_addr_v4mapped(&sin6->sin6_addr))
		sin.sin_addr.s_addr = sin6->sin6_addr.s6_addr32[3];
	else if (!binding || !ipv6_addr_any(&sin6->sin6_addr))
		return len;		/* TCP says EAFNOSUPPORT */
	sin.sin_port = sin6->sin6_port;
	memcpy(uaddr, &sin, sizeof(sin));
	return sizeof(sin);
}

/*
 * Whether connect(AF_UNSPEC) sets ECONNRESET.  As in tcp_disconnect(): not if
 * the connection has failed already, or both sides have ended it.  (TCP sets it
 * then too if bytes are still unsent.)
 */
static bool sdp_connect_needs_reset(const struct sdp_sk *ssk)
{
	switch (sdp_conn_tcp_state(ssk->conn)) {
	case TCP_ESTABLISHED:
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
	case TCP_CLOSE_WAIT:
		return true;
	default:
		return ssk->mode == SDP_SK_CONNECTING;
	}
}

/* One connect() under way. */
struct sdp_connect_call {
	int flags;		/* O_NONBLOCK */
	long timeo;		/* jiffies that the call may still sleep */
	int late;		/* error to return when timeo is over */
	bool left;		/* the socket was given to TCP before it connects */
	bool waited;		/* it waited for the outcome of the attempt by SDP */
};

/* Whether TCP has connected the socket, or does, inside this host. */
static bool sdp_connect_by_join(const struct sdp_sk *ssk)
{
	return ssk->mode == SDP_SK_JOINING || ssk->mode == SDP_SK_JOINED;
}

/* connect() under the socket lock.  -ENOIOCTLCMD: TCP is to do it. */
static int __sdp_connect(struct socket *sock, struct sdp_sk *ssk,
			 sdp_sockaddr *uaddr, int len,
			 struct sdp_connect_call *call)
{
	struct sockaddr *addr = (struct sockaddr *)uaddr;
	struct sock *sk = sock->sk;
	int err;

	if (len < sizeof(addr->sa_family))
		return -EINVAL;
	if (addr->sa_family == AF_UNSPEC) {
		if (ssk->conn) {
			if (sdp_connect_needs_reset(ssk))
				WRITE_ONCE(sk->sk_err, ECONNRESET);
			sdp_sk_conn_abort(sk, ssk, false);
		} else if (sdp_connect_by_join(ssk)) {
			sdp_join_abandon(sk, ssk);
			/* Callers may still sleep by the pipe, and it may be
			 * joined again.
			 */
			if (ssk->join)
				sdp_ulp_renew(sk, ssk);
		}
		return -ENOIOCTLCMD;
	}
	if (sdp_connect_by_join(ssk)) {
		if (sk->sk_state != TCP_CLOSE || sock->state != SS_UNCONNECTED)
			return -ENOIOCTLCMD;
		sdp_join_abandon(sk, ssk); /* the last one failed, or is over */
	}
	switch (ssk->mode) {
	case SDP_SK_CONNECTED:
		err = sock->state == SS_CONNECTING ? 0 : -EISCONN;
		sock->state = SS_CONNECTED;
		return err;
	case SDP_SK_DETACHED:
		return -ENOIOCTLCMD;
	case SDP_SK_CONNECTING:
		err = -EALREADY;
		break;
	default:
		/* TCP reports the error, its own or that of an attempt that is
		 * over.  The lock stays held, lest another thread make this an
		 * attempt of TCP's.
		 */
		if (sk->sk_state != TCP_CLOSE ||
		    sock->state != SS_UNCONNECTED ||
		    !sdp_connect_understands(sk, addr, len))
			return __inet_stream_connect(sock, uaddr, len,
						     call->flags, 0);
		if (sdp_connect_wants_tcp(sk) &&
		    sdp_ulp_may_fall_back(sk, ssk)) {
			sdp_connect_leave(sk, sock, ssk);
			call->left = true;
			return -ENOIOCTLCMD;
		}
		err = sdp_connect_begin(sk, sock, ssk, uaddr, len);
		if (err != -EINPROGRESS)
			return err;
		if (sdp_connect_by_join(ssk))
			return call->timeo ? -ENOIOCTLCMD : err;
	}
	call->late = err;
	if (call->timeo) {
		int waited;

		call->waited = true;
		ssk->connecting++;
		waited = sdp_connect_wait(sk, ssk, &call->timeo);
		ssk->connecting--;
		if (waited)	/* the time is over: as without waiting */
			return waited == -EAGAIN ? err : waited;
	} else if (ssk->mode == SDP_SK_CONNECTING) {
		return err;
	}
	if (ssk->mode == SDP_SK_CONNECTED) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	/* Another thread shut it down, or dissolved it. */
	if (ssk->mode == SDP_SK_IDLE && sock->state != SS_CONNECTING)
		return sock_error(sk) ?: -ECONNABORTED;
	/* Failed: TCP reports it now, before another thread can connect the
	 * socket again, be it by TCP.
	 */
	if (sock->state == SS_CONNECTING && sk->sk_state == TCP_CLOSE)
		return __inet_stream_connect(sock, uaddr, len, O_NONBLOCK, 0);
	/* Fallen back at once: TCP's connect() would say EALREADY. */
	if (ssk->mode == SDP_SK_DETACHED && !call->timeo)
		return err;
	return -ENOIOCTLCMD;	/* fallen back: TCP waits */
}

/*
 * The socket fell back after a refusal while the caller waited, and the caller
 * has waited for TCP as well: the next connect() is to know of the refusal.
 */
static void sdp_connect_confirm(struct sock *sk, const struct sdp_sk *ssk,
				int err)
{
	struct sdp_connect_to to;
	struct sdp_dst_key key;

	if (READ_ONCE(ssk->mode) != SDP_SK_DETACHED ||
	    ssk->reason != SDP_REASON_REFUSED || sdp_connect_is_special(sk))
		return;
	sdp_connect_set_to(sk, (const struct sockaddr *)&ssk->addr,
			   ssk->addr_len, &to);
	key = sdp_connect_key(&to.remote, to.ifindex);
	if (!err)
		sdp_confirm_now(sk, &key);
	else	/* the caller may have been interrupted */
		sdp_confirm_later(sk, &key, GFP_KERNEL);
}

/**
 * sdp_connect() - proto_ops.connect
 * @sock: the socket
 * @uaddr: where to; see sdp_connect_plain_addr()
 * @addr_len: its size in bytes
 * @flags: file flags
 *
 * Context: process.
 * Return: 0 or a negative errno, as TCP's.
 */
int sdp_connect(struct socket *sock, sdp_sockaddr *uaddr, int addr_len,
		int flags)
{
	struct sock *sk = sock->sk;
	long whole = sock_sndtimeo(sk, flags & O_NONBLOCK);
	struct sdp_connect_call call = { .flags = flags, .timeo = whole };
	int err = -ENOIOCTLCMD;
	struct sdp_sk *ssk;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk) {
		addr_len = sdp_connect_plain_addr(ssk, uaddr, addr_len, false);
		lock_sock(sk);
		err = __sdp_connect(sock, ssk, uaddr, addr_len, &call);
		release_sock(sk);
	}
	if (err == -ENOIOCTLCMD && call.timeo < whole) {
		bool held = sdp_ulp_hand_on();
		int waited = sdp_connect_wait_tcp(sk, EPOLLOUT, &call.timeo);

		sdp_ulp_hand_back(held);
		if (waited)
			err = waited == -EAGAIN ? call.late : waited;
	}
	if (err == -ENOIOCTLCMD)
		err = SDP_TCP_CALL(sk, connect, sock, uaddr, addr_len, flags);
	if (call.left)
		sdp_connect_left(sk, ssk);
	if (call.waited)
		sdp_connect_confirm(sk, ssk, err);
	if (ssk)	/* AF_UNSPEC ends a listener too */
		sdp_listen_check(sk, ssk);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}
