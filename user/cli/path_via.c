// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The dependencies that a path goes along. See path_via.h. */
#include "path_via.h"

#include <string.h>

#include "text.h"

/* The dependency by which a path comes to an element; CLEW_NONE: the element follows the one before in its span, or is the first. */
static uint32_t dependency_to(const struct clew_model *model, const struct clew_path *path, uint32_t number)
{
	uint32_t es = path->es[number], in = model->es[es].in;

	if (number == 0 || in == CLEW_NONE || model->es[path->es[number - 1]].out != in)
		return CLEW_NONE;
	return in;
}

/* The next word TYPE=VALUE of a list, both without their backslashes; false: there is none. */
static bool next_word(const char **at, char *type, char *value, size_t size)
{
	char *to = type;
	size_t used = 0;

	*type = *value = '\0';
	while (**at == ' ')
		(*at)++;
	if (!**at)
		return false;
	for (; **at && **at != ' '; (*at)++) {
		if (**at == '=' && to == type) {
			to = value;
			used = 0;
			continue;
		}
		if (**at == '\\' && (*at)[1])
			(*at)++;
		if (used + 1 < size) {
			to[used++] = **at;
			to[used] = '\0';
		}
	}
	return true;
}

void clew_json_via_dependency(struct clew_json *json, const struct clew_model *model, const struct clew_path *path, uint32_t number)
{
	uint32_t dependency = dependency_to(model, path, number), list;
	const char *called, *words;
	char type[512], value[512];

	if (dependency == CLEW_NONE)
		return;
	list = model->dependencies[dependency].attributes;
	clew_json_object(json, "via");
	clew_json_unsigned(json, "dep", dependency + 1);
	clew_json_string(json, "type", clew_model_string(model, model->types[model->dependencies[dependency].type]));
	clew_json_string(json, "evidence", clew_model_attribute(model, list, "evidence"));
	called = clew_model_attribute(model, list, "called");
	if (called) {
		clew_json_bool(json, "bridged", clew_model_attribute(model, list, "bridged") != NULL);
		clew_json_string(json, "called", called);
		clew_json_string(json, "caller", clew_model_attribute(model, list, "caller"));
		clew_json_object(json, "descriptors");
		words = clew_model_attribute(model, list, "descriptors");
		while (words && next_word(&words, type, value, sizeof(value)))
			clew_json_string(json, type, value);
		clew_json_object_end(json);
	}
	clew_json_object_end(json);
}

void clew_print_via_call(FILE *out, const struct clew_model *model, const struct clew_path *path, uint32_t number)
{
	uint32_t dependency = dependency_to(model, path, number), list;
	const char *called, *caller, *evidence, *words;

	if (dependency == CLEW_NONE)
		return;
	list = model->dependencies[dependency].attributes;
	called = clew_model_attribute(model, list, "called");
	if (!called)
		return;
	caller = clew_model_attribute(model, list, "caller");
	evidence = clew_model_attribute(model, list, "evidence");
	words = clew_model_attribute(model, list, "descriptors");
	fprintf(out, ", %s ", clew_model_string(model, model->types[model->dependencies[dependency].type]));
	clew_print_safe(out, called);
	fputs(" for ", out);
	clew_print_safe(out, caller ?: "?");
	fputs(" (", out);
	clew_print_safe(out, evidence ?: "?");
	fputs(clew_model_attribute(model, list, "bridged") ? ", bridged)" : ")", out);
	if (words) {
		fputs("  [", out);
		clew_print_safe(out, words);
		fputc(']', out);
	}
}
