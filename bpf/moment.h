/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Points of runtimes' descriptions. Their times are exact, and a record is copied to the ring in
 * one call: a program that is preempted between reserve and submit would hold up the ring of its
 * CPU.
 */
#ifndef CLEW_BPF_MOMENT_H
#define CLEW_BPF_MOMENT_H

#include "arch.h"
#include "filter.h"
#include "kernel.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* One entry unless runtimes are recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_moment_site);
} clew_moment_sites SEC(".maps");

/* By thread. One entry unless runtimes are recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_moment_kept);
} clew_moment_keeps SEC(".maps");

struct moment_record {
	struct clew_moment moment;
	__u8 values[CLEW_MOMENT_ROOM];
};

/* The number that the entry of this call kept. False: there is none. */
static __always_inline bool moment_kept(const struct clew_moment *moment, __u64 *ret_value)
{
	__u32 task = moment->task;
	struct clew_moment_kept *kept = bpf_map_lookup_elem(&clew_moment_keeps, &task);

	if (!kept || kept->stack != moment->stack)
		return false;
	*ret_value = kept->value;
	return true;
}

static __always_inline void moment_keep(const struct clew_moment *moment, __u64 value)
{
	struct clew_moment_kept kept = {.stack = moment->stack, .value = value};
	__u32 task = moment->task;

	bpf_map_update_elem(&clew_moment_keeps, &task, &kept, BPF_ANY);
}

/* The value with which a chain of reads begins. False if it cannot be read. */
static __always_inline bool moment_base(struct pt_regs *registers, struct clew_operand *operand,
					const struct clew_moment *moment, __u64 *ret_value)
{
	__u64 value = 0;
	__u8 shift = operand->shift & 63;

	switch (operand->kind) {
	case CLEW_OPERAND_CONSTANT:
		*ret_value = operand->value;
		return true;
	case CLEW_OPERAND_THREAD:
		*ret_value = thread_pointer();
		return true;
	case CLEW_OPERAND_KEPT:
		return moment_kept(moment, ret_value);
	case CLEW_OPERAND_REGISTER:
	case CLEW_OPERAND_MEMORY:
		break;
	default:
		return false;
	}
	if (bpf_probe_read_kernel(&value, sizeof(value), (void *)registers + operand->base))
		return false;
	if (operand->kind == CLEW_OPERAND_MEMORY &&
	    bpf_probe_read_user(&value, sizeof(value), (void *)(value + operand->value)))
		return false;
	value <<= shift;
	*ret_value = operand->is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
	return true;
}

/* Appends a value: a number as eight bytes, a text with its NUL. False if it cannot be read. */
static __noinline bool moment_value(struct pt_regs *registers, struct clew_moment_value *wanted,
				    struct moment_record *record)
{
	__u32 size = record->moment.size, max = wanted->text_max;
	__u64 value = 0;
	long got;

	if (!moment_base(registers, &wanted->operand, &record->moment, &value))
		return false;
	for (int i = 0; i < CLEW_MOMENT_STEPS; i++) {
		struct clew_step *step = &wanted->steps[i];
		__u32 bytes = step->size > 8 ? 8 : step->size;
		__u8 shift = (64 - 8 * bytes) & 63;
		__u64 read = 0;

		value += step->add;
		if (!bytes)
			continue;
		if (bpf_probe_read_user(&read, bytes, (void *)value))
			return false;
		value = step->is_signed ? (__u64)((__s64)(read << shift) >> shift) : read;
	}
	if (wanted->keep)
		moment_keep(&record->moment, value);
	if (!max) {
		if (size > CLEW_MOMENT_ROOM - sizeof(value))
			return false;
		bpf_probe_read_kernel(record->values + size, sizeof(value), &value);
		record->moment.size = size + sizeof(value);
		return true;
	}
	if (size > CLEW_MOMENT_ROOM - CLEW_MOMENT_TEXT)
		return false;
	got = read_text((char *)record->values + size,
			max < CLEW_MOMENT_TEXT ? max : CLEW_MOMENT_TEXT, value);
	if (got <= 0)
		return false;
	record->moment.size = size + (__u32)got;
	return true;
}

static __always_inline void moment_send(struct where *where, struct clew_moment *record)
{
	struct clew_cpu_state *cpu_state = where->cpu_state;
	void *ring = ring_of(where->cpu);
	__u32 size = record->size;
	bool sent = false;

	count_atomic(&cpu_state->counts[CLEW_KIND_MOMENT].seen);
	record->header.lost = cpu_state->lost;
	record->header.cpu = where->cpu;
	record->header.kind = CLEW_KIND_MOMENT;
	if (ring) {
		if (unlikely(bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_urgent))
			drain_wake(where->cpu, record->header.time);
		if (size <= CLEW_MOMENT_ROOM)
			sent = !bpf_ringbuf_output(ring, record, sizeof(*record) + size,
						   BPF_RB_NO_WAKEUP);
	}
	account(cpu_state, CLEW_KIND_MOMENT, sent);
}

/* A task is at a site of that number. */
static __always_inline void moment_at(struct pt_regs *registers, __u32 number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct moment_record record = {.moment.header.time = bpf_ktime_get_ns()};
	struct clew_moment_site *site = bpf_map_lookup_elem(&clew_moment_sites, &number);
	struct clew_task_state *state = task_state(task);
	struct where where = {.time = record.moment.header.time, .cpu = bpf_get_smp_processor_id()};

	where.cpu_state = this_cpu_state(where.cpu);
	if (!where.cpu_state || !site || !state || !(state->flags & CLEW_TASK_STATE_DETAIL) ||
	    (filter_cgroup && !cgroup_wanted(task)))
		return;
	record.moment.stack = register_sp(registers) + site->below;
	record.moment.task = state->serial;
	record.moment.point = site->point;
	for (__u32 i = 0; i < CLEW_MOMENT_VALUES; i++) {
		if (i >= site->count)
			break;
		if (!moment_value(registers, &site->values[i], &record))
			record.moment.header.flags |= 1u << i;
	}
	moment_send(&where, &record.moment);
}

#endif
