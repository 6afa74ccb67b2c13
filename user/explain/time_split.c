/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides a task's time among kinds. Each point has the sums of all time before it, and the kind
 * of the time from there to the next one.
 */
#include "explain/time_split.h"

#include <errno.h>
#include <string.h>

#include "explain/summary.h"
#include "trace/internal.h"

struct point {
	uint64_t at;
	uint64_t before[CLEW_SPLIT_COUNT];
	enum clew_split kind;
};

const char *clew_split_name(enum clew_split split)
{
	static const char *const names[CLEW_SPLIT_COUNT] = {
		[CLEW_SPLIT_RUNNING] = "running", [CLEW_SPLIT_RUNQUEUE] = "runqueue",
		[CLEW_SPLIT_QUOTA] = "quota",	  [CLEW_SPLIT_LOCK] = "lock",
		[CLEW_SPLIT_DISK] = "disk",	  [CLEW_SPLIT_NETWORK] = "network",
		[CLEW_SPLIT_OTHER] = "other",
	};

	return names[split];
}

enum clew_split clew_split_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	switch (clew_spent_of(trace, sleep)) {
	case CLEW_SPENT_QUOTA:
		return CLEW_SPLIT_QUOTA;
	case CLEW_SPENT_LOCK:
		return CLEW_SPLIT_LOCK;
	case CLEW_SPENT_DISK:
		return CLEW_SPLIT_DISK;
	case CLEW_SPENT_NETWORK:
	case CLEW_SPENT_REMOTE:
		return CLEW_SPLIT_NETWORK;
	case CLEW_SPENT_COUNT:
		return sleep->kind == CLEW_WAIT_SOCKET || (sleep->kind == CLEW_WAIT_POLL &&
							   sleep->object.kind == CLEW_OBJECT_SOCKET)
			       ? CLEW_SPLIT_NETWORK
			       : CLEW_SPLIT_OTHER;
	default:
		return CLEW_SPLIT_OTHER;
	}
}

/* Time from `at` on is of a kind; points come in order of time. */
static int add_point(struct clew_time_split *split, uint64_t at, enum clew_split kind)
{
	struct vector *points = &split->points;
	struct point *last =
		points->count ? (struct point *)points->data + points->count - 1 : NULL;
	struct point next = {.at = at, .kind = kind};

	if (last && last->kind == kind)
		return 0;
	if (last) {
		memcpy(next.before, last->before, sizeof(next.before));
		next.before[last->kind] += at - last->at;
	}
	if (vector_reserve(points, points->count + 1) < 0)
		return -ENOMEM;
	((struct point *)points->data)[points->count++] = next;
	return 0;
}

/* A running piece; while the task spun for a lock, that is what it waited for. */
static int add_running(const struct clew_trace *trace, uint32_t serial, uint64_t from, uint64_t to,
		       struct clew_time_split *split)
{
	const struct clew_spin *spin = clew_trace_spin(trace, serial, from),
			       *end = (struct clew_spin *)trace->spins.data + trace->spins.count;
	int r = add_point(split, from, CLEW_SPLIT_RUNNING);

	for (uint64_t at = from; spin && spin < end && spin->task == serial && r == 0; spin++) {
		uint64_t start = spin->start > at ? spin->start : at;

		if (start >= to)
			break;
		if (spin->end <= start)
			continue;
		at = spin->end < to ? spin->end : to;
		r = add_point(split, start, CLEW_SPLIT_LOCK);
		if (r == 0 && at < to)
			r = add_point(split, at, CLEW_SPLIT_RUNNING);
		if (at == to)
			break;
	}
	return r;
}

int clew_time_split_make(const struct clew_trace *trace, uint32_t serial,
			 struct clew_time_split *ret_split)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	struct clew_piece piece;
	uint32_t hint = 0;
	int r = 0;

	*ret_split = (struct clew_time_split){.points.item = sizeof(struct point)};
	if (!task)
		return 0;
	for (uint64_t at = task->begin; at < task->end && r == 0; at = piece.end) {
		if (!trace_piece_at(trace, task, at, &hint, &piece) || piece.end <= at)
			break;
		if (piece.kind == CLEW_PIECE_RUNNING)
			r = add_running(trace, serial, at, piece.end, ret_split);
		else
			r = add_point(ret_split, at,
				      piece.kind == CLEW_PIECE_RUNQUEUE ? CLEW_SPLIT_RUNQUEUE
				      : piece.kind == CLEW_PIECE_SLEEP
					      ? clew_split_of(trace, piece.sleep)
					      : CLEW_SPLIT_OTHER);
	}
	return r < 0 ? r : add_point(ret_split, task->end, CLEW_SPLIT_OTHER);
}

void clew_time_split_done(struct clew_time_split *split)
{
	vector_done(&split->points);
}

/* The sums of all time before a moment; what precedes the first point is OTHER. */
static void sums_at(const struct clew_time_split *split, uint64_t at, uint64_t *ret_ns)
{
	const struct point *points = split->points.data;
	size_t low = 0, high = split->points.count;

	memset(ret_ns, 0, CLEW_SPLIT_COUNT * sizeof(*ret_ns));
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (points[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	ret_ns[CLEW_SPLIT_OTHER] = low ? points[0].at : at;
	if (!low)
		return;
	for (int i = 0; i < CLEW_SPLIT_COUNT; i++)
		ret_ns[i] += points[low - 1].before[i];
	ret_ns[points[low - 1].kind] += at - points[low - 1].at;
}

void clew_time_split_add(const struct clew_time_split *split, uint64_t from, uint64_t to,
			 uint64_t *ns)
{
	uint64_t until[CLEW_SPLIT_COUNT], since[CLEW_SPLIT_COUNT];

	sums_at(split, to, until);
	sums_at(split, from, since);
	for (int i = 0; i < CLEW_SPLIT_COUNT; i++)
		ns[i] += until[i] - since[i];
}
