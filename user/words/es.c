/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spans and ESs in answers. */
#include "words/es.h"

#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "format/text.h"

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

/* The length of COMM in COMM-TID or COMM-TID#INSTANCE. */
static size_t name_length(const char *name)
{
	const char *dash = strrchr(name, '-');
	size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;

	return digits && strspn(dash + 1, "0123456789#") == strlen(dash + 1) ? (size_t)(dash - name)
									     : strlen(name);
}

char *clew_span_process(const struct clew_model *model, uint32_t span)
{
	uint32_t root = clew_span_root(model, span);
	const char *name, *process;
	size_t length;

	name = clew_model_string(model, model->spans[root].name);
	process = clew_model_attribute(model, model->spans[root].attributes, "process");
	if (!process)
		return NULL;
	length = name_length(process);
	return length == name_length(name) && !memcmp(name, process, length)
		       ? NULL
		       : strndup(process, length);
}

/* The name of the disk that a root span stands for, NULL: it is none or has no name. */
static const char *disk_of(const struct clew_model *model, uint32_t root)
{
	return clew_model_attribute(model, model->spans[root].attributes, "disk");
}

void clew_print_resource(FILE *out, const struct clew_model *model, const char *name)
{
	uint32_t string = clew_model_find_string(model, name);

	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling)
		if (model->spans[root].name == string && disk_of(model, root)) {
			name = disk_of(model, root);
			break;
		}
	clew_print_safe(out, name);
}

void clew_print_span(FILE *out, struct clew_span_names *names, uint32_t span)
{
	char *process = clew_span_process(names->model, span);
	uint32_t root = clew_span_root(names->model, span);
	const char *path = clew_span_name(names, span), *disk = disk_of(names->model, root);
	size_t numbers = strlen(clew_model_string(names->model, names->model->spans[root].name));

	if (disk && strlen(path) >= numbers) {
		clew_print_safe(out, disk);
		path += numbers;
	}
	clew_print_safe(out, path);
	if (process) {
		fputs(" of ", out);
		clew_print_safe(out, process);
	}
	free(process);
}

void clew_json_es_fields(struct clew_json *json, struct clew_span_names *names, uint32_t es)
{
	uint32_t span = names->model->es[es].span;

	char *process = clew_span_process(names->model, span);

	clew_json_string(json, "span", clew_span_name(names, span));
	clew_json_string(json, "process", process);
	free(process);
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
