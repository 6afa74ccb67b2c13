/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of events, and their values and points by name and number.
 */
#include "relate/runtime.h"

#include <string.h>

#include "relate/layer.h"

static const char *const verb_words[CLEW_VERBS] = {
	[CLEW_VERB_SUBMIT] = "submit", [CLEW_VERB_START] = "start",
	[CLEW_VERB_END] = "end",       [CLEW_VERB_SUSPEND] = "suspend",
	[CLEW_VERB_RESUME] = "resume", [CLEW_VERB_READY] = "ready",
	[CLEW_VERB_CANCEL] = "cancel", [CLEW_VERB_WAIT] = "wait",
	[CLEW_VERB_WAITED] = "waited", [CLEW_VERB_WAKE] = "wake",
	[CLEW_VERB_NAME] = "name",     [CLEW_VERB_AFTER] = "after",
	[CLEW_VERB_STATE] = "state",   [CLEW_VERB_WANT] = "want",
};

const char *clew_event_verb_word(unsigned verb)
{
	return verb < CLEW_VERBS ? verb_words[verb] : "?";
}

const struct clew_runtime_value *clew_event_value(const struct clew_runtime_event *event,
						  const char *name)
{
	for (uint32_t i = 0; i < event->value_count; i++)
		if (!strcmp(event->values[i].name, name))
			return &event->values[i];
	return NULL;
}

const struct clew_runtime_point *clew_runtime_point(const struct clew_layers *layers, size_t number,
						    const struct clew_runtime **ret_runtime)
{
	for (size_t i = 0; i < layers->runtime_count; i++) {
		const struct clew_runtime *runtime = &layers->runtimes[i];

		if (runtime->point_count &&
		    number - runtime->points[0].number < runtime->point_count) {
			if (ret_runtime)
				*ret_runtime = runtime;
			return &runtime->points[number - runtime->points[0].number];
		}
	}
	return NULL;
}
