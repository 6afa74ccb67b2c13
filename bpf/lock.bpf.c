/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at contention of kernel locks. A task that sleeps for a lock says so
 * in its wait. Spinning while it runs is a record of its own, if it took long
 * enough to matter.
 *
 * Only contention of tasks is followed: an interrupt's would be charged to the
 * task that it interrupted. A lock's inner spinlock may be contended while the
 * task waits for the lock itself, so spinning has a field of its own.
 */
#include "lock.h"
#include "context.h"
#include "lock_name.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define SPIN_WORTH 1000 /* ns: a shorter spin costs more to record than it took */

static __always_inline bool is_spinlock(__u32 type)
{
	return (type & CLEW_LOCK_SPIN) && !(type & CLEW_LOCK_MUTEX);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(clew_contention_begin, void *lock, unsigned int type)
{
	struct clew_task_state *state;
	struct context context;

	if (!enabled || !context_here(&context) || context.level != LEVEL_TASK)
		return 0;
	if (is_spinlock(type)) {
		/* No task waits for the idle task. */
		if (!context.task->pid)
			return 0;
		context.cpu_state->spin = (__u64)lock;
		context.cpu_state->spin_since = clock_ns();
		return 0;
	}
	state = task_state(context.task);
	if (!state)
		return 0;
	/* Contention of a mutex begins again each time the task changes between
	 * spinning and sleeping. */
	if (state->lock == (__u64)lock) {
		state->lock_type = type;
		return 0;
	}
	if (state->lock && lock_is_inside((__u64)lock, state->lock, state->lock_type))
		return 0;
	state->lock = (__u64)lock;
	state->lock_type = type;
	state->lock_since = clock_ns();
	state->lock_slept = 0;
	state->lock_owner = lock_owner((__u64)lock, type);
	return 0;
}

static __always_inline void spin_emit(struct context *context, __u64 lock, __u64 since, __u32 type,
				      __u32 owner)
{
	struct clew_lock *record;
	__u64 now = clock_ns();

	if (now - since < SPIN_WORTH) {
		count_atomic(&context->cpu_state->counts[CLEW_KIND_LOCK].seen);
		count_atomic(&context->cpu_state->counts[CLEW_KIND_LOCK].filtered);
		return;
	}
	if (type != CLEW_LOCK_SPIN)
		lock_name_send(lock, type, context->cpu, now);
	record = record_reserve(context->cpu_state, context->cpu, CLEW_KIND_LOCK, now,
				sizeof(*record));
	if (!record)
		return;
	record->begin = since;
	record->lock = lock;
	record->task = serial_of_current(context->cpu_state, context->task);
	record->owner = owner;
	record->type = type;
	record->reserved = 0;
	record_submit(record);
}

SEC("tp_btf/contention_end")
int BPF_PROG(clew_contention_end, void *lock)
{
	struct clew_task_state *state;
	struct context context;

	if (!enabled || !context_here(&context) || context.level != LEVEL_TASK)
		return 0;
	if (context.cpu_state->spin == (__u64)lock) {
		context.cpu_state->spin = 0;
		spin_emit(&context, (__u64)lock, context.cpu_state->spin_since, CLEW_LOCK_SPIN, 0);
		return 0;
	}
	state = task_state(context.task);
	if (state && state->lock == (__u64)lock) {
		state->lock = 0;
		if (!state->lock_slept)
			spin_emit(&context, (__u64)lock, state->lock_since, state->lock_type,
				  state->lock_owner);
	}
	return 0;
}
