/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The points of runtimes in each file of an object that their descriptions are for. */
#include "cli/one/functions_runtime.h"

#include <stdlib.h>
#include <unistd.h>

#include "answers/functions/runtimes.h"
#include "cli/front/fail.h"
#include "cli/operand/layers.h"
#include "record/stacks/objects.h"

struct showing {
	struct clew_json json;
	struct clew_probe_cost cost;
	bool as_json;
	size_t shown, refused;
};

static int show(struct showing *showing, const struct clew_runtime *runtime,
		const struct clew_object *object)
{
	struct clew_runtime_shown shown = {.runtime = runtime, .path = object->path};
	int copy, r = clew_open_read(&object->file, CLEW_OPEN_WHOLE, &copy);

	if (r < 0)
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s", object->path, clew_open_error(r));
	r = runtime_find(runtime, copy, object->path, showing->cost.long_nops_stepped,
			 &shown.found);
	close(copy);
	if (r >= 0 && (shown.found.points || shown.found.why[0])) {
		if (showing->as_json)
			clew_json_runtime(&showing->json, &shown, &showing->cost);
		else
			clew_print_runtime(stdout, &shown, &showing->cost);
		showing->shown++;
		showing->refused += shown.found.why[0] != '\0';
	}
	runtime_found_done(&shown.found);
	return r < 0 ? clew_fail_memory() : 0;
}

static int show_all(struct showing *showing, const struct clew_layers *layers,
		    const struct clew_objects *objects)
{
	int status = 0;

	for (size_t i = 0; !status && i < layers->runtime_count; i++)
		for (size_t k = 0; !status && k < objects->count; k++)
			if (runtime_wants(&layers->runtimes[i], objects->list[k].path))
				status = show(showing, &layers->runtimes[i], &objects->list[k]);
	return status;
}

int clew_functions_runtime(const char *runtimes, const char *object, bool json)
{
	struct showing showing = {.json = {.out = stdout}, .as_json = json};
	struct clew_message message;
	struct clew_objects objects;
	struct clew_layers *layers;
	bool all;
	char *text;
	int status = clew_load_layers(NULL, runtimes, &layers, &text, &all);

	if (status)
		return status;
	free(text);
	if (clew_objects_find(object, &objects, &message) < 0) {
		clew_layers_free(layers);
		return clew_fail(CLEW_EXIT_INPUT, "%s", message.text);
	}
	clew_probe_cost_measure(&showing.cost);
	if (json) {
		clew_json_answer(&showing.json);
		clew_json_array(&showing.json, "runtimes");
	}
	status = show_all(&showing, layers, &objects);
	if (json) {
		clew_json_array_end(&showing.json);
		clew_json_object_end(&showing.json);
		clew_json_end(&showing.json);
	}
	if (!status && !showing.shown && !json)
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "%s has none of these runtimes: --runtime auto looks for all "
				   "that are known",
				   object);
	clew_objects_done(&objects);
	clew_layers_free(layers);
	return status
		       ?: showing.refused && showing.refused == showing.shown ? CLEW_EXIT_NEGATIVE
									      : CLEW_EXIT_DONE;
}
