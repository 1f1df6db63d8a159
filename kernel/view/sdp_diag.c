// SPDX-License-Identifier: GPL-2.0
/*
 * sock_diag for family 27: a dump of listeners, connections and joined sockets,
 * or of the sockets that TCP took over.
 *
 * AF_INET belongs to inet_diag, whose tables do not know our connections, so
 * this family number, which no socket reports, stands for "all that is SDP".
 * A joined socket is in those tables too, as the TCP socket that it is.
 *
 * A dump that does not fit one message goes on where it stopped.  cb->args[0]
 * is the place of the next listener, cb->args[1] that of the next connection,
 * cb->args[2] that of the next joined socket; for sockets that fell back
 * cb->args[0] is the serial number of the next record.  So the work grows with
 * the number of entries only, and no lock is held but that of the entry that is
 * copied.  What exists from the beginning to the end is shown once.  What comes
 * or goes meanwhile may be missed, as everywhere in sock_diag.
 */
#include <linux/module.h>
#include <linux/net.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/ipv6.h>
#include <net/netlink.h>
#include "sdp_conn_info.h"
#include "sdp_fallback_log.h"
#include "sdp_join.h"
#include "sdp_sk_conn.h"
#include "sdp_stream.h"
#include "sdp_view.h"

static u32 sdp_diag_bit(u8 state)
{
	return state == SDP_DIAG_LISTEN ? BIT(31) : BIT(state);
}

static void sdp_diag_fill_sk(struct sdp_diag_msg *msg, struct sdp_sk *ssk)
{
	struct sock *sk;

	lockdep_assert_held(&ssk->lock);
	sk = ssk->sk;
	msg->sdm_ulp = ssk->by_ulp;
	if (!sk)
		return;
	msg->sdm_family = sk->sk_family;
	msg->sdm_inode = sock_i_ino(sk);
}

static int sdp_diag_put(struct sk_buff *skb, struct netlink_callback *cb,
			const struct sdp_diag_msg *msg)
{
	struct nlmsghdr *nlh;

	nlh = nlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			SOCK_DIAG_BY_FAMILY, sizeof(*msg), NLM_F_MULTI);
	if (!nlh)
		return -EMSGSIZE;
	memcpy(nlmsg_data(nlh), msg, sizeof(*msg));
	nlmsg_end(skb, nlh);
	return 0;
}

static void sdp_diag_fill_listener(struct sdp_diag_msg *msg,
				   struct sdp_sk *ssk,
				   struct user_namespace *ns)
{
	struct sock *sk;

	memset(msg, 0, sizeof(*msg));
	msg->sdm_state = SDP_DIAG_LISTEN;
	spin_lock_bh(&ssk->lock);
	sdp_diag_fill_sk(msg, ssk);
	sk = ssk->sk;
	if (sk) {
		struct inet_sock *inet = inet_sk(sk);
		struct in6_addr *to = (struct in6_addr *)msg->sdm_saddr;

		msg->sdm_sport = htons(READ_ONCE(ssk->port));
		msg->sdm_uid = from_kuid_munged(ns, sk_uid(sk));
		msg->sdm_backlog = READ_ONCE(sk->sk_max_ack_backlog);
		msg->sdm_acceptq = ssk->acceptable;
		if (sk->sk_family == AF_INET6)
			*to = sk->sk_v6_rcv_saddr;
		else
			ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, to);
	}
	spin_unlock_bh(&ssk->lock);
}

static void sdp_diag_fill_addrs(struct sdp_diag_msg *msg, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct in6_addr *from = (struct in6_addr *)msg->sdm_saddr;
	struct in6_addr *to = (struct in6_addr *)msg->sdm_daddr;

	msg->sdm_sport = inet->inet_sport;
	msg->sdm_dport = inet->inet_dport;
	if (sk->sk_family == AF_INET6) {
		*from = sk->sk_v6_rcv_saddr;
		*to = sk->sk_v6_daddr;
	} else {
		ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, from);
		ipv6_addr_set_v4mapped(inet->inet_daddr, to);
	}
}

/* false: it is not joined yet, or not any more. */
static bool sdp_diag_fill_joined(struct sdp_diag_msg *msg, struct sdp_sk *ssk,
				 struct user_namespace *ns)
{
	bool joined;

	memset(msg, 0, sizeof(*msg));
	spin_lock_bh(&ssk->lock);
	joined = ssk->sk && sdp_join_get(ssk);
	if (joined) {
		sdp_diag_fill_sk(msg, ssk);
		sdp_diag_fill_addrs(msg, ssk->sk);
		msg->sdm_uid = from_kuid_munged(ns, sk_uid(ssk->sk));
		sdp_join_stream_ops.info(ssk, &msg->sdm_info);
		msg->sdm_state = msg->sdm_info.sdpi_state;
	}
	spin_unlock_bh(&ssk->lock);
	return joined;
}

static void sdp_diag_fill_upper(void *upper, void *msg)
{
	struct sdp_sk *ssk = upper;

	spin_lock(&ssk->lock);
	sdp_diag_fill_sk(msg, ssk);
	spin_unlock(&ssk->lock);
}

static void sdp_diag_fill_conn(struct sdp_diag_msg *msg, struct sdp_conn *conn,
			       struct user_namespace *ns)
{
	memset(msg, 0, sizeof(*msg));
	msg->sdm_family = conn->family;
	sdp_conn_info(conn, &msg->sdm_info);
	msg->sdm_state = msg->sdm_info.sdpi_state;
	msg->sdm_sport = conn->local.port;
	msg->sdm_dport = conn->remote.port;
	memcpy(msg->sdm_saddr, &conn->local.ip, sizeof(msg->sdm_saddr));
	memcpy(msg->sdm_daddr, &conn->remote.ip, sizeof(msg->sdm_daddr));
	msg->sdm_uid = from_kuid_munged(ns, conn->uid);
	sdp_conn_with_upper(conn, &sdp_sk_conn_ops, sdp_diag_fill_upper, msg);
}

static void sdp_diag_fill_record(struct sdp_diag_msg *msg,
				 const struct sdp_fallback_entry *record,
				 struct user_namespace *ns)
{
	memset(msg, 0, sizeof(*msg));
	msg->sdm_family = record->family;
	msg->sdm_state = SDP_DIAG_FALLBACK;
	msg->sdm_ulp = record->by_ulp;
	msg->sdm_sport = record->sport;
	msg->sdm_dport = record->dport;
	memcpy(msg->sdm_saddr, &record->saddr, sizeof(msg->sdm_saddr));
	memcpy(msg->sdm_daddr, &record->daddr, sizeof(msg->sdm_daddr));
	msg->sdm_uid = from_kuid_munged(ns, record->uid);
	msg->sdm_inode = record->inode;
	msg->sdm_age = ktime_get_seconds() - record->since;
	msg->sdm_info.sdpi_transport = SDP_TRANSPORT_TCP;
	msg->sdm_info.sdpi_reason = record->reason;
}

/* The first socket of @all from @place on, referenced; @place is set to its own. */
static struct sdp_sk *sdp_diag_sk(struct xarray *all, long *place)
{
	unsigned long at;
	struct sdp_sk *ssk;

	rcu_read_lock();
	xa_for_each_start(all, at, ssk, *place)
		if (refcount_inc_not_zero(&ssk->ref))
			break;
	rcu_read_unlock();
	*place = at;
	return ssk;
}

static struct sdp_conn *sdp_diag_conn(struct sdp_net *sn, long *place)
{
	struct sdp_conn *conn;
	unsigned long at;

	rcu_read_lock();
	xa_for_each_start(&sn->all_conns, at, conn, *place)
		if (refcount_inc_not_zero(&conn->ref))
			break;
	rcu_read_unlock();
	*place = at;
	return conn;
}

static int sdp_diag_dump_listeners(struct sk_buff *skb,
				   struct netlink_callback *cb)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	struct sdp_net *sn = sdp_net(sock_net(cb->skb->sk));
	struct sdp_diag_msg msg;
	struct sdp_sk *ssk;
	int err;

	while ((ssk = sdp_diag_sk(&sn->all_listeners, &cb->args[0]))) {
		sdp_diag_fill_listener(&msg, ssk, ns);
		sdp_ulp_put(ssk);
		err = sdp_diag_put(skb, cb, &msg);
		if (err)
			return err;
		cb->args[0]++;
		cond_resched();
	}
	return 0;
}

static int sdp_diag_dump_conns(struct sk_buff *skb,
			       struct netlink_callback *cb, u32 states)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	struct sdp_net *sn = sdp_net(sock_net(cb->skb->sk));
	struct sdp_diag_msg msg;
	struct sdp_conn *conn;
	int err;

	while ((conn = sdp_diag_conn(sn, &cb->args[1]))) {
		sdp_diag_fill_conn(&msg, conn, ns);
		sdp_conn_put(conn);
		err = states & sdp_diag_bit(msg.sdm_state) ?
		      sdp_diag_put(skb, cb, &msg) : 0;
		if (err)
			return err;
		cb->args[1]++;
		cond_resched();
	}
	return 0;
}

static int sdp_diag_dump_joined(struct sk_buff *skb,
				struct netlink_callback *cb, u32 states)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	struct sdp_net *sn = sdp_net(sock_net(cb->skb->sk));
	struct sdp_diag_msg msg;
	struct sdp_sk *ssk;
	bool wanted;
	int err;

	while ((ssk = sdp_diag_sk(&sn->all_joined, &cb->args[2]))) {
		wanted = sdp_diag_fill_joined(&msg, ssk, ns) &&
			 states & sdp_diag_bit(msg.sdm_state);
		sdp_ulp_put(ssk);
		err = wanted ? sdp_diag_put(skb, cb, &msg) : 0;
		if (err)
			return err;
		cb->args[2]++;
		cond_resched();
	}
	return 0;
}

static int sdp_diag_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct sdp_diag_req *req = nlmsg_data(cb->nlh);
	u32 states = req->sdr_states ?: U32_MAX;
	int err = 0;

	if (states & BIT(31))
		err = sdp_diag_dump_listeners(skb, cb);
	if (!err)
		err = sdp_diag_dump_conns(skb, cb, states);
	if (!err)
		sdp_diag_dump_joined(skb, cb, states);
	return skb->len;
}

static int sdp_diag_dump_records(struct sk_buff *skb,
				 struct netlink_callback *cb)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	struct sdp_net *sn = sdp_net(sock_net(cb->skb->sk));
	struct sdp_fallback_entry record;
	struct sdp_diag_msg msg;

	while (sdp_fallback_log_next(sn, cb->args[0], &record)) {
		sdp_diag_fill_record(&msg, &record, ns);
		if (sdp_diag_put(skb, cb, &msg))
			break;
		cb->args[0] = record.serial + 1;
		cond_resched();
	}
	return skb->len;
}

static int sdp_diag_request(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	const struct sdp_diag_req *req = nlmsg_data(nlh);
	struct netlink_dump_control control = {
		.dump	= sdp_diag_dump,
		.module	= THIS_MODULE,
	};

	if (nlmsg_len(nlh) < (int)sizeof(*req))
		return -EINVAL;
	if (!(nlh->nlmsg_flags & NLM_F_DUMP))
		return -EOPNOTSUPP;
	if (req->sdr_what > SDP_DIAG_FALLBACKS)
		return -EINVAL;
	if (req->sdr_what == SDP_DIAG_FALLBACKS)
		control.dump = sdp_diag_dump_records;
	return netlink_dump_start(sock_net(skb->sk)->diag_nlsk, skb, nlh,
				  &control);
}

static const struct sock_diag_handler sdp_diag_handler = {
	SDP_DIAG_OWNER
	.family	= AF_INET_SDP,
	.dump	= sdp_diag_request,
};

/**
 * sdp_diag_init() - answer sock_diag requests for family 27
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_diag_init(void)
{
	return sock_diag_register(&sdp_diag_handler);
}

/**
 * sdp_diag_exit() - undo sdp_diag_init()
 *
 * Context: process.
 */
void sdp_diag_exit(void)
{
	sock_diag_unregister(&sdp_diag_handler);
}
