/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts a causal trace to a trace that gives the answers of a capture's.
 */
#include "convert/to_trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int index_strings(struct back *back)
{
	size_t count = model_strings(back->model)->offsets.count;

	back->keys = calloc(count + 1, 1);
	back->serial_of = calloc(count + 1, sizeof(*back->serial_of));
	if (!back->keys || !back->serial_of)
		return -ENOMEM;
	for (unsigned key = 0; key < ATTRIBUTE_COUNT; key++) {
		uint32_t string = clew_model_find_string(back->model, attribute_table[key].key);

		if (string != CLEW_NONE)
			back->keys[string] = (uint8_t)(key + 1);
	}
	return 0;
}

static uint32_t find_hierarchy(const struct clew_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		if (!strcmp(clew_model_string(model, model->hierarchies[i]), name))
			return i;
	return CLEW_NONE;
}

static bool is_in(const struct clew_model *model, uint32_t span, uint32_t hierarchy)
{
	return hierarchy != CLEW_NONE &&
	       clew_model_category_of(model, span, hierarchy) != CLEW_NONE;
}

/* Numbers the threads: root spans that are neither a CPU nor a device, in
 * order. */
static int index_spans(struct back *back)
{
	const struct clew_model *model = back->model;
	uint32_t cpus = find_hierarchy(model, "cpus"), devices = find_hierarchy(model, "devices"),
		 serial = 0;

	back->serials = calloc(model->span_count + 1ul, sizeof(*back->serials));
	back->is_device = calloc(model->span_count + 1ul, 1);
	if (!back->serials || !back->is_device)
		return -ENOMEM;
	back->first_request = CLEW_NONE;
	for (uint32_t i = 0; i < model->span_count; i++) {
		const struct clew_span *span = &model->spans[i];

		if (span->parent != CLEW_NONE) {
			back->serials[i] = back->serials[span->parent];
			back->is_device[i] = back->is_device[span->parent];
			if (back->is_device[i] && back->first_request == CLEW_NONE)
				back->first_request = i;
			continue;
		}
		if (is_in(model, i, devices)) {
			back->is_device[i] = 1;
			continue;
		}
		if (is_in(model, i, cpus))
			continue;
		back->serials[i] = ++serial;
		if (back->serial_of[span->name] == CLEW_NO_TASK)
			back->serial_of[span->name] = serial;
	}
	return 0;
}

/* drop_types is a mask of 32 bits, which leaves a few for types that are not
 * clew's. Further ones become plain wakes. */
#define MOST_OWN_TYPES (32 - CLEW_EDGE_TYPE_COUNT)

static int add_type(struct back *back, const char *name, uint8_t *ret_type)
{
	struct vector *own = &back->trace->own_types;
	char *copy;

	*ret_type = CLEW_EDGE_WAKE;
	if (own->count == MOST_OWN_TYPES)
		return 0;
	copy = arena_copy(&back->trace->arena, name, strlen(name));
	if (!copy || vector_reserve(own, own->count + 1) < 0)
		return -ENOMEM;
	*ret_type = (uint8_t)(CLEW_EDGE_TYPE_COUNT + own->count);
	((const char **)own->data)[own->count++] = copy;
	return 0;
}

static int index_types(struct back *back)
{
	int r = 0;

	back->edge_types = calloc(back->model->type_count + 1ul, 1);
	if (!back->edge_types)
		return -ENOMEM;
	for (uint32_t i = 0; i < back->model->type_count && r == 0; i++) {
		const char *name = clew_model_string(back->model, back->model->types[i]);
		int type = clew_edge_type_from_name(name);

		/* They follow from the announcements and moments. */
		if (i == CLEW_DEPENDENCY_CALL || i == CLEW_DEPENDENCY_RETURN ||
		    type == CLEW_EDGE_SUBMIT)
			back->edge_types[i] = UINT8_MAX;
		else if (type >= 0)
			back->edge_types[i] = (uint8_t)type;
		else
			r = add_type(back, name, &back->edge_types[i]);
	}
	return r;
}

/* From the earliest moment of any root span to the latest. */
static int find_extent(struct back *back, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct clew_model *model = back->model;
	clew_time start = INT64_MAX, end = 0;

	for (uint32_t i = model->first_root; i != CLEW_NONE; i = model->spans[i].next_sibling) {
		start = model->spans[i].start < start ? model->spans[i].start : start;
		end = model->spans[i].end > end ? model->spans[i].end : end;
	}
	if (model->first_root == CLEW_NONE)
		start = 0;
	if (start < 0)
		return back_fail(back,
				 "it begins before 0, where threads cannot run: shift its times");
	*ret_start = (uint64_t)start;
	*ret_end = (uint64_t)end;
	return 0;
}

static void done(struct back *back)
{
	free(back->keys);
	free(back->serials);
	free(back->serial_of);
	free(back->is_device);
	free(back->request_of);
	free(back->edge_types);
	free(back->runs);
	free(back->run_begin);
	vector_done(&back->holders);
	vector_done(&back->links);
	vector_done(&back->writers);
	row_done(&back->row);
}

int clew_trace_truth_from_model(const struct clew_model *model, struct clew_trace **ret_trace)
{
	struct back back = {.model = model};
	int r = clew_trace_new(NULL, 0, &back.trace);

	*ret_trace = NULL;
	if (r < 0)
		return r;
	row_init(&back.row);
	r = back_truth(&back);
	row_done(&back.row);
	if (r == 0)
		r = clew_trace_finish(back.trace, back.trace->end);
	if (r == 0 && back.trace->info)
		*ret_trace = back.trace;
	else
		clew_trace_free(back.trace);
	return r == -EINVAL ? 0 : r;
}

int clew_trace_from_model(const struct clew_model *model, const struct clew_trace_options *options,
			  struct clew_trace **ret_trace, char *message, size_t message_size)
{
	struct back back = {
		.model = model,
		.drop_types = options ? options->drop_types : 0,
		.message = message,
		.message_size = message_size,
		.values = {.list = CLEW_NONE},
		.holders.item = sizeof(struct clew_holder),
		.links.item = sizeof(struct clew_link),
		.writers.item = sizeof(uint32_t),
	};
	uint64_t start = 0, end = 0;
	int r;

	row_init(&back.row);
	if (message_size)
		message[0] = 0;
	r = find_extent(&back, &start, &end);
	if (r == 0)
		r = clew_trace_new(options, start, &back.trace);
	if (r < 0)
		return r;
	back.trace->end = end;
	r = index_strings(&back);
	if (r == 0)
		r = index_spans(&back);
	if (r == 0)
		r = index_types(&back);
	if (r == 0)
		r = back_machine(&back);
	if (r == 0)
		r = back_tasks(&back);
	if (r == 0)
		r = back_requests(&back);
	if (r == 0)
		r = back_times(&back);
	if (r == 0)
		r = back_edges(&back);
	if (r == 0)
		r = clew_trace_finish(back.trace, back.trace->end);
	done(&back);
	if (r < 0) {
		clew_trace_free(back.trace);
		return r;
	}
	*ret_trace = back.trace;
	return 0;
}
