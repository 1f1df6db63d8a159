// SPDX-License-Identifier: GPL-2.0
/*
 * The hook that a cgroup has in connect(): a program of BPF that is asked about each,
 * and may send it elsewhere.  Made by hand, since it is short.
 */
#include <poll.h>
#include <stddef.h>

#include "lib/bpf.h"
#include "lib/variant.h"

/* How often the program was asked, and in whose name the last time. */
enum { CALLS, CALLER, NOTES };

/* What @uid connects to the port of @from goes to that of @to, at its address. */
static int load(int map, uid_t uid, const union addr *from, const union addr *to)
{
	enum { PORT = offsetof(struct bpf_sock_addr, user_port) };
	bool v6 = variant->family == AF_INET6;
	int words = v6 ? 4 : 1, ip = v6 ? offsetof(struct bpf_sock_addr, user_ip6) :
					  offsetof(struct bpf_sock_addr, user_ip4);
	const __u32 *word = v6 ? to->in6.sin6_addr.s6_addr32 : &to->in.sin_addr.s_addr;
	int i;

	bpf_begin();
	bpf_put(INSN(BPF_ALU64 | BPF_MOV | BPF_X, R6, R1, 0, 0));
	bpf_put(INSN(BPF_ALU64 | BPF_MOV | BPF_K, R7, 0, 0, 1));
	bpf_put_note(map, CALLS, INSN(BPF_STX | BPF_ATOMIC | BPF_DW, R0, R7, 0, BPF_ADD));
	bpf_put(INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_uid_gid));
	bpf_put(INSN(BPF_ALU | BPF_MOV | BPF_X, R7, R0, 0, 0));
	bpf_put_note(map, CALLER, INSN(BPF_STX | BPF_MEM | BPF_DW, R0, R7, 0, 0));
	bpf_put(INSN(BPF_JMP | BPF_JNE | BPF_K, R7, 0, 4 + 2 * words, uid));
	bpf_put(INSN(BPF_LDX | BPF_MEM | BPF_W, R1, R6, PORT, 0));
	bpf_put(INSN(BPF_JMP | BPF_JNE | BPF_K, R1, 0, 2 + 2 * words, from->in.sin_port));
	bpf_put(INSN(BPF_ALU | BPF_MOV | BPF_K, R1, 0, 0, to->in.sin_port));
	bpf_put(INSN(BPF_STX | BPF_MEM | BPF_W, R6, R1, PORT, 0));
	for (i = 0; i < words; i++) {
		bpf_put(INSN(BPF_ALU | BPF_MOV | BPF_K, R1, 0, 0, word[i]));
		bpf_put(INSN(BPF_STX | BPF_MEM | BPF_W, R6, R1, ip + 4 * i, 0));
	}
	bpf_put(INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, 0, 0, 1));
	bpf_put(INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	return bpf_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, v6 ? BPF_CGROUP_INET6_CONNECT :
							    BPF_CGROUP_INET4_CONNECT);
}

/* Of all processes, while the descriptor is open. */
static void hook(int fd)
{
	cgroup_attach(cgroup_root(), fd,
		      variant->family == AF_INET6 ? BPF_CGROUP_INET6_CONNECT :
						    BPF_CGROUP_INET4_CONNECT);
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
	int map = bpf_notes(NOTES), c;
	union addr from;

	if (on_sdp())
		sysctl("cache_timeout", 0);
	closed_port(&from);
	hook(load(map, USER, &from, to));
	OK(setresuid(USER, USER, 0));
	c = sock();
	*err = connect_to(c, &from) ? errno : 0;
	OK(setresuid(0, 0, 0));
	EQ(1, bpf_noted(map, CALLS));
	EQ(USER, bpf_noted(map, CALLER));
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
