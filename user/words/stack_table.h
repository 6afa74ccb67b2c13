/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stacks of an answer in JSON: the field "stacks" has each of them once, and all other fields
 * name them by their number. The table has to be written before what it is for; clew_json.stacks
 * of the writer of the other fields leads to it.
 */
#ifndef CLEW_WORDS_STACK_TABLE_H
#define CLEW_WORDS_STACK_TABLE_H

#include "format/json_table.h"
#include "trace/stacks.h"

struct clew_stack_table {
	const struct clew_trace *trace; /* NULL: there are no stacks, and no table */
	struct clew_json_table stacks;
	struct map kernels; /* numbers of the stacks in the kernel, from 1, by their address */
	struct map known;   /* numbers by both stacks and the end */
	struct map chains;  /* numbers by functions_key of the samples */
};

/* 0 or -ENOMEM. */
int clew_stack_table_begin(struct clew_stack_table *table, const struct clew_trace *trace);
/* The number of the stack of a sleep; CLEW_JSON_NO_NUMBER: it is NULL, or has none. */
uint32_t clew_stack_of_sleep(struct clew_stack_table *table, const struct clew_sleep *sleep);
/* The same of a task that woke another one at a moment. */
uint32_t clew_stack_of_waker(struct clew_stack_table *table, uint32_t waker, uint64_t at);
/* The number of the functions of a sample, which are those of all samples with this key. */
uint32_t clew_stack_of_functions(struct clew_stack_table *table, uint64_t key,
				 const struct clew_sleep_stacks *stacks);
/* The field "stacks" of the open object. 0 or -ENOMEM. */
int clew_stack_table_write(struct clew_stack_table *table, struct clew_json *json);
void clew_stack_table_done(struct clew_stack_table *table);

/* An answer with such a table, which stands before all other fields. */
struct clew_stacked {
	struct clew_stack_table table;
	struct clew_json_part fields; /* all but the format and the table, to be written */
};

/* `trace` NULL: there are no stacks. 0 or -ENOMEM, and then nothing is to be ended. */
int clew_stacked_begin(struct clew_stacked *answer, const struct clew_trace *trace);
/* Writes the answer, and frees what it has. 0 or -ENOMEM. */
int clew_stacked_end(struct clew_stacked *answer, FILE *out);

#endif
