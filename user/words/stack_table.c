/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks in JSON, each written once. Unlike those in text they have all frames. A stack is known by
 * where the trace keeps it; stacks that are equal without that are found by their text.
 */
#include "words/stack_table.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/elf/demangle.h"
#include "trace/lines.h"

static const char *const end_names[CLEW_STACK_ENDS] = {
	[CLEW_STACK_NONE] = "none",	    [CLEW_STACK_ROOT] = "root",
	[CLEW_STACK_DEEP] = "deep",	    [CLEW_STACK_OUTSIDE] = "outside",
	[CLEW_STACK_NO_TABLE] = "no-table", [CLEW_STACK_NO_RULE] = "no-rule",
	[CLEW_STACK_UNREAD] = "unread",	    [CLEW_STACK_LOOP] = "loop",
	[CLEW_STACK_TORN] = "torn",	    [CLEW_STACK_COMPAT] = "compat",
	[CLEW_STACK_LOST] = "lost",
};

static void json_function(struct clew_json *json, const struct clew_stack_place *place)
{
	char *demangled = place->name ? symbol_demangle(place->name, true) : NULL;

	clew_json_string(json, "name", place->name);
	if (demangled)
		clew_json_string(json, "demangled", demangled);
	clew_json_string(json, "object", place->object);
	free(demangled);
}

static void json_line(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_stack_place *place)
{
	if (!clew_trace_has_lines(trace))
		return;
	clew_json_string(json, "file", place->file);
	clew_json_known(json, "line", place->line, 0);
	clew_json_bool(json, "inlined", place->inlined);
}

/* `offset` false: of all places in a function. */
static void json_place(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_stack_place *place, bool offset)
{
	clew_json_object(json, NULL);
	json_function(json, place);
	if (offset)
		clew_json_unsigned(json, "offset",
				   place->name ? place->at - place->start : place->at);
	else
		clew_json_unsigned(json, "start", place->start);
	json_line(json, trace, place);
	clew_json_object_end(json);
}

static void json_frames(struct clew_json *json, const struct clew_trace *trace,
			const struct clew_trace_stack *stack, bool offset)
{
	struct clew_stack_places at;

	clew_json_array(json, "frames");
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		clew_trace_stack_places(trace, stack->frames[i], false, &at);
		for (size_t j = 0; j < at.count; j++)
			json_place(json, trace, &at.places[j], offset);
	}
	clew_json_array_end(json);
}

static uint32_t write_stacks(struct clew_stack_table *table, const struct clew_sleep_stacks *stacks,
			     bool offset)
{
	const struct clew_trace *trace = table->trace;
	struct clew_json *json = clew_json_table_open(&table->stacks);
	struct clew_stack_place place;

	clew_json_object(json, NULL);
	json_frames(json, trace, stacks->user, offset);
	clew_json_array(json, "kernel");
	for (uint32_t i = 0; stacks->kernel && i < stacks->kernel->count; i++) {
		clew_trace_stack_place(trace, stacks->kernel->frames[i], true, &place);
		clew_json_string(json, NULL, place.name);
	}
	clew_json_array_end(json);
	clew_json_string(json, "end",
			 stacks->user_end < CLEW_STACK_ENDS ? end_names[stacks->user_end] : NULL);
	clew_json_object_end(json);
	return clew_json_table_close(&table->stacks);
}

/* A number of the kernel's stack by which it can be a part of a key; 0: there is none. */
static uint32_t kernel_number(struct clew_stack_table *table, const struct clew_trace_stack *stack)
{
	uint64_t address = (uintptr_t)stack;
	const uint64_t *number = stack ? map_get(&table->kernels, address, 0) : NULL;

	if (!stack || number)
		return number ? (uint32_t)*number : 0;
	if (map_set(&table->kernels, address, 0, table->kernels.count + 1) < 0)
		table->stacks.error = -ENOMEM;
	return (uint32_t)table->kernels.count;
}

static uint32_t add(struct clew_stack_table *table, const struct clew_sleep_stacks *stacks)
{
	uint64_t user = (uintptr_t)stacks->user;
	uint32_t kernel = kernel_number(table, stacks->kernel) * CLEW_STACK_ENDS + stacks->user_end;
	const uint64_t *known = map_get(&table->known, user, kernel);
	uint32_t number;

	if (known)
		return (uint32_t)*known;
	number = write_stacks(table, stacks, true);
	if (map_set(&table->known, user, kernel, number) < 0)
		table->stacks.error = -ENOMEM;
	return number;
}

int clew_stack_table_begin(struct clew_stack_table *table, const struct clew_trace *trace)
{
	*table = (struct clew_stack_table){.trace = trace};
	return trace ? clew_json_table_begin(&table->stacks) : 0;
}

uint32_t clew_stack_of_sleep(struct clew_stack_table *table, const struct clew_sleep *sleep)
{
	struct clew_sleep_stacks stacks;

	return sleep && clew_trace_sleep_stacks(table->trace, sleep, &stacks) ? add(table, &stacks)
									      : CLEW_JSON_NO_NUMBER;
}

uint32_t clew_stack_of_waker(struct clew_stack_table *table, uint32_t waker, uint64_t at)
{
	struct clew_sleep_stacks stacks;

	return clew_trace_waker_stacks(table->trace, waker, at, &stacks) ? add(table, &stacks)
									 : CLEW_JSON_NO_NUMBER;
}

uint32_t clew_stack_of_functions(struct clew_stack_table *table, uint64_t key,
				 const struct clew_sleep_stacks *stacks)
{
	const uint64_t *known = map_get(&table->chains, key, 0);
	uint32_t number;

	if (known)
		return (uint32_t)*known;
	number = write_stacks(table, stacks, false);
	if (map_set(&table->chains, key, 0, number) < 0)
		table->stacks.error = -ENOMEM;
	return number;
}

int clew_stack_table_write(struct clew_stack_table *table, struct clew_json *json)
{
	return table->trace ? clew_json_table_write(&table->stacks, json, "stacks") : 0;
}

void clew_stack_table_done(struct clew_stack_table *table)
{
	clew_json_table_done(&table->stacks);
	map_done(&table->kernels);
	map_done(&table->known);
	map_done(&table->chains);
}

int clew_stacked_begin(struct clew_stacked *answer, const struct clew_trace *trace)
{
	int r = clew_stack_table_begin(&answer->table, trace);

	if (r == 0)
		r = clew_json_part_begin(&answer->fields, 1);
	if (r < 0)
		clew_stack_table_done(&answer->table);
	answer->fields.json.stacks = &answer->table;
	return r;
}

int clew_stacked_end(struct clew_stacked *answer, FILE *out)
{
	struct clew_json json = {.out = out};
	int r;

	clew_json_answer(&json);
	r = clew_stack_table_write(&answer->table, &json);
	if (r == 0)
		r = clew_json_part_write(&answer->fields, &json);
	clew_json_object_end(&json);
	clew_json_end(&json);
	clew_json_part_done(&answer->fields);
	clew_stack_table_done(&answer->table);
	return r;
}
