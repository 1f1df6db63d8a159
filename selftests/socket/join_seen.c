// SPDX-License-Identifier: GPL-2.0
/*
 * Who looks at the packets of a connection inside this host, where bytes go by memory
 * (net.sdp.local): a program of a cgroup, which is to see all of them, has them; and
 * connection tracking does not forget the connection while it is in use.
 */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/bpf.h"
#include "lib/netns.h"
#include "lib/variant.h"

enum { MUCH = 100000 };

static unsigned long long joins(void)
{
	return on_ours() ? counter("local_joins") : 0;
}

/* --------------------------------------------------------- programs of cgroups */

/* Counts the bytes of the packets that it lets pass. */
static int counting_program(int map, int type)
{
	bpf_begin();
	bpf_put(INSN(BPF_LDX | BPF_MEM | BPF_W, R7, R1, offsetof(struct __sk_buff, len), 0));
	bpf_put_note(map, 0, INSN(BPF_STX | BPF_ATOMIC | BPF_DW, R0, R7, 0, BPF_ADD));
	bpf_put(INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, 0, 0, 1));
	bpf_put(INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	return bpf_load(BPF_PROG_TYPE_CGROUP_SKB, type);
}

/* A connection; the client's or the listener's socket was made in the cgroup. */
static struct pair pair_in(int root, int group, bool client)
{
	struct pair p;

	if (!client)
		cgroup_enter(group);
	p.l = listener(&p.addr, 8);
	cgroup_enter(client ? group : root);
	p.c = sock();
	cgroup_enter(root);
	OK(connect_to(p.c, &p.addr));
	p.s = accept_any(p.l);
	return p;
}

/* Both ways, and all of it. */
static void exchange(const struct pair *p)
{
	struct task t = { .run = task_send_all, .len = MUCH };
	int fd[2] = { p->c, p->s }, i;

	for (i = 0; i < 2; i++) {
		t.fd = fd[i];
		t.done = false;
		task_start(&t);
		recv_pattern(fd[!i], MUCH, 1, 0);
		EQ(MUCH, task_join(&t));
	}
}

static void pair_close(const struct pair *p)
{
	close(p->c);
	expect_eof(p->s);
	close(p->s);
	close(p->l);
}

/* As systemd's IPAccounting= and IPAddressDeny=: it sees each byte, or nobody is joined. */
CASE_ON(join_cgroup_program, ON_TCP | ON_JOIN)
{
	static const int types[] = { BPF_CGROUP_INET_INGRESS, BPF_CGROUP_INET_EGRESS };
	int map = bpf_notes(1), root, group, link, i;
	unsigned long long before, seen;
	char name[32];
	struct pair p;

	root = cgroup_root();
	snprintf(name, sizeof(name), "sdp%d", getpid());
	OK(mkdirat(root, name, 0700));
	group = OK(openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	for (i = 0; i < 4; i++) {
		int type = types[i / 2];
		bool client = i % 2;

		before = joins();
		link = cgroup_attach(group, counting_program(map, type), type);
		p = pair_in(root, group, client);
		if (on_ours())
			EQ(-1, transport(p.s));
		seen = bpf_noted(map, 0);
		exchange(&p);
		CHECK(bpf_noted(map, 0) >= seen + MUCH);
		pair_close(&p);
		EQ(before, joins());
		/* Without it, though the cgroup is the same. */
		close(link);
		p = pair_in(root, group, client);
		EQ(before + on_join(), joins());
		exchange(&p);
		pair_close(&p);
	}
	close(group);
	EVENTUALLY(0, unlinkat(root, name, AT_REMOVEDIR));
}

/* ---------------------------------------------------------- connection tracking */

/* What it knows of a connection in use is over after so many seconds. */
enum { FORGOTTEN = 5 };

/*
 * Rules drop what it takes for invalid, as a FIN of a connection that it does not know,
 * and it learns of none in the middle.
 */
static void tracked(int forgotten)
{
	netns_new();
	rules("chain i { type filter hook input priority 0; ct state invalid drop; }; "
	      "chain o { type filter hook output priority 0; ct state invalid drop; }");
	net_sysctl("netfilter/nf_conntrack_tcp_timeout_established", forgotten);
	net_sysctl("netfilter/nf_conntrack_tcp_loose", 0);
	/* For packets that are repeated and repeated; nobody is to seem to do that. */
	net_sysctl("netfilter/nf_conntrack_tcp_timeout_max_retrans", 1);
}

/* How it is used: by small messages from c to s, which are answered or not. */
static void used_for_long(bool answered)
{
	int forgotten = ktap_ms(FORGOTTEN * 1000) / 1000, sent = 0;
	struct pair p;
	long long end;

	tracked(forgotten);
	pair_open(&p);
	end = ktap_now() + forgotten * 1500;
	while (ktap_now() < end) {
		send_pattern(p.c, 100, 1, 100 * sent);
		recv_pattern(p.s, 100, 1, 100 * sent);
		if (answered) {
			send_pattern(p.s, 100, 2, 100 * sent);
			recv_pattern(p.c, 100, 2, 100 * sent);
		}
		sent++;
		sleep_ms(10);
	}
	/* It is remembered for a time, after it was last used. */
	sleep_ms(forgotten * 400);
	close(p.c);
	await(p.s, POLLIN);
	expect_eof(p.s);
	close(p.s);
}

CASE_LIMIT(join_remembered, ON_TCP | ON_JOIN, 60)
{
	used_for_long(true);
}
BY_CLOCK(join_remembered);

CASE_LIMIT(join_remembered_one_way, ON_TCP | ON_JOIN, 60)
{
	used_for_long(false);
}
BY_CLOCK(join_remembered_one_way);
