// SPDX-License-Identifier: GPL-2.0
/*
 * The client's process prints the results of both sides.  For each case it
 * opens one control connection and names the case; the server runs its side in
 * a child with the same time limit.  Lines on the control connection:
 *
 *	case NAME VARIANT	client: what follows
 *	. WORD			both: a barrier, or a value for the other side
 *	> TEXT			server: a line of diagnosis
 *	end STATUS		server: its side is over, with a KTAP status
 */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pair.h"

/* ------------------------------------------------------------ the two sides */

static struct pair_case *cases;

void pair_add(struct pair_case *c)
{
	c->next = cases;
	cases = c;
}

static const struct pair_case *find_case(const char *name)
{
	const struct pair_case *c;

	for (c = cases; c; c = c->next)
		if (!strcmp(c->name, name))
			break;
	return c;
}

/* -------------------------------------------------------- control connection */

int pair_control = -1;
static bool is_server;

static void control_addr(union addr *a)
{
	const char *ip = getenv("SDP_PAIR_SERVER"), *port = getenv("SDP_PAIR_PORT");

	addr_set(a, AF_INET, ip ?: host_addr(AF_INET, "h2"), port ? atoi(port) : 9797);
}

static void __attribute__((format(printf, 1, 2))) tell(const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	if (send(pair_control, line, n, MSG_NOSIGNAL) != n)
		FAIL("control connection: %s", ktap_errno(errno));
}

/* One line without its end; false at the end of the stream. */
static bool hear(char *line, size_t size)
{
	size_t n = 0;
	char c;

	while (recv(pair_control, &c, 1, 0) == 1) {
		if (c == '\n') {
			line[n] = '\0';
			return true;
		}
		if (n < size - 1)
			line[n++] = c;
	}
	line[n] = '\0';
	return false;
}

/* The next word of the other side, whatever comes between. */
static void next_word(char *line, size_t size)
{
	for (;;) {
		if (!hear(line, size))
			FAIL("the %s is gone", is_server ? "client" : "server");
		if (line[0] == '.') {
			memmove(line, line + 2, strlen(line) - 1);
			return;
		}
		if (line[0] == '>')
			ktap_note("server: %s", line + 2);
		else
			FAIL("the server's side is over (%s)", line);
	}
}

int meet_(const char *word)
{
	char line[256];

	tell(". %s", word);
	next_word(line, sizeof(line));
	if (strcmp(line, word))
		FAIL("barrier: this side is at \"%s\", the other at \"%s\"", word, line);
	return 0;
}

void tell_number(long long n)
{
	tell(". %lld", n);
}

long long hear_number(void)
{
	char line[256];

	next_word(line, sizeof(line));
	return atoll(line);
}

/* A failed client hears what the server has to say, then ends it. */
static void client_failed(void)
{
	struct pollfd p = { .fd = pair_control, .events = POLLIN };
	char line[1024];

	shutdown(pair_control, SHUT_WR);
	while (poll(&p, 1, ktap_ms(3000)) == 1 && hear(line, sizeof(line)))
		if (line[0] == '>')
			ktap_note("server: %s", line + 2);
}

static int control_connect(void)
{
	long long end = ktap_now() + ktap_ms(20000);
	union addr a;
	int fd;

	control_addr(&a);
	for (;;) {
		fd = OK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
		if (!connect_to(fd, &a))
			return fd;
		if (ktap_now() > end)
			FAIL("no control connection to %s: %s (sdp_pair --server is to run there)",
			     addr_text(&a), ktap_errno(errno));
		close(fd);
		usleep(20000);
	}
}

void pair_run_client(const char *name)
{
	char line[1024];

	pair_control = control_connect();
	ktap_on_fail = client_failed;
	tell("case %s %s", name, variant_name());
	find_case(name)->client();
	for (;;) {
		if (!hear(line, sizeof(line)))
			FAIL("the server is gone");
		if (line[0] == '>')
			ktap_note("server: %s", line + 2);
		else if (!strcmp(line, "end 0"))
			return;
		else if (line[0] != '.')
			FAIL("the server's side failed (%s)", line);
	}
}

/* A client that is gone ends the server's side of the case. */
static void *watch_client(void *arg)
{
	struct pollfd p = { .fd = pair_control, .events = POLLRDHUP };

	while (poll(&p, 1, -1) != 1)
		;
	_exit(KTAP_FAIL);
	return arg;
}

static void server_side(void *arg)
{
	const struct pair_case *c = arg;
	pthread_t thread;

	pthread_create(&thread, NULL, watch_client, NULL);
	c->server();
}

/* What serve() ends with then; who finds his client gone ends with KTAP_FAIL. */
enum { QUIT = 77 };

/* The server's end of one control connection. */
static int serve(void)
{
	char line[1024], name[64], word[64];
	const struct pair_case *c;
	int log, out, status, v;
	FILE *f;

	if (!hear(line, sizeof(line)))
		return 0;
	if (!strcmp(line, "quit"))
		return QUIT;
	if (sscanf(line, "case %63s %63s", name, word) != 2)
		return 0;
	c = find_case(name);
	v = variant_by_name(word);
	if (!c || v < 0) {
		tell("> no such case here: %s", line);
		tell("end %d", KTAP_FAIL);
		return 0;
	}
	variant_choose(v);
	/* What the child prints is the client's to print. */
	log = OK(memfd_create("log", MFD_CLOEXEC));
	out = OK(dup(STDOUT_FILENO));
	OK(dup2(log, STDOUT_FILENO));
	status = ktap_child(server_side, (void *)c, c->limit);
	OK(dup2(out, STDOUT_FILENO));
	lseek(log, 0, SEEK_SET);
	f = fdopen(log, "r");
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		tell("> %s", line[0] == '#' ? line + 2 : line);
	}
	tell("end %d", status);
	return 0;
}

static int server_main(void)
{
	struct pollfd p = { .events = POLLIN };
	union addr a;
	int l, status;
	pid_t pid;

	is_server = true;
	/* Each case puts back what the one before has changed. */
	variant_init();
	control_addr(&a);
	l = OK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, &a));
	OK(listen(l, 8));
	p.fd = l;
	/* Nobody comes any more: the client has died. */
	while (poll(&p, 1, ktap_ms(180000)) == 1) {
		pair_control = OK(accept4(l, NULL, NULL, SOCK_CLOEXEC));
		pid = OK(fork());
		if (!pid)
			_exit(serve());
		close(pair_control);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == QUIT) {
			variant_exit();
			return 0;
		}
	}
	fputs("sdp_pair: no client for three minutes\n", stderr);
	return 1;
}

/* -------------------------------------------------------------- for the cases */

int serve_port(int backlog)
{
	union addr a;
	int l = listener(&a, backlog);

	tell_number(addr_port(&a));
	return l;
}

void server_addr(union addr *a)
{
	addr_set(a, variant->family, host_addr(variant->family, "h2"), hear_number());
}

int connect_client_(const union addr *a)
{
	int c = sock();

	OK(connect_to(c, a));
	must_be_sdp(c);
	return c;
}

int open_client_(void)
{
	union addr a;

	server_addr(&a);
	return connect_client(&a);
}

int open_server_(void)
{
	int l = serve_port(8), s = accept_one(l);

	close(l);
	return s;
}

void linger(int fd, int seconds)
{
	struct linger l = { .l_onoff = 1, .l_linger = seconds };

	OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
}

static void shell(const char *command)
{
	int status = system(command);

	if (status)
		FAIL("%s: wait status %#x", command, status);
}

pid_t meanwhile_(const char *begin, const char *end, int ms)
{
	int begun[2];
	pid_t pid;
	char c;

	OK(pipe(begun));
	pid = OK(fork());
	if (!pid) {
		/* The case's processes are killed with its session. */
		OK(setsid());
		shell(begin);
		close(begun[1]);
		sleep_ms(ms);
		shell(end);
		_exit(0);
	}
	close(begun[1]);
	EQ(0, read(begun[0], &c, 1));
	close(begun[0]);
	return pid;
}

int device_back_(void)
{
	int l, c = -1, s = -1;
	union addr a;

	l = listener(&a, 8);
	EVENTUALLY(true, (close(c), c = sock(), !connect_to(c, &a) && is_sdp(c)));
	while (poll_one(l, POLLIN, 0)) {
		s = OK(accept(l, NULL, NULL));
		close(s);
	}
	close(c);
	close(l);
	return 0;
}

/* ----------------------------------------------------------------------- main */

int pair_main(int argc, char **argv)
{
	int ret;

	if (argc == 2 && !strcmp(argv[1], "--server"))
		return server_main();
	if (argc == 2 && !strcmp(argv[1], "--quit")) {
		pair_control = control_connect();
		tell("quit");
		return 0;
	}
	variant_init();
	ret = ktap_main(argc, argv, variant_names, NR_VARIANTS, variant_choose);
	variant_exit();
	return ret;
}
