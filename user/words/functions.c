/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Traced functions in a why. */
#include "words/functions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"

enum {
	MOST_NAMED = 3,	 /* functions in a line */
	MOST_LISTED = 8, /* in JSON, besides the time in none */
	MOST_FROM = 64,	 /* of a call path */
};
/* A function with less than one in so many parts of the time has no words. */
#define LEAST_PART 100

bool clew_has_functions(const struct clew_trace *trace)
{
	return clew_trace_function_count(trace) > 0 || clew_trace_has_frames(trace);
}

/* ---- names ---- */

const char *clew_function_name(const struct clew_trace *trace, uint32_t number)
{
	const struct clew_trace_function *function = clew_trace_function(trace, number);

	return function ? function->readable : "unknown function";
}

void clew_print_function_title(FILE *out, const struct clew_trace *trace, uint32_t number)
{
	const struct clew_trace_function *function = clew_trace_function(trace, number);

	clew_print_safe(out, function ? function->title : clew_function_name(trace, number));
}

void clew_print_function(FILE *out, const struct clew_trace *trace, uint32_t number)
{
	clew_print_function_title(out, trace, number);
	if (clew_trace_function(trace, number))
		fputs("()", out);
}

bool clew_match_function(const char *glob, const struct clew_trace_function *function)
{
	return !fnmatch(glob, function->name, 0) || !fnmatch(glob, function->readable, 0) ||
	       !fnmatch(glob, function->title, 0);
}

/* ---- where a wait came from ---- */

uint32_t clew_function_at(const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	const struct clew_trace_frame *frame = clew_trace_frame_at(trace, serial, at);

	return frame ? frame->function : CLEW_NO_NUMBER;
}

/* The moment of which a segment's path of functions is told. */
static uint64_t moment_of(const struct clew_segment *segment)
{
	const struct clew_link *link = segment->link;

	return link && link->kind == CLEW_LINK_REQUEST && link->at ? link->at : segment->start;
}

uint32_t clew_segment_function(const struct clew_trace *trace, const struct clew_segment *segment)
{
	if (segment->kind == CLEW_SEGMENT_RUNNING || segment->kind == CLEW_SEGMENT_RUNQUEUE)
		return CLEW_NO_NUMBER;
	return clew_function_at(trace, segment->task, moment_of(segment));
}

void clew_print_segment_function(FILE *out, const struct clew_trace *trace,
				 const struct clew_segment *segment)
{
	uint32_t function = clew_segment_function(trace, segment);

	if (function == CLEW_NO_NUMBER)
		return;
	fputs(", in ", out);
	clew_print_function(out, trace, function);
}

void clew_print_in_function(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	uint32_t function = clew_function_at(trace, serial, at);

	if (function == CLEW_NO_NUMBER)
		return;
	fputs(" in ", out);
	clew_print_function(out, trace, function);
}

/* ---- in which it ran ---- */

/* Adds up the segments, all of which are of running. */
static int add_up(const struct clew_trace *trace, const struct clew_segment *const *segments,
		  size_t count, struct clew_function_sums *ret_sums)
{
	int r = clew_function_sums_begin(trace, ret_sums);

	for (size_t i = 0; i < count && r >= 0; i++)
		r = clew_function_sums_add(ret_sums, trace, segments[i]->task, segments[i]->start,
					   segments[i]->end);
	if (r >= 0)
		clew_function_sums_sort(ret_sums);
	else
		clew_function_sums_done(ret_sums);
	return r;
}

static void print_sums(FILE *out, const struct clew_trace *trace,
		       const struct clew_function_sums *sums, uint64_t whole)
{
	uint64_t others = whole;
	unsigned named = 0;

	if (sums->count && sums->times[0].ns == whole &&
	    sums->times[0].function != CLEW_NO_NUMBER) {
		fputs(": all of it in ", out);
		clew_print_function_title(out, trace, sums->times[0].function);
		return;
	}

	for (uint32_t i = 0; i < sums->count && named < MOST_NAMED; i++) {
		const struct clew_function_time *time = &sums->times[i];

		if (time->function == CLEW_NO_NUMBER)
			continue;
		if (time->ns * LEAST_PART < whole || !time->ns)
			break;
		fprintf(out, "%s%s in ", named++ ? ", " : ": ", CLEW_DURATION(time->ns));
		clew_print_function_title(out, trace, time->function);
		others -= time->ns;
	}
	if (named && others)
		fprintf(out, ", %s in other functions", CLEW_DURATION(others));
}

int clew_print_functions(FILE *out, const struct clew_trace *trace,
			 const struct clew_segment *const *segments, size_t count)
{
	struct clew_function_sums sums;
	uint64_t whole = 0;
	int r;

	if (segments[0]->kind != CLEW_SEGMENT_RUNNING || !clew_has_functions(trace))
		return 0;
	r = add_up(trace, segments, count, &sums);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		whole += clew_segment_length(segments[i]);
	print_sums(out, trace, &sums, whole);
	clew_function_sums_done(&sums);
	return 0;
}

int clew_functions_probe(const struct clew_trace *trace, const struct clew_why *why,
			 uint64_t *ret_ns)
{
	struct clew_function_sums sums;
	int r;

	*ret_ns = 0;
	if (!clew_has_functions(trace))
		return 0;
	r = clew_function_sums_begin(trace, &sums);
	for (size_t i = 0; i < why->segment_count && r >= 0; i++)
		if (why->segments[i].kind == CLEW_SEGMENT_RUNNING)
			r = clew_function_sums_add(&sums, trace, why->segments[i].task,
						   why->segments[i].start, why->segments[i].end);
	for (uint32_t i = 0; i < sums.count && r >= 0; i++)
		*ret_ns += sums.times[i].probe;
	clew_function_sums_done(&sums);
	return r;
}

/* ---- JSON ---- */

void clew_json_function_time(struct clew_json *json, const struct clew_trace *trace,
			     const struct clew_function_time *time)
{
	const struct clew_trace_function *function = clew_trace_function(trace, time->function);

	clew_json_object(json, NULL);
	clew_json_string(json, "name",
			 time->function == CLEW_NO_NUMBER
				 ? NULL
				 : clew_function_name(trace, time->function));
	clew_json_string(json, "object", function && function->object[0] ? function->object : NULL);
	clew_json_unsigned(json, "self_ns", time->ns);
	clew_json_unsigned(json, "calls", time->calls);
	clew_json_unsigned(json, "probe_ns", time->probe);
	clew_json_object_end(json);
}

static void json_sums(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_function_sums *sums)
{
	struct clew_function_time rest = {};
	uint32_t listed = 0, left = 0;

	for (uint32_t i = 0; i < sums->count; i++) {
		const struct clew_function_time *time = &sums->times[i];

		if (time->function == CLEW_NO_NUMBER || listed++ < MOST_LISTED) {
			clew_json_function_time(json, trace, time);
			continue;
		}
		rest.ns += time->ns;
		rest.calls += time->calls;
		rest.probe += time->probe;
		left++;
	}
	if (!left)
		return;
	clew_json_object(json, NULL);
	clew_json_string(json, "name", "other functions");
	clew_json_null(json, "object");
	clew_json_unsigned(json, "self_ns", rest.ns);
	clew_json_unsigned(json, "calls", rest.calls);
	clew_json_unsigned(json, "probe_ns", rest.probe);
	clew_json_unsigned(json, "functions", left);
	clew_json_object_end(json);
}

void clew_json_from(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
		    uint64_t at)
{
	const struct clew_trace_frame *frames[MOST_FROM];
	size_t count = clew_trace_frames_at(trace, serial, at, frames, MOST_FROM);

	clew_json_array(json, "from");
	for (size_t i = 0; i < count && i < MOST_FROM; i++)
		clew_json_string(json, NULL, clew_function_name(trace, frames[i]->function));
	clew_json_array_end(json);
}

int clew_json_functions(struct clew_json *json, const struct clew_trace *trace,
			const struct clew_segment *segment)
{
	struct clew_function_sums sums;
	int r;

	if (!clew_has_functions(trace))
		return 0;
	if (segment->kind != CLEW_SEGMENT_RUNNING) {
		clew_json_from(json, trace, segment->task, moment_of(segment));
		return 0;
	}
	r = add_up(trace, &segment, 1, &sums);
	if (r < 0)
		return r;
	clew_json_array(json, "functions");
	json_sums(json, trace, &sums);
	clew_json_array_end(json);
	clew_function_sums_done(&sums);
	return 0;
}
