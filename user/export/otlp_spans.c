/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The spans of an operation. Its waits are children of it. A wait's children are what those did
 * meanwhile that it waited for, waits of their own included. So the children of each span follow
 * each other within it, and whoever walks from a span's end to the child that ends last finds the
 * path that `clew why` tells. A wait has a link to the child that ended it.
 *
 * Receivers take traces of a limited size. In an operation with more spans, short segments that
 * follow each other are one span, within the waits that all of them belong to.
 */
#include "export/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "export/causes.h"
#include "format/text.h"
#include "words/beside.h"
#include "words/functions.h"
#include "words/hops.h"
#include "words/link.h"
#include "words/segment_text.h"
#include "words/short_name.h"

#define ALSO_MOST 8
#define SUMS_MOST 5   /* causes that a span of several steps names */
#define DEEPEST	  256 /* waits for waits; what is behind them is told of the last */

/* A wait that the next segments may belong to, too. */
struct level {
	uint32_t task;
	const struct clew_sleep *sleep; /* NULL: unknown */
	size_t span;
	size_t cause; /* the child that is there last */
	struct clew_hop_via via;
};

struct building {
	struct otlp *otlp;
	uint64_t seed;
	struct level levels[DEEPEST];
	uint32_t depth;
	size_t root;
	uint64_t least; /* ns; shorter segments share a span with their neighbours */
};

/* ---- ids ---- */

/* One step of splitmix64. */
static uint64_t mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* The same for each export of an operation, and unlike all others'. */
static uint64_t seed_of(const struct clew_trace *trace, const struct clew_operation *operation)
{
	const struct clew_trace_task *task = clew_trace_task(trace, operation->task);
	const struct clew_capture_info *info = clew_trace_info(trace);
	uint64_t seed = hash_text(HASH_SEED, clew_trace_meta(trace, "host") ?: "");

	seed = mix(seed ^ (info && info->clock_count ? info->clocks[0].wall : 0));
	seed = mix(seed ^ clew_trace_start(trace));
	seed = mix(seed ^ operation->from);
	seed = mix(seed ^ operation->to);
	return mix(seed ^ (task ? task->tid : 0));
}

static uint64_t span_id(const struct building *building, size_t number)
{
	return mix(building->seed ^ mix(number)) ?: 1;
}

/* Times of one operation are by one reading of the clocks: spans stay within their parents. */
static uint64_t wall_of(const struct clew_trace *trace, uint64_t at)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	size_t i = info ? info->clock_count : 0;

	while (i > 1 && info->clocks[i - 1].monotonic > at)
		i--;
	return i ? info->clocks[i - 1].wall - info->clocks[i - 1].monotonic : 0;
}

/* ---- spans ---- */

static struct otlp_span *span_at(const struct building *building, size_t index)
{
	return (struct otlp_span *)building->otlp->spans.data + index;
}

static int add_span(struct building *building, size_t parent, uint32_t task, const char *name,
		    uint64_t start, uint64_t end, size_t *ret_index)
{
	struct otlp *otlp = building->otlp;
	const struct clew_trace *trace = otlp->export->trace;
	const struct clew_trace_task *of = clew_trace_task(trace, task);
	const char *copy = arena_copy(&otlp->arena, name, strlen(name));
	struct otlp_span *span;
	char comm[CLEW_COMM_SIZE + 1];
	int r;

	if (!copy || vector_reserve(&otlp->spans, otlp->spans.count + 1) < 0)
		return -ENOMEM;
	*ret_index = otlp->spans.count++;
	span = span_at(building, *ret_index);
	*span = (struct otlp_span){
		.id = span_id(building, *ret_index),
		.parent = *ret_index ? span_at(building, parent)->id : 0,
		.start = start + otlp->wall,
		.end = end + otlp->wall,
		.process = clew_trace_process(trace, task),
		.kind = OTLP_INTERNAL,
		.name = copy,
	};
	r = otlp_add_number(otlp, &span->attributes, "thread.id", of ? of->tid : 0);
	snprintf(comm, sizeof(comm), "%.*s", CLEW_COMM_SIZE,
		 clew_trace_comm_at(trace, task, end > start ? end - 1 : start));
	return r < 0 ? r : otlp_add_text(otlp, &span->attributes, "thread.name", comm);
}

/* Further requests that had to complete before the wait could end; they are no spans. */
static int add_also(struct building *building, struct otlp_list *list,
		    const struct clew_sleep *sleep)
{
	unsigned count = sleep->edge_type == CLEW_EDGE_REQUEST ? sleep->and_count : 0;
	struct object_description description;
	struct clew_object object;
	char *text = NULL;
	size_t size;
	FILE *out = count ? open_memstream(&text, &size) : NULL;
	int r = 0;

	for (unsigned i = 0; out && i < count && i < ALSO_MOST; i++) {
		object = clew_link_object(&sleep->links[sleep->link_count + i]);
		object_describe(building->otlp->export->trace, &object, NULL, &description);
		fprintf(out, "%s%s", i ? "; " : "", description.name);
	}
	if (out && count > ALSO_MOST)
		fprintf(out, "; %u more", count - ALSO_MOST);
	if (count && (!out || fclose(out) != 0))
		r = -ENOMEM;
	if (r >= 0)
		r = otlp_add_text(building->otlp, list, "clew.also", text);
	free(text);
	return r;
}

static int add_sleep(struct building *building, struct otlp_list *list,
		     const struct clew_sleep *sleep)
{
	struct otlp *otlp = building->otlp;
	struct object_description object;
	char name[EXPORT_TASK_SIZE];
	int r = 0;

	if (object_describe_then(otlp->export->trace, &sleep->object, sleep, sleep->start, &object))
		r = otlp_add_text(otlp, list, "clew.object", object.name);
	if (r >= 0)
		r = otlp_add_text(otlp, list, "clew.call", clew_call_name(sleep->call));
	for (uint32_t i = 0; r >= 0 && i < sleep->holder_count; i++)
		if (!sleep->holders[i].coming) {
			export_task_name(otlp->export->trace, sleep->holders[i].task,
					 sleep->holders[i].from, name);
			r = otlp_add_text(otlp, list, "clew.holder", name);
			break;
		}
	if (r >= 0)
		r = add_also(building, list, sleep);
	if (r >= 0 && sleep->blind)
		r = otlp_add_text(otlp, list, "clew.blind", sleep->hidden ? "hidden" : "lost");
	return r;
}

static int add_via(struct building *building, struct otlp_list *list, struct clew_hop_via via)
{
	struct otlp *otlp = building->otlp;
	int r;

	if (via.type < 0)
		return 0;
	r = otlp_add_text(otlp, list, "clew.type",
			  clew_trace_type_name(otlp->export->trace, (unsigned)via.type));
	return r < 0 ? r
		     : otlp_add_text(otlp, list, "clew.evidence", clew_evidence_name(via.evidence));
}

/* Ends the waits from a depth on, at a moment. */
static void close_levels(struct building *building, uint32_t depth, uint64_t at)
{
	const struct otlp *otlp = building->otlp;

	for (; building->depth > depth; building->depth--) {
		const struct level *level = &building->levels[building->depth - 1];
		struct otlp_span *span = span_at(building, level->span);

		span->end = at + otlp->wall;
		if (level->via.type < 0)
			continue;
		span->cause = span_at(building, level->cause)->id;
		span->cause_type =
			clew_trace_type_name(otlp->export->trace, (unsigned)level->via.type);
		span->cause_evidence = clew_evidence_name(level->via.evidence);
	}
}

/* The number of tasks that wait: a task whose own request is in a device waits for it. */
static uint32_t depth_of(const struct clew_segment *segment)
{
	uint32_t depth = segment->link ? segment->chain_length : clew_hop_count(segment);

	return depth < DEEPEST ? depth : DEEPEST;
}

static size_t parent_at(const struct building *building, uint32_t depth)
{
	return depth ? building->levels[depth - 1].span : building->root;
}

static int open_level(struct building *building, const struct clew_segment *segment, uint32_t place,
		      const struct clew_sleep *sleep)
{
	struct level *level = &building->levels[place];
	const char *kind = clew_wait_kind_name(sleep ? sleep->kind : CLEW_WAIT_UNKNOWN);
	struct otlp_list *list;
	int r;

	*level = (struct level){.task = segment->chain[place], .sleep = sleep};
	r = add_span(building, parent_at(building, place), level->task, kind, segment->start,
		     segment->end, &level->span);
	if (r < 0)
		return r;
	list = &span_at(building, level->span)->attributes;
	r = otlp_add_text(building->otlp, list, "clew.kind", kind);
	if (r >= 0 && sleep)
		r = add_sleep(building, list, sleep);
	if (r >= 0 && place)
		r = add_via(building, list, segment->vias[place]);
	building->depth = place + 1;
	return r;
}

/* Closes the waits that are over, and opens those that begin with a segment, down to a depth. */
static int go_to(struct building *building, const struct clew_segment *segment, uint32_t depth)
{
	const struct clew_trace *trace = building->otlp->export->trace;
	uint32_t same = 0;
	int r = 0;

	while (same < depth && same < building->depth &&
	       building->levels[same].task == segment->chain[same] &&
	       building->levels[same].sleep == clew_hop_sleep(trace, segment, same))
		same++;
	close_levels(building, same, segment->start);
	for (uint32_t i = same; i < depth && r >= 0; i++)
		r = open_level(building, segment, i, clew_hop_sleep(trace, segment, i));
	return r;
}

static int add_text(struct building *building, struct otlp_list *list,
		    const struct clew_segment *segment)
{
	const struct clew_export *export = building->otlp->export;
	struct clew_beside beside;
	char *text;
	int r = clew_beside_find(export->trace, &segment, 1, &beside);

	if (r < 0)
		return r;
	text = clew_segment_text(export->trace, export->relations, segment, &beside);
	r = text ? otlp_add_text(building->otlp, list, "clew.text", text) : -ENOMEM;
	free(text);
	return r;
}

/* Each wait is ended by what is there last. */
static void set_causes(struct building *building, const struct clew_segment *last, size_t leaf)
{
	for (uint32_t i = 0; i < building->depth; i++) {
		struct level *level = &building->levels[i];

		level->cause = i + 1 < building->depth ? building->levels[i + 1].span : leaf;
		level->via = clew_hop_via_behind(last, i);
	}
}

static int add_segment(struct building *building, const struct clew_segment *segment)
{
	struct clew_hop_via via = {segment->via_type, segment->via_evidence};
	const char *kind = clew_wait_kind_name(segment->kind);
	struct otlp *otlp = building->otlp;
	char name[CLEW_SHORT_NAME_SIZE];
	struct otlp_list *list;
	size_t leaf;
	int r = go_to(building, segment, depth_of(segment));

	if (r >= 0)
		r = add_span(building, parent_at(building, building->depth), segment->task, kind,
			     segment->start, segment->end, &leaf);
	if (r < 0)
		return r;
	list = &span_at(building, leaf)->attributes;
	clew_segment_short_name(otlp->export->trace, segment, name);
	r = otlp_add_text(otlp, list, "clew.kind", kind);
	if (r >= 0)
		r = otlp_add_text(otlp, list, "clew.what", name);
	if (r >= 0)
		r = add_text(building, list, segment);
	if (r >= 0 && segment->sleep && segment->task == segment->sleep->task && !segment->link)
		r = add_sleep(building, list, segment->sleep);
	if (r >= 0)
		r = add_via(building, list, via);
	set_causes(building, segment, leaf);
	return r;
}

/* ---- short segments that share a span ---- */

/* The waits that all of the segments belong to. */
static uint32_t common_depth(const struct clew_trace *trace, const struct clew_segment *segments,
			     size_t count)
{
	uint32_t depth = depth_of(&segments[0]);

	for (size_t i = 1; i < count; i++) {
		uint32_t other = depth_of(&segments[i]), same = 0;

		while (same < depth && same < other &&
		       segments[i].chain[same] == segments[0].chain[same] &&
		       clew_hop_sleep(trace, &segments[i], same) ==
			       clew_hop_sleep(trace, &segments[0], same))
			same++;
		depth = same;
	}
	return depth;
}

static void print_sums(FILE *out, const struct clew_trace *trace,
		       const struct export_causes *causes)
{
	const struct export_cause *list = causes->list.data;
	char task[EXPORT_TASK_SIZE];

	for (size_t i = 0; i < causes->list.count && i < SUMS_MOST; i++) {
		export_task_name(trace, list[i].first->task, list[i].first->start, task);
		fprintf(out, "%s%s %s %s (%zu step%s)", i ? "; " : "", CLEW_DURATION(list[i].ns),
			task, list[i].what, list[i].steps, list[i].steps == 1 ? "" : "s");
	}
	if (causes->list.count > SUMS_MOST)
		fprintf(out, "; and %zu more", causes->list.count - SUMS_MOST);
}

/* The sum of each cause among short segments. */
static int add_sums(struct building *building, struct otlp_list *list,
		    const struct clew_segment *segments, size_t count)
{
	const struct clew_trace *trace = building->otlp->export->trace;
	struct export_causes causes = {};
	char *text = NULL;
	size_t size, index;
	FILE *out = open_memstream(&text, &size);
	int r = out ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = export_causes_add(&causes, trace, &segments[i], &index);
	export_causes_sort(&causes);
	if (r >= 0)
		print_sums(out, trace, &causes);
	if (out && fclose(out) != 0 && r >= 0)
		r = -ENOMEM;
	if (r >= 0)
		r = otlp_add_text(building->otlp, list, "clew.text", text);
	export_causes_done(&causes);
	free(text);
	return r;
}

static int add_folded(struct building *building, const struct clew_segment *segments, size_t count)
{
	const struct clew_segment *first = &segments[0], *last = &segments[count - 1];
	struct otlp *otlp = building->otlp;
	struct otlp_list *list;
	uint32_t depth = common_depth(otlp->export->trace, segments, count);
	char name[64];
	size_t leaf;
	int r = go_to(building, first, depth);

	snprintf(name, sizeof(name), "%zu short steps", count);
	if (r >= 0)
		r = add_span(building, parent_at(building, building->depth), first->task, name,
			     first->start, last->end, &leaf);
	if (r < 0)
		return r;
	list = &span_at(building, leaf)->attributes;
	r = otlp_add_number(otlp, list, "clew.steps", (int64_t)count);
	if (r >= 0)
		r = add_sums(building, list, segments, count);
	if (r >= 0 && depth)
		r = add_via(building, list, clew_hop_via_behind(last, depth - 1));
	set_causes(building, last, leaf);
	return r;
}

/* The number of segments from the one at `i` on that share a span. At least 1. */
static size_t sharing(const struct building *building, const struct clew_why *why, size_t i)
{
	size_t end = i;

	while (end < why->segment_count &&
	       clew_segment_length(&why->segments[end]) < building->least)
		end++;
	return end > i ? end - i : 1;
}

static int add_segments(struct building *building, const struct clew_why *why)
{
	size_t count;
	int r = 0;

	for (size_t i = 0; i < why->segment_count && r >= 0; i += count) {
		count = sharing(building, why, i);
		r = count > 1 ? add_folded(building, &why->segments[i], count)
			      : add_segment(building, &why->segments[i]);
	}
	close_levels(building, 0, why->to);
	return r;
}

/* ---- the operation ---- */

static void name_operation(const struct clew_export *export, const struct clew_operation *operation,
			   char *buffer, size_t size)
{
	if (operation->activity)
		snprintf(buffer, size, "%s.%s", operation->activity->interface,
			 operation->activity->operation);
	else if (operation->frame)
		snprintf(buffer, size, "%s",
			 clew_function_name(export->trace, operation->frame->function));
	else if (operation->wait)
		snprintf(buffer, size, "%s",
			 clew_call_name(operation->wait->call)
				 ?: clew_wait_kind_name(operation->wait->kind));
	else if (operation->connection.kind)
		otlp_name_request(export->trace, operation, buffer, size);
	else
		snprintf(buffer, size, "%.*s", CLEW_COMM_SIZE,
			 clew_trace_comm_at(export->trace, operation->task, operation->from));
}

/* The capture's own times, with which `clew why` finds the operation, and what is not known. */
static int describe_operation(struct building *building, const struct clew_operation *operation,
			      const struct clew_why *why)
{
	struct otlp *otlp = building->otlp;
	struct otlp_list *list = &span_at(building, building->root)->attributes;
	const struct clew_activity *activity = operation->activity;
	size_t folded = 0, count;
	int r = otlp_add_number(otlp, list, "clew.from", (int64_t)operation->from);

	for (size_t i = 0; i < why->segment_count; i += count) {
		count = sharing(building, why, i);
		folded += count > 1 ? count : 0;
	}
	if (r >= 0)
		r = otlp_add_number(otlp, list, "clew.to", (int64_t)operation->to);
	if (r >= 0)
		r = otlp_add_endpoint(otlp, list, operation);
	span_at(building, building->root)->kind = otlp_kind_of(operation);
	if (r >= 0 && folded)
		r = otlp_add_number(otlp, list, "clew.folded_steps", (int64_t)folded);
	if (r >= 0 && why->unknown_ns)
		r = otlp_add_number(otlp, list, "clew.unknown_ns", (int64_t)why->unknown_ns);
	if (r >= 0 && why->gap_count)
		r = otlp_add_number(otlp, list, "clew.losses", (int64_t)why->gap_count);
	for (unsigned i = 0;
	     activity && r >= 0 && i < activity->descriptor_count + activity->attribute_count; i++)
		r = otlp_add_text(otlp, list, activity->descriptors[i].type,
				  activity->descriptors[i].value);
	return r;
}

static void set_trace(struct building *building, const char *announced)
{
	struct otlp *otlp = building->otlp;
	uint64_t parent = 0;

	if (announced && otlp_read_parent(announced, otlp->trace, &parent)) {
		span_at(building, building->root)->parent = parent;
		return;
	}
	for (unsigned i = 0; i < OTLP_TRACE_SIZE; i++)
		otlp->trace[i] = (uint8_t)(mix(building->seed + 1 + i / 8) >> 8 * (i % 8));
	otlp->trace[0] |= 1;
}

static void clear(struct otlp *otlp)
{
	const struct clew_export *export = otlp->export;
	uint64_t wall = otlp->wall;

	otlp_done(otlp);
	*otlp = (struct otlp){.export = export,
			      .wall = wall,
			      .spans.item = sizeof(struct otlp_span),
			      .attributes.item = sizeof(struct otlp_attribute)};
}

/* The trace with segments of `least` ns and more as spans of their own. */
static int build(struct otlp *otlp, const struct clew_operation *operation,
		 const struct clew_why *why, uint64_t least)
{
	const struct clew_export *export = otlp->export;
	struct building building = {
		.otlp = otlp, .seed = seed_of(export->trace, operation), .least = least};
	char name[256];
	int r;

	clear(otlp);
	name_operation(export, operation, name, sizeof(name));
	r = add_span(&building, 0, operation->task, name, operation->from, operation->to,
		     &building.root);
	if (r >= 0)
		r = describe_operation(&building, operation, why);
	if (r >= 0)
		set_trace(&building, otlp_parent_of(export, operation));
	if (r >= 0)
		r = add_segments(&building, why);
	return r;
}

int otlp_build(const struct clew_export *export, const struct clew_operation *operation,
	       struct otlp *otlp)
{
	size_t own = export->most / 2;
	struct clew_why why = {};
	uint64_t least = 0;
	int r;

	*otlp = (struct otlp){.export = export, .wall = wall_of(export->trace, operation->from)};
	r = clew_why_operation(export->trace, export->relations, operation, &why);
	if (r >= 0 && why.segment_count > export->most)
		r = export_least_length(&why, own, &least);
	if (r >= 0)
		r = build(otlp, operation, &why, least);
	/* Waits around segments are spans, too. */
	while (r >= 0 && otlp->spans.count > export->most && own) {
		own = own * 3 / 4;
		r = export_least_length(&why, own, &least);
		if (r >= 0)
			r = build(otlp, operation, &why, least);
	}
	clew_why_done(&why);
	return r;
}

void otlp_done(struct otlp *otlp)
{
	vector_done(&otlp->spans);
	vector_done(&otlp->attributes);
	arena_done(&otlp->arena);
}
