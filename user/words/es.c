/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spans and ESs in answers. See es.h.
 */
#include "words/es.h"

#include <stdlib.h>

const char *clew_span_name(struct clew_span_names *names, uint32_t span)
{
	if (!names->path || names->span != span) {
		free(names->path);
		names->path = clew_model_span_path(names->model, span);
		names->span = span;
	}
	return names->path ?: "";
}

void clew_span_names_done(struct clew_span_names *names)
{
	free(names->path);
	names->path = NULL;
}

void clew_json_es_fields(struct clew_json *json, struct clew_span_names *names, uint32_t es)
{
	uint32_t span = names->model->es[es].span;

	clew_json_string(json, "span", clew_span_name(names, span));
	clew_json_unsigned(json, "es", es - names->model->spans[span].elementary.first);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void clew_sort_spans(uint32_t *spans, size_t *count)
{
	size_t kept = 0;

	if (*count)
		qsort(spans, *count, sizeof(*spans), compare);
	for (size_t i = 0; i < *count; i++)
		if (!i || spans[i] != spans[i - 1])
			spans[kept++] = spans[i];
	*count = kept;
}
