/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes descriptions of layers. Whatever the text is: no crash, an error has a message
 * with a line; of what was taken every point is found by its number, within its bounds,
 * and gives words of whatever bytes the kernel side may send.
 */
#include "relate/layer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whatever a runtime's events refer to is there. */
static void try_runtime(const struct clew_runtime *runtime)
{
	for (size_t i = 0; i < runtime->event_count; i++) {
		const struct clew_runtime_event *event = &runtime->events[i];
		const struct clew_runtime_point *point = &runtime->points[event->point];

		if (event->point >= runtime->point_count || event->span >= runtime->span_count ||
		    (event->outer != CLEW_RUNTIME_NONE && event->outer >= runtime->point_count))
			abort();
		for (unsigned k = 0; k < event->value_count; k++) {
			const struct clew_runtime_value *value = &event->values[k];
			const struct clew_runtime_point *at =
				value->expression.at == CLEW_AT_POINT
					? point
					: &runtime->points[event->outer];

			if (value->slot != CLEW_RUNTIME_NONE && value->slot >= at->value_count)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_point(const struct clew_layers *layers, size_t number, const uint8_t *data,
		      size_t size)
{
	const struct clew_layer *layer;
	const struct clew_layer_call *call;
	const struct clew_layer_point *point = clew_layers_point(layers, number, &layer, &call);
	char text[CLEW_ANNOUNCE_TEXT];
	size_t length;

	if (!point || !point->provider || !point->probe || point->point.count > CLEW_POINT_VALUES ||
	    call->rule_count > CLEW_LAYER_RULES)
		abort();
	for (uint32_t i = 0; i < point->point.count; i++) {
		const struct clew_point_value *value = &point->point.values[i];

		if (!point->names[i] || value->argument >= CLEW_SITE_ARGUMENTS ||
		    value->steps[CLEW_POINT_STEPS - 1].size)
			abort();
		for (unsigned k = 0; k < CLEW_POINT_STEPS; k++)
			if (value->steps[k].size > 8)
				abort();
	}
	length = clew_layers_words(layers, number, data, size, size ? data[0] : 0, text,
				   sizeof(text));
	if (length > sizeof(text) || (length && text[length - 1] != '\0'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clew_layers *layers;
	char message[300];
	int r = clew_layers_read((const char *)data, size, "layer", &layers, message,
				 sizeof(message));

	if (r == -EINVAL) {
		if (strncmp(message, "layer:", strlen("layer:")) != 0)
			abort();
		return 0;
	}
	if (r < 0)
		abort();
	for (size_t i = 0; i < layers->point_count; i++)
		try_point(layers, i, data, size);
	for (size_t i = 0; i < layers->runtime_count; i++)
		try_runtime(&layers->runtimes[i]);
	if (clew_layers_point(layers, layers->point_count, NULL, NULL))
		abort();
	clew_layers_free(layers);
	return 0;
}
