/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples by their chains of functions, as JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "trace/stacks.h"
#include "words/samples.h"
#include "words/stack.h"
#include "words/stack_table.h"

#define NORMAL_95 1.959964

/* Samples with the same functions. */
struct alike {
	uint64_t key;
	const struct clew_task_stacks *sample; /* one of them */
	size_t count;
};

static uint64_t stack_key(const struct clew_trace *trace, const struct clew_trace_stack *stack,
			  bool kernel, uint64_t key)
{
	struct clew_stack_places at;

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		clew_trace_stack_places(trace, stack->frames[i], kernel, &at);
		for (size_t j = 0; j < at.count; j++) {
			key = hash_mix(key, clew_stack_place_key(trace, &at.places[j],
								 stack->frames[i], kernel));
			key = hash_mix(key, clew_stack_line_key(&at.places[j]));
		}
	}
	return hash_mix(key, kernel);
}

/* Equal for samples with the same functions, in user mode and in the kernel, and at the same lines
 * of them. */
static uint64_t functions_key(const struct clew_trace *trace, const struct clew_task_stacks *sample)
{
	struct clew_sleep_stacks stacks;

	clew_trace_sample_stacks(trace, sample, &stacks);
	return stack_key(trace, stacks.kernel, true,
			 stack_key(trace, stacks.user, false, stacks.user_end));
}

static int by_key(const void *a, const void *b)
{
	const struct alike *left = a, *right = b;

	return left->key < right->key ? -1 : left->key > right->key;
}

static int most_first(const void *a, const void *b)
{
	const struct alike *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return by_key(a, b);
}

/* Puts the different ones first, the most frequent of them at the begin. The number. */
static size_t add_up(struct alike *alike, size_t count)
{
	size_t kept = 0;

	qsort(alike, count, sizeof(*alike), by_key);
	for (size_t i = 0; i < count; i++)
		if (kept && alike[kept - 1].key == alike[i].key)
			alike[kept - 1].count += alike[i].count;
		else
			alike[kept++] = alike[i];
	qsort(alike, kept, sizeof(*alike), most_first);
	return kept;
}

/* The bounds of the share that is true in 95 of 100 cases (Wilson's interval). */
static void json_share(struct clew_json *json, double part, double whole)
{
	double share = part / whole, square = NORMAL_95 * NORMAL_95 / whole;
	double middle = (share + square / 2) / (1 + square);
	double reach =
		NORMAL_95 * sqrt(share * (1 - share) / whole + square / (4 * whole)) / (1 + square);

	clew_json_number(json, "share", share);
	clew_json_number(json, "low", middle - reach);
	clew_json_number(json, "high", middle + reach);
}

static void json_alike(struct clew_json *json, const struct clew_trace *trace,
		       const struct alike *alike, size_t whole)
{
	struct clew_sleep_stacks stacks;

	clew_trace_sample_stacks(trace, alike->sample, &stacks);
	clew_json_object(json, NULL);
	clew_json_table_number(json, "stack",
			       clew_stack_of_functions(json->stacks, alike->key, &stacks));
	clew_json_unsigned(json, "samples", alike->count);
	json_share(json, (double)alike->count, (double)whole);
	clew_json_object_end(json);
}

int clew_json_samples(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_samples *samples)
{
	const struct clew_task_stacks *const *all = samples->samples.data;
	size_t whole = samples->samples.count, count;
	struct alike *alike;

	if (!whole)
		return 0;
	alike = calloc(whole, sizeof(*alike));
	if (!alike)
		return -ENOMEM;
	for (size_t i = 0; i < whole; i++)
		alike[i] = (struct alike){
			.sample = all[i],
			.key = hash_mix(hash_mix(all[i]->user, all[i]->kernel), all[i]->end),
			.count = 1,
		};
	/* Functions are looked up once for each stack, not for each sample. */
	count = add_up(alike, whole);
	for (size_t i = 0; i < count; i++)
		alike[i].key = functions_key(trace, alike[i].sample);
	count = add_up(alike, count);
	clew_json_array(json, "sampled");
	for (size_t i = 0; i < count; i++)
		json_alike(json, trace, &alike[i], whole);
	clew_json_array_end(json);
	free(alike);
	return 0;
}

int clew_json_segment_samples(struct clew_json *json, const struct clew_trace *trace,
			      const struct clew_segment *segment)
{
	struct clew_samples samples = {};
	int r = clew_samples_add_segments(&samples, trace, &segment, 1);

	if (r >= 0)
		r = clew_json_samples(json, trace, &samples);
	clew_samples_done(&samples);
	return r;
}

void clew_json_samples_told(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_samples *samples)
{
	clew_json_unsigned(json, "samples", samples->samples.count);
	clew_json_unsigned(json, "samples_with_stack", clew_samples_with_stack(trace, samples));
}
