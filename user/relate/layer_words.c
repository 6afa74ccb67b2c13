/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the values of a layer's point to the words of an ANNOUNCE record. A word
 * that does not fit is left out: a word cut short would name something else.
 */
#include "relate/layer.h"
#include <stdio.h>
#include <string.h>

const struct clew_layer_point *clew_layers_point(const struct clew_layers *layers, size_t number,
						 const struct clew_layer **ret_layer,
						 const struct clew_layer_call **ret_call)
{
	for (size_t i = 0; i < layers->count; i++) {
		const struct clew_layer *layer = &layers->layers[i];

		for (size_t k = 0; k < layer->call_count; k++) {
			const struct clew_layer_call *call = &layer->calls[k];
			size_t points = call->end.provider ? 2 : 1;

			if (number >= points) {
				number -= points;
				continue;
			}
			if (ret_layer)
				*ret_layer = layer;
			if (ret_call)
				*ret_call = call;
			return number ? &call->end : &call->begin;
		}
	}
	return NULL;
}

static size_t put_word(char *text, size_t used, size_t room, const char *name, const char *value)
{
	int length = snprintf(text + used, room - used, "%s%s%s", name, value ? "=" : "",
			      value ? value : "");

	return length >= 0 && (size_t)length < room - used ? used + (size_t)length + 1 : used;
}

size_t clew_layers_words(const struct clew_layers *layers, size_t number, const void *values,
			 size_t size, unsigned unknown, char *ret_text, size_t room)
{
	const struct clew_layer *layer;
	const struct clew_layer_call *call;
	const struct clew_layer_point *point = clew_layers_point(layers, number, &layer, &call);
	const char *at = values, *end = at + size;
	size_t used;

	if (!point)
		return 0;
	used = put_word(ret_text, 0, room, layer->name, NULL);
	used = put_word(ret_text, used, room, call->operation, NULL);
	for (uint32_t i = 0; i < point->point.count; i++) {
		char digits[32];
		uint64_t value;

		if (unknown >> i & 1)
			continue;
		if (point->point.values[i].is_text) {
			const char *nul = memchr(at, 0, (size_t)(end - at));

			if (!nul)
				break;
			used = put_word(ret_text, used, room, point->names[i], at);
			at = nul + 1;
			continue;
		}
		if (end - at < (ptrdiff_t)sizeof(value))
			break;
		memcpy(&value, at, sizeof(value));
		at += sizeof(value);
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
		used = put_word(ret_text, used, room, point->names[i], digits);
	}
	return used;
}
