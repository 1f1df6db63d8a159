// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_run: start a program with libsdp_preload.so, and say beforehand what will
 * keep the library from reaching it.  Sets the environment and execs, no more;
 * the rules are the library's to read, explain.c only tells what they say.  The
 * exit status is the program's.  What sdp_run itself has to report is 125,
 * a program that cannot be run 126, one that is not found 127, as with env(1).
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "explain.h"

#define LIBRARY "libsdp_preload.so"
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

enum {
	EXIT_OWN	= 125,
	EXIT_CANNOT	= 126,
	EXIT_NOT_FOUND	= 127,
};

static const char usage[] =
"Usage: sdp_run [--require] PROGRAM [ARGUMENT]...\n"
"       sdp_run [--require] --explain [client|server] ADDRESS:PORT [PROGRAM]\n"
"       sdp_run --check-config [FILE]\n"
"Run PROGRAM with its TCP connections carried by SDP over RDMA where that is\n"
"possible, inside this host by memory, and by TCP where neither is, as far as the\n"
"rules of " SDP_CONFIG " have nothing else.\n"
"\n"
"  --require       an error instead of TCP, and before PROGRAM is run where it is\n"
"                  known that the library cannot reach it\n"
"  --explain       which rule decides on a connection to ADDRESS:PORT, or on\n"
"                  listening there, and why\n"
"  --check-config  look for errors in the rules\n"
"  --help          this text\n"
"  --version       the version\n"
"\n"
"What decides, the first of these that applies:\n"
"  SDP_PRELOAD=off in the environment: everything stays TCP;\n"
"  a rule \"use tcp\": TCP;\n"
"  127.0.0.0/8, ::1, or to 0.0.0.0 or ::, while net.sdp.local is 0: TCP;\n"
"  --require, which is SDP_PRELOAD=require, or a rule \"use sdp\": SDP or an error;\n"
"  a rule \"use both\", or no rule: SDP, and TCP where that is not possible.\n"
"SDP_CONFIG_FILE names another file of rules.\n"
"\n"
"SDP_PRELOAD_LIB names the library if it is neither beside sdp_run nor in ../lib\n"
"nor in " SDP_LIBDIR ".\n"
"The exit status is PROGRAM's; 125: sdp_run failed, 126: PROGRAM cannot be run,\n"
"127: PROGRAM was not found.  --check-config ends with 1 if there are errors.\n";

static void __attribute__((format(printf, 1, 2))) note(const char *fmt, ...)
{
	va_list ap;

	fputs("sdp_run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static bool readable_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, R_OK);
}

/* Puts the library's absolute path into @lib; false, with a message, if none. */
static bool find_library(char lib[PATH_MAX])
{
	static const char *const near[] = { "", "/../lib", "/../lib64" };
	const char *env = getenv("SDP_PRELOAD_LIB");
	char path[2 * PATH_MAX], dir[PATH_MAX] = "/nowhere";
	unsigned int i;
	ssize_t n;

	if (env && *env) {
		if (!readable_file(env) || !realpath(env, lib)) {
			note("SDP_PRELOAD_LIB=%s: no such library", env);
			return false;
		}
		return true;
	}
	n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	if (n > 0) {
		dir[n] = '\0';
		*strrchr(dir, '/') = '\0';
	}
	for (i = 0; i < ARRAY_SIZE(near); i++) {
		snprintf(path, sizeof(path), "%s%s/" LIBRARY, dir, near[i]);
		if (readable_file(path) && realpath(path, lib))
			return true;
	}
	if (readable_file(SDP_LIBDIR "/" LIBRARY) &&
	    realpath(SDP_LIBDIR "/" LIBRARY, lib))
		return true;
	note(LIBRARY " is missing: looked in %s, %s/../lib, %s/../lib64 and "
	     SDP_LIBDIR "; set SDP_PRELOAD_LIB to its path", dir, dir, dir);
	return false;
}

/*
 * Finds @name as execvp() would.  Return: 0, or the exit status after a
 * message.
 */
static int find_program(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH"), *end;
	bool denied = false;
	struct stat st;
	int err;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		if (stat(path, &st)) {
			err = errno;
			note("%s: %s", name, strerror(err));
			return err == ENOENT || err == ENOTDIR ?
				EXIT_NOT_FOUND : EXIT_CANNOT;
		}
		if (S_ISDIR(st.st_mode)) {
			note("%s: is a directory", name);
			return EXIT_CANNOT;
		}
		if (access(path, X_OK)) {
			note("%s: not executable", name);
			return EXIT_CANNOT;
		}
		return 0;
	}
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (; *name; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - dirs), dirs,
			 end == dirs ? "./" : "/", name);
		if (!stat(path, &st) && S_ISREG(st.st_mode)) {
			if (!access(path, X_OK))
				return 0;
			denied = true;
		}
		if (!*end)
			break;
	}
	if (denied) {
		note("%s: found in PATH, but not executable", name);
		return EXIT_CANNOT;
	}
	note("%s: not found in PATH", name);
	return EXIT_NOT_FOUND;
}

/* The start of an ELF file; false if @fd is another one, or not of this byte order. */
union elf_header {
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr e64;
	Elf32_Ehdr e32;
};

static bool read_elf(int fd, union elf_header *h)
{
	return pread(fd, h, sizeof(*h), 0) >= (ssize_t)sizeof(h->e32) &&
	       !memcmp(h->ident, ELFMAG, SELFMAG) &&
	       h->ident[EI_DATA] == NATIVE_DATA;
}

/* A segment, or an entry of the dynamic section, of either class. */
struct elf_part {
	__u64 what;	/* type or tag */
	__u64 value;	/* where it lies, or the entry's value */
	__u64 size;
};

static bool read_segment(int fd, const union elf_header *h, unsigned int i,
			 struct elf_part *part)
{
	Elf64_Phdr p64;
	Elf32_Phdr p32;

	if (h->ident[EI_CLASS] == ELFCLASS64) {
		if (pread(fd, &p64, sizeof(p64), h->e64.e_phoff +
			  (__u64)i * h->e64.e_phentsize) != sizeof(p64))
			return false;
		*part = (struct elf_part){ p64.p_type, p64.p_offset, p64.p_filesz };
	} else {
		if (pread(fd, &p32, sizeof(p32), h->e32.e_phoff +
			  (__u64)i * h->e32.e_phentsize) != sizeof(p32))
			return false;
		*part = (struct elf_part){ p32.p_type, p32.p_offset, p32.p_filesz };
	}
	return true;
}

/* @off: moved to what follows. */
static bool read_entry(int fd, const union elf_header *h, __u64 *off,
		       struct elf_part *part)
{
	bool wide = h->ident[EI_CLASS] == ELFCLASS64;
	ssize_t size = wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	union {
		Elf64_Dyn d64;
		Elf32_Dyn d32;
	} d;

	if (pread(fd, &d, size, *off) != size)
		return false;
	*off += size;
	part->what = wide ? (__u64)d.d64.d_tag : (__u32)d.d32.d_tag;
	part->value = wide ? d.d64.d_un.d_val : d.d32.d_un.d_val;
	return true;
}

/* Whether the dynamic section @part is that of a program, as of "gcc -static-pie". */
static bool is_program(int fd, const union elf_header *h,
		       const struct elf_part *part)
{
	__u64 off = part->value, end = part->value + part->size;
	struct elf_part entry;

	while (off < end && read_entry(fd, h, &off, &entry) && entry.what != DT_NULL)
		if (entry.what == DT_FLAGS_1)
			return entry.value & DF_1_PIE;
	return false;
}

/*
 * Whether the ELF file @fd is loaded by a dynamic linker, or is one, started as
 * "ld-linux-x86-64.so.2 PROGRAM"; true if in doubt.
 */
static bool is_dynamic(int fd, const union elf_header *h)
{
	bool wide = h->ident[EI_CLASS] == ELFCLASS64;
	unsigned int i, num = wide ? h->e64.e_phnum : h->e32.e_phnum;
	struct elf_part part;
	bool linker = false;

	for (i = 0; i < num; i++) {
		if (!read_segment(fd, h, i, &part))
			return true;
		if (part.what == PT_INTERP)
			return true;
		if (part.what == PT_DYNAMIC)
			linker = !is_program(fd, h, &part);
	}
	return linker;
}

/* Bytes of a segment of notes that are looked through. */
#define NOTES_MAX	8192

/*
 * Whether the Go linker made it, which leaves a note of its name.  Such a program
 * makes its system calls itself, be it linked with the C library or not.
 */
static bool is_go(int fd, const union elf_header *h)
{
	bool wide = h->ident[EI_CLASS] == ELFCLASS64;
	unsigned int i, num = wide ? h->e64.e_phnum : h->e32.e_phnum;
	static char notes[NOTES_MAX];
	struct elf_part part;
	Elf32_Nhdr note;	/* of either class */
	size_t off, size;
	ssize_t n;

	for (i = 0; i < num && read_segment(fd, h, i, &part); i++) {
		if (part.what != PT_NOTE)
			continue;
		size = part.size < sizeof(notes) ? part.size : sizeof(notes);
		n = pread(fd, notes, size, part.value);
		for (off = 0; n > 0 && off + sizeof(note) + 4 <= (size_t)n;) {
			memcpy(&note, notes + off, sizeof(note));
			off += sizeof(note);
			if (note.n_namesz == 4 && !memcmp(notes + off, "Go\0", 4))
				return true;
			if (note.n_namesz > size || note.n_descsz > size)
				break;
			off += (note.n_namesz + 3) / 4 * 4;
			off += (note.n_descsz + 3) / 4 * 4;
		}
	}
	return false;
}

/* Whether the two are of one kind, as the dynamic linker sees it; true if in doubt. */
static bool is_alike(const union elf_header *h, const char *lib)
{
	int fd = open(lib, O_RDONLY | O_CLOEXEC);
	union elf_header l;
	bool alike;

	if (fd < 0)
		return true;
	/* e_machine lies at the same place in both classes. */
	alike = !read_elf(fd, &l) ||
		(l.ident[EI_CLASS] == h->ident[EI_CLASS] &&
		 l.e32.e_machine == h->e32.e_machine);
	close(fd);
	return alike;
}

static bool gains_privileges(int fd)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) || (!fstatvfs(fd, &fs) && fs.f_flag & ST_NOSUID))
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	       ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		st.st_gid != getegid()) ||
	       (geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/*
 * Says what keeps the dynamic linker from loading @lib into the program, or into
 * the interpreter of the script.  True if nothing is known to.
 */
static bool check_program(const char *name, const char *path, const char *lib,
			  bool require)
{
	char line[PATH_MAX + 3], *interp;
	union elf_header h;
	const char *why, *instead;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	n = pread(fd, line, sizeof(line) - 1, 0);
	line[n > 0 ? n : 0] = '\0';
	if (!strncmp(line, "#!", 2)) {
		interp = line + 2 + strspn(line + 2, " \t");
		interp[strcspn(interp, " \t\n")] = '\0';
		close(fd);
		fd = open(interp, O_RDONLY | O_CLOEXEC);
		name = interp;
		if (fd < 0)
			return true;
	}
	why = NULL;
	if (gains_privileges(fd)) {
		why = "gains privileges when run (setuid, setgid or file capabilities)";
		instead = "run it as the user whose privileges it gains, or name the library in /etc/ld.so.preload";
	} else if (read_elf(fd, &h)) {
		if (!is_alike(&h, lib)) {
			why = "is for another kind of machine than the library (32 and 64 bits, say)";
			instead = "build the library for it and name it in SDP_PRELOAD_LIB";
		} else if (!is_dynamic(fd, &h)) {
			why = "is statically linked";
			instead = "use a dynamically linked one";
		} else if (is_go(fd, &h)) {
			why = "is a Go program, which makes its system calls itself";
			instead = "have it open AF_SDP sockets, or use another program";
		}
	}
	close(fd);
	if (!why)
		return true;
	if (require)
		note("%s %s: the library cannot reach it, and SDP is required: %s",
		     name, why, instead);
	else
		note("warning: %s %s: the library cannot reach it, it will use TCP",
		     name, why);
	return false;
}

/* Whether the module is there; asking loads it if it can be. */
static bool have_module(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SDP);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* What names a file from here on is to name it wherever the program goes. */
static void make_absolute(const char *variable)
{
	const char *path = getenv(variable);
	char *dir, *all;

	if (!path || !*path || *path == '/')
		return;
	dir = getcwd(NULL, 0);
	if (!dir)
		return;
	if (asprintf(&all, "%s/%s", dir, path) < 0)
		abort();
	setenv(variable, all, 1);
	free(all);
	free(dir);
}

/*
 * Behind what is there: a sanitizer's library has to be the first, and one that sends
 * connections elsewhere is to have done so when ours looks where they go.
 */
static void preload(const char *lib)
{
	const char *old = getenv("LD_PRELOAD"), *at = old;
	size_t len;
	char *all;

	if (!old || !*old) {
		setenv("LD_PRELOAD", lib, 1);
		return;
	}
	for (; *at; at += len + !!at[len]) {
		len = strcspn(at, ": ");
		if (len == strlen(lib) && !strncmp(at, lib, len))
			return;
	}
	if (asprintf(&all, "%s:%s", old, lib) < 0)
		abort();
	setenv("LD_PRELOAD", all, 1);
	free(all);
}

/* For who reads it: an answer that could not be written is none. */
static int written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	note("cannot write to standard output: %s", strerror(errno));
	return EXIT_OWN;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "require", no_argument, NULL, 'r' },
		{ "explain", no_argument, NULL, 'e' },
		{ "check-config", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	char lib[PATH_MAX], path[PATH_MAX];
	bool require = false, tell = false, check = false, off;
	const char *env;
	int c, ret;

	while ((c = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		switch (c) {
		case 'r':
			require = true;
			break;
		case 'e':
			tell = true;
			break;
		case 'c':
			check = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return written(0);
		case 'V':
			puts("sdp_run (AF_SDP) " SDP_VERSION);
			return written(0);
		default:
			fputs("Try 'sdp_run --help'.\n", stderr);
			return EXIT_OWN;
		}
	}
	argv += optind;
	env = getenv("SDP_PRELOAD");
	off = env && !strcmp(env, "off");
	if (require && off)
		note("note: SDP_PRELOAD=off is set, and everything stays TCP: --require has no effect");
	else if (require)
		setenv("SDP_PRELOAD", "require", 1);
	if (tell)
		return written(explain(argv));
	if (check) {
		if (argv[0] && argv[1]) {
			note("--check-config takes one file");
			return EXIT_OWN;
		}
		return written(check_config(argv[0]));
	}
	if (!argv[0]) {
		fputs(usage, stderr);
		return EXIT_OWN;
	}

	ret = find_program(argv[0], path);
	if (ret)
		return ret;
	if (!find_library(lib))
		return EXIT_OWN;
	if (strpbrk(lib, ": \t")) {
		note("%s: the dynamic linker takes no path with a colon or a blank", lib);
		return EXIT_OWN;
	}
	env = getenv("SDP_PRELOAD");
	if (env && strcmp(env, "off") && strcmp(env, "require") && *env)
		note("warning: SDP_PRELOAD=%s is neither off nor require: ignored", env);
	require = env && !strcmp(env, "require");
	if (!off && !check_program(argv[0], path, lib, require) && require)
		return EXIT_OWN;
	if (!off && !have_module()) {
		if (require) {
			note("the kernel module af_sdp is not loaded and could not be loaded (modprobe af_sdp as root tells why)");
			return EXIT_OWN;
		}
		note("note: the kernel module af_sdp is not loaded and could not be loaded: %s will use TCP",
		     argv[0]);
	}
	make_absolute("SDP_CONFIG_FILE");
	make_absolute("LIBSDP_CONFIG_FILE");
	make_absolute("SDP_PRELOAD_LIB");
	preload(lib);
	execvp(path, argv);
	if (errno == ENOENT)
		note("%s: its interpreter is missing", path);
	else
		note("%s: %s", path, strerror(errno));
	return EXIT_CANNOT;
}
