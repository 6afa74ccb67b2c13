/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A causal trace in JSON. */
#include "answers/path/model_json.h"

#include <clew/tokens.h>
#include <stdlib.h>

void clew_json_span(struct clew_json *json, const char *key, const struct clew_model *model,
		    uint32_t span)
{
	char *path = span == CLEW_NONE ? NULL : clew_model_span_path(model, span);

	clew_json_string(json, key, path);
	free(path);
}

static const char *type_name(const struct clew_model *model, uint32_t dependency)
{
	return clew_model_string(model, model->types[model->dependencies[dependency].type]);
}

static void json_attributes(struct clew_json *json, const struct clew_model *model, uint32_t list)
{
	if (list == CLEW_NONE)
		return;
	for (uint32_t i = model->attribute_lists[list]; i < model->attribute_lists[list + 1]; i++)
		clew_json_string(json, clew_model_string(model, model->attributes[i].key),
				 clew_model_string(model, model->attributes[i].value));
}

static void json_attribute_object(struct clew_json *json, const struct clew_model *model,
				  uint32_t list)
{
	clew_json_object(json, "attributes");
	json_attributes(json, model, list);
	clew_json_object_end(json);
}

static void json_link(struct clew_json *json, const char *key, const struct clew_model *model,
		      uint32_t dependency)
{
	if (dependency == CLEW_NONE) {
		clew_json_null(json, key);
		return;
	}
	clew_json_object(json, key);
	clew_json_unsigned(json, "dep", dependency + 1);
	clew_json_string(json, "type", type_name(model, dependency));
	clew_json_object_end(json);
}

static void json_elementary(struct clew_json *json, const struct clew_model *model, uint32_t number)
{
	const struct clew_es *es = &model->es[number];
	struct clew_range marks = clew_model_marks(model, number);

	clew_json_object(json, NULL);
	clew_json_signed(json, "start", es->start);
	clew_json_signed(json, "end", es->end);
	json_link(json, "in", model, es->in);
	json_link(json, "out", model, es->out);
	clew_json_array(json, "marks");
	for (uint32_t i = marks.first; i < marks.first + marks.count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "label", clew_model_string(model, model->marks[i].label));
		clew_json_signed(json, "at", model->marks[i].at);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	if (es->wait == CLEW_NONE) {
		clew_json_null(json, "wait");
	} else {
		const struct clew_model_wait *wait = &model->waits[es->wait];

		clew_json_object(json, "wait");
		clew_json_string(json, "kind", clew_wait_kind_name(wait->kind));
		json_attributes(json, model, wait->attributes);
		clew_json_object_end(json);
	}
	clew_json_object_end(json);
}

static void json_spans(struct clew_json *json, const struct clew_model *model)
{
	clew_json_array(json, "spans");
	for (uint32_t i = 0; i < model->span_count; i++) {
		const struct clew_span *span = &model->spans[i];

		clew_json_object(json, NULL);
		clew_json_span(json, "path", model, i);
		clew_json_signed(json, "start", span->start);
		clew_json_signed(json, "end", span->end);
		clew_json_array(json, "elementary");
		for (uint32_t j = 0; j < span->elementary.count; j++)
			json_elementary(json, model, span->elementary.first + j);
		clew_json_array_end(json);
		json_attribute_object(json, model, span->attributes);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_endpoint(struct clew_json *json, const struct clew_model *model, uint32_t number)
{
	uint32_t span = model->es[number].span;

	clew_json_object(json, NULL);
	clew_json_span(json, "span", model, span);
	clew_json_unsigned(json, "es", number - model->spans[span].elementary.first);
}

static void json_dependencies(struct clew_json *json, const struct clew_model *model)
{
	static const char *const modes[] = {
		[CLEW_MODE_SINGLE] = "single", [CLEW_MODE_AND] = "and", [CLEW_MODE_OR] = "or"};

	clew_json_array(json, "dependencies");
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *dependency = &model->dependencies[i];

		clew_json_object(json, NULL);
		clew_json_unsigned(json, "dep", i + 1);
		clew_json_string(json, "type", type_name(model, i));
		clew_json_string(json, "mode", modes[dependency->mode]);
		clew_json_array(json, "origins");
		for (uint32_t j = 0; j < dependency->origins.count; j++) {
			json_endpoint(json, model, model->origins[dependency->origins.first + j]);
			clew_json_bool(json, "trigger", j == 0);
			clew_json_object_end(json);
		}
		clew_json_array_end(json);
		clew_json_array(json, "destinations");
		for (uint32_t j = 0; j < dependency->destinations.count; j++) {
			json_endpoint(json, model,
				      model->destinations[dependency->destinations.first + j]);
			clew_json_object_end(json);
		}
		clew_json_array_end(json);
		json_attribute_object(json, model, dependency->attributes);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_category(struct clew_json *json, const struct clew_model *model, uint32_t category)
{
	char *path = clew_model_category_path(model, category);
	uint32_t count;
	const uint32_t *spans = clew_model_category_spans(model, category, &count);

	clew_json_object(json, NULL);
	clew_json_string(json, "path", path);
	free(path);
	clew_json_array(json, "spans");
	for (uint32_t i = 0; i < count; i++)
		clew_json_span(json, NULL, model, spans[i]);
	clew_json_array_end(json);
	clew_json_object_end(json);
}

static void json_categories(struct clew_json *json, const struct clew_model *model)
{
	clew_json_object(json, "categories");
	for (uint32_t i = 0; i < model->hierarchy_count; i++) {
		clew_json_array(json, clew_model_string(model, model->hierarchies[i]));
		for (uint32_t j = 0; j < model->category_count; j++)
			if (model->categories[j].hierarchy == i)
				json_category(json, model, j);
		clew_json_array_end(json);
	}
	clew_json_object_end(json);
}

void clew_json_model(struct clew_json *json, const struct clew_model *model)
{
	json_spans(json, model);
	json_dependencies(json, model);
	json_categories(json, model);
	clew_json_array(json, "types");
	for (uint32_t i = 0; i < model->type_count; i++)
		clew_json_string(json, NULL, clew_model_string(model, model->types[i]));
	clew_json_array_end(json);
	clew_json_string(json, "unit",
			 model->unit == 1000000000 ? "s"
			 : model->unit == 1000000  ? "ms"
			 : model->unit == 1000	   ? "us"
						   : "ns");
}
