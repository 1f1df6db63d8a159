// SPDX-License-Identifier: GPL-2.0
/*
 * Raw verbs: SENDs over a reliable connection, from and into registered memory, nothing
 * copied.  What any protocol on SENDs costs at least.  The libraries are loaded when they
 * are asked for.
 *
 * A receive is always there before its SEND.  Each immediate tells how many buffers the
 * sender of it has posted again, and an empty message does when half of them wait to be
 * told of.  A buffer is posted again when its message is taken, and told of only with the
 * next message that is sent: until then the reader may look at it.
 *
 * One thread does all of a connection; exchange() is both directions at once by one.
 * There is one buffer to send from, and what is under way lies in it: who writes it again
 * waits for the sends first, see settle().
 *
 * The peer tells its largest message in the private data of the CM.  Longer ones go in
 * several SENDs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "transport.h"

enum {
	LEAST = 4096,		/* of a SEND's payload, and the most: */
	MOST = 1 << 20,
	SLOTS = 16,		/* messages that the peer may have under way */
	SPARE = 4,		/* receives for empty messages */
	SQ = 64,
	SIGNAL_EACH = 8,
	INLINE_MAX = 64,
	RESOLVE_MS = 5000,
};

enum { OF_SENDS, OF_RECEIVES, QUEUES };

struct verbs {
	const struct plan *plan;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel[QUEUES];
	struct ibv_cq *cq[QUEUES];
	int epoll[QUEUES];
	struct ibv_mr *out_mr, *in_mr;
	char *out, *in;
	uint32_t most;		/* payload of a SEND */
	bool alone;		/* this host has one processor */
	int credits;		/* messages that may be sent */
	int owed;		/* buffers posted, not told of */
	int unsignalled, outstanding;
	char word;
	struct ibv_mr *word_mr;
	char by[IBV_SYSFS_NAME_MAX + 8];
};

static struct {
	int (*create_id)(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			 void *context, enum rdma_port_space ps);
	int (*bind_addr)(struct rdma_cm_id *id, struct sockaddr *addr);
	int (*listen)(struct rdma_cm_id *id, int backlog);
	int (*get_request)(struct rdma_cm_id *listen, struct rdma_cm_id **id);
	int (*accept)(struct rdma_cm_id *id, struct rdma_conn_param *param);
	int (*resolve_addr)(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
			    int timeout_ms);
	int (*resolve_route)(struct rdma_cm_id *id, int timeout_ms);
	int (*connect)(struct rdma_cm_id *id, struct rdma_conn_param *param);
	int (*create_qp)(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
	struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length, int access);
	int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context);
	void (*ack_cq_events)(struct ibv_cq *cq, unsigned int n);
} lib;

static void load(void)
{
	void *cm, *verbs;

	if (lib.create_id)
		return;
	verbs = library_open("libibverbs.so.1", "libibverbs1");
	lib.create_comp_channel = library_symbol(verbs, "ibv_create_comp_channel");
	lib.create_cq = library_symbol(verbs, "ibv_create_cq");
	lib.reg_mr = library_symbol(verbs, "ibv_reg_mr");
	lib.get_cq_event = library_symbol(verbs, "ibv_get_cq_event");
	lib.ack_cq_events = library_symbol(verbs, "ibv_ack_cq_events");
	cm = library_open("librdmacm.so.1", "librdmacm1");
	lib.bind_addr = library_symbol(cm, "rdma_bind_addr");
	lib.listen = library_symbol(cm, "rdma_listen");
	lib.get_request = library_symbol(cm, "rdma_get_request");
	lib.accept = library_symbol(cm, "rdma_accept");
	lib.resolve_addr = library_symbol(cm, "rdma_resolve_addr");
	lib.resolve_route = library_symbol(cm, "rdma_resolve_route");
	lib.connect = library_symbol(cm, "rdma_connect");
	lib.create_qp = library_symbol(cm, "rdma_create_qp");
	lib.create_id = library_symbol(cm, "rdma_create_id");
}

static void post_recv(struct verbs *v, int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)v->in + (size_t)slot * v->most, .lkey = v->in_mr->lkey,
		.length = v->most,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_recv(v->id->qp, &wr, &bad);

	if (err)
		fail("post_recv: %s", strerror(err));
}

static void make_queue(struct verbs *v, int which)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int entries = which == OF_SENDS ? SQ : SLOTS + SPARE;

	v->channel[which] = lib.create_comp_channel(v->id->verbs);
	if (!v->channel[which])
		fail("completion channel: %s", strerror(errno));
	v->cq[which] = lib.create_cq(v->id->verbs, entries, NULL, v->channel[which], 0);
	if (!v->cq[which] || ibv_req_notify_cq(v->cq[which], 0))
		fail("completion queue: %s", strerror(errno));
	v->epoll[which] = -1;
	if (v->plan->wait != WAIT_EPOLL)
		return;
	v->epoll[which] = epoll_create1(EPOLL_CLOEXEC);
	if (v->epoll[which] < 0 ||
	    epoll_ctl(v->epoll[which], EPOLL_CTL_ADD, v->channel[which]->fd, &ev))
		fail("epoll: %s", strerror(errno));
}

static struct ibv_mr *make_memory(struct verbs *v, void *at, size_t size)
{
	struct ibv_mr *mr;

	memset(at, 1, size);
	mr = lib.reg_mr(v->id->pd, at, size, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		fail("registration of %zu bytes: %s: see ulimit -l", size, strerror(errno));
	return mr;
}

static struct verbs *new_verbs(struct rdma_cm_id *id, const struct plan *plan)
{
	struct verbs *v = need(calloc(1, sizeof(*v)));
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SQ, .max_recv_wr = SLOTS + SPARE,
			 .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = INLINE_MAX },
	};
	size_t largest = (plan->largest + LEAST - 1) & ~(size_t)(LEAST - 1);
	size_t in;
	int i;

	v->id = id;
	v->plan = plan;
	v->alone = machine_processors() == 1;
	v->most = largest < MOST ? largest : MOST;
	make_queue(v, OF_SENDS);
	make_queue(v, OF_RECEIVES);
	attr.send_cq = v->cq[OF_SENDS];
	attr.recv_cq = v->cq[OF_RECEIVES];
	if (lib.create_qp(id, NULL, &attr))
		fail("queue pair: %s", strerror(errno));
	in = (size_t)(SLOTS + SPARE) * v->most;
	v->out = need(aligned_alloc(LEAST, largest));
	v->in = need(aligned_alloc(LEAST, in));
	v->out_mr = make_memory(v, v->out, largest);
	v->in_mr = make_memory(v, v->in, in);
	v->word_mr = make_memory(v, &v->word, 1);
	for (i = 0; i < SLOTS + SPARE; i++)
		post_recv(v, i);
	v->credits = SLOTS;
	snprintf(v->by, sizeof(v->by), "%s/%d", id->verbs->device->name, id->port_num);
	return v;
}

static struct rdma_conn_param param(const uint32_t *most)
{
	return (struct rdma_conn_param) {
		.private_data = most, .private_data_len = sizeof(*most),
		.retry_count = 7, .rnr_retry_count = 7,
	};
}

/* Both ends have the same plan, unless the other one is no sdp_perf. */
static void hear(struct verbs *v, const struct rdma_conn_param *said)
{
	uint32_t most = 0;

	if (said->private_data_len >= sizeof(most))
		memcpy(&most, said->private_data, sizeof(most));
	if (ntohl(most) != v->most)
		fail("the other end does not send messages of %u bytes", v->most);
}

struct verbs_listener {
	struct rdma_cm_id *id;
	const struct plan *plan;
};

static void *verbs_listen(const struct plan *plan, struct place *at)
{
	struct verbs_listener *l = need(calloc(1, sizeof(*l)));
	const struct sockaddr *is;

	load();
	l->plan = plan;
	/* Without an event channel the calls wait for their events. */
	if (lib.create_id(NULL, &l->id, NULL, RDMA_PS_TCP))
		fail("no RDMA connection manager: %s (modprobe rdma_ucm)", strerror(errno));
	if (lib.bind_addr(l->id, (struct sockaddr *)&at->ss) || lib.listen(l->id, 128))
		fail("listen: %s (is there an RDMA device with this address?)", strerror(errno));
	is = rdma_get_local_addr(l->id);
	at->len = is->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
		sizeof(struct sockaddr_in);
	memcpy(&at->ss, is, at->len);
	return l;
}

static void *verbs_accept(void *listener)
{
	struct verbs_listener *l = listener;
	struct rdma_conn_param answer;
	struct rdma_cm_id *id;
	struct verbs *v;
	uint32_t most;

	if (lib.get_request(l->id, &id))
		fail("request: %s", strerror(errno));
	v = new_verbs(id, l->plan);
	hear(v, &id->event->param.conn);
	most = htonl(v->most);
	answer = param(&most);
	if (lib.accept(id, &answer))
		fail("accept: %s", strerror(errno));
	return v;
}

static void *verbs_connect(const struct plan *plan, const struct place *at)
{
	struct place to = *at;
	struct rdma_conn_param request;
	struct rdma_cm_id *id;
	struct verbs *v;
	uint32_t most;

	load();
	if (lib.create_id(NULL, &id, NULL, RDMA_PS_TCP))
		fail("no RDMA connection manager: %s (modprobe rdma_ucm)", strerror(errno));
	if (lib.resolve_addr(id, NULL, (struct sockaddr *)&to.ss, RESOLVE_MS) ||
	    lib.resolve_route(id, RESOLVE_MS))
		fail("resolve: %s (does an RDMA device reach this address?)", strerror(errno));
	v = new_verbs(id, plan);
	most = htonl(v->most);
	request = param(&most);
	if (lib.connect(id, &request))
		fail("connect: %s", strerror(errno));
	hear(v, &id->event->param.conn);
	return v;
}

/* Until there may be a completion. */
static void wait_for(struct verbs *v, int which)
{
	struct epoll_event ev;
	struct ibv_cq *cq;
	void *context;

	if (v->plan->wait == WAIT_POLL) {
		/* Who is to send, and soft-RoCE, need the processor too. */
		if (v->alone)
			sched_yield();
		return;
	}
	if (v->epoll[which] >= 0)
		while (epoll_wait(v->epoll[which], &ev, 1, -1) < 0)
			if (errno != EINTR)
				fail("epoll: %s", strerror(errno));
	if (lib.get_cq_event(v->channel[which], &cq, &context))
		fail("completion event: %s", strerror(errno));
	lib.ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		fail("completion queue: no event can be asked for");
}

/* The next completion; false: there is none now, and nobody waits. */
static bool next(struct verbs *v, int which, bool wait, struct ibv_wc *wc)
{
	int n;

	for (;;) {
		n = ibv_poll_cq(v->cq[which], 1, wc);
		if (n < 0)
			fail("completion queue: it cannot be read");
		if (n && wc->status != IBV_WC_SUCCESS)
			lost("a work request was not done: the other end has gone, or an error");
		if (n || !wait)
			return n;
		wait_for(v, which);
	}
}

static void reap_sends(struct verbs *v, bool wait)
{
	struct ibv_wc wc;

	while (next(v, OF_SENDS, wait, &wc)) {
		v->outstanding -= wc.wr_id;
		wait = false;
	}
}

/* @must: its completion is wanted soon. */
static void post_send(struct verbs *v, const char *from, size_t size, uint32_t key, bool must)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from, .length = size, .lkey = key };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = !!size, .opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(v->owed),
		.send_flags = size <= INLINE_MAX ? IBV_SEND_INLINE : 0,
	}, *bad;
	int err;

	if (v->outstanding > SQ - 2 * SIGNAL_EACH)
		reap_sends(v, v->outstanding > SQ - SIGNAL_EACH);
	v->unsignalled++;
	v->outstanding++;
	if (must || v->unsignalled == SIGNAL_EACH) {
		wr.send_flags |= IBV_SEND_SIGNALED;
		wr.wr_id = v->unsignalled;	/* so many are over then */
		v->unsignalled = 0;
	}
	v->owed = 0;
	err = ibv_post_send(v->id->qp, &wr, &bad);
	if (err)
		fail("post_send: %s", strerror(err));
}

/* One arrival: how many bytes, 0 of an empty one; -1: none is there. */
static long arrival(struct verbs *v, bool wait, char **data)
{
	struct ibv_wc wc;

	if (!next(v, OF_RECEIVES, wait, &wc))
		return -1;
	v->credits += ntohl(wc.imm_data);
	*data = v->in + (size_t)wc.wr_id * v->most;
	post_recv(v, wc.wr_id);
	if (wc.byte_len)
		v->owed++;
	return wc.byte_len;
}

/* @must: see post_send(); of the last one. */
static void send_from(struct verbs *v, const char *from, size_t size, uint32_t key, bool must)
{
	char *data;
	size_t n;

	while (size) {
		n = size < v->most ? size : v->most;
		while (!v->credits)	/* only an empty message can come here */
			if (arrival(v, true, &data) > 0)
				fail("the other end sends where it should read");
		v->credits--;
		post_send(v, from, n, key, must && n == size);
		from += n;
		size -= n;
	}
}

static void verbs_send(void *conn, size_t size)
{
	struct verbs *v = conn;

	/* If the buffer is to be written again, all is to complete. */
	send_from(v, v->out, size, v->out_mr->lkey, v->plan->touch);
}

static void verbs_send_word(void *conn)
{
	struct verbs *v = conn;

	send_from(v, &v->word, 1, v->word_mr->lkey, false);
}

static void verbs_settle(void *conn)
{
	struct verbs *v = conn;

	while (v->outstanding > v->unsignalled)
		reap_sends(v, true);
}

static void tell(struct verbs *v)
{
	if (v->owed >= SLOTS / 2)
		post_send(v, NULL, 0, 0, false);
}

static size_t verbs_recv(void *conn, size_t size, char **data)
{
	struct verbs *v = conn;
	long n;

	tell(v);
	do {
		n = arrival(v, true, data);
	} while (!n);
	if ((size_t)n > size)
		fail("a message of %ld bytes, which should be of %zu at most", n, size);
	return n;
}

static void verbs_exchange(void *conn, uint32_t size, uint64_t count,
			   void (*piece)(const char *data, size_t n, uint64_t at, void *with),
			   void *with)
{
	struct verbs *v = conn;
	uint64_t total = size * count, out = 0, in = 0;
	char *data;
	size_t n, at;
	bool may, wait;
	long came;

	while (out < total || in < total) {
		may = out < total && v->credits;
		if (may) {
			at = out % size;
			n = size - at < v->most ? size - at : v->most;
			v->credits--;
			post_send(v, v->out + at, n, v->out_mr->lkey, false);
			out += n;
		}
		/* All that is there, but what comes behind it; asleep only where nothing
		 * can be sent.
		 */
		for (wait = !may; out < total || in < total; wait = false) {
			came = arrival(v, wait, &data);
			if (came < 0)
				break;
			if ((uint64_t)came > total - in)
				fail("more came than was sent");
			if (came)
				piece(data, came, in, with);
			in += came;
			tell(v);
		}
	}
}

static void verbs_check(void *conn, bool after_connect)
{
	(void)conn;
	(void)after_connect;
}

static const char *verbs_by(void *conn)
{
	struct verbs *v = conn;

	return v->by;
}

static char *verbs_buffer(void *conn)
{
	struct verbs *v = conn;

	return v->out;
}

/* The end of the process does it: the CM would wait for the other end. */
static void verbs_close(void *conn)
{
	(void)conn;
}

const struct transport over_verbs = {
	.name = "verbs", .no_connections = true, .listen = verbs_listen, .accept = verbs_accept,
	.connect = verbs_connect, .close = verbs_close, .check = verbs_check, .by = verbs_by,
	.buffer = verbs_buffer, .send = verbs_send, .settle = verbs_settle,
	.recv = verbs_recv, .send_word = verbs_send_word, .exchange = verbs_exchange,
};
