/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel stacks: whether a task sleeps inside a page fault, and which function
 * waits.
 */
#ifndef CLEW_BPF_STACK_H
#define CLEW_BPF_STACK_H

#include "arch.h"
#include "kernel.h"
#include "state.h"
#include "unseen.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

/*
 * Fixed at load: address ranges [start, end) of the kernel's entry for page
 * faults, of the scheduler's functions, and of wait_woken, in which many
 * functions wait; 0 unknown.
 */
const volatile __u64 fault_entry;
const volatile __u64 fault_entry_end;
const volatile __u64 sched_text;
const volatile __u64 sched_text_end;
const volatile __u64 wait_woken;
const volatile __u64 wait_woken_end;
/* The same of the function by which mutexes and semaphores leave the CPU. */
const volatile __u64 lock_schedule;
const volatile __u64 lock_schedule_end;

#define FAULT_DEPTH   40
#define WAITING_DEPTH 16

/*
 * One stack at a time on a CPU: only sched_switch uses it, with interrupts off.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[FAULT_DEPTH]);
} clew_stack SEC(".maps");

/* A search in the first `count` addresses of the stack that this CPU keeps. Each step is a callback
 * of bpf_loop(), which the verifier checks once. */
struct stack_search {
	__u64 count;
	__u64 found;  /* 0: not yet */
	__u64 inside; /* the scheduler's functions began */
};

static __always_inline __u64 *stack_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&clew_stack, &zero);
}

static long fault_step(__u32 index, struct stack_search *search)
{
	__u64 *stack = stack_here();

	if (!stack || index >= FAULT_DEPTH || index >= search->count)
		return 1;
	search->found = stack[index] >= fault_entry && stack[index] < fault_entry_end;
	return search->found != 0;
}

static long waiting_step(__u32 index, struct stack_search *search)
{
	__u64 *stack = stack_here(), at;

	if (!stack || index >= WAITING_DEPTH || index >= search->count)
		return 1;
	at = stack[index];
	if (at >= sched_text && at < sched_text_end) {
		search->inside = 1;
		return 0;
	}
	if (!search->inside || (at >= wait_woken && at < wait_woken_end))
		return 0;
	search->found = at;
	return 1;
}

static __always_inline struct stack_search stack_search_of(long size)
{
	return (struct stack_search){.count = size > 0 ? size / sizeof(__u64) : 0};
}

__noinline int find_fault(long size)
{
	struct stack_search search = stack_search_of(size);

	bpf_loop(FAULT_DEPTH, fault_step, &search, 0);
	return search.found != 0;
}

__noinline __u64 find_waiting(long size)
{
	struct stack_search search = stack_search_of(size);

	bpf_loop(WAITING_DEPTH, waiting_step, &search, 0);
	return search.found;
}

__noinline int find_lock(long size)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&clew_stack, &zero);
	int i;

	for (i = 0; stack && i < WAITING_DEPTH && (i + 1) * (long)sizeof(*stack) <= size; i++)
		if (stack[i] >= lock_schedule && stack[i] < lock_schedule_end)
			return 1;
	return 0;
}

/* True if the stack shows that the task is in a page fault. */
static __always_inline bool fault_on_stack(void *context)
{
	__u64 *stack = stack_here();

	return stack && fault_entry &&
	       find_fault(bpf_get_stack(context, stack, FAULT_DEPTH * sizeof(*stack), 0));
}

/*
 * True if the wait is inside a page fault that the kernel took on this task's
 * stack during a call. The stack is walked only if such a fault may be going
 * on: no fault of the task has ended since, as a fault is counted at its end;
 * the stack pointer is below the fault's registers; and these are intact.
 */
static __always_inline bool in_kernel_fault(void *context, struct task_struct *task,
					    struct clew_task_state *state)
{
	struct pt_regs *regs = (void *)state->fault_frame;

	if (likely(!regs))
		return false;
	state->fault_frame = 0;
	if (faults_over(task) != state->fault_number || (__u64)context > (__u64)regs ||
	    (__u64)regs - KERNEL_STACK_SIZE > (__u64)context ||
	    read_register_ip(regs) != state->fault_ip || !fault_on_stack(context))
		return false;
	state->fault_frame = (__u64)regs;
	return true;
}

/* The same where no tracepoint says that a fault begins: the stack of each wait is walked. */
static __always_inline bool in_unseen_fault(void *context)
{
	return is_unseen(CLEW_UNSEEN_FAULTS) && fault_on_stack(context);
}

/* The function that called the scheduler, as in /proc/PID/wchan; 0 unknown. */
static __always_inline __u64 waiting_function(void *context)
{
	__u32 zero = 0;
	__u64 *stack;

	stack = bpf_map_lookup_elem(&clew_stack, &zero);
	if (!stack || !sched_text)
		return 0;
	return find_waiting(bpf_get_stack(context, stack, WAITING_DEPTH * sizeof(*stack), 0));
}

/* True if the task may sleep for a mutex or a semaphore of the kernel, also where the functions'
 * addresses are not known. */
static __always_inline bool may_sleep_for_lock(void *context)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&clew_stack, &zero);

	if (!stack || !lock_schedule)
		return true;
	return find_lock(bpf_get_stack(context, stack, WAITING_DEPTH * sizeof(*stack), 0));
}

#endif
