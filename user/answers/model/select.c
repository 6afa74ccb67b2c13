/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The spans or positions that a pattern means. */
#include <inttypes.h>
#include <stdlib.h>

#include "answers/model/model.h"
#include "format/json.h"
#include "format/text.h"
#include "words/truth.h"

static uint32_t span_of(const struct clew_selected *selected, size_t position)
{
	return selected->model->es[selected->positions.items[position].es].span;
}

/* Paths are made one at a time. Without memory for one it is left out. */
static void json_path(struct clew_json *json, const char *key, const struct clew_selected *selected,
		      uint32_t span)
{
	char *path = clew_model_span_path(selected->model, span);

	clew_json_string(json, key, path);
	free(path);
}

void clew_json_selected(FILE *out, const struct clew_selected *selected)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "spans");
	for (size_t i = 0; i < selected->span_count; i++)
		json_path(&json, NULL, selected, selected->spans[i]);
	for (size_t i = 0; i < selected->positions.count; i++)
		if (i == 0 || span_of(selected, i) != span_of(selected, i - 1))
			json_path(&json, NULL, selected, span_of(selected, i));
	clew_json_array_end(&json);
	clew_json_array(&json, "positions");
	for (size_t i = 0; i < selected->positions.count; i++) {
		const struct clew_position *position = &selected->positions.items[i];
		uint32_t span = span_of(selected, i);

		clew_json_object(&json, NULL);
		json_path(&json, "span", selected, span);
		clew_json_unsigned(&json, "es",
				   position->es - selected->model->spans[span].elementary.first);
		clew_json_signed(&json, "at", position->at);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, selected->model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_path(FILE *out, const struct clew_selected *selected, uint32_t span)
{
	char *path = clew_model_span_path(selected->model, span);

	clew_print_safe(out, path ?: "?");
	free(path);
}

static void print_spans(FILE *out, const struct clew_selected *selected)
{
	for (size_t i = 0; i < selected->span_count; i++) {
		const struct clew_span *span = &selected->model->spans[selected->spans[i]];

		print_path(out, selected, selected->spans[i]);
		fprintf(out, "  [%" PRId64 ",%" PRId64 "]  %s\n", span->start, span->end,
			CLEW_DURATION((uint64_t)span->end - (uint64_t)span->start));
	}
	fprintf(out, "\n%zu of %" PRIu32 " spans\n", selected->span_count,
		selected->model->span_count);
}

static void print_positions(FILE *out, const struct clew_selected *selected)
{
	const struct clew_positions *positions = &selected->positions;

	for (size_t i = 0; i < positions->count; i++) {
		const struct clew_es *es = &selected->model->es[positions->items[i].es];

		print_path(out, selected, es->span);
		fprintf(out,
			"  @ %" PRId64 "  in its elementary span %" PRIu32 " [%" PRId64 ",%" PRId64
			"]\n",
			positions->items[i].at,
			positions->items[i].es - selected->model->spans[es->span].elementary.first,
			es->start, es->end);
	}
	fprintf(out, "\n%zu position%s\n", positions->count, positions->count == 1 ? "" : "s");
	if (positions->suspended)
		fprintf(out, "suspended then: %zu\n", positions->suspended);
	if (positions->outside)
		fprintf(out, "not reaching that moment: %zu\n", positions->outside);
}

void clew_print_selected(FILE *out, const struct clew_selected *selected)
{
	if (selected->is_position)
		print_positions(out, selected);
	else
		print_spans(out, selected);
	clew_print_model_truth(out, selected->model, CLEW_WHOLE);
}
