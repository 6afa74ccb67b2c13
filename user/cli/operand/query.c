/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Patterns and positions as arguments. */
#include "cli/operand/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/operand/moment.h"
#include "format/text.h"

/*
 * The number of characters that the first `size` bytes of a text take when
 * printed.
 */
static size_t printed_width(const char *text, size_t size)
{
	char *begin = strndup(text, size), *printed = NULL;
	size_t length, width = 0;
	FILE *stream = begin ? open_memstream(&printed, &length) : NULL;

	if (stream) {
		clew_print_safe(stream, begin);
		fclose(stream);
		for (const char *byte = printed; byte && *byte; byte++)
			width += (*byte & 0xc0) != 0x80;
	}
	free(printed);
	free(begin);
	return width;
}

void clew_point_at(const char *text, size_t offset)
{
	fputs("  ", stderr);
	clew_print_safe(stderr, text);
	fprintf(stderr, "\n  %*s^\n", (int)printed_width(text, offset), "");
}

int clew_compile_query(const char *what, const char *text, struct clew_query **ret_query)
{
	struct clew_query_error error;
	int r = clew_query_compile(text, strlen(text), ret_query, &error);

	if (r == 0)
		return 0;
	if (r != -EINVAL)
		return clew_fail_query(what, r);
	clew_fail(CLEW_EXIT_INPUT, "%s, at byte %zu: %s", what, error.offset, error.message);
	clew_point_at(text, error.offset);
	return CLEW_EXIT_INPUT;
}

int clew_fail_query(const char *what, int error)
{
	if (error == -E2BIG)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"%s: a regular expression takes too much to decide: write a simpler one",
			what);
	return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: free some memory and try again", what,
			 strerror(-error));
}

/*
 * The names of the hierarchies, "cpus, devices", to be freed; NULL: no memory.
 */
static char *hierarchy_names(const struct clew_model *model)
{
	char *names = NULL;
	size_t length;
	FILE *stream = open_memstream(&names, &length);

	if (!stream)
		return NULL;
	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		fprintf(stream, "%s%s", i > 0 ? ", " : "",
			clew_model_string(model, model->hierarchies[i]));
	fclose(stream);
	return names;
}

int clew_choose_hierarchy(const struct clew_model *model, const char *name,
			  const struct clew_query *query, uint32_t *ret_hierarchy)
{
	char *names;

	*ret_hierarchy = model->hierarchy_count > 0 ? 0 : CLEW_NONE;
	if (model->hierarchy_count == 0 && (name || (query && clew_query_has_categories(query))))
		return clew_fail(CLEW_EXIT_INPUT,
				 "the trace has no hierarchy of categories: leave out %s",
				 name ? "--hierarchy" : "what stands before the >");
	if (!name)
		return 0;
	for (uint32_t i = 0; i < model->hierarchy_count; i++) {
		if (strcmp(clew_model_string(model, model->hierarchies[i]), name) == 0) {
			*ret_hierarchy = i;
			return 0;
		}
	}
	names = hierarchy_names(model);
	clew_fail(CLEW_EXIT_INPUT, "--hierarchy: the trace has no '%s': it has %s", name,
		  names ?: "others");
	free(names);
	return CLEW_EXIT_INPUT;
}

static int fail_to_find_one(const char *what, const char *text, const struct clew_scope *scope,
			    const struct clew_positions *positions)
{
	if (positions->count > 1)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: '%s' means %zu positions: add earliest or latest, or choose "
				 "fewer spans",
				 what, text, positions->count);
	if (positions->suspended)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"%s: '%s': the span is suspended then: give a moment at which it runs",
			what, text);
	if (positions->outside)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: '%s': the span does not reach that moment: give one between "
				 "its start and its end",
				 what, text);
	return clew_fail(CLEW_EXIT_INPUT,
			 "%s: '%s' is nowhere in the %s: see what there is with `clew select`",
			 what, text, scope->only ? "group" : "trace");
}

static int find_position(const char *what, const char *text, const struct clew_model *model,
			 const struct clew_scope *scope, struct clew_position *ret_position)
{
	struct clew_query_options options = {.only = scope->only};
	struct clew_positions positions = {};
	struct clew_query *query;
	int status = clew_compile_query(what, text, &query), r;

	if (status)
		return status;
	status = clew_choose_hierarchy(model, scope->hierarchy, query, &options.hierarchy);
	if (!status && !clew_query_is_position(query))
		status = clew_fail(CLEW_EXIT_INPUT,
				   "%s: '%s' is a span, not a moment: add @ 0%%, @ 100%%, @ (MARK) "
				   "or @ duration(1.5ms)",
				   what, text);
	if (!status) {
		r = clew_query_positions(query, model, &options, &positions);
		if (r < 0)
			status = clew_fail_query(what, r);
		else if (positions.count != 1)
			status = fail_to_find_one(what, text, scope, &positions);
		else
			*ret_position = positions.items[0];
	}
	clew_positions_done(&positions);
	clew_query_free(query);
	return status;
}

int clew_find_ends(const char *from, const char *to, const struct clew_model *model,
		   const struct clew_scope *scope, struct clew_position *ret_from,
		   struct clew_position *ret_to)
{
	struct clew_ends ends = {.from = from, .to = to};
	char *memory[2];
	int status = clew_ends_take(&ends, model, memory);

	if (!status)
		status = find_position("--from", ends.from, model, scope, ret_from);
	if (!status)
		status = find_position("--to", ends.to, model, scope, ret_to);
	free(memory[0]);
	free(memory[1]);
	return status;
}

int clew_find_spans(const char *what, const char *text, const struct clew_model *model,
		    const struct clew_scope *scope, uint32_t **ret_spans, size_t *ret_count)
{
	struct clew_query_options options = {.only = scope->only};
	struct clew_query *query;
	int status = clew_compile_query(what, text, &query), r;

	if (status)
		return status;
	status = clew_choose_hierarchy(model, scope->hierarchy, query, &options.hierarchy);
	if (!status && clew_query_is_position(query))
		status = clew_fail(
			CLEW_EXIT_INPUT,
			"%s: '%s' is a moment, not spans: leave out what begins with the @", what,
			text);
	if (!status) {
		r = clew_query_spans(query, model, &options, ret_spans, ret_count);
		if (r < 0) {
			status = clew_fail_query(what, r);
		} else if (*ret_count == 0) {
			free(*ret_spans);
			*ret_spans = NULL;
			status = clew_fail(
				CLEW_EXIT_INPUT,
				"%s: '%s' selects no span%s: see what there is with `clew select`",
				what, text, scope->only ? " of the group" : "");
		}
	}
	clew_query_free(query);
	return status;
}

uint32_t *clew_scope_roots(const struct clew_model *model, const struct clew_scope *scope,
			   size_t *ret_count)
{
	uint32_t *spans = malloc((model->span_count + 1ul) * sizeof(*spans));

	*ret_count = 0;
	for (uint32_t span = model->first_root; spans && span != CLEW_NONE;
	     span = model->spans[span].next_sibling)
		if (!scope->only || scope->only[span])
			spans[(*ret_count)++] = span;
	return spans;
}

bool clew_is_by_name(const char *pattern)
{
	struct clew_query_error error;
	struct clew_query *query;
	bool by_name;

	if (!pattern)
		return true;
	if (clew_query_compile(pattern, strlen(pattern), &query, &error) < 0)
		return false;
	by_name = clew_query_is_by_name(query);
	clew_query_free(query);
	return by_name;
}
