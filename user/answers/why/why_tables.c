/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of a why. A value is known by a key of addresses in the trace and of other numbers; one
 * that is not is written, and found by its text if it is equal to another.
 */
#include "answers/why/why_tables.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "words/descriptors.h"
#include "words/functions.h"
#include "words/hops.h"
#include "words/link.h"
#include "words/object.h"
#include "words/other_end.h"
#include "words/task.h"

enum { CALLERS_MOST = 16 };

/* Kinds of the addresses and numbers by which objects are known. */
enum object_key {
	OBJECT_OF_SLEEP,
	OBJECT_UNKNOWN, /* of a sleep that could not be followed; plus the kind of the wait */
	OBJECT_OF_SPIN = OBJECT_UNKNOWN + UINT8_MAX + 1,
	OBJECT_TASK,
	OBJECT_OF_LINK, /* plus the kind of the link */
};

int why_tables_begin(struct why_tables *tables, const struct clew_trace *trace,
		     const struct clew_relations *relations)
{
	struct clew_json_table *all[] = {&tables->tasks, &tables->objects, &tables->hops,
					 &tables->calls, &tables->activities};
	int r;

	*tables = (struct why_tables){.trace = trace, .relations = relations};
	r = clew_stack_table_begin(&tables->stacks, clew_trace_has_stacks(trace) ? trace : NULL);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && r == 0; i++)
		r = clew_json_table_begin(all[i]);
	if (r < 0)
		why_tables_done(tables);
	return r;
}

static int write_if_any(struct clew_json_table *table, struct clew_json *json, const char *key)
{
	return table->places.count ? clew_json_table_write(table, json, key) : table->error;
}

int why_tables_write(struct why_tables *tables, struct clew_json *json)
{
	int r = tables->error;

	if (r == 0)
		r = clew_json_table_write(&tables->tasks, json, "tasks");
	if (r == 0)
		r = clew_json_table_write(&tables->objects, json, "objects");
	if (r == 0)
		r = clew_stack_table_write(&tables->stacks, json);
	if (r == 0)
		r = clew_json_table_write(&tables->hops, json, "hops");
	if (r == 0)
		r = write_if_any(&tables->calls, json, "calls");
	if (r == 0)
		r = write_if_any(&tables->activities, json, "activities");
	return r;
}

void why_tables_done(struct why_tables *tables)
{
	clew_stack_table_done(&tables->stacks);
	clew_json_table_done(&tables->tasks);
	clew_json_table_done(&tables->objects);
	clew_json_table_done(&tables->hops);
	clew_json_table_done(&tables->calls);
	clew_json_table_done(&tables->activities);
	map_done(&tables->known_tasks);
	map_done(&tables->known_objects);
	map_done(&tables->known_hops);
	map_done(&tables->known_calls);
}

static uint32_t know(struct why_tables *tables, struct map *known, uint64_t key, uint32_t part,
		     uint32_t number)
{
	if (map_set(known, key, part, number) < 0)
		tables->error = -ENOMEM;
	return number;
}

/* ---- tasks ---- */

uint32_t why_task(struct why_tables *tables, uint32_t serial, uint64_t at)
{
	const struct clew_trace *trace = tables->trace;
	const struct clew_trace_task *task =
		serial == CLEW_NO_TASK ? NULL : clew_trace_task(trace, serial);
	struct clew_scheduled scheduled = {};
	const uint64_t *known;
	struct clew_json *json;
	uint64_t key = HASH_SEED;

	/* All that changes in the life of a task. */
	if (task) {
		scheduled = clew_trace_scheduled_at(trace, serial, at);
		key = hash_mix(key, (uintptr_t)clew_trace_comm_at(trace, serial, at));
		key = hash_mix(key, (uintptr_t)clew_process_name(trace, task, at));
		key = hash_mix(key, (uint64_t)scheduled.policy << 32 | (uint32_t)scheduled.value);
	}
	known = map_get(&tables->known_tasks, key, serial);
	if (known)
		return (uint32_t)*known;
	json = clew_json_table_open(&tables->tasks);
	clew_json_object(json, NULL);
	clew_json_task_fields(json, trace, serial, at);
	clew_json_object_end(json);
	return know(tables, &tables->known_tasks, key, serial,
		    clew_json_table_close(&tables->tasks));
}

/* The task on a CPU that has nothing to do. */
static uint32_t idle_task(struct why_tables *tables)
{
	struct clew_json *json = clew_json_table_open(&tables->tasks);

	clew_json_object(json, NULL);
	clew_json_unsigned(json, "pid", 0);
	clew_json_unsigned(json, "tid", 0);
	clew_json_string(json, "comm", "idle");
	clew_json_null(json, "process");
	clew_json_object_end(json);
	return clew_json_table_close(&tables->tasks);
}

/* ---- objects ---- */

static uint32_t object_of(struct why_tables *tables, const struct clew_object *object,
			  const struct clew_sleep *sleep)
{
	clew_json_object_of(clew_json_table_open(&tables->objects), NULL, tables->trace, object,
			    sleep);
	return clew_json_table_close(&tables->objects);
}

uint32_t why_sleep_object(struct why_tables *tables, const struct clew_sleep *sleep)
{
	uint64_t key = (uintptr_t)sleep;
	const uint64_t *known = map_get(&tables->known_objects, key, OBJECT_OF_SLEEP);

	return known ? (uint32_t)*known
		     : know(tables, &tables->known_objects, key, OBJECT_OF_SLEEP,
			    object_of(tables, &sleep->object, sleep));
}

uint32_t why_link_object(struct why_tables *tables, const struct clew_link *link)
{
	struct clew_object object = clew_link_object(link);
	uint32_t part = OBJECT_OF_LINK + link->kind;
	const uint64_t *known = map_get(&tables->known_objects, link->number, part);

	return known ? (uint32_t)*known
		     : know(tables, &tables->known_objects, link->number, part,
			    object_of(tables, &object, NULL));
}

/* A lock that was waited for by spinning. */
static uint32_t spin_object(struct why_tables *tables, const struct clew_spin *spin)
{
	uint64_t key = (uintptr_t)spin;
	const uint64_t *known = map_get(&tables->known_objects, key, OBJECT_OF_SPIN);

	if (known)
		return (uint32_t)*known;
	clew_json_spin_object(clew_json_table_open(&tables->objects), NULL, tables->trace, spin);
	return know(tables, &tables->known_objects, key, OBJECT_OF_SPIN,
		    clew_json_table_close(&tables->objects));
}

/* The task that had the CPU. */
static uint32_t runqueue_object(struct why_tables *tables, const struct clew_segment *segment)
{
	uint32_t serial = segment->by, by;
	bool unknown = serial == UINT32_MAX;
	const uint64_t *known;
	struct clew_json *json;
	char *name = NULL;
	uint64_t key;
	size_t size;
	FILE *out;

	by = unknown		      ? CLEW_JSON_NO_NUMBER
	     : serial == CLEW_NO_TASK ? idle_task(tables)
				      : why_task(tables, serial, segment->start);
	key = (uint64_t)serial << 32 | by;
	known = map_get(&tables->known_objects, key, OBJECT_TASK);
	if (known)
		return (uint32_t)*known;
	out = unknown ? NULL : open_memstream(&name, &size);
	if (out) {
		clew_print_task_name(out, tables->trace, serial, segment->start);
		fclose(out);
	}
	json = clew_json_table_open(&tables->objects);
	clew_json_object(json, NULL);
	clew_json_string(json, "kind", "task");
	clew_json_string(json, "name", name ?: "unknown");
	clew_json_table_number(json, "by", by);
	clew_json_object_end(json);
	free(name);
	return know(tables, &tables->known_objects, key, OBJECT_TASK,
		    clew_json_table_close(&tables->objects));
}

/*
 * A wait that could not be followed: the field's kind is the wait's kind, and
 * what it waited for is nested.
 */
static uint32_t unknown_object(struct why_tables *tables, const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep;
	const char *kind = clew_wait_kind_name(segment->unknown_kind);
	const char *call = sleep ? clew_call_name(sleep->call) : NULL;
	uint32_t on = sleep ? why_sleep_object(tables, sleep) : CLEW_JSON_NO_NUMBER;
	uint32_t part = OBJECT_UNKNOWN + segment->unknown_kind;
	const uint64_t *known = map_get(&tables->known_objects, (uintptr_t)sleep, part);
	struct clew_json *json;

	if (known)
		return (uint32_t)*known;
	json = clew_json_table_open(&tables->objects);
	clew_json_object(json, NULL);
	clew_json_string(json, "kind", kind);
	clew_json_string(json, "name", call ?: kind);
	clew_json_string(json, "wait", kind);
	clew_json_string(json, "call", call);
	clew_json_table_number(json, "on", on);
	clew_json_object_end(json);
	return know(tables, &tables->known_objects, (uintptr_t)sleep, part,
		    clew_json_table_close(&tables->objects));
}

uint32_t why_segment_object(struct why_tables *tables, const struct clew_segment *segment)
{
	if (segment->spin)
		return spin_object(tables, segment->spin);
	if (segment->link)
		return why_link_object(tables, segment->link);
	if (segment->kind == CLEW_SEGMENT_RUNQUEUE)
		return runqueue_object(tables, segment);
	if (segment->kind == CLEW_WAIT_UNKNOWN)
		return unknown_object(tables, segment);
	if (segment->kind != CLEW_SEGMENT_RUNNING && segment->sleep)
		return why_sleep_object(tables, segment->sleep);
	return CLEW_JSON_NO_NUMBER;
}

/* ---- hops ---- */

static void json_hop_stacks(struct why_tables *tables, struct clew_json *json,
			    const struct clew_sleep *sleep)
{
	uint32_t waker = CLEW_JSON_NO_NUMBER;

	if (!tables->stacks.trace)
		return;
	if (sleep)
		waker = clew_stack_of_waker(&tables->stacks, sleep->ended_by, sleep->raw_end);
	clew_json_table_number(json, "stack", clew_stack_of_sleep(&tables->stacks, sleep));
	clew_json_table_number(json, "waker_stack", waker);
}

static uint32_t write_hop(struct why_tables *tables, const struct clew_segment *segment,
			  uint32_t place, const struct clew_sleep *sleep, uint32_t task)
{
	const struct clew_retried *retried =
		sleep ? clew_trace_retried(tables->trace, sleep) : NULL;
	uint32_t object = sleep ? why_sleep_object(tables, sleep) : CLEW_JSON_NO_NUMBER;
	struct clew_hop_via via = segment->vias[place];
	struct clew_json *json = clew_json_table_open(&tables->hops);

	clew_json_object(json, NULL);
	clew_json_unsigned(json, "task", task);
	clew_json_string(json, "kind",
			 clew_wait_kind_name(sleep ? sleep->kind : CLEW_WAIT_UNKNOWN));
	clew_json_table_number(json, "object", object);
	clew_json_string(json, "via",
			 via.type < 0 ? NULL
				      : clew_trace_type_name(tables->trace, (unsigned)via.type));
	clew_json_string(json, "evidence", via.type < 0 ? NULL : clew_evidence_name(via.evidence));
	if (retried)
		clew_json_unsigned(json, "slices", retried->slices);
	if (clew_has_functions(tables->trace))
		clew_json_from(json, tables->trace, segment->chain[place], segment->start);
	json_hop_stacks(tables, json, sleep);
	if (sleep)
		clew_json_other_end(json, tables->trace, sleep);
	clew_json_object_end(json);
	return clew_json_table_close(&tables->hops);
}

uint32_t why_hop(struct why_tables *tables, const struct clew_segment *segment, uint32_t place)
{
	const struct clew_trace *trace = tables->trace;
	const struct clew_sleep *sleep = clew_hop_sleep(trace, segment, place);
	struct clew_hop_via via = segment->vias[place];
	uint32_t serial = segment->chain[place], task = why_task(tables, serial, segment->start);
	uint64_t key = hash_mix(hash_mix(HASH_SEED, (uintptr_t)sleep),
				(uint64_t)(uint8_t)via.type << 8 | via.evidence);
	const uint64_t *known;

	/* The functions that it waits from are those of the innermost one. */
	if (clew_has_functions(trace))
		key = hash_mix(key, (uintptr_t)clew_trace_frame_at(trace, serial, segment->start));
	known = map_get(&tables->known_hops, key, task);
	return known ? (uint32_t)*known
		     : know(tables, &tables->known_hops, key, task,
			    write_hop(tables, segment, place, sleep, task));
}

/* ---- announced calls ---- */

static void json_caller(struct why_tables *tables, struct clew_json *json,
			const struct clew_activity *caller)
{
	clew_json_object(json, NULL);
	clew_json_task_fields(json, tables->trace, caller->task, caller->begin);
	clew_json_unsigned(json, "at", caller->begin);
	clew_json_object_end(json);
}

static uint32_t write_call(struct why_tables *tables, const struct clew_relation *relation)
{
	const struct clew_relations *relations = tables->relations;
	const struct clew_activity *lower = clew_relations_lower(relations, relation);
	struct clew_description description = {};
	uint32_t callers = relation->upper_count > 1 ? relation->upper_count : 0;
	struct clew_json *json = clew_json_table_open(&tables->calls);

	clew_json_object(json, NULL);
	clew_json_bool(json, "bridged", relation->bridged);
	clew_json_call(json, relations, relation);
	clew_json_array(json, "candidates");
	for (uint32_t i = 0; i < callers && i < CALLERS_MOST; i++)
		json_caller(tables, json, clew_relations_upper(relations, relation, i));
	clew_json_array_end(json);
	clew_json_unsigned(json, "candidate_count", callers);
	clew_relations_describe(relations, lower->task, lower->begin, &description);
	clew_json_description(json, &description);
	clew_json_object_end(json);
	return clew_json_table_close(&tables->calls);
}

uint32_t why_call(struct why_tables *tables, const struct clew_relation *relation)
{
	uint64_t key = (uintptr_t)relation;
	const uint64_t *known = map_get(&tables->known_calls, key, 0);

	return known ? (uint32_t)*known
		     : know(tables, &tables->known_calls, key, 0, write_call(tables, relation));
}

static uint32_t write_activity(struct why_tables *tables, const struct clew_segment *segment)
{
	const struct clew_activity *activity = segment->activity;
	struct clew_description description = {};
	struct clew_json *json = clew_json_table_open(&tables->activities);

	clew_json_object(json, NULL);
	clew_json_string(json, "interface", activity->interface);
	clew_json_string(json, "operation", activity->operation);
	clew_json_unsigned(json, "begin", activity->begin);
	clew_relations_describe(tables->relations, segment->task, activity->begin, &description);
	clew_json_description(json, &description);
	clew_json_object_end(json);
	return clew_json_table_close(&tables->activities);
}

uint32_t why_activity(struct why_tables *tables, const struct clew_segment *segment)
{
	uint64_t key = (uintptr_t)segment->activity;
	const uint64_t *known = map_get(&tables->known_calls, key, segment->task);

	return known ? (uint32_t)*known
		     : know(tables, &tables->known_calls, key, segment->task,
			    write_activity(tables, segment));
}
