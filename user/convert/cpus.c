/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hardware threads, each in its core, socket and NUMA node, and back. A run is
 * an ES with a mark at its start, whose label is the name of the thread's span.
 * The span of the first CPU has what is known of the capture as a whole.
 */
#include "convert/to_trace.h"
#include <stdio.h>
#include <string.h>

/* ---- from a trace to a model ---- */

/* The category of a CPU, by its line "cpu node socket core" of the recorder's
 * topology; a number that the recorder did not know is -1. */
static int category_of_cpu(struct conversion *conversion, unsigned cpu, uint32_t *ret_category)
{
	static const char *const levels[] = {"node", "socket", "core"};
	const char *line = clew_trace_meta(conversion->trace, "topology");
	int numbers[3] = {-1, -1, -1}, r = 0;
	bool any = false;
	char name[32];
	unsigned number;

	for (; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		if (sscanf(line, "%u %d %d %d", &number, &numbers[0], &numbers[1], &numbers[2]) ==
			    4 &&
		    number == cpu)
			break;
		numbers[0] = numbers[1] = numbers[2] = -1;
	}
	*ret_category = CLEW_NONE;
	for (int i = 0; i < 3 && r == 0; i++) {
		if (numbers[i] < 0)
			continue;
		any = true;
		snprintf(name, sizeof(name), "%s%d", levels[i], numbers[i]);
		r = clew_maker_category(conversion->maker, conversion->cpus, *ret_category, name,
					ret_category);
	}
	if (r < 0 || any)
		return r;
	return clew_maker_category(conversion->maker, conversion->cpus, CLEW_NONE, "machine",
				   ret_category);
}

static const struct clew_run *run_at(const struct clew_trace *trace, unsigned cpu, uint32_t i)
{
	return (const struct clew_run *)trace->runs.data + trace->cpus[cpu].data[i];
}

static uint64_t start_of_cpu(const struct clew_trace *trace, unsigned cpu)
{
	uint64_t start = trace->start;

	if (cpu < trace->cpu_count && trace->cpus[cpu].count &&
	    run_at(trace, cpu, 0)->start < start)
		start = run_at(trace, cpu, 0)->start;
	return start;
}

int capture_make_cpu_spans(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	uint32_t span, category, attributes;
	char name[32];
	int r = 0;

	for (unsigned cpu = 0; cpu < conversion->cpu_count && r == 0; cpu++) {
		snprintf(name, sizeof(name), "cpu%u", cpu);
		r = category_of_cpu(conversion, cpu, &category);
		if (r == 0)
			r = clew_maker_root(conversion->maker, name,
					    (clew_time)start_of_cpu(trace, cpu),
					    (clew_time)conversion->end, &span);
		if (r == 0)
			r = clew_maker_place(conversion->maker, span, category);
		if (r < 0)
			break;
		pairs_add_number(&conversion->pairs, ATTRIBUTE_CPU, cpu);
		if (cpu == 0)
			capture_describe(conversion);
		r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
		if (r == 0)
			r = clew_maker_set_span_attributes(conversion->maker, span, attributes);
	}
	return r;
}

static int emit_run(struct conversion *conversion, const struct clew_run *run, uint64_t *cursor,
		    uint32_t idle)
{
	uint64_t start = run->start > *cursor ? run->start : *cursor;
	uint64_t end = run->end > start ? run->end : start;
	int r = 0;

	if (start > *cursor)
		r = capture_gap(conversion, *cursor, start, conversion->unknown_wait);
	*cursor = end;
	if (r < 0)
		return r;
	if (run->task == CLEW_NO_TASK)
		return end > start ? capture_gap(conversion, start, end, idle) : 0;
	r = capture_cut(conversion, start);
	return r < 0 ? r : capture_mark(conversion, start, capture_span_of(conversion, run->task));
}

int capture_emit_cpus(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	uint32_t idle;
	int r = capture_wait_row(conversion, CLEW_WAIT_IDLE, CLEW_NONE, &idle);

	for (unsigned cpu = 0; cpu < conversion->cpu_count && r == 0; cpu++) {
		uint32_t count = cpu < trace->cpu_count ? trace->cpus[cpu].count : 0;
		uint64_t cursor = start_of_cpu(trace, cpu);

		capture_span_begin(conversion, conversion->actor_count + cpu, cursor);
		for (uint32_t i = 0; i < count && r == 0; i++)
			r = emit_run(conversion, run_at(trace, cpu, i), &cursor, idle);
		if (r == 0 && cursor < conversion->end)
			r = capture_gap(conversion, cursor, conversion->end,
					conversion->unknown_wait);
		if (r == 0)
			r = capture_span_end(conversion, conversion->end);
	}
	return r;
}

/* ---- and back ---- */

static int keep_run(struct back *back, uint16_t cpu, uint32_t task, clew_time start, clew_time end)
{
	struct clew_run run = {.start = (uint64_t)start,
			       .end = (uint64_t)end,
			       .task = task,
			       .cpu = cpu,
			       .ended = CLEW_RUN_YIELDED};
	size_t index;

	return trace_keep_run(back->trace, &run, &index);
}

/* Each mark starts a run of the thread that its label names. */
static int take_runs(struct back *back, uint32_t span, uint16_t cpu)
{
	const struct clew_model *model = back->model;
	struct clew_range range = model->spans[span].elementary;
	int r = 0;

	for (uint32_t i = range.first; i < range.first + range.count && r == 0; i++) {
		const struct clew_es *es = &model->es[i];
		struct clew_range marks = clew_model_marks(model, i);

		if (i > range.first && es->start > es[-1].end && es->wait != CLEW_NONE &&
		    model->waits[es->wait].kind == CLEW_WAIT_IDLE)
			r = keep_run(back, cpu, CLEW_NO_TASK, es[-1].end, es->start);
		for (uint32_t k = 0; k < marks.count && r == 0; k++) {
			const struct clew_mark *mark = &model->marks[marks.first + k];
			clew_time end = k + 1 < marks.count ? mark[1].at : es->end;

			if (back->serial_of[mark->label])
				r = keep_run(back, cpu, back->serial_of[mark->label], mark->at,
					     end);
		}
	}
	return r;
}

/* The number of the CPU that a span is; UINT16_MAX: it is no CPU. */
static uint16_t cpu_of(const struct clew_model *model, uint32_t span)
{
	const char *value =
		model->spans[span].parent == CLEW_NONE
			? clew_model_attribute(model, model->spans[span].attributes, "cpu")
			: NULL;
	uint64_t number;

	return value && scan_value_number(&value, &number) && number < UINT16_MAX ? (uint16_t)number
										  : UINT16_MAX;
}

static int take_attributes(struct back *back, uint32_t list)
{
	const struct clew_model *model = back->model;
	int r = 0;

	for (uint32_t i = model->attribute_lists[list];
	     i < model->attribute_lists[list + 1] && r == 0; i++) {
		const char *name = clew_model_string(model, model->attributes[i].key);
		const char *value = clew_model_string(model, model->attributes[i].value);
		enum attribute_key key = attribute_find(name);

		r = back_capture(back, key, name, value);
		if (r == 0)
			r = back_identity(back, key, name, value);
	}
	return r;
}

int back_truth(struct back *back)
{
	const struct clew_model *model = back->model;
	int r = 0;

	for (uint32_t span = model->first_root; span != CLEW_NONE && r == 0;
	     span = model->spans[span].next_sibling) {
		uint32_t list = model->spans[span].attributes;

		if (cpu_of(model, span) == UINT16_MAX)
			continue;
		for (uint32_t i = model->attribute_lists[list];
		     i < model->attribute_lists[list + 1] && r == 0; i++) {
			const char *key = clew_model_string(model, model->attributes[i].key);

			r = back_capture(back, attribute_find(key), key,
					 clew_model_string(model, model->attributes[i].value));
		}
	}
	return r;
}

int back_machine(struct back *back)
{
	const struct clew_model *model = back->model;
	int r = 0;

	for (uint32_t span = model->first_root; span != CLEW_NONE && r == 0;
	     span = model->spans[span].next_sibling) {
		uint16_t cpu = back->serials[span] ? UINT16_MAX : cpu_of(model, span);
		uint32_t list = model->spans[span].attributes;

		if (cpu == UINT16_MAX)
			continue;
		r = take_attributes(back, list);
		back->has_runs = true;
		if (r == 0)
			r = take_runs(back, span, cpu);
	}
	return r;
}
