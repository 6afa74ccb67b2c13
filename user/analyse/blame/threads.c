/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spans that are calls of others. A span and those that it calls are one thread: it runs on a CPU
 * and has locks, whichever of them it is in. A thread is in its innermost call.
 */
#include "analyse/blame/internal.h"

/* The span that called one; CLEW_NONE: it is no call. */
static uint32_t caller_of(const struct clew_model *model, uint32_t span)
{
	const struct clew_es *first = &model->es[model->spans[span].elementary.first];
	uint32_t parent = model->spans[span].parent, trigger;

	if (parent == CLEW_NONE || first->in == CLEW_NONE ||
	    model->dependencies[first->in].type != CLEW_DEPENDENCY_CALL)
		return CLEW_NONE;
	trigger = clew_model_trigger(model, first->in);
	return trigger != CLEW_NONE && model->es[trigger].span == parent ? parent : CLEW_NONE;
}

int blame_find_threads(struct blame *blame)
{
	const struct clew_model *model = blame->model;
	uint32_t *next, caller;

	blame->threads = malloc((model->span_count + 1ul) * sizeof(*blame->threads));
	blame->calls_begin = calloc(model->span_count + 2ul, sizeof(*blame->calls_begin));
	blame->calls = malloc((model->span_count + 1ul) * sizeof(*blame->calls));
	next = malloc((model->span_count + 1ul) * sizeof(*next));
	if (!blame->threads || !blame->calls_begin || !blame->calls || !next) {
		free(next);
		return -ENOMEM;
	}
	/* A span comes after the one that called it. */
	for (uint32_t span = 0; span < model->span_count; span++) {
		caller = caller_of(model, span);
		blame->threads[span] = caller == CLEW_NONE ? span : blame->threads[caller];
		if (caller != CLEW_NONE)
			blame->calls_begin[caller + 1]++;
	}
	for (uint32_t span = 0; span < model->span_count; span++) {
		blame->calls_begin[span + 1] += blame->calls_begin[span];
		next[span] = blame->calls_begin[span];
	}
	for (uint32_t span = 0; span < model->span_count; span++) {
		caller = caller_of(model, span);
		if (caller != CLEW_NONE)
			blame->calls[next[caller]++] = span;
	}
	free(next);
	return 0;
}

/* The number of a span's calls that began at or before a moment; the calls are in order of time. */
static uint32_t calls_until(const struct blame *blame, uint32_t span, clew_time at)
{
	const struct clew_span *spans = blame->model->spans;
	uint32_t low = blame->calls_begin[span], high = blame->calls_begin[span + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (spans[blame->calls[middle]].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t blame_innermost(const struct blame *blame, uint32_t span, clew_time at,
			 clew_time *ret_until)
{
	const struct clew_span *spans = blame->model->spans;

	*ret_until = INT64_MAX;
	for (;;) {
		uint32_t begin = blame->calls_begin[span], end = blame->calls_begin[span + 1],
			 after = calls_until(blame, span, at), call;

		if (after < end && spans[blame->calls[after]].start < *ret_until)
			*ret_until = spans[blame->calls[after]].start;
		call = after > begin ? blame->calls[after - 1] : CLEW_NONE;
		if (call == CLEW_NONE || spans[call].end <= at)
			return span;
		if (spans[call].end < *ret_until)
			*ret_until = spans[call].end;
		span = call;
	}
}
