/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks that were held back on the way. */
#include "answers/why/restraints.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

#include "words/hops.h"
#include "words/object.h"
#include "words/task.h"

struct list {
	struct clew_restraint *restraints;
	size_t count, capacity;
};

static int add(struct list *list, uint32_t task, const struct clew_sleep *sleep, uint64_t ns)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 64;
		struct clew_restraint *restraints =
			realloc(list->restraints, capacity * sizeof(*restraints));

		if (!restraints)
			return -ENOMEM;
		list->restraints = restraints;
		list->capacity = capacity;
	}
	list->restraints[list->count++] =
		(struct clew_restraint){.ns = ns, .task = task, .sleep = sleep};
	return 0;
}

static int add_segment(struct list *list, const struct clew_trace *trace,
		       const struct clew_segment *segment)
{
	uint64_t ns = segment->end - segment->start;
	int r = 0;

	for (uint32_t i = 0; i < segment->chain_length && r >= 0; i++) {
		const struct clew_sleep *sleep = clew_hop_sleep(trace, segment, i);

		if (clew_is_held_back(sleep))
			r = add(list, segment->chain[i], sleep, ns);
	}
	/* It was ready, and its group was not allowed to run. */
	if (r >= 0 && segment->kind == CLEW_WAIT_THROTTLE && segment->sleep &&
	    (!segment->chain_length || segment->chain[segment->chain_length - 1] != segment->task))
		r = add(list, segment->task, segment->sleep, ns);
	return r;
}

/* By task, kind and object: equal ones are one restraint. */
static int compare(const struct clew_restraint *a, const struct clew_restraint *b)
{
	const struct clew_sleep *x = a->sleep, *y = b->sleep;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->object.kind != y->object.kind)
		return x->object.kind < y->object.kind ? -1 : 1;
	if (x->object.device != y->object.device)
		return x->object.device < y->object.device ? -1 : 1;
	return x->object.number < y->object.number ? -1 : x->object.number > y->object.number;
}

static int by_kind(const void *left, const void *right)
{
	const struct clew_restraint *a = left, *b = right;
	int order = compare(a, b);

	return order ?: (a->sleep > b->sleep) - (a->sleep < b->sleep);
}

static int largest_first(const void *left, const void *right)
{
	const struct clew_restraint *a = left, *b = right;

	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : by_kind(left, right);
}

int clew_restraints_make(const struct clew_trace *trace, const struct clew_why *why,
			 struct clew_restraint **ret_restraints, size_t *ret_count)
{
	struct list list = {};
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < why->segment_count && r >= 0; i++)
		r = add_segment(&list, trace, &why->segments[i]);
	if (r < 0) {
		free(list.restraints);
		return r;
	}
	if (list.count) {
		qsort(list.restraints, list.count, sizeof(*list.restraints), by_kind);
		for (size_t i = 1; i < list.count; i++)
			if (compare(&list.restraints[i], &list.restraints[kept]))
				list.restraints[++kept] = list.restraints[i];
			else
				list.restraints[kept].ns += list.restraints[i].ns;
		list.count = kept + 1;
		qsort(list.restraints, list.count, sizeof(*list.restraints), largest_first);
	}
	*ret_restraints = list.restraints;
	*ret_count = list.count;
	return 0;
}

void clew_print_restraint(FILE *out, const struct clew_trace *trace,
			  const struct clew_restraint *restraint)
{
	clew_print_task(out, trace, restraint->task, restraint->sleep->start);
	fputs(" (", out);
	clew_print_hop_wait(out, trace, restraint->sleep);
	fputc(')', out);
}

void clew_json_restraint(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_restraint *restraint)
{
	const struct clew_sleep *sleep = restraint->sleep;

	clew_json_object(json, NULL);
	clew_json_unsigned(json, "ns", restraint->ns);
	clew_json_task_fields(json, trace, restraint->task, sleep->start);
	clew_json_string(json, "kind", clew_wait_kind_name(sleep->kind));
	clew_json_object_of(json, "object", trace, &sleep->object, sleep);
	clew_json_object_end(json);
}
