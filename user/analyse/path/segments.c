/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where every unit of a path's time went. Segments are made from the start on, each
 * begins where the last one ended: none can be missing and none can overlap.
 */
#include <clew/tokens.h>

#include "analyse/path/internal.h"

struct cutter {
	const struct clew_model *model;
	uint32_t devices; /* a hierarchy, CLEW_NONE none */
	uint32_t root;	  /* the last one looked at */
	bool root_is_device;
	clew_time at, end;
	struct clew_path_segment *segments;
	size_t count, capacity;
};

static const struct clew_path_segment NOTHING = {.es = CLEW_NONE,
						 .span = CLEW_NONE,
						 .dependency = CLEW_NONE,
						 .attributes = CLEW_NONE,
						 .child = CLEW_NONE};

/* A segment from where the last one ended to `until`. */
static int cut(struct cutter *cutter, clew_time until, struct clew_path_segment segment)
{
	if (until > cutter->end)
		until = cutter->end;
	if (until <= cutter->at)
		return 0;
	if (cutter->count == cutter->capacity) {
		size_t capacity = cutter->capacity ? 2 * cutter->capacity : 16;
		struct clew_path_segment *grown =
			reallocarray(cutter->segments, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		cutter->segments = grown;
		cutter->capacity = capacity;
	}
	segment.start = cutter->at;
	segment.end = cutter->at = until;
	cutter->segments[cutter->count++] = segment;
	return 0;
}

/* True if a span is a request: what runs there is the device. */
static bool on_device(struct cutter *cutter, uint32_t span)
{
	if (cutter->devices == CLEW_NONE)
		return false;
	while (cutter->model->spans[span].parent != CLEW_NONE)
		span = cutter->model->spans[span].parent;
	if (span != cutter->root) {
		cutter->root = span;
		cutter->root_is_device =
			clew_model_category_of(cutter->model, span, cutter->devices) != CLEW_NONE;
	}
	return cutter->root_is_device;
}

static int cut_running(struct cutter *cutter, uint32_t es, bool on_path)
{
	struct clew_path_segment segment = NOTHING;

	segment.kind = CLEW_SEGMENT_RUNNING;
	segment.span = cutter->model->es[es].span;
	if (on_device(cutter, segment.span)) {
		segment.kind = CLEW_SEGMENT_DEVICE;
		segment.attributes = cutter->model->spans[segment.span].attributes;
	}
	segment.es = es;
	segment.on_path = on_path;
	return cut(cutter, cutter->model->es[es].end, segment);
}

/* From when an ES was ready until its start, because of a dependency. */
static int cut_delay(struct cutter *cutter, uint32_t es, uint32_t dependency)
{
	struct clew_path_segment segment = NOTHING;

	segment.kind = CLEW_SEGMENT_RUNQUEUE;
	segment.span = cutter->model->es[es].span;
	segment.es = es;
	segment.dependency = dependency;
	return cut(cutter, cutter->model->es[es].start, segment);
}

/* The gap before an ES: a wait until its dependency came, and after that the delay. */
static int cut_gap(struct cutter *cutter, uint32_t es)
{
	const struct clew_model *model = cutter->model;
	uint32_t trigger = usable_trigger(model, es), wait = model->es[es].wait;
	clew_time ready = gap_ready(model, es);
	struct clew_path_segment segment = NOTHING;
	int r;

	segment.kind = CLEW_WAIT_UNKNOWN;
	segment.span = model->es[es].span;
	segment.es = es;
	if (wait != CLEW_NONE) {
		segment.kind = model->waits[wait].kind;
		segment.attributes = model->waits[wait].attributes;
		if (on_device(cutter, segment.span))
			segment.attributes = model->spans[segment.span].attributes;
	} else if (trigger != CLEW_NONE &&
		   model->dependencies[model->es[es].in].type == CLEW_DEPENDENCY_RETURN) {
		segment.kind = CLEW_WAIT_OTHER;
		segment.child = model->es[trigger].span;
	}
	if (segment.kind == CLEW_SEGMENT_RUNQUEUE)
		ready = model->es[es].start;
	r = cut(cutter, ready, segment);
	return r < 0 ? r
		     : cut_delay(cutter, es, trigger == CLEW_NONE ? CLEW_NONE : model->es[es].in);
}

/* Up to an ES, nothing is known. */
static int cut_unknown(struct cutter *cutter, uint32_t es)
{
	struct clew_path_segment segment = NOTHING;

	segment.kind = CLEW_WAIT_UNKNOWN;
	segment.span = cutter->model->es[es].span;
	segment.es = es;
	return cut(cutter, cutter->model->es[es].start, segment);
}

/* The segment of an ES's span until the ES started; `dependency` led to it, CLEW_NONE none. */
static int cut_before(struct cutter *cutter, uint32_t es, uint32_t dependency)
{
	const struct clew_model *model = cutter->model;
	uint32_t at = es;
	int r = 0;

	while (!clew_model_is_first(model, at) && model->es[at - 1].end > cutter->at)
		at--;
	for (; at < es && r == 0; at++) {
		if (!clew_model_is_first(model, at))
			r = cut_gap(cutter, at);
		else if (dependency != CLEW_NONE)
			r = cut_delay(cutter, at, dependency);
		else
			r = cut_unknown(cutter, at);
		if (r == 0)
			r = cut_running(cutter, at, false);
	}
	if (r < 0)
		return r;
	if (dependency != CLEW_NONE)
		return cut_delay(cutter, es, dependency);
	return clew_model_is_first(model, es) ? cut_unknown(cutter, es) : cut_gap(cutter, es);
}

int clew_path_segments(const struct clew_model *model, const struct clew_path *path,
		       struct clew_path_segment **ret_segments, size_t *ret_count)
{
	struct cutter cutter = {.model = model,
				.devices = hierarchy_named(model, "devices"),
				.root = CLEW_NONE,
				.at = path->start,
				.end = path->end};
	int r = 0;

	for (uint32_t i = 0; i < path->count && r == 0; i++) {
		uint32_t es = path->es[i], dependency;

		if (i) {
			if (!clew_model_is_first(model, es) && es - 1 == path->es[i - 1]) {
				r = cut_gap(&cutter, es);
			} else {
				dependency = model->es[es].in;
				if (dependency != CLEW_NONE &&
				    model->es[path->es[i - 1]].out != dependency)
					dependency = CLEW_NONE;
				r = cut_before(&cutter, es, dependency);
			}
		} else {
			r = cut_delay(&cutter, es, model->es[es].in);
		}
		if (r == 0)
			r = cut_running(&cutter, es, true);
	}
	if (r < 0) {
		free(cutter.segments);
		return r;
	}
	*ret_segments = cutter.segments;
	*ret_count = cutter.count;
	return 0;
}

const char *clew_path_segment_object(const struct clew_model *model,
				     const struct clew_path_segment *segment)
{
	if (segment->kind == CLEW_WAIT_FAULT || segment->kind == CLEW_WAIT_STOPPED)
		return NULL;
	return clew_model_attribute(model, segment->attributes, "object");
}
