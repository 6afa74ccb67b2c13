/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of waits and of running tasks: sent to user space once, and named by
 * their hashes afterwards. The cost of stacks of waits is limited on each CPU.
 */
#ifndef CLEW_BPF_WAITED_H
#define CLEW_BPF_WAITED_H

#include "arch.h"
#include "filter.h"
#include "kernel.h"
#include "kernel_mm.h"
#include "mapping.h"
#include "mix.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include "unwind.h"
#include "unwind_walk.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: the part of a CPU that stacks may take, one in so many. */
const volatile __u32 stack_budget;

/* Messages to the thread that names functions: struct clew_stack_news_header with
 * frames. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} clew_stack_news SEC(".maps");

#define BUDGET_SAVED 20000000ull /* ns that a CPU may save up */
#define SENT_BITS    16

/* Hashes of stacks that were sent. One that takes another's place has that sent
 * again. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << SENT_BITS);
	__type(key, __u32);
	__type(value, __u64);
} clew_stacks_sent SEC(".maps");

struct budget {
	__u64 saved; /* ns */
	__u64 since;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct budget);
} clew_stack_budgets SEC(".maps");

/* True if the CPU may take a stack. */
static __always_inline bool budget_allows(struct budget *budget, __u64 now)
{
	__u64 more = (now - budget->since) / (stack_budget ?: 1);

	budget->saved = budget->saved + more > BUDGET_SAVED ? BUDGET_SAVED : budget->saved + more;
	budget->since = now;
	return budget->saved > 0;
}

static __always_inline void budget_pay(struct budget *budget, __u64 spent)
{
	budget->saved = budget->saved > spent ? budget->saved - spent : 0;
}

/* Sends `count` frames behind `head` if they were not sent lately. */
static __always_inline void stack_send(struct clew_stack_news_header *head, __u64 hash, __u32 count,
				       __u8 flags, __u8 end)
{
	__u32 slot = hash >> (64 - SENT_BITS);
	__u64 *sent = bpf_map_lookup_elem(&clew_stacks_sent, &slot), size;
	__u64 mark = hash ^ file_at(clock_ns());

	if (!sent || *sent == mark)
		return;
	head->flags = flags;
	head->end = end;
	head->count = count;
	head->hash = hash;
	size = sizeof(*head) + (count & CLEW_STACK_MOST) * sizeof(__u64);
	if (!bpf_ringbuf_output(&clew_stack_news, head, size, BPF_RB_NO_WAKEUP))
		*sent = mark;
}

struct kernel_hash {
	const __u64 *frames;
	__u64 hash;
	__u32 count;
};

static long kernel_hash_step(__u32 turn, struct kernel_hash *sum)
{
	if (turn >= sum->count)
		return 1;
	sum->hash = mix(sum->hash, sum->frames[turn & (KERNEL_FRAMES - 1)]);
	return 0;
}

/* Sends the kernel stack in the room, `size` bytes of it, if it is new. Its hash;
 * 0: there is none. */
static __always_inline __u64 kernel_stack(struct walk_room *room, long size)
{
	struct kernel_hash sum = {.frames = room->kernel, .hash = 1};

	if (size < (long)sizeof(__u64))
		return 0;
	sum.count = (__u64)size / sizeof(__u64);
	bpf_loop(KERNEL_FRAMES, kernel_hash_step, &sum, 0);
	stack_send(&room->kernel_head, sum.hash, sum.count & (KERNEL_FRAMES - 1), CLEW_STACK_KERNEL,
		   CLEW_STACK_ROOT);
	return sum.hash;
}

static __always_inline bool stack_wanted(struct task_struct *task,
					 const struct clew_task_state *state)
{
	return (state->flags & CLEW_TASK_STATE_DETAIL) && !(state->flags & CLEW_TASK_STATE_SELF) &&
	       (!filter_cgroup || cgroup_wanted(task));
}

/* Takes the user stack of a task and sends it if it is new. Its hash; 0: there is
 * none. The caller has filled in what walk_task() wants. */
static __always_inline __u64 user_stack(struct stack_walk *walk, struct task_struct *task)
{
	if (!READ_TRUSTED(task, mm) || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return 0;
	walk->place.pid = task->tgid;
	walk_task(walk, task, saved_registers(task));
	if (!walk->count)
		return 0;
	walk->room->head.pid = task->tgid;
	stack_send(&walk->room->head, walk->hash, walk->count,
		   walk->by_pointers ? CLEW_STACK_BY_POINTERS : 0, walk->end);
	return walk->hash;
}

/* Takes the stacks of a task that sleeps, and sends what is new of them. */
static __always_inline void stacks_take(struct task_struct *task, __u32 level,
					struct walk_room *room, struct clew_task_stacks *ret_waited)
{
	struct stack_walk walk = {.room = room, .window.level = level, .hash = 2};
	struct mm_struct___tree *mm = (void *)READ_TRUSTED(task, mm);

	if (mm)
		walk.window.table = (__u64)BPF_CORE_READ(mm, pgd);
	ret_waited->user = user_stack(&walk, task);
	ret_waited->end = walk.end;
	ret_waited->kernel =
		kernel_stack(room, read_stack(task, room->kernel, sizeof(room->kernel)));
}

/* Emits a record of the stacks that were taken. */
static __always_inline void stacks_emit(struct clew_cpu_state *cpu_state, __u32 cpu, __u8 kind,
					__u64 now, __u32 serial,
					const struct clew_task_stacks *taken)
{
	struct clew_task_stacks *record =
		record_reserve(cpu_state, cpu, kind, now, sizeof(*record));

	if (!record)
		return;
	record->user = taken->user;
	record->kernel = taken->kernel;
	record->task = serial;
	record->end = taken->end;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	record_submit(record);
}

#endif
