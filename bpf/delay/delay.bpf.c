/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a function take longer, and times the operations that it is in. An object of its own, which
 * `clew what-if --try` loads without the recorder.
 *
 * Invariants: a call is delayed by its block's delay at most, which user space bounds, and all
 * calls of a block together by `percent` of the time since its start. Whatever becomes of user
 * space, the delays end with it: its links hold the probes.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <clew/kernel/maps/delay.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SPINS	 (1 << 20) /* steps of a spin at most; each takes 20 ns or more */
#define FIFO	 1	   /* SCHED_FIFO */
#define RR	 2	   /* SCHED_RR */
#define DEADLINE 6	   /* SCHED_DEADLINE */

/* Fields of the kernel's that are used; the loader finds where they are. */
struct task_struct {
	int pid, tgid;
	unsigned int policy;
} __attribute__((preserve_access_index));

const volatile __u32 self;    /* process of clew itself */
const volatile _Bool all;     /* all processes are meant */
const volatile __u32 percent; /* of a CPU that delays may take */

__u32 block; /* the current one */
struct clew_delay_block blocks[CLEW_DELAY_BLOCKS];

/* Processes that are meant, and what they fork. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

/* An operation that goes on. */
struct begun {
	__u64 time;
	__u32 block;
	__u32 depth; /* of calls of itself within */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32); /* thread */
	__type(value, struct begun);
} operations SEC(".maps");

static __always_inline _Bool is_meant(void)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;

	return process != self && (all || bpf_map_lookup_elem(&targets, &process));
}

static __always_inline struct clew_delay_block *current_block(void)
{
	__u32 number = *(volatile __u32 *)&block;

	if (number >= CLEW_DELAY_BLOCKS)
		return (struct clew_delay_block *)0;
	/* The verifier is to see the bound where the number is used. */
	barrier_var(number);
	return &blocks[number & (CLEW_DELAY_BLOCKS - 1)];
}

static _Bool is_real_time(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	unsigned int policy = BPF_CORE_READ(task, policy);

	return policy == FIFO || policy == RR || policy == DEADLINE;
}

struct spin {
	__u64 until;
};

static long spin_step(__u32 step, struct spin *spin)
{
	(void)step;
	return bpf_ktime_get_ns() >= spin->until;
}

SEC("uprobe")
int delay_call(void *registers)
{
	struct clew_delay_block *now = current_block();
	struct spin spin;
	__u64 delay, begun, most, before;

	(void)registers;
	if (!now || !is_meant())
		return 0;
	__sync_fetch_and_add(&now->calls, 1);
	delay = *(volatile __u64 *)&now->delay;
	if (!delay || delay > CLEW_DELAY_MOST)
		return 0;
	if (is_real_time()) {
		__sync_fetch_and_add(&now->real_time, 1);
		return 0;
	}
	begun = bpf_ktime_get_ns();
	most = (begun - now->start) / 100 * percent;
	before = __sync_fetch_and_add(&now->added, delay);
	if (before > most) {
		__sync_fetch_and_add(&now->added, -delay);
		__sync_fetch_and_add(&now->left_out, 1);
		return 0;
	}
	spin.until = begun + delay;
	bpf_loop(SPINS, spin_step, &spin, 0);
	__sync_fetch_and_add(&now->added, bpf_ktime_get_ns() - begun - delay);
	__sync_fetch_and_add(&now->delayed, 1);
	return 0;
}

SEC("uprobe")
int operation_begin(void *registers)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();
	struct begun *known, begun = {.time = bpf_ktime_get_ns()};

	(void)registers;
	if (!is_meant())
		return 0;
	begun.block = *(volatile __u32 *)&block;
	known = bpf_map_lookup_elem(&operations, &thread);
	/* One of an earlier block was left without its end, or counts in no block. */
	if (known && known->block == begun.block) {
		known->depth++;
		return 0;
	}
	bpf_map_update_elem(&operations, &thread, &begun, BPF_ANY);
	return 0;
}

SEC("uprobe")
int operation_end(void *registers)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();
	struct begun *begun = bpf_map_lookup_elem(&operations, &thread);
	struct clew_delay_block *now = current_block();

	(void)registers;
	if (!begun)
		return 0;
	if (begun->depth) {
		begun->depth--;
		return 0;
	}
	/* One across a border has part of its time in each block. */
	if (now && begun->block == *(volatile __u32 *)&block) {
		__sync_fetch_and_add(&now->operations, 1);
		__sync_fetch_and_add(&now->ns, bpf_ktime_get_ns() - begun->time);
	}
	bpf_map_delete_elem(&operations, &thread);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int forked(__u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	__u32 process = BPF_CORE_READ(parent, tgid), made = BPF_CORE_READ(child, tgid), one = 1;

	if (process != made && bpf_map_lookup_elem(&targets, &process))
		bpf_map_update_elem(&targets, &made, &one, BPF_ANY);
	return 0;
}
