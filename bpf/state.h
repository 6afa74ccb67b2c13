/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State that all programs share: whether they record, and the state of tasks
 * and CPUs.
 *
 * Invariant: a task's state is made at fork and by the iterator only; the hot
 * paths merely look it up.
 */
#ifndef CLEW_BPF_STATE_H
#define CLEW_BPF_STATE_H

#include "kernel.h"
#include "order.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load. There are 2^task_slot_bits task slots. */
const volatile __u32 task_slot_bits = CLEW_TASK_SLOT_BITS;
const volatile __u32 self_pid;

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static __always_inline __u64 clock_ns(void)
{
	return CLEW_CLOCK(bpf_ktime_get_ns());
}

/* Fixed at load: no shorter sleep has stacks, ns; 0: nobody asks for stacks. */
const volatile __u64 stack_threshold;

/* The value of clew_task_state.asleep_since for a sleep that begins at `time`. */
#define ASLEEP_SHIFT 10
static __always_inline __u32 asleep_now(__u64 time)
{
	return (__u32)(time >> ASLEEP_SHIFT) | 1;
}

/* True if a task has slept since `since` for so long that its stacks are wanted. */
static __always_inline bool slept_long(__u32 since, __u64 now)
{
	__u32 steps = (__u32)(now >> ASLEEP_SHIFT) - since;

	/* A task may be woken while it still goes to sleep. */
	return since && steps <= 0u - 1000 && (__u64)steps << ASLEEP_SHIFT >= stack_threshold;
}

/*
 * Every program returns at once while `enabled` is 0. Forks, execs, names and
 * identities are also recorded while `identifying` is set, which is from the
 * attaching on.
 */
volatile __u32 enabled;
volatile __u32 identifying;
/*
 * Always 0, which the verifier must not know. Flags that many branches add to
 * it are one unknown number to the verifier, not one for each path. Older
 * verifiers also look only at the first turn of a loop, and take for dead what
 * cannot happen in that turn.
 */
volatile __u32 always_zero;
/* The iterator's current pass: enum clew_pass. */
volatile __u32 pass;
/*
 * ns: records from this time on are in the current file of the recording, and
 * what they name has to be named there. 0 in the first file.
 */
volatile __u64 named_from;
volatile __u64 named_before; /* the same for the file before it */
__u32 last_serial;
/*
 * The bit of thread_info.flags that is set from a switch-out to the return to
 * user mode, for a thread with a registered rseq, and the one that is set while
 * a signal is pending; 0 unknown. Their numbers differ among kernels. The first
 * pass of the iterator collects the flags that all sleeping threads have in
 * common; user space picks the bits.
 */
volatile __u64 return_flag;
volatile __u64 signal_flag;
__u64 sleeping_flags = ~0ULL;

/* True if each switch from the task sets return_flag: it has a registered rseq.
 * With a newer form of rseq, since 6.19, not each one does. */
static __always_inline bool flagged_at_switch(struct task_struct *task)
{
	struct task_struct___rseq *apart = (void *)task;

	if (!bpf_core_field_exists(apart->rseq.usrptr))
		return READ_TRUSTED(task, rseq);
	return READ_TRUSTED(apart, rseq.event.has_rseq) == 1;
}

/* Differs between the files that records of two times are in. */
static __always_inline __u64 file_at(__u64 time)
{
	return time >= named_from ? named_from : named_before;
}

/*
 * Where most tasks have their state: in the slot to which the task's address is
 * hashed. Task storage costs two more cache lines at each lookup, and at a fork
 * more than all the rest of the program. A task whose slot is taken has its
 * state in task storage.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* aligns values to a page, so to a cache line */
	__uint(max_entries, 1 << CLEW_TASK_SLOT_BITS);
	__type(key, __u32);
	__type(value, struct clew_task_slot);
} clew_task_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct clew_task_state);
} clew_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_cpu_state);
} clew_cpus SEC(".maps");

/* Where and when a program runs. */
struct where {
	struct clew_cpu_state *cpu_state;
	__u64 time;
	__u32 cpu;
};

static __always_inline struct clew_cpu_state *this_cpu_state(__u32 cpu)
{
	return bpf_map_lookup_elem(&clew_cpus, &cpu);
}

/*
 * The address of one of this CPU's variables, 0 if unknown. The symbol table of
 * a hardened kernel does not give it, but the offset of the variable from the
 * CPU's run queue is in BTF, and every task on the CPU points to that run
 * queue.
 */
static __always_inline __u64 variable_here(struct clew_cpu_state *cpu_state, __s64 offset)
{
	if (unlikely(!cpu_state->run_queue)) {
		struct rq *rq = READ(bpf_get_current_task_btf(), se.cfs_rq, rq);

		if (!rq || (__u32)READ(rq, cpu) != bpf_get_smp_processor_id())
			return 0;
		cpu_state->run_queue = (__u64)rq;
	}
	return offset ? cpu_state->run_queue + offset : 0;
}

/* The key of a task: its address without the low byte. */
static __always_inline __u64 task_key(struct task_struct *task)
{
	/* The verifier allows no arithmetic on a pointer, but takes it for a
	 * number once one byte was overwritten. */
	volatile union {
		struct task_struct *task;
		__u64 number;
		__u8 low;
	} key = {.task = task};

	key.low = 0;
	return key.number;
}

static __always_inline struct clew_task_slot *task_slot(__u64 key)
{
	__u32 index = (key * 0x9e3779b97f4a7c15ULL) >> (64 - task_slot_bits);

	return bpf_map_lookup_elem(&clew_task_slots, &index);
}

/* Has the CPU fetch the state of a task, which is looked up a little later. */
static __always_inline void task_state_fetch(struct task_struct *task)
{
	struct clew_task_slot *slot = task_slot(task_key(task));

	if (slot)
		*(volatile __u64 *)&slot->task;
}

static __always_inline struct clew_task_state *task_state(struct task_struct *task)
{
	__u64 key = task_key(task);
	struct clew_task_slot *slot = task_slot(key);

	if (slot && likely(slot->task == key))
		return &slot->state;
	return bpf_task_storage_get(&clew_tasks, task, 0, 0);
}

/* Makes the state of a task that has none, zeroed; NULL if there is no memory.
 * A slot that already has the task's address belonged to a dead task. */
static __always_inline struct clew_task_state *task_state_make(struct task_struct *task)
{
	__u64 key = task_key(task);
	struct clew_task_slot *slot = task_slot(key);

	if (!slot || (slot->task != key &&
		      __sync_val_compare_and_swap(&slot->task, 0, CLEW_TASK_SLOT_TAKEN)))
		return bpf_task_storage_get(&clew_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__builtin_memset(&slot->state, 0, sizeof(slot->state));
	keep_order();
	slot->task = key;
	return &slot->state;
}

/* The task has left its last CPU for good: frees its slot. */
static __always_inline void task_state_drop(struct task_struct *task)
{
	__u64 key = task_key(task);
	struct clew_task_slot *slot = task_slot(key);

	if (slot && slot->task == key)
		slot->task = 0;
}

/* The number of page faults of a task that have ended. */
static __always_inline __u64 faults_over(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

static __always_inline void count_atomic(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

const volatile bool page_cache; /* Fixed at load: whether the page cache is recorded. */

static __always_inline bool where_here(struct where *where)
{
	where->cpu = bpf_get_smp_processor_id();
	where->cpu_state = this_cpu_state(where->cpu);
	where->time = clock_ns();
	return where->cpu_state != NULL;
}

#endif
