/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks from before the recording. A first pass over all tasks makes their
 * states and sends their identities. A pass at the start finds the waits that
 * have begun, and one at the stop finds the wakes that no switch has recorded.
 * When the recording goes on in another file, the first two are made again. They
 * change no state then, as the programs keep it.
 *
 * The iterator writes what it finds to its own file, not through a ring, which it
 * must not flood. It reads only memory that is present: whoever has to make a page
 * present may never do it.
 */
#include "arch.h"
#include "call.h"
#include "filelock.h"
#include "filter.h"
#include "foreign.h"
#include "futex.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "life.h"
#include "object.h"
#include "outside.h"
#include "poll.h"
#include "question.h"
#include "read.h"
#include "sched.h"
#include "state.h"
#include "wait.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/calls.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* The iterator visits one task at a time, and little is left of its stack. */
static char iterated_line[CLEW_COMMAND_LINE_SIZE / 2];
static struct clew_switch_slot iterated_state;
static struct text_bytes iterated_text;

static __always_inline void iterate_identify(struct bpf_iter_meta *meta, struct where *where,
					     struct task_struct *task,
					     struct clew_task_state *state)
{
	struct clew_task_record record = {};
	__u64 start, size = 0;

	/* If it sleeps, the next switch to it records the stamp of its wake. If
	 * it does not sleep, there is no stamp yet. */
	if (!state->serial) {
		state->serial = new_serial();
		state->slept = 1;
	}
	if (flagged_at_switch(task) && task->__state == TASK_INTERRUPTIBLE)
		__sync_fetch_and_and(&sleeping_flags, task->thread_info.flags);
	update_filter(task, state, false);
	/* The file that was begun has no record of its priority. */
	if (enabled)
		state->policy = state->priority = 0;
	record.header.time = where->time;
	record.header.cpu = CLEW_NO_CALL;
	record.header.kind = CLEW_KIND_TASK;
	/* The parent is given by its pid: a sleepable program may not look up
	 * its state. User space fills in the serial. */
	record.parent = READ(task, real_parent, tgid);
	describe_task(where, task, state, &record);
	state->identified = where->time;
	state->identified_tid = task->pid;
	if (READ_TRUSTED(task, mm)) {
		start = READ(task, mm, arg_start);
		size = READ(task, mm, arg_end) - start;
		if (size > sizeof(iterated_line))
			size = sizeof(iterated_line);
		if (!size ||
		    foreign_read_part(iterated_line, size, sizeof(iterated_line), start, task))
			size = 0;
	}
	record.command_line_size = size;
	priority_emit(where, task, state);
	bpf_seq_write(meta->seq, &record, sizeof(record));
	bpf_seq_write(meta->seq, iterated_line, sizeof(iterated_line));
}

/* Reads what the task's memory says about its call. */
static __always_inline void iterate_memory(struct task_struct *task, const struct call *call,
					   __u8 class, struct clew_wait *wait)
{
	__u64 address = call->argument[0];

	if (class == CLEW_CALL_CLONE3) {
		__u64 flags = 0;

		foreign_read(&flags, sizeof(flags), address, task);
		if (flags & CLONE_VFORK)
			wait->flags |= CLEW_WAIT_FLAG_VFORK;
	}
	if (class == CLEW_CALL_FUTEX && waits_for_bare_word(call)) {
		__u32 before = 0;

		foreign_read(&before, sizeof(before), address - sizeof(before), task);
		classify_bare_word(wait, before);
	} else if (class == CLEW_CALL_FUTEX && futex_memory_matters(wait, call)) {
		struct glibc_mutex mutex = {};

		if (!foreign_read(&mutex, sizeof(mutex), address, task))
			classify_futex_any(wait, &mutex);
		if (wait->futex_class == CLEW_FUTEX_CLASS_RWLOCK) {
			__u32 word = 0;

			foreign_read(&word, sizeof(word),
				     (__u64)rwlock_state(&mutex, call->argument[0]), task);
			check_rwlock(wait, word);
		}
	}
}

/* Counts the bytes of the path in iterated_text, which is cut off like that of
 * send_text(), and puts zeros behind it. */
static int text_step(__u32 index, __u32 *size)
{
	char *byte = (char *)&iterated_text + (index & (CLEW_TEXT_SIZE - 1));

	if (*size < index || index == CLEW_TEXT_SIZE - 1)
		*byte = 0;
	else if (*byte)
		*size = index + 1;
	return 0;
}

/* Sends the path in iterated_text. A global function: it is verified once. */
__noinline __u64 put_iterated_path(__u32 cpu, __u64 time)
{
	__u32 size = 0;

	bpf_loop(CLEW_TEXT_SIZE, text_step, &size, 0);
	return size ? put_text(&iterated_text, size, cpu, time) : 0;
}

/* The path that the call is on. The bytes behind it may be in no page. */
static __always_inline void iterate_path(struct where *where, struct task_struct *task,
					 const struct call *call, __u8 class,
					 struct clew_wait *wait)
{
	__u64 address = class == CLEW_CALL_PATH ? call->argument[0] : call->argument[1];
	__u32 left = PAGE_SIZE - (address & (PAGE_SIZE - 1));

	if (class != CLEW_CALL_PATH && class != CLEW_CALL_PATH_AT)
		return;
	__builtin_memset(&iterated_text, 0, sizeof(iterated_text));
	if (foreign_read(&iterated_text, sizeof(iterated_text), address, task) &&
	    (left >= sizeof(iterated_text) ||
	     foreign_read_part(&iterated_text, left, sizeof(iterated_text), address, task)))
		return;
	wait->object = put_iterated_path(where->cpu, where->time);
	if (wait->object)
		wait->object_kind = CLEW_OBJECT_PATH;
}

/* Describes what the call is on, for tasks that pass the filter. */
static __always_inline void iterate_object(struct where *where, struct task_struct *task,
					   __u32 bits, const struct call *call,
					   struct clew_task_state *state, struct clew_wait *wait)
{
	struct found found = {};
	struct file *file;

	wait->flags |= CLEW_WAIT_FLAG_DETAIL;
	if (polls_entries(call) && call->argument[1] == 1) {
		struct poll_entry entry = {};

		if (!foreign_read(&entry, sizeof(entry), call->argument[0], task))
			wait->descriptor = entry.descriptor;
	}
	if (wait->descriptor < 0)
		return;
	file = file_of(task, wait->descriptor);
	if (!file)
		return;
	describe_file((__u64)file, &found, where->cpu, where->time, number_of(task));
	wait->object_kind = found.kind;
	wait->object = found.object;
	wait->device = found.device;
	if (found.kind == CLEW_OBJECT_SOCKET && (bits & TASK_INTERRUPTIBLE)) {
		wait->asked = question_under_way((__u64)file, where->time);
		if (wait->asked || call->number == CALL_CONNECT)
			wait->away = away_behind((__u64)file);
	}
	if (locks_files(call->number) && (bits & TASK_INTERRUPTIBLE)) {
		if (pass == CLEW_PASS_START)
			file_lock_from_before(task, file, call, state);
		describe_file_lock(state, bits, wait);
	}
}

/* The wait that a task of a program began before the recording, or before the
 * file. `bits`: its __state. */
static __always_inline void iterate_wait(struct where *where, struct task_struct *task, __u32 bits,
					 struct clew_task_state *state, struct clew_wait *wait)
{
	bool detail =
		(state->flags & CLEW_TASK_STATE_DETAIL) && (!filter_cgroup || cgroup_wanted(task));
	struct call call;
	__u8 class;

	describe_call_of(task, bits, &call, wait);
	class = call.class;
	iterate_memory(task, &call, class, wait);
	if (detail)
		iterate_object(where, task, bits, &call, state, wait);
	if (detail)
		iterate_path(where, task, &call, class, wait);
	if (waits_for_spinlock(bits) || (pass == CLEW_PASS_AGAIN && state->lock))
		describe_known_reason(state, bits, wait);
	if (pass == CLEW_PASS_AGAIN)
		return;
	if (!state->call_after && class != CLEW_CALL_RESTART) {
		remember_wait(state, wait, class);
		state->first_argument = call.argument[0];
		state->second_argument = call.argument[1];
		state->class = class;
	}
}

static __always_inline void iterate_start(struct bpf_iter_meta *meta, struct where *where,
					  struct task_struct *task, struct clew_task_state *state)
{
	struct clew_switch_slot *record = &iterated_state;
	struct clew_switch *change = &record->change;
	struct clew_wait *wait = &record->wait;
	bool first = pass == CLEW_PASS_START;
	__u32 bits = task->__state;

	__builtin_memset(record, 0, sizeof(*record));
	change->header.time = where->time;
	change->header.cpu = CLEW_NO_CALL;
	change->header.kind = CLEW_KIND_STATE;
	change->prev = change->next = state->serial;
	change->prev_state = bits;
	if (!bits) {
		/* It did not sleep when the recording began: its wake would
		 * have left a stamp. */
		if (first && !state->wake.time)
			state->slept = 0;
		change->header.flags = CLEW_STATE_RUNNABLE;
	} else if (bits & TASK_DEAD) {
		if (first)
			state->slept = 0;
		change->header.flags = CLEW_STATE_DEAD;
	} else if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) {
		change->header.flags = CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT;
		wait->call = CLEW_NO_CALL;
		wait->descriptor = -1;
		wait->flags = CLEW_WAIT_FLAG_KTHREAD;
		if (BPF_CORE_READ_BITFIELD(task, in_iowait))
			wait->flags |= CLEW_WAIT_FLAG_IOWAIT;
	} else {
		change->header.flags = CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT;
		iterate_wait(where, task, bits, state, wait);
	}
	/* From here on its stack is wanted, if it sleeps for long. */
	if (stack_threshold && first && change->header.flags & CLEW_SWITCH_SLEEP &&
	    !state->asleep_since)
		state->asleep_since = asleep_now(where->time);
	bpf_seq_write(meta->seq, record, sizeof(*record));
}

static __always_inline void iterate_stop(struct bpf_iter_meta *meta, struct where *where,
					 struct clew_task_state *state)
{
	struct clew_switch change = {};
	struct clew_wait none = {};

	change.header.time = where->time;
	change.header.cpu = CLEW_NO_CALL;
	change.header.kind = CLEW_KIND_STATE;
	change.header.flags = CLEW_STATE_STOP;
	change.prev = change.next = state->serial;
	if (state->flags & CLEW_TASK_STATE_NEW)
		change.header.flags |= CLEW_SWITCH_NEXT_NEW;
	else if (state->slept && state->wake.wakes)
		change.header.flags |= CLEW_SWITCH_NEXT_SLEPT;
	else
		return;
	copy_stamp(&change, &state->wake);
	bpf_seq_write(meta->seq, &change, sizeof(change));
	bpf_seq_write(meta->seq, &none, sizeof(none));
}

SEC("iter.s/task")
int clew_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct clew_task_state *state;
	struct where where;

	if (!task || !where_here(&where))
		return 0;
	state = task_state(task);
	if (!state && pass == CLEW_PASS_IDENTIFY)
		state = task_state_make(task);
	if (!state)
		return 0;
	if (pass == CLEW_PASS_IDENTIFY)
		iterate_identify(ctx->meta, &where, task, state);
	else if (pass == CLEW_PASS_START || pass == CLEW_PASS_AGAIN)
		iterate_start(ctx->meta, &where, task, state);
	else if (pass == CLEW_PASS_STOP)
		iterate_stop(ctx->meta, &where, state);
	return 0;
}
