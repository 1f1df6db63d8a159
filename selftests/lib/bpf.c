// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "bpf.h"

static struct bpf_insn program[64];
static int insns;

int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

void bpf_begin(void)
{
	insns = 0;
}

void bpf_put_(struct bpf_insn insn)
{
	CHECK(insns < (int)ARRAY_SIZE(program));
	program[insns++] = insn;
}

int bpf_notes_(int n)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
		.max_entries = n,
	};
	int map = bpf(BPF_MAP_CREATE, &attr);

	if (map < 0) {
		EQ(ENOSYS, errno);
		ktap_skip("this kernel has no BPF");
	}
	return map;
}

unsigned long long bpf_noted_(int map, __u32 key)
{
	unsigned long long n = 0;
	union bpf_attr attr = {
		.map_fd = map, .key = (unsigned long)&key, .value = (unsigned long)&n,
	};

	OK(bpf(BPF_MAP_LOOKUP_ELEM, &attr));
	return n;
}

void bpf_put_note_(int map, int key, struct bpf_insn op)
{
	bpf_put_(INSN(BPF_ST | BPF_MEM | BPF_W, FRAME, 0, -4, key));
	bpf_put_(INSN(BPF_ALU64 | BPF_MOV | BPF_X, R2, FRAME, 0, 0));
	bpf_put_(INSN(BPF_ALU64 | BPF_ADD | BPF_K, R2, 0, 0, -4));
	bpf_put_(INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map));
	bpf_put_(INSN(0, 0, 0, 0, 0));
	bpf_put_(INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem));
	bpf_put_(INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 1, 0));
	bpf_put_(op);
}

int bpf_load_(int prog_type, int attach_type)
{
	static char log[16384];
	union bpf_attr attr = {
		.prog_type = prog_type, .expected_attach_type = attach_type,
		.insns = (unsigned long)program, .insn_cnt = insns,
		.license = (unsigned long)"GPL",
		.log_buf = (unsigned long)log, .log_size = sizeof(log), .log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		FAIL("BPF_PROG_LOAD: %s: %s", ktap_errno(errno), log);
	return fd;
}

int cgroup_root_(void)
{
	char root[] = "/tmp/cgroup.XXXXXX";
	int dir;

	OK(unshare(CLONE_NEWNS));
	OK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mkdtemp(root));
	OK(mount("cgroup2", root, "cgroup2", 0, NULL));
	dir = OK(open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	OK(umount2(root, MNT_DETACH));
	OK(rmdir(root));
	return dir;
}

int cgroup_enter_(int dir)
{
	int fd = OK(openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC));

	EQ(1, write(fd, "0", 1));
	close(fd);
	return 0;
}

int cgroup_attach_(int dir, int prog, int attach_type)
{
	union bpf_attr attr = {
		.link_create.prog_fd = prog,
		.link_create.target_fd = dir,
		.link_create.attach_type = attach_type,
	};

	return OK(bpf(BPF_LINK_CREATE, &attr));
}
