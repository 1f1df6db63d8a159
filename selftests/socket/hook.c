// SPDX-License-Identifier: GPL-2.0
/*
 * The hook that a cgroup has in connect(): a program of BPF that is asked about each,
 * and may send it elsewhere.  Made by hand, since it is short.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/bpf.h>

#include "lib/variant.h"

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* How often the program was asked, and in whose name the last time. */
enum { CALLS, CALLER, NOTES };

static int notes_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
		.max_entries = NOTES,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

static unsigned long long noted(int map, __u32 key)
{
	unsigned long long n = 0;
	union bpf_attr attr = {
		.map_fd = map, .key = (unsigned long)&key, .value = (unsigned long)&n,
	};

	OK(bpf(BPF_MAP_LOOKUP_ELEM, &attr));
	return n;
}

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })

enum { R0, R1, R2, R6 = 6, R7, FRAME = 10 };

static struct bpf_insn program[64];
static int insns;

static void put(struct bpf_insn insn)
{
	CHECK(insns < (int)ARRAY_SIZE(program));
	program[insns++] = insn;
}

/* Does @op with R7 to a number of the map. */
static void put_note(int map, int key, struct bpf_insn op)
{
	put(INSN(BPF_ST | BPF_MEM | BPF_W, FRAME, 0, -4, key));
	put(INSN(BPF_ALU64 | BPF_MOV | BPF_X, R2, FRAME, 0, 0));
	put(INSN(BPF_ALU64 | BPF_ADD | BPF_K, R2, 0, 0, -4));
	put(INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map));
	put(INSN(0, 0, 0, 0, 0));
	put(INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem));
	put(INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 1, 0));
	put(op);
}

/* What @uid connects to the port of @from goes to that of @to, at its address. */
static int load(int map, uid_t uid, const union addr *from, const union addr *to)
{
	enum { PORT = offsetof(struct bpf_sock_addr, user_port) };
	bool v6 = variant->family == AF_INET6;
	int words = v6 ? 4 : 1, ip = v6 ? offsetof(struct bpf_sock_addr, user_ip6) :
					  offsetof(struct bpf_sock_addr, user_ip4);
	const __u32 *word = v6 ? to->in6.sin6_addr.s6_addr32 : &to->in.sin_addr.s_addr;
	static char log[16384];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
		.expected_attach_type = v6 ? BPF_CGROUP_INET6_CONNECT :
					     BPF_CGROUP_INET4_CONNECT,
		.insns = (unsigned long)program, .license = (unsigned long)"GPL",
		.log_buf = (unsigned long)log, .log_size = sizeof(log), .log_level = 1,
	};
	int i, fd;

	insns = 0;
	put(INSN(BPF_ALU64 | BPF_MOV | BPF_X, R6, R1, 0, 0));
	put(INSN(BPF_ALU64 | BPF_MOV | BPF_K, R7, 0, 0, 1));
	put_note(map, CALLS, INSN(BPF_STX | BPF_ATOMIC | BPF_DW, R0, R7, 0, BPF_ADD));
	put(INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_uid_gid));
	put(INSN(BPF_ALU | BPF_MOV | BPF_X, R7, R0, 0, 0));
	put_note(map, CALLER, INSN(BPF_STX | BPF_MEM | BPF_DW, R0, R7, 0, 0));
	put(INSN(BPF_JMP | BPF_JNE | BPF_K, R7, 0, 4 + 2 * words, uid));
	put(INSN(BPF_LDX | BPF_MEM | BPF_W, R1, R6, PORT, 0));
	put(INSN(BPF_JMP | BPF_JNE | BPF_K, R1, 0, 2 + 2 * words, from->in.sin_port));
	put(INSN(BPF_ALU | BPF_MOV | BPF_K, R1, 0, 0, to->in.sin_port));
	put(INSN(BPF_STX | BPF_MEM | BPF_W, R6, R1, PORT, 0));
	for (i = 0; i < words; i++) {
		put(INSN(BPF_ALU | BPF_MOV | BPF_K, R1, 0, 0, word[i]));
		put(INSN(BPF_STX | BPF_MEM | BPF_W, R6, R1, ip + 4 * i, 0));
	}
	put(INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, 0, 0, 1));
	put(INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	attr.insn_cnt = insns;
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		FAIL("BPF_PROG_LOAD: %s: %s", ktap_errno(errno), log);
	return fd;
}

/* Of all processes, while the descriptor is open. */
static void hook(int fd)
{
	union bpf_attr attr = {
		.link_create.prog_fd = fd,
		.link_create.attach_type = variant->family == AF_INET6 ?
			BPF_CGROUP_INET6_CONNECT : BPF_CGROUP_INET4_CONNECT,
	};
	char root[] = "/tmp/cgroup.XXXXXX";

	OK(unshare(CLONE_NEWNS));
	OK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mkdtemp(root));
	OK(mount("cgroup2", root, "cgroup2", 0, NULL));
	attr.link_create.target_fd = OK(open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	OK(umount2(root, MNT_DETACH));
	OK(rmdir(root));
	OK(bpf(BPF_LINK_CREATE, &attr));
}

/* Somebody who is not the kernel's own workers. */
enum { USER = 1000 };

/*
 * USER connects to where nobody listens, and the hook, which has a rule for him alone,
 * sends him to @to.  It is asked once, in his name.  The socket, and in @err why
 * connect() failed, or 0.
 */
static int hooked_(const union addr *to, int *err)
{
	int map = notes_map(), c;
	union addr from;

	if (map < 0) {
		EQ(ENOSYS, errno);
		ktap_skip("this kernel has no BPF");
	}
	if (on_sdp())
		sysctl("cache_timeout", 0);
	closed_port(&from);
	hook(load(map, USER, &from, to));
	OK(setresuid(USER, USER, 0));
	c = sock();
	*err = connect_to(c, &from) ? errno : 0;
	OK(setresuid(0, 0, 0));
	EQ(1, noted(map, CALLS));
	EQ(USER, noted(map, CALLER));
	return c;
}

#define hooked(...) CALL(hooked_(__VA_ARGS__))

/* The same, and @l is where that leads to. */
static int hooked_to_(int l, const union addr *to, int *s)
{
	union addr peer;
	int c, err;

	c = hooked(to, &err);
	EQ(0, err);
	*s = accept_any(l);
	OK(peer_of(c, &peer));
	CHECK(addr_equal(&peer, to));
	send_text(c, "elsewhere");
	recv_text(*s, "elsewhere");
	return c;
}

#define hooked_to(...) CALL(hooked_to_(__VA_ARGS__))

/* The connection goes where the hook says. */
CASE(connect_hook)
{
	union addr to;
	int l = listener(&to, 8), c, s;

	c = hooked_to(l, &to, &s);
	must_be_sdp(c);
	must_be_sdp(s);
}

/* As does what falls back, without that anybody is asked anew. */
CASE_ON(connect_hook_falls_back, ON_TCP | ON_ULP)
{
	union addr to;
	int l = tcp_listener(&to), c, s;

	c = hooked_to(l, &to, &s);
	EQ(-1, transport(c));
}

/* It may say what no connection can go to. */
CASE(connect_hook_nowhere)
{
	bool v4 = variant->family == AF_INET;
	union addr to;
	int err;

	addr_set(&to, variant->family, v4 ? "224.0.0.1" : "ff0e::1", 9);
	hooked(&to, &err);
	EQ(ENETUNREACH, err);
}
