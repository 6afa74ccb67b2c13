/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of root spans and root categories in the stitched trace: a number and a colon
 * before those that would be another trace's, too; or before all the host's name, where connections
 * join traces of different hosts.
 */
#include <stdio.h>

#include "analyse/stitch/internal.h"

#define OF_HOST "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* ---- hosts ---- */

/* The host that a capture names; NULL: none, or the trace is of several itself. */
static const char *host_of(const struct clew_model *model)
{
	const char *host = NULL;

	for (uint32_t i = 0; i < model->attribute_count; i++) {
		const char *key = clew_model_string(model, model->attributes[i].key);

		if (!strcmp(key, "capture.hosts"))
			return NULL;
		if (!strcmp(key, "capture.host"))
			host = clew_model_string(model, model->attributes[i].value);
	}
	return host && *host && strlen(host) <= HOST_NAME_MAX && !host[strspn(host, OF_HOST)]
		       ? host
		       : NULL;
}

void stitch_hosts(struct stitch *s)
{
	bool all = s->options->connections && s->options->prefix == CLEW_PREFIX_CONFLICT;

	for (uint32_t i = 0; i < s->count && all; i++) {
		s->hosts[i] = host_of(s->traces[i]);
		all = s->hosts[i] != NULL;
		for (uint32_t j = 0; j < i && all; j++)
			all = strcmp(s->hosts[i], s->hosts[j]) != 0;
	}
	for (uint32_t i = 0; i < s->count && !all; i++)
		s->hosts[i] = NULL;
}

void stitch_prefix(const struct stitch *s, uint32_t trace, char *text)
{
	if (s->hosts[trace])
		snprintf(text, STITCH_PREFIX, "%s:", s->hosts[trace]);
	else
		snprintf(text, STITCH_PREFIX, "%u:", trace + 1);
}

/* ---- names ---- */

/* Notes that a name is a trace's. */
static int note(struct strings *names, struct vector *traces, const char *name, uint32_t trace)
{
	uint32_t string, *of;
	int r = strings_add(names, name, &string);

	if (r < 0)
		return r;
	if (vector_reserve(traces, (size_t)string + 1) < 0)
		return -ENOMEM;
	of = (uint32_t *)traces->data + string;
	if (string == traces->count) {
		traces->count++;
		*of = trace;
	} else if (*of != trace) {
		*of = CLEW_NONE;
	}
	return 0;
}

/* A category's name with that of its hierarchy, in names->text. */
static const char *long_name(struct stitch_names *names, const struct clew_model *model,
			     uint32_t category)
{
	const char *hierarchy =
		clew_model_string(model, model->hierarchies[model->categories[category].hierarchy]);
	const char *name = clew_model_string(model, model->categories[category].name);
	size_t size = strlen(hierarchy) + strlen(name) + 2;

	if (vector_reserve(&names->text, size) < 0)
		return NULL;
	snprintf(names->text.data, size, "%s\n%s", hierarchy, name);
	return names->text.data;
}

int stitch_names_begin(struct stitch_names *names, struct stitch *s)
{
	int r = 0;

	*names = (struct stitch_names){.s = s,
				       .span_traces.item = sizeof(uint32_t),
				       .category_traces.item = sizeof(uint32_t),
				       .text.item = 1};
	strings_begin(&names->spans);
	strings_begin(&names->categories);
	for (uint32_t trace = 0; trace < s->count && r == 0; trace++) {
		const struct clew_model *model = s->traces[trace];

		for (uint32_t i = model->first_root; i != CLEW_NONE && r == 0;
		     i = model->spans[i].next_sibling)
			r = note(&names->spans, &names->span_traces,
				 clew_model_string(model, model->spans[i].name), trace);
		for (uint32_t i = 0; i < model->category_count && r == 0; i++) {
			const char *name = model->categories[i].parent == CLEW_NONE
						   ? long_name(names, model, i)
						   : NULL;

			if (model->categories[i].parent == CLEW_NONE)
				r = name ? note(&names->categories, &names->category_traces, name,
						trace)
					 : -ENOMEM;
		}
	}
	return r;
}

void stitch_names_done(struct stitch_names *names)
{
	strings_done(&names->spans);
	strings_done(&names->categories);
	vector_done(&names->span_traces);
	vector_done(&names->category_traces);
	vector_done(&names->text);
}

static bool gets_prefix(const struct stitch_names *names, const struct strings *strings,
			const struct vector *traces, const char *name)
{
	uint32_t string;

	if (names->s->hosts[0])
		return true;
	if (names->s->options->prefix != CLEW_PREFIX_CONFLICT)
		return names->s->options->prefix == CLEW_PREFIX_ALWAYS;
	string = strings_find(strings, name);
	return string != CLEW_NONE && ((const uint32_t *)traces->data)[string] == CLEW_NONE;
}

static const char *with_prefix(struct stitch_names *names, uint32_t trace, const char *name)
{
	size_t size = STITCH_PREFIX + strlen(name);
	char prefix[STITCH_PREFIX];

	if (vector_reserve(&names->text, size) < 0)
		return NULL;
	stitch_prefix(names->s, trace, prefix);
	snprintf(names->text.data, size, "%s%s", prefix, name);
	return names->text.data;
}

const char *stitch_span_name(struct stitch_names *names, uint32_t trace, uint32_t span)
{
	const struct clew_model *model = names->s->traces[trace];
	const char *name = clew_model_string(model, model->spans[span].name);

	return gets_prefix(names, &names->spans, &names->span_traces, name)
		       ? with_prefix(names, trace, name)
		       : name;
}

const char *stitch_category_name(struct stitch_names *names, uint32_t trace, uint32_t category)
{
	const struct clew_model *model = names->s->traces[trace];
	const char *name = long_name(names, model, category);
	bool prefix = name && gets_prefix(names, &names->categories, &names->category_traces, name);

	if (!name)
		return NULL;
	name = clew_model_string(model, model->categories[category].name);
	return prefix ? with_prefix(names, trace, name) : name;
}

bool stitch_is_renamed(struct stitch_names *names, uint32_t trace, const char *name)
{
	uint32_t string = clew_model_find_string(names->s->traces[trace], name);

	/* Where all get a prefix it is still only names of spans that do. */
	return string != CLEW_NONE && strings_find(&names->spans, name) != CLEW_NONE &&
	       gets_prefix(names, &names->spans, &names->span_traces, name);
}
