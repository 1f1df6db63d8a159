// SPDX-License-Identifier: LGPL-2.1
/*
 * Messages of libsdp_preload.so, and the three places they go to.
 *
 * No descriptor is kept: a program may close what it does not know, change its
 * user or its root.  A file is opened and syslog's socket is made for each
 * message; there are few of them unless one asks for more.
 *
 * Standard error is the file that was there when the program started.  What took
 * its number since may be the program's data, and nothing tells that from a log that
 * it opened for itself: it gets no message.
 *
 * The file of root is /var/log/NAME, as with libsdp, and whatever path NAME has is
 * left out.  Others write to NAME.UID/log, or /tmp/NAME.UID/log if NAME has no
 * path; that directory must be theirs alone, since anybody may make one in /tmp.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "preload_log.h"

#define ME "libsdp_preload: "

static struct rules_log settings = { .min_level = RULES_LEVEL_ERROR };
static const char *name = "";
static struct {
	bool open;
	dev_t dev;
	ino_t ino;
} first_stderr;

void log_str(struct message *m, const char *s)
{
	size_t n = strlen(s), room = sizeof(m->text) - m->len;

	if (n > room)
		n = room;
	memcpy(m->text + m->len, s, n);
	m->len += n;
}

static void put_digits(struct message *m, unsigned long n, unsigned int least)
{
	char digits[24];
	size_t i = sizeof(digits);

	digits[--i] = '\0';
	do {
		digits[--i] = '0' + n % 10;
		n /= 10;
	} while (n || sizeof(digits) - 1 - i < least);
	log_str(m, digits + i);
}

void log_number(struct message *m, unsigned long n)
{
	put_digits(m, n, 1);
}

void log_end(struct message *m, const struct rules_end *end)
{
	char text[RULES_ADDR_MAX];

	rules_put_addr(text, &end->addr);
	log_str(m, end->addr.v6 ? "[" : "");
	log_str(m, text);
	log_str(m, end->addr.v6 ? "]:" : ":");
	log_number(m, end->port);
}

void log_init(const struct rules_log *log, const char *program)
{
	struct stat st;

	settings = *log;
	name = program;
	first_stderr.open = !fstat(STDERR_FILENO, &st);
	if (first_stderr.open) {
		first_stderr.dev = st.st_dev;
		first_stderr.ino = st.st_ino;
	}
}

bool log_wants(enum rules_level level)
{
	return level >= settings.min_level;
}

/*
 * Puts a line into @fd, and neither stops the program nor has it killed for that: a
 * pipe may be full or without a reader, a terminal may stop who writes in the
 * background, a file may be as long as the process may make one.  What finds no room
 * is dropped.  Who else writes to the same pipe may take the room between the two
 * calls; then this waits, as the program's own message would.
 *
 * Only the caller's own mask changes, and the signal goes to the thread that
 * wrote; so other threads, a child of vfork() and what a signal handler interrupts
 * see nothing of it.  One that was pending before stays.
 */
static bool put_line(int fd, struct message *m)
{
	static const struct timespec no_time;
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	sigset_t ours, old, pending;
	ssize_t n;
	int sig;

	m->text[m->len < sizeof(m->text) ? m->len++ : m->len - 1] = '\n';
	if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
		return false;
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	sigaddset(&ours, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &ours, &old);
	sigpending(&pending);
	n = write(fd, m->text, m->len);
	sig = n >= 0 ? 0 : errno == EPIPE ? SIGPIPE : errno == EFBIG ? SIGXFSZ : 0;
	if (sig && !sigismember(&pending, sig)) {
		sigemptyset(&ours);
		sigaddset(&ours, sig);
		sigtimedwait(&ours, NULL, &no_time);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n == (ssize_t)m->len;
}

static bool is_first_stderr(void)
{
	struct stat st;

	return first_stderr.open && !fstat(STDERR_FILENO, &st) &&
	       st.st_dev == first_stderr.dev && st.st_ino == first_stderr.ino;
}

/* A program that serves one connection may have it there, as inetd starts it. */
static bool is_connection(int fd)
{
	int proto;
	socklen_t len = sizeof(proto);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &proto, &len) &&
	       proto == IPPROTO_TCP;
}

static bool to_stderr(const struct message *m)
{
	struct message out = { };

	if (!is_first_stderr() || is_connection(STDERR_FILENO))
		return false;
	log_str(&out, ME);
	log_str(&out, m->text);
	return put_line(STDERR_FILENO, &out);
}

static void put_sender(struct message *m)
{
	log_str(m, name);
	log_str(m, "[");
	log_number(m, getpid());
	log_str(m, "]: " ME);
}

/* syslog() itself has a lock. */
static bool to_syslog(enum rules_level level, const struct message *m)
{
	static const struct sockaddr_un to = {
		.sun_family = AF_UNIX, .sun_path = "/dev/log",
	};
	struct message out = { };
	ssize_t n;
	int fd;

	log_str(&out, "<");
	log_number(&out, LOG_USER | (level >= RULES_LEVEL_ERROR ? LOG_ERR :
				     level >= RULES_LEVEL_WARNING ? LOG_WARNING :
				     LOG_INFO));
	log_str(&out, ">");
	put_sender(&out);
	log_str(&out, m->text);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	n = sendto(fd, out.text, out.len, MSG_NOSIGNAL,
		   (const struct sockaddr *)&to, sizeof(to));
	close(fd);
	return n == (ssize_t)out.len;
}

/* UTC by the Gregorian calendar: gmtime_r() has a lock. */
static void put_time(struct message *m)
{
	long day, era, of_era, year, of_year, month;
	struct timespec ts;
	unsigned int s;

	clock_gettime(CLOCK_REALTIME, &ts);
	s = ts.tv_sec % 86400;
	/* Days from 1 March 0000: the odd day of a leap year comes last. */
	day = ts.tv_sec / 86400 + 719468;
	era = day / 146097;
	of_era = day % 146097;
	year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	of_year = of_era - (365 * year + year / 4 - year / 100);
	month = (5 * of_year + 2) / 153;
	put_digits(m, 400 * era + year + (month >= 10), 4);
	log_str(m, "-");
	put_digits(m, month < 10 ? month + 3 : month - 9, 2);
	log_str(m, "-");
	put_digits(m, of_year - (153 * month + 2) / 5 + 1, 2);
	log_str(m, "T");
	put_digits(m, s / 3600, 2);
	log_str(m, ":");
	put_digits(m, s / 60 % 60, 2);
	log_str(m, ":");
	put_digits(m, s % 60, 2);
	log_str(m, "Z ");
}

/* The directory of a user's log, open; only if nobody else can write there. */
static int open_user_dir(uid_t uid)
{
	struct message path = { };
	struct stat st;
	int dir;

	if (!strchr(settings.name, '/'))
		log_str(&path, "/tmp/");
	log_str(&path, settings.name);
	log_str(&path, ".");
	log_number(&path, uid);
	path.text[path.len] = '\0';
	if (mkdir(path.text, 0700) && errno != EEXIST)
		return -1;
	dir = open(path.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -1;
	if (fstat(dir, &st) || st.st_uid != uid || st.st_mode & 077) {
		close(dir);
		return -1;
	}
	return dir;
}

static int open_log(void)
{
	const char *slash = strrchr(settings.name, '/'), *file = "log";
	uid_t uid = geteuid();
	struct stat st;
	int dir, fd;

	if (uid) {
		dir = open_user_dir(uid);
	} else {
		dir = open("/var/log", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		file = slash ? slash + 1 : settings.name;
	}
	if (dir < 0)
		return -1;
	fd = openat(dir, file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
		    O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	close(dir);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
			st.st_uid != uid)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool to_file(const struct message *m)
{
	struct message out = { };
	bool sent;
	int fd;

	put_time(&out);
	put_sender(&out);
	log_str(&out, m->text);
	fd = open_log();
	if (fd < 0)
		return false;
	sent = put_line(fd, &out);
	close(fd);
	return sent;
}

void log_send(enum rules_level level, struct message *m)
{
	bool sent = false;

	if (!log_wants(level))
		return;
	m->text[m->len < sizeof(m->text) ? m->len : m->len - 1] = '\0';
	switch (settings.dest) {
	case RULES_LOG_STDERR:
		sent = to_stderr(m);
		break;
	case RULES_LOG_SYSLOG:
		sent = to_syslog(level, m);
		break;
	case RULES_LOG_FILE:
		sent = to_file(m);
		break;
	}
	if (!sent && level >= RULES_LEVEL_ERROR &&
	    settings.dest != RULES_LOG_STDERR)
		to_stderr(m);
}
