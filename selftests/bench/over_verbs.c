// SPDX-License-Identifier: GPL-2.0
/*
 * Raw verbs: SENDs over a reliable connection, from and into registered
 * memory, nothing copied, asleep on the completion channel when there is
 * nothing to do.  What any protocol on SENDs costs at least.
 *
 * And the same by RDMA: the sender writes into the receiver's memory, or tells
 * the receiver, who reads from the sender's.  What zero copy costs at least,
 * where memory is registered once and for all.
 *
 * Perftest's event mode measures the same, but not interleaved with others,
 * not as a stream that is never ahead of the receiver's buffers, and its
 * clock is the processor's cycle counter.
 *
 * A receive is always there before its SEND: each immediate tells how many
 * buffers the sender of it has posted again, and an empty message does when
 * half of them wait to be told of.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "bench.h"

enum {
	VERBS_MAX = 1 << 20,	/* bytes of one message; what is longer goes in several */
	SLOTS = 16,		/* messages that the peer may have under way */
	SPARE = 4,		/* receives for empty messages */
	SQ = 64 + SLOTS,	/* and the reads */
	SIGNAL_EACH = 8,
	INLINE_MAX = 64,
	IN_BYTES = (SLOTS + SPARE + 1) * VERBS_MAX,
};

enum way { BY_SEND, BY_WRITE, BY_READ };

/* Where the other side's memory is, in network order: private data of the CM. */
struct there {
	uint64_t in, out;
	uint32_t in_key, out_key;
} __attribute__((packed));

struct verbs {
	enum way way;
	struct there there;
	unsigned int written;			/* slots of it, by us */
	unsigned int filled;			/* slots of ours, by the other side */
	int reading;				/* reads under way */
	int nread, first_read;			/* and those that are done: */
	uint32_t read[SLOTS];			/* their lengths */
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel[2];
	struct ibv_cq *cq[2];			/* of sends, of receives */
	struct ibv_mr *out_mr, *in_mr;
	char *out, *in;
	const char *last;			/* the message received last */
	int credits;				/* messages that may be sent */
	int owed;				/* buffers posted, not told of */
	int unsignalled, outstanding;
};

enum { OF_SENDS, OF_RECEIVES };

/* Where a message is received: behind what is read into, if anything is. */
static char *place(const struct verbs *v, int slot)
{
	if (v->way == BY_READ)
		return v->in + (size_t)(SLOTS + SPARE) * VERBS_MAX + (size_t)slot * INLINE_MAX;
	return v->in + (size_t)slot * VERBS_MAX;
}

static void post_recv(struct verbs *v, int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)place(v, slot), .lkey = v->in_mr->lkey,
		.length = v->way == BY_READ ? INLINE_MAX : VERBS_MAX,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(v->id->qp, &wr, &bad))
		die("verbs: post_recv: %s", strerror(errno));
}

static void *verbs_new(struct rdma_cm_id *id, enum way way)
{
	struct verbs *v = calloc(1, sizeof(*v));
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SQ, .max_recv_wr = SLOTS + SPARE,
			 .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = INLINE_MAX },
	};
	int i;

	v->id = id;
	v->way = way;
	for (i = 0; i < 2; i++) {
		v->channel[i] = ibv_create_comp_channel(id->verbs);
		v->cq[i] = v->channel[i] ? ibv_create_cq(id->verbs, SQ, NULL, v->channel[i], 0) :
			NULL;
		if (!v->cq[i] || ibv_req_notify_cq(v->cq[i], 0))
			die("verbs: completion queue: %s", strerror(errno));
	}
	attr.send_cq = v->cq[OF_SENDS];
	attr.recv_cq = v->cq[OF_RECEIVES];
	if (rdma_create_qp(id, NULL, &attr))
		die("verbs: queue pair: %s", strerror(errno));
	v->out = aligned_alloc(4096, VERBS_MAX);
	v->in = aligned_alloc(4096, IN_BYTES);
	if (!v->out || !v->in)
		die("verbs: no memory");
	memset(v->out, 1, VERBS_MAX);
	v->out_mr = ibv_reg_mr(id->pd, v->out, VERBS_MAX,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	v->in_mr = ibv_reg_mr(id->pd, v->in, IN_BYTES,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!v->out_mr || !v->in_mr)
		die("verbs: registration: %s", strerror(errno));
	for (i = 0; i < SLOTS + SPARE; i++)
		post_recv(v, i);
	v->credits = SLOTS;
	return v;
}

static void *verbs_listen(int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct rdma_cm_id *id;

	/* Without an event channel the calls wait for their events. */
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&in) || rdma_listen(id, 16))
		die("verbs: port %d: %s", port, strerror(errno));
	return id;
}

static struct there here(const struct verbs *v)
{
	return (struct there) {
		htobe64((uintptr_t)v->in), htobe64((uintptr_t)v->out),
		htobe32(v->in_mr->rkey), htobe32(v->out_mr->rkey),
	};
}

/* What the other side said in its request, or its answer. */
static void hear(struct verbs *v, const struct rdma_conn_param *param)
{
	if (param->private_data_len < sizeof(v->there))
		die("verbs: the other side does not say where its memory is");
	memcpy(&v->there, param->private_data, sizeof(v->there));
}

static struct rdma_conn_param param(const struct there *mine)
{
	return (struct rdma_conn_param) {
		.private_data = mine, .private_data_len = sizeof(*mine),
		.retry_count = 7, .rnr_retry_count = 7,
		.initiator_depth = SLOTS, .responder_resources = SLOTS,
	};
}

static void *accept_by(void *listener, enum way way)
{
	struct rdma_conn_param answer;
	struct rdma_cm_id *id;
	struct there mine;
	struct verbs *v;

	if (rdma_get_request(listener, &id))
		die("verbs: request: %s", strerror(errno));
	v = verbs_new(id, way);
	hear(v, &id->event->param.conn);
	mine = here(v);
	answer = param(&mine);
	if (rdma_accept(id, &answer))
		die("verbs: accept: %s", strerror(errno));
	return v;
}

static void *connect_by(const char *host, int port, enum way way)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct rdma_conn_param request;
	struct there mine;
	struct rdma_cm_id *id;
	struct verbs *v;

	if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
		die("\"%s\" is no IPv4 address", host);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 5000) ||
	    rdma_resolve_route(id, 5000))
		die("verbs: %s: %s", host, strerror(errno));
	v = verbs_new(id, way);
	mine = here(v);
	request = param(&mine);
	if (rdma_connect(id, &request))
		die("verbs: connect: %s", strerror(errno));
	hear(v, &id->event->param.conn);
	return v;
}

/* The next completion of a queue; sleeps if @wait.  False: none, or the end. */
static bool next(struct verbs *v, int which, bool wait, struct ibv_wc *wc)
{
	struct ibv_cq *cq = v->cq[which];
	void *ctx;
	int n;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		if (n > 0)
			return wc->status == IBV_WC_SUCCESS;
		if (n < 0)
			die("verbs: poll: %s", strerror(errno));
		if (!wait)
			return false;
		if (ibv_get_cq_event(v->channel[which], &cq, &ctx))
			die("verbs: event: %s", strerror(errno));
		ibv_ack_cq_events(cq, 1);
		if (ibv_req_notify_cq(cq, 0))
			die("verbs: arm: %s", strerror(errno));
	}
}

static void reap_sends(struct verbs *v, bool wait)
{
	struct ibv_wc wc;

	while (next(v, OF_SENDS, wait, &wc)) {
		if (wc.opcode == IBV_WC_RDMA_READ) {
			v->reading--;
			v->nread++;	/* they end in order */
		} else {
			v->outstanding -= SIGNAL_EACH;
		}
		wait = false;
	}
}

static void post_send(struct verbs *v, size_t size)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)v->out, .length = size, .lkey = v->out_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = !!size, .opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(v->owed),
		.send_flags = size <= INLINE_MAX ? IBV_SEND_INLINE : 0,
	}, *bad;
	uint32_t told = size;

	if (size && v->way == BY_WRITE) {
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.wr.rdma.remote_addr = be64toh(v->there.in) +
			(uint64_t)(v->written++ % SLOTS) * VERBS_MAX;
		wr.wr.rdma.rkey = be32toh(v->there.in_key);
	} else if (size && v->way == BY_READ) {
		sge.addr = (uintptr_t)&told;
		sge.length = sizeof(told);
		wr.send_flags = IBV_SEND_INLINE;
	}
	if (v->outstanding > SQ - SLOTS - 2 * SIGNAL_EACH)
		reap_sends(v, v->outstanding > SQ - SLOTS - SIGNAL_EACH);
	if (++v->unsignalled == SIGNAL_EACH) {
		wr.send_flags |= IBV_SEND_SIGNALED;
		v->unsignalled = 0;
	}
	v->outstanding++;
	v->owed = 0;
	if (ibv_post_send(v->id->qp, &wr, &bad))
		die("verbs: post_send: %s", strerror(errno));
}

/* Read what the message tells of, into a slot of its own; the length. */
static uint32_t post_read(struct verbs *v)
{
	int slot = (v->first_read + v->nread + v->reading) % SLOTS;
	struct ibv_sge sge = {
		.addr = (uintptr_t)v->in + (size_t)slot * VERBS_MAX, .lkey = v->in_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = be64toh(v->there.out),
			     .rkey = be32toh(v->there.out_key) },
	}, *bad;

	memcpy(&sge.length, v->last, sizeof(sge.length));
	v->read[slot] = sge.length;
	v->reading++;
	if (ibv_post_send(v->id->qp, &wr, &bad))
		die("verbs: read: %s", strerror(errno));
	return sge.length;
}

/* One arrival; the length of its payload, -1 at the end of the connection. */
static long arrival(struct verbs *v, bool wait)
{
	struct ibv_wc wc;
	size_t size;

	if (!next(v, OF_RECEIVES, wait, &wc))
		return -1;
	size = wc.byte_len;
	v->credits += ntohl(wc.imm_data);
	v->last = place(v, wc.wr_id);
	if (size && v->way == BY_WRITE)
		v->last = v->in + (size_t)(v->filled++ % SLOTS) * VERBS_MAX;
	else if (size && v->way == BY_READ)
		size = post_read(v);
	post_recv(v, wc.wr_id);
	if (size && v->way != BY_READ)
		v->owed++;
	return size;
}

static void verbs_send(void *conn, const void *data, size_t size)
{
	struct verbs *v = conn;

	while (size) {
		size_t n = size < VERBS_MAX ? size : VERBS_MAX;

		while (!v->credits)	/* only an empty message can come here */
			if (arrival(v, true) < 0)
				die("verbs: the other side has gone");
		if (data) {
			memcpy(v->out, data, n);
			data = (const char *)data + n;
		}
		v->credits--;
		post_send(v, n);
		size -= n;
	}
}

/* The messages that have come are read, all at a time; the oldest is returned. */
static size_t recv_by_read(struct verbs *v)
{
	int slot;
	long n;

	do {
		n = arrival(v, !v->reading && !v->nread);
	} while (n > 0 || (!n && !v->reading && !v->nread));
	if (!v->nread && !v->reading)
		return 0;
	while (!v->nread)
		reap_sends(v, true);
	/* It is not needed there any more. */
	if (++v->owed >= SLOTS / 2)
		post_send(v, 0);
	slot = v->first_read;
	v->first_read = (slot + 1) % SLOTS;
	v->nread--;
	v->last = v->in + (size_t)slot * VERBS_MAX;
	return v->read[slot];
}

static size_t verbs_recv_some(void *conn, size_t size)
{
	struct verbs *v = conn;
	long n;

	(void)size;
	if (v->way == BY_READ)
		return recv_by_read(v);
	if (v->owed >= SLOTS / 2)
		post_send(v, 0);
	do {
		n = arrival(v, true);
	} while (!n);
	return n < 0 ? 0 : n;
}

static const void *verbs_data(void *conn)
{
	struct verbs *v = conn;

	return v->last;
}

static void verbs_close(void *conn)
{
	struct verbs *v = conn;
	int i;

	rdma_disconnect(v->id);
	rdma_destroy_qp(v->id);
	ibv_dereg_mr(v->out_mr);
	ibv_dereg_mr(v->in_mr);
	for (i = 0; i < 2; i++) {
		ibv_destroy_cq(v->cq[i]);
		ibv_destroy_comp_channel(v->channel[i]);
	}
	rdma_destroy_id(v->id);
	free(v->out);
	free(v->in);
	free(v);
}

static void *accept_send(void *listener)
{
	return accept_by(listener, BY_SEND);
}

static void *connect_send(const char *host, int port)
{
	return connect_by(host, port, BY_SEND);
}

static void *accept_write(void *listener)
{
	return accept_by(listener, BY_WRITE);
}

static void *connect_write(const char *host, int port)
{
	return connect_by(host, port, BY_WRITE);
}

static void *accept_read(void *listener)
{
	return accept_by(listener, BY_READ);
}

static void *connect_read(const char *host, int port)
{
	return connect_by(host, port, BY_READ);
}

#define OVER_VERBS(_name, _way)						\
	{								\
		.name = (_name), .listen = verbs_listen,		\
		.accept = accept_ ## _way, .connect = connect_ ## _way,	\
		.send = verbs_send, .recv_some = verbs_recv_some,	\
		.data = verbs_data, .close = verbs_close,		\
	}

const struct transport over_verbs = OVER_VERBS("verbs", send);
const struct transport over_verbs_write = OVER_VERBS("verbs-write", write);
const struct transport over_verbs_read = OVER_VERBS("verbs-read", read);
