// SPDX-License-Identifier: GPL-2.0
/*
 * The server of sdp_bench: for each transport a port that does what a request asks
 * for, one that only holds its connections, and one that closes them at once.
 * Where accept() and close() of one process get in each other's way, as librdmacm's
 * do, a port has a process of its own.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"

struct held {
	pthread_mutex_t lock;
	void **conns;
	int n;
};

static struct held held[NTRANSPORTS];

struct serving {
	const struct transport *t;
	int index;
	void *listener;
	void *conn;
};

static void drop_held(void)
{
	int i, j;

	for (i = 0; i < NTRANSPORTS; i++) {
		pthread_mutex_lock(&held[i].lock);
		for (j = 0; j < held[i].n; j++)
			transports[i]->close(held[i].conns[j]);
		free(held[i].conns);
		held[i].conns = NULL;
		held[i].n = 0;
		pthread_mutex_unlock(&held[i].lock);
	}
}

static void serve_request(const struct transport *t, void *c, const struct request *r)
{
	struct memory m;
	struct usage u;
	uint64_t i;

	switch (r->op) {
	case OP_PING:
		for (i = 0; i < r->count; i++) {
			recv_exact(t, c, r->size);
			t->send(c, NULL, r->size);
		}
		break;
	case OP_STREAM:
		recv_stream(t, c, r->size, r->count);
		t->send(c, NULL, 1);
		break;
	case OP_MEMORY:
		m = memory_now();
		t->send(c, &m, sizeof(m));
		break;
	case OP_DROP:
		drop_held();
		t->send(c, NULL, 1);
		break;
	case OP_USAGE:
		u = usage_now();
		t->send(c, &u, sizeof(u));
		break;
	}
}

static void *serve_conn(void *arg)
{
	struct serving *s = arg;
	struct request r;

	while (s->t->recv_some(s->conn, sizeof(r))) {
		memcpy(&r, s->t->data(s->conn), sizeof(r));
		serve_request(s->t, s->conn, &r);
	}
	s->t->close(s->conn);
	free(s);
	return NULL;
}

static void *serve_transport(void *arg)
{
	struct serving *s = arg, *mine;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		mine = malloc(sizeof(*mine));
		*mine = *s;
		mine->conn = s->t->accept(s->listener);
		if (pthread_create(&thread, &attr, serve_conn, mine))
			die("no thread");
	}
	return NULL;
}

static void *hold_transport(void *arg)
{
	struct serving *s = arg;
	struct held *h = &held[s->index];
	void *c;

	while (s->t->one_by_one)
		pause();	/* connections come about without accept() */
	for (;;) {
		c = s->t->accept(s->listener);
		pthread_mutex_lock(&h->lock);
		h->conns = realloc(h->conns, (h->n + 1) * sizeof(*h->conns));
		h->conns[h->n++] = c;
		pthread_mutex_unlock(&h->lock);
	}
	return NULL;
}

static void *close_transport(void *arg)
{
	struct serving *s = arg;

	for (;;)
		s->t->close(s->t->accept(s->listener));
	return NULL;
}

static bool offered(int transport, int what)
{
	const struct transport *t = transports[transport];

	return what == PORT_SERVE || (what == PORT_HOLD ? t->can_idle : t->can_connect);
}

static struct serving *start_listening(int transport, int what)
{
	struct serving *s = calloc(1, sizeof(*s));

	s->t = transports[transport];
	s->index = transport;
	s->listener = s->t->listen(port_of(transport, what));
	return s;
}

/* What librdmacm has accepted, and nobody has asked for, waits in a pair of sockets
 * that are made with the listener: hundreds are to find room.
 */
static struct serving *start_queueing(int transport, int what)
{
	static const char path[] = "/proc/sys/net/core/wmem_default";
	FILE *f = fopen(path, "r+");
	struct serving *s;
	int was;

	if (!f || fscanf(f, "%d", &was) != 1)
		die("%s: %s", path, strerror(errno));
	rewind(f);
	fprintf(f, "%d\n", 16 << 20);
	fflush(f);
	s = start_listening(transport, what);
	rewind(f);
	fprintf(f, "%d\n", was);
	fclose(f);
	return s;
}

/* In a process of its own; returns when it listens. */
static void serve_apart(int transport, int what, void *(*does)(void *))
{
	int listens[2];
	struct serving *s;
	char byte = 0;

	if (pipe(listens))
		die("no pipe");
	switch (fork()) {
	case -1:
		die("no process");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		s = start_queueing(transport, what);
		if (write(listens[1], &byte, 1) != 1)
			die("nobody waits");
		does(s);
	}
	close(listens[1]);
	if (read(listens[0], &byte, 1) != 1)
		die("%s: nobody listens", transports[transport]->name);
	close(listens[0]);
}

void serve(const bool *chosen)
{
	static void *(*const does[])(void *) = {
		[PORT_SERVE] = serve_transport, [PORT_HOLD] = hold_transport,
		[PORT_CLOSE] = close_transport,
	};
	pthread_t thread;
	int i, n, what;

	/* Before there are threads here. */
	for (i = 0; i < NTRANSPORTS; i++)
		for (what = PORT_HOLD; what <= PORT_CLOSE && chosen[i]; what++)
			if (offered(i, what) && transports[i]->one_by_one)
				serve_apart(i, what, does[what]);
	for (i = 0; i < NTRANSPORTS; i++) {
		pthread_mutex_init(&held[i].lock, NULL);
		for (what = PORT_SERVE; what <= PORT_CLOSE && chosen[i]; what++) {
			struct serving *s;

			if (!offered(i, what) ||
			    (what != PORT_SERVE && transports[i]->one_by_one))
				continue;
			s = start_listening(i, what);
			for (n = what == PORT_CLOSE ? AT_ONCE : 1; n; n--)
				if (pthread_create(&thread, NULL, does[what], s))
					die("no thread");
		}
	}
	/* The control port comes last: who reaches it reaches all. */
	struct serving control = {
		.t = &over_tcp, .listener = over_tcp.listen(opt.port + PORT_CONTROL),
	};

	serve_transport(&control);
}
