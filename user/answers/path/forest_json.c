/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A spawning forest as JSON. */
#include "answers/path/forest_text.h"
#include "answers/path/model_json.h"
#include "words/truth.h"

static void json_root(struct clew_json *json, const struct grove *grove, uint32_t root)
{
	const struct clew_model *model = grove->model;
	uint32_t spawner = clew_forest_spawner(grove->forest, root),
		 at = clew_forest_spawned_at(grove->forest, root);

	clew_json_object(json, NULL);
	clew_json_unsigned(json, "id", root);
	clew_json_span(json, "span", model, root);
	clew_json_signed(json, "start", model->spans[root].start);
	clew_json_signed(json, "end", model->spans[root].end);
	if (spawner == CLEW_NONE) {
		clew_json_null(json, "spawner");
	} else {
		clew_json_object(json, "spawner");
		clew_json_unsigned(json, "id", spawner);
		clew_json_span(json, "span", model, spawner);
		clew_json_string(json, "type", grove_type_name(grove, model->es[at].in));
		clew_json_unsigned(json, "dep", model->es[at].in + 1);
		clew_json_signed(json, "at",
				 model->es[clew_model_trigger(model, model->es[at].in)].end);
		clew_json_object_end(json);
	}
	clew_json_object_end(json);
}

void clew_json_forest(const struct grove *grove)
{
	const struct clew_model *model = grove->model;
	struct clew_json json = {.out = stdout};
	uint32_t count;

	clew_json_answer(&json);
	clew_json_array(&json, "types");
	for (size_t i = 0; i < grove->rule_count; i++) {
		clew_json_object(&json, NULL);
		clew_json_string(&json, "type",
				 clew_model_string(model, model->types[grove->rules[i].type]));
		clew_json_bool(&json, "first_only", grove->rules[i].first_only);
		clew_json_bool(&json, "several", grove->rules[i].several_times);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_array(&json, "roots");
	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling)
		json_root(&json, grove, root);
	clew_json_array_end(&json);
	clew_json_array(&json, "spawners");
	for (uint32_t span = 0; span < model->span_count; span++) {
		const uint32_t *spawned = clew_forest_spawned(grove->forest, span, &count);

		if (!count)
			continue;
		clew_json_object(&json, NULL);
		clew_json_unsigned(&json, "id", span);
		clew_json_span(&json, "span", model, span);
		clew_json_array(&json, "spawned");
		for (uint32_t i = 0; i < count; i++)
			clew_json_unsigned(&json, NULL, spawned[i]);
		clew_json_array_end(&json);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
