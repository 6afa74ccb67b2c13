/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew waits of a long capture. Each window leaves its waits as they are printed, as only its trace
 * has what they refer to; the list is put in order when all are there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/waits/waits.h"
#include "words/wait.h"

#define LIST_DEPTH 2 /* of an element of the list in the JSON object */

struct listed {
	uint64_t start; /* ns */
	uint64_t ns;	/* its length */
	uint32_t task;
	const char *text;
};

struct left {
	struct waits_count count;
	size_t idle, self; /* left out */
	struct listed *list;
	size_t list_count;
};

struct list {
	struct waits_values *values;
	struct waits_count count;
	struct vector waits; /* struct listed */
	struct arena arena;  /* their texts */
};

/* ---- in the process of a window ---- */

static void write_wait(FILE *out, const struct clew_trace *trace, const struct waits_values *values,
		       const struct clew_sleep *sleep)
{
	struct clew_json json = {.out = out, .depth = LIST_DEPTH};

	if (values->json)
		waits_json(&json, trace, false, sleep);
	else
		waits_print(out, trace, false, sleep);
	putc('\0', out);
}

/* Writes the wanted waits to `out`, each with a null byte behind it. 0 or -ENOMEM. */
static int write_waits(FILE *out, const struct clew_trace *trace,
		       const struct clew_trace_window *window, struct waits_values *values,
		       struct waits_count *counted, struct vector *list)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++) {
		const struct clew_sleep *sleep = &sleeps[i];

		if (!clew_window_counts(window, sleep->end))
			continue;
		counted->all++;
		if (!waits_wanted(trace, values, sleep))
			continue;
		waits_add(trace, values, sleep, counted);
		if (vector_reserve(list, list->count + 1) < 0)
			return -ENOMEM;
		((struct listed *)list->data)[list->count++] =
			(struct listed){.start = sleep->start,
					.ns = clew_wait_end(trace, sleep) - sleep->start,
					.task = sleep->task};
		write_wait(out, trace, values, sleep);
	}
	return 0;
}

static int leave_list(struct shared *out, const struct vector *list, const char *text, size_t size,
		      struct left *left)
{
	const char *next = shared_copy(out, text, size);

	left->list = shared_copy(out, list->data, list->count * sizeof(struct listed));
	left->list_count = list->count;
	if (!next || !left->list)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		left->list[i].text = next;
		next += strlen(next) + 1;
	}
	return 0;
}

static int look(void *context, struct clew_trace *trace, const struct clew_trace_window *window,
		struct shared *out)
{
	struct waits_values *values = ((struct list *)context)->values;
	struct left *left = out->root = shared_take(out, sizeof(*left));
	struct vector list = {.item = sizeof(struct listed)};
	size_t size = 0;
	char *text = NULL;
	FILE *stream;
	int r;

	if (!left || clew_window_take(&values->view.window, trace))
		return left ? -EINVAL : -ENOMEM;
	stream = open_memstream(&text, &size);
	if (!stream)
		return -ENOMEM;
	/* Earlier windows have counted theirs. */
	values->view.idle_left_out = values->view.self_left_out = 0;
	r = write_waits(stream, trace, window, values, &left->count, &list);
	left->idle = values->view.idle_left_out;
	left->self = values->view.self_left_out;
	if (fclose(stream) != 0)
		r = -ENOMEM;
	if (r == 0)
		r = leave_list(out, &list, text, size, left);
	vector_done(&list);
	free(text);
	return r;
}

/* ---- in the calling process ---- */

static int add(void *context, const struct shared *found)
{
	const struct left *left = found->root;
	struct list *list = context;

	waits_count_add(&list->count, &left->count);
	list->values->view.idle_left_out += left->idle;
	list->values->view.self_left_out += left->self;
	if (vector_reserve(&list->waits, list->waits.count + left->list_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < left->list_count; i++) {
		struct listed *to = (struct listed *)list->waits.data + list->waits.count++;

		*to = left->list[i];
		to->text = arena_copy(&list->arena, to->text, strlen(to->text));
		if (!to->text)
			return -ENOMEM;
	}
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The orders of a list in one piece; a task has one wait that begins at a time. */
static int by_start(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;

	return compare(a->start, b->start) ?: compare(a->task, b->task);
}

static int by_length(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;

	return compare(b->ns, a->ns) ?: by_start(left, right);
}

static void print(struct list *list, const struct clew_trace *names)
{
	const struct waits_values *values = list->values;
	const struct listed *waits = list->waits.data;
	struct clew_json json = {.out = stdout};

	if (list->waits.count)
		qsort(list->waits.data, list->waits.count, sizeof(*waits),
		      values->view.sort == CLEW_SORT_LENGTH ? by_length : by_start);
	if (!values->json) {
		for (size_t i = 0; i < list->waits.count; i++)
			fputs(waits[i].text, stdout);
		waits_end_text(names, values, &list->count);
		return;
	}
	clew_json_object(&json, NULL);
	clew_json_array(&json, "waits");
	for (size_t i = 0; i < list->waits.count; i++)
		clew_json_written(&json, waits[i].text);
	clew_json_array_end(&json);
	waits_end_json(&json, names, values);
}

int waits_in_windows(const char *operand, struct clew_reader *reader, struct waits_values *values)
{
	struct list list = {.values = values, .waits.item = sizeof(struct listed)};
	const struct clew_windows_taker taker = {.look = look, .add = add, .context = &list};
	struct clew_trace *tasks, *names;
	int status = waits_look(operand, reader, values, &taker, &tasks, &names);

	if (!status)
		print(&list, names);
	vector_done(&list.waits);
	arena_done(&list.arena);
	clew_trace_free(names);
	clew_trace_free(tasks);
	return status;
}
