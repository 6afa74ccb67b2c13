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

/* The idle waits of a span in turn. */
struct idle_waits {
	const struct clew_model *model;
	struct clew_range range;
	uint64_t kinds;
	struct calls calls; /* of the last wait */
	uint32_t es;	    /* where the last idle wait ended */
	bool ends;	    /* it began within the trace */
};

static struct idle_waits idle_waits_of(const struct clew_model *model, uint32_t span,
				       uint64_t idle_kinds)
{
	const struct clew_range range = model->spans[span].elementary;

	return (struct idle_waits){
		.model = model, .range = range, .kinds = idle_kinds, .es = range.first};
}

static bool next_idle(struct idle_waits *waits)
{
	const struct clew_model *model = waits->model;

	while (++waits->es < waits->range.first + waits->range.count) {
		uint32_t number = model->es[waits->es].wait;
		const struct clew_model_wait *wait =
			number == CLEW_NONE ? NULL : &model->waits[number];
		const char *open;

		if (!wait || wait->kind >= CLEW_WAIT_KIND_COUNT ||
		    clew_model_attribute(model, wait->attributes, "known"))
			continue;
		count_call(&waits->calls, clew_model_attribute(model, wait->attributes, "call_id"));
		if (!(!waits->kinds && clew_model_attribute(model, wait->attributes, "rest")) &&
		    !operation_is_idle(
			    wait->kind,
			    call_of(&waits->calls,
				    clew_model_attribute(model, wait->attributes, "call")),
			    clew_model_attribute(model, wait->attributes, "exchange"),
			    waits->kinds))
			continue;
		open = clew_model_attribute(model, wait->attributes, "open");
		waits->ends = !open || !strcmp(open, "end");
		return true;
	}
	return false;
}

bool clew_path_unbegun(const struct clew_model *model, uint32_t span, uint64_t idle_kinds,
		       clew_time *ret_at)
{
	struct idle_waits waits = idle_waits_of(model, span, idle_kinds);

	if (!next_idle(&waits) || !waits.ends)
		return false;
	*ret_at = model->es[waits.es - 1].end;
	return true;
}

int clew_path_operations(const struct clew_model *model, uint32_t span, uint64_t idle_kinds,
			 struct clew_path_operation **ret_operations, size_t *ret_count)
{
	struct idle_waits waits = idle_waits_of(model, span, idle_kinds);
	struct clew_path_operation *operations = NULL;
	uint32_t last = CLEW_NONE;
	uint64_t last_number = 0;
	size_t count = 0;
	int r = 0;

	for (; r == 0 && next_idle(&waits); last = waits.es, last_number = waits.calls.number) {
		uint32_t before = waits.es - 1;
		clew_time from = last == CLEW_NONE ? 0 : gap_ready(model, last);

		if (last != CLEW_NONE && last_number != waits.calls.number &&
		    from < model->es[before].end && waits.ends)
			r = add(&operations, &count,
				(struct clew_path_operation){
					.from = from,
					.start = {last, model->es[last].start},
					.end = {before, model->es[before].end},
				});
	}
	if (r < 0) {
		free(operations);
		return r;
	}
	*ret_operations = operations;
	*ret_count = count;
	return 0;
}
