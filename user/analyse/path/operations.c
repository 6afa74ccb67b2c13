/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations of a causal trace: what a span did between two idle waits. They are
 * those of the capture that the trace was made of, to the nanosecond.
 */
#include "explain/operations.h"

#include "trace/trace.h"
#include <clew/tokens.h>
#include <string.h>

#include "analyse/path/internal.h"

/* The kind and number of a gap's system call, from the one before. */
struct calls {
	const char *name; /* the last one looked up; the model's string */
	unsigned call;
	uint64_t number;
};

static unsigned call_of(struct calls *calls, const char *name)
{
	if (!name)
		return CLEW_NO_CALL;
	if (name != calls->name) {
		calls->name = name;
		calls->call = clew_call_from_name(name);
	}
	return calls->call;
}

/* The number of the call that a sleep is in: "same", a number, or the next one. */
static void count_call(struct calls *calls, const char *said)
{
	if (!said)
		calls->number++;
	else if (strcmp(said, "same"))
		calls->number = strtoull(said, NULL, 10);
}

static int add(struct clew_path_operation **operations, size_t *count,
	       struct clew_path_operation operation)
{
	if (!(*count & (*count - 1))) {
		struct clew_path_operation *grown =
			reallocarray(*operations, *count ? 2 * *count : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		*operations = grown;
	}
	(*operations)[(*count)++] = operation;
	return 0;
}

int clew_path_operations(const struct clew_model *model, uint32_t span, uint64_t idle_kinds,
			 struct clew_path_operation **ret_operations, size_t *ret_count)
{
	const struct clew_range *range = &model->spans[span].elementary;
	struct clew_path_operation *operations = NULL;
	uint32_t last = CLEW_NONE;
	struct calls calls = {};
	uint64_t last_number = 0;
	size_t count = 0;
	int r = 0;

	for (uint32_t es = range->first + 1; es < range->first + range->count && r == 0; es++) {
		const struct clew_model_wait *wait =
			model->es[es].wait == CLEW_NONE ? NULL : &model->waits[model->es[es].wait];
		const char *open;
		clew_time from;

		if (!wait || wait->kind >= CLEW_WAIT_KIND_COUNT ||
		    clew_model_attribute(model, wait->attributes, "known"))
			continue;
		count_call(&calls, clew_model_attribute(model, wait->attributes, "call_id"));
		if (!operation_is_idle(
			    wait->kind,
			    call_of(&calls, clew_model_attribute(model, wait->attributes, "call")),
			    clew_model_attribute(model, wait->attributes, "exchange"), idle_kinds))
			continue;
		open = clew_model_attribute(model, wait->attributes, "open");
		from = last == CLEW_NONE ? 0 : gap_ready(model, last);
		if (last != CLEW_NONE && last_number != calls.number &&
		    from < model->es[es - 1].end && (!open || !strcmp(open, "end")))
			r = add(&operations, &count,
				(struct clew_path_operation){
					.from = from,
					.start = {last, model->es[last].start},
					.end = {es - 1, model->es[es - 1].end},
				});
		last = es;
		last_number = calls.number;
	}
	if (r < 0) {
		free(operations);
		return r;
	}
	*ret_operations = operations;
	*ret_count = count;
	return 0;
}
