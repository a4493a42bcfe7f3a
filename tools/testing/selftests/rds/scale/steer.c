// SPDX-License-Identifier: GPL-2.0
/* Take a port from the kernel's own listener. */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "steer.h"

#define KEY_AT (-4)	/* the only entry of the map, on the stack */

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_SOCKMAP,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(uint64_t),
		.max_entries = 1,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

#define INSN(_code, _dst, _src, _off, _imm) {	\
	.code = (_code), .dst_reg = (_dst), .src_reg = (_src),	\
	.off = (_off), .imm = (_imm) }
#define MOVE(_dst, _src)						\
	INSN(BPF_ALU64 | BPF_MOV | BPF_X, _dst, _src, 0, 0)
#define MOVE_IMM(_dst, _imm)						\
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, _dst, 0, 0, _imm)
#define CALL(_helper)							\
	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_##_helper)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* r6 is the context, r7 the listener; r0 is the verdict. */
static int make_prog(int map, uint16_t port)
{
	struct bpf_insn insns[] = {
		MOVE(6, 1),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1,
		     offsetof(struct bpf_sk_lookup, local_port), 0),
		MOVE_IMM(0, SK_PASS),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1, port),
		EXIT,
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, KEY_AT, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		MOVE(2, 10),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, KEY_AT),
		CALL(map_lookup_elem),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0),
		MOVE_IMM(0, SK_DROP),
		EXIT,
		MOVE(7, 0),
		MOVE(1, 6),
		MOVE(2, 7),
		MOVE_IMM(3, 0),
		CALL(sk_assign),
		MOVE(1, 7),
		CALL(sk_release),
		MOVE_IMM(0, SK_PASS),
		EXIT,
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SK_LOOKUP,
		.expected_attach_type = BPF_SK_LOOKUP,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

static int make_link(int prog)
{
	union bpf_attr attr = {
		.link_create.prog_fd = prog,
		.link_create.attach_type = BPF_SK_LOOKUP,
	};
	int netns, link;

	netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (netns < 0)
		return -1;
	attr.link_create.target_fd = netns;
	link = bpf(BPF_LINK_CREATE, &attr);
	close(netns);
	return link;
}

int steer_start(struct steer *steer, uint16_t port)
{
	steer->map = make_map();
	if (steer->map < 0)
		return -1;
	steer->prog = make_prog(steer->map, port);
	if (steer->prog < 0)
		return -1;
	steer->link = make_link(steer->prog);
	return steer->link < 0 ? -1 : 0;
}

int steer_to(const struct steer *steer, int listener)
{
	uint64_t value = listener;
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = steer->map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};

	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

void steer_stop(struct steer *steer)
{
	close(steer->link);
	close(steer->prog);
	close(steer->map);
}
