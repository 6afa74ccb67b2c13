/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of functions while they are recorded.
 *
 * A task has a piece for each time that it left its CPU: a wait and then the run queue.
 * Findings about waits for locks come late, as their holders become known later. So a call that is
 * over is kept back while a piece of its task is missing. The rest of its time it ran.
 *
 * Memory grows with groups, with open calls, and with the tasks that were in functions; a task
 * keeps a bounded number of pieces, of which older ones are thinned out.
 */
#include "cli/latency/latency_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define MOST_POINTS   4096 /* that a task keeps */
#define MOST_KEPT     4096 /* calls of a task that are kept back: more are done without pieces */
#define WORTH_FREEING 256  /* items */

/* Off its CPU. */
struct piece {
	uint64_t start;
	uint64_t wake; /* then it was in the run queue */
	uint64_t end;
	enum clew_split split; /* what it waited for */
};

/* A piece's start, and all time off the CPU until its end. */
struct point {
	uint64_t start;
	uint64_t sums[CLEW_SPLIT_COUNT];
};

/* A call that is over. */
struct over {
	uint64_t start;
	uint64_t end;
	uint64_t probe;
	uint32_t group;
};

struct calls_task {
	uint64_t since;	      /* pieces from before are of no interest */
	uint32_t missing;     /* pieces that are still to come */
	uint32_t open;	      /* calls */
	struct vector fresh;  /* struct piece, in any order */
	struct vector points; /* struct point, by start */
	struct vector over;   /* struct over, kept back */
};

struct clew_latency_calls {
	const struct clew_trace *tasks;
	struct clew_selection *selection;
	struct clew_latency *latency;
	struct clew_latency_names *names;
	struct vector by_serial; /* struct calls_task *, NULL: it was in no function */
	struct map groups;	 /* number of an open call -> its group */
};

int clew_latency_calls_new(const struct clew_trace *tasks, struct clew_selection *selection,
			   struct clew_latency *latency, struct clew_latency_names *names,
			   struct clew_latency_calls **ret_calls)
{
	*ret_calls = malloc(sizeof(**ret_calls));
	if (!*ret_calls)
		return -ENOMEM;
	**ret_calls = (struct clew_latency_calls){
		.tasks = tasks,
		.selection = selection,
		.latency = latency,
		.names = names,
		.by_serial.item = sizeof(struct calls_task *),
	};
	return 0;
}

static struct calls_task *find_task(const struct clew_latency_calls *calls, uint32_t serial)
{
	return serial < calls->by_serial.count
		       ? ((struct calls_task **)calls->by_serial.data)[serial]
		       : NULL;
}

/* NULL: no memory. */
static struct calls_task *make_task(struct clew_latency_calls *calls, uint32_t serial,
				    uint64_t since)
{
	struct calls_task *task = find_task(calls, serial);

	if (task)
		return task;
	task = calloc(1, sizeof(*task));
	if (!task || vector_reserve(&calls->by_serial, (size_t)serial + 1) < 0) {
		free(task);
		return NULL;
	}
	task->since = since;
	task->fresh.item = sizeof(struct piece);
	task->points.item = sizeof(struct point);
	task->over.item = sizeof(struct over);
	if (calls->by_serial.count <= serial)
		calls->by_serial.count = (size_t)serial + 1;
	((struct calls_task **)calls->by_serial.data)[serial] = task;
	return task;
}

static void free_task(struct calls_task *task)
{
	if (!task)
		return;
	vector_done(&task->fresh);
	vector_done(&task->points);
	vector_done(&task->over);
	free(task);
}

/* ---- pieces ---- */

static int by_start(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Every second one of the older half goes: a call that began between two of them is off by the
 * piece that is gone. */
static void thin_out(struct vector *points)
{
	struct point *all = points->data;
	size_t kept = 0;

	for (size_t i = 0; i < points->count; i++)
		if (i % 2 == 0 || i >= points->count / 2)
			all[kept++] = all[i];
	points->count = kept;
}

/* All pieces up to now are there: they become points. */
static int take_fresh(struct calls_task *task)
{
	const struct piece *pieces = task->fresh.data;
	struct point next = {};

	if (!task->fresh.count)
		return 0;
	qsort(task->fresh.data, task->fresh.count, sizeof(*pieces), by_start);
	if (vector_reserve(&task->points, task->points.count + task->fresh.count) < 0)
		return -ENOMEM;
	if (task->points.count)
		next = ((struct point *)task->points.data)[task->points.count - 1];
	for (size_t i = 0; i < task->fresh.count; i++) {
		next.start = pieces[i].start;
		next.sums[pieces[i].split] += pieces[i].wake - pieces[i].start;
		next.sums[CLEW_SPLIT_RUNQUEUE] += pieces[i].end - pieces[i].wake;
		((struct point *)task->points.data)[task->points.count++] = next;
	}
	task->fresh.count = 0;
	if (task->points.count > MOST_POINTS)
		thin_out(&task->points);
	return 0;
}

/* All time off the CPU before a moment at which the task ran. NULL: none. */
static const struct point *point_before(const struct calls_task *task, uint64_t at)
{
	const struct point *points = task->points.data;
	size_t low = 0, high = task->points.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (points[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &points[low - 1] : NULL;
}

/* Times of switches are in steps, those of calls are not: no call waits longer than it takes. */
static void split_call(const struct calls_task *task, const struct over *over,
		       uint64_t split[CLEW_SPLIT_COUNT])
{
	const struct point *from = point_before(task, over->start);
	const struct point *to = point_before(task, over->end);
	uint64_t left = over->end - over->start;

	for (int i = 0; i < CLEW_SPLIT_COUNT; i++) {
		split[i] = to ? to->sums[i] - (from ? from->sums[i] : 0) : 0;
		if (split[i] > left)
			split[i] = left;
		left -= split[i];
	}
	split[CLEW_SPLIT_RUNNING] += left;
}

/* ---- calls ---- */

static int count_calls(struct clew_latency_calls *calls, struct calls_task *task)
{
	const struct over *all = task->over.data;
	int r = take_fresh(task);

	for (size_t i = 0; i < task->over.count && r == 0; i++) {
		uint64_t split[CLEW_SPLIT_COUNT];

		split_call(task, &all[i], split);
		r = clew_latency_add(calls->latency, all[i].group, all[i].end - all[i].start,
				     all[i].probe, split);
	}
	task->over.count = 0;
	/* The next call waits for nothing of this. */
	if (!task->open) {
		task->points.count = 0;
		if (task->points.capacity > WORTH_FREEING)
			vector_done(&task->points);
		task->points.item = sizeof(struct point);
	}
	return r;
}

static int take_entry(struct clew_latency_calls *calls, const struct clew_frame *frame)
{
	const struct clew_trace_task *of = clew_trace_task(calls->tasks, frame->task);
	const uint64_t *parent =
		frame->parent == CLEW_NO_NUMBER ? NULL : map_get(&calls->groups, frame->parent, 0);
	uint32_t group = CLEW_NO_NUMBER;
	struct calls_task *task;
	int r = 0;

	if (!of || !clew_selection_wants(calls->selection, of))
		return 0;
	task = make_task(calls, frame->task, frame->start);
	if (!task)
		return -ENOMEM;
	task->open++;
	/* Below a call that is in no group there is none either. */
	if (!parent || *parent != CLEW_NO_NUMBER)
		r = clew_latency_enter(calls->names, of,
				       parent ? (uint32_t)*parent : CLEW_NO_NUMBER, frame, &group);
	return r < 0 ? r : map_set(&calls->groups, frame->number, 0, group);
}

static bool has_no_time(const struct clew_frame *frame)
{
	return frame->closed == CLEW_FRAME_OPEN || frame->closed == CLEW_FRAME_LOST ||
	       frame->closed == CLEW_FRAME_UNWOUND || frame->closed == CLEW_FRAME_POINT;
}

static int keep_back(struct calls_task *task, const struct clew_frame *frame, uint32_t group)
{
	if (vector_reserve(&task->over, task->over.count + 1) < 0)
		return -ENOMEM;
	((struct over *)task->over.data)[task->over.count++] =
		(struct over){frame->start, frame->end, frame->probe, group};
	return 0;
}

static int take_frame(struct clew_latency_calls *calls, const struct clew_frame *frame)
{
	const uint64_t *known = map_get(&calls->groups, frame->number, 0);
	struct calls_task *task = find_task(calls, frame->task);
	uint32_t group;
	int r = 0;

	if (!known || !task)
		return 0;
	group = (uint32_t)*known;
	map_remove(&calls->groups, frame->number, 0);
	task->open--;
	if (group == CLEW_NO_NUMBER)
		calls->latency->unplaced++;
	else if (frame->flags & CLEW_FRAME_INHERITED)
		clew_latency_at(calls->latency, group)->inherited++;
	else if (has_no_time(frame))
		clew_latency_at(calls->latency, group)->open++;
	else
		r = keep_back(task, frame, group);
	if (r < 0 || (task->missing && task->over.count < MOST_KEPT))
		return r;
	return count_calls(calls, task);
}

static void take_run(struct clew_latency_calls *calls, const struct clew_run *run)
{
	struct calls_task *task = find_task(calls, run->task);

	if (task && run->end > task->since && run->ended <= CLEW_RUN_YIELDED)
		task->missing++;
}

static int take_piece(struct clew_latency_calls *calls, uint32_t serial, const struct piece *piece)
{
	struct calls_task *task = find_task(calls, serial);

	if (!task || piece->start < task->since)
		return 0;
	task->missing -= task->missing > 0;
	/* One that never comes does not make the others wait for ever. */
	if (task->fresh.count >= MOST_POINTS)
		task->missing = 0;
	if (piece->end == CLEW_TIME_OPEN)
		return 0;
	if (vector_reserve(&task->fresh, task->fresh.count + 1) < 0)
		return -ENOMEM;
	((struct piece *)task->fresh.data)[task->fresh.count++] = *piece;
	return task->missing ? 0 : count_calls(calls, task);
}

static int take_sleep(struct clew_latency_calls *calls, const struct clew_sleep *sleep)
{
	const struct piece piece = {.start = sleep->start,
				    .wake = sleep->end,
				    .end = sleep->end == CLEW_TIME_OPEN ? CLEW_TIME_OPEN
									: sleep->switch_in,
				    .split = clew_split_of(calls->tasks, sleep)};

	return take_piece(calls, sleep->task, &piece);
}

static int take_ready(struct clew_latency_calls *calls, const struct clew_ready *ready)
{
	const struct piece piece = {.start = ready->start,
				    .wake = ready->start,
				    .end = ready->end,
				    .split = CLEW_SPLIT_RUNQUEUE};

	return take_piece(calls, ready->task, &piece);
}

int clew_latency_calls_take(struct clew_latency_calls *calls, struct clew_finding finding)
{
	switch (finding.tag) {
	case CLEW_FINDING_ENTERED:
		return take_entry(calls, finding.frame);
	case CLEW_FINDING_FRAME:
		return take_frame(calls, finding.frame);
	case CLEW_FINDING_SLEEP:
		return take_sleep(calls, finding.sleep);
	case CLEW_FINDING_READY:
		return take_ready(calls, finding.ready);
	case CLEW_FINDING_RUN:
		take_run(calls, finding.run);
		return 0;
	default:
		return 0;
	}
}

int clew_latency_calls_finish(struct clew_latency_calls *calls)
{
	int r = 0;

	for (uint32_t i = 0; i < calls->by_serial.count && r == 0; i++) {
		struct calls_task *task = find_task(calls, i);

		if (task)
			r = count_calls(calls, task);
	}
	return r;
}

void clew_latency_calls_free(struct clew_latency_calls *calls)
{
	if (!calls)
		return;
	for (uint32_t i = 0; i < calls->by_serial.count; i++)
		free_task(find_task(calls, i));
	vector_done(&calls->by_serial);
	map_done(&calls->groups);
	free(calls);
}
