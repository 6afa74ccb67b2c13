/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks the stacks of one process: at each tick, with the registers and the memory that another
 * unwinder needs to do the same; and at each switch, out of and into the same wait.
 */
#include "unwind.h"
#include <bpf/bpf_tracing.h>

#include "unwind_compare.h"

/* Bytes of struct pt_regs: all, or on arm64 those before what was in x0. */
#if defined(__TARGET_ARCH_arm64)
#define REGISTER_BYTES (34 * 8)
#else
#define REGISTER_BYTES sizeof(struct pt_regs)
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";

volatile __u32 target; /* process */
volatile __u32 enabled_here;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 << 20);
} messages SEC(".maps");

struct left {
	__u64 hash;
	__u32 count;
	__u32 end;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct left);
} left_at SEC(".maps");

static __always_inline bool walk_begin(struct stack_walk *walk, __u32 level)
{
	walk->window.level = level;
	walk->place.pid = target;
	walk->room = bpf_map_lookup_elem(&clew_walks, &level);
	return walk->room != NULL;
}

SEC("perf_event")
int sample(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
	struct stack_message *message;
	struct stack_walk walk = {};

	if (!enabled_here || (__u32)task->tgid != target || !task->mm ||
	    !walk_begin(&walk, WALK_SAMPLE))
		return 0;
	walk_task(&walk, task, registers);
	message = bpf_ringbuf_reserve(&messages, sizeof(*message), 0);
	if (!message)
		return 0;
	message->kind = MESSAGE_STACK;
	message->pid = task->tgid;
	message->tid = task->pid;
	message->count = walk.count;
	message->end = walk.end;
	__builtin_memset(message->registers, 0, sizeof(message->registers));
	bpf_probe_read_kernel(message->registers, REGISTER_BYTES, registers);
	bpf_probe_read_kernel(message->frames, sizeof(message->frames), walk.room->frames);
	message->copied = 0;
	for (int i = 0; i < COPIED / COPIED_PIECE; i++) {
		if (bpf_probe_read_user(message->stack + i * COPIED_PIECE, COPIED_PIECE,
					(void *)(register_sp(registers) + i * COPIED_PIECE)))
			break;
		message->copied = (i + 1) * COPIED_PIECE;
	}
	bpf_ringbuf_submit(message, 0);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(compare_switch, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	struct stack_walk walk = {}; /* one: the stack of a program is small */
	struct pair_message *message;
	struct mm_struct___tree *mm;
	struct left *left;

	if (!enabled_here)
		return 0;
	if (!preempted && (__u32)previous->tgid == target && previous->mm &&
	    walk_begin(&walk, WALK_SWITCH)) {
		left = bpf_task_storage_get(&left_at, previous, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (left) {
			walk_task(&walk, previous, (struct pt_regs *)bpf_task_pt_regs(previous));
			*left = (struct left){walk.hash, walk.count, walk.end};
		}
	}
	walk = (struct stack_walk){};
	if ((__u32)next->tgid != target || !next->mm || !walk_begin(&walk, WALK_SWITCH))
		return 0;
	left = bpf_task_storage_get(&left_at, next, 0, 0);
	if (!left || !left->count)
		return 0;
	mm = (void *)next->mm;
	walk.window.table = (__u64)BPF_CORE_READ(mm, pgd);
	walk_task(&walk, next, (struct pt_regs *)bpf_task_pt_regs(next));
	message = bpf_ringbuf_reserve(&messages, sizeof(*message), 0);
	if (message) {
		*message = (struct pair_message){
			.kind = MESSAGE_PAIR,
			.out_count = left->count,
			.in_count = walk.count,
			.out_end = left->end,
			.in_end = walk.end,
			.equal = left->hash == walk.hash && left->count == walk.count,
		};
		bpf_ringbuf_submit(message, 0);
	}
	left->count = 0;
	return 0;
}

/* Finds the direct map: at which distance a page's frame shows the word that it holds. */
volatile __u64 page_frame, page_word;

struct search {
	__u64 base;
};

static long search_step(__u32 turn, struct search *search)
{
	__u64 word = 0, at = search->base - ((__u64)turn << 30);

	if (bpf_probe_read_kernel(&word, sizeof(word), (void *)(at + page_frame)) ||
	    word != page_word)
		return 0;
	direct_map = at;
	return 1;
}

SEC("raw_tp/sys_enter")
int find_direct_map(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct___tree *mm = (void *)task->mm;
	struct search search;

	if (direct_map || !page_frame || (__u32)task->tgid != target)
		return 0;
	search.base = (__u64)BPF_CORE_READ(mm, pgd) & ~((1ull << 30) - 1);
	bpf_loop(1 << 14, search_step, &search, 0);
	return 0;
}
