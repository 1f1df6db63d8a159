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

/* One number, of calls. */
static int counts_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
		.max_entries = 1,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

static unsigned long long calls(int map)
{
	unsigned long long n = 0;
	__u32 key = 0;
	union bpf_attr attr = {
		.map_fd = map, .key = (unsigned long)&key, .value = (unsigned long)&n,
	};

	OK(bpf(BPF_MAP_LOOKUP_ELEM, &attr));
	return n;
}

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })

enum { R0, R1, R2, R6 = 6, FRAME = 10 };

/* Counts in @map; what is for the port of @from goes to that of @to, at its address. */
static int load(int map, const union addr *from, const union addr *to)
{
	enum { PORT = offsetof(struct bpf_sock_addr, user_port) };
	bool v6 = variant->family == AF_INET6;
	int words = v6 ? 4 : 1, ip = v6 ? offsetof(struct bpf_sock_addr, user_ip6) :
					  offsetof(struct bpf_sock_addr, user_ip4);
	const __u32 *word = v6 ? to->in6.sin6_addr.s6_addr32 : &to->in.sin_addr.s_addr;
	struct bpf_insn program[32] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, R6, R1, 0, 0),
		INSN(BPF_ST | BPF_MEM | BPF_W, FRAME, 0, -4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, R2, FRAME, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, R2, 0, 0, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 2, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, R1, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, R0, R1, 0, BPF_ADD),
		INSN(BPF_LDX | BPF_MEM | BPF_W, R1, R6, PORT, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, R1, 0, 2 + 2 * words, from->in.sin_port),
		INSN(BPF_ALU | BPF_MOV | BPF_K, R1, 0, 0, to->in.sin_port),
		INSN(BPF_STX | BPF_MEM | BPF_W, R6, R1, PORT, 0),
	};
	static char log[16384];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
		.expected_attach_type = v6 ? BPF_CGROUP_INET6_CONNECT :
					     BPF_CGROUP_INET4_CONNECT,
		.insns = (unsigned long)program, .license = (unsigned long)"GPL",
		.log_buf = (unsigned long)log, .log_size = sizeof(log), .log_level = 1,
	};
	int i, n = 14, fd;

	for (i = 0; i < words; i++) {
		program[n++] = INSN(BPF_ALU | BPF_MOV | BPF_K, R1, 0, 0, word[i]);
		program[n++] = INSN(BPF_STX | BPF_MEM | BPF_W, R6, R1, ip + 4 * i, 0);
	}
	program[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, 0, 0, 1);
	program[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	attr.insn_cnt = n;
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		FAIL("BPF_PROG_LOAD: %s: %s", ktap_errno(errno), log);
	return fd;
}

/* Of all processes, while the descriptor is open. */
static void hook(int program)
{
	union bpf_attr attr = {
		.link_create.prog_fd = program,
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

/*
 * To where nobody listens, and the hook sends it to @l, which is at @to.  Return: the
 * two ends, in @c and @s, and how often the hook was asked.
 */
static unsigned long long hooked(int l, const union addr *to, int *c, int *s)
{
	int map = counts_map();
	union addr from, peer;

	if (map < 0) {
		EQ(ENOSYS, errno);
		ktap_skip("this kernel has no BPF");
	}
	if (on_sdp())
		sysctl("cache_timeout", 0);
	closed_port(&from);
	hook(load(map, &from, to));
	*c = sock();
	OK(connect_to(*c, &from));
	*s = accept_any(l);
	OK(peer_of(*c, &peer));
	CHECK(addr_equal(&peer, to));
	send_text(*c, "elsewhere");
	recv_text(*s, "elsewhere");
	return calls(map);
}

/* Asked once for each connection, which goes where it says. */
TEST(connect_hook)
{
	union addr to;
	int l = listener(&to, 8), c, s;

	EQ(1, hooked(l, &to, &c, &s));
	must_be_sdp(c);
	must_be_sdp(s);
}

/* As does what falls back: TCP asks anew, of the same address. */
TEST_ON(connect_hook_falls_back, ON_TCP | ON_DOOR3)
{
	union addr to;
	int l = tcp_listener(&to), c, s;

	EQ(on_sdp() ? 2 : 1, hooked(l, &to, &c, &s));
	EQ(-1, transport(c));
}
