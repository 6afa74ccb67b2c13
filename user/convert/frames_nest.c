/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the planned frames spans: the ESs of a thread are divided where it enters and leaves a
 * function, and those in between become the function's. A call leads from the caller's ES to
 * the first one of the function, a return from its last one to the caller's next.
 *
 * A return is there for every frame, however it closed: an analysis that begins at the end of a
 * thread has to find the functions that it ended in. Calls and returns are the first
 * dependencies, as notation makes them.
 */
#include "convert/to_model.h"
#include <clew/tokens.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An ES of the nested model. */
struct part {
	struct clew_es es;	/* in, out: of a call or return; others follow from the next two */
	uint32_t in_es, out_es; /* the ES whose `in` or `out` it has; CLEW_NONE none */
	uint32_t first_mark, mark_count;
};

struct nest {
	struct conversion *conversion;
	const struct clew_es *source;
	uint32_t at, last;  /* the ES of the thread that is being divided, and its last one */
	uint32_t next_mark; /* of that ES */
	struct part part;   /* that is open */
	struct vector parts;
	struct vector open; /* uint32_t, plans of frames that are open, outermost first */
	uint32_t thread;
};

static struct frame_plan *plan_at(const struct conversion *conversion, uint32_t number)
{
	return (struct frame_plan *)conversion->frame_plans.data + number;
}

static uint32_t span_of_plan(const struct conversion *conversion, uint32_t plan)
{
	return conversion->span_count + plan;
}

static uint32_t innermost(const struct nest *nest)
{
	const uint32_t *open = nest->open.data;

	return nest->open.count ? open[nest->open.count - 1] : CLEW_NONE;
}

/* Where the marks of a source ES end. */
static uint32_t marks_end(const struct nest *nest, uint32_t number)
{
	return number + 1 < nest->conversion->es.count ? nest->source[number + 1].mark
						       : (uint32_t)nest->conversion->marks.count;
}

/* Ends the open part at a moment; marks until then are its own. */
static int end_part(struct nest *nest, uint64_t at, uint32_t out, uint32_t out_es)
{
	const struct clew_mark *marks = nest->conversion->marks.data;
	uint32_t end = marks_end(nest, nest->at), plan = innermost(nest);
	struct part *part = &nest->part;

	if (nest->parts.count >= CLEW_NONE - 1)
		return -E2BIG;
	if (vector_reserve(&nest->parts, nest->parts.count + 1) < 0)
		return -ENOMEM;
	part->es.end = (clew_time)at;
	part->es.out = out;
	part->out_es = out_es;
	part->es.span = plan == CLEW_NONE ? nest->thread : span_of_plan(nest->conversion, plan);
	part->first_mark = nest->next_mark;
	while (nest->next_mark < end &&
	       (out_es != CLEW_NONE || marks[nest->next_mark].at <= (clew_time)at))
		nest->next_mark++;
	part->mark_count = nest->next_mark - part->first_mark;
	((struct part *)nest->parts.data)[nest->parts.count++] = *part;
	return 0;
}

static void begin_source(struct nest *nest, uint32_t number)
{
	const struct clew_es *es = &nest->source[number];

	nest->at = number;
	nest->next_mark = es->mark;
	nest->part = (struct part){
		.es = {.start = es->start, .in = CLEW_NONE, .out = CLEW_NONE, .wait = es->wait},
		.in_es = number,
	};
}

/* Divides the ES at a moment by the origin `out` and the destination `in`; *at moves to where an
 * ES is. `entered`: the plan of the frame that is entered, CLEW_NONE: one is left. */
static int divide(struct nest *nest, uint64_t *at, uint32_t dependency, uint32_t entered)
{
	int r = 0;

	while (r == 0 && nest->at < nest->last && nest->source[nest->at].end < (clew_time)*at) {
		r = end_part(nest, (uint64_t)nest->source[nest->at].end, CLEW_NONE, nest->at);
		begin_source(nest, nest->at + 1);
	}
	if (*at < (uint64_t)nest->part.es.start)
		*at = (uint64_t)nest->part.es.start;
	if (*at > (uint64_t)nest->source[nest->at].end)
		*at = (uint64_t)nest->source[nest->at].end;
	if (r == 0)
		r = end_part(nest, *at, dependency, CLEW_NONE);
	if (r < 0)
		return r;
	if (entered == CLEW_NONE)
		nest->open.count--;
	else
		((uint32_t *)nest->open.data)[nest->open.count++] = entered;
	nest->part = (struct part){
		.es = {.start = (clew_time)*at,
		       .in = dependency,
		       .out = CLEW_NONE,
		       .wait = CLEW_NONE},
		.in_es = CLEW_NONE,
	};
	return 0;
}

static int leave(struct nest *nest)
{
	uint32_t plan = innermost(nest);

	return divide(nest, &plan_at(nest->conversion, plan)->end, 2 * plan + 1, CLEW_NONE);
}

static int enter(struct nest *nest, uint32_t plan)
{
	if (vector_reserve(&nest->open, nest->open.count + 1) < 0)
		return -ENOMEM;
	return divide(nest, &plan_at(nest->conversion, plan)->start, 2 * plan, plan);
}

/* All ESs from `first` on that are those of one span, divided by plans from..to-1. */
static int nest_span(struct nest *nest, struct clew_range range, uint32_t from, uint32_t to)
{
	int r = 0;

	nest->last = range.first + range.count - 1;
	begin_source(nest, range.first);
	for (uint32_t plan = from; plan < to && r == 0; plan++) {
		while (r == 0 && innermost(nest) != plan_at(nest->conversion, plan)->parent)
			r = leave(nest);
		if (r == 0)
			r = enter(nest, plan);
	}
	while (r == 0 && nest->open.count)
		r = leave(nest);
	for (; r == 0; begin_source(nest, nest->at + 1)) {
		r = end_part(nest, (uint64_t)nest->source[nest->at].end, CLEW_NONE, nest->at);
		if (nest->at == nest->last)
			break;
	}
	return r;
}

/* ---- putting the parts together ---- */

/* The new number of the ES that has the `in` or `out` of an old one. */
struct places {
	uint32_t *in, *out;
};

/* Puts the parts of each span behind each other, with their marks. */
static int place_parts(struct nest *nest, uint32_t span_count, struct places *places)
{
	struct conversion *conversion = nest->conversion;
	struct vector ess = {.item = sizeof(struct clew_es)},
		      marks = {.item = sizeof(struct clew_mark)};
	uint32_t *order = calloc(nest->parts.count + 1, sizeof(*order)), sum = 0;
	struct part *parts = nest->parts.data;
	struct clew_range *ranges = conversion->ranges.data;

	if (!order || vector_reserve(&ess, nest->parts.count) < 0 ||
	    vector_reserve(&marks, conversion->marks.count) < 0) {
		free(order);
		vector_done(&ess);
		vector_done(&marks);
		return -ENOMEM;
	}
	memset(ranges, 0, span_count * sizeof(*ranges));
	for (size_t i = 0; i < nest->parts.count; i++)
		ranges[parts[i].es.span].count++;
	for (uint32_t i = 0; i < span_count; i++) {
		ranges[i].first = sum;
		sum += ranges[i].count;
		ranges[i].count = 0;
	}
	for (size_t i = 0; i < nest->parts.count; i++) {
		struct clew_range *range = &ranges[parts[i].es.span];

		order[range->first + range->count++] = (uint32_t)i;
	}
	for (uint32_t number = 0; number < nest->parts.count; number++) {
		const struct part *part = &parts[order[number]];
		struct clew_es es = part->es;
		uint32_t calls = 2 * (uint32_t)conversion->frame_plans.count;

		es.mark = (uint32_t)marks.count;
		if (part->mark_count)
			memcpy((struct clew_mark *)marks.data + marks.count,
			       (const struct clew_mark *)conversion->marks.data + part->first_mark,
			       part->mark_count * sizeof(struct clew_mark));
		marks.count += part->mark_count;
		if (part->in_es != CLEW_NONE) {
			es.in = nest->source[part->in_es].in;
			es.in += es.in == CLEW_NONE ? 0 : calls;
			places->in[part->in_es] = number;
		}
		if (part->out_es != CLEW_NONE) {
			es.out = nest->source[part->out_es].out;
			es.out += es.out == CLEW_NONE ? 0 : calls;
			places->out[part->out_es] = number;
		}
		((struct clew_es *)ess.data)[ess.count++] = es;
	}
	free(order);
	vector_done(&conversion->marks);
	conversion->marks = marks;
	vector_done(&conversion->es);
	conversion->es = ess;
	return 0;
}

/* Puts an array's items behind `room` free ones. */
static int make_room(struct vector *vector, size_t room)
{
	if (vector_reserve(vector, vector->count + room) < 0)
		return -ENOMEM;
	memmove((char *)vector->data + room * vector->item, vector->data,
		vector->count * vector->item);
	vector->count += room;
	return 0;
}

/* Dependencies of calls and returns come first; the others have numbers behind them. */
static int number_dependencies(struct conversion *conversion, const struct places *places)
{
	uint32_t calls = 2 * (uint32_t)conversion->frame_plans.count;
	struct clew_dependency *dependencies;
	uint32_t *origins, *destinations;
	const struct clew_es *es = conversion->es.data;

	origins = conversion->origins.data;
	for (size_t i = 0; i < conversion->origins.count; i++)
		origins[i] = places->out[origins[i]];
	destinations = conversion->destinations.data;
	for (size_t i = 0; i < conversion->destinations.count; i++)
		destinations[i] = places->in[destinations[i]];
	conversion->dependencies.item = sizeof(struct clew_dependency);
	conversion->origins.item = conversion->destinations.item = sizeof(uint32_t);
	if (conversion->dependencies.count >= CLEW_NONE - 1 - calls)
		return -E2BIG;
	if (make_room(&conversion->dependencies, calls) < 0 ||
	    make_room(&conversion->origins, calls) < 0 ||
	    make_room(&conversion->destinations, calls) < 0)
		return -ENOMEM;
	dependencies = conversion->dependencies.data;
	for (size_t i = calls; i < conversion->dependencies.count; i++) {
		dependencies[i].origins.first += calls;
		dependencies[i].destinations.first += calls;
	}
	for (uint32_t i = 0; i < calls; i++)
		dependencies[i] = (struct clew_dependency){
			.type = i % 2 ? CLEW_DEPENDENCY_RETURN : CLEW_DEPENDENCY_CALL,
			.mode = CLEW_MODE_SINGLE,
			.attributes = CLEW_NONE,
			.origins = {i, 1},
			.destinations = {i, 1},
		};
	origins = conversion->origins.data;
	destinations = conversion->destinations.data;
	for (uint32_t i = 0; i < conversion->es.count; i++) {
		if (es[i].out < calls)
			origins[es[i].out] = i;
		if (es[i].in < calls)
			destinations[es[i].in] = i;
	}
	return 0;
}

/* ---- spans ---- */

static void describe_run(struct conversion *conversion, uint32_t number)
{
	const struct clew_jobs *jobs = clew_trace_jobs(conversion->trace);
	uint32_t job = plan_at(conversion, number)->job;

	PAIRS_ROW(&conversion->pairs, ATTRIBUTE_LOGICAL, {job},
		  {.word = clew_job_at(jobs, job)->kind->name});
	capture_describe_left_out(conversion, number);
}

static void describe_frame(struct conversion *conversion, uint32_t number)
{
	const struct clew_trace *trace = conversion->trace;
	const struct clew_trace_frame *frame =
		trace_frame(trace, plan_at(conversion, number)->frame);
	const struct clew_trace_function *function = clew_trace_function(trace, frame->function);
	struct pairs *pairs = &conversion->pairs;

	if (function && function->object[0])
		pairs_add(pairs, ATTRIBUTE_OBJECT, function->object);
	if (frame->closed != CLEW_FRAME_RETURNED)
		pairs_add(pairs, ATTRIBUTE_CLOSED, clew_frame_closed_name(frame->closed));
	if (frame->probe)
		pairs_add_number(pairs, ATTRIBUTE_PROBE, frame->probe);
	if (frame->flags & CLEW_FRAME_INHERITED)
		pairs_add(pairs, ATTRIBUTE_INHERITED, "yes");
	if (frame->flags & CLEW_FRAME_INCLUSIVE)
		pairs_add(pairs, ATTRIBUTE_INCLUSIVE, "yes");
	if (frame->flags & CLEW_FRAME_INFERRED)
		pairs_add(pairs, ATTRIBUTE_INFERRED, "yes");
	capture_describe_left_out(conversion, number);
}

/* The name of a plan's span: the function's, or what the logical span runs. `buffer` is for
 * free(3). NULL: no memory. */
static const char *name_of_plan(const struct conversion *conversion, const struct frame_plan *plan,
				char **buffer)
{
	const struct clew_jobs *jobs = clew_trace_jobs(conversion->trace);
	const struct clew_trace_function *function;
	const struct clew_job *job;

	*buffer = NULL;
	if (plan->frame != CLEW_NONE) {
		function = clew_trace_function(
			conversion->trace, trace_frame(conversion->trace, plan->frame)->function);
		return function ? function->title : "unknown function";
	}
	job = clew_job_at(jobs, plan->job);
	return asprintf(buffer, "%s.%s", job->runtime->name, clew_job_name(jobs, job)) < 0
		       ? (*buffer = NULL)
		       : *buffer;
}

/* Spans of frames come after all others, so that those keep their numbers. */
static int make_spans(struct conversion *conversion)
{
	int r = 0;

	for (uint32_t task = 0; task < conversion->task_count && r == 0; task++) {
		for (uint32_t i = conversion->plan_begin[task];
		     i < conversion->plan_begin[task + 1] && r == 0; i++) {
			const struct frame_plan *plan = plan_at(conversion, i);
			uint32_t span, attributes;
			char *buffer;
			const char *name = name_of_plan(conversion, plan, &buffer);

			r = !name ? -ENOMEM
				  : clew_maker_child_alone(
					    conversion->maker,
					    plan->parent == CLEW_NONE
						    ? task
						    : span_of_plan(conversion, plan->parent),
					    name, (clew_time)plan->start, (clew_time)plan->end,
					    &span);
			free(buffer);
			if (r < 0)
				break;
			if (plan->frame == CLEW_NONE)
				describe_run(conversion, i);
			else
				describe_frame(conversion, i);
			r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
			if (r == 0)
				r = clew_maker_set_span_attributes(conversion->maker, span,
								   attributes);
		}
	}
	return r;
}

int capture_nest_frames(struct conversion *conversion)
{
	uint32_t plans = (uint32_t)conversion->frame_plans.count,
		 spans = conversion->span_count + plans;
	struct nest nest = {.conversion = conversion,
			    .source = conversion->es.data,
			    .parts.item = sizeof(struct part),
			    .open.item = sizeof(uint32_t)};
	struct places places = {};
	int r = 0;

	if (!plans)
		return 0;
	if (vector_reserve(&conversion->ranges, spans) < 0)
		return -ENOMEM;
	places.in = malloc((conversion->es.count + 1) * sizeof(*places.in));
	places.out = malloc((conversion->es.count + 1) * sizeof(*places.out));
	if (!places.in || !places.out)
		r = -ENOMEM;
	for (uint32_t i = 0; i < conversion->span_count && r == 0; i++) {
		bool is_task = i < conversion->task_count;

		nest.thread = i;
		r = nest_span(&nest, ((struct clew_range *)conversion->ranges.data)[i],
			      is_task ? conversion->plan_begin[i] : 0,
			      is_task ? conversion->plan_begin[i + 1] : 0);
	}
	if (r == 0)
		r = place_parts(&nest, spans, &places);
	if (r == 0)
		r = number_dependencies(conversion, &places);
	if (r == 0)
		r = make_spans(conversion);
	if (r == 0)
		conversion->span_count = spans;
	vector_done(&nest.parts);
	vector_done(&nest.open);
	free(places.in);
	free(places.out);
	return r;
}
