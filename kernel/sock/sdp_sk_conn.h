/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A socket and its connection: calls up, addresses, limits; see sdp_sk_conn.c.
 */
#ifndef _SDP_SK_CONN_H
#define _SDP_SK_CONN_H

#include "sdp_ulp.h"

void sdp_sk_conn_graft(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn);

/* For a connection that has a socket; @upper is its struct sdp_sk. */
extern const struct sdp_conn_ops sdp_sk_conn_ops;
bool sdp_sk_conn_failed(struct sdp_conn *conn, struct sdp_sk *ssk);

/**
 * sdp_sk_conn_ended() - whether the connection's error is in sk_err
 * @ssk: the socket's SDP state
 *
 * For callers without the socket lock; see sdp_sk_conn_failed().
 *
 * Context: any.
 * Return: true if the error has been put into sk_err.  If false, the socket is
 * woken when it changes.
 */
static inline bool sdp_sk_conn_ended(const struct sdp_sk *ssk)
{
	return smp_load_acquire(&ssk->reported);	/* then sk_err is set */
}

void sdp_sk_conn_set_names(struct sock *sk, const struct sdp_conn *conn);
void sdp_sk_conn_sync_alive(const struct sock *sk, struct sdp_conn *conn);
void sdp_sk_conn_set_buffers(const struct sock *sk, struct sdp_conn *conn);
void sdp_sk_conn_set_limits(const struct sock *sk, struct sdp_conn *conn);
void sdp_sk_conn_set_conn(struct sdp_sk *ssk, struct sdp_conn *conn);
struct sdp_conn *sdp_sk_conn_conn_get(struct sdp_sk *ssk);
u32 sdp_sk_conn_readable(const struct sock *sk, struct sdp_conn *conn);
bool sdp_sk_conn_is_readable(const struct sock *sk, struct sdp_conn *conn);
u8 sdp_sk_conn_delay(const struct sock *sk, int flags);
void sdp_sk_conn_cut(struct sdp_sk *ssk, bool orderly);
void sdp_sk_conn_abort(struct sock *sk, struct sdp_sk *ssk, bool orderly);

/**
 * sdp_sk_conn_is_eof() - whether nothing more will be received
 * @sk: its socket
 * @conn: the connection
 *
 * Context: any.
 * Return: true if so; what has arrived may be unread yet.
 */
static inline bool sdp_sk_conn_is_eof(const struct sock *sk,
				      const struct sdp_conn *conn)
{
	return sk->sk_shutdown & RCV_SHUTDOWN ||
	       sdp_conn_is_eof(conn) ||
	       sdp_conn_err(conn);
}

/**
 * sdp_sk_conn_cannot_send() - whether sending is an error
 * @sk: its socket
 * @conn: the connection
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool sdp_sk_conn_cannot_send(const struct sock *sk,
					   const struct sdp_conn *conn)
{
	return sk->sk_err || sk->sk_shutdown & SEND_SHUTDOWN ||
	       sdp_conn_err(conn);
}

/**
 * sdp_sk_conn_sync_buffers() - pass on SO_SNDBUF and SO_RCVBUF that the user has set
 * @sk: locked
 * @conn: the connection
 *
 * Context: process.
 */
static inline void sdp_sk_conn_sync_buffers(const struct sock *sk,
					    struct sdp_conn *conn)
{
	if (unlikely(sk->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK)))
		sdp_sk_conn_set_buffers(sk, conn);
}

/**
 * sdp_sk_conn_sync_stamps() - pass on SO_TIMESTAMP and its kin
 * @sk: the sock
 * @conn: the connection
 *
 * Nothing of ours is called when these options are set, so each later call
 * looks.
 *
 * Context: any.
 */
static inline void sdp_sk_conn_sync_stamps(const struct sock *sk,
					   struct sdp_conn *conn)
{
	bool stamps = sock_flag(sk, SOCK_RCVTSTAMP) ||
		      READ_ONCE(sk->sk_tsflags) & SOF_TIMESTAMPING_RX_SOFTWARE;

	sdp_conn_set_stamps(conn, stamps);
}

#endif
