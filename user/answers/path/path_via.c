/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The dependencies that a path follows. */
#include "answers/path/path_via.h"

#include <stdlib.h>
#include <string.h>

#include "format/text.h"

/*
 * The dependency by which a path reaches an element; CLEW_NONE: it is the
 * first, or follows its predecessor in the span.
 */
static uint32_t dependency_to(const struct clew_model *model, const struct clew_path *path,
			      uint32_t number)
{
	uint32_t es = path->es[number], in = model->es[es].in;

	if (number == 0 || in == CLEW_NONE || model->es[path->es[number - 1]].out != in)
		return CLEW_NONE;
	return in;
}

/*
 * The next word of a list, or its next TYPE=VALUE, with backslashes removed in
 * place. False: there is none.
 */
static bool next_word(char **at, char **ret_type, char **ret_value)
{
	char *from = *at, *to;

	while (*from == ' ')
		from++;
	if (!*from)
		return false;
	*ret_type = to = from;
	*ret_value = NULL;
	for (; *from && *from != ' '; from++) {
		if (*from == '=' && !*ret_value) {
			*to++ = '\0';
			*ret_value = to;
			continue;
		}
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	*at = *from ? from + 1 : from;
	*to = '\0';
	if (!*ret_value)
		*ret_value = to;
	return true;
}

/* A copy of an attribute for next_word(), to be freed; NULL: there is none. */
static char *copy_attribute(const struct clew_model *model, uint32_t list, const char *key)
{
	const char *text = clew_model_attribute(model, list, key);

	return text ? strdup(text) : NULL;
}

/* An attribute that is one word, without its backslashes. */
static char *copy_word(const struct clew_model *model, uint32_t list, const char *key)
{
	char *text = copy_attribute(model, list, key), *from, *to;

	for (from = to = text; from && *from; from++) {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	if (to)
		*to = '\0';
	return text;
}

static void json_call(struct clew_json *json, const struct clew_model *model, uint32_t list)
{
	char *called = copy_word(model, list, "called"), *caller = copy_word(model, list, "caller");
	char *words = copy_attribute(model, list, "descriptors"), *at = words, *type, *value;

	clew_json_bool(json, "bridged", clew_model_attribute(model, list, "bridged") != NULL);
	clew_json_string(json, "called", called);
	clew_json_string(json, "caller", caller);
	clew_json_object(json, "descriptors");
	while (at && next_word(&at, &type, &value))
		clew_json_string(json, type, value);
	clew_json_object_end(json);
	free(called);
	free(caller);
	free(words);
}

void clew_json_via_dependency(struct clew_json *json, const struct clew_model *model,
			      const struct clew_path *path, uint32_t number)
{
	uint32_t dependency = dependency_to(model, path, number), list;

	if (dependency == CLEW_NONE)
		return;
	list = model->dependencies[dependency].attributes;
	clew_json_object(json, "via");
	clew_json_unsigned(json, "dep", dependency + 1);
	clew_json_string(
		json, "type",
		clew_model_string(model, model->types[model->dependencies[dependency].type]));
	clew_json_string(json, "evidence", clew_model_attribute(model, list, "evidence"));
	if (clew_model_attribute(model, list, "called"))
		json_call(json, model, list);
	clew_json_object_end(json);
}

void clew_print_via_call(FILE *out, const struct clew_model *model, const struct clew_path *path,
			 uint32_t number)
{
	uint32_t dependency = dependency_to(model, path, number), list;
	char *called, *caller, *words, *at, *type, *value;
	const char *evidence;
	bool any = false;

	if (dependency == CLEW_NONE)
		return;
	list = model->dependencies[dependency].attributes;
	if (!clew_model_attribute(model, list, "called"))
		return;
	called = copy_word(model, list, "called");
	caller = copy_word(model, list, "caller");
	evidence = clew_model_attribute(model, list, "evidence");
	at = words = copy_attribute(model, list, "descriptors");
	fprintf(out, ", %s ",
		clew_model_string(model, model->types[model->dependencies[dependency].type]));
	clew_print_safe(out, called ?: "?");
	fputs(" for ", out);
	clew_print_safe(out, caller ?: "?");
	fputs(" (", out);
	clew_print_safe(out, evidence ?: "?");
	fputs(clew_model_attribute(model, list, "bridged") ? ", bridged)" : ")", out);
	while (at && next_word(&at, &type, &value)) {
		fputs(any ? " " : "  [", out);
		any = true;
		clew_print_safe(out, type);
		fputc('=', out);
		clew_print_safe(out, value);
	}
	if (any)
		fputc(']', out);
	free(called);
	free(caller);
	free(words);
}
