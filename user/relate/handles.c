/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles of a layer: numbers that only one process knows the meaning of. A
 * handle's descriptors come from the call that made it, by the rules of its
 * layer, and hold until a call drops the handle or makes it anew.
 */
#include "relate/internal.h"
#include <errno.h>
#include <string.h>

const struct clew_layer_call *relate_layer_call(const struct clew_relations *relations,
						const char *interface, const char *operation,
						const struct clew_layer **ret_layer)
{
	for (size_t i = 0; relations->layers && i < relations->layers->count; i++) {
		const struct clew_layer *layer = &relations->layers->layers[i];

		if (strcmp(layer->name, interface))
			continue;
		*ret_layer = layer;
		for (size_t k = 0; k < layer->call_count; k++)
			if (!strcmp(layer->calls[k].operation, operation))
				return &layer->calls[k];
	}
	return NULL;
}

bool relate_is_handle(const struct clew_layer *layer, const char *name)
{
	for (size_t i = 0; i < layer->call_count; i++) {
		const struct clew_layer_call *call = &layer->calls[i];

		for (uint32_t k = 0; k < call->rule_count; k++)
			if (!strcmp(call->rules[k].to, name) ||
			    (call->rules[k].kind == CLEW_LAYER_CARRY &&
			     !strcmp(call->rules[k].from, name)))
				return true;
	}
	return false;
}

static uint64_t handle_key(const char *layer, const char *name, const char *value)
{
	return relate_hash(relate_hash(relate_hash(HASH_SEED, layer), name), value);
}

const struct handle *relate_find_handle(const struct clew_relations *relations, uint32_t process,
					const char *layer, const char *name, const char *value)
{
	const uint64_t *place =
		map_get(&relations->handle_places, handle_key(layer, name, value), process);

	return place ? (const struct handle *)relations->handles.data + *place : NULL;
}

static const char *value_of(const struct relate_value *values, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(values[i].name, name))
			return values[i].value;
	return NULL;
}

/* Adds a handle's descriptors; `fresh`: forgets its former ones first. */
static int set_handle(struct clew_relations *relations, uint64_t key, uint32_t process,
		      const struct clew_descriptor *added, uint32_t count, bool fresh)
{
	const uint64_t *known = map_get(&relations->handle_places, key, process);
	const struct handle *before =
		known && !fresh ? (const struct handle *)relations->handles.data + *known : NULL;
	uint32_t kept = before ? before->count : 0;
	struct clew_descriptor *all;

	if (kept + count > RELATE_WORDS_MOST)
		return 0;
	all = arena_take(&relations->arena, (kept + count + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (kept)
		memcpy(all, before->descriptors, kept * sizeof(*all));
	if (count)
		memcpy(all + kept, added, count * sizeof(*all));
	if (known) {
		((struct handle *)relations->handles.data)[*known] =
			(struct handle){all, kept + count};
		return 0;
	}
	if (vector_reserve(&relations->handles, relations->handles.count + 1) < 0)
		return -ENOMEM;
	((struct handle *)relations->handles.data)[relations->handles.count] =
		(struct handle){all, kept + count};
	return map_set(&relations->handle_places, key, process, relations->handles.count++);
}

static int describe_handle(struct clew_relations *relations, uint64_t key, uint32_t process,
			   const struct clew_layer *layer, const char *name, const char *value,
			   bool fresh)
{
	char type[256];
	struct clew_descriptor descriptor = {.value = value};
	size_t length = strlen(layer->name) + strlen(name) + 1;

	if (length >= sizeof(type))
		return 0;
	strcpy(stpcpy(stpcpy(type, layer->name), "/"), name);
	descriptor.type = arena_copy(&relations->arena, type, length);
	if (!descriptor.type)
		return -ENOMEM;
	descriptor.hash = relate_hash(relate_hash(HASH_SEED, type), value);
	return set_handle(relations, key, process, &descriptor, 1, fresh);
}

int relate_apply_rules(struct clew_relations *relations, uint32_t process,
		       const struct clew_layer *layer, const struct clew_layer_call *call,
		       const struct relate_value *values, size_t count)
{
	uint64_t made = 0; /* the handle that the last rule was for */
	int r = 0;

	if (call->drops) {
		const char *value = value_of(values, count, call->begin.names[0]);

		if (value)
			map_remove(&relations->handle_places,
				   handle_key(layer->name, call->begin.names[0], value), process);
		return 0;
	}
	for (uint32_t i = 0; r >= 0 && i < call->rule_count; i++) {
		const struct clew_layer_rule *rule = &call->rules[i];
		const char *from = value_of(values, count, rule->from),
			   *to = value_of(values, count, rule->to);
		const struct handle *source;
		uint64_t key;

		if (!from || !to)
			continue;
		key = handle_key(layer->name, rule->to, to);
		if (rule->kind == CLEW_LAYER_DESC) {
			r = describe_handle(relations, key, process, layer, rule->from, from,
					    key != made);
		} else {
			source = relate_find_handle(relations, process, layer->name, rule->from,
						    from);
			r = set_handle(relations, key, process, source ? source->descriptors : NULL,
				       source ? source->count : 0, key != made);
		}
		made = key;
	}
	return r;
}
