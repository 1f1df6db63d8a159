/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A socket and its connection: who is told what, names, limits.
 */
#ifndef _SDP_SK_CONN_H
#define _SDP_SK_CONN_H

#include "sdp_ulp.h"

void sdp_sk_conn_graft(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn);

/* Told by a connection with a socket; @upper is its struct sdp_sk. */
extern const struct sdp_conn_ops sdp_sk_conn_ops;
bool sdp_sk_conn_failed(struct sdp_conn *conn, struct sdp_sk *ssk);

/**
 * sdp_sk_conn_ended() - the same, for who has not the socket lock
 * @ssk: ours
 *
 * Context: any.
 * Return: true if the error has been put into sk_err.  Who finds it false is
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

/**
 * sdp_sk_conn_is_eof() - will nothing more be received?
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
	       test_bit(SDP_CONN_EOF, &conn->flags) ||
	       READ_ONCE(conn->err);
}

/**
 * sdp_sk_conn_is_over() - is it at its end, where a TCP would be in CLOSE?
 * @conn: the connection of a socket
 *
 * Context: any.
 * Return: true if it has failed, or both sides have ended it.
 */
static inline bool sdp_sk_conn_is_over(const struct sdp_conn *conn)
{
	enum sdp_state state = sdp_conn_state(conn);

	return READ_ONCE(conn->err) || state == SDP_CLOSED ||
	       state >= SDP_TIME_WAIT_1;
}

/**
 * sdp_sk_conn_cannot_send() - is sending an error?
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
	       READ_ONCE(conn->err);
}

/**
 * sdp_sk_conn_sync_buffers() - what the user has set by SO_SNDBUF and SO_RCVBUF
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
 * sdp_sk_conn_sync_stamps() - what the user has set by SO_TIMESTAMP and its kin
 * @sk: the sock
 * @conn: the connection
 *
 * Nothing of ours is called when these are set: each call that comes after it looks.
 *
 * Context: any.
 */
static inline void sdp_sk_conn_sync_stamps(const struct sock *sk,
					   struct sdp_conn *conn)
{
	bool stamps = sock_flag(sk, SOCK_RCVTSTAMP) ||
		      READ_ONCE(sk->sk_tsflags) & SOF_TIMESTAMPING_RX_SOFTWARE;

	if (unlikely(stamps != READ_ONCE(conn->stamps)))
		WRITE_ONCE(conn->stamps, stamps);
}

#endif
