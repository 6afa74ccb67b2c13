/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Journals by file system: which tasks are in a transaction, which await it,
 * and its commit. A task's handle is recorded once per transaction while the
 * task stays on the CPU. A block is recorded once per task and transaction, as
 * far as a small cache remembers.
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

/* Starts a record with what the context knows. False: nothing is recorded. */
static __always_inline bool journal_here(struct context *context, struct clew_journal *fields,
					 __u8 event)
{
	if (!enabled || !context_here(context))
		return false;
	__builtin_memset(fields, 0, sizeof(*fields));
	fields->header.flags = event;
	fields->task = context_serial(context);
	return true;
}

/* Notes that the task has a handle of a transaction. */
static __always_inline void handle_join(__u32 device, __u64 transaction)
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
	touch_end(actor.cpu_state);
}

#define TOUCHED_SLOTS 256

/* Blocks that were recorded, by block number. After a collision a block is
 * recorded again. */
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
	struct clew_journal fields = {.header.flags = CLEW_JOURNAL_TOUCH};
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
	fields.device = device;
	fields.transaction = transaction;
	fields.block = block;
	fields.unit = bytes;
	fields.task = actor.task;
	journal_emit(actor.cpu_state, actor.cpu, clock_ns(), &fields);
}

#endif
