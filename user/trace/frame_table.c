/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides a task's time among functions. The table of a task has its turns: the moments at
 * which it went into another function or came back. The turns of one function are joined with
 * running sums, so that an interval of any length costs a search in each of the task's
 * functions; a short one is walked turn by turn.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Turns that are walked rather than found by a search of a function. */
#define STEPS_OF_SEARCH 32

/* From here to the next turn the task was in this frame; CLEW_NO_NUMBER: in none. */
struct turn {
	uint64_t at;
	uint32_t frame;
};

/* A turn of a function, with the sums of this one and those of the function before it. */
struct joined {
	uint64_t ns, probe;
	uint32_t turn;
};

struct frame_table {
	struct turn *turns;
	size_t turn_count;
	uint64_t *probe;     /* by the task's own frames: ns of probes in their own time */
	uint64_t *own;	     /* likewise: ns of all their turns */
	uint32_t *functions; /* of the task, by slot; the last is CLEW_NO_NUMBER */
	uint32_t slot_count;
	struct joined *joined; /* by slot */
	size_t *joined_begin;  /* by slot, one more at the end */
	uint64_t *entries;     /* moments, by slot */
	size_t *entry_begin;
};

void trace_free_frame_table(struct trace_task *task)
{
	struct frame_table *table = task->frame_table;

	if (!table)
		return;
	free(table->turns);
	free(table->probe);
	free(table->own);
	free(table->functions);
	free(table->joined);
	free(table->joined_begin);
	free(table->entries);
	free(table->entry_begin);
	free(table);
	task->frame_table = NULL;
}

/* ---- making it ---- */

static int add_turn(struct vector *turns, uint64_t at, uint32_t frame)
{
	const struct turn *all = turns->data;

	/* Only the later of two frames at one moment has a length. */
	if (turns->count && all[turns->count - 1].at == at)
		turns->count--;
	if (turns->count && all[turns->count - 1].frame == frame)
		return 0;
	if (vector_reserve(turns, turns->count + 1) < 0)
		return -ENOMEM;
	((struct turn *)turns->data)[turns->count++] = (struct turn){.at = at, .frame = frame};
	return 0;
}

/* A frame that the task goes into, and those that it comes back to until it enters the next. */
static int make_turns(const struct clew_trace *trace, const struct trace_task *task,
		      struct vector *turns)
{
	const struct clew_trace_frame *all = trace->frames.data;
	int r = add_turn(turns, 0, CLEW_NO_NUMBER);

	for (uint32_t i = 0; i < task->frame_count && r == 0; i++) {
		const struct clew_trace_frame *frame = &all[task->frame_first + i], *in = frame;
		uint64_t until = i + 1 < task->frame_count ? frame[1].start : CLEW_TIME_OPEN;
		uint64_t at = frame->start;

		for (; r == 0;) {
			in = trace_open_frame(trace, in, at);
			r = add_turn(turns, at, in ? (uint32_t)(in - all) : CLEW_NO_NUMBER);
			if (!in || in->end >= until)
				break;
			at = in->end;
		}
	}
	return r;
}

static uint64_t turn_end(const struct frame_table *table, size_t turn)
{
	return turn + 1 < table->turn_count ? table->turns[turn + 1].at : CLEW_TIME_OPEN;
}

/* The probes' part of `ns` of a frame's own time. */
static uint64_t share_of(const struct frame_table *table, uint32_t own_number, uint64_t ns)
{
	uint64_t own = table->own[own_number];

	return own ? (uint64_t)((unsigned __int128)table->probe[own_number] * ns / own) : 0;
}

/* The own time of each frame, and the probes in it: those of the calls are not its own. */
static int sum_frames(const struct clew_trace *trace, const struct trace_task *task,
		      struct frame_table *table)
{
	const struct clew_trace_frame *frames = trace_frame(trace, task->frame_first);

	table->probe = calloc(task->frame_count + 1ul, sizeof(*table->probe));
	table->own = calloc(task->frame_count + 1ul, sizeof(*table->own));
	if (!table->probe || !table->own)
		return -ENOMEM;
	for (uint32_t i = 0; i < task->frame_count; i++)
		table->probe[i] = frames[i].probe;
	for (uint32_t i = 0; i < task->frame_count; i++) {
		uint64_t *parent = frames[i].parent == CLEW_NO_NUMBER
					   ? NULL
					   : &table->probe[frames[i].parent - task->frame_first];

		if (parent)
			*parent -= frames[i].probe < *parent ? frames[i].probe : *parent;
	}
	for (size_t i = 0; i < table->turn_count; i++) {
		uint64_t end = turn_end(table, i);

		end = end == CLEW_TIME_OPEN ? trace->end : end;
		if (table->turns[i].frame != CLEW_NO_NUMBER && end > table->turns[i].at)
			table->own[table->turns[i].frame - task->frame_first] +=
				end - table->turns[i].at;
	}
	return 0;
}

/* Gives each function of the task a slot, in order of number. *ret_slots: by function. */
static int make_slots(const struct clew_trace *trace, const struct trace_task *task,
		      struct frame_table *table, struct map *slots)
{
	const struct clew_trace_frame *frames = trace_frame(trace, task->frame_first);
	struct vector found = {.item = sizeof(uint32_t)};
	int r = 0;

	for (uint32_t i = 0; i <= task->frame_count && r == 0; i++) {
		uint32_t function = i < task->frame_count ? frames[i].function : CLEW_NO_NUMBER;

		if (i < task->frame_count && map_get(slots, function, 0))
			continue;
		if (vector_reserve(&found, found.count + 1) < 0 ||
		    map_set(slots, function, i == task->frame_count, found.count) < 0) {
			r = -ENOMEM;
			break;
		}
		((uint32_t *)found.data)[found.count++] = function;
	}
	table->slot_count = (uint32_t)found.count;
	table->functions = malloc((found.count + 1) * sizeof(*table->functions));
	if (table->functions)
		memcpy(table->functions, found.data, found.count * sizeof(*table->functions));
	vector_done(&found);
	return r < 0 || !table->functions ? -ENOMEM : 0;
}

static uint32_t slot_of(const struct clew_trace *trace, const struct map *slots, uint32_t frame)
{
	return frame == CLEW_NO_NUMBER
		       ? (uint32_t)*map_get(slots, CLEW_NO_NUMBER, 1)
		       : (uint32_t)*map_get(slots, trace_frame(trace, frame)->function, 0);
}

/* Turns counts by slot, each in the place behind its own, into where a slot begins. */
static void add_counts(size_t *begin, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++)
		begin[i + 1] += begin[i];
}

static int join_turns(const struct clew_trace *trace, const struct trace_task *task,
		      struct frame_table *table, const struct map *slots)
{
	size_t *next = calloc(table->slot_count + 2ul, sizeof(*next));

	table->joined_begin = calloc(table->slot_count + 2ul, sizeof(*table->joined_begin));
	table->joined = malloc((table->turn_count + 1) * sizeof(*table->joined));
	if (!next || !table->joined_begin || !table->joined) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < table->turn_count; i++)
		table->joined_begin[slot_of(trace, slots, table->turns[i].frame) + 1]++;
	add_counts(table->joined_begin, table->slot_count);
	memcpy(next, table->joined_begin, table->slot_count * sizeof(*next));
	for (size_t i = 0; i < table->turn_count; i++) {
		uint32_t frame = table->turns[i].frame, slot = slot_of(trace, slots, frame);
		struct joined *to = &table->joined[next[slot]];
		/* The last turn, which has no end, is never a whole one in an interval. */
		uint64_t ns = turn_end(table, i) - table->turns[i].at;
		bool first = next[slot]++ == table->joined_begin[slot];

		*to = (struct joined){.turn = (uint32_t)i,
				      .ns = ns + (first ? 0 : to[-1].ns),
				      .probe = first ? 0 : to[-1].probe};
		if (frame != CLEW_NO_NUMBER)
			to->probe += share_of(table, frame - task->frame_first, ns);
	}
	free(next);
	return 0;
}

static int list_entries(const struct clew_trace *trace, const struct trace_task *task,
			struct frame_table *table, const struct map *slots)
{
	const struct clew_trace_frame *frames = trace_frame(trace, task->frame_first);
	size_t *next = calloc(table->slot_count + 2ul, sizeof(*next));

	table->entry_begin = calloc(table->slot_count + 2ul, sizeof(*table->entry_begin));
	table->entries = malloc((task->frame_count + 1ul) * sizeof(*table->entries));
	if (!next || !table->entry_begin || !table->entries) {
		free(next);
		return -ENOMEM;
	}
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < task->frame_count; i++) {
			uint32_t slot = slot_of(trace, slots, task->frame_first + i);

			if (frames[i].flags & (CLEW_FRAME_INHERITED | CLEW_FRAME_REPLACED))
				continue;
			if (pass)
				table->entries[next[slot]++] = frames[i].start;
			else
				table->entry_begin[slot + 1]++;
		}
		if (pass)
			break;
		add_counts(table->entry_begin, table->slot_count);
		memcpy(next, table->entry_begin, table->slot_count * sizeof(*next));
	}
	free(next);
	return 0;
}

static int make_table(const struct clew_trace *trace, struct trace_task *task)
{
	struct frame_table *table = calloc(1, sizeof(*table));
	struct vector turns = {.item = sizeof(struct turn)};
	struct map slots = {0};
	int r;

	if (!table)
		return -ENOMEM;
	task->frame_table = table;
	r = make_turns(trace, task, &turns);
	table->turns = malloc((turns.count + 1) * sizeof(*table->turns));
	if (table->turns)
		memcpy(table->turns, turns.data, turns.count * sizeof(*table->turns));
	else
		r = -ENOMEM;
	table->turn_count = turns.count;
	vector_done(&turns);
	if (r == 0)
		r = sum_frames(trace, task, table);
	if (r == 0)
		r = make_slots(trace, task, table, &slots);
	if (r == 0)
		r = join_turns(trace, task, table, &slots);
	if (r == 0)
		r = list_entries(trace, task, table, &slots);
	map_done(&slots);
	if (r < 0)
		trace_free_frame_table(task);
	return r;
}

static int table_of(const struct clew_trace *trace, struct trace_task *task,
		    const struct frame_table **ret_table)
{
	struct clew_trace *writable = (struct clew_trace *)(uintptr_t)trace;
	int r = 0;

	pthread_mutex_lock(&writable->frame_lock);
	if (!task->frame_table)
		r = make_table(trace, task);
	*ret_table = task->frame_table;
	pthread_mutex_unlock(&writable->frame_lock);
	return r;
}

/* ---- sums ---- */

int clew_function_sums_begin(const struct clew_trace *trace, struct clew_function_sums *ret_sums)
{
	*ret_sums = (struct clew_function_sums){.functions = clew_trace_function_count(trace)};
	ret_sums->times = calloc(ret_sums->functions + 2ul, sizeof(*ret_sums->times));
	ret_sums->place = calloc(ret_sums->functions + 2ul, sizeof(*ret_sums->place));
	if (ret_sums->times && ret_sums->place)
		return 0;
	clew_function_sums_done(ret_sums);
	return -ENOMEM;
}

/* The place of a function. Functions that no record describes share one. */
static uint32_t *place_of(const struct clew_function_sums *sums, uint32_t function)
{
	return &sums->place[function == CLEW_NO_NUMBER	  ? sums->functions + 1
			    : function >= sums->functions ? sums->functions
							  : function];
}

void clew_function_sums_clear(struct clew_function_sums *sums)
{
	for (uint32_t i = 0; i < sums->count; i++)
		*place_of(sums, sums->times[i].function) = 0;
	sums->count = 0;
}

void clew_function_sums_done(struct clew_function_sums *sums)
{
	free(sums->times);
	free(sums->place);
	*sums = (struct clew_function_sums){0};
}

static struct clew_function_time *sum_of(struct clew_function_sums *sums, uint32_t function)
{
	uint32_t *place = place_of(sums, function);

	if (!*place) {
		sums->times[sums->count] = (struct clew_function_time){.function = function};
		*place = ++sums->count;
	}
	return &sums->times[*place - 1];
}

static void add_turn_part(struct clew_function_sums *sums, const struct clew_trace *trace,
			  const struct trace_task *task, const struct frame_table *table,
			  size_t turn, uint64_t from, uint64_t to)
{
	uint64_t start = table->turns[turn].at, end = turn_end(table, turn);
	uint32_t frame = table->turns[turn].frame;
	const struct clew_trace_frame *in = trace_frame(trace, frame);
	struct clew_function_time *sum;

	start = start > from ? start : from;
	end = end < to ? end : to;
	if (start >= end)
		return;
	sum = sum_of(sums, in ? in->function : CLEW_NO_NUMBER);
	sum->ns += end - start;
	if (in)
		sum->probe += share_of(table, frame - task->frame_first, end - start);
}

/* The number of joined turns of a slot before turn `turn`. */
static size_t joined_before(const struct frame_table *table, uint32_t slot, size_t turn)
{
	size_t low = table->joined_begin[slot], high = table->joined_begin[slot + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->joined[middle].turn < turn)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t entries_before(const struct frame_table *table, uint32_t slot, uint64_t at)
{
	size_t low = table->entry_begin[slot], high = table->entry_begin[slot + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->entries[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds the whole turns first..end-1. */
static void add_whole_turns(struct clew_function_sums *sums, const struct frame_table *table,
			    size_t first, size_t end)
{
	for (uint32_t slot = 0; slot < table->slot_count; slot++) {
		size_t from = joined_before(table, slot, first),
		       to = joined_before(table, slot, end);
		const struct joined *joined = table->joined;
		bool at_begin = from == table->joined_begin[slot];
		struct clew_function_time *sum;

		if (from == to)
			continue;
		sum = sum_of(sums, table->functions[slot]);
		sum->ns += joined[to - 1].ns - (at_begin ? 0 : joined[from - 1].ns);
		sum->probe += joined[to - 1].probe - (at_begin ? 0 : joined[from - 1].probe);
	}
}

/* The last turn at or before a moment. */
static size_t turn_at(const struct frame_table *table, uint64_t at)
{
	size_t low = 0, high = table->turn_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->turns[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/* Adds the entries of frames first..end-1 of a task, which are those from `from` to `to`. */
static void add_calls(struct clew_function_sums *sums, const struct clew_trace_frame *frames,
		      const struct frame_table *table, size_t first, size_t end, uint64_t from,
		      uint64_t to)
{
	if (end - first <= (size_t)table->slot_count * STEPS_OF_SEARCH) {
		for (size_t i = first; i < end; i++)
			if (!(frames[i].flags & (CLEW_FRAME_INHERITED | CLEW_FRAME_REPLACED)))
				sum_of(sums, frames[i].function)->calls++;
		return;
	}
	for (uint32_t slot = 0; slot < table->slot_count; slot++) {
		size_t calls = entries_before(table, slot, to) - entries_before(table, slot, from);

		if (calls)
			sum_of(sums, table->functions[slot])->calls += calls;
	}
}

int clew_function_sums_add(struct clew_function_sums *sums, const struct clew_trace *trace,
			   uint32_t serial, uint64_t from, uint64_t to)
{
	struct trace_task *task = trace_task_find(trace, serial);
	const struct clew_trace_frame *frames;
	const struct frame_table *table;
	size_t first, last;
	int r;

	if (from >= to)
		return 0;
	if (!task || !task->frame_count) {
		sum_of(sums, CLEW_NO_NUMBER)->ns += to - from;
		return 0;
	}
	r = table_of(trace, task, &table);
	if (r < 0)
		return r;
	first = turn_at(table, from);
	last = turn_at(table, to - 1);
	add_turn_part(sums, trace, task, table, first, from, to);
	if (last - first > (size_t)table->slot_count * STEPS_OF_SEARCH)
		add_whole_turns(sums, table, first + 1, last);
	else
		for (size_t turn = first + 1; turn < last; turn++)
			add_turn_part(sums, trace, task, table, turn, from, to);
	if (last > first)
		add_turn_part(sums, trace, task, table, last, from, to);
	frames = trace_frame(trace, task->frame_first);
	add_calls(sums, frames, table,
		  from ? trace_frames_until(frames, task->frame_count, from - 1) : 0,
		  trace_frames_until(frames, task->frame_count, to - 1), from, to);
	return 0;
}

static int largest_first(const void *left, const void *right)
{
	const struct clew_function_time *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

void clew_function_sums_sort(struct clew_function_sums *sums)
{
	if (sums->count)
		qsort(sums->times, sums->count, sizeof(*sums->times), largest_first);
	for (uint32_t i = 0; i < sums->count; i++)
		*place_of(sums, sums->times[i].function) = i + 1;
}
