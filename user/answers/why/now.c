/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The waits that are under way when a capture ends. */
#include "answers/why/now.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

#include "explain/operations.h"
#include "explain/summary.h"
#include "explain/why.h"
#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/object.h"
#include "words/task.h"

bool clew_wait_matters(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (wait_is_idle(trace, sleep))
		return false;
	if (sleep->kind == CLEW_WAIT_THROTTLE)
		return true;
	switch (clew_spent_of_kind(sleep->kind)) {
	case CLEW_SPENT_LOCK:
		/* Threads at a condition variable wait for work, as far as anybody can tell. */
		return sleep->kind != CLEW_WAIT_FUTEX || sleep->holder_count;
	case CLEW_SPENT_DISK:
	case CLEW_SPENT_MEMORY:
	case CLEW_SPENT_NETWORK:
	case CLEW_SPENT_REMOTE:
		return true;
	default:
		return false;
	}
}

static int longest_first(const void *left, const void *right)
{
	const struct clew_now *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->sleep < b->sleep ? -1 : a->sleep > b->sleep;
}

static struct clew_now begin(const struct clew_trace *trace, const struct clew_now_age *age,
			     const struct clew_sleep *sleep)
{
	struct clew_now wait = {.sleep = sleep, .longer = sleep->open & CLEW_OPEN_START};

	wait.ns = age ? age->of(age->context, sleep, &wait.longer)
		      : clew_trace_end(trace) - sleep->start;
	return wait;
}

static int explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct clew_now *wait)
{
	struct clew_tree tree = {};
	struct clew_why why = {};
	size_t told;
	int r = clew_why_explain(trace, relations, wait->sleep->task, wait->sleep->start,
				 clew_trace_end(trace), &why);

	if (r >= 0)
		r = clew_tree_make(trace, relations, &why, CLEW_TREE_TASKS, &tree);
	if (r >= 0)
		r = clew_tree_tell(trace, &tree, &wait->told, 1, &told);
	clew_tree_done(&tree);
	clew_why_done(&why);
	return r;
}

int clew_now_find(const struct clew_trace *trace, const struct clew_relations *relations,
		  const struct clew_chosen *chosen, const struct clew_now_age *age, size_t most,
		  struct clew_now **ret_waits, size_t *ret_count)
{
	size_t count, found = 0;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	struct clew_now *waits = calloc(clew_trace_task_count(trace) + 1, sizeof(*waits));
	int r = waits ? 0 : -ENOMEM;

	/* A task has one wait under way, at most. */
	for (size_t i = 0; i < count && r >= 0 && found < clew_trace_task_count(trace); i++)
		if (sleeps[i].end == CLEW_TIME_OPEN && clew_wait_matters(trace, &sleeps[i]) &&
		    clew_is_chosen(chosen, trace, sleeps[i].task))
			waits[found++] = begin(trace, age, &sleeps[i]);
	if (found)
		qsort(waits, found, sizeof(*waits), longest_first);
	if (found > most)
		found = most;
	for (size_t i = 0; i < found && r >= 0; i++) {
		if (relations)
			waits[i].run = clew_relations_run_at(relations, waits[i].sleep->task,
							     clew_trace_end(trace));
		r = explain(trace, relations, &waits[i]);
	}
	if (r < 0) {
		clew_now_free(waits, found);
		return r;
	}
	*ret_waits = waits;
	*ret_count = found;
	return 0;
}

void clew_now_free(struct clew_now *waits, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(waits[i].told.text);
	free(waits);
}

void clew_now_print(FILE *out, const struct clew_trace *trace, const struct clew_now *waits,
		    size_t count, size_t width)
{
	for (size_t i = 0; i < count; i++) {
		const struct clew_sleep *sleep = waits[i].sleep;
		char *text = NULL;
		size_t size;
		FILE *memory = open_memstream(&text, &size);

		if (!memory)
			return;
		clew_print_task(memory, trace, sleep->task, sleep->start);
		if (waits[i].run) {
			fprintf(memory, ", in %s.", waits[i].run->interface);
			clew_print_safe(memory, waits[i].run->operation);
		}
		fprintf(memory, "  %s", waits[i].told.text ?: clew_wait_kind_name(sleep->kind));
		fclose(memory);
		fprintf(out, "  %s%8s%s%c ", clew_style_begin(clew_style_of_kind(sleep->kind)),
			CLEW_DURATION(waits[i].ns), clew_style_end(clew_style_of_kind(sleep->kind)),
			waits[i].longer ? '+' : ' ');
		clew_print_wrapped(out, text, 12, 12, width);
		free(text);
	}
}

/* The logical span that a thread runs, by its name. */
static void json_run(struct clew_json *json, const struct clew_activity *run)
{
	char name[512];

	if (run)
		snprintf(name, sizeof(name), "%s.%s", run->interface, run->operation);
	clew_json_string(json, "span", run ? name : NULL);
}

void clew_now_json(struct clew_json *json, const struct clew_trace *trace,
		   const struct clew_now *waits, size_t count)
{
	clew_json_array(json, "now");
	for (size_t i = 0; i < count; i++) {
		const struct clew_sleep *sleep = waits[i].sleep;

		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, sleep->task, sleep->start);
		json_run(json, waits[i].run);
		clew_json_unsigned(json, "ns", waits[i].ns);
		clew_json_bool(json, "longer", waits[i].longer);
		clew_json_string(json, "kind", clew_wait_kind_name(sleep->kind));
		clew_json_string(json, "call", clew_call_name(sleep->call));
		clew_json_object_of(json, "object", trace, &sleep->object, sleep);
		clew_json_string(json, "text", waits[i].told.text);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}
