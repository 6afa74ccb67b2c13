/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes at entries and exits of functions in user space.
 *
 * Their times are exact, and their records are copied to the ring in one call:
 * a program that is preempted between reserve and submit would hold up the ring
 * of its CPU.
 */
#ifndef CLEW_BPF_FUNCTION_H
#define CLEW_BPF_FUNCTION_H

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

/* One entry unless functions are recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_function_site);
} clew_function_sites SEC(".maps");

/* The values of each site that has some; one entry unless some were asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_function_values);
} clew_function_values SEC(".maps");

/* Addresses of texts; one entry unless values were asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct clew_function_unread_text);
	__type(value, __u64);
} clew_function_unread_texts SEC(".maps");

/* One entry unless there is a limit to what functions cost. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_function_calls);
} clew_function_calls SEC(".maps");

/* One entry unless probes are trace events. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct clew_function_place);
	__type(value, __u32);
} clew_function_places SEC(".maps");

/* Fixed at load: all probes of a file are one trace event, and have one cookie. */
const volatile bool function_events;

/* False also if the target cannot be read: a jump through memory that is not
 * there does not leave the function, it faults. */
static __always_inline bool jump_leaves(struct pt_regs *registers, struct clew_function_site *site)
{
	__u64 target = 0;

	if (bpf_probe_read_kernel(&target, sizeof(target), (void *)registers + site->base))
		return false;
	if (site->operand == CLEW_OPERAND_MEMORY &&
	    bpf_probe_read_user(&target, sizeof(target), (void *)(target + site->offset)))
		return false;
	return target - (register_ip(registers) - site->from_start) >= site->length;
}

/* True if functions of the task are recorded at the site. */
static __always_inline bool function_wanted(struct task_struct *task, struct clew_task_state *state,
					    struct clew_function_site *site)
{
	const __u16 frames = CLEW_SITE_ENTER | CLEW_SITE_RET | CLEW_SITE_TAIL;

	if (!(state->flags & CLEW_TASK_STATE_DETAIL) || !site->roles ||
	    (filter_cgroup && !cgroup_wanted(task)))
		return false;
	if (site->filters && !(site->filters & state->functions))
		return false;
	/* The cut of a stack matters only to tasks that are in some function. */
	if (!(site->roles & frames))
		return state->in_functions;
	if (!state->in_functions)
		state->in_functions = 1;
	return true;
}

/* Sends the record with the values behind it; the task's next one says if it was lost. */
static __always_inline void function_send(struct where *where, struct clew_task_state *state,
					  struct clew_function *record)
{
	__u32 size = record->size;

	struct clew_cpu_state *cpu_state = where->cpu_state;
	void *ring = ring_of(where->cpu);
	bool sent = false;

	count_atomic(&cpu_state->counts[CLEW_KIND_FUNCTION].seen);
	record->header.lost = cpu_state->lost;
	record->header.cpu = where->cpu;
	record->header.kind = CLEW_KIND_FUNCTION;
	if (state->functions_lost)
		record->header.flags |= CLEW_FUNCTION_LOST;
	if (ring) {
		if (unlikely(bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_urgent))
			drain_wake(where->cpu, record->header.time);
		if (size <= CLEW_FUNCTION_ROOM)
			sent = !bpf_ringbuf_output(ring, record, sizeof(*record) + size,
						   BPF_RB_NO_WAKEUP);
	}
	account(cpu_state, CLEW_KIND_FUNCTION, sent);
	if (state->functions_lost == sent)
		state->functions_lost = !sent;
}

struct function_record {
	struct clew_function function;
	__u8 values[CLEW_FUNCTION_ROOM];
};

/* Reads a value, or the address of a text. False if it cannot be read. */
static __always_inline bool read_value(struct pt_regs *registers, struct clew_function_value *value,
				       __u64 *ret_number)
{
	/* The caller shifts out all bytes above these. */
	__u32 bytes = 8 - ((value->shift & 63) >> 3);

	if (value->form & CLEW_FUNCTION_VALUE_UNKNOWN)
		return false;
	if (value->form & CLEW_FUNCTION_VALUE_CONSTANT) {
		*ret_number = (__u64)(__s64)value->offset;
		return true;
	}
	if (bpf_probe_read_kernel(ret_number, sizeof(*ret_number), (void *)registers + value->base))
		return false;
	return !(value->form & CLEW_FUNCTION_VALUE_MEMORY) ||
	       !bpf_probe_read_user(ret_number, bytes, (void *)(*ret_number + value->offset));
}

/* Appends a text with its NUL. False if it cannot be read. */
static __always_inline bool add_text(struct function_record *record, __u64 address)
{
	__u32 size = record->function.size;
	long got;

	if (size > CLEW_FUNCTION_ROOM - CLEW_FUNCTION_TEXT)
		return false;
	got = read_text((char *)record->values + size, CLEW_FUNCTION_TEXT, address);
	if (got <= 0)
		return false;
	record->function.size = size + (__u32)got;
	return true;
}

/* Appends a value: a number as eight bytes, a text with its NUL. False if it cannot be read. */
static __noinline bool add_value(struct pt_regs *registers, struct clew_function_value *value,
				 struct function_record *record)
{
	__u32 size = record->function.size;
	__u8 shift = value->shift & 63;
	__u64 number = 0;

	if (!read_value(registers, value, &number))
		return false;
	if (value->form & CLEW_FUNCTION_VALUE_TEXT)
		return add_text(record, number);
	if (size > CLEW_FUNCTION_ROOM - sizeof(number))
		return false;
	number <<= shift;
	number = value->form & CLEW_FUNCTION_VALUE_SIGNED ? (__u64)((__s64)number >> shift)
							  : number >> shift;
	bpf_probe_read_kernel(record->values + size, sizeof(number), &number);
	record->function.size = size + sizeof(number);
	return true;
}

/* Keeps the address of a text that is not in memory, for the return, which will take off the stack
 * what the call put there. */
static __noinline bool keep_unread(struct pt_regs *registers, struct clew_function_value *value,
				   struct function_record *record, __u32 argument)
{
	struct clew_function_unread_text key = {
		.stack = record->function.stack + CALL_PUSHES,
		.task = record->function.task,
		.site = record->function.site,
		.argument = argument,
	};
	__u64 address = 0;

	return value->form & CLEW_FUNCTION_VALUE_TEXT && read_value(registers, value, &address) &&
	       !bpf_map_update_elem(&clew_function_unread_texts, &key, &address, BPF_ANY);
}

/* Appends the texts of this call that were not in memory when it began. */
static __noinline int add_unread(struct clew_function_values *values,
				 struct function_record *record)
{
	struct clew_function_unread_text key = {
		.stack = record->function.stack,
		.task = record->function.task,
		.site = record->function.site,
	};
	__u64 *address;

	for (__u32 i = 0; i < CLEW_FUNCTION_AGAIN; i++) {
		if (i >= values->again)
			break;
		if (!(values->entry[i].form & CLEW_FUNCTION_VALUE_TEXT))
			continue;
		key.argument = i;
		address = bpf_map_lookup_elem(&clew_function_unread_texts, &key);
		if (!address)
			continue;
		if (add_text(record, *address))
			record->function.header.flags |= 2u << i;
		bpf_map_delete_elem(&clew_function_unread_texts, &key);
	}
	return 0;
}

/* Appends the texts that were not in memory at the entry, and the result. */
static __always_inline void add_result(struct pt_regs *registers,
				       struct clew_function_values *values,
				       struct clew_task_state *state,
				       struct function_record *record)
{
	if (state->functions_unread && values->again)
		add_unread(values, record);
	if (values->returns && !add_value(registers, &values->result, record))
		record->function.header.flags |= 1;
}

/*
 * Sends a record with the site's arguments, or its result. It has a frame of its own, so that
 * sites without values do not pay for the room.
 */
static __noinline int send_values(struct pt_regs *registers, struct clew_function *function,
				  struct clew_function_values *values,
				  struct clew_task_state *state, bool entry)
{
	struct function_record record = {.function = *function};
	struct where where = {.time = function->header.time, .cpu = bpf_get_smp_processor_id()};

	where.cpu_state = this_cpu_state(where.cpu);
	if (!where.cpu_state)
		return 0;
	for (__u32 i = 0; entry && i < CLEW_FUNCTION_VALUES; i++) {
		if (i >= values->count)
			break;
		if (add_value(registers, &values->entry[i], &record))
			continue;
		record.function.header.flags |= 1u << i;
		if (i < values->again && keep_unread(registers, &values->entry[i], &record, i))
			state->functions_unread = 1;
	}
	if (entry)
		record.function.header.time = bpf_ktime_get_ns();
	else
		add_result(registers, values, state, &record);
	function_send(&where, state, &record.function);
	return 0;
}

/* The probe costs the task something whether it is recorded or not. */
static __always_inline void count_call(__u32 cpu, __u32 number)
{
	__u32 row = cpu * CLEW_FUNCTION_ROWS + number / CLEW_FUNCTION_ROW;
	struct clew_function_calls *counted = bpf_map_lookup_elem(&clew_function_calls, &row);

	if (counted)
		counted->calls[number % CLEW_FUNCTION_ROW]++;
}

/*
 * True if the probe of a younger link at this instruction has just counted for the task: the kernel
 * calls the younger one first.
 */
static __always_inline bool met_already(struct clew_task_state *state, __u32 cookie)
{
	const __u32 place = (1u << CLEW_FUNCTION_AGE_SHIFT) - 1;
	__u32 met = state->function_probe;

	if (met > cookie && (met & place) == (cookie & place)) {
		state->function_probe = 0;
		return true;
	}
	if (cookie > place)
		state->function_probe = cookie;
	return false;
}

/*
 * The cookie of the probe that the task is at. A trace event's own is its number; which of its
 * probes this is, is known to the kernel alone, in what it hands on to the event. It has a frame of
 * its own, as kernels before 6.13 leave no room in that of the program.
 */
static __noinline __u32 cookie_of(struct pt_regs *registers)
{
	struct clew_function_place place = {};
	struct uprobe_dispatch_data *data;
	__u64 cookie = bpf_get_attach_cookie(registers);
	struct uprobe_task *task;
	__u32 *found;

	if (!function_events)
		return cookie;
	task = READ(bpf_get_current_task_btf(), utask);
	data = (struct uprobe_dispatch_data *)READ(task, vaddr);
	place.offset = READ(data, tu, offset);
	place.event = cookie;
	found = bpf_map_lookup_elem(&clew_function_places, &place);
	return found ? *found : CLEW_FUNCTION_NO_SITE;
}

/* A task is at a site. `cookie`: its number, maybe with CLEW_FUNCTION_RETURNS, and an age. */
static __always_inline void function_at(struct pt_regs *registers, __u32 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 number = cookie & (CLEW_FUNCTION_RETURNS - 1);
	struct clew_function record = {.stack = register_sp(registers), .site = number};
	struct clew_function_values *values;
	struct clew_function_site *site;
	struct clew_task_state *state;
	struct where where;
	bool entry;

	record.header.time = bpf_ktime_get_ns();
	where.time = record.header.time;
	where.cpu = bpf_get_smp_processor_id();
	where.cpu_state = this_cpu_state(where.cpu);
	site = bpf_map_lookup_elem(&clew_function_sites, &number);
	state = task_state(task);
	if (!(cookie & CLEW_FUNCTION_RETURNS))
		count_call(where.cpu, number);
	if (!where.cpu_state || !site || !state || met_already(state, cookie) ||
	    !function_wanted(task, state, site))
		return;
	record.task = state->serial;
	if (cookie & CLEW_FUNCTION_RETURNS) {
		record.header.flags = CLEW_FUNCTION_RETURNED;
		values = site->values & (state->functions_unread
						 ? CLEW_SITE_VALUES_RESULT | CLEW_SITE_VALUES_AGAIN
						 : CLEW_SITE_VALUES_RESULT)
				 ? bpf_map_lookup_elem(&clew_function_values, &number)
				 : NULL;
		if (values)
			send_values(registers, &record, values, state, false);
		else
			function_send(&where, state, &record);
		return;
	}
	if ((site->test == CLEW_EXIT_IF_TAKEN && !jump_taken(registers, site->condition)) ||
	    (site->test == CLEW_EXIT_IF_OUTSIDE && !jump_leaves(registers, site))) {
		if (site->otherwise == CLEW_FUNCTION_NO_SITE)
			return;
		record.site = site->otherwise;
	}
	if (site->roles & CLEW_SITE_LONGJMP) {
		record.stack = jump_stack(registers, task, site);
		if (!record.stack)
			return;
	}
	entry = site->roles & CLEW_SITE_ENTER;
	values = site->values & (entry ? CLEW_SITE_VALUES_ENTRY : CLEW_SITE_VALUES_RESULT)
			 ? bpf_map_lookup_elem(&clew_function_values, &number)
			 : NULL;
	if (values) {
		send_values(registers, &record, values, state, entry);
		return;
	}
	/* The function begins after what was done here. */
	if (entry)
		record.header.time = bpf_ktime_get_ns();
	function_send(&where, state, &record);
}

/*
 * A task is in a function of the kernel. An interrupt's calls are not the task's: they run on
 * stacks of their own.
 */
static __always_inline void kernel_function_at(struct pt_regs *registers, __u32 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 number = cookie & (CLEW_FUNCTION_RETURNS - 1);
	struct clew_function record = {.site = number};
	struct clew_function_site *site;
	struct clew_task_state *state;
	struct where where;

	record.header.time = bpf_ktime_get_ns();
	record.stack = register_sp(registers) - READ_NUMBER(task, stack);
	if (record.stack >= CLEW_KERNEL_STACK_MOST)
		return;
	where.time = record.header.time;
	where.cpu = bpf_get_smp_processor_id();
	where.cpu_state = this_cpu_state(where.cpu);
	site = bpf_map_lookup_elem(&clew_function_sites, &number);
	state = task_state(task);
	if (!(cookie & CLEW_FUNCTION_RETURNS))
		count_call(where.cpu, number);
	if (!where.cpu_state || !site || !state || met_already(state, cookie) ||
	    !function_wanted(task, state, site))
		return;
	record.task = state->serial;
	if (cookie & CLEW_FUNCTION_RETURNS)
		record.header.flags = CLEW_FUNCTION_RETURNED;
	function_send(&where, state, &record);
}

#endif
