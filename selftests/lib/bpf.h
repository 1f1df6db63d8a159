/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of BPF that a cgroup has, made by hand, since they are short: no library, no
 * compiler.  One is written at a time, by bpf_put().
 */
#ifndef _SELFTESTS_BPF_H
#define _SELFTESTS_BPF_H

#include <linux/bpf.h>

#include "ktap.h"

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })

enum { R0, R1, R2, R6 = 6, R7, FRAME = 10 };

/* -1 with errno, as the system call. */
int bpf(int cmd, union bpf_attr *attr);

/* A new program; an instruction of it. */
void bpf_begin(void);
void bpf_put_(struct bpf_insn insn);
#define bpf_put(...)	({ CALL((bpf_put_(__VA_ARGS__), 0)); })

/* @n numbers that programs write, and the case reads.  Skips it where there is no BPF. */
int bpf_notes_(int n);
#define bpf_notes(n)	CALL(bpf_notes_(n))
unsigned long long bpf_noted_(int map, __u32 key);
#define bpf_noted(...)	CALL(bpf_noted_(__VA_ARGS__))
/* The program does @op, at R0, to a number of the map. */
void bpf_put_note_(int map, int key, struct bpf_insn op);
#define bpf_put_note(map, key, ...)					\
	({ CALL((bpf_put_note_(map, key, __VA_ARGS__), 0)); })

/* The descriptor of what was written: enum bpf_prog_type, enum bpf_attach_type. */
int bpf_load_(int prog_type, int attach_type);
#define bpf_load(...)	CALL(bpf_load_(__VA_ARGS__))

/* The root of the cgroups, as a directory.  In a mount namespace of the case's own. */
int cgroup_root_(void);
#define cgroup_root()	CALL(cgroup_root_())
/* This process is in that of the directory from now on. */
int cgroup_enter_(int dir);
#define cgroup_enter(dir)	CALL(cgroup_enter_(dir))
/* The program is attached to it while the descriptor that this returns is open. */
int cgroup_attach_(int dir, int prog, int attach_type);
#define cgroup_attach(...)	CALL(cgroup_attach_(__VA_ARGS__))

#endif
