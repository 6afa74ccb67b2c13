/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The levels at which a CPU runs above its task: hard interrupts, softirqs,
 * timer callbacks, inter-processor interrupts. Each of the two levels, hard and
 * soft, records what is running there.
 *
 * Invariant: no level is occupied while the CPU's scheduler switches tasks, but
 * the soft one in a real-time kernel, where tasks serve softirqs and may be
 * preempted or sleep meanwhile: what it holds follows such a task. After an exit
 * that was not seen, a level is wrong until the next switch at most.
 */
#ifndef CLEW_BPF_CONTEXT_H
#define CLEW_BPF_CONTEXT_H

#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include "unseen.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: from a CPU's struct rq to its preempt count; 0 unknown. On arm64 the count is the
 * task's. */
const volatile __s64 preempt_count_offset;

/* Fixed at load: the bits of it that count hard and non-maskable interrupts. */
const volatile __u32 preempt_hardirq;

/* Set while a softirq is served; disabled bottom halves add twice that. */
#define PREEMPT_SOFTIRQ_OFFSET 0x00000100

enum level { LEVEL_HARD, LEVEL_SOFT, LEVEL_TASK, LEVEL_UNKNOWN };

/* True if a task of a real-time kernel serves a softirq. */
static __always_inline bool serves_softirq(struct task_struct *task)
{
	struct task_struct___rt *real_time = (void *)task;

	return bpf_core_field_exists(real_time->softirq_disable_cnt) &&
	       (READ_TRUSTED(real_time, softirq_disable_cnt) & PREEMPT_SOFTIRQ_OFFSET);
}

#if defined(__TARGET_ARCH_arm64)
static __always_inline bool preempt_count(struct clew_cpu_state *cpu_state, __u32 *ret_count)
{
	struct task_struct___count *task = (void *)bpf_get_current_task_btf();

	*ret_count = READ_TRUSTED(task, thread_info.preempt_count);
	return true;
}
#else
static __always_inline bool preempt_count(struct clew_cpu_state *cpu_state, __u32 *ret_count)
{
	__u64 here = variable_here(cpu_state, preempt_count_offset);

	if (unlikely(!here))
		return false;
	*ret_count = READ((struct refcount_struct *)here, refs.counter);
	return true;
}
#endif

/* The level that the CPU is at, by its preempt count. */
static __always_inline enum level level_of(struct clew_cpu_state *cpu_state)
{
	__u32 count;

	if (!preempt_count(cpu_state, &count))
		return LEVEL_UNKNOWN;
	if (likely(!(count & (preempt_hardirq | PREEMPT_SOFTIRQ_OFFSET))))
		return serves_softirq(bpf_get_current_task_btf()) ? LEVEL_SOFT : LEVEL_TASK;
	return count & preempt_hardirq ? LEVEL_HARD : LEVEL_SOFT;
}

/*
 * The serial of the task that runs here; 0 if there is none or it is unknown.
 */
static __always_inline __u32 serial_of_current(struct clew_cpu_state *cpu_state,
					       struct task_struct *current_task)
{
	struct clew_task_state *state;

	if (likely(cpu_state->running_pid == (__u32)current_task->pid))
		return cpu_state->running;
	/* There was no switch on this CPU yet, or one that was not seen. */
	state = current_task->pid ? task_state(current_task) : NULL;
	return state ? state->serial : 0;
}

/* Where a program runs, and at which level. context_here() returns false if
 * there is no state of the CPU: nothing is recorded. */
struct context {
	struct clew_cpu_state *cpu_state;
	struct task_struct *task;
	__u32 cpu;
	enum level level;
};

static __always_inline bool context_here(struct context *ret_context)
{
	ret_context->cpu = bpf_get_smp_processor_id();
	ret_context->cpu_state = this_cpu_state(ret_context->cpu);
	if (!ret_context->cpu_state)
		return false;
	ret_context->task = bpf_get_current_task_btf();
	ret_context->level = level_of(ret_context->cpu_state);
	return true;
}

/* The serial of the acting task, 0 in an interrupt. */
static __always_inline __u32 context_serial(const struct context *context)
{
	return context->level == LEVEL_TASK ? serial_of_current(context->cpu_state, context->task)
					    : 0;
}

static __always_inline __u8 wake_context(const struct context *context)
{
	switch (context->level) {
	case LEVEL_TASK:
		return CLEW_WAKE_TASK;
	case LEVEL_HARD:
		return CLEW_WAKE_IRQ;
	case LEVEL_SOFT:
		return CLEW_WAKE_SOFTIRQ;
	default:
		return CLEW_WAKE_UNKNOWN;
	}
}

/* Sends the name of an interrupt's driver, once. */
__noinline int send_interrupt(__u64 action_address, __u64 number, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct irqaction *action = (struct irqaction *)action_address;
	struct text_record *record;
	struct sent *slot;
	long got;

	if (!cpu_state || !action)
		return 0;
	slot = sent_slot(CLEW_TEXT_IRQ | number, action_address, time);
	if (!slot)
		return 0;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_TEXT, time, sizeof(*record));
	if (!record)
		return 0;
	got = bpf_probe_read_kernel_str(record->bytes, 64, READ(action, name));
	record->text.hash = CLEW_TEXT_IRQ | number;
	record->text.text_size = got > 1 ? got - 1 : 0;
	record->text.reserved = 0;
	record->text.reserved2 = 0;
	record_submit(record);
	sent_mark(slot, CLEW_TEXT_IRQ | number, action_address, time);
	return 0;
}

#define SOFTIRQ_TIMER	1
#define SOFTIRQ_HRTIMER 8

/* True if a timer may be what is running there, and timers are not seen. */
static __always_inline bool may_be_timer(const struct clew_cause *outer)
{
	return is_unseen(CLEW_UNSEEN_HRTIMERS | CLEW_UNSEEN_TIMERS) &&
	       outer->kind == CLEW_CAUSE_SOFTIRQ &&
	       (outer->object == SOFTIRQ_TIMER || outer->object == SOFTIRQ_HRTIMER);
}

/* True if nothing that is seen runs at a level where something unseen may. */
static __always_inline bool may_be_unseen(enum level level)
{
	return is_unseen(level == LEVEL_HARD
				 ? CLEW_UNSEEN_INTERRUPTS | CLEW_UNSEEN_CROSS | CLEW_UNSEEN_HRTIMERS
				 : CLEW_UNSEEN_SOFTIRQS | CLEW_UNSEEN_HRTIMERS |
					   CLEW_UNSEEN_TIMERS);
}

/*
 * Sets what the interrupt at `level` is doing, the innermost first, and returns
 * the context of a wake made there. An IRQ's `handler` is set until
 * cause_name() has sent its name.
 */
static __always_inline __u8 cause_of(struct clew_cpu_state *cpu_state, enum level level,
				     struct clew_cause *ret_cause)
{
	struct clew_level *here = &cpu_state->levels[level & 1];
	__u8 context = level == LEVEL_HARD ? CLEW_WAKE_IRQ : CLEW_WAKE_SOFTIRQ;

	__builtin_memset(ret_cause, 0, sizeof(*ret_cause));
	if (here->request) {
		ret_cause->kind = CLEW_CAUSE_REQUEST;
		ret_cause->object = here->request;
	} else if (here->inner.kind) {
		*ret_cause = here->inner;
		if (here->inner.kind == CLEW_CAUSE_TIMER)
			context = CLEW_WAKE_TIMER;
	} else if (here->outer.kind && !may_be_timer(&here->outer)) {
		*ret_cause = here->outer;
		if (here->outer.kind == CLEW_CAUSE_IPI)
			context = CLEW_WAKE_IPI;
	} else if (may_be_unseen(level)) {
		context = CLEW_WAKE_UNKNOWN;
	}
	return context;
}

static __always_inline void cause_name(struct clew_cause *cause, __u32 cpu, __u64 time)
{
	if (cause->kind == CLEW_CAUSE_IRQ) {
		send_interrupt(cause->handler, cause->object, cpu, time);
		cause->handler = 0;
	}
}

/* The softirq that a task serves, while another task is on the CPU. */
struct softirq_aside {
	struct clew_level level;
	__u64 packet_received;
	__u32 packet_actor;
	__u32 packet_acknowledges;
	__u32 packet_late;
	__u32 reserved;
};

/* By the task's tid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct softirq_aside);
} clew_softirqs SEC(".maps");

static __noinline int softirq_put_aside(struct clew_cpu_state *cpu_state, __u32 tid)
{
	struct softirq_aside aside = {.level = cpu_state->levels[LEVEL_SOFT],
				      .packet_received = cpu_state->packet_received,
				      .packet_actor = cpu_state->packet_actor,
				      .packet_acknowledges = cpu_state->packet_acknowledges,
				      .packet_late = cpu_state->packet_late};

	/* Without room it has no known cause when it goes on. */
	return bpf_map_update_elem(&clew_softirqs, &tid, &aside, BPF_ANY);
}

static __noinline int softirq_go_on(struct clew_cpu_state *cpu_state, __u32 tid)
{
	struct softirq_aside *aside = bpf_map_lookup_elem(&clew_softirqs, &tid);

	if (!aside)
		return 0;
	cpu_state->interrupted = 1;
	cpu_state->levels[LEVEL_SOFT] = aside->level;
	cpu_state->packet_received = aside->packet_received;
	cpu_state->packet_actor = aside->packet_actor;
	cpu_state->packet_acknowledges = aside->packet_acknowledges;
	cpu_state->packet_late = aside->packet_late;
	return bpf_map_delete_elem(&clew_softirqs, &tid);
}

/* At a switch no level above the task is occupied. */
static __always_inline void levels_reset(struct clew_cpu_state *cpu_state)
{
	if (likely(!cpu_state->interrupted))
		return;
	cpu_state->interrupted = 0;
	cpu_state->levels[LEVEL_HARD].outer.kind = 0;
	cpu_state->levels[LEVEL_HARD].inner.kind = 0;
	cpu_state->levels[LEVEL_HARD].request = 0;
	cpu_state->levels[LEVEL_SOFT].outer.kind = 0;
	cpu_state->levels[LEVEL_SOFT].inner.kind = 0;
	cpu_state->levels[LEVEL_SOFT].request = 0;
}

/* The softirq here handles no packet any more, or none yet. */
static __always_inline void packet_end(struct clew_cpu_state *cpu_state)
{
	cpu_state->packet_received = 0;
	cpu_state->packet_actor = 0;
}

static __always_inline void levels_switch(struct clew_cpu_state *cpu_state,
					  struct task_struct *prev, struct task_struct *next)
{
	bool aside = serves_softirq(prev);

	if (unlikely(aside))
		softirq_put_aside(cpu_state, prev->pid);
	levels_reset(cpu_state);
	if (unlikely(aside))
		packet_end(cpu_state);
	if (unlikely(serves_softirq(next)))
		softirq_go_on(cpu_state, next->pid);
}

#endif
