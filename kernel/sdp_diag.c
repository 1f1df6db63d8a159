// SPDX-License-Identifier: GPL-2.0
/*
 * sock_diag for family 27: a dump of listeners and connections, or of those that
 * TCP took over.
 *
 * AF_INET belongs to inet_diag, whose tables do not know our connections, so
 * this family number, which no socket reports, stands for "all that is SDP".
 * A dump that does not fit one message goes on where it stopped, by counting:
 * cb->args[0] listeners and cb->args[1] connections were shown, or the records
 * up to the serial number cb->args[0].  What comes or goes meanwhile may be
 * missed or shown twice, as everywhere in sock_diag.
 */
#include <linux/module.h>
#include <linux/net.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/ipv6.h>
#include <net/netlink.h>
#include "sdp_link.h"
#include "sdp_opt.h"
#include "sdp_record.h"
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

static void sdp_diag_fill_conn(struct sdp_diag_msg *msg, struct sdp_conn *conn,
			       struct user_namespace *ns)
{
	memset(msg, 0, sizeof(*msg));
	msg->sdm_family = conn->family;
	sdp_opt_info(conn, &msg->sdm_info);
	msg->sdm_state = msg->sdm_info.sdpi_state;
	msg->sdm_sport = conn->local.port;
	msg->sdm_dport = conn->remote.port;
	memcpy(msg->sdm_saddr, &conn->local.ip, sizeof(msg->sdm_saddr));
	memcpy(msg->sdm_daddr, &conn->remote.ip, sizeof(msg->sdm_daddr));
	msg->sdm_uid = from_kuid_munged(ns, conn->uid);
	spin_lock_bh(&conn->up.lock);
	if (conn->up.ops == &sdp_link_ops) {
		struct sdp_sk *ssk = conn->up.upper;

		spin_lock(&ssk->lock);
		sdp_diag_fill_sk(msg, ssk);
		spin_unlock(&ssk->lock);
	}
	spin_unlock_bh(&conn->up.lock);
}

static void sdp_diag_fill_record(struct sdp_diag_msg *msg,
				 const struct sdp_record *record,
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

/* The n-th listener or connection, with a reference. */
static struct sdp_sk *sdp_diag_listener(struct sdp_net *sn, long n)
{
	struct sdp_sk *ssk;

	spin_lock_bh(&sn->list_lock);
	list_for_each_entry(ssk, &sn->listen_list, net_node)
		if (!n-- && refcount_inc_not_zero(&ssk->ref))
			goto out;
	ssk = NULL;
out:
	spin_unlock_bh(&sn->list_lock);
	return ssk;
}

static struct sdp_conn *sdp_diag_conn(struct sdp_net *sn, long n)
{
	struct sdp_conn *conn;

	spin_lock_bh(&sn->list_lock);
	list_for_each_entry(conn, &sn->conn_list, net_node)
		if (n-- <= 0 && refcount_inc_not_zero(&conn->ref))
			goto out;
	conn = NULL;
out:
	spin_unlock_bh(&sn->list_lock);
	return conn;
}

/* The one behind @conn, whose reference this takes; it keeps its place. */
static struct sdp_conn *sdp_diag_conn_after(struct sdp_net *sn,
					    struct sdp_conn *conn)
{
	struct sdp_conn *next = conn;

	spin_lock_bh(&sn->list_lock);
	list_for_each_entry_continue(next, &sn->conn_list, net_node)
		if (refcount_inc_not_zero(&next->ref))
			goto out;
	next = NULL;
out:
	spin_unlock_bh(&sn->list_lock);
	sdp_conn_put(conn);
	return next;
}

static int sdp_diag_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct sdp_diag_req *req = nlmsg_data(cb->nlh);
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	struct sdp_net *sn = sdp_net(sock_net(cb->skb->sk));
	u32 states = req->sdr_states ?: U32_MAX;
	struct sdp_diag_msg msg;
	struct sdp_conn *conn;
	struct sdp_sk *ssk;
	int err;

	while (states & BIT(31) &&
	       (ssk = sdp_diag_listener(sn, cb->args[0]))) {
		sdp_diag_fill_listener(&msg, ssk, ns);
		sdp_ulp_put(ssk);
		err = sdp_diag_put(skb, cb, &msg);
		if (err)
			return skb->len;
		cb->args[0]++;
	}
	for (conn = sdp_diag_conn(sn, cb->args[1]); conn;
	     conn = sdp_diag_conn_after(sn, conn)) {
		sdp_diag_fill_conn(&msg, conn, ns);
		err = 0;
		if (states & sdp_diag_bit(msg.sdm_state))
			err = sdp_diag_put(skb, cb, &msg);
		if (err) {
			sdp_conn_put(conn);
			return skb->len;
		}
		cb->args[1]++;
	}
	return skb->len;
}

static int sdp_diag_dump_records(struct sk_buff *skb,
				 struct netlink_callback *cb)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	struct sdp_net *sn = sdp_net(sock_net(cb->skb->sk));
	struct sdp_record record;
	struct sdp_diag_msg msg;

	while (sdp_record_next(sn, cb->args[0], &record)) {
		sdp_diag_fill_record(&msg, &record, ns);
		if (sdp_diag_put(skb, cb, &msg))
			break;
		cb->args[0] = record.serial;
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

int __init sdp_diag_init(void)
{
	return sock_diag_register(&sdp_diag_handler);
}

void sdp_diag_exit(void)
{
	sock_diag_unregister(&sdp_diag_handler);
}
