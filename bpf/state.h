/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything the programs share: settings, maps, a task's and a CPU's state, and
 * how a record reaches its ring.
 *
 * Two kinds of rings: switches, a thousand times as many as all else, go to slots
 * that are written in place (a ring buffer's reserve and submit would cost more
 * than the rest of the program), everything else to a BPF ring buffer a CPU.
 *
 * Invariants: a task's state is made at fork and by the iterator only; on the
 * hot path it is merely looked up. Counters of SWITCH and WAKE are only touched
 * with interrupts off, so plain increments do; all others are atomic.
 */
#ifndef CLEW_STATE_H
#define CLEW_STATE_H

#include "read.h"
#include <bpf/bpf_tracing.h>
#include <clew/kernel/calls.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Settings, fixed at load. */
const volatile __u8 call_class[CLEW_CALL_COUNT];
const volatile __u16 compat_call[CLEW_CALL_COUNT]; /* 32-bit number -> 64-bit number */
const volatile __u32 switch_slots;
const volatile __u32 task_slot_bits =
	CLEW_TASK_SLOT_BITS; /* there are 2^task_slot_bits task slots */
const volatile __u64
	ring_urgent; /* bytes in a ring of everything else at which the drain is woken */
const volatile __u32 self_pid;
const volatile __s64
	preempt_count_offset;	     /* from a CPU's struct rq to its preempt count; 0 unknown */
const volatile __s64 softnet_offset; /* the same to its struct softnet_data */
const volatile __u64 fault_entry;    /* the kernel's entry for page faults: [fault_entry,
					fault_entry_end), 0 unknown */
const volatile __u64 fault_entry_end;
const volatile __u64
	sched_text; /* functions of the scheduler: [sched_text, sched_text_end), 0 unknown */
const volatile __u64 sched_text_end;
const volatile __u64
	wait_woken; /* what many functions wait in: [wait_woken, wait_woken_end), 0 unknown */
const volatile __u64 wait_woken_end;
const volatile bool filter_pids;
const volatile bool filter_comm;
const volatile bool filter_cgroup;
const volatile char filter_glob[CLEW_COMM_SIZE * 2];
const volatile __u64 filter_cgroup_id;
const volatile __u32 filter_cgroup_level;
const volatile __u32
	filter_cgroup_subsystem; /* index in css_set.subsys; ~0: the unified hierarchy */

static __always_inline __u64 clock_ns(void)
{
	return CLEW_CLOCK(bpf_ktime_get_ns());
}

/* The gate of every program. Lives and identities are told a little longer, from the attaching on:
 * `identifying`. */
volatile __u32 enabled;
volatile __u32 identifying;
/* 0, but not to the verifier: flags that many branches add to it are one number to it then, not one
 * for each way through them. */
volatile __u32 untold_zero;
/* What the iterator does: enum clew_pass of maps.h. */
volatile __u32 pass;
__u32 last_serial;
/*
 * The bit of thread_info.flags that is set from a switch-out to the return to user
 * mode for a thread with a registered rseq; its number differs among kernels. The
 * first pass finds what all sleeping ones have in common, user space picks the bit.
 */
volatile __u64 notify_resume_mask;
__u64 sleeping_flags = ~0ULL;

/*
 * Where most tasks have their state: in the slot that the task's address is hashed to. Task storage
 * costs two more lines of cache at each look, and at a fork more than all the rest; who finds its
 * slot taken has its state there all the same.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* lets values begin at a cache line */
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

/* Rings of switches, and of direct I/O that interrupts complete: see clew_cpu_state. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_switch_slot);
} clew_switches SEC(".maps");

/* Rings of everything else: rarer, and of many sizes. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} clew_rings SEC(".maps") = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* tid, or pid with the top bit set */
	__type(value, __u32);
} clew_filter SEC(".maps");

/* Which identities were sent: a cache, direct mapped; a collision costs a second sending. */
#define SENT_SLOTS 16384
struct sent {
	__u64 key;
	__u64 version;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS);
	__type(key, __u32);
	__type(value, struct sent);
} clew_sent SEC(".maps");

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
 * Address of one of this CPU's variables, which no symbol table of a hardened kernel gives: their
 * distances to its run queue are in BTF, and every task on the CPU points to that. 0: unknown.
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

/* What tells a task from all others there are: its address, but for the low byte. */
static __always_inline __u64 task_key(struct task_struct *task)
{
	/* The verifier lets nobody calculate with a pointer, but once a byte of it was overwritten
	 * it is a number. */
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

static __always_inline struct clew_task_state *task_state(struct task_struct *task)
{
	__u64 key = task_key(task);
	struct clew_task_slot *slot = task_slot(key);

	if (slot && likely(slot->task == key))
		return &slot->state;
	return bpf_task_storage_get(&clew_tasks, task, 0, 0);
}

/* Makes the state of a task that has none, all zero; NULL: no memory. A slot that has its address
 * still was another's, dead by now. */
static __always_inline struct clew_task_state *task_state_make(struct task_struct *task)
{
	__u64 key = task_key(task);
	struct clew_task_slot *slot = task_slot(key);

	if (!slot || (slot->task != key &&
		      __sync_val_compare_and_swap(&slot->task, 0, CLEW_TASK_SLOT_TAKEN)))
		return bpf_task_storage_get(&clew_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__builtin_memset(&slot->state, 0, sizeof(slot->state));
	barrier();
	slot->task = key;
	return &slot->state;
}

/* It has left its last CPU for good: the slot is free for another. */
static __always_inline void task_state_drop(struct task_struct *task)
{
	__u64 key = task_key(task);
	struct clew_task_slot *slot = task_slot(key);

	if (slot && slot->task == key)
		slot->task = 0;
}

/* How many of a task's page faults are over. */
static __always_inline __u64 faults_over(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

/* The CPU's next free slot; NULL if there are not two, as a switch may need the one after it for
 * its cause. */
static __always_inline struct clew_switch_slot *slot_next(struct clew_cpu_state *cpu_state,
							  __u32 cpu)
{
	__u64 head = cpu_state->head;
	__u32 index = cpu * switch_slots + cpu_state->position;

	if (unlikely(head - *(volatile __u64 *)&cpu_state->tail >= switch_slots - 1))
		return NULL;
	return bpf_map_lookup_elem(&clew_switches, &index);
}

/* Gives the drain the next `used` slots. On x86 stores are seen in order: they are whole when it
 * sees the new head. */
static __always_inline void slots_give(struct clew_cpu_state *cpu_state, __u32 used)
{
	cpu_state->position += used;
	if (unlikely(cpu_state->position >= switch_slots))
		cpu_state->position -= switch_slots;
	barrier();
	*(volatile __u64 *)&cpu_state->head = cpu_state->head + used;
}

static __always_inline void count_atomic(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* The ring of a CPU, or NULL; accounts for a refusal. */
static __always_inline void *ring_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&clew_rings, &cpu);
}

/* Accounts for a record of `kind` that did or did not reach the ring. */
static __always_inline void account(struct clew_cpu_state *cpu_state, __u8 kind, bool reserved)
{
	struct clew_count_row *row = &cpu_state->counts[kind];

	if (likely(reserved)) {
		count_atomic(&row->reserved);
	} else {
		count_atomic(&row->lost);
		__sync_fetch_and_add(&cpu_state->lost, 1);
	}
}

#define CALL_AGAIN 200000 /* ns */

/* A burst would fill the ring before the drain looks again: wakes it, at most once in a while. */
__noinline int call_drain(__u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	void *ring = ring_of(cpu), *nothing;

	if (!cpu_state || !ring || (__s64)(time - cpu_state->called) < CALL_AGAIN)
		return 0;
	cpu_state->called = time;
	nothing = bpf_ringbuf_reserve(ring, sizeof(__u64), 0);
	if (nothing)
		bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Room for a record of `kind` on this CPU's ring, its header filled in; NULL and accounted for if
 * there is none. */
static __always_inline void *record_reserve(struct clew_cpu_state *cpu_state, __u32 cpu, __u8 kind,
					    __u64 time, __u64 size)
{
	void *ring = ring_of(cpu);
	struct clew_header *header = NULL;

	count_atomic(&cpu_state->counts[kind].seen);
	if (ring) {
		if (unlikely(bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_urgent))
			call_drain(cpu, time);
		header = bpf_ringbuf_reserve(ring, size, 0);
	}
	account(cpu_state, kind, header != NULL);
	if (!header)
		return NULL;
	header->time = time;
	header->lost = cpu_state->lost;
	header->cpu = cpu;
	header->kind = kind;
	header->flags = 0;
	return header;
}

static __always_inline void record_submit(void *record)
{
	/* The drain polls: a wakeup for each would cost the traced task. */
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Whether (key, version) has to be sent now; if so the caller sends it and then marks the slot. */
static __always_inline struct sent *sent_slot(__u64 key, __u64 version)
{
	__u32 index = (__u32)((key * 0x9e3779b97f4a7c15ULL) >> 40) & (SENT_SLOTS - 1);
	struct sent *slot = bpf_map_lookup_elem(&clew_sent, &index);

	if (!slot || (slot->key == key && slot->version == version))
		return NULL;
	return slot;
}

static __always_inline void sent_mark(struct sent *slot, __u64 key, __u64 version)
{
	slot->key = key;
	slot->version = version;
}

#endif
