/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A list of dependencies, or their sums. */
#include "answers/edges/list.h"

#include <clew/tokens.h>

#include "words/edge.h"
#include "words/ledger.h"
#include "words/object.h"
#include "words/stack_table.h"
#include "words/task.h"

/* The number of groups from this one on that are candidates for the same cause; 0: it is certain.
 */
static size_t choices_at(const struct edge_list *list, size_t at)
{
	uint32_t choice = list->edges[list->order[list->begin[at]]].choice;
	size_t count = 1;

	if (!choice)
		return 0;
	while (at + count < list->group_count &&
	       list->edges[list->order[list->begin[at + count]]].choice == choice)
		count++;
	return count;
}

struct edge_group edge_list_group(const struct edge_list *list, size_t at)
{
	return (struct edge_group){.edges = list->edges,
				   .order = list->order + list->begin[at],
				   .count = list->begin[at + 1] - list->begin[at],
				   .choices = choices_at(list, at)};
}

const struct clew_sleep *edge_list_sleep(const struct clew_trace *trace,
					 const struct clew_edge *edge)
{
	struct clew_piece piece;

	if (!edge->ends_sleep || !clew_trace_piece(trace, edge->to, edge->to_at, true, &piece))
		return NULL;
	return piece.sleep;
}

static void say_rows(struct edge_list *list, bool json)
{
	for (size_t i = 0; i < list->row_count; i++) {
		const struct sort_key *row = &list->rows[i];

		if (row->tag == EDGE_LIST_RELATION) {
			(json ? edge_json_relation
			      : edge_print_relation)(&list->words, &list->relations[row->index]);
		} else {
			struct edge_group group = edge_list_group(list, row->index);

			(json ? edge_json : edge_print)(&list->words, &group);
		}
	}
}

static const struct clew_edge *first_edge(const struct edge_list *list, uint32_t group)
{
	return &list->edges[list->order[list->begin[group]]];
}

static void print_sum_name(void *context, FILE *out, uint32_t item)
{
	const struct edge_list *list = context;
	const struct clew_trace *trace = list->words.trace;
	const struct clew_edge *edge = first_edge(list, item);
	const struct clew_sleep *sleep = edge_list_sleep(trace, edge);
	struct clew_sleep ended = clew_edge_ended(edge);
	struct clew_object object = clew_edge_object(edge);

	switch (list->by) {
	case CLEW_SUM_BY_OBJECT:
		if (!clew_print_object(out, trace, &object, &ended))
			fputs("no object", out);
		break;
	case CLEW_SUM_BY_TASK:
		clew_print_task(out, trace, edge->to, edge->to_at);
		break;
	case CLEW_SUM_BY_HOLDER:
		clew_print_task(out, trace, edge->from, edge->from_at);
		break;
	case CLEW_SUM_BY_CALL:
		fputs((sleep ? clew_call_name(sleep->call) : NULL) ?: "no call", out);
		break;
	default:
		fputs(clew_trace_type_name(trace, edge->type), out);
		break;
	}
}

/* Into `json`, or as text if that is NULL. */
static int say_sums(struct edge_list *list, FILE *out, struct clew_json *json)
{
	const struct clew_sums_names names = {.name = print_sum_name, .context = list};

	return clew_say_sums(out, json, &list->sums, list->by, &names);
}

/* The list, behind the stacks of those who woke. 0 or -ENOMEM. */
static int json_list(struct edge_list *list)
{
	struct edge_words *words = &list->words;
	struct clew_stack_table stacks;
	int r = clew_stack_table_begin(&stacks, words->trace);

	words->json.stacks = &stacks;
	for (size_t i = 0; i < list->row_count && r == 0; i++) {
		struct edge_group group;

		if (list->rows[i].tag == EDGE_LIST_RELATION)
			continue;
		group = edge_list_group(list, list->rows[i].index);
		edge_waker_stack(words, &group);
	}
	if (r == 0)
		r = clew_stack_table_write(&stacks, &words->json);
	clew_json_array(&words->json, "edges");
	if (r == 0)
		say_rows(list, true);
	clew_json_array_end(&words->json);
	clew_stack_table_done(&stacks);
	return r;
}

int edge_list_json(struct edge_list *list)
{
	struct clew_json *json = &list->words.json;
	int r;

	clew_json_answer(json);
	if (list->by != CLEW_SUM_BY_NONE)
		r = say_sums(list, json->out, json);
	else
		r = json_list(list);
	clew_json_left_out(json, &list->left_out);
	clew_json_ledger(json, list->words.trace, list->from, list->to);
	clew_json_object_end(json);
	clew_json_end(json);
	return r;
}

int edge_list_print(struct edge_list *list)
{
	const struct clew_trace *trace = list->words.trace;
	FILE *out = list->words.json.out;
	int r = 0;

	if (list->by != CLEW_SUM_BY_NONE)
		r = say_sums(list, out, NULL);
	else
		say_rows(list, false);
	fputc('\n', out);
	clew_print_count(out, list->part, list->row_count, list->group_count + list->relation_count,
			 "dependencies");
	fputc('\n', out);
	clew_print_left_out(out, &list->left_out, "that ended idle waits");
	clew_print_ledger(out, trace, list->from, list->to);
	clew_print_cost(out, clew_trace_info(trace));
	return r;
}
