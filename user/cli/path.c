/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew path: the critical path from one position to another, or of every instance of
 * some spans, where its time went, and sums of that.
 */
#include <clew/path.h>
#include <clew/tokens.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/groups.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/query.h"
#include "convert/stays.h"
#include "words/es.h"
#include "words/lines.h"
#include "words/path_stacks.h"
#include "words/path_via.h"
#include "words/places.h"
#include "words/running.h"
#include "words/style.h"
#include "words/text.h"
#include "words/truth.h"

struct path_values {
	struct clew_group_choice group;
	const char *from;
	const char *to;
	const char *all;
	const char *hierarchy;
	const char *marks;
	struct clew_number top;
	uint64_t idle; /* bit mask, 0 the default */
	uint32_t strategy;
	bool operations;
	bool all_origins;
	struct clew_source_choice source;
	bool json;
};

static int take_strategy(const struct clew_option *option, const char *argument, void *value)
{
	int strategy = clew_strategy_from_name(argument);

	if (strategy < 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: no strategy '%s': there are most_work, temporal_most_work, "
				 "most_prox, predecessor, least_work, "
				 "least_prox, causal",
				 option->name, argument);
	*(uint32_t *)value = (uint32_t)strategy;
	return 0;
}

const struct clew_option clew_path_options[] = {
	{0, "from", "POSITION", "the path begins there, as in 's0.0.0 @ 0%'", clew_take_string,
	 offsetof(struct path_values, from)},
	{0, "to", "POSITION", "the path ends there", clew_take_string,
	 offsetof(struct path_values, to)},
	{0, "all", "PATTERN", "the paths of all these spans, each from its start to its end",
	 clew_take_string, offsetof(struct path_values, all)},
	{0, "operations", NULL,
	 "with --all, the paths of what these spans did between two idle waits each",
	 clew_take_flag, offsetof(struct path_values, operations)},
	{0, "idle", "KIND,..",
	 "waits between operations (poll, accept, receive, read of an empty pipe)",
	 clew_take_wait_kinds, offsetof(struct path_values, idle)},
	{0, "strategy", "STRATEGY",
	 "most_work (the default), temporal_most_work, most_prox, predecessor, least_work, "
	 "least_prox or causal",
	 take_strategy, offsetof(struct path_values, strategy)},
	{0, "top", "K", "K distinct paths, the best first", clew_take_number,
	 offsetof(struct path_values, top)},
	{0, "all-origins", NULL,
	 "follow every origin that ends in time, not the triggering one alone", clew_take_flag,
	 offsetof(struct path_values, all_origins)},
	{0, "marks", "REGEX", "also list the marks on the path whose labels match",
	 clew_take_string, offsetof(struct path_values, marks)},
	CLEW_GROUP_OPTIONS(struct path_values, group, "spans of threads"),
	{0, "hierarchy", "NAME", "whose categories patterns mean (the first one)", clew_take_string,
	 offsetof(struct path_values, hierarchy)},
	CLEW_SOURCE_OPTIONS(struct path_values, source,
			    "tell functions with lines of the source, and inlined ones, too"),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct path_values, json)},
	CLEW_OPTION_END,
};

/* A path and its segments; with --all, the span that it is an instance of. */
struct found {
	struct clew_path path;
	struct clew_path_segment *segments;
	size_t segment_count;
	struct clew_path_mark *marks;
	size_t mark_count;
	uint32_t span;
};

struct answer {
	const struct path_values *values;
	struct clew_ends ends; /* as in the values, but perhaps in other words */
	const struct clew_model *model;
	struct clew_scope scope;
	struct clew_path_finder *finder;
	struct clew_path_totals *totals;
	struct clew_span_names names;
	struct clew_trace *places; /* what threads ran in */
	struct clew_place_sums ran_in;
	struct clew_path_stacks stacks;
	struct found *found;
	size_t count;
	size_t without_path; /* instances */
	int error;	     /* of the printing, 0 none */
};

/* True if the paths of all instances are asked for: of a pattern, or of all threads of a group. */
static bool is_all(const struct answer *answer)
{
	return answer->values->all || !answer->values->from;
}

static int out_of_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "path: out of memory: free some, or take a smaller trace");
}

/* The running of a segment, as far as it lies in one call. */
static struct clew_segment place_of(const struct answer *answer,
				    const struct clew_path_segment *segment)
{
	return clew_place_at(answer->places, answer->model, segment->span, segment->start,
			     segment->end);
}

static int sum_segments(struct answer *answer, const struct found *found)
{
	int r = 0;

	for (size_t i = 0; i < found->segment_count && r == 0; i++) {
		const struct clew_path_segment *segment = &found->segments[i];
		struct clew_segment place;

		r = clew_path_stacks_add(&answer->stacks, answer->model, segment);
		if (segment->kind != CLEW_SEGMENT_RUNNING || r < 0)
			continue;
		place = place_of(answer, segment);
		r = clew_place_sums_add(&answer->ran_in, answer->places, &place,
					clew_segment_length(&place));
	}
	return r;
}

static int find_marks(const struct answer *answer, struct found *found)
{
	const char *marks = answer->values->marks;
	struct clew_query_error error;
	int r = clew_path_marks(answer->model, &found->path, marks, strlen(marks), &found->marks,
				&found->mark_count, &error);

	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "--marks, at byte %zu: %s", error.offset,
				 error.message);
	return r < 0 ? clew_fail_query("--marks", r) : 0;
}

/*
 * Takes ownership of a path. Only the first of several paths between the same two
 * positions is summed.
 */
static int keep(struct answer *answer, struct clew_path *path, uint32_t span, bool sum)
{
	struct found *grown = answer->found, *found;

	if (!(answer->count & (answer->count - 1)))
		grown = reallocarray(grown, answer->count ? 2 * answer->count : 1, sizeof(*grown));
	if (!grown)
		return out_of_memory();
	answer->found = grown;
	found = &grown[answer->count++];
	*found = (struct found){.path = *path, .span = span};
	path->es = NULL;
	if (clew_path_segments(answer->model, &found->path, &found->segments,
			       &found->segment_count) < 0 ||
	    clew_places_cut(answer->places, answer->model, &found->segments,
			    &found->segment_count) < 0)
		return out_of_memory();
	if (sum &&
	    (clew_path_totals_add(answer->totals, found->segments, found->segment_count) < 0 ||
	     sum_segments(answer, found) < 0))
		return out_of_memory();
	if (is_all(answer) && !answer->values->json) {
		/* Text shows only sums of instances. */
		free(found->path.es);
		free(found->segments);
		found->path.es = NULL;
		found->segments = NULL;
		return 0;
	}
	return answer->values->marks ? find_marks(answer, found) : 0;
}

/*
 * `span`: the span whose instance it is, which begins at `start` or before; or
 * CLEW_NONE.
 */
static int find(struct answer *answer, const struct clew_position *from,
		const struct clew_position *to, uint32_t span, clew_time start)
{
	const struct clew_path_options options = {
		.strategy = answer->values->strategy,
		.all_origins = answer->values->all_origins,
		.top = answer->values->top.value,
	};
	struct clew_paths paths = {};
	int r = clew_path_find(answer->finder, from, to, &options, &paths), status = 0;

	if (r == -ENOENT && span != CLEW_NONE) {
		answer->without_path++;
		return 0;
	}
	if (r == -ENOENT)
		return clew_fail(
			CLEW_EXIT_NEGATIVE,
			"no path leads from '%s' to '%s': see with clew dump what depends on what",
			answer->values->from, answer->values->to);
	if (r < 0 && r != -ENOMEM)
		return clew_fail(CLEW_EXIT_INPUT, "the trace is inconsistent: see clew check");
	if (r < 0)
		return out_of_memory();
	for (size_t i = 0; i < paths.count && !status; i++) {
		if (start < paths.paths[i].start)
			paths.paths[i].start = start;
		status = keep(answer, &paths.paths[i], span, i == 0);
	}
	clew_paths_done(&paths);
	return status;
}

static int find_operations(struct answer *answer, uint32_t span)
{
	struct clew_path_operation *operations;
	int status = 0;
	size_t count;

	if (clew_path_operations(answer->model, span, answer->values->idle, &operations, &count) <
	    0)
		return out_of_memory();
	for (size_t i = 0; i < count && !status; i++)
		status = find(answer, &operations[i].start, &operations[i].end, span,
			      operations[i].from);
	free(operations);
	return status;
}

static int find_all(struct answer *answer)
{
	const struct clew_model *model = answer->model;
	uint32_t *spans = NULL;
	size_t count;
	int status = 0;

	if (answer->values->all)
		status = clew_find_spans("--all", answer->values->all, model, &answer->scope,
					 &spans, &count);
	else
		spans = clew_scope_roots(model, &answer->scope, &count);
	if (status)
		return status;
	if (!spans)
		return out_of_memory();
	clew_sort_spans(spans, &count);
	for (size_t i = 0; i < count && !status; i++) {
		const struct clew_span *span = &model->spans[spans[i]];
		const struct clew_position from = {span->elementary.first, span->start};
		const struct clew_position to = {
			span->elementary.first + span->elementary.count - 1, span->end};

		status = answer->values->operations ? find_operations(answer, spans[i])
						    : find(answer, &from, &to, spans[i], from.at);
	}
	free(spans);
	return status;
}

/* ---- JSON ---- */

static void json_elements(struct clew_json *json, struct answer *answer, const struct found *found)
{
	for (uint32_t i = 0; i < found->path.count; i++) {
		const struct clew_es *es = &answer->model->es[found->path.es[i]];

		clew_json_object(json, NULL);
		clew_json_es_fields(json, &answer->names, found->path.es[i]);
		clew_json_signed(json, "start", es->start);
		clew_json_signed(json, "end", es->end);
		clew_json_via_dependency(json, answer->model, &found->path, i);
		clew_json_object_end(json);
	}
}

/* The first failure of an output that goes on. */
static void note(struct answer *answer, int r)
{
	if (!answer->error)
		answer->error = r;
}

static void json_segments(struct clew_json *json, struct answer *answer, const struct found *found)
{
	const struct clew_model *model = answer->model;

	for (size_t i = 0; i < found->segment_count; i++) {
		const struct clew_path_segment *segment = &found->segments[i];

		clew_json_object(json, NULL);
		clew_json_signed(json, "start", segment->start);
		clew_json_signed(json, "end", segment->end);
		clew_json_signed(json, "ns", segment->end - segment->start);
		clew_json_string(json, "kind", clew_wait_kind_name(segment->kind));
		clew_json_es_fields(json, &answer->names, segment->es);
		clew_json_bool(json, "on_path", segment->on_path);
		if (segment->dependency != CLEW_NONE) {
			clew_json_unsigned(json, "dep", segment->dependency + 1);
			clew_json_string(
				json, "type",
				clew_model_string(
					model, model->types[model->dependencies[segment->dependency]
								    .type]));
		}
		clew_json_string(json, "object", clew_path_segment_object(model, segment));
		if (segment->child != CLEW_NONE)
			clew_json_string(json, "child",
					 clew_span_name(&answer->names, segment->child));
		if (segment->kind == CLEW_SEGMENT_RUNNING) {
			struct clew_segment place = place_of(answer, segment);

			clew_json_running(json, answer->places, &place);
		}
		note(answer, clew_json_path_stack(json, &answer->stacks, model, segment));
		clew_json_object_end(json);
	}
}

static void json_marks(struct clew_json *json, struct answer *answer, const struct found *found)
{
	for (size_t i = 0; i < found->mark_count; i++) {
		const struct clew_mark *mark = &answer->model->marks[found->marks[i].mark];

		clew_json_object(json, NULL);
		clew_json_es_fields(json, &answer->names, found->marks[i].es);
		clew_json_string(json, "label", clew_model_string(answer->model, mark->label));
		clew_json_signed(json, "at", mark->at);
		clew_json_object_end(json);
	}
}

static void json_calls(struct clew_json *json, struct answer *answer)
{
	size_t count;
	const struct clew_place_sum *sums = clew_place_sums_list(&answer->ran_in, &count);

	clew_json_array(json, "calls");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_place_sum(json, &sums[i]);
		clew_json_unsigned(json, "segments", sums[i].segments);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_totals(struct clew_json *json, struct answer *answer)
{
	static const char *const keys[] = {[CLEW_BY_KIND] = "kinds",
					   [CLEW_BY_THREAD] = "threads",
					   [CLEW_BY_FUNCTION] = "functions",
					   [CLEW_BY_OBJECT] = "objects"};
	size_t count, at = 0;
	const struct clew_path_total *totals = clew_path_totals_list(answer->totals, &count);

	clew_json_object(json, "totals");
	for (uint32_t dimension = 0; dimension < CLEW_BY_COUNT; dimension++) {
		clew_json_array(json, keys[dimension]);
		for (; at < count && totals[at].dimension == dimension; at++) {
			clew_json_object(json, NULL);
			if (dimension == CLEW_BY_KIND || dimension == CLEW_BY_OBJECT)
				clew_json_string(json, "kind",
						 clew_wait_kind_name(totals[at].kind));
			if (dimension == CLEW_BY_THREAD)
				clew_json_string(json, "span",
						 clew_span_name(&answer->names, totals[at].span));
			if (totals[at].name)
				clew_json_string(json,
						 dimension == CLEW_BY_OBJECT ? "object" : "name",
						 totals[at].name);
			clew_json_signed(json, "ns", totals[at].ns);
			clew_json_unsigned(json, "segments", totals[at].segments);
			clew_json_object_end(json);
		}
		clew_json_array_end(json);
	}
	json_calls(json, answer);
	clew_json_object_end(json);
}

static void json_path_head(struct clew_json *json, const struct found *found)
{
	clew_json_signed(json, "start", found->path.start);
	clew_json_signed(json, "end", found->path.end);
	clew_json_signed(json, "work", found->path.work);
}

/* From the start of the first of `count` paths to the end of the last. */
static void find_extent(const struct answer *answer, size_t count, clew_time *ret_start,
			clew_time *ret_end)
{
	*ret_start = answer->found[0].path.start;
	*ret_end = answer->found[0].path.end;
	for (size_t i = 1; i < count; i++) {
		const struct clew_path *path = &answer->found[i].path;

		*ret_start = path->start < *ret_start ? path->start : *ret_start;
		*ret_end = path->end > *ret_end ? path->end : *ret_end;
	}
}

/* With --all, the elements and segments are those of all instances in turn. */
static void print_json(struct answer *answer)
{
	struct clew_json json = {.out = stdout};
	bool all = is_all(answer);
	size_t shown = all ? answer->count : 1;
	clew_time start, end, work = 0, total = 0;

	find_extent(answer, shown, &start, &end);
	for (size_t i = 0; i < shown; i++) {
		const struct clew_path *path = &answer->found[i].path;

		work += path->work;
		total += path->end - path->start;
	}
	clew_json_object(&json, NULL);
	clew_json_string(&json, "strategy", clew_strategy_name(answer->values->strategy));
	clew_json_signed(&json, "start", start);
	clew_json_signed(&json, "end", end);
	clew_json_signed(&json, "work", work);
	clew_json_signed(&json, "total_ns", total);
	clew_json_array(&json, "elements");
	for (size_t i = 0; i < shown; i++)
		json_elements(&json, answer, &answer->found[i]);
	clew_json_array_end(&json);
	clew_json_array(&json, "segments");
	for (size_t i = 0; i < shown; i++)
		json_segments(&json, answer, &answer->found[i]);
	clew_json_array_end(&json);
	clew_json_array(&json, "marks");
	for (size_t i = 0; i < shown; i++)
		json_marks(&json, answer, &answer->found[i]);
	clew_json_array_end(&json);
	json_totals(&json, answer);
	note(answer, clew_json_path_stacks(&json, &answer->stacks));
	clew_json_array(&json, all ? "instances" : "paths");
	for (size_t i = 0; i < answer->count && (all || answer->values->top.given); i++) {
		clew_json_object(&json, NULL);
		if (all)
			clew_json_string(&json, "span",
					 clew_span_name(&answer->names, answer->found[i].span));
		json_path_head(&json, &answer->found[i]);
		if (all) {
			clew_json_unsigned(&json, "elements", answer->found[i].path.count);
			clew_json_unsigned(&json, "segments", answer->found[i].segment_count);
		} else {
			clew_json_array(&json, "elements");
			json_elements(&json, answer, &answer->found[i]);
			clew_json_array_end(&json);
			clew_json_array(&json, "segments");
			json_segments(&json, answer, &answer->found[i]);
			clew_json_array_end(&json);
		}
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	if (all)
		clew_json_unsigned(&json, "without_path", answer->without_path);
	find_extent(answer, answer->count, &start, &end);
	if (answer->stacks.trace)
		clew_json_lines_told(&json, answer->stacks.trace);
	clew_json_model_truth(&json, answer->model, start, end);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

/* ---- text ---- */

static void print_share(clew_time part, clew_time whole)
{
	printf("%12s %5.1f %%  ", CLEW_DURATION((uint64_t)part),
	       whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void print_calls(struct answer *answer, clew_time whole)
{
	enum { MOST = 10 };
	size_t count;
	const struct clew_place_sum *sums = clew_place_sums_list(&answer->ran_in, &count);

	for (size_t i = 0; i < count && i < MOST; i++) {
		fputs(i ? "" : "\nrunning, by call\n", stdout);
		print_share((clew_time)sums[i].ns, whole);
		clew_print_place_sum(stdout, &sums[i]);
		putchar('\n');
	}
	if (count > MOST)
		printf("%12s          and %zu more\n", "", count - MOST);
}

static void print_totals(struct answer *answer, clew_time whole)
{
	static const char *const titles[] = {[CLEW_BY_KIND] = "by kind",
					     [CLEW_BY_THREAD] = "by thread",
					     [CLEW_BY_FUNCTION] = "by function",
					     [CLEW_BY_OBJECT] = "by object"};
	enum { MOST = 10 };
	size_t count, at = 0;
	const struct clew_path_total *totals = clew_path_totals_list(answer->totals, &count);

	for (uint32_t dimension = 0; dimension < CLEW_BY_COUNT; dimension++) {
		size_t first = at;

		for (; at < count && totals[at].dimension == dimension; at++) {
			if (at == first)
				printf("\n%s\n", titles[dimension]);
			if (at - first >= MOST)
				continue;
			print_share(totals[at].ns, whole);
			if (dimension == CLEW_BY_THREAD)
				clew_print_span(stdout, &answer->names, totals[at].span);
			else if (totals[at].name)
				clew_print_safe(stdout, totals[at].name);
			if (dimension == CLEW_BY_KIND || dimension == CLEW_BY_OBJECT)
				printf(dimension == CLEW_BY_KIND ? "%s" : " (%s)",
				       clew_wait_kind_name(totals[at].kind));
			putchar('\n');
		}
		if (at - first > MOST)
			printf("%12s          and %zu more\n", "", at - first - MOST);
	}
	print_calls(answer, whole);
	note(answer, clew_print_path_stacks(stdout, &answer->stacks));
}

static void print_place(const struct answer *answer, const struct clew_path_segment *segment)
{
	struct clew_segment place = place_of(answer, segment);
	const struct clew_segment *places = &place;
	struct clew_running running;

	clew_running_find(answer->places, &places, 1, &running);
	clew_print_stay(stdout, place.stay);
	clew_print_running(stdout, &running);
}

/* `element`: the path's element at the last segment, to be advanced. `begins`: the segment before
 * is not of the same ES. */
static void print_segment(struct answer *answer, const struct clew_path *path,
			  const struct clew_path_segment *segment, bool begins, uint32_t *element)
{
	const struct clew_model *model = answer->model;
	const char *object = clew_path_segment_object(model, segment);

	printf("  %12s %10s  ",
	       CLEW_OFFSET((uint64_t)(segment->start - path->start),
			   (uint64_t)(path->end - path->start)),
	       CLEW_DURATION((uint64_t)(segment->end - segment->start)));
	clew_print_styled(stdout, clew_style_of_kind(segment->kind), 9,
			  clew_wait_kind_name(segment->kind));
	putchar(' ');
	clew_print_span(stdout, &answer->names, segment->span);
	if (segment->kind == CLEW_SEGMENT_RUNNING)
		print_place(answer, segment);
	note(answer, clew_print_path_stack(stdout, &answer->stacks, model, segment));
	if (segment->dependency != CLEW_NONE) {
		fputs(", after ", stdout);
		clew_print_safe(
			stdout,
			clew_model_string(
				model,
				model->types[model->dependencies[segment->dependency].type]));
	}
	if (object) {
		fputs(", ", stdout);
		clew_print_safe(stdout, object);
	}
	if (segment->child != CLEW_NONE) {
		fputs(", in ", stdout);
		clew_print_span(stdout, &answer->names, segment->child);
	}
	if (segment->kind == CLEW_SEGMENT_RUNNING && !segment->on_path)
		fputs(", not on the path", stdout);
	if (segment->on_path && begins) {
		while (path->es[*element] != segment->es && *element + 1 < path->count)
			++*element;
		clew_print_via_call(stdout, model, path, *element);
	}
	putchar('\n');
}

static void print_marks(struct answer *answer, const struct found *found)
{
	for (size_t i = 0; i < found->mark_count; i++) {
		const struct clew_mark *mark = &answer->model->marks[found->marks[i].mark];

		fputs(i ? "" : "\nmarks\n", stdout);
		printf("  %s%10s  ", mark->at < found->path.start ? "-" : " ",
		       CLEW_DURATION((uint64_t)(mark->at < found->path.start
							? found->path.start - mark->at
							: mark->at - found->path.start)));
		clew_print_safe(stdout, clew_model_string(answer->model, mark->label));
		fputs(" in ", stdout);
		clew_print_span(stdout, &answer->names, answer->model->es[found->marks[i].es].span);
		putchar('\n');
	}
}

static void print_text(struct answer *answer)
{
	const char *strategy = clew_strategy_name(answer->values->strategy);
	clew_time whole = 0;

	if (is_all(answer)) {
		clew_time work = 0;

		for (size_t i = 0; i < answer->count; i++) {
			whole += answer->found[i].path.end - answer->found[i].path.start;
			work += answer->found[i].path.work;
		}
		printf("%s over %zu %s: %s in all", strategy, answer->count,
		       answer->values->operations ? "operations" : "instances",
		       CLEW_DURATION((uint64_t)whole));
		printf(", %s of work on their paths", CLEW_DURATION((uint64_t)work));
		if (answer->without_path)
			printf("; %zu more have no such path", answer->without_path);
		putchar('\n');
		print_totals(answer, whole);
		return;
	}
	for (size_t i = 0; i < answer->count; i++) {
		const struct found *found = &answer->found[i];
		uint32_t element = 0;

		whole = found->path.end - found->path.start;
		if (answer->count > 1)
			printf("%spath %zu, ", i ? "\n" : "", i + 1);
		printf("%s: %s, %" PRIu32 " elements", strategy, CLEW_DURATION((uint64_t)whole),
		       found->path.count);
		printf(" with %s of work\n", CLEW_DURATION((uint64_t)found->path.work));
		for (size_t j = 0; j < found->segment_count; j++)
			print_segment(answer, &found->path, &found->segments[j],
				      !j || found->segments[j - 1].es != found->segments[j].es ||
					      !found->segments[j - 1].on_path,
				      &element);
		print_marks(answer, found);
		if (i == 0)
			print_totals(answer, whole);
	}
}

/* ---- the command ---- */

static int answer_with(struct answer *answer)
{
	const struct path_values *values = answer->values;
	struct clew_position from, to;
	int status;

	if (clew_path_finder_new(answer->model, &answer->finder) < 0 ||
	    clew_stays_of_model(answer->model, &answer->places) < 0 ||
	    clew_path_totals_new(answer->model, &answer->totals) < 0)
		return out_of_memory();
	if (is_all(answer)) {
		status = find_all(answer);
		if (!status && !answer->count && !answer->without_path && values->operations)
			status = clew_fail(CLEW_EXIT_NEGATIVE,
					   "no operation of '%s' lies between two idle waits: "
					   "choose other spans, or other waits with --idle",
					   values->all ?: "all");
		else if (!status && !answer->count)
			status = clew_fail(CLEW_EXIT_NEGATIVE,
					   "no span of '%s' has a path: see clew check",
					   values->all ?: "all");
	} else {
		status = clew_find_ends(answer->ends.from, answer->ends.to, answer->model,
					&answer->scope, &from, &to);
		if (!status)
			status = find(answer, &from, &to, CLEW_NONE, from.at);
	}
	if (status)
		return status;
	if (values->json) {
		print_json(answer);
	} else {
		clew_time start, end;

		print_text(answer);
		find_extent(answer, answer->count, &start, &end);
		clew_print_model_truth(stdout, answer->model, start, end);
	}
	return answer->error < 0 ? out_of_memory() : CLEW_EXIT_DONE;
}

int clew_command_path(const struct clew_command *command, int argc, char **argv)
{
	struct path_values values = {.top = {.value = 1}};
	struct answer answer = {.values = &values};
	struct clew_trace *stacks;
	struct clew_model *model;
	bool *only = NULL, grouped;
	char **operands, *memory[2];
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.all && (values.from || values.to || values.top.given))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"path: --all has the ends of its spans: leave --from, --to and --top out");
	grouped = !values.from && !values.to && clew_groups_asked(&values.group);
	if ((values.operations && !values.all && !grouped) || (values.idle && !values.operations))
		return clew_fail(CLEW_EXIT_INPUT, "path: operations are of spans: give --all with "
						  "--operations, and --operations with --idle");
	if (!values.all && (!values.from || !values.to) && (!grouped || values.top.given))
		return clew_fail(CLEW_EXIT_INPUT,
				 "path: an end is missing: give --from and --to, --all or a group");
	answer.ends = (struct clew_ends){.from = values.from, .to = values.to};
	status = clew_open_model_between(operands[0], &answer.ends, memory, &model, &stacks);
	if (status)
		return status;
	answer.model = answer.names.model = model;
	answer.stacks.trace = stacks;
	answer.scope.hierarchy = values.hierarchy;
	if (clew_source_wanted(&values.source))
		status = clew_need_stacks("path", stacks, &values.source);
	if (!status)
		status = clew_groups_spans(model, &values.group, &only);
	answer.scope.only = only;
	if (!status)
		status = answer_with(&answer);
	if (!status && stacks && !values.json)
		clew_print_lines_told(stdout, stacks);
	free(only);
	for (size_t i = 0; i < answer.count; i++) {
		free(answer.found[i].path.es);
		free(answer.found[i].segments);
		free(answer.found[i].marks);
	}
	free(answer.found);
	clew_span_names_done(&answer.names);
	clew_place_sums_done(&answer.ran_in);
	clew_trace_free(answer.places);
	clew_path_stacks_done(&answer.stacks);
	clew_trace_free(stacks);
	clew_path_totals_free(answer.totals);
	clew_path_finder_free(answer.finder);
	clew_model_free(model);
	free(memory[0]);
	free(memory[1]);
	return status;
}
