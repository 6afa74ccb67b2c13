/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Journals: which tasks are in a transaction, who awaits it, and its commit; by
 * file system. Handles are told once for a transaction while a task runs on, and
 * touched blocks once for a task and transaction, as far as a small cache reaches.
 */
#ifndef CLEW_BPF_JOURNAL_H
#define CLEW_BPF_JOURNAL_H

#include "context.h"
#include "extent.h"
#include "pagecache.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Room for records of one program, but for what `place` knows. */
static __always_inline bool journal_here(struct context *context, struct clew_journal *told,
					 __u8 event)
{
	if (!enabled || !context_here(context))
		return false;
	__builtin_memset(told, 0, sizeof(*told));
	told->header.flags = event;
	told->task = context_serial(context);
	return true;
}

/* `last`: what comes after this handle must not be told before it. */
static __always_inline void handle_join(__u32 device, __u64 transaction, bool last)
{
	struct clew_open_handle *handle;
	struct actor actor;

	if (!actor_here(&actor))
		return;
	handle = &actor.cpu_state->handle;
	touch_begin(actor.cpu_state);
	if (handle->device != device || handle->transaction != transaction ||
	    handle->task != actor.task) {
		handle_emit(actor.cpu_state, actor.cpu, clock_ns());
		handle->transaction = transaction;
		handle->task = actor.task;
		handle->device = device;
		actor.cpu_state->open |= HANDLE_OPEN;
	}
	if (last)
		handle_emit(actor.cpu_state, actor.cpu, clock_ns());
	touch_end(actor.cpu_state);
}

#define TOUCHED_SLOTS 256

/* Blocks that were told: by their number, a collision costs a second telling. */
struct touched {
	__u64 block;
	__u64 transaction;
	__u32 device;
	__u32 task;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TOUCHED_SLOTS);
	__type(key, __u32);
	__type(value, struct touched);
} clew_touched SEC(".maps");

static __always_inline void block_emit(__u32 device, __u64 transaction, __u64 block, __u64 bytes)
{
	struct clew_journal told = {.header.flags = CLEW_JOURNAL_TOUCH};
	__u32 slot = block & (TOUCHED_SLOTS - 1);
	struct touched *touched = bpf_map_lookup_elem(&clew_touched, &slot);
	struct actor actor;

	if (!touched || !actor_here(&actor))
		return;
	if (touched->block == block && touched->transaction == transaction &&
	    touched->device == device && touched->task == actor.task)
		return;
	touched->block = block;
	touched->transaction = transaction;
	touched->device = device;
	touched->task = actor.task;
	told.device = device;
	told.transaction = transaction;
	told.block = block;
	told.unit = bytes;
	told.task = actor.task;
	journal_emit(actor.cpu_state, actor.cpu, clock_ns(), &told);
}

#endif
