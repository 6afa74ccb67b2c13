/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The environment variables that the user listed, sent when a program starts.
 * Others never leave this program. A listed variable that is not set is sent as
 * an empty text, which replaces the value in an earlier program of the process.
 */
#ifndef CLEW_BPF_ENVIRONMENT_H
#define CLEW_BPF_ENVIRONMENT_H

#include "identity.h"
#include "kernel.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define ENVIRONMENT_MOST 8192 /* variables, and pieces of long ones, that are examined */

/* Fixed at load: names with their '=', as words of eight bytes, and masks of
 * the bytes that count. */
const volatile __u32 environment_count;
const volatile __u64 environment_names[CLEW_ENVIRONMENT_NAMES][CLEW_ENVIRONMENT_NAME / 8];
const volatile __u32 environment_lengths[CLEW_ENVIRONMENT_NAMES];
const volatile __u64 environment_masks[CLEW_ENVIRONMENT_NAMES][CLEW_ENVIRONMENT_NAME / 8];

/* The variable that is examined. The program at an exec does not sleep, so one
 * per CPU is enough. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, char[CLEW_TEXT_SIZE]);
} clew_variable SEC(".maps");

struct environment {
	__u64 at;
	__u64 end;
	__u64 time;
	__u32 serial;
	__u32 cpu;
	__u32 found; /* a bit for each name */
	bool inside; /* `at` is inside a variable */
};

static __noinline int send_variable(struct environment *environment, __u32 number,
				    const char *value, __u32 size)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(environment->cpu);
	struct text_record *record;

	record = cpu_state ? record_reserve(cpu_state, environment->cpu, CLEW_KIND_TEXT,
					    environment->time, sizeof(*record))
			   : NULL;
	if (!record)
		return 0;
	record->text.hash = CLEW_TEXT_ENVIRONMENT | (__u64)number << 32 | environment->serial;
	record->text.reserved = 0;
	record->text.reserved2 = 0;
	size = value && size < CLEW_TEXT_SIZE ? size : 0;
	/* Older verifiers need this mask, which the compiler would remove. */
	barrier_var(size);
	size &= CLEW_TEXT_SIZE - 1;
	if (size && bpf_probe_read_kernel(record->bytes, size, value))
		size = 0;
	record->text.text_size = size;
	record_submit(record);
	return 0;
}

static long variable_step(__u32 index, struct environment *environment)
{
	__u32 zero = 0, size;
	char *text = bpf_map_lookup_elem(&clew_variable, &zero);
	bool inside = environment->inside;
	long got;

	if (!text || environment->at >= environment->end)
		return 1;
	__builtin_memset(text, 0, CLEW_ENVIRONMENT_NAME);
	got = read_text(text, CLEW_TEXT_SIZE, environment->at);
	if (got <= 0)
		return 1;
	environment->inside = got == CLEW_TEXT_SIZE;
	environment->at += environment->inside ? got - 1 : got;
	if (inside)
		return 0;
	for (__u32 i = 0; i < CLEW_ENVIRONMENT_NAMES; i++) {
		bool same = i < environment_count;
		__u32 name;

		for (__u32 word = 0; word < CLEW_ENVIRONMENT_NAME / 8; word++)
			same &= ((((__u64 *)text)[word] ^ environment_names[i][word]) &
				 environment_masks[i][word]) == 0;
		if (!same)
			continue;
		environment->found |= 1u << i;
		name = environment_lengths[i] & (CLEW_ENVIRONMENT_NAME - 1);
		size = got - 1 > name ? got - 1 - name : 0;
		send_variable(environment, i, text + name, size);
	}
	return 0;
}

/* Sends the listed environment variables of a program at its exec. */
static __always_inline void send_environment(struct task_struct *task, __u32 serial, __u32 cpu,
					     __u64 time)
{
	struct environment environment = {.serial = serial, .cpu = cpu, .time = time};

	if (!environment_count)
		return;
	environment.at = READ(task, mm, env_start);
	environment.end = READ(task, mm, env_end);
	bpf_loop(ENVIRONMENT_MOST, variable_step, &environment, 0);
	for (__u32 i = 0; i < CLEW_ENVIRONMENT_NAMES; i++)
		if (i < environment_count && !(environment.found >> i & 1))
			send_variable(&environment, i, NULL, 0);
}

#endif
