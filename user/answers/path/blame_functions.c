/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of who kept whom waiting, by function. */
#include "answers/path/blame_functions.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"

/* A pair with the keys of its row. */
struct entry {
	struct clew_blame_row row;
	uint32_t victim, antagonist; /* root spans, CLEW_NONE none */
};

static uint32_t root_of(const struct clew_model *model, uint32_t span)
{
	while (model->spans[span].parent != CLEW_NONE)
		span = model->spans[span].parent;
	return span;
}

/* The name of a thread without "-TID" or "-TID#2"; of any other span all of it. */
static char *name_of(const struct clew_model *model, uint32_t root)
{
	const char *name = clew_model_string(model, model->spans[root].name),
		   *dash = strrchr(name, '-');
	const char *tid = clew_model_attribute(model, model->spans[root].attributes, "tid");

	return dash && tid && !strncmp(dash + 1, tid, strlen(tid))
		       ? strndup(name, (size_t)(dash - name))
		       : strdup(name);
}

static int make_place(const struct clew_model *model, uint32_t span, uint32_t *ret_root,
		      struct clew_blame_place *ret_place)
{
	*ret_root = CLEW_NONE;
	if (span == CLEW_NONE)
		return 0;
	*ret_root = root_of(model, span);
	if (span != *ret_root)
		ret_place->function = clew_model_string(model, model->spans[span].name);
	ret_place->thread = name_of(model, *ret_root);
	return ret_place->thread ? 0 : -ENOMEM;
}

static int compare_places(const struct clew_blame_place *a, const struct clew_blame_place *b)
{
	return strcmp(a->thread ?: "", b->thread ?: "")
		       ?: strcmp(a->function ?: "", b->function ?: "");
}

static int compare_rows(const struct clew_blame_row *a, const struct clew_blame_row *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return compare_places(&a->victim, &b->victim)
		       ?: compare_places(&a->antagonist, &b->antagonist);
}

static int by_victim(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return compare_rows(&a->row, &b->row) ?: (a->victim > b->victim) - (a->victim < b->victim);
}

static int by_antagonist(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return (a->antagonist > b->antagonist) - (a->antagonist < b->antagonist);
}

static int largest_first(const void *left, const void *right)
{
	const struct clew_blame_row *a = left, *b = right;

	return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : compare_rows(a, b);
}

/* Adds up entries of one row, which are in order of their victims; takes the first one's names. */
static struct clew_blame_row add_up(struct entry *entries, size_t count)
{
	struct clew_blame_row row = entries[0].row;

	row.ns = 0;
	for (size_t i = 0; i < count; i++) {
		row.ns += entries[i].row.ns;
		row.victim.threads += !i || entries[i].victim != entries[i - 1].victim;
		if (i) {
			free(entries[i].row.victim.thread);
			free(entries[i].row.antagonist.thread);
		}
	}
	qsort(entries, count, sizeof(*entries), by_antagonist);
	for (size_t i = 0; i < count; i++)
		row.antagonist.threads += !i || entries[i].antagonist != entries[i - 1].antagonist;
	return row;
}

int clew_blame_by_function(const struct clew_model *model, const struct clew_blame_pair *pairs,
			   size_t count, struct clew_blame_rows *ret_rows)
{
	struct entry *entries = calloc(count + 1, sizeof(*entries));
	size_t made = 0;
	int r = 0;

	*ret_rows = (struct clew_blame_rows){.rows = calloc(count + 1, sizeof(*ret_rows->rows))};
	if (!entries || !ret_rows->rows) {
		free(entries);
		return -ENOMEM;
	}
	for (; made < count && r == 0; made++) {
		struct entry *entry = &entries[made];

		entry->row.ns = pairs[made].ns;
		entry->row.kind = pairs[made].kind;
		r = make_place(model, pairs[made].victim, &entry->victim, &entry->row.victim);
		if (r == 0)
			r = make_place(model, pairs[made].antagonist, &entry->antagonist,
				       &entry->row.antagonist);
	}
	for (size_t i = 0; i < made && r < 0; i++) {
		free(entries[i].row.victim.thread);
		free(entries[i].row.antagonist.thread);
	}
	if (r == 0)
		qsort(entries, count, sizeof(*entries), by_victim);
	for (size_t from = 0, to; from < count && r == 0; from = to) {
		for (to = from + 1;
		     to < count && !compare_rows(&entries[from].row, &entries[to].row);)
			to++;
		ret_rows->rows[ret_rows->count++] = add_up(entries + from, to - from);
	}
	qsort(ret_rows->rows, ret_rows->count, sizeof(*ret_rows->rows), largest_first);
	free(entries);
	return r;
}

void clew_blame_rows_done(struct clew_blame_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->rows[i].victim.thread);
		free(rows->rows[i].antagonist.thread);
	}
	free(rows->rows);
	*rows = (struct clew_blame_rows){};
}

/* The resource that an antagonist had. */
static const char *had(uint32_t kind)
{
	static const char *const resources[CLEW_WAIT_KIND_COUNT] = {
#define CLEW_WAIT_KIND(NAME, name, edge, time, style, had, ...) [CLEW_WAIT_##NAME] = had,
#define CLEW_SEGMENT_KIND(...)
#include <clew/wait_kinds.def>
	};

	if (kind == CLEW_SEGMENT_RUNQUEUE)
		return "the CPU";
	return kind < CLEW_WAIT_KIND_COUNT ? resources[kind] : "what";
}

static void print_thread(FILE *out, const struct clew_blame_place *place)
{
	clew_print_safe(out, place->thread ?: "a limit");
	if (place->threads > 1)
		fprintf(out, " (%zu threads)", place->threads);
}

static void print_function(FILE *out, const struct clew_blame_place *place)
{
	if (!place->function)
		return;
	fputs(" in ", out);
	clew_print_safe(out, place->function);
	fputs("()", out);
}

void clew_print_blame_row(FILE *out, const struct clew_blame_row *row, bool all_running)
{
	const char *object = had(row->kind);

	print_thread(out, &row->antagonist);
	print_function(out, &row->antagonist);
	if (all_running)
		fputs(" ran while ", out);
	else
		fprintf(out, " had %s%s ", object, strcmp(object, "what") ? " that" : "");
	print_thread(out, &row->victim);
	fputs(all_running ? " waited" : " waited for", out);
	print_function(out, &row->victim);
}
