/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of each thread, in order: its runs, by the CPUs where there are any
 * and else by its ESs; its sleeps and its time in the run queue by its gaps.
 * The gap that a call leaves in its caller is the time of the callee. times.c
 * is the way there.
 */
#include "convert/to_trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The position in a span: the ES that was visited last. */
struct level {
	uint32_t span, es;
};

struct walk {
	struct back *back;
	uint32_t serial;
	uint32_t next_run, end_run; /* indices of back->runs */
	uint32_t call_id;
	uint64_t running_since;
	struct vector levels;
};

/* Orders the CPUs' runs by task, then by time. */
static int order_runs(struct back *back)
{
	const struct clew_run *runs = back->trace->runs.data;
	size_t count = back->trace->runs.count, tasks = 0, used = 0;
	struct sort_key *keys = malloc(2 * (count + 1) * sizeof(*keys));
	uint32_t *place;

	for (uint32_t i = 0; i < back->model->span_count; i++)
		tasks = back->serials[i] > tasks ? back->serials[i] : tasks;
	back->run_begin = calloc(tasks + 3, sizeof(*back->run_begin));
	back->runs = malloc((count + 1) * sizeof(*back->runs));
	if (!keys || !back->run_begin || !back->runs) {
		free(keys);
		return -ENOMEM;
	}
	/* At one moment runs without length come first. */
	for (unsigned with_length = 0; with_length < 2; with_length++)
		for (size_t i = 0; i < count; i++)
			if ((runs[i].end > runs[i].start) == with_length)
				keys[used++] = (struct sort_key){.key = runs[i].start,
								 .index = (uint32_t)i};
	sort_keys(keys, keys + count + 1, count);
	for (size_t i = 0; i < count; i++)
		back->run_begin[runs[i].task + 2]++;
	for (size_t i = 2; i < tasks + 3; i++)
		back->run_begin[i] += back->run_begin[i - 1];
	place = back->run_begin + 1;
	for (size_t i = 0; i < count; i++) {
		struct clew_run *to = &back->runs[place[runs[keys[i].index].task]++];

		*to = runs[keys[i].index];
		/* The copy keeps the index of the run in the trace. */
		to->task = keys[i].index;
	}
	free(keys);
	return 0;
}

/* Adds the CPUs' runs that begin before a moment, or at it without length. */
static int pass_runs(struct walk *walk, uint64_t until)
{
	const struct clew_run *runs = walk->back->runs;
	int r = 0;

	for (; r == 0 && walk->next_run < walk->end_run; walk->next_run++) {
		const struct clew_run *run = &runs[walk->next_run];

		if (run->start > until || (run->start == until && run->end > run->start))
			break;
		r = trace_add_piece(walk->back->trace, walk->serial, PIECE_RUN, run->task,
				    run->start);
	}
	return r;
}

/* Ends a run where a gap begins. */
static int end_running(struct walk *walk, uint64_t until)
{
	struct clew_run run = {.start = walk->running_since,
			       .end = until,
			       .task = walk->serial,
			       .cpu = UINT16_MAX,
			       .ended = CLEW_RUN_YIELDED};

	if (walk->back->has_runs)
		return pass_runs(walk, until);
	if (until <= walk->running_since)
		return 0;
	return trace_take(walk->back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_RUN, .run = &run});
}

static int take_gap(struct walk *walk, uint32_t number)
{
	struct back *back = walk->back;
	const struct clew_es *es = &back->model->es[number];
	uint64_t start = (uint64_t)es[-1].end, end = (uint64_t)es->start;
	unsigned kind =
		es->wait == CLEW_NONE ? CLEW_WAIT_UNKNOWN : back->model->waits[es->wait].kind;
	const struct values *values = back_values(
		back, es->wait == CLEW_NONE ? CLEW_NONE : back->model->waits[es->wait].attributes);
	struct clew_ready ready = {.start = start, .end = end, .task = walk->serial};
	int r = end_running(walk, start);

	walk->running_since = end;
	if (r < 0 || values->of[ATTRIBUTE_KNOWN])
		return r;
	if (kind == CLEW_SEGMENT_RUNQUEUE) {
		if (values->of[ATTRIBUTE_OPEN])
			ready.end = CLEW_TIME_OPEN;
		r = BACK_NUMBERS(back, values, {ATTRIBUTE_UNTIL, &ready.end},
				 {ATTRIBUTE_SINCE, &ready.start});
		return r < 0 ? r
			     : trace_take(back->trace,
					  (struct clew_finding){.tag = CLEW_FINDING_READY,
								.ready = &ready});
	}
	if (kind >= CLEW_WAIT_KIND_COUNT)
		kind = CLEW_WAIT_UNKNOWN;
	return back_sleep(back, walk->serial, kind, values, start, end, es->in, &walk->call_id);
}

/* A sleep of no length is a mark "wait KIND KEY=VALUE ..". */
static int take_mark(struct walk *walk, const struct clew_mark *mark)
{
	struct back *back = walk->back;
	struct values values = {.list = CLEW_NONE};
	const char *label = clew_model_string(back->model, mark->label);
	struct arena arena = {0};
	size_t size = strlen(label) + 1;
	int kind, r;
	char *word;

	if (strncmp(label, "wait ", 5))
		return 0;
	label += 5;
	word = arena_take(&arena, size);
	if (!word)
		return -ENOMEM;
	scan_value_word(&label, word, size);
	kind = clew_wait_kind_from_name(word);
	while (kind >= 0 && (word = arena_take(&arena, size)) &&
	       scan_value_word(&label, word, size)) {
		char *value = strchr(word, '=');

		for (unsigned key = 0; value && key < ATTRIBUTE_COUNT; key++)
			if (strlen(attribute_table[key].key) == (size_t)(value - word) &&
			    !memcmp(attribute_table[key].key, word, (size_t)(value - word)))
				values.of[key] = value + 1;
	}
	r = end_running(walk, (uint64_t)mark->at);
	walk->running_since = (uint64_t)mark->at;
	if (r == 0 && kind >= 0 && kind < CLEW_WAIT_KIND_COUNT)
		r = back_sleep(back, walk->serial, (unsigned)kind, &values, (uint64_t)mark->at,
			       (uint64_t)mark->at, CLEW_NONE, &walk->call_id);
	arena_done(&arena);
	return r;
}

static int take_marks(struct walk *walk, uint32_t es)
{
	struct clew_range marks = clew_model_marks(walk->back->model, es);
	int r = 0;

	for (uint32_t i = 0; i < marks.count && r == 0 && walk->back->from_capture; i++)
		r = take_mark(walk, &walk->back->model->marks[marks.first + i]);
	return r;
}

/* The child whose return ends the gap before an ES; CLEW_NONE: none. */
static uint32_t called_before(const struct clew_model *model, uint32_t number)
{
	const struct clew_es *es = &model->es[number];
	uint32_t trigger, child;

	if (es->in == CLEW_NONE || es->wait != CLEW_NONE ||
	    model->dependencies[es->in].type != CLEW_DEPENDENCY_RETURN)
		return CLEW_NONE;
	trigger = clew_model_trigger(model, es->in);
	child = trigger == CLEW_NONE ? CLEW_NONE : model->es[trigger].span;
	return child != CLEW_NONE && model->spans[child].parent == es->span ? child : CLEW_NONE;
}

static int enter(struct walk *walk, uint32_t span)
{
	if (vector_reserve(&walk->levels, walk->levels.count + 1) < 0)
		return -ENOMEM;
	((struct level *)walk->levels.data)[walk->levels.count++] =
		(struct level){.span = span, .es = walk->back->model->spans[span].elementary.first};
	return take_marks(walk, walk->back->model->spans[span].elementary.first);
}

/* One ES and the gap before it, or a step into a call or out of one. */
static int step(struct walk *walk)
{
	const struct clew_model *model = walk->back->model;
	struct level *level = (struct level *)walk->levels.data + walk->levels.count - 1;
	struct clew_range range = model->spans[level->span].elementary;
	uint32_t number = ++level->es, child;
	int r = 0;

	if (number >= range.first + range.count) {
		/* The caller goes on after all that it called. */
		walk->levels.count--;
		return walk->levels.count ? take_marks(walk, level[-1].es) : 0;
	}
	if (model->es[number].start > model->es[number - 1].end) {
		child = called_before(model, number);
		if (child != CLEW_NONE)
			return enter(walk, child);
		r = take_gap(walk, number);
	}
	return r < 0 ? r : take_marks(walk, number);
}

static int walk_thread(struct walk *walk, uint32_t span)
{
	const struct clew_model *model = walk->back->model;
	int r;

	walk->serial = walk->back->serials[span];
	walk->call_id = 0;
	walk->running_since = (uint64_t)model->spans[span].start;
	if (walk->back->has_runs) {
		walk->next_run = walk->back->run_begin[walk->serial];
		walk->end_run = walk->back->run_begin[walk->serial + 1];
	}
	r = enter(walk, span);
	while (r == 0 && walk->levels.count)
		r = step(walk);
	if (r == 0)
		r = end_running(walk, (uint64_t)model->spans[span].end);
	return r < 0 || !walk->back->has_runs ? r : pass_runs(walk, UINT64_MAX);
}

int back_times(struct back *back)
{
	const struct clew_model *model = back->model;
	struct walk walk = {.back = back, .levels.item = sizeof(struct level)};
	int r = back->has_runs ? order_runs(back) : 0;

	for (uint32_t span = model->first_root; span != CLEW_NONE && r == 0;
	     span = model->spans[span].next_sibling)
		if (back->serials[span] && trace_task_find(back->trace, back->serials[span]))
			r = walk_thread(&walk, span);
	vector_done(&walk.levels);
	return r;
}
