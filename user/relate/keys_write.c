/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writing the keys of announced calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vector.h"
#include "relate/keys_format.h"

#define ALIGNMENT    8
#define CALLERS_MOST UINT16_MAX
#define WORDS_MOST   UINT8_MAX

struct writing {
	const struct clew_relations *relations;
	const struct clew_trace *trace;
	FILE *out;
	uint64_t at; /* bytes written */
	struct keys_tail tail;
	struct map name_places, kind_places, task_places;
	struct vector names; /* bytes */
	struct vector kinds, tasks;
};

uint64_t keys_hash(const char *value)
{
	return hash_text(HASH_SEED, value);
}

static void put(struct writing *it, const void *bytes, size_t size)
{
	/* Without a size there may be no bytes. */
	if (size)
		fwrite(bytes, 1, size, it->out);
	it->at += size;
}

static void align(struct writing *it)
{
	static const char zeros[ALIGNMENT];

	put(it, zeros, (ALIGNMENT - it->at % ALIGNMENT) % ALIGNMENT);
}

static void begin_section(struct writing *it, enum keys_section section)
{
	align(it);
	it->tail.sections[section].at = it->at;
}

static void end_section(struct writing *it, enum keys_section section)
{
	it->tail.sections[section].bytes = it->at - it->tail.sections[section].at;
}

static void put_section(struct writing *it, enum keys_section section, const void *bytes,
			size_t size)
{
	begin_section(it, section);
	put(it, bytes, size);
	end_section(it, section);
}

/* ---- what many calls share ---- */

/* The place of a text in the names. */
static int name_place(struct writing *it, const char *text, uint32_t *ret_place)
{
	size_t size = strlen(text) + 1;
	uint64_t hash = hash_bytes(HASH_SEED, text, size);
	const uint64_t *known = map_get(&it->name_places, hash, (uint32_t)size);

	if (known) {
		*ret_place = (uint32_t)*known;
		return 0;
	}
	if (it->names.count + size >= KEYS_ATTRIBUTE)
		return -EFBIG;
	*ret_place = (uint32_t)it->names.count;
	if (vector_reserve(&it->names, it->names.count + size) < 0)
		return -ENOMEM;
	memcpy((char *)it->names.data + it->names.count, text, size);
	it->names.count += size;
	return map_set(&it->name_places, hash, (uint32_t)size, *ret_place);
}

static int add_shared(struct vector *vector, const void *item, struct map *map, uint64_t key,
		      uint32_t *ret_index)
{
	*ret_index = (uint32_t)vector->count;
	if (vector_reserve(vector, vector->count + 1) < 0)
		return -ENOMEM;
	memcpy((char *)vector->data + vector->count++ * vector->item, item, vector->item);
	return map_set(map, key, 0, *ret_index);
}

static int kind_index(struct writing *it, const struct clew_activity *activity, uint32_t *ret_index)
{
	const char *calls = activity->calls ?: "";
	uint64_t key = hash_mix(activity->name, keys_hash(calls) + activity->is_async);
	const uint64_t *known = map_get(&it->kind_places, key, 0);
	struct keys_kind kind = {.is_async = activity->is_async};
	int r;

	if (known) {
		*ret_index = (uint32_t)*known;
		return 0;
	}
	r = name_place(it, activity->interface, &kind.interface);
	if (r >= 0)
		r = name_place(it, activity->operation, &kind.operation);
	if (r >= 0)
		r = name_place(it, calls, &kind.calls);
	return r < 0 ? r : add_shared(&it->kinds, &kind, &it->kind_places, key, ret_index);
}

static int task_index(struct writing *it, const struct clew_activity *activity, uint32_t *ret_index)
{
	const char *comm = clew_trace_comm_at(it->trace, activity->task, activity->begin);
	const struct clew_trace_task *task = clew_trace_task(it->trace, activity->task);
	size_t length = strnlen(comm, CLEW_COMM_SIZE - 1);
	uint64_t key = hash_mix(hash_bytes(HASH_SEED, comm, length), activity->task);
	const uint64_t *known = map_get(&it->task_places, key, 0);
	struct keys_task kept = {.tid = task ? task->tid : 0, .pid = task ? task->pid : 0};

	if (known) {
		*ret_index = (uint32_t)*known;
		return 0;
	}
	memcpy(kept.comm, comm, length);
	return add_shared(&it->tasks, &kept, &it->task_places, key, ret_index);
}

/* ---- calls ---- */

static const struct clew_relation *relation_of(const struct writing *it,
					       const struct clew_activity *activity)
{
	size_t count;

	return activity->relation == CLEW_NO_NUMBER
		       ? NULL
		       : clew_relations_list(it->relations, &count) + activity->relation;
}

static uint32_t callers_of(const struct clew_relation *relation)
{
	uint32_t count = relation ? relation->upper_count : 0;

	return count < CALLERS_MOST ? count : CALLERS_MOST;
}

static unsigned words_of(const struct clew_activity *activity)
{
	unsigned count = activity->descriptor_count + activity->attribute_count;

	return count < WORDS_MOST ? count : WORDS_MOST;
}

static int put_call(struct writing *it, const struct clew_activity *activity, uint64_t *words)
{
	const struct clew_relation *relation = relation_of(it, activity);
	struct keys_call call = {
		.begin = activity->begin,
		.end = activity->end,
		.token = activity->token,
		.words = *words,
		.parent = activity->parent,
		.caller_count = (uint16_t)callers_of(relation),
		.word_count = (uint8_t)words_of(activity),
		.evidence = relation ? relation->evidence : 0,
		.flags = relation && relation->bridged ? KEYS_CALL_BRIDGED : 0,
	};
	int r = kind_index(it, activity, &call.kind);

	if (r >= 0)
		r = task_index(it, activity, &call.task);
	*words += sizeof(uint32_t) * call.caller_count;
	for (unsigned i = 0; i < call.word_count; i++)
		*words += sizeof(uint32_t) + strlen(activity->descriptors[i].value) + 1;
	put(it, &call, sizeof(call));
	return r;
}

static int put_words(struct writing *it, const struct clew_activity *activity)
{
	const struct clew_relation *relation = relation_of(it, activity);
	int r = 0;

	put(it, relation ? relation->uppers : NULL, callers_of(relation) * sizeof(uint32_t));
	for (unsigned i = 0; i < words_of(activity) && r >= 0; i++) {
		const struct clew_descriptor *word = &activity->descriptors[i];
		uint32_t type;

		r = name_place(it, word->type, &type);
		if (r >= 0 && i >= activity->descriptor_count)
			type |= KEYS_ATTRIBUTE;
		put(it, &type, sizeof(type));
		put(it, word->value, strlen(word->value) + 1);
	}
	return r;
}

static int put_calls(struct writing *it, const struct clew_activity *all, size_t count)
{
	uint64_t words = 0;
	int r = 0;

	begin_section(it, KEYS_CALLS);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = put_call(it, &all[i], &words);
	end_section(it, KEYS_CALLS);
	begin_section(it, KEYS_WORDS);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = put_words(it, &all[i]);
	end_section(it, KEYS_WORDS);
	return r;
}

/* The sort is stable: calls of one value stay in order of begin. */
static int put_entries(struct writing *it, const struct clew_activity *all, size_t count)
{
	size_t total = 0, next = 0;
	struct sort_key *keys;

	for (size_t i = 0; i < count; i++)
		total += words_of(&all[i]);
	keys = malloc((2 * total + 1) * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < words_of(&all[i]); k++)
			keys[next++] =
				(struct sort_key){.key = keys_hash(all[i].descriptors[k].value),
						  .index = (uint32_t)i};
	sort_keys(keys, keys + total, total);
	put_section(it, KEYS_ENTRIES, keys, total * sizeof(*keys));
	free(keys);
	return 0;
}

int clew_keys_write(const struct clew_relations *relations, const struct clew_keys_stamp *stamp,
		    const struct clew_keys_about *about, FILE *out)
{
	struct writing it = {
		.relations = relations,
		.trace = clew_relations_trace(relations),
		.out = out,
		.tail = {.stamp = *stamp,
			 .about = *about,
			 .version = KEYS_VERSION,
			 .magic = KEYS_MAGIC},
		.names.item = 1,
		.kinds.item = sizeof(struct keys_kind),
		.tasks.item = sizeof(struct keys_task),
	};
	size_t count;
	const struct clew_activity *all = clew_relations_activities(relations, &count);
	int r = put_calls(&it, all, count);

	if (r >= 0)
		r = put_entries(&it, all, count);
	if (r >= 0) {
		put_section(&it, KEYS_KINDS, it.kinds.data, it.kinds.count * it.kinds.item);
		put_section(&it, KEYS_TASKS, it.tasks.data, it.tasks.count * it.tasks.item);
		put_section(&it, KEYS_NAMES, it.names.data, it.names.count);
	}
	align(&it);
	put(&it, &it.tail, sizeof(it.tail));
	map_done(&it.name_places);
	map_done(&it.kind_places);
	map_done(&it.task_places);
	vector_done(&it.names);
	vector_done(&it.kinds);
	vector_done(&it.tasks);
	return r;
}
