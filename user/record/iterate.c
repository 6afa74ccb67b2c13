/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Passes over all tasks: what the kernel side's iterator writes goes to the
 * user stream. In the first pass processes and parents come as pids, and are
 * replaced by serials here.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ending.h"
#include "clew.skel.h"
#include "opener/opener.h"
#include "record/disks.h"
#include "record/environment.h"
#include "record/passes.h"
#include "record/stream/clock.h"
#include "record/stream/drain.h"
#include "record/stream/iterator.h"
#include "record/stream/pid_namespace.h"
#include "record/stream/recorder_state.h"
#include "record/stream/sleepers.h"
#include "record/stream/steps.h"
#include "record/stream/talks.h"
#include "record/stream/user_stream.h"

#define FORGET_AFTER                                                                               \
	1000000000u /* ns: a task that is asleep for so long is among those that a pass            \
		       finds, unless it is gone */

/* The record that a pass writes for each task (bpf/iterate.bpf.c). */
struct identified_task {
	struct clew_task_record task;
	char command_line[CLEW_COMMAND_LINE_SIZE / 2];
};

struct found_state {
	struct clew_switch change;
	struct clew_wait wait;
};

static int by_tid(const void *a, const void *b)
{
	uint32_t left = (*(struct identified_task *const *)a)->task.tid,
		 right = (*(struct identified_task *const *)b)->task.tid;

	return left < right ? -1 : left > right;
}

static uint32_t serial_of(struct identified_task **sorted, size_t count, uint32_t tid)
{
	struct identified_task key = {.task.tid = tid}, *pointer = &key, **found;

	found = bsearch(&pointer, sorted, count, sizeof(*sorted), by_tid);
	return found ? (*found)->task.task : 0;
}

/* The depth of clew's own PID namespace, 0: it is the machine's. */
static uint32_t own_level(const struct clew_recorder *recorder, const struct identified_task *tasks,
			  size_t count)
{
	for (size_t i = 0; clew_pid_namespace() && i < count; i++)
		if (tasks[i].task.tid == recorder->bpf->rodata->self_pid)
			return tasks[i].task.nspid_count - 1u;
	return 0;
}

/* Tasks that only /proc shows. In a PID namespace its numbers are not the machine's. */
static int identify_hidden(struct clew_recorder *recorder, struct identified_task **sorted,
			   size_t count)
{
	uint32_t *known;
	int error;

	if (clew_pid_namespace())
		return 0;
	if (recorder->bpf->bss->enabled)
		return clew_identify_hidden_again(recorder);
	known = malloc((count + 1) * sizeof(*known));
	for (size_t i = 0; known && i < count; i++)
		known[i] = sorted[i]->task.tid;
	error = known ? clew_identify_hidden(recorder, known, count) : -ENOMEM;
	free(known);
	return error;
}

/* The command line of a process of whose memory that part is not present. The kernel makes it
 * present, for which somebody may have to answer: after one that is late no more are read. */
static void read_command_line(struct identified_task *task, pid_t pid, bool *late)
{
	ssize_t size;
	int copy, r;

	if (task->task.command_line_size || task->task.tid != task->task.pid ||
	    (task->task.task_flags & CLEW_TASK_KTHREAD) || *late || ending_since())
		return;
	r = clew_open_process(pid, CLEW_OPEN_COMMAND_LINE, &copy);
	*late = r == -ETIMEDOUT;
	if (r < 0)
		return;
	size = read(copy, task->command_line, sizeof(task->command_line));
	close(copy);
	task->task.command_line_size = size > 0 ? (uint16_t)size : 0;
}

static int put_identities(struct clew_recorder *recorder, struct identified_task *tasks,
			  size_t count)
{
	struct identified_task **sorted = malloc(count * sizeof(*sorted));
	uint32_t level = clew_pid_namespace_shown() ? own_level(recorder, tasks, count) : 0;
	bool late = false;
	int error = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &tasks[i];
	qsort(sorted, count, sizeof(*sorted), by_tid);
	if (count)
		error = clew_environment_users(recorder, tasks[0].task.header.time);
	if (count && !error)
		error = clew_disks_read(recorder, tasks[0].task.header.time);
	for (size_t i = 0; i < count && !error; i++) {
		struct clew_task_record *task = &tasks[i].task;

		task->process = serial_of(sorted, count, task->pid);
		task->parent = serial_of(sorted, count, task->parent);
		read_command_line(&tasks[i], (pid_t)clew_pid_here(task, level), &late);
		error = clew_put_user(recorder, &tasks[i], sizeof(*task) + task->command_line_size);
		if (!error && task->tid == task->pid && !(task->task_flags & CLEW_TASK_KTHREAD))
			error = clew_environment_read(recorder, clew_pid_here(task, level),
						      task->task, task->header.time);
	}
	if (!error)
		error = identify_hidden(recorder, sorted, count);
	free(sorted);
	return error;
}

/* The last sleep of a task that was noted, and when. Locks the drains one after the other. */
static bool find_sleeper(struct clew_recorder *recorder, uint32_t serial,
			 struct clew_sleeper *ret_last)
{
	bool any = false;

	for (unsigned i = 0; i < recorder->drains.count; i++) {
		struct drain *drain = &recorder->drains.of[i];
		const struct clew_sleeper *sleeper;

		pthread_mutex_lock(&drain->lock);
		sleeper = clew_sleepers_find(drain->sleepers, serial);
		if (sleeper && (!any || sleeper->time > ret_last->time)) {
			*ret_last = *sleeper;
			any = true;
		}
		pthread_mutex_unlock(&drain->lock);
	}
	return any;
}

/* When records were last lost, 0 never. */
static uint64_t last_gap(const struct clew_recorder *recorder)
{
	uint64_t last = 0;

	for (unsigned cpu = 0; cpu < recorder->cpu_count; cpu++)
		if (recorder->streams[cpu].last_gap > last)
			last = recorder->streams[cpu].last_gap;
	return last;
}

/*
 * States what tasks slept for as the switches had it, when all that was recorded before the pass
 * has come. After a loss a task may have slept anew.
 */
static int state_sleepers(struct clew_recorder *recorder, struct found_state *found, size_t count)
{
	uint64_t now = clew_now(), lost;
	struct clew_sleeper sleeper;
	int r = 0;

	clew_drain_await(recorder, now);
	lost = last_gap(recorder);
	for (size_t i = 0; i < count && r >= 0; i++) {
		struct clew_switch *change = &found[i].change;

		if (!(change->header.flags & CLEW_SWITCH_WAIT) ||
		    !find_sleeper(recorder, change->prev, &sleeper) ||
		    sleeper.time > change->header.time || sleeper.time < lost)
			continue;
		change->header.flags |= sleeper.found ? CLEW_STATE_FOUND : CLEW_STATE_SINCE;
		change->wake_time = sleeper.time;
		change->prev_state = sleeper.state;
		found[i].wait = sleeper.wait;
		r = clew_name_function(recorder, &sleeper.wait, change->header.time);
	}
	for (unsigned i = 0; i < recorder->drains.count; i++) {
		pthread_mutex_lock(&recorder->drains.of[i].lock);
		clew_sleepers_forget(recorder->drains.of[i].sleepers, now - FORGET_AFTER);
		pthread_mutex_unlock(&recorder->drains.of[i].lock);
	}
	return r;
}

/* Notes what tasks sleep for when the recording begins. */
static void note_sleepers(struct clew_recorder *recorder, const struct found_state *found,
			  size_t count)
{
	struct drain *drain = recorder->drains.of;

	pthread_mutex_lock(&drain->lock);
	for (size_t i = 0; i < count; i++)
		if (found[i].change.header.flags & CLEW_SWITCH_WAIT)
			clew_sleepers_note_found(drain->sleepers, &found[i].change, &found[i].wait,
						 recorder->start);
	pthread_mutex_unlock(&drain->lock);
}

/* States the questions that are open as messages of now. The drains are locked one after the other,
 * always in the same order. */
static int state_questions(struct clew_recorder *recorder)
{
	struct clew_message_record *messages = calloc(CLEW_TALKS_ROOM, sizeof(*messages));
	struct clew_talks **tables = calloc(recorder->drains.count, sizeof(*tables));
	/* An answer after this moment comes behind the statement. */
	const uint64_t now = clew_now();
	size_t count = 0;
	int r = messages && tables ? 0 : -ENOMEM;

	if (r == 0) {
		clew_drain_await(recorder, now);
		for (unsigned i = 0; i < recorder->drains.count; i++) {
			pthread_mutex_lock(&recorder->drains.of[i].lock);
			tables[i] = recorder->drains.of[i].talks;
		}
		count = clew_talks_open(tables, recorder->drains.count, now, messages,
					CLEW_TALKS_ROOM);
		for (unsigned i = recorder->drains.count; i-- > 0;)
			pthread_mutex_unlock(&recorder->drains.of[i].lock);
	}
	for (size_t i = 0; i < count && r >= 0; i++)
		r = clew_put_user(recorder, &messages[i], sizeof(messages[i]));
	free(messages);
	free(tables);
	return r;
}

static int put_states(struct clew_recorder *recorder, enum clew_pass which,
		      struct found_state *found, size_t count)
{
	int r = 0;

	if (recorder->options.keyframe && which == CLEW_PASS_START)
		note_sleepers(recorder, found, count);
	if (recorder->options.keyframe && which == CLEW_PASS_AGAIN)
		r = state_sleepers(recorder, found, count);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = clew_put_user(recorder, &found[i],
				  found[i].change.header.flags & CLEW_SWITCH_WAIT
					  ? sizeof(*found)
					  : sizeof(found->change));
	if (r >= 0 && which == CLEW_PASS_AGAIN && recorder->drains.of->talks)
		r = state_questions(recorder);
	return r;
}

int clew_iterate_tasks(struct clew_recorder *recorder, enum clew_pass which,
		       struct clew_message *message)
{
	size_t size = 0, each = which == CLEW_PASS_IDENTIFY ? sizeof(struct identified_task)
							    : sizeof(struct found_state);
	char *data = NULL;
	int error;

	recorder->bpf->bss->pass = which;
	error = clew_iterate_read(recorder->bpf->progs.clew_iterate, &data, &size);
	if (error)
		return clew_say(message, error, "the list of tasks cannot be read: %s: try again",
				strerror(-error));
	if (which == CLEW_PASS_IDENTIFY)
		error = put_identities(recorder, (struct identified_task *)data, size / each);
	else
		error = put_states(recorder, which, (struct found_state *)data, size / each);
	free(data);
	if (error)
		return clew_say_unwritable(recorder, message, "the capture", error);
	return 0;
}
