/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts a capture's trace to a causal trace. A maker makes spans, categories
 * and attributes; ESs are written as arrays, as all their boundaries are known.
 */
#include "convert/to_model.h"
#include <errno.h>
#include <stdlib.h>

static int begin(struct conversion *conversion, const struct clew_trace *trace)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	int r;

	*conversion = (struct conversion){
		.trace = trace,
		.names.item = sizeof(const char *),
		.es.item = sizeof(struct clew_es),
		.marks.item = sizeof(struct clew_mark),
		.waits.item = sizeof(struct clew_model_wait),
		.ranges.item = sizeof(struct clew_range),
		.dependencies.item = sizeof(struct clew_dependency),
		.origins.item = sizeof(uint32_t),
		.destinations.item = sizeof(uint32_t),
		.triggers.item = sizeof(struct trigger),
		.has_marks.item = 1,
	};
	pairs_init(&conversion->pairs);
	conversion->sleeps = clew_trace_sleeps(trace, &conversion->sleep_count);
	conversion->requests = clew_trace_requests(trace, &conversion->request_count);
	conversion->cpu_count = (uint32_t)trace->cpu_count;
	if (info && info->cpus > conversion->cpu_count && info->cpus < CLEW_STREAM_USER)
		conversion->cpu_count = info->cpus;
	if (conversion->cpu_count == 0)
		conversion->cpu_count = 1;
	for (unsigned i = 0; i < sizeof(conversion->types) / sizeof(conversion->types[0]); i++)
		conversion->types[i] = CLEW_NONE;
	conversion->end = trace->end;
	for (size_t cpu = 0; cpu < trace->cpu_count; cpu++) {
		const struct numbers *runs = &trace->cpus[cpu];
		const struct clew_run *last = runs->count
						      ? (const struct clew_run *)trace->runs.data +
								runs->data[runs->count - 1]
						      : NULL;

		if (last && last->end > conversion->end)
			conversion->end = last->end;
	}
	if (conversion->request_count > CLEW_NONE / 2)
		return -E2BIG;
	r = clew_maker_new(&conversion->maker);
	if (r == 0)
		r = clew_maker_hierarchy(conversion->maker, "processes", &conversion->processes);
	if (r == 0)
		r = clew_maker_hierarchy(conversion->maker, "cpus", &conversion->cpus);
	return r < 0 ? r : clew_maker_hierarchy(conversion->maker, "devices", &conversion->devices);
}

static void done(struct conversion *conversion)
{
	clew_maker_free(conversion->maker);
	pairs_done(&conversion->pairs);
	arena_done(&conversion->arena);
	vector_done(&conversion->names);
	map_done(&conversion->strangers);
	vector_done(&conversion->es);
	vector_done(&conversion->marks);
	vector_done(&conversion->waits);
	vector_done(&conversion->ranges);
	vector_done(&conversion->dependencies);
	vector_done(&conversion->origins);
	vector_done(&conversion->destinations);
	vector_done(&conversion->triggers);
	vector_done(&conversion->has_marks);
	vector_done(&conversion->device_extents);
	vector_done(&conversion->wait_shapes.shapes);
	vector_done(&conversion->edge_shapes.shapes);
	map_done(&conversion->wait_shapes.index);
	map_done(&conversion->edge_shapes.index);
	map_done(&conversion->wait_index);
	vector_done(&conversion->frame_plans);
	vector_done(&conversion->left_out);
	free(conversion->plan_begin);
	free(conversion->touches);
	free(conversion->announcements);
	free(conversion->moments);
	free(conversion->end_sleepers);
	free(conversion->end_holders);
	free(conversion->endpoints);
	free(conversion->endpoint_begin);
	free(conversion->sleep_dependency);
	free(conversion->dependency_edge);
	capture_calls_done(conversion);
}

static int make_names(struct conversion *conversion)
{
	int r = capture_make_spans(conversion);

	if (r == 0)
		r = capture_make_cpu_spans(conversion);
	if (r == 0)
		r = capture_make_device_spans(conversion);
	if (r == 0 && vector_reserve(&conversion->ranges, conversion->span_count) < 0)
		r = -ENOMEM;
	return r;
}

static int make_unknown_wait(struct conversion *conversion)
{
	uint32_t attributes;
	int r;

	pairs_add(&conversion->pairs, ATTRIBUTE_KNOWN, "nothing");
	r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
	return r < 0 ? r
		     : capture_wait_row(conversion, CLEW_WAIT_UNKNOWN, attributes,
					&conversion->unknown_wait);
}

/* Replaces the spans and attribute lists in labels by strings. */
static void resolve_labels(struct conversion *conversion, const struct clew_model *like)
{
	struct clew_mark *marks = conversion->marks.data;

	for (size_t i = 0; i < conversion->marks.count; i++) {
		if (marks[i].label & LABEL_OF_LIST)
			marks[i].label = like->attributes[like->attribute_lists[marks[i].label &
										~LABEL_OF_LIST]]
						 .value;
		else
			marks[i].label = like->spans[marks[i].label].name;
	}
}

static int put_together(struct conversion *conversion, const struct clew_model *like,
			struct clew_model **ret_model)
{
	struct clew_span *spans = malloc((conversion->span_count + 1ul) * sizeof(*spans));
	struct clew_model arrays = {
		.es = conversion->es.data,
		.spans = spans,
		.dependencies = conversion->dependencies.data,
		.origins = conversion->origins.data,
		.destinations = conversion->destinations.data,
		.marks = conversion->marks.data,
		.waits = conversion->waits.data,
		.es_count = (uint32_t)conversion->es.count,
		.span_count = conversion->span_count,
		.dependency_count = (uint32_t)conversion->dependencies.count,
		.origin_count = (uint32_t)conversion->origins.count,
		.destination_count = (uint32_t)conversion->destinations.count,
		.mark_count = (uint32_t)conversion->marks.count,
		.wait_count = (uint32_t)conversion->waits.count,
	};
	int r;

	if (!spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < conversion->span_count; i++) {
		spans[i] = like->spans[i];
		spans[i].elementary = ((const struct clew_range *)conversion->ranges.data)[i];
	}
	r = clew_model_from_arrays(like, &arrays, ret_model);
	free(spans);
	return r;
}

int clew_model_from_trace(const struct clew_trace *trace, struct clew_model **ret_model)
{
	return clew_model_with_frames(trace, CLEW_FRAMES_MOST, ret_model);
}

int clew_model_with_frames(const struct clew_trace *trace, size_t most_frames,
			   struct clew_model **ret_model)
{
	struct conversion conversion;
	struct clew_model *like = NULL;
	int r = begin(&conversion, trace);

	if (r == 0)
		r = capture_plan_frames(&conversion, most_frames);
	if (r == 0)
		r = make_names(&conversion);
	if (r == 0)
		r = make_unknown_wait(&conversion);
	if (r == 0)
		r = capture_find_calls(&conversion);
	if (r == 0)
		r = capture_make_edges(&conversion);
	if (r == 0)
		r = capture_emit_threads(&conversion);
	if (r == 0)
		r = capture_emit_cpus(&conversion);
	if (r == 0)
		r = capture_emit_devices(&conversion);
	if (r == 0)
		r = capture_finish_edges(&conversion);
	if (r == 0)
		r = capture_nest_frames(&conversion);
	if (r == 0)
		r = clew_maker_finish(conversion.maker, &like);
	if (r == 0) {
		resolve_labels(&conversion, like);
		r = put_together(&conversion, like, ret_model);
		clew_model_free(like);
	}
	done(&conversion);
	return r;
}
