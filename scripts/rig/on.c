// SPDX-License-Identifier: GPL-2.0
/*
 * Running commands in another guest.  "on HOST COMMAND..." obtains from the
 * agent of its own guest a connection to HOST's agent, sends arguments,
 * environment and standard input there, and copies output and exit status
 * back.  The agents ("on --agent N", one in each guest) talk over a link and in
 * a network namespace of their own, so nothing a test does to its network
 * reaches them.  A command whose "on" went away is killed with its whole
 * session; one that ends by itself leaves its background processes alone.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT_PATH	"/run/rig-agent"
#define AGENT_PORT	7
#define MAX_REQUEST	(4u << 20)
#define CHUNK		32768

enum { F_REQUEST = 1, F_STDIN, F_SIGNAL, F_STDOUT, F_STDERR, F_EXIT };

struct frame {
	uint32_t type, len;
};

/*
 * What a request frame starts with; argc arguments, envc settings and the
 * directory follow, each with its zero byte.
 */
struct request {
	uint32_t argc, envc;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "on: %s: %s\n", what, why);
	exit(125);
}

static int read_all(int fd, void *buf, size_t len)
{
	for (char *p = buf; len;) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int write_all(int fd, const void *buf, size_t len)
{
	for (const char *p = buf; len;) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd out = { .fd = fd, .events = POLLOUT };

			poll(&out, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int send_frame(int fd, uint32_t type, const void *buf, uint32_t len)
{
	struct frame f = { type, len };

	return write_all(fd, &f, sizeof(f)) || write_all(fd, buf, len) ? -1 : 0;
}

static void nodelay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static struct sockaddr_in agent_address(int host, int self)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	a.sin_port = htons(AGENT_PORT);
	a.sin_addr.s_addr = htonl(host == self ? INADDR_LOOPBACK :
				  0x0a080000u + host);	/* 10.8.0.HOST */
	return a;
}

static struct sockaddr_un agent_path(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	strcpy(a.sun_path, AGENT_PATH);
	return a;
}

/* ---- the agent: one process for each command ---- */

struct command {
	int conn;
	int in, out, err;	/* -1 once closed */
	int pidfd;
	pid_t pid;
	char pending[CHUNK];	/* standard input the command has not taken */
	size_t start, fill;
};

static char *next_string(char **p, char *end)
{
	char *s = *p;

	if (s >= end)
		_exit(125);
	*p += strlen(s) + 1;
	return s;
}

static void exec_command(char *p, char *end, int netns, int in, int out, int err)
{
	struct request rq;
	char **argv, *dir;

	memcpy(&rq, p, sizeof(rq));
	p += sizeof(rq);
	if (!rq.argc || rq.argc > MAX_REQUEST)
		_exit(125);
	argv = calloc(rq.argc + 1, sizeof(*argv));
	if (!argv || setns(netns, CLONE_NEWNET))
		_exit(125);
	for (uint32_t i = 0; i < rq.argc; i++)
		argv[i] = next_string(&p, end);
	for (uint32_t i = 0; i < rq.envc; i++)
		putenv(next_string(&p, end));
	dir = next_string(&p, end);

	setsid();
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	closefrom(3);
	signal(SIGPIPE, SIG_DFL);
	if (chdir(dir))
		fprintf(stderr, "on: %s: %s\n", dir, strerror(errno));
	execvp(argv[0], argv);
	fprintf(stderr, "on: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void start_command(struct command *c, int netns)
{
	int in[2], out[2], err[2];
	struct frame f;
	char *buf;

	if (read_all(c->conn, &f, sizeof(f)) || f.type != F_REQUEST ||
	    f.len < sizeof(struct request) || f.len > MAX_REQUEST)
		_exit(125);
	buf = calloc(1, f.len + 1);
	if (!buf || read_all(c->conn, buf, f.len))
		_exit(125);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		_exit(125);
	c->pid = fork();
	if (c->pid < 0)
		_exit(125);
	if (!c->pid)
		exec_command(buf, buf + f.len, netns, in[0], out[1], err[1]);
	free(buf);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
	fcntl(c->in, F_SETFL, O_NONBLOCK);
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	c->pidfd = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		_exit(125);
}

static void kill_session(pid_t session)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;

	while (proc && (d = readdir(proc))) {
		char path[300], stat[512], *p;
		int pid = atoi(d->d_name), sid;
		FILE *f;

		if (!pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		f = fopen(path, "r");
		if (!f)
			continue;
		p = fgets(stat, sizeof(stat), f) ? strrchr(stat, ')') : NULL;
		fclose(f);
		if (p && sscanf(p, ") %*c %*d %*d %d", &sid) == 1 && sid == session)
			kill(pid, SIGKILL);
	}
	if (proc)
		closedir(proc);
}

/* Nobody waits for the command any more. */
static void abandon(struct command *c)
{
	kill_session(c->pid);
	_exit(0);
}

static void feed_input(struct command *c)
{
	ssize_t n = write(c->in, c->pending + c->start, c->fill);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {		/* it reads no more: drop what comes */
		close(c->in);
		c->in = -1;
		c->fill = 0;
		return;
	}
	c->start += n;
	c->fill -= n;
}

static void take_frame(struct command *c)
{
	struct frame f;
	int sig;

	if (read_all(c->conn, &f, sizeof(f)) || f.len > CHUNK ||
	    read_all(c->conn, c->pending, f.len))
		abandon(c);
	if (f.type == F_SIGNAL && f.len == sizeof(sig)) {
		memcpy(&sig, c->pending, sizeof(sig));
		kill(-c->pid, sig);
	} else if (f.type == F_STDIN && c->in >= 0) {
		c->start = 0;
		c->fill = f.len;
		if (!f.len) {
			close(c->in);
			c->in = -1;
		}
	}
}

/* Returns whether there may be more at once. */
static int copy_output(struct command *c, int *fd, uint32_t type)
{
	char buf[CHUNK];
	ssize_t n;

	if (*fd < 0)
		return 0;
	n = read(*fd, buf, sizeof(buf));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close(*fd);
		*fd = -1;
		return 0;
	}
	if (send_frame(c->conn, type, buf, n))
		abandon(c);
	return 1;
}

static void serve(int conn, int netns)
{
	struct command c = { .conn = conn };
	uint32_t code;
	int status;

	nodelay(conn);
	start_command(&c, netns);
	for (;;) {
		struct pollfd p[] = {
			{ .fd = c.pidfd, .events = POLLIN },
			{ .fd = conn, .events = c.fill ? POLLRDHUP : POLLIN | POLLRDHUP },
			{ .fd = c.fill ? c.in : -1, .events = POLLOUT },
			{ .fd = c.out, .events = POLLIN },
			{ .fd = c.err, .events = POLLIN },
		};

		if (poll(p, 5, -1) < 0)
			continue;
		if (p[3].revents)
			copy_output(&c, &c.out, F_STDOUT);
		if (p[4].revents)
			copy_output(&c, &c.err, F_STDERR);
		if (p[2].revents)
			feed_input(&c);
		if (p[1].revents & ~POLLIN)
			abandon(&c);
		if (p[1].revents)
			take_frame(&c);
		if (p[0].revents)
			break;
	}
	waitpid(c.pid, &status, 0);
	while (copy_output(&c, &c.out, F_STDOUT))
		;
	while (copy_output(&c, &c.err, F_STDERR))
		;
	code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	send_frame(conn, F_EXIT, &code, sizeof(code));
	_exit(0);
}

/* A client of this guest asked for a connection to HOST: hand it over. */
static void hand_over(int client, int self)
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct sockaddr_in to;
	int host, fd, err = 0;
	struct iovec iov = { .iov_base = &err, .iov_len = sizeof(err) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (read_all(client, &host, sizeof(host)))
		_exit(1);
	to = agent_address(host, self);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (void *)&to, sizeof(to))) {
		err = errno;
	} else {
		struct cmsghdr *cm;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	}
	sendmsg(client, &m, 0);
	_exit(0);
}

static void agent(int self)
{
	struct sockaddr_in any = agent_address(0, -1);
	struct sockaddr_un path = agent_path();
	int netns = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	any.sin_addr.s_addr = INADDR_ANY;
	if (netns < 0 || bind(tcp, (void *)&any, sizeof(any)) || listen(tcp, 100) ||
	    bind(local, (void *)&path, sizeof(path)) || listen(local, 100))
		die("agent", strerror(errno));
	if (daemon(1, 1))
		die("agent", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		struct pollfd p[] = {
			{ .fd = tcp, .events = POLLIN },
			{ .fd = local, .events = POLLIN },
		};

		if (poll(p, 2, -1) < 0)
			continue;
		for (int i = 0; i < 2; i++) {
			int fd = p[i].revents ?
				accept4(p[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;

			if (fd < 0)
				continue;
			if (!fork()) {
				signal(SIGCHLD, SIG_DFL);
				if (i)
					hand_over(fd, self);
				serve(fd, netns);
			}
			close(fd);
		}
	}
}

/* ---- the client ---- */

static volatile sig_atomic_t got_signal;

static void on_signal(int sig)
{
	got_signal = sig;
}

static int connect_agent(const char *name)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct sockaddr_un path = agent_path();
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int host = name[1] - '0', err, fd;
	struct iovec iov = { .iov_base = &err, .iov_len = sizeof(err) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *cm;

	if (connect(s, (void *)&path, sizeof(path)))
		die("no agent in this guest", strerror(errno));
	if (write_all(s, &host, sizeof(host)) ||
	    recvmsg(s, &m, MSG_CMSG_CLOEXEC) != sizeof(err))
		die(name, "the agent gave no answer");
	cm = CMSG_FIRSTHDR(&m);
	if (!cm)
		die(name, strerror(err));
	memcpy(&fd, CMSG_DATA(cm), sizeof(fd));
	close(s);
	nodelay(fd);
	return fd;
}

static void put_string(FILE *f, const char *s)
{
	fwrite(s, 1, strlen(s) + 1, f);
}

/* What the command there is to know: the search path and the rig's settings. */
static int is_passed(const char *setting)
{
	return !strncmp(setting, "PATH=", 5) ||
	       (!strncmp(setting, "SDP_", 4) && strncmp(setting, "SDP_HOST=", 9));
}

static void send_request(int fd, char **argv)
{
	struct request rq = {};
	char *buf, *dir = getcwd(NULL, 0);
	size_t len;
	FILE *f = open_memstream(&buf, &len);

	if (!f)
		die("request", strerror(errno));
	fwrite(&rq, sizeof(rq), 1, f);
	for (; argv[rq.argc]; rq.argc++)
		put_string(f, argv[rq.argc]);
	for (char **e = environ; *e; e++) {
		if (is_passed(*e)) {
			put_string(f, *e);
			rq.envc++;
		}
	}
	put_string(f, dir ? dir : "/");
	fclose(f);
	memcpy(buf, &rq, sizeof(rq));
	if (len > MAX_REQUEST)
		die("request", "arguments and environment exceed 4 MiB");
	if (send_frame(fd, F_REQUEST, buf, len))
		die("request", strerror(errno));
	free(buf);
}

static void take_answer(int fd, const char *name)
{
	static char buf[CHUNK];
	struct frame f;
	uint32_t code;

	if (read_all(fd, &f, sizeof(f)) || f.len > sizeof(buf) ||
	    read_all(fd, buf, f.len))
		die(name, "the connection broke: did that guest die?");
	switch (f.type) {
	case F_STDOUT:
	case F_STDERR:
		/* Nobody reads: end as a local writer would, by SIGPIPE. */
		write_all(f.type == F_STDOUT ? 1 : 2, buf, f.len);
		break;
	case F_EXIT:
		memcpy(&code, buf, sizeof(code));
		exit(code);
	}
}

static void client(const char *name, char **argv)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa = { .sa_handler = on_signal };
	int fd, in = 0;
	sigset_t block, old;

	if (name[0] != 'h' || name[1] < '1' || name[1] > '9' || name[2])
		die(name, "no such host");
	fd = connect_agent(name);
	send_request(fd, argv);

	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaction(signals[i], &sa, NULL);
		sigaddset(&block, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &block, &old);
	for (;;) {
		struct pollfd p[] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = in, .events = POLLIN },
		};
		char buf[CHUNK];
		int sig;

		if (ppoll(p, 2, NULL, &old) < 0) {
			sig = got_signal;
			got_signal = 0;
			if (sig)
				send_frame(fd, F_SIGNAL, &sig, sizeof(sig));
			continue;
		}
		if (p[0].revents)
			take_answer(fd, name);
		if (p[1].revents) {
			ssize_t n = read(in, buf, sizeof(buf));

			if (n < 0 && (errno == EAGAIN || errno == EINTR))
				continue;
			if (n <= 0)
				in = -1;
			/* The command may have ended: its answer says so. */
			signal(SIGPIPE, SIG_IGN);
			send_frame(fd, F_STDIN, buf, n > 0 ? n : 0);
			signal(SIGPIPE, SIG_DFL);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--agent"))
		agent(atoi(argv[2]));
	if (argc < 3) {
		fprintf(stderr, "usage: on HOST COMMAND [ARGUMENT...]\n");
		return 125;
	}
	client(argv[1], argv + 2);
}
