/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extents: ranges of files in the page cache that tasks read and write. A CPU
 * keeps one open extent of each event. A touch that starts where the extent
 * ends makes it longer; any other touch emits it and starts a new one. Open
 * extents are also emitted at the next switch, and once they are
 * CLEW_EXTENT_AGE old.
 *
 * Invariants: only task context touches, with preemption off, so a switch never
 * meets a half-made extent; interrupts check `extents_busy`. Extents and bios of
 * one file can be ordered by their start times: when a bio takes pages of a
 * file, or an extent of dirtied or dropped pages starts, the file's generation
 * changes, and an extent of an older generation grows no more. A call that is
 * reported before it copies is recorded only as far as it has copied.
 */
#ifndef CLEW_BPF_EXTENT_H
#define CLEW_BPF_EXTENT_H

#include "identity.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define EXTENT_AGE_CHECK 64 /* touches after which the extent's age is checked */
#define HANDLE_OPEN	 (1u << CLEW_EXTENT_EVENTS)

/* The state of a file, of a cache line's size. Files may share one. */
struct generation {
	__u32 value;
	__u32 reserved;
	__u64 added; /* pages that were read into the cache */
	__u64 used;  /* what recording uses of them has cost, see use.h */
	__u64 ended; /* `added` when a record last said that uses are not recorded */
	__u64 rest[4];
};

static struct generation generations[1 << CLEW_FILE_SLOT_BITS];

/* Set by the first page that is read in. While it is 0 the page-use programs
 * return at once: a starting process touches some 100 cached pages. */
volatile __u32 uses_wanted;

static __always_inline struct generation *generation_of(__u64 inode)
{
	return &generations[clew_file_slot(inode)];
}

static __always_inline __u32 generation_next(__u64 inode)
{
	return __sync_fetch_and_add(&generation_of(inode)->value, 1) + 1;
}

static __always_inline __u64 page_start(__u64 offset)
{
	return offset & ~(PAGE_SIZE - 1ULL);
}

static __always_inline __u64 page_end(__u64 offset)
{
	return page_start(offset + PAGE_SIZE - 1);
}

struct touch {
	__u64 inode;
	__u64 offset;
	__u64 bytes;
	__u32 device;
	__u32 task;
};

/* Remembers the pages of an extent of dirtied pages that was emitted: the same
 * task may write to them again. */
static __always_inline void dirtied_add(struct clew_dirtied *dirtied,
					const struct clew_open_extent *open)
{
	__u32 slot;

	if (open->generation != *(volatile __u32 *)&generation_of(open->inode)->value)
		return;
	if (dirtied->inode != open->inode || dirtied->device != open->device ||
	    dirtied->task != open->task || dirtied->generation != open->generation) {
		__builtin_memset(dirtied, 0, sizeof(*dirtied));
		dirtied->inode = open->inode;
		dirtied->device = open->device;
		dirtied->task = open->task;
		dirtied->generation = open->generation;
	}
	slot = dirtied->next++ & (CLEW_DIRTIED_RANGES - 1);
	dirtied->ranges[slot].from = page_start(open->offset);
	dirtied->ranges[slot].to = page_end(open->offset + open->bytes);
}

/* Global, as extents_emit() calls it for each event: the verifier checks it once. */
__noinline int extent_emit(__u32 cpu, __u32 event, __u64 now)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct clew_open_extent *open;
	struct clew_extent *record;

	if (!cpu_state || event >= CLEW_EXTENT_EVENTS)
		return 0;
	open = &cpu_state->extents[event];
	record = record_reserve(cpu_state, cpu, CLEW_KIND_EXTENT, now, sizeof(*record));
	if (record) {
		record->header.flags = clew_extent_flags(event, open);
		record->begin = open->begin;
		record->inode = open->inode;
		record->offset = open->offset;
		record->bytes = open->bytes;
		record->device = open->device;
		record->task = open->task;
		record_submit(record);
	}
	if (event == CLEW_EXTENT_DIRTY && open->written)
		dirtied_add(&cpu_state->dirtied, open);
	open->bytes = 0;
	open->inode = 0;
	return 0;
}

static __always_inline void journal_emit(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now,
					 const struct clew_journal *fields)
{
	struct clew_journal *record =
		record_reserve(cpu_state, cpu, CLEW_KIND_JOURNAL, now, sizeof(*record));

	if (!record)
		return;
	record->header.flags = fields->header.flags;
	record->transaction = fields->transaction;
	record->inode = fields->inode;
	record->block = fields->block;
	record->value = fields->value;
	record->device = fields->device;
	record->task = fields->task;
	record_submit(record);
}

static __always_inline void handle_emit(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now)
{
	struct clew_open_handle *handle = &cpu_state->handle;
	struct clew_journal fields = {.header.flags = CLEW_JOURNAL_HANDLE,
				      .transaction = handle->transaction,
				      .device = handle->device,
				      .task = handle->task};

	if (!handle->device)
		return;
	journal_emit(cpu_state, cpu, now, &fields);
	handle->device = 0;
}

/* The bytes at its end that a call has not copied yet; 0 also if the call has ended. */
static __always_inline __u64 call_left(const struct clew_open_call *open)
{
	struct iov_iter *data = (void *)open->data;
	struct kiocb *call = (void *)open->call;
	__u64 left;

	/* The end of the call moves ki_pos. Later the stack that held these
	 * structures is reused. */
	if (!open->call || READ_NUMBER(call, ki_filp) != open->file ||
	    READ_NUMBER(call, ki_pos) != open->offset || !READ(data, data_source))
		return 0;
	left = READ(data, count);
	return left <= open->bytes ? left : 0;
}

/* Removes from the open WRITE extent what the call at its end has not copied
 * yet. Returns how much that is. */
static __always_inline __u64 call_retract(struct clew_cpu_state *cpu_state)
{
	struct clew_open_extent *open = &cpu_state->extents[CLEW_EXTENT_WRITE];
	struct clew_open_call *call = &cpu_state->call;
	__u64 left = call_left(call);

	if (left && open->inode == call->inode && open->device == call->device &&
	    open->offset + open->bytes == call->offset + call->bytes)
		open->bytes -= left < open->bytes ? left : open->bytes;
	return left;
}

/* Opens an extent for the rest of a call. */
static __always_inline void call_resume(struct clew_cpu_state *cpu_state, __u64 now, __u64 left)
{
	struct clew_open_extent *open = &cpu_state->extents[CLEW_EXTENT_WRITE];
	struct clew_open_call *call = &cpu_state->call;

	open->begin = now;
	open->inode = call->inode;
	open->offset = call->offset + call->bytes - left;
	open->bytes = left;
	open->device = call->device;
	open->task = call->task;
	open->generation = *(volatile __u32 *)&generation_of(call->inode)->value;
	open->last = 0;
	open->grown = 0;
	open->written = 0;
	cpu_state->open |= 1u << CLEW_EXTENT_WRITE;
}

/* Emits an extent that is at least `age` old. Returns 1 if it is younger and stays open. */
__noinline int extent_old(__u32 cpu, __u32 event, __u64 now, __u64 age)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct clew_open_extent *open;

	if (!cpu_state || event >= CLEW_EXTENT_EVENTS)
		return 0;
	open = &cpu_state->extents[event];
	if (!open->bytes) {
		open->inode = 0;
		return 0;
	}
	if (now - open->begin < age)
		return 1;
	extent_emit(cpu, event, now);
	return 0;
}

/* Emits the extents of this CPU that are at least `age` old. With age 0 the
 * task leaves the CPU. */
__noinline int extents_emit(__u32 cpu, __u64 now, __u64 age)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	__u64 uncopied = 0;
	__u32 left = 0, event;

	if (!cpu_state)
		return 0;
	if (cpu_state->call.call && now - cpu_state->extents[CLEW_EXTENT_WRITE].begin >= age) {
		uncopied = call_retract(cpu_state);
		if (!uncopied)
			cpu_state->call.call = 0;
	}
	for (event = 0; event < CLEW_EXTENT_EVENTS; event++)
		if (cpu_state->open & (1u << event))
			left |= extent_old(cpu, event, now, age) << event;
	if (cpu_state->open & HANDLE_OPEN)
		handle_emit(cpu_state, cpu, now);
	cpu_state->open = left;
	if (uncopied && age)
		call_resume(cpu_state, now, uncopied);
	return 0;
}

/* The task leaves the CPU in the middle of a call: its state takes the rest of
 * the call. */
static __always_inline void call_leave(struct clew_cpu_state *cpu_state,
				       struct clew_task_state *state)
{
	struct clew_open_call *call = &cpu_state->call;

	/* A task that waits for the lock of the file has not begun its call
	 * yet: the one in `call` is an earlier one. */
	if (state && !(state->lock >= call->inode_address &&
		       state->lock - call->inode_address < bpf_core_type_size(struct inode))) {
		state->call = *call;
		state->flags |= CLEW_TASK_STATE_CALL;
	}
	call->call = 0;
}

static __always_inline void call_return(struct clew_cpu_state *cpu_state,
					struct clew_task_state *state)
{
	__u64 left = call_left(&state->call);

	state->flags &= ~CLEW_TASK_STATE_CALL;
	if (!left)
		return;
	cpu_state->call = state->call;
	call_resume(cpu_state, clock_ns(), left);
}

/* From an interrupt: emits old extents of a task that never sleeps. */
static __always_inline void extents_age(struct clew_cpu_state *cpu_state, __u32 cpu)
{
	if (unlikely(cpu_state->open) && !cpu_state->extents_busy)
		extents_emit(cpu, clock_ns(), CLEW_EXTENT_AGE);
}

static __always_inline void touch_begin(struct clew_cpu_state *cpu_state)
{
	*(volatile __u32 *)&cpu_state->extents_busy = 1;
	barrier();
}

static __always_inline void touch_end(struct clew_cpu_state *cpu_state)
{
	barrier();
	*(volatile __u32 *)&cpu_state->extents_busy = 0;
}

static __always_inline bool same_actor(const struct clew_open_extent *open,
				       const struct touch *touch)
{
	return open->inode == touch->inode && open->task == touch->task &&
	       open->device == touch->device;
}

/* True if the open extent of dirtied pages includes this touch already: it is
 * the same task's, and no bio has taken pages since. */
static __always_inline bool extent_covers(struct clew_cpu_state *cpu_state,
					  const struct touch *touch)
{
	struct clew_open_extent *open = &cpu_state->extents[CLEW_EXTENT_DIRTY];

	return same_actor(open, touch) && page_start(open->offset) <= touch->offset &&
	       touch->offset + touch->bytes <= page_end(open->offset + open->bytes) &&
	       open->generation == *(volatile __u32 *)&generation_of(touch->inode)->value;
}

/* Makes an open extent longer by a touch that starts at its end. False: it is
 * too old. `now` is set if the clock was read. */
static __always_inline bool extent_grow(struct clew_open_extent *open, const struct touch *touch,
					__u32 last, __u64 *now)
{
	if (unlikely(++open->grown >= EXTENT_AGE_CHECK)) {
		*now = clock_ns();
		open->grown = 1;
		if (*now - open->begin >= CLEW_EXTENT_AGE)
			return false;
	}
	open->bytes += touch->bytes;
	open->last = last;
	return true;
}

/* True if a call continues in the page that its last copy made dirty: the DIRTY
 * extent grows by the copy. */
static __always_inline bool continues_in_page(const struct clew_open_extent *dirty,
					      const struct touch *touch, __u32 generation)
{
	__u64 end = dirty->offset + dirty->bytes;

	return dirty->written && dirty->bytes && touch->offset == end &&
	       end + touch->bytes <= page_end(end) && same_actor(dirty, touch) &&
	       dirty->generation == generation;
}

static __always_inline void extent_begin(struct clew_open_extent *open, const struct touch *touch,
					 __u64 now)
{
	open->begin = now;
	open->inode = touch->inode;
	open->offset = touch->offset;
	open->bytes = touch->bytes;
	open->device = touch->device;
	open->task = touch->task;
}

/* Records one touch. `written`: as in struct clew_open_extent. `inode_address`: an inode whose path
 * is sent if it is not that of the last extent; 0: none. */
static __always_inline void extent_touch(struct clew_cpu_state *cpu_state, __u32 cpu, __u8 event,
					 const struct touch *touch, __u8 written,
					 __u64 inode_address)
{
	struct clew_open_extent *open = &cpu_state->extents[event];
	__u32 generation = *(volatile __u32 *)&generation_of(touch->inode)->value;
	__u32 last = event == CLEW_EXTENT_WRITE ? touch->bytes : 0;
	bool large = event == CLEW_EXTENT_DIRTY && !written && touch->bytes > PAGE_SIZE;
	__u64 now = 0;
	__u32 number;

	if (event == CLEW_EXTENT_WRITE &&
	    continues_in_page(&cpu_state->extents[CLEW_EXTENT_DIRTY], touch, generation) &&
	    extent_grow(&cpu_state->extents[CLEW_EXTENT_DIRTY], touch, last, &now))
		return;
	/* This includes an extent whose bytes were all retracted, so the clock
	 * need not be read again. */
	if (open->inode == touch->inode) {
		if (open->offset + open->bytes == touch->offset && same_actor(open, touch) &&
		    open->generation == generation && open->written == written &&
		    open->large == large && extent_grow(open, touch, last, &now))
			return;
		/* One task stores to the same pages through several mappings. */
		if (event == CLEW_EXTENT_STORE && open->offset <= touch->offset &&
		    touch->offset + touch->bytes <= open->offset + open->bytes &&
		    same_actor(open, touch) && open->generation == generation)
			return;
	}
	if (!now)
		now = clock_ns();
	if (open->bytes)
		extent_emit(cpu, event, now);
	if (event == CLEW_EXTENT_DIRTY || event == CLEW_EXTENT_DROP || event == CLEW_EXTENT_CLEAR ||
	    event == CLEW_EXTENT_REDIRTY) {
		__u32 before = generation;

		generation = generation_next(touch->inode);
		/*
		 * Only this dirtying has changed the generation, and it takes
		 * no pages to a disk: what the task dirtied before stays known.
		 */
		if (event == CLEW_EXTENT_DIRTY && cpu_state->dirtied.inode == touch->inode &&
		    cpu_state->dirtied.generation == before && generation == before + 1)
			cpu_state->dirtied.generation = generation;
	}
	/* The file may be about to go, and its inode's address and number be
	 * reused. */
	if (event == CLEW_EXTENT_DROP)
		cpu_state->named = 0;
	extent_begin(open, touch, now);
	open->generation = generation;
	open->last = last;
	open->grown = 0;
	open->written = written;
	open->large = large;
	cpu_state->open |= 1u << event;
	if (!inode_address)
		return;
	number = READ((struct inode *)inode_address, i_generation);
	if (unlikely(cpu_state->named != inode_address || cpu_state->named_generation != number)) {
		cpu_state->named_generation = number;
		send_inode(number_through(&cpu_state->named, (void *)inode_address), cpu, now);
	}
}

/*
 * A call's copy to pages that the same task made dirty recently, and that no
 * bio has taken since. The task is known as a writer of these pages, so all
 * such copies are one AGAIN extent, which has only their sum. False: the copy
 * went to other pages.
 */
static __always_inline bool wrote_again(struct clew_cpu_state *cpu_state, __u32 cpu,
					const struct touch *touch)
{
	const struct clew_dirtied *dirtied = &cpu_state->dirtied;
	struct clew_open_extent *open = &cpu_state->extents[CLEW_EXTENT_AGAIN];
	__u32 generation = *(volatile __u32 *)&generation_of(touch->inode)->value;
	const struct clew_open_extent *dirty = &cpu_state->extents[CLEW_EXTENT_DIRTY];
	bool inside = dirty->bytes && dirty->written && extent_covers(cpu_state, touch);
	__u64 now;
	int i;

	open->last = 0;
	if (continues_in_page(dirty, touch, generation))
		return false;
	if (!inside && dirtied->inode == touch->inode && dirtied->device == touch->device &&
	    dirtied->task == touch->task && dirtied->generation == generation)
		for (i = 0; i < CLEW_DIRTIED_RANGES; i++)
			inside |= dirtied->ranges[i].from <= touch->offset &&
				  touch->offset + touch->bytes <= dirtied->ranges[i].to;
	if (!inside)
		return false;
	cpu_state->dirtied.again = touch->offset;
	if (open->bytes && same_actor(open, touch)) {
		open->offset = touch->offset < open->offset ? touch->offset : open->offset;
		open->bytes += touch->bytes;
		open->last = touch->bytes;
		return true;
	}
	now = clock_ns();
	if (open->bytes)
		extent_emit(cpu, CLEW_EXTENT_AGAIN, now);
	extent_begin(open, touch, now);
	open->last = touch->bytes;
	cpu_state->open |= 1u << CLEW_EXTENT_AGAIN;
	return true;
}

/* Removes `touch` from the end of an open extent that ends with all of it: the
 * event at hand says more. False: the extent does not. */
static __always_inline bool extent_retract(struct clew_cpu_state *cpu_state, __u8 event,
					   const struct touch *touch)
{
	struct clew_open_extent *open = &cpu_state->extents[event];

	if (!open->bytes || !same_actor(open, touch) ||
	    open->offset + open->bytes != touch->offset + touch->bytes ||
	    open->offset > touch->offset)
		return false;
	open->bytes -= touch->bytes;
	open->last = 0;
	if (!open->bytes)
		open->offset += touch->bytes;
	return true;
}

/*
 * The same for a call's last copy, if it wrote to each page of the folio and so
 * made it dirty: `touch` becomes the range of the copy. Earlier bytes of the
 * folio may be on their way to a disk already.
 */
static __always_inline bool extent_retract_copy(struct clew_cpu_state *cpu_state, __u8 event,
						struct touch *touch)
{
	struct clew_open_extent *open = &cpu_state->extents[event];
	__u64 end = open->offset + open->bytes, start = end - open->last;

	/* A call that is reported before it copies may have copied less. */
	if (!open->last || open->last > open->bytes || !same_actor(open, touch) ||
	    page_start(start) != touch->offset || page_end(end) != touch->offset + touch->bytes ||
	    cpu_state->call.call)
		return false;
	open->bytes -= open->last;
	if (!open->bytes)
		open->offset = end;
	touch->offset = start;
	touch->bytes = open->last;
	open->last = 0;
	return true;
}

/* The same for a copy that was taken for one to dirty pages: their writeback
 * had begun, but no bio had taken them yet. */
static __always_inline bool extent_retract_again(struct clew_cpu_state *cpu_state,
						 const struct touch *touch, struct touch *ret_copy)
{
	struct clew_open_extent *open = &cpu_state->extents[CLEW_EXTENT_AGAIN];
	__u64 at = cpu_state->dirtied.again;

	if (likely(!open->last) || open->last > open->bytes || !same_actor(open, touch) ||
	    at < touch->offset || at + open->last > touch->offset + touch->bytes)
		return false;
	*ret_copy = *touch;
	ret_copy->offset = at;
	ret_copy->bytes = open->last;
	open->bytes -= open->last;
	open->last = 0;
	return true;
}

/*
 * The open WRITE extent has a folio in its middle that becomes dirty only now:
 * writeback took the folio meanwhile, with the earlier writes. The last copy,
 * which makes it dirty again, becomes an extent of its own.
 */
static __always_inline void extent_split(struct clew_cpu_state *cpu_state, __u32 cpu,
					 const struct touch *touch)
{
	struct clew_open_extent *open = &cpu_state->extents[CLEW_EXTENT_WRITE];
	__u64 start = open->offset + open->bytes - open->last, now;

	if (likely(!open->last || open->last >= open->bytes || start <= touch->offset ||
		   start >= touch->offset + touch->bytes || !same_actor(open, touch)))
		return;
	now = clock_ns();
	open->bytes -= open->last;
	extent_emit(cpu, CLEW_EXTENT_WRITE, now);
	open->begin = now;
	open->inode = touch->inode;
	open->offset = start;
	open->bytes = open->last;
	open->grown = 0;
}

#endif
