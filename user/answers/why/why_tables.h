/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tables of a why in JSON: tasks, objects, stacks, hops and calls. Each is written once,
 * however many segments name it by its number, so that an answer has the size of what it says.
 */
#ifndef CLEW_ANSWERS_WHY_WHY_TABLES_H
#define CLEW_ANSWERS_WHY_WHY_TABLES_H

#include "explain/why.h"
#include "words/stack_table.h"

struct why_tables {
	const struct clew_trace *trace;
	const struct clew_relations *relations; /* may be NULL */
	struct clew_stack_table stacks;
	struct clew_json_table tasks, objects, hops, calls, activities;
	/*
	 * Numbers of what was looked up before, by where the trace has it: nothing is written again
	 * only to find that it is known.
	 */
	struct map known_tasks, known_objects, known_hops, known_calls;
	int error; /* -ENOMEM once memory was short */
};

/* 0 or -ENOMEM. */
int why_tables_begin(struct why_tables *tables, const struct clew_trace *trace,
		     const struct clew_relations *relations);
/* The fields of the open object. 0 or -ENOMEM. */
int why_tables_write(struct why_tables *tables, struct clew_json *json);
void why_tables_done(struct why_tables *tables);

/* The number of a task with its names at a moment; also of an unknown one. */
uint32_t why_task(struct why_tables *tables, uint32_t serial, uint64_t at);
/* The number of an object of a sleep or of a step to a wake; CLEW_JSON_NO_NUMBER: it has none. */
uint32_t why_sleep_object(struct why_tables *tables, const struct clew_sleep *sleep);
uint32_t why_link_object(struct why_tables *tables, const struct clew_link *link);
/* The number of what a segment is about; CLEW_JSON_NO_NUMBER: nothing. */
uint32_t why_segment_object(struct why_tables *tables, const struct clew_segment *segment);
/* The number of the wait of a task of the segment's chain, by its place. */
uint32_t why_hop(struct why_tables *tables, const struct clew_segment *segment, uint32_t place);
/* The number of which call is for which. */
uint32_t why_call(struct why_tables *tables, const struct clew_relation *relation);
/* The number of the announced call that the segment's task is in. */
uint32_t why_activity(struct why_tables *tables, const struct clew_segment *segment);

#endif
