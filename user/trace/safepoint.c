/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Safepoints of the JVM. The VM thread looks again and again which threads have not stopped yet,
 * and naps in between: each series of naps is a wait for the last of them. A thread that sleeps in
 * a system call counts as stopped. So the last one is a thread that did not sleep from the first
 * nap to the beginning of the last one; a page fault may have kept it from its CPU. If there are
 * several, it is the one that slept in the last nap, until the VM thread woke it. Looking takes
 * less time than a nap: a longer time between two naps ends a series.
 *
 * Invariant: the thread is only a candidate, and where two may be meant, none is.
 */
#include <clew/tokens.h>
#include <errno.h>
#include <string.h>

#include "trace/internal.h"
#include "trace/tried.h"

#define VM_THREAD   "VM Thread"
#define LEAST_NAPS  2
#define LONGEST_NAP 20000000 /* ns; HotSpot naps for 1 ms at most */

struct machine {
	struct clew_trace *trace;
	const struct trace_task *thread; /* the VM thread */
	struct vector others;		 /* uint32_t: indexes of threads that stop for it */
	struct vector naps;		 /* uint32_t: indexes of sleeps, of the series so far */
};

/* HotSpot's own threads, which no safepoint waits for, as the kernel cuts their names. */
static bool is_own(const char *comm)
{
	static const char *const own[] = {VM_THREAD,	  "VM Periodic Tas", "GC Thread#",
					  "G1 ",	  "C1 CompilerThre", "C2 CompilerThre",
					  "ParGC Thread", "Shenandoah",	     "ZWorker",
					  "ZDriver",	  "ZDirector"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strncmp(comm, own[i], strlen(own[i])))
			return true;
	return false;
}

static int add(struct vector *numbers, uint32_t number)
{
	if (vector_reserve(numbers, numbers->count + 1) < 0)
		return -ENOMEM;
	((uint32_t *)numbers->data)[numbers->count++] = number;
	return 0;
}

static int find_others(struct machine *machine)
{
	const struct clew_trace *trace = machine->trace;
	const struct clew_trace_task *vm = &machine->thread->task;

	machine->others.count = 0;
	for (uint32_t i = 0; i < trace->tasks.count; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (task->process == vm->process && !is_own(task->comm) &&
		    add(&machine->others, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- the thread that a series of naps is for ---- */

enum course { STOPPED, RAN, RAN_AND_STOPPED, COURSE_UNKNOWN };

static bool stops_for(const struct clew_piece *piece, uint32_t vm)
{
	return piece->kind == CLEW_PIECE_SLEEP && piece->sleep->kind == CLEW_WAIT_FUTEX &&
	       piece->sleep->ended_by == vm;
}

/* The course of a thread from `from` to `last`, and until `to`. *ret_at: when it stopped, or `to`.
 */
static enum course course_of(const struct machine *machine, const struct trace_task *task,
			     uint64_t from, uint64_t last, uint64_t to, uint64_t *ret_at)
{
	struct clew_piece piece;

	*ret_at = to;
	if (task->cut)
		return COURSE_UNKNOWN;
	if (task->task.birth > from || task->task.death < last)
		return STOPPED;
	for (uint64_t at = from; at < to; at = piece.end) {
		if (!clew_trace_piece(machine->trace, task->task.serial, at, false, &piece))
			return at < last ? STOPPED : RAN;
		if (piece.kind == CLEW_PIECE_UNKNOWN)
			return at < last ? COURSE_UNKNOWN : RAN;
		if (piece.kind == CLEW_PIECE_SLEEP &&
		    !(piece.sleep->flags & CLEW_WAIT_FLAG_FAULT)) {
			*ret_at = at;
			if (at < last)
				return STOPPED;
			return stops_for(&piece, machine->thread->task.serial) ? RAN_AND_STOPPED
									       : RAN;
		}
	}
	return RAN;
}

/* The only thread that a series may have been for, and when it stopped. */
static void find_late(const struct machine *machine, uint64_t last, struct clew_tried *tried)
{
	unsigned count = 0, stopped_count = 0;
	uint64_t at, ran_until = tried->to;
	uint32_t ran = CLEW_NO_TASK;

	for (size_t i = 0; i < machine->others.count; i++) {
		const struct trace_task *task =
			trace_task_at(machine->trace, ((const uint32_t *)machine->others.data)[i]);
		enum course course = course_of(machine, task, tried->from, last, tried->to, &at);

		if (course == STOPPED)
			continue;
		count++;
		if (course == RAN_AND_STOPPED) {
			stopped_count++;
			tried->other = task->task.serial;
			tried->stopped = at;
		} else if (course == RAN) {
			ran = task->task.serial;
			ran_until = at;
		}
	}
	if (stopped_count == 1)
		return;
	tried->other = count == 1 ? ran : CLEW_NO_TASK;
	tried->stopped = ran_until;
}

/* ---- series ---- */

static bool is_nap(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return sleep->kind == CLEW_WAIT_SLEEP && sleep->end != CLEW_TIME_OPEN && !sleep->blind &&
	       sleep->end - sleep->start <= LONGEST_NAP && clew_is_own_timeout(trace, sleep);
}

/* Keeps the series that was gathered, if a thread is known for it, and begins the next one. */
static int keep(struct machine *machine)
{
	struct clew_trace *trace = machine->trace;
	const uint32_t *naps = machine->naps.data;
	size_t count = machine->naps.count;
	const struct clew_sleep *last;
	struct clew_tried tried;
	int r = 0;

	machine->naps.count = 0;
	if (count < LEAST_NAPS)
		return 0;
	last = trace_sleep_at(trace, naps[count - 1]);
	tried = (struct clew_tried){.what = CLEW_TRIED_SAFEPOINT,
				    .task = last->task,
				    .times = (uint32_t)count,
				    .sleeps = (uint32_t)count,
				    .from = trace_sleep_at(trace, naps[0])->start,
				    .to = last->end,
				    .other = CLEW_NO_TASK};
	find_late(machine, last->start, &tried);
	if (tried.other == CLEW_NO_TASK)
		return 0;
	if (vector_reserve(&trace->tried, trace->tried.count + 1) < 0)
		return -ENOMEM;
	((struct clew_tried *)trace->tried.data)[trace->tried.count++] = tried;
	for (size_t i = 0; i < count && r == 0; i++)
		r = map_set(&trace->tried_of, naps[i], 0, (uint64_t)trace->tried.count << 32);
	return r;
}

/* True if the VM thread did more between two naps than look. */
static bool did_more(const struct clew_sleep *before, const struct clew_sleep *nap)
{
	return nap->start - before->switch_in > before->switch_in - before->start;
}

/* Takes a nap, which belongs to the series so far, or begins the next one. */
static int take(struct machine *machine, uint32_t index)
{
	const struct clew_trace *trace = machine->trace;
	const uint32_t *naps = machine->naps.data;
	size_t count = machine->naps.count;
	int r = 0;

	if (count && did_more(trace_sleep_at(trace, naps[count - 1]), trace_sleep_at(trace, index)))
		r = keep(machine);
	return r < 0 ? r : add(&machine->naps, index);
}

static int find_of_machine(struct machine *machine)
{
	const struct trace_task *vm = machine->thread;
	int r = find_others(machine);

	for (uint32_t i = 0; i < vm->pieces.count && r == 0; i++) {
		uint32_t piece = vm->pieces.data[i], index = piece & PIECE_INDEX;

		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		r = is_nap(machine->trace, trace_sleep_at(machine->trace, index))
			    ? take(machine, index)
			    : keep(machine);
	}
	return r < 0 ? r : keep(machine);
}

int trace_find_safepoints(struct clew_trace *trace)
{
	struct machine machine = {.trace = trace,
				  .others = {.item = sizeof(uint32_t)},
				  .naps = {.item = sizeof(uint32_t)}};
	int r = 0;

	for (size_t i = 0; i < trace->tasks.count && r == 0; i++) {
		machine.thread = trace_task_at(trace, i);
		if (!strcmp(machine.thread->task.comm, VM_THREAD))
			r = find_of_machine(&machine);
	}
	vector_done(&machine.others);
	vector_done(&machine.naps);
	return r;
}
